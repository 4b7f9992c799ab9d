//! One relay and its scripted peers, joined by simulated transport connections, in virtual time.

use crate::ledger::Ledger;
use crate::message::{self, Request, Seen};
use crate::node::{Behaviour, Do, Node};
use crate::pipe::Pipe;
use crate::topology::Topology;
use bytes::Bytes;
use governor_core::agent::{Agent, Changes, Counters, Event, LinkId, Slot};
use governor_core::peer::{DisconnectCause, Local};
use governor_core::settings::ConnectionIndex;
use governor_core::time::Time;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// How long the shell lets the last bytes of a closing connection take.
const LINGER: Duration = Duration::from_secs(1);
/// More rounds than this without time passing: something feeds itself.
const ROUNDS: usize = 20_000;
/// More wake-ups than this: it never goes idle.
const STEPS: usize = 200_000;
const UNBOUNDED: usize = usize::MAX / 2;

/// A transport connection between the relay and a node.
#[expect(clippy::struct_excessive_bools, reason = "each end holds it, reads it or waits for it by itself")]
pub struct Wire {
    pub node: usize,
    pub link: LinkId,
    pub slot: Option<ConnectionIndex>,
    pub to_node: Pipe,
    pub to_agent: Pipe,
    /// Read for the agent, and not taken by it yet.
    rest: Vec<u8>,
    /// Written by the agent: the message that is not whole yet.
    pub begun: Vec<u8>,
    /// Does the node read?
    pub reading: bool,
    /// The agent waits for room.
    pub blocked: bool,
    /// The shell gives it up at that time.
    closing: Option<Time>,
    /// Does that end still hold it?
    pub at_agent: bool,
    pub at_node: bool,
    /// Nothing arrives any more, and nobody knows.
    lost: bool,
}

pub struct Net {
    pub agent: Agent,
    pub now: Time,
    pub nodes: Vec<Node>,
    pub wires: Vec<Wire>,
    pub latency: Duration,
    /// Send buffer of the agent's end of new wires, bytes.
    pub capacity: usize,
    /// The agent reads at most so many bytes at once.
    pub segment: usize,
    pub events: Vec<(Time, Event)>,
    pub ledger: Ledger,
    connecting: Vec<(Time, ConnectionIndex)>,
    delayed: BTreeMap<(Time, usize), (usize, Do)>,
    orders: usize,
}

// === impl Wire ===

impl Wire {
    fn next_arrival(&self) -> Option<Time> {
        let to_node = if self.reading && self.at_node { self.to_node.next_arrival() } else { None };
        let to_agent = if self.at_agent { self.to_agent.next_arrival() } else { None };
        if self.lost { None } else { [to_node, to_agent].into_iter().flatten().min() }
    }

    fn is_moving(&self) -> bool {
        let to_node = self.reading && self.at_node && !self.to_node.is_empty();
        !self.lost && (to_node || self.at_agent && !self.to_agent.is_empty())
    }
}

// === impl Net: making it run ===

impl Net {
    /// Every node there, nothing connected.
    pub fn new(topology: Topology) -> Self {
        Self::with_seed(topology, 1)
    }

    pub fn with_seed(topology: Topology, seed: u64) -> Self {
        let settings = Arc::new(topology.settings);
        let local = Arc::new(Local {
            origin_host: settings.node.origin_host.clone(),
            origin_realm: settings.node.origin_realm.clone(),
            product_name: "governor".into(),
            vendor_id: 0,
            firmware_revision: 1,
            origin_state_id: 7,
        });
        let nodes = settings.peers.iter().zip(1u32..).map(|(p, n)| Node::new(&p.host, &p.realm, n << 20)).collect();
        let mut net = Self {
            ledger: Ledger::new(&settings),
            agent: Agent::new(Time::ZERO, settings, local, seed),
            now: Time::ZERO,
            nodes,
            wires: Vec::new(),
            latency: Duration::from_millis(1),
            capacity: 64 * 1024,
            segment: UNBOUNDED,
            events: Vec::new(),
            connecting: Vec::new(),
            delayed: BTreeMap::new(),
            orders: 0,
        };
        net.agent.handle_start(net.now);
        net
    }

