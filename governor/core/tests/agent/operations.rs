//! Sequences of operations that nobody thought of. Whatever has happened, once all servers are well again every request
//! of a client that is still connected has had its one answer, nothing is pending, and every level is 0. The ledger
//! checks the books after each step of each sequence.

use crate::message::{self, Request};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::level::Level;
use governor_core::peer::DisconnectCause;
use governor_core::settings::{ConnectionIndex, GroupMode, Pressure, Throttle, Usage};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use std::time::Duration;

const CLIENTS: [&str; 2] = ["c1", "c2"];
/// `a3` loses elections against `gov`, the others win them.
const SERVERS: [&str; 3] = ["s1", "s2", "a3"];
const NODES: [&str; 5] = ["c1", "c2", "s1", "s2", "a3"];
const CONNECTIONS: [&str; 6] = ["c1", "c2", "s1", "s1-b", "s2", "a3"];

#[derive(Clone, Debug)]
enum Op {
    Request {
        client: &'static str,
        priority: u8,
        host: Option<&'static str>,
        filler: usize,
    },
    Burst(&'static str, usize),
    /// One that is answered by the relay itself.
    Refusable(&'static str, u8),
    Behave(&'static str, Behaviour),
    Reads(&'static str, bool),
    Capacity(&'static str, usize),
    Watchdogs(&'static str, bool),
    Reachable(&'static str, Option<bool>),
    Cut(&'static str),
    Close(&'static str),
    Lose(&'static str),
    GoodBye(&'static str, DisconnectCause),
    Dial(&'static str),
    Garbage(&'static str, u8),
    Pressure(&'static str, u64),
    Segment(usize),
    Disable(&'static str),
    Enable(&'static str),
    Manual(&'static str, u8),
    Reload(u8),
    Run(u64),
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    let after = |code| (0u64..5000).prop_map(move |ms| Behaviour::After(Duration::from_millis(ms), code));
    prop_oneof![
        4 => select(vec![2001, 3002, 3004, 5012]).prop_map(Behaviour::Answer),
        3 => after(2001),
        1 => after(3004),
        1 => select(vec![3002, 3004]).prop_map(Behaviour::Behind),
        2 => Just(Behaviour::Silent),
        1 => Just(Behaviour::Malformed),
        1 => Just(Behaviour::Twice),
        1 => Just(Behaviour::Bogus),
        1 => Just(Behaviour::NoResult),
        1 => Just(Behaviour::Confused),
        1 => Just(Behaviour::Close),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let client = || select(CLIENTS.to_vec());
    let server = || select(SERVERS.to_vec());
    let node = || select(NODES.to_vec());
    let connection = || select(CONNECTIONS.to_vec());
    let cause = (0u32..3).prop_map(DisconnectCause::from_u32);
    prop_oneof![
        12 => (client(), 0u8..3, prop::option::weighted(0.3, node()), select(vec![0, 0, 40, 3000]))
            .prop_map(|(client, priority, host, filler)| Op::Request { client, priority, host, filler }),
        6 => (client(), 2usize..40).prop_map(|(client, count)| Op::Burst(client, count)),
        2 => (client(), 0u8..5).prop_map(|(client, kind)| Op::Refusable(client, kind)),
        6 => (server(), behaviour()).prop_map(|(server, behaviour)| Op::Behave(server, behaviour)),
        5 => (node(), any::<bool>()).prop_map(|(node, yes)| Op::Reads(node, yes)),
        3 => (node(), select(vec![0, 100, 300, 1000, 5000])).prop_map(|(node, bytes)| Op::Capacity(node, bytes)),
        1 => (node(), any::<bool>()).prop_map(|(node, yes)| Op::Watchdogs(node, yes)),
        2 => (server(), select(vec![None, Some(false), Some(true)])).prop_map(|(s, r)| Op::Reachable(s, r)),
        3 => node().prop_map(Op::Cut),
        2 => node().prop_map(Op::Close),
        1 => node().prop_map(Op::Lose),
        2 => (node(), cause).prop_map(|(node, cause)| Op::GoodBye(node, cause)),
        4 => client().prop_map(Op::Dial),
        1 => server().prop_map(Op::Dial),
        1 => (node(), 0u8..4).prop_map(|(node, kind)| Op::Garbage(node, kind)),
        1 => (server(), 0u64..110).prop_map(|(server, percent)| Op::Pressure(server, percent)),
        1 => select(vec![1, 7, 64, 1000, usize::MAX / 2]).prop_map(Op::Segment),
        1 => connection().prop_map(Op::Disable),
        1 => connection().prop_map(Op::Enable),
        1 => (connection(), select(vec![0, 1, 3, 98])).prop_map(|(connection, level)| Op::Manual(connection, level)),
        1 => (0u8..3).prop_map(Op::Reload),
        8 => (0u64..20).prop_map(Op::Run),
        8 => (20u64..8000).prop_map(Op::Run),
        1 => (8000u64..100_000).prop_map(Op::Run),
    ]
}

/// Every control is in use somewhere; the variants differ in order, and the last has one server less.
fn topology(variant: u8, attempts: u8) -> Topology {
    let t = Topology::new();
    let t = match variant {
        0 => t.client("c1").client("c2").server("s1").server("s1-b").server("s2").server("a3"),
        1 => t.server("a3").server("s1").server("s1-b").client("c2").server("s2").client("c1"),
        _ => t.client("c2").server("s2").server("s1").client("c1").server("s1-b"),
    };
    let t = if variant < 2 {
        t.route("example.net", &[&[("s1", 3), ("s2", 1), ("s1-b", 0)], &[("a3", 1)]])
            .set("a3", |c| c.throttle = Some(Throttle::new("t", 30)))
    } else {
        t.route("example.net", &[&[("s1", 3), ("s2", 1), ("s1-b", 0)]])
    };
    t.set("s1", |c| c.transport.pressure = Some(Pressure::default()))
        .set("s1-b", |c| c.remote_busy.usage = Usage::HostOverride)
        .set("s2", |c| c.pending_limit = 5)
        .group(&["s1", "s1-b"], |g| g.max_pending = Some(20))
        .group(&["s2"], |g| {
            g.max_rate = Some(25);
            g.mode = GroupMode::Limit;
        })
        .node(|n| {
            n.max_attempts = attempts;
            n.watchdog = Duration::from_secs(10);
            n.pending_limit = 40;
        })
}

struct Play {
    net: Net,
    attempts: u8,
    /// What was discarded on a client's connection before each of its wires came.
    discarded: BTreeMap<usize, u64>,
}

// === impl Play ===

impl Play {
    fn new(seed: u64, attempts: u8) -> Self {
        let net = Net::with_seed(topology(0, attempts), seed);
        let mut play = Self { net, attempts, discarded: BTreeMap::new() };
        play.dial("c1");
        play.dial("c2");
        play.net.run_ms(100);
        play
    }

    fn dial(&mut self, client: &str) {
        let before = self.discarded_on(client);
        let node = self.net.node(client);
        let wire = self.net.dial(node);
        self.discarded.insert(wire, before);
    }

    fn discarded_on(&self, name: &str) -> u64 {
        let slots = (0..).map_while(|at| self.net.agent.slot(ConnectionIndex(at)));
        slots.filter(|slot| &*slot.name == name).map(|slot| slot.counters().answers_discarded).sum()
    }

    /// The newest wire that the node holds.
    fn wire(&self, name: &str) -> Option<usize> {
        let node = self.net.node(name);
        self.net.wires.iter().rposition(|w| w.node == node && w.at_node)
    }

    /// May the client send requests?
    fn is_open(&self, client: &str) -> bool {
        let node = &self.net.nodes[self.net.node(client)];
        self.wire(client).is_some_and(|wire| node.open.contains(&wire) && !node.spoiled.contains(&wire))
    }

    fn connection(&self, name: &str) -> Option<ConnectionIndex> {
        self.net.agent.settings().connection(name)
    }

    fn play(&mut self, op: Op) {
        match op {
            Op::Request { client, priority, host, filler } => {
                let host = host.map(|host| format!("{host}.example.net"));
                self.request(client, &Request { host, filler, ..Request::of_priority(priority) });
            }
            Op::Burst(client, count) => (0..count).for_each(|_| self.request(client, &Request::default())),
            Op::Refusable(client, kind) => {
                let request = match kind {
                    0 => Request { realm: None, ..Request::default() },
                    1 => Request { application: 4, ..Request::default() },
                    2 => Request { flags: 0, ..Request::default() },
                    3 => Request { route_records: vec!["gov.example.net".into()], ..Request::default() },
                    _ => Request { tail: vec![0, 0, 0, 1, 0, 0, 0, 0], ..Request::default() },
                };
                self.request(client, &request);
            }
            Op::Behave(server, behaviour) => self.net.behave(server, behaviour),
            Op::Reads(node, yes) => {
                if let Some(wire) = self.wire(node) {
                    self.net.wires[wire].reading = yes;
                }
            }
            Op::Capacity(node, bytes) => {
                if let Some(wire) = self.wire(node) {
                    self.net.wires[wire].to_node.capacity = bytes;
                }
            }
            Op::Watchdogs(node, yes) => self.net.script(node).answers_watchdogs = yes,
            Op::Reachable(server, how) => self.net.script(server).reachable = how,
            Op::Cut(node) => {
                if self.wire(node).is_some() {
                    self.net.cut(node);
                }
            }
            Op::Close(node) => {
                if let Some(wire) = self.wire(node) {
                    self.net.close_at_node(wire);
                }
            }
            Op::Lose(node) => {
                if self.wire(node).is_some() {
                    self.net.lose(node, true);
                }
            }
            Op::GoodBye(node, cause) => {
                if self.wire(node).is_some() {
                    self.net.dpr(node, cause);
                }
            }
            Op::Dial(client) => self.dial(client),
            Op::Garbage(node, kind) => {
                if let Some(wire) = self.wire(node) {
                    // The beginning of an answer.
                    let mut message = Request::default().build("garbage", 1, 1).to_vec();
                    message[4] = 0;
                    let bytes: &[u8] = match kind {
                        0 => &[0; 30],
                        1 => &message[..7],
                        2 => &message[..60],
                        _ => &message::dwr("x", 5),
                    };
                    self.net.send(wire, bytes);
                    if kind < 3 {
                        self.net.script(node).spoiled.insert(wire);
                    }
                }
            }
            Op::Pressure(server, percent) => {
                if let Some(wire) = self.wire(server) {
                    let link = self.net.wires[wire].link;
                    self.net.agent.handle_pressure(self.net.now, link, percent, 100);
                }
            }
            Op::Segment(bytes) => self.net.segment = bytes,
            Op::Disable(name) => {
                if let Some(connection) = self.connection(name) {
                    self.net.agent.handle_disable(self.net.now, connection);
                }
            }
            Op::Enable(name) => {
                if let Some(connection) = self.connection(name) {
                    self.net.agent.handle_enable(self.net.now, connection);
                }
            }
            Op::Manual(name, level) => {
                if let Some(connection) = self.connection(name) {
                    self.net.agent.handle_manual_level(self.net.now, connection, Level::new(level));
                }
            }
            Op::Reload(variant) => {
                self.net.reload(topology(variant, self.attempts));
            }
            Op::Run(millis) => self.net.run_ms(millis),
        }
        self.net.settle();
    }

    fn request(&mut self, client: &str, request: &Request) {
        if self.is_open(client) {
            self.net.request(client, request);
        }
    }

    /// Everybody is well again, and time passes.
    fn heal(&mut self) {
        let net = &mut self.net;
        for node in &mut net.nodes {
            node.behaviour = Behaviour::Answer(2001);
            node.reachable = Some(true);
            node.answers_watchdogs = true;
        }
        for wire in &mut net.wires {
            wire.reading = true;
            wire.to_node.capacity = 64 * 1024;
        }
        for node in NODES {
            net.lose(node, false);
        }
        net.segment = usize::MAX / 2;
        net.reload(topology(0, self.attempts));
        for name in CONNECTIONS {
            let connection = net.agent.settings().connection(name).unwrap();
            net.agent.handle_manual_level(net.now, connection, None);
            net.agent.handle_enable(net.now, connection);
            if let Some(link) = net.slot(name).link() {
                net.agent.handle_pressure(net.now, link, 0, 100);
            }
        }
        // Whoever was told to stay away may come back.
        self.net.run(Duration::from_secs(30));
        self.net.agent.handle_start(self.net.now);
        for _ in 0..3 {
            self.net.run(Duration::from_secs(60));
            for client in CLIENTS {
                if !self.is_open(client) {
                    self.dial(client);
                }
            }
        }
        self.net.run(Duration::from_secs(60));
    }

    fn check(&mut self) {
        assert_eq!((self.net.agent.pending(), self.net.agent.transactions()), (0, 0));
        for name in CONNECTIONS {
            let slot = self.net.slot(name);
            assert!(slot.machine().is_up(), "{name} is {:?}", slot.machine().state());
            assert_eq!(self.net.cpl(name), 0, "{name}: {:?}", slot.congestion().levels());
        }
        for group in self.net.agent.groups() {
            assert_eq!((group.level(), group.pending()), (Level::CL0, 0));
        }
        for client in CLIENTS {
            let discarded = self.discarded_on(client);
            let node = &self.net.nodes[self.net.node(client)];
            for wire in node.open.iter().filter(|wire| self.net.wires[**wire].at_agent) {
                let waiting = node.outstanding.keys().filter(|(at, _)| at == wire).count() as u64;
                // Rule 3 discards answers, and counts them.
                assert!(
                    waiting <= discarded - self.discarded[wire],
                    "{waiting} requests of {client} without an answer"
                );
            }
        }
        let ids = [self.net.requests("c1", 5), self.net.requests("c2", 5)].concat();
        self.net.drive();
        assert_eq!(self.net.codes(&ids), [2001; 10]);
    }
}

fn config() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    ProptestConfig { cases: if asked { default.cases } else { 256 }, max_shrink_iters: 20_000, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_request_of_a_connected_client_has_one_answer_and_all_levels_end_at_0(
        seed in any::<u64>(), attempts in 1u8..5, ops in prop::collection::vec(op(), 0..80),
    ) {
        let mut play = Play::new(seed, attempts);
        for op in ops {
            play.play(op);
        }
        play.heal();
        play.check();
    }
}
