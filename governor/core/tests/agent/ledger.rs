//! What must hold after every step, whatever happened: kept from the wires alone, and compared with the agent's books.

use crate::message::is_peer_message;
use crate::net::Wire;
use bytes::{Bytes, BytesMut};
use governor_core::agent::{Agent, Counters, Slot};
use governor_core::diameter::{Flags, Header, Message, codes::avp, forward, frame};
use governor_core::settings::{ConnectionIndex, Settings};
use std::collections::HashMap;

pub struct Ledger {
    own: String,
    /// The requests of clients, by end-to-end identifier: sender and bytes.
    requests: HashMap<u32, (String, Bytes)>,
    /// Every answer that a server has sent, by end-to-end identifier.
    answers: HashMap<u32, Vec<Bytes>>,
    /// Whole messages written on each connection.
    requests_written: Vec<u64>,
    answers_written: Vec<u64>,
    /// Requests received and ended on connections that are in no configuration any more.
    forgotten: (u64, u64),
}

impl Ledger {
    pub fn new(settings: &Settings) -> Self {
        let none = vec![0; settings.connections.len()];
        Self {
            own: settings.node.origin_host.clone(),
            requests: HashMap::new(),
            answers: HashMap::new(),
            requests_written: none.clone(),
            answers_written: none,
            forgotten: (0, 0),
        }
    }

    /// Name and counters of every slot, the retired ones too.
    pub fn books(agent: &Agent) -> Vec<(String, Counters)> {
        slots(agent).map(|slot| (slot.name.to_string(), slot.counters().clone())).collect()
    }

    /// The settings have changed: the connections have other indices, and some are gone.
    pub fn renumber(&mut self, before: &[(String, Counters)], agent: &Agent) {
        let mut left: Vec<usize> = (0..before.len()).collect();
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for book in Self::books(agent) {
            let from = left.iter().position(|&at| before[at] == book).map(|at| left.remove(at));
            requests.push(from.map_or(0, |at| self.requests_written[at]));
            answers.push(from.map_or(0, |at| self.answers_written[at]));
        }
        for at in left {
            let counters = &before[at].1;
            self.forgotten.0 += counters.requests_received;
            self.forgotten.1 += counters.answers_sent + counters.answers_discarded;
        }
        (self.requests_written, self.answers_written) = (requests, answers);
    }

    pub fn requested(&mut self, end_to_end: u32, host: &str, bytes: Bytes) {
        self.requests.insert(end_to_end, (host.into(), bytes));
    }

    /// A node sends something; answers are remembered.
    pub fn answered(&mut self, bytes: &[u8]) {
        if let Some(message) = Message::new(bytes).filter(|m| !m.header.flags.is_request()) {
            self.answers.entry(message.header.end_to_end).or_default().push(Bytes::copy_from_slice(bytes));
        }
    }

    /// The agent wrote these bytes.
    pub fn written(&mut self, wire: &mut Wire, bytes: &[u8]) {
        wire.begun.extend_from_slice(bytes);
        while let Some(length) = frame(&wire.begun, u32::MAX).expect("never a torn message") {
            let rest = wire.begun.split_off(length);
            let message = std::mem::replace(&mut wire.begun, rest);
            let header = Message::new(&message).unwrap().header;
            if is_peer_message(&header) {
                continue;
            }
            // To somebody unknown only: in no connection's books.
            let Some(slot) = wire.slot.map(ConnectionIndex::get) else { continue };
            if header.flags.is_request() {
                self.requests_written[slot] += 1;
                self.check_request(&header, &message);
            } else {
                self.answers_written[slot] += 1;
                self.check_answer(&header, &message);
            }
        }
    }

    /// Forwarded as it came, but for the hop-by-hop identifier, the T bit and one Route-Record more (field bug 14).
    fn check_request(&self, header: &Header, bytes: &[u8]) {
        let (sender, original) = &self.requests[&header.end_to_end];
        let before = Message::new(original).unwrap().header;
        let lost = header.flags.is_retransmitted() && !before.flags.is_retransmitted();
        let mut expected = BytesMut::new();
        forward::request(&mut expected, original, header.hop_by_hop, &forward::route_record(sender), lost);
        assert_eq!(bytes, &expected[..]);
        // Not by the same function alone: header and AVPs stand where they stood.
        assert_eq!(&bytes[Header::LEN..original.len()], &original[Header::LEN..]);
        assert_eq!(header.flags.0 & !Flags::RETRANSMITTED, before.flags.0 & !Flags::RETRANSMITTED);
    }

    /// Either a server's own, byte for byte but for the hop-by-hop identifier, or one of ours.
    fn check_answer(&self, header: &Header, bytes: &[u8]) {
        let message = Message::new(bytes).unwrap();
        let origin = message.find(avp::ORIGIN_HOST).and_then(|avp| avp.str());
        if origin == Some(&self.own) {
            return;
        }
        let sent = self.answers.get(&header.end_to_end).map(Vec::as_slice).unwrap_or_default();
        let same = |answer: &Bytes| answer[..12] == bytes[..12] && answer[16..] == bytes[16..];
        assert!(sent.iter().any(same), "an answer that no server sent: {message:?}");
    }

    /// The agent's books against each other and against the wires (field bugs 33 and 40).
    pub fn check(&self, agent: &Agent, wires: &[Wire]) {
        let slots: Vec<&Slot> = slots(agent).collect();
        let pending: usize = slots.iter().map(|slot| slot.congestion().pending() as usize).sum();
        assert_eq!(pending, agent.pending() as usize, "the connections' pending records are not the agent's");
        assert_eq!(pending, agent.transactions(), "pending records and transactions differ");
        let awaited: usize = slots.iter().map(|slot| slot.awaited() as usize).sum();
        assert_eq!(awaited, agent.transactions(), "awaited answers and transactions differ");
        for (group, settings) in agent.groups().iter().zip(&agent.settings().groups) {
            let members = settings.connections.iter().map(|c| slots[c.get()].congestion().pending()).sum::<u32>();
            assert_eq!(group.pending(), members, "the pending records of group {}", settings.name);
        }
        let (mut received, mut answered) = self.forgotten;
        for (at, slot) in slots.iter().enumerate() {
            let counters = slot.counters();
            assert_eq!(counters.requests_sent, self.requests_written[at], "requests sent on {:?}", slot.index);
            assert_eq!(counters.answers_sent, self.answers_written[at], "answers sent on {:?}", slot.index);
            received += counters.requests_received;
            answered += counters.answers_sent + counters.answers_discarded;
        }
        // Every request that came in is pending, or has had its one answer: sent, half sent, discarded, or orphaned.
        let half = wires.iter().filter(|w| w.at_agent && is_begun_answer(agent, w)).count() as u64;
        let ended = answered + half + agent.totals().answers_orphaned;
        assert_eq!(received, agent.transactions() as u64 + ended, "requests without their one answer");
    }
}

/// Every slot, those too that are in no configuration any more.
fn slots(agent: &Agent) -> impl Iterator<Item = &Slot> {
    (0..).map_while(|at| agent.slot(ConnectionIndex(at)))
}

/// Has the agent written the first part of an answer, and not the rest?
fn is_begun_answer(agent: &Agent, wire: &Wire) -> bool {
    let mut bytes = wire.begun.clone();
    bytes.extend_from_slice(agent.output(wire.link));
    let header = Header::parse(&bytes);
    !wire.begun.is_empty() && header.is_some_and(|h| !h.flags.is_request() && !is_peer_message(&h))
}