    /// Every node connected.
    pub fn up(topology: Topology) -> Self {
        let mut net = Self::new(topology);
        net.connect_all();
        net
    }

    pub fn star(clients: usize, servers: usize) -> Self {
        Self::up(Topology::star(clients, servers))
    }

    pub fn chain(servers: usize) -> Self {
        Self::up(Topology::chain(servers))
    }

    /// The clients dial, and everybody gets through the capabilities exchange.
    pub fn connect_all(&mut self) {
        let waits: Vec<usize> = {
            let s = self.agent.settings();
            let waits = s.connections.iter().filter(|c| !c.initiate).map(|c| c.peer.get());
            waits.collect()
        };
        for node in waits {
            self.dial(node);
        }
        self.run(Duration::from_millis(100));
        for slot in self.agent.slots() {
            assert!(slot.machine().is_open(), "connection {:?} is not up", slot.index);
        }
        self.events.clear();
    }

    /// Goes to the next wake-up. False: nothing will ever happen again.
    pub fn step(&mut self) -> bool {
        self.settle();
        let Some(next) = self.next_wake() else { return false };
        assert!(next > self.now, "a wake-up at {next} is due at {}", self.now);
        self.now = next;
        self.settle();
        true
    }

    /// Runs until no message is under way, none is to be sent and no transaction is pending.
    pub fn drive(&mut self) {
        for _ in 0..STEPS {
            self.settle();
            let moving = self.wires.iter().any(Wire::is_moving);
            if !moving && self.delayed.is_empty() && self.agent.transactions() == 0 {
                return;
            }
            assert!(self.step(), "something is pending, and nothing will end it");
        }
        panic!("never idle");
    }

    pub fn run(&mut self, span: Duration) {
        let until = self.now + span;
        for _ in 0..STEPS {
            self.settle();
            if self.next_wake().is_none_or(|next| next > until) {
                self.now = until;
                self.settle();
                return;
            }
            self.step();
        }
        panic!("more than {STEPS} wake-ups in {span:?}");
    }

    pub fn run_ms(&mut self, millis: u64) {
        self.run(Duration::from_millis(millis));
    }

    fn next_wake(&self) -> Option<Time> {
        let wires = self.wires.iter().filter_map(Wire::next_arrival).min();
        let lingering = self.wires.iter().filter(|w| w.at_agent).filter_map(|w| w.closing).min();
        let connecting = self.connecting.iter().map(|(at, _)| *at).min();
        let delayed = self.delayed.first_key_value().map(|((at, _), _)| *at);
        [self.agent.poll_timeout(), wires, lingering, connecting, delayed].into_iter().flatten().min()
    }

    /// Everything that is due now.
    pub fn settle(&mut self) {
        for _ in 0..ROUNDS {
            if !self.round() {
                self.ledger.check(&self.agent, &self.wires);
                return;
            }
        }
        panic!("the agent and its peers feed each other without time passing");
    }

