//! `[[priority]]` and `[[route]]`

use super::keys::{self, MOST_WEIGHT};
use super::peers::Directory;
use super::reader::{Section, Sink};
use super::words::{quoted, shown, whole};
use governor_core::level::Priority;
use governor_core::settings::{PriorityRule, Route, RouteGroup};
use std::collections::HashMap;

pub fn read_priorities(sink: &mut Sink, root: &Section<'_, '_>, peers: &Directory) -> Vec<PriorityRule> {
    let mut rules = Vec::new();
    for section in root.tables(sink, "priority", keys::PRIORITY) {
        let ingress_peer = section.name_of(sink, "ingress_peer");
        if let Some(host) = ingress_peer
            && peers.peer(host).is_none()
        {
            section.fault(sink, "ingress_peer", format!("there is no peer with the host {}", quoted(host)));
        }
        let priority = section.number(sink, "priority").and_then(|n| Priority::request(u8::try_from(n).ok()?));
        rules.push(PriorityRule {
            application: section.number(sink, "application"),
            command: section.number(sink, "command"),
            ingress_peer: ingress_peer.map(str::to_owned),
            realm: section.identity(sink, "realm"),
            priority: priority.unwrap_or_default(),
        });
    }
    rules
}

pub fn read_routes(sink: &mut Sink, root: &Section<'_, '_>, peers: &Directory) -> Vec<Route> {
    let mut routes = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for section in root.tables(sink, "route", keys::ROUTE) {
        let name = section.name(sink, "name");
        if let Some(name) = &name {
            let line = sink.line(name.at.start);
            if let Some(first) = names.get(name.value) {
                let message = format!("{} is already the name of the route on line {first}", quoted(name.value));
                sink.fault(&name.at, &section.key_path("name"), message);
            } else {
                names.insert(name.value, line);
            }
        }
        let groups = section.tables(sink, "groups", keys::ROUTE_GROUP);
        if section.is_empty_array("groups") {
            section.fault(sink, "groups", "must have at least one element: a route needs a group of connections");
        }
        routes.push(Route {
            name: name.map_or_else(String::new, |name| name.value.to_owned()),
            realm: section.identity(sink, "realm"),
            host: section.identity(sink, "host"),
            application: section.number(sink, "application"),
            command: section.number(sink, "command"),
            origin_host: section.identity(sink, "origin_host"),
            origin_realm: section.identity(sink, "origin_realm"),
            user_name_prefix: section.name(sink, "user_name_prefix").map(|prefix| prefix.value.to_owned()),
            sticky: section.choice(sink, "sticky") == Some(1),
            groups: groups.iter().map(|group| read_group(sink, group, peers)).collect(),
        });
    }
    routes
}

fn read_group(sink: &mut Sink, section: &Section<'_, '_>, peers: &Directory) -> RouteGroup {
    let mut members = Vec::new();
    let Some(entries) = section.entries(sink, "weights") else { return RouteGroup::default() };
    if entries.is_empty() {
        section.fault(sink, "weights", "must name at least one connection");
    }
    for (name, value) in entries {
        let path = format!("{}.{}", section.key_path("weights"), quoted(name.value));
        let index = peers.connection(name.value);
        let value = value.get_ref();
        match (index, whole(value).filter(|weight| *weight <= MOST_WEIGHT)) {
            (Some(index), Some(weight)) => members.push((index, weight)),
            // `hss1.example = 1` is a table in TOML, and its name only half of what was meant.
            (_, None) if value.is_table() => {
                sink.fault(&name.at, &path, "must be a number (a name with dots needs quotes), is a table");
            }
            (index, weight) => {
                if index.is_none() {
                    sink.fault(&name.at, &path, format!("there is no connection {}", quoted(name.value)));
                }
                if weight.is_none() {
                    sink.fault(&name.at, &path, format!("must be a weight, 0 to {MOST_WEIGHT}, is {}", shown(value)));
                }
            }
        }
    }
    RouteGroup { members }
}
