//! A snapshot for people.

use crate::observe::control::Summary;
use crate::observe::snapshot::{Connection, Group, GroupShare, LastRefusal, Route, Snapshot};
use crate::observe::words::span;
use std::fmt::Write as _;

/// The whole page.
pub fn render(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let node = &snapshot.node;
    let _ = writeln!(
        out,
        "{}, realm {}: up {}, pid {}, version {}",
        node.origin_host,
        node.origin_realm,
        span(node.uptime),
        node.pid,
        node.version
    );
    let _ = writeln!(out, "pending {} of {}", node.pending, node.pending_limit);
    let listeners = if snapshot.listeners.is_empty() { "nowhere".to_owned() } else { snapshot.listeners.join(", ") };
    let _ = writeln!(out, "listening on {listeners}");
    for line in &snapshot.kernel_assist.report {
        let _ = writeln!(out, "{line}");
    }

    let up: u32 = snapshot.peers.iter().map(|peer| peer.up).sum();
    let _ = writeln!(out, "\n{} peers, {} connections, {up} up", snapshot.peers.len(), snapshot.connections.len());
    out += &connections(&snapshot.connections);
    out += &last_words(&snapshot.connections);
    if !snapshot.groups.is_empty() {
        out.push('\n');
        out += &groups(&snapshot.groups);
    }
    if !snapshot.routes.is_empty() {
        out.push('\n');
        out += &routes(&snapshot.routes);
    }
    let totals = &snapshot.totals;
    let counts = |counts: Vec<String>| if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
    let refused = totals.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let rejected = totals.rejected.iter().map(|(code, count)| format!("{code} {count}")).collect();
    let closed = totals.closed.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let _ = writeln!(out, "\nrefused: {}", counts(refused));
    let _ = writeln!(out, "rejected by Result-Code: {}", counts(rejected));
    let _ = writeln!(out, "connections closed: {}", counts(closed));
    if totals.unknown_peers + totals.answers_orphaned > 0 {
        let _ = writeln!(
            out,
            "unknown peers {}, answers without a requester {}",
            totals.unknown_peers, totals.answers_orphaned
        );
    }
    out
}

/// Connections in short, a line each.
pub fn summaries(connections: &[Summary]) -> String {
    let rows = connections.iter().map(|c| {
        let by_hand = c.manual_level.map_or_else(String::new, |level| level.to_string());
        let (cpl, pending) = (c.cpl.to_string(), c.pending.to_string());
        vec![c.name.clone(), c.peer.clone(), c.admin.clone(), c.state.clone(), by_hand, cpl, pending, c.why.clone()]
    });
    let head = ["connection", "peer", "service", "state", "by hand", "CPL", "pending", "why"];
    aligned(&head, rows.collect(), &[0, 1, 2, 3, 7])
}

/// One connection.
pub fn connection(shown: &Connection) -> String {
    let one = std::slice::from_ref(shown);
    let by_hand = shown.manual_level.map_or_else(String::new, |level| format!(", level {level} by hand"));
    let mut out = connections(one);
    let _ = writeln!(out, "\nservice: {}{by_hand}\nwhy: {}", shown.admin, shown.why);
    if let Some(address) = &shown.address {
        let _ = writeln!(out, "address: {address}");
    }
    out + &last_words(one)
}

fn connections(connections: &[Connection]) -> String {
    const HEAD: [&str; 15] = [
        "connection",
        "peer",
        "state",
        "CPL",
        "set by",
        "since",
        "rate/s",
        "pending",
        "req out",
        "ans in",
        "req in",
        "ans out",
        "held back",
        "discarded",
        "timeouts",
    ];
    let rows = connections.iter().map(|c| {
        let counters = &c.counters;
        let rate = match c.max_rate {
            Some(max) => format!("{:.0}/{max}", c.rate),
            None => format!("{:.0}", c.rate),
        };
        vec![
            c.name.clone(),
            c.peer.clone(),
            c.state.clone(),
            c.cpl.to_string(),
            c.set_by.clone().unwrap_or_default(),
            c.since.map(span).unwrap_or_default(),
            rate,
            format!("{}/{}", c.pending, c.pending_limit),
            counters.requests_sent.to_string(),
            counters.answers_received.to_string(),
            counters.requests_received.to_string(),
            counters.answers_sent.to_string(),
            counters.held_back.total().to_string(),
            (counters.discarded.answers + counters.discarded.requests_rerouted).to_string(),
            counters.timeouts.to_string(),
        ]
    });
    aligned(&HEAD, rows.collect(), &[0, 1, 2, 4])
}