    fn round(&mut self) -> bool {
        let mut busy = false;
        for polls in 0.. {
            assert!(polls < ROUNDS, "a poll loop without end");
            if let Some(link) = self.agent.poll_dirty() {
                self.flush(link);
            } else if let Some(event) = self.agent.poll_event() {
                self.handle(&event);
                self.events.push((self.now, event));
            } else {
                break;
            }
            busy = true;
        }
        if self.agent.poll_timeout().is_some_and(|at| at <= self.now) {
            self.agent.handle_timeout(self.now);
            let next = self.agent.poll_timeout();
            assert!(next.is_none_or(|at| at > self.now), "handle_timeout left something due");
            return true;
        }
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (wire, what) = entry.remove();
            self.perform(wire, what);
            busy = true;
        }
        while let Some(at) = self.connecting.iter().position(|(at, _)| *at <= self.now) {
            let (_, connection) = self.connecting.remove(at);
            self.connect(connection);
            busy = true;
        }
        (0..self.wires.len()).fold(busy, |busy, wire| self.carry(wire) || busy)
    }

    /// What the shell's driver does with a link's output.
    fn flush(&mut self, link: LinkId) {
        let Some(at) = self.wires.iter().position(|w| w.link == link && w.at_agent) else { return };
        if let Some(slot) = self.agent.slot_of(link) {
            self.wires[at].slot = Some(slot);
        }
        while !self.wires[at].blocked {
            let wire = &mut self.wires[at];
            let output = self.agent.output(link);
            if output.is_empty() {
                break;
            }
            let count = if wire.at_node { wire.to_node.write(self.now, self.latency, output) } else { output.len() };
            if count == 0 {
                wire.blocked = true;
                self.agent.handle_blocked(self.now, link);
            } else {
                self.ledger.written(wire, &output[..count]);
                self.agent.handle_written(link, count);
            }
        }
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Connect(connection) => {
                let node = self.node_of(connection);
                if self.nodes[node].reachable.is_some() {
                    self.connecting.push((self.now + self.latency, connection));
                }
            }
            Event::GiveUp(connection) => self.connecting.retain(|(_, c)| *c != connection),
            Event::Close { link, .. } => {
                self.flush(link);
                let done = self.agent.output(link).is_empty();
                if let Some(wire) = self.wires.iter_mut().find(|w| w.link == link && w.at_agent) {
                    wire.closing = Some(self.now + LINGER);
                    if done {
                        wire.to_node.finish(self.now, self.latency);
                    }
                }
            }
            _ => {}
        }
    }

    fn connect(&mut self, connection: ConnectionIndex) {
        let node = self.node_of(connection);
        if self.nodes[node].reachable == Some(true) {
            let link = self.agent.handle_connected(self.now, connection, vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
            self.wire(node, link);
        } else {
            self.agent.handle_connect_failed(self.now, connection);
        }
    }

    fn wire(&mut self, node: usize, link: LinkId) -> usize {
        self.wires.push(Wire {
            node,
            link,
            slot: None,
            to_node: Pipe::new(self.capacity),
            to_agent: Pipe::new(UNBOUNDED),
            rest: Vec::new(),
            begun: Vec::new(),
            reading: true,
            blocked: false,
            closing: None,
            at_agent: true,
            at_node: true,
            lost: false,
        });
        self.wires.len() - 1
    }

    /// Moves the bytes of one wire that have arrived. Did anything happen?
    fn carry(&mut self, at: usize) -> bool {
        let (now, segment) = (self.now, self.segment);
        let wire = &mut self.wires[at];
        let mut busy = false;
        if wire.at_node && wire.reading && !wire.lost {
            if let Some(bytes) = wire.to_node.read(now, UNBOUNDED) {
                busy = true;
                for what in self.nodes[wire.node].receive(now, at, &bytes) {
                    self.order(at, what);
                }
            } else if wire.to_node.is_at_end(now) {
                self.close_at_node(at);
                return true;
            }
        }
        let wire = &mut self.wires[at];
        if wire.blocked && wire.at_agent && (!wire.at_node || wire.to_node.is_writable()) {
            wire.blocked = false;
            self.agent.handle_unblocked(now, wire.link);
            return true;
        }
        if wire.at_agent && !wire.lost {
            if let Some(bytes) = wire.to_agent.read(now, segment) {
                wire.rest.extend_from_slice(&bytes);
                let taken = self.agent.handle_input(now, wire.link, &wire.rest);
                wire.rest.drain(..taken);
                return true;
            }
            if wire.to_agent.is_at_end(now) {
                self.drop_at_agent(at);
                return true;
            }
        }
        if wire.at_agent && wire.closing.is_some_and(|until| until <= now) {
            self.drop_at_agent(at);
            return true;
        }
        busy
    }

    /// The shell lets go of a socket.
    fn drop_at_agent(&mut self, at: usize) {
        let wire = &mut self.wires[at];
        wire.at_agent = false;
        wire.blocked = false;
        wire.to_node.finish(self.now, self.latency);
        wire.begun.clear();
        self.agent.handle_disconnected(self.now, wire.link);
    }

    fn order(&mut self, wire: usize, what: Do) {
        let at = match what {
            Do::Send(at, _) => at,
            Do::Close => self.now,
        };
        self.orders += 1;
        self.delayed.insert((at, self.orders), (wire, what));
    }

    fn perform(&mut self, at: usize, what: Do) {
        match what {
            Do::Send(_, bytes) => self.send(at, &bytes),
            Do::Close => self.close_at_node(at),
        }
    }

    /// A node closes its end.
    pub fn close_at_node(&mut self, at: usize) {
        let wire = &mut self.wires[at];
        if std::mem::replace(&mut wire.at_node, false) {
            wire.to_agent.finish(self.now, self.latency);
            let node = wire.node;
            self.nodes[node].forget(at);
        }
    }
}

