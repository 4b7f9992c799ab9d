//! The scripted peers: a client, a server, or both.

use crate::message::{self, Seen};
use bytes::Bytes;
use governor_core::diameter::codes::{avp, command};
use governor_core::diameter::{Builder, frame};
use governor_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// What a server does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers with this Result-Code.
    Answer(u32),
    /// The same, after a while.
    After(Duration, u32),
    /// Passes on the answer of a node behind it.
    Behind(u32),
    /// Never answers.
    Silent,
    /// Answers with an AVP of length 0.
    Malformed,
    /// Answers twice.
    Twice,
    /// First answers a request that nobody sent.
    Bogus,
    /// Answers without a Result-Code.
    NoResult,
    /// Answers with a DPA, a CEA, a DWA that nobody asked for, then as it should.
    Confused,
    /// Closes the connection instead of answering.
    Close,
}

/// What a node wants done.
pub enum Do {
    /// Send this at that time.
    Send(Time, Bytes),
    /// Close the connection once what was sent before has gone.
    Close,
}

pub struct Node {
    pub host: String,
    pub realm: String,
    /// Where it connects from.
    pub address: IpAddr,
    /// What it says in CER and CEA.
    pub applications: Vec<u32>,
    /// Does it take connections? `None`: it does not even refuse them.
    pub reachable: Option<bool>,
    /// Result-Code of its CEA.
    pub cea: u32,
    pub behaviour: Behaviour,
    pub answers_watchdogs: bool,
    /// The business requests and answers that it got.
    pub requests: Vec<Seen>,
    pub answers: Vec<Seen>,
    /// CER, DWR, DPR and their answers that it got.
    pub peer_messages: Vec<Seen>,
    /// Requests that it sent and that wait for an answer, by wire and hop-by-hop identifier: the end-to-end identifier.
    pub outstanding: BTreeMap<(usize, u32), u32>,
    /// Wires on which the capabilities exchange has ended well.
    pub open: BTreeSet<usize>,
    /// Wires on which it has sent what is no message: the answers there may be to anything.
    pub spoiled: BTreeSet<usize>,
    partial: BTreeMap<usize, Vec<u8>>,
    seen_ids: BTreeSet<(usize, u32)>,
    next_id: u32,
}

impl Node {
    pub fn new(host: &str, realm: &str, ids: u32) -> Self {
        Self {
            host: host.into(),
            realm: realm.into(),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            applications: vec![message::S6A, message::GX],
            reachable: Some(true),
            cea: 2001,
            behaviour: Behaviour::Answer(2001),
            answers_watchdogs: true,
            requests: Vec::new(),
            answers: Vec::new(),
            peer_messages: Vec::new(),
            outstanding: BTreeMap::new(),
            open: BTreeSet::new(),
            spoiled: BTreeSet::new(),
            partial: BTreeMap::new(),
            seen_ids: BTreeSet::new(),
            next_id: ids,
        }
    }

    pub fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Its end of a wire is gone: what it waits for there cannot come any more.
    pub fn forget(&mut self, wire: usize) {
        self.open.remove(&wire);
        self.partial.remove(&wire);
        self.outstanding.retain(|(at, _), _| *at != wire);
    }

    /// Bytes came on a wire.
    pub fn receive(&mut self, now: Time, wire: usize, bytes: &[u8]) -> Vec<Do> {
        let mut stream = self.partial.remove(&wire).unwrap_or_default();
        stream.extend_from_slice(bytes);
        let mut out = Vec::new();
        let mut rest = &stream[..];
        // A torn or interleaved message would fail here, or in the walk over its AVPs.
        while let Some(length) = frame(rest, u32::MAX).expect("what the relay sends can be framed") {
            let seen = Seen { at: now, bytes: Bytes::copy_from_slice(&rest[..length]) };
            rest = &rest[length..];
            assert!(seen.message().avps().all(|avp| avp.is_ok()), "malformed: {seen:?}");
            self.message(now, wire, seen, &mut out);
        }
        if !rest.is_empty() {
            self.partial.insert(wire, rest.to_vec());
        }
        out
    }

