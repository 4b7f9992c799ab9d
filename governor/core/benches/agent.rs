//! What a relayed transaction costs in the agent: `cargo bench -p governor-core --bench agent`.
//!
//! Half of the connections are clients, half are servers of one route. A round is 64 requests in and out, then their 64
//! answers back; the time of one is the item's. Compare with `copy`, which copies the bytes that a transaction
//! copies at the least: the request into the record and into the output, the answer into the output.

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use governor_core::agent::{Agent, LinkId};
use governor_core::diameter::codes::{application, avp, command};
use governor_core::diameter::{Builder, Flags, Message, frame};
use governor_core::peer::Local;
use governor_core::settings::{Connection, ConnectionIndex, Node, Peer, PeerIndex, Route, RouteGroup, Settings};
use governor_core::time::Time;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

const ROUND: usize = 64;

/// Connections, and how many messages one read brings.
const CASES: [(usize, usize); 4] = [(2, 64), (2, 1), (100, 1), (2000, 1)];

fn main() {
    divan::main();
}

fn host(at: usize) -> String {
    format!("node{at}.example.net")
}

/// An Update-Location-Request of the usual size.
fn request(client: usize, id: u32) -> Bytes {
    Builder::request(316, 16_777_251, Flags::PROXIABLE, id, id)
        .bytes(avp::SESSION_ID, b"client1.example.net;1733000000;42;governor")
        .bytes(avp::ORIGIN_HOST, host(client).as_bytes())
        .bytes(avp::ORIGIN_REALM, b"example.net")
        .bytes(avp::DESTINATION_REALM, b"hss.example.net")
        .bytes(1, b"001010000000001")
        .avp(1407, Some(10_415), 0x40, &[0x00, 0xf1, 0x10])
        .avp(1032, Some(10_415), 0x40, &[0, 0, 3, 0xec])
        .finish()
}

fn answer(server: usize, request: &Message<'_>) -> Bytes {
    Builder::answer(&request.header)
        .session_of(request)
        .u32(avp::RESULT_CODE, 2001)
        .bytes(avp::ORIGIN_HOST, host(server).as_bytes())
        .bytes(avp::ORIGIN_REALM, b"example.net")
        .finish()
}

struct Relay {
    agent: Agent,
    links: Vec<LinkId>,
    now: Time,
    per_read: usize,
    next_id: u32,
    next_client: usize,
    /// Whole reads of requests that clients will send.
    requests: Vec<(LinkId, Vec<u8>)>,
    /// What was written since, as the system's buffers would hold it: the bytes, and how many for whom.
    written: Vec<u8>,
    writes: Vec<(LinkId, usize)>,
}

// === impl Relay ===