// === impl Net: what tests do ===

impl Net {
    /// The node at the other end of a connection.
    fn node_of(&self, connection: ConnectionIndex) -> usize {
        let host = &self.agent.settings().peer_of(connection).host;
        self.nodes.iter().position(|node| node.host == *host).unwrap()
    }

    /// Other settings for the running relay; peers that are new are there. Connections of one name have one address.
    pub fn reload(&mut self, topology: Topology) -> Changes {
        self.reload_at(topology, true)
    }

    /// The same; are the connections' addresses what they were?
    pub fn reload_at(&mut self, topology: Topology, same_address: bool) -> Changes {
        self.settle();
        for peer in &topology.settings.peers {
            if !self.nodes.iter().any(|node| node.host == peer.host) {
                let ids = u32::try_from(self.nodes.len() + 1).unwrap() << 20;
                self.nodes.push(Node::new(&peer.host, &peer.realm, ids));
            }
        }
        let before = Ledger::books(&self.agent);
        // Attempts of connections that are gone are given up at once.
        let named = |(at, connection): &(Time, ConnectionIndex)| {
            let name = &self.agent.settings().connections.get(connection.get())?.name;
            Some((*at, topology.settings.connection(name)?))
        };
        self.connecting = self.connecting.iter().filter_map(named).collect();
        let changes = self.agent.handle_settings(self.now, Arc::new(topology.settings), 2, |_, _| same_address);
        self.ledger.renumber(&before, &self.agent);
        for wire in self.wires.iter_mut().filter(|wire| wire.at_agent) {
            wire.slot = self.agent.slot_of(wire.link);
        }
        self.settle();
        changes
    }

    pub fn node(&self, name: &str) -> usize {
        let host = format!("{name}.example.net");
        self.nodes.iter().position(|node| node.host.eq_ignore_ascii_case(&host)).unwrap()
    }

    pub fn script(&mut self, name: &str) -> &mut Node {
        let at = self.node(name);
        &mut self.nodes[at]
    }

    pub fn behave(&mut self, name: &str, behaviour: Behaviour) {
        self.script(name).behaviour = behaviour;
    }

    /// A node that is in no configuration.
    pub fn stranger(&mut self, name: &str) -> usize {
        let ids = u32::try_from(self.nodes.len() + 1).unwrap() << 20;
        self.nodes.push(Node::new(&format!("{name}.example.net"), "example.net", ids));
        self.nodes.len() - 1
    }