    fn message(&mut self, now: Time, wire: usize, seen: Seen, out: &mut Vec<Do>) {
        let header = seen.header();
        let request = header.flags.is_request();
        if message::is_peer_message(&header) {
            self.peer_message(now, wire, &seen, out);
            self.peer_messages.push(seen);
        } else if request {
            assert!(
                self.seen_ids.insert((wire, header.hop_by_hop)),
                "{}: hop-by-hop identifier {:#x} a second time",
                self.host,
                header.hop_by_hop
            );
            self.request(now, &seen, out);
            self.requests.push(seen);
        } else if !self.spoiled.contains(&wire) {
            let sent = self.outstanding.remove(&(wire, header.hop_by_hop));
            assert_eq!(sent, Some(header.end_to_end), "{}: an answer to nothing, or a second one", self.host);
            self.answers.push(seen);
        }
    }

    fn peer_message(&mut self, now: Time, wire: usize, seen: &Seen, out: &mut Vec<Do>) {
        let message = seen.message();
        let header = &message.header;
        match (header.command, header.flags.is_request()) {
            (command::CAPABILITIES_EXCHANGE, true) => {
                let cea = message::cea(header, &self.host, &self.realm, &self.applications, self.cea);
                out.push(Do::Send(now, cea));
                if self.cea == 2001 {
                    self.open.insert(wire);
                }
            }
            (command::CAPABILITIES_EXCHANGE, false) if seen.code() == Some(2001) => {
                self.open.insert(wire);
            }
            (command::DEVICE_WATCHDOG, true) if self.answers_watchdogs => {
                out.push(Do::Send(now, message::answer(&message, &self.host, Some(2001))));
            }
            (command::DISCONNECT_PEER, true) => {
                out.push(Do::Send(now, message::answer(&message, &self.host, Some(2001))));
            }
            (command::DISCONNECT_PEER, false) => out.push(Do::Close),
            _ => {}
        }
    }

    fn request(&self, now: Time, seen: &Seen, out: &mut Vec<Do>) {
        let message = seen.message();
        let good = || message::answer(&message, &self.host, Some(2001));
        match &self.behaviour {
            Behaviour::Answer(code) => out.push(Do::Send(now, message::answer(&message, &self.host, Some(*code)))),
            Behaviour::After(wait, code) => {
                out.push(Do::Send(now + *wait, message::answer(&message, &self.host, Some(*code))));
            }
            Behaviour::Behind(code) => {
                out.push(Do::Send(now, message::answer(&message, "behind.example.net", Some(*code))));
            }
            Behaviour::Silent => {}
            Behaviour::Malformed => {
                let mut bytes = good().to_vec();
                bytes.extend_from_slice(&[0, 0, 1, 12, 0x40, 0, 0, 0]);
                out.push(Do::Send(now, message::with_length(bytes)));
            }
            Behaviour::Twice => out.extend([Do::Send(now, good()), Do::Send(now, good())]),
            Behaviour::Bogus => {
                let mut bytes = good().to_vec();
                bytes[12..16].copy_from_slice(&message.header.hop_by_hop.wrapping_sub(77_777).to_be_bytes());
                out.extend([Do::Send(now, bytes.into()), Do::Send(now, good())]);
            }
            Behaviour::NoResult => out.push(Do::Send(now, message::answer(&message, &self.host, None))),
            Behaviour::Confused => {
                for command in [command::DEVICE_WATCHDOG, command::CAPABILITIES_EXCHANGE, command::DISCONNECT_PEER] {
                    let header = governor_core::diameter::Header { command, application: 0, ..message.header };
                    let b = Builder::answer(&header).u32(avp::RESULT_CODE, 2001);
                    out.push(Do::Send(now, b.bytes(avp::ORIGIN_HOST, self.host.as_bytes()).finish()));
                }
                out.push(Do::Send(now, good()));
            }
            Behaviour::Close => out.push(Do::Close),
        }
    }
}
