//! Two machines, the wire between them, and virtual time.

use super::{ADDRESS, Bytes, CloseReason, Config, Duration, Event, Local, Machine, Side, Time, local, name, view};
use crate::peer::parse_cer;
use std::collections::VecDeque;
use std::sync::Arc;

const LATENCY: Duration = Duration::from_millis(5);

enum Packet {
    Message(Bytes),
    Fin,
}

/// One end of a transport connection.
#[derive(Default)]
struct End {
    /// How this node's machine calls it; `None` before the CER, and once it is closed.
    side: Option<Side>,
    closed: bool,
    /// What is under way to this end, in order.
    incoming: VecDeque<(Time, Packet)>,
}

struct Connection {
    ends: [End; 2],
    /// Nothing arrives any more, in either direction, and nobody is told.
    silent: bool,
}

pub(super) struct Node {
    pub(super) machine: Machine,
    local: Arc<Local>,
    /// Attempts to connect: when each is decided.
    connecting: Option<Time>,
    /// Nobody gets through to this node's address.
    pub(super) unreachable: bool,
    pub(super) events: Vec<(Time, Event)>,
    life: Life,
    /// Names of the messages it has sent.
    pub(super) sent: Vec<(Time, Side, &'static str)>,
    config: Config,
}

pub(super) struct Pair {
    pub(super) now: Time,
    pub(super) nodes: [Node; 2],
    connections: Vec<Connection>,
    steps: u64,
}

impl Pair {
    /// Nodes 0 and 1; who opens connections?
    pub(super) fn new(hosts: [&str; 2], initiate: [bool; 2], seed: u64) -> Self {
        Self::with(hosts, initiate, seed, |_| {})
    }

    pub(super) fn with(hosts: [&str; 2], initiate: [bool; 2], seed: u64, tune: impl Fn(&mut Config)) -> Self {
        let node = |me: usize| {
            let mut config = super::config(hosts[1 - me], initiate[me]);
            tune(&mut config);
            let local = local(hosts[me]);
            let machine = Machine::new(Time::ZERO, config.clone(), Arc::clone(&local), seed * 2 + me as u64);
            Node {
                machine,
                local,
                connecting: None,
                unreachable: false,
                events: vec![],
                life: Life::default(),
                sent: vec![],
                config,
            }
        };
        Self { now: Time::ZERO, nodes: [node(0), node(1)], connections: vec![], steps: 0 }
    }

    pub(super) fn start(&mut self, me: usize) {
        self.nodes[me].machine.handle_start(self.now);
        self.drain(me);
    }

    /// Something that happens to a node's machine from outside.
    pub(super) fn act(&mut self, me: usize, act: impl FnOnce(&mut Machine, Time)) {
        act(&mut self.nodes[me].machine, self.now);
        self.drain(me);
    }

    /// A message of an application, on the node's open connection.
    pub(super) fn send_data(&mut self, me: usize) {
        if let Some(side) = self.nodes[me].machine.side().filter(|_| self.nodes[me].machine.is_open()) {
            self.transmit(me, side, super::data());
        }
    }

    /// The node dies and starts again: its machine forgets everything, its connections go without a word.
    pub(super) fn crash(&mut self, me: usize, seed: u64) {
        for connection in &mut self.connections {
            connection.silent |= !connection.ends[me].closed;
            connection.ends[me].closed = true;
        }
        let node = &mut self.nodes[me];
        node.connecting = None;
        node.life = Life::default();
        node.machine = Machine::new(self.now, node.config.clone(), Arc::clone(&node.local), seed);
    }

    /// Every connection goes silent.
    pub(super) fn black_hole(&mut self) {
        self.connections.iter_mut().for_each(|c| c.silent = true);
    }

    /// Every connection breaks, and both ends are told.
    pub(super) fn reset(&mut self) {
        for at in 0..self.connections.len() {
            for me in 0..2 {
                let end = &mut self.connections[at].ends[me];
                if !end.closed {
                    end.incoming.clear();
                    end.incoming.push_back((self.now, Packet::Fin));
                }
            }
        }
    }

    /// Transport connections that at least one machine still holds. One that was accepted and never brought a CER is the
    /// caller's to time out.
    pub(super) fn open_connections(&self) -> usize {
        self.connections.iter().filter(|c| c.ends.iter().any(|e| !e.closed && e.side.is_some())).count()
    }

    pub(super) fn events(&self, me: usize) -> Vec<&Event> {
        self.nodes[me].events.iter().map(|(_, event)| event).collect()
    }

    pub(super) fn reasons(&self, me: usize) -> Vec<&'static str> {
        let reason = |event: &Event| match event {
            Event::Disconnect { reason, .. } => Some(reason.label()),
            _ => None,
        };
        self.nodes[me].events.iter().filter_map(|(_, e)| reason(e)).collect()
    }

    /// Runs until `end`.
    pub(super) fn run_until(&mut self, end: Time) {
        while let Some(next) = self.next_wake().filter(|next| *next <= end) {
            assert!(next >= self.now, "time never goes back");
            self.now = next;
            self.step();
        }
        self.now = end;
    }