    /// Opens a transport connection to the relay, and says nothing.
    pub fn dial_silently(&mut self, node: usize) -> usize {
        let remote = self.nodes[node].address;
        let link = self.agent.handle_accepted(self.now, vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], remote);
        self.wire(node, link)
    }

    /// Opens a connection to the relay and sends a CER.
    pub fn dial(&mut self, node: usize) -> usize {
        let wire = self.dial_silently(node);
        let cer = self.cer(node);
        self.send(wire, &cer);
        wire
    }

    pub fn cer(&mut self, node: usize) -> Bytes {
        let node = &mut self.nodes[node];
        let id = node.next_id();
        message::cer(&node.host, &node.realm, &node.applications, id)
    }

    /// The wire of a node that was opened last and that it still holds.
    pub fn wire_of(&self, name: &str) -> usize {
        let node = self.node(name);
        self.wires.iter().rposition(|w| w.node == node && w.at_node).unwrap()
    }

    /// Sends bytes on a wire as they are, if the node still holds it.
    pub fn send(&mut self, at: usize, bytes: &[u8]) {
        let wire = &mut self.wires[at];
        if wire.at_node {
            self.ledger.answered(bytes);
            wire.to_agent.write(self.now, self.latency, bytes);
        }
    }

    /// A client sends a request; gives its end-to-end identifier.
    pub fn request(&mut self, name: &str, request: &Request) -> u32 {
        let wire = self.wire_of(name);
        let node = &mut self.nodes[self.wires[wire].node];
        let (hop_by_hop, end_to_end) = (node.next_id(), node.next_id());
        let bytes = request.build(&node.host, hop_by_hop, end_to_end);
        node.outstanding.insert((wire, hop_by_hop), end_to_end);
        self.ledger.requested(end_to_end, &node.host, bytes.clone());
        self.send(wire, &bytes);
        end_to_end
    }

    pub fn requests(&mut self, name: &str, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.request(name, &Request::default())).collect()
    }

    /// Sends a request and gives its answer.
    pub fn ask(&mut self, name: &str, request: &Request) -> Seen {
        let id = self.request(name, request);
        self.drive();
        self.answer(id)
    }

    /// The answer that a client got.
    pub fn answer(&self, end_to_end: u32) -> Seen {
        let mut all = self.nodes.iter().flat_map(|node| &node.answers);
        all.find(|seen| seen.header().end_to_end == end_to_end).expect("no answer").clone()
    }

    /// The Result-Codes of those requests' answers.
    pub fn codes(&self, ids: &[u32]) -> Vec<u32> {
        ids.iter().map(|&id| self.answer(id).code().unwrap()).collect()
    }

    /// How many business requests each of those nodes has got.
    pub fn got<const N: usize>(&self, names: [&str; N]) -> [usize; N] {
        names.map(|name| self.nodes[self.node(name)].requests.len())
    }

    /// The request that a server got last.
    pub fn last_request(&self, name: &str) -> &Seen {
        self.nodes[self.node(name)].requests.last().unwrap()
    }

    pub fn slot(&self, connection: &str) -> &Slot {
        &self.agent.slots()[self.agent.settings().connection(connection).unwrap().get()]
    }

    pub fn cpl(&self, connection: &str) -> u8 {
        self.slot(connection).congestion().cpl().number()
    }

    pub fn counters(&self, connection: &str) -> &Counters {
        self.slot(connection).counters()
    }

    /// The node stops reading (or reads on) on its newest wire.
    pub fn reads(&mut self, name: &str, yes: bool) {
        let wire = self.wire_of(name);
        self.wires[wire].reading = yes;
    }

    /// Both ends of the node's newest wire are told at once that it is broken.
    pub fn cut(&mut self, name: &str) {
        let at = self.wire_of(name);
        let wire = &mut self.wires[at];
        wire.at_node = false;
        let node = wire.node;
        self.nodes[node].forget(at);
        if self.wires[at].at_agent {
            self.drop_at_agent(at);
        }
        self.settle();
    }

    /// Nothing arrives on the node's wires any more, and nobody knows; or what was under way goes on.
    pub fn lose(&mut self, name: &str, yes: bool) {
        let node = self.node(name);
        self.wires.iter_mut().filter(|w| w.node == node).for_each(|w| w.lost = yes);
    }

    /// The node says good-bye.
    pub fn dpr(&mut self, name: &str, cause: DisconnectCause) {
        let wire = self.wire_of(name);
        let node = &mut self.nodes[self.wires[wire].node];
        let id = node.next_id();
        let dpr = message::dpr(&node.host, cause, id);
        self.send(wire, &dpr);
    }

    /// The reasons of the closes so far.
    pub fn closes(&self) -> Vec<&'static str> {
        let reason = |event: &Event| match event {
            Event::Close { reason, .. } => Some(reason.label()),
            _ => None,
        };
        self.events.iter().filter_map(|(_, event)| reason(event)).collect()
    }
}