impl Relay {
    fn new(connections: usize, per_read: usize) -> Self {
        let name = |at: usize| format!("c{at}");
        let peer = |at: usize| PeerIndex(u32::try_from(at).unwrap_or_default());
        let index = |at: usize| ConnectionIndex(u32::try_from(at).unwrap_or_default());
        let members = (connections / 2..connections).map(|at| (index(at), 1)).collect();
        let settings = Arc::new(Settings {
            node: Node::new("gov.example.net", "example.net"),
            peers: (0..connections)
                .map(|at| Peer {
                    host: host(at),
                    realm: "example.net".into(),
                    addresses: vec![],
                    connections: vec![index(at)],
                })
                .collect(),
            connections: (0..connections)
                .map(|at| Connection { initiate: false, ..Connection::new(&name(at), peer(at)) })
                .collect(),
            priorities: vec![],
            routes: vec![Route {
                name: "r".into(),
                realm: Some("hss.example.net".into()),
                groups: vec![RouteGroup { members }],
                ..Route::default()
            }],
            groups: vec![],
        });
        let local = Arc::new(Local {
            origin_host: "gov.example.net".into(),
            origin_realm: "example.net".into(),
            product_name: "governor".into(),
            vendor_id: 0,
            firmware_revision: 1,
            origin_state_id: 1,
        });
        let mut relay = Self {
            agent: Agent::new(Time::ZERO, settings, local, 1),
            links: Vec::new(),
            now: Time::ZERO,
            per_read,
            next_id: 0,
            next_client: 0,
            requests: Vec::new(),
            written: Vec::new(),
            writes: Vec::new(),
        };
        for at in 0..connections {
            let link =
                relay.agent.handle_accepted(relay.now, vec![], std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
            let cer = Builder::request(command::CAPABILITIES_EXCHANGE, application::BASE, 0, 1, 1)
                .bytes(avp::ORIGIN_HOST, host(at).as_bytes())
                .bytes(avp::ORIGIN_REALM, b"example.net")
                .bytes(avp::HOST_IP_ADDRESS, &[0, 1, 127, 0, 0, 1])
                .u32(avp::VENDOR_ID, 0)
                .avp(avp::PRODUCT_NAME, None, 0, b"bench")
                .u32(avp::AUTH_APPLICATION_ID, application::RELAY)
                .finish();
            relay.agent.handle_input(relay.now, link, &cer);
            relay.links.push(link);
            relay.drain();
        }
        relay.forget();
        relay
    }

    /// Writes everything, as a shell whose sockets always have room.
    fn drain(&mut self) {
        while let Some(link) = self.agent.poll_dirty() {
            let output = self.agent.output(link);
            let count = output.len();
            self.written.extend_from_slice(output);
            self.writes.push((link, count));
            self.agent.handle_written(link, count);
        }
        while let Some(event) = self.agent.poll_event() {
            black_box(event);
        }
    }

    fn forget(&mut self) {
        self.written.clear();
        self.writes.clear();
    }

    /// A round's requests, not yet given to the agent.
    fn prepare(&mut self) {
        self.now += Duration::from_micros(100);
        self.requests.clear();
        for _ in 0..ROUND / self.per_read {
            let client = self.next_client;
            self.next_client = (self.next_client + 1) % (self.links.len() / 2);
            let mut read = Vec::new();
            for _ in 0..self.per_read {
                self.next_id += 1;
                read.extend_from_slice(&request(client, self.next_id));
            }
            self.requests.push((self.links[client], read));
        }
    }

    fn requests_in(&mut self) {
        let requests = std::mem::take(&mut self.requests);
        for (link, bytes) in &requests {
            self.agent.handle_input(self.now, *link, bytes);
            self.drain();
        }
        self.requests = requests;
    }

    /// The servers' answers to what was written.
    fn answers(&mut self) -> Vec<(LinkId, Vec<u8>)> {
        let (mut reads, mut rest) = (Vec::new(), &self.written[..]);
        for &(link, count) in &self.writes {
            let (mut bytes, tail) = rest.split_at(count);
            rest = tail;
            let mut read = Vec::new();
            while let Ok(Some(length)) = frame(bytes, u32::MAX) {
                if let Some(request) = Message::new(&bytes[..length]) {
                    read.extend_from_slice(&answer(link.index(), &request));
                }
                bytes = &bytes[length..];
            }
            reads.push((link, read));
        }
        self.forget();
        reads
    }

    fn answers_in(&mut self, reads: &[(LinkId, Vec<u8>)]) {
        for (link, bytes) in reads {
            self.agent.handle_input(self.now, *link, bytes);
            self.drain();
        }
    }
}

#[divan::bench(args = CASES, sample_size = 1, sample_count = 1000)]
fn requests(bencher: Bencher, (connections, per_read): (usize, usize)) {
    let relay = RefCell::new(Relay::new(connections, per_read));
    bencher
        .counter(ItemsCount::new(ROUND))
        .with_inputs(|| {
            let mut relay = relay.borrow_mut();
            let answers = relay.answers();
            relay.answers_in(&answers);
            relay.forget();
            assert_eq!(relay.agent.transactions(), 0);
            relay.prepare();
        })
        .bench_local_values(|()| relay.borrow_mut().requests_in());
}

#[divan::bench(args = CASES, sample_size = 1, sample_count = 1000)]
fn answers(bencher: Bencher, (connections, per_read): (usize, usize)) {
    let relay = RefCell::new(Relay::new(connections, per_read));
    bencher
        .counter(ItemsCount::new(ROUND))
        .with_inputs(|| {
            let mut relay = relay.borrow_mut();
            relay.forget();
            relay.prepare();
            relay.requests_in();
            assert_eq!(relay.agent.transactions(), ROUND);
            relay.answers()
        })
        .bench_local_refs(|reads| relay.borrow_mut().answers_in(reads));
}

#[divan::bench]
fn copy(bencher: Bencher) {
    let request = request(0, 1);
    let answer = Message::new(&request).map(|request| answer(1, &request)).unwrap_or_default();
    let mut out = Vec::with_capacity(ROUND * 1024);
    bencher.counter(ItemsCount::new(ROUND)).bench_local(|| {
        out.clear();
        for _ in 0..ROUND {
            out.extend_from_slice(black_box(&request));
            out.extend_from_slice(black_box(&request));
            out.extend_from_slice(black_box(&answer));
        }
        black_box(out.len());
    });
}