    pub(super) fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// When something happens next; `None`: never again.
    pub(super) fn next_wake(&self) -> Option<Time> {
        let timers = self.nodes.iter().filter_map(|n| n.machine.poll_timeout().map(|t| t.max(self.now)));
        let connects = self.nodes.iter().filter_map(|n| n.connecting);
        let packets =
            self.connections.iter().flat_map(|c| &c.ends).filter_map(|e| e.incoming.front().map(|(at, _)| *at));
        timers.chain(connects).chain(packets).min()
    }

    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < 200_000, "the pair never rests");
        for me in 0..2 {
            if self.nodes[me].connecting.is_some_and(|at| at <= self.now) {
                self.nodes[me].connecting = None;
                self.connect(me);
            }
            for at in 0..self.connections.len() {
                while self.connections[at].ends[me].incoming.front().is_some_and(|(due, _)| *due <= self.now) {
                    self.receive(me, at);
                }
            }
            if self.nodes[me].machine.poll_timeout().is_some_and(|at| at <= self.now) {
                self.nodes[me].machine.handle_timeout(self.now);
                self.drain(me);
            }
        }
    }

    fn connect(&mut self, me: usize) {
        if self.nodes[1 - me].unreachable {
            self.nodes[me].machine.handle_connect_failed(self.now);
        } else {
            let mut connection = Connection { ends: Default::default(), silent: false };
            connection.ends[me].side = Some(Side::Initiator);
            self.connections.push(connection);
            self.nodes[me].machine.handle_connected(self.now, &[ADDRESS]);
        }
        self.drain(me);
    }

    fn receive(&mut self, me: usize, at: usize) {
        let connection = &mut self.connections[at];
        let silent = connection.silent;
        let end = &mut connection.ends[me];
        let Some((_, packet)) = end.incoming.pop_front() else { return };
        if end.closed || silent {
            return;
        }
        let machine = &mut self.nodes[me].machine;
        match (end.side, packet) {
            (Some(side), Packet::Message(bytes)) if name(&bytes) == "other" => machine.handle_traffic(self.now, side),
            (Some(side), Packet::Message(bytes)) => machine.handle_message(self.now, side, &view(&bytes)),
            (Some(side), Packet::Fin) => machine.handle_disconnected(self.now, side),
            (None, Packet::Fin) => end.closed = true,
            // The first message on an accepted connection: a CER of the peer, or nothing.
            (None, Packet::Message(bytes)) => {
                let cer = view(&bytes);
                let remote = parse_cer(&cer).expect("a valid CER");
                match machine.handle_incoming(self.now, &cer, remote, &[ADDRESS]) {
                    Ok(side) => end.side = Some(side),
                    Err(rejected) => {
                        end.closed = true;
                        let reason = rejected.reason.clone();
                        self.nodes[me].events.push((self.now, rejected_event(reason)));
                        let due = self.now + LATENCY;
                        let other = &mut self.connections[at].ends[1 - me].incoming;
                        other.push_back((due, Packet::Message(rejected.answer)));
                        other.push_back((due, Packet::Fin));
                    }
                }
            }
        }
        self.drain(me);
    }

    /// What the caller owes the machine after each call: first what to write, then what to do.
    fn drain(&mut self, me: usize) {
        let mut polls = 0;
        while let Some((side, bytes)) = self.nodes[me].machine.poll_transmit() {
            self.nodes[me].sent.push((self.now, side, name(&bytes)));
            self.transmit(me, side, bytes);
            polls += 1;
        }
        while let Some(event) = self.nodes[me].machine.poll_event() {
            self.nodes[me].events.push((self.now, event.clone()));
            self.nodes[me].life.take(&event);
            match event {
                Event::Connect => {
                    assert!(self.nodes[me].connecting.is_none(), "one attempt at a time");
                    self.nodes[me].connecting = Some(self.now + LATENCY);
                }
                Event::Disconnect { side, .. } => self.close(me, side),
                _ => {}
            }
            polls += 1;
        }
        assert!(polls < 16, "{polls} polls after one call");
        let node = &self.nodes[me];
        assert_eq!(node.machine.side().is_some(), node.life.open);
        assert_eq!(node.machine.is_up(), node.life.up && node.machine.is_open());
    }

    fn transmit(&mut self, me: usize, side: Side, bytes: Bytes) {
        let due = self.now + LATENCY;
        let connection = self.connections.iter_mut().find(|c| c.ends[me].side == Some(side) && !c.ends[me].closed);
        let connection = connection.expect("a message leaves on a connection that is there");
        connection.ends[1 - me].incoming.push_back((due, Packet::Message(bytes)));
    }

    fn close(&mut self, me: usize, side: Side) {
        if side == Side::Initiator && self.nodes[me].connecting.take().is_some() {
            return;
        }
        let due = self.now + LATENCY;
        let connection = self.connections.iter_mut().find(|c| c.ends[me].side == Some(side) && !c.ends[me].closed);
        let connection = connection.expect("a connection is closed once");
        connection.ends[me].closed = true;
        connection.ends[me].side = None;
        connection.ends[1 - me].incoming.push_back((due, Packet::Fin));
    }
}

/// What a caller believes from the events alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    pub(super) open: bool,
    pub(super) up: bool,
    suspect: bool,
}

impl Life {
    /// Each event fits what went before.
    pub(super) fn take(&mut self, event: &Event) {
        let ok = match event {
            Event::Connect | Event::Disconnect { .. } => true,
            Event::Opened { .. } => !std::mem::replace(&mut self.open, true),
            Event::Up { .. } => self.open && !self.suspect && !std::mem::replace(&mut self.up, true),
            Event::Suspect => !std::mem::replace(&mut self.suspect, true) && std::mem::replace(&mut self.up, false),
            Event::Recovered => {
                self.open && std::mem::replace(&mut self.suspect, false) && !std::mem::replace(&mut self.up, true)
            }
            Event::Draining => self.open,
            Event::Down { .. } => std::mem::take(self).open,
        };
        assert!(ok, "{event:?} does not fit what went before: {self:?}");
    }
}

/// R-Reject as an event, for the record: the connection never had a name.
fn rejected_event(reason: CloseReason) -> Event {
    Event::Disconnect { side: Side::SecondResponder, reason }
}
