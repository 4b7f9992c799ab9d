//! `[[group]]`: egress throttle groups (rule 6).

use super::keys::{self, MOST_MEMBERS};
use super::node::set;
use super::peers::Directory;
use super::reader::{At, Section, Sink};
use super::throttle;
use super::words::quoted;
use governor_core::settings::{ConnectionIndex, Group, GroupMode, Share};
use std::collections::HashMap;

/// Which group a connection is in already, by name, and the line that says so.
type Taken = HashMap<ConnectionIndex, (String, usize)>;

pub fn read(sink: &mut Sink, root: &Section<'_, '_>, peers: &Directory, share: Option<Share>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut taken = Taken::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for section in root.tables(sink, "group", keys::GROUP) {
        let name = section.name(sink, "name");
        if let Some(name) = &name {
            let line = sink.line(name.at.start);
            if let Some(first) = names.get(name.value) {
                let message = format!("{} is already the name of the group on line {first}", quoted(name.value));
                sink.fault(&name.at, &section.key_path("name"), message);
            } else {
                names.insert(name.value, line);
            }
        }
        let mut group = Group::new(name.map_or("", |name| name.value));
        group.connections = members(sink, &section, peers, &group.name, &mut taken);
        group.max_rate = section.number(sink, "max_rate");
        group.max_pending = section.number(sink, "max_pending");
        if !section.has("max_rate") && !section.has("max_pending") {
            sink.fault(&section.at, &section.path, "`max_rate` or `max_pending` must be given, or both");
        }
        if section.choice(sink, "mode") == Some(1) {
            group.mode = GroupMode::Limit;
        }
        let thresholds = throttle::thresholds(sink, &section, ["onset", "abatement"], &group.thresholds);
        set(&mut group.thresholds, thresholds);
        set(&mut group.convergence, section.time(sink, "convergence"));
        set(&mut group.abatement_time, section.time(sink, "abatement_time"));
        let shared = section.choice(sink, "shared");
        if shared == Some(0) && share.is_none() {
            section.fault(sink, "shared", "needs a table `[share]` that says through which server");
        }
        group.share = share.filter(|_| shared != Some(1));
        groups.push(group);
    }
    groups
}

fn members(
    sink: &mut Sink,
    section: &Section<'_, '_>,
    peers: &Directory,
    group: &str,
    taken: &mut Taken,
) -> Vec<ConnectionIndex> {
    let mut connections = Vec::new();
    let members = section.texts(sink, "members");
    if members.len() > MOST_MEMBERS || section.is_empty_array("members") {
        let message = format!("must have 1 to {MOST_MEMBERS} elements, has {}", members.len());
        section.fault(sink, "members", message);
    }
    for (at, member) in members.iter().enumerate() {
        let path = format!("{}[{}]", section.key_path("members"), at + 1);
        let line = sink.line(member.at.start);
        for connection in resolve(sink, peers, member, &path) {
            if let Some((other, first)) = taken.get(&connection) {
                let name = peers.connections.get(connection.get()).map_or("", |connection| &connection.name);
                let message = format!(
                    "the connection {} is already in the group {} (line {first}); each is in one group at most",
                    quoted(name),
                    quoted(other)
                );
                sink.fault(&member.at, &path, message);
            } else {
                taken.insert(connection, (group.to_owned(), line));
                connections.push(connection);
            }
        }
    }
    connections
}

/// The connections that a member stands for.
fn resolve(sink: &mut Sink, peers: &Directory, member: &At<&str>, path: &str) -> Vec<ConnectionIndex> {
    let name = member.value;
    let peer = peers.peer(name).and_then(|index| peers.peers.get(index.get()));
    match (peer, peers.connection(name)) {
        (None, None) => {
            sink.fault(&member.at, path, format!("there is no peer or connection {}", quoted(name)));
            Vec::new()
        }
        (None, Some(connection)) => vec![connection],
        (Some(peer), None) => peer.connections.clone(),
        (Some(peer), Some(connection)) if peer.connections == [connection] => vec![connection],
        (Some(_), Some(_)) => {
            let message = format!("{} is a peer and a connection: one of them needs another name", quoted(name));
            sink.fault(&member.at, path, message);
            Vec::new()
        }
    }
}