/// Why a connection is not at 0, why it last refused or closed, and what the kernel says of one that is blocked.
fn last_words(connections: &[Connection]) -> String {
    let mut out = String::new();
    for c in connections {
        if c.cpl > 0 || c.admin == "draining" {
            let _ = writeln!(out, "{}: {}", c.name, c.why);
        }
        if let Some(kernel) = &c.kernel {
            let _ = write!(out, "{}: kernel: {} of {} bytes queued", c.name, kernel.queued, kernel.limit);
            if let Some(blocked) = kernel.blocked_for {
                let _ = write!(out, ", blocked for {}", span(blocked));
            }
            let _ = writeln!(out, ", {} sends, {} refused", kernel.sends, kernel.refusals);
        }
        if let Some(refusal) = &c.last_refusal {
            let (ago, LastRefusal { priority, rule, .. }) = (span(refusal.ago), refusal);
            let _ = writeln!(out, "{}: last refused a request of priority {priority} {ago} ago by {rule}", c.name);
        }
        // That of one that is down stands in its `why`.
        if let Some(reason) = c.last_close.as_ref().filter(|_| c.cpl != 99) {
            let _ = writeln!(out, "{}: last closed: {reason}", c.name);
        }
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

fn groups(groups: &[Group]) -> String {
    let of = |max: Option<u32>| max.map_or_else(|| "-".to_owned(), |max| max.to_string());
    let rows = groups.iter().map(|group| {
        vec![
            group.name.clone(),
            group.connections.len().to_string(),
            group.level.to_string(),
            format!("{:.0}/{}", group.rate, of(group.max_rate)),
            format!("{}/{}", group.pending, of(group.max_pending)),
            group.share.as_ref().map_or_else(|| "no".to_owned(), shared),
        ]
    });
    aligned(&["group", "connections", "level", "rate/s", "pending", "shared"], rows.collect(), &[0, 5])
}

/// With whom, and our part.
fn shared(share: &GroupShare) -> String {
    let parts = [(share.part_rate, "/s"), (share.part_pending, " pending")];
    let parts = parts.iter().filter_map(|(part, unit)| part.map(|part| format!("{part}{unit}")));
    let agents = if share.members == 1 { "agent" } else { "agents" };
    let missing = if share.missing > 0 { format!(", {} missing", share.missing) } else { String::new() };
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!("{}: {} {agents}{missing}, our part {parts}", share.state, share.members)
}

fn routes(routes: &[Route]) -> String {
    let any = |value: Option<String>| value.unwrap_or_else(|| "*".to_owned());
    let rows = routes.iter().map(|route| {
        let groups = route.groups.iter().map(|group| {
            let members = group.members.iter().map(|m| format!("{} {} (CPL {})", m.connection, m.weight, m.cpl));
            members.collect::<Vec<_>>().join(", ")
        });
        vec![
            route.name.clone(),
            any(route.realm.clone()),
            any(route.host.clone()),
            any(route.application.map(|n| n.to_string())),
            any(route.command.map(|n| n.to_string())),
            groups.collect::<Vec<_>>().join(" | else "),
        ]
    });
    aligned(&["route", "realm", "host", "application", "command", "to"], rows.collect(), &[0, 1, 2, 5])
}

/// Columns as wide as they need, two spaces apart; those in `left` begin on the left, the others are numbers.
fn aligned(head: &[&str], mut rows: Vec<Vec<String>>, left: &[usize]) -> String {
    rows.insert(0, head.iter().map(|title| (*title).to_owned()).collect());
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).filter_map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column > 0 {
                line += "  ";
            }
            let _ =
                if left.contains(&column) { write!(line, "{cell:<width$}") } else { write!(line, "{cell:>width$}") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::snapshot::{KernelConnection, Node, Peer, RouteGroup, RouteMember};

    #[test]
    fn the_page_is_aligned_and_says_who_sets_a_level_and_why_it_refused() {
        let node = Node { origin_host: "gov1.r".into(), origin_realm: "r".into(), uptime: 75.0, ..Node::default() };
        let busy = Connection {
            name: "hss1-a".into(),
            peer: "hss1.r".into(),
            state: "open".into(),
            cpl: 2,
            set_by: Some("remote_busy".into()),
            since: Some(1.25),
            rate: 812.4,
            max_rate: Some(1000),
            pending: 13,
            pending_limit: 1000,
            kernel: Some(KernelConnection { queued: 10, limit: 4096, blocked_for: Some(2.0), ..Default::default() }),
            why: "the peer is busy".into(),
            last_refusal: Some(LastRefusal { ago: 0.2, priority: 1, rule: "rule 1: so".into(), ..Default::default() }),
            ..Connection::default()
        };
        let down = Connection {
            name: "b".into(),
            peer: "hss2.example.r".into(),
            state: "closed".into(),
            cpl: 99,
            set_by: Some("status".into()),
            pending_limit: 10,
            why: "down: waits".into(),
            last_close: Some("watchdog_timeout".into()),
            ..Connection::default()
        };
        let member = |connection: &str, cpl| RouteGroup {
            members: vec![RouteMember { connection: connection.into(), weight: 1, cpl }],
        };
        let snapshot = Snapshot {
            node,
            peers: vec![Peer { up: 1, ..Peer::default() }, Peer::default()],
            connections: vec![busy, down],
            routes: vec![Route {
                name: "hss".into(),
                realm: Some("r".into()),
                groups: vec![member("hss1-a", 2), member("b", 99)],
                ..Route::default()
            }],
            ..Snapshot::default()
        };
        let page = render(&snapshot);
        let expected = "\
gov1.r, realm r: up 1m 15s, pid 0, version 
pending 0 of 0
listening on nowhere

2 peers, 2 connections, 1 up
connection  peer            state   CPL  set by       since    rate/s  pending  req out  ans in  req in  ans out  held back  discarded  timeouts
hss1-a      hss1.r          open      2  remote_busy   1.2s  812/1000  13/1000        0       0       0        0          0          0         0
b           hss2.example.r  closed   99  status                     0     0/10        0       0       0        0          0          0         0

hss1-a: the peer is busy
hss1-a: kernel: 10 of 4096 bytes queued, blocked for 2.0s, 0 sends, 0 refused
hss1-a: last refused a request of priority 1 0.2s ago by rule 1: so
b: down: waits

route  realm  host  application  command  to
hss    r      *               *        *  hss1-a 1 (CPL 2) | else b 1 (CPL 99)

refused: none
rejected by Result-Code: none
connections closed: none
";
        assert_eq!(page, expected);
    }
}
