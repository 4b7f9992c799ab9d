//! `[[peer]]` and `[[peer.connection]]`

use super::address::Address;
use super::keys;
use super::node::set;
use super::reader::{Section, Sink};
use super::throttle::Sets;
use super::words::quoted;
use super::{ConnectionShell, node};
use governor_core::settings::{Connection, ConnectionIndex, Peer, PeerIndex, Pressure, RemoteBusy, Transport, Usage};
use std::collections::HashMap;

/// Every peer and connection, and what the rest of the file calls them.
#[derive(Debug, Default)]
pub struct Directory {
    pub peers: Vec<Peer>,
    pub connections: Vec<Connection>,
    pub shells: Vec<ConnectionShell>,
    by_name: HashMap<String, (ConnectionIndex, usize)>,
    /// Hosts in lower case: they compare without regard to case.
    by_host: HashMap<String, (PeerIndex, usize)>,
}

impl Directory {
    /// The connection of that name.
    pub fn connection(&self, name: &str) -> Option<ConnectionIndex> {
        self.by_name.get(name).map(|(index, _)| *index)
    }

    /// The peer of that host.
    pub fn peer(&self, host: &str) -> Option<PeerIndex> {
        self.by_host.get(&host.to_ascii_lowercase()).map(|(index, _)| *index)
    }

    fn peer_index(&self) -> PeerIndex {
        PeerIndex(u32::try_from(self.peers.len()).unwrap_or(u32::MAX))
    }

    fn connection_index(&self) -> ConnectionIndex {
        ConnectionIndex(u32::try_from(self.connections.len()).unwrap_or(u32::MAX))
    }
}

pub fn read(sink: &mut Sink, root: &Section<'_, '_>, node: &node::Read, sets: &Sets) -> Directory {
    let mut peers = Directory::default();
    for section in root.tables(sink, "peer", keys::PEER) {
        let index = peers.peer_index();
        let host = section.identity(sink, "host").unwrap_or_default();
        let realm = section.identity(sink, "realm").unwrap_or_default();
        if !host.is_empty() {
            let line = sink.line(section.span("host").start);
            if host.eq_ignore_ascii_case(&node.node.origin_host) {
                section.fault(sink, "host", format!("{} is our own `origin_host`", quoted(&host)));
            } else if let Some((_, first)) = peers.by_host.get(&host.to_ascii_lowercase()) {
                section.fault(
                    sink,
                    "host",
                    format!("{} is already the host of the peer on line {first}", quoted(&host)),
                );
            } else {
                peers.by_host.insert(host.to_ascii_lowercase(), (index, line));
            }
        }
        let addresses = section.ips(sink, "addresses");
        peers.peers.push(Peer { host, realm, addresses, connections: Vec::new() });
        let connections = section.tables(sink, "connection", keys::CONNECTION);
        if section.is_empty_array("connection") {
            section.fault(sink, "connection", "must have at least one element: a peer needs a connection");
        }
        for connection in connections {
            let at = peers.connection_index();
            read_connection(sink, &connection, index, &mut peers, sets, node);
            if let Some(peer) = peers.peers.last_mut() {
                peer.connections.push(at);
            }
        }
    }
    peers
}

fn read_connection(
    sink: &mut Sink,
    section: &Section<'_, '_>,
    peer: PeerIndex,
    peers: &mut Directory,
    sets: &Sets,
    node: &node::Read,
) {
    let index = peers.connection_index();
    let name = section.name(sink, "name");
    if let Some(name) = &name {
        if let Some((_, first)) = peers.by_name.get(name.value) {
            let message = format!("{} is already the name of the connection on line {first}", quoted(name.value));
            sink.fault(&name.at, &section.key_path("name"), message);
        } else {
            peers.by_name.insert(name.value.to_owned(), (index, sink.line(name.at.start)));
        }
    }
    let mut connection = Connection::new(name.map_or("", |name| name.value), peer);
    let address: Option<Address> = section.address(sink, "address");
    connection.initiate = section.has("address");
    if !connection.initiate && node.listen.is_empty() {
        let message = "without an `address` the peer connects to us, but `node.listen` is empty: it never comes up";
        sink.note(&section.at, &section.path, message);
    }
    connection.remote_busy = remote_busy(sink, section);
    connection.transport = transport(sink, section);
    if let Some(set) = section.name_of(sink, "throttle") {
        connection.throttle = sets.get(set).cloned();
        if connection.throttle.is_none() {
            section.fault(sink, "throttle", format!("there is no throttle set {}", quoted(set)));
        }
    }
    set(&mut connection.pending_limit, section.number(sink, "pending_limit"));
    let send_buffer = section.number(sink, "send_buffer");
    peers.connections.push(connection);
    peers.shells.push(ConnectionShell { address, send_buffer });
}

fn remote_busy(sink: &mut Sink, connection: &Section<'_, '_>) -> RemoteBusy {
    let mut busy = RemoteBusy::default();
    if let Some(section) = connection.table(sink, "remote_busy", keys::REMOTE_BUSY) {
        match section.choice(sink, "usage") {
            Some(0) => busy.usage = Usage::Off,
            Some(2) => busy.usage = Usage::HostOverride,
            _ => {}
        }
        set(&mut busy.abatement, section.time(sink, "abatement"));
    }
    busy
}

fn transport(sink: &mut Sink, connection: &Section<'_, '_>) -> Transport {
    let mut transport = Transport::default();
    if let Some(section) = connection.table(sink, "transport_congestion", keys::TRANSPORT) {
        set(&mut transport.abatement, section.time(sink, "abatement"));
        if let Some(section) = section.off_or_table(sink, "pressure", keys::PRESSURE) {
            transport.pressure = Some(pressure(sink, &section));
        }
    }
    transport
}

fn pressure(sink: &mut Sink, section: &Section<'_, '_>) -> Pressure {
    let mut pressure = Pressure::default();
    let mut sound = true;
    for (key, slot) in [("onset", &mut pressure.onset), ("abatement", &mut pressure.abatement)] {
        let Some(numbers) = section.numbers(sink, key) else {
            sound &= !section.has(key);
            continue;
        };
        for (slot, number) in slot.iter_mut().zip(numbers) {
            *slot = u8::try_from(number).unwrap_or(u8::MAX);
        }
        if !slot.is_sorted_by(|a, b| a < b) {
            section.fault(sink, key, format!("must rise from element to element, is {slot:?}"));
            sound = false;
        }
    }
    let crossed = pressure.onset.iter().zip(&pressure.abatement).position(|(onset, abatement)| abatement >= onset);
    if let (true, Some(at)) = (sound, crossed) {
        let (onset, abatement, n) = (pressure.onset[at], pressure.abatement[at], at + 1);
        let key = if section.has("abatement") { "abatement" } else { "onset" };
        section.fault(sink, key, format!("`abatement[{n}]` must be below `onset[{n}]` ({onset}), is {abatement}"));
    }
    pressure
}
