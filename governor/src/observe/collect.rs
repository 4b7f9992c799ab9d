//! Makes a snapshot of the agent.

use super::snapshot::{
    Connection, Counters, Discarded, Group, GroupShare, HeldBack, LastRefusal, Levels, Node, Peer, Route, RouteGroup,
    RouteMember, Snapshot, Totals,
};
use super::why;
use crate::config::Shell;
use governor_core::agent::{self, Agent, HELD_BACK_REASONS, Slot};
use governor_core::congestion::{self, Share, ShareState};
use governor_core::level::Level;
use governor_core::refusal::Refusal;
use governor_core::settings::{self, ConnectionIndex, Settings};
use governor_core::time::Time;

/// All that the agent and the configuration know; `now` counts from the start. The caller adds what only it knows: the
/// listeners, the kernel's report, and for each connection (same order as the settings) its remote end and what the
/// kernel measures.
pub fn snapshot(agent: &mut Agent, shell: &Shell, now: Time) -> Snapshot {
    // The rate of an idle connection falls without anybody's doing.
    agent.refresh(now);
    let settings = agent.settings();
    let connections = agent.slots().iter().map(|slot| connection(slot, agent, shell, now)).collect();
    let peers = settings.peers.iter().map(|p| peer(p, settings, agent)).collect();
    let routes = settings.routes.iter().map(|r| route(r, settings, agent)).collect();
    let groups = settings.groups.iter().zip(agent.groups()).map(|(configured, group)| Group {
        name: configured.name.clone(),
        connections: names(&configured.connections, settings),
        level: group.level().number(),
        rate: group.rate(),
        max_rate: configured.max_rate,
        pending: group.pending(),
        max_pending: configured.max_pending,
        share: group.share().map(|shared| share(configured, group, shared, now)),
    });
    let node = Node {
        origin_host: settings.node.origin_host.clone(),
        origin_realm: settings.node.origin_realm.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        uptime: now.as_secs_f64(),
        pending: agent.pending(),
        pending_limit: settings.node.pending_limit,
    };
    Snapshot {
        node,
        connections,
        peers,
        routes,
        groups: groups.collect(),
        totals: totals(agent),
        ..Snapshot::default()
    }
}

fn share(configured: &settings::Group, group: &congestion::Group, share: &Share, now: Time) -> GroupShare {
    let known = share.state() == ShareState::Shared;
    GroupShare {
        state: share.state().to_string(),
        answered: share.last_answer().map(|at| now.since(at).as_secs_f64()),
        members: share.members(),
        missing: share.missing(),
        part_rate: configured.max_rate.map(|_| share.part().rate),
        part_pending: configured.max_pending.map(|_| share.part().pending),
        total_rate: known.then(|| group.rate() + f64::from(share.others().rate)),
        total_pending: known.then(|| group.pending().saturating_add(share.others().pending)),
    }
}

/// A configured connection.
pub fn connection(slot: &Slot, agent: &Agent, shell: &Shell, now: Time) -> Connection {
    let settings = agent.settings();
    let configured = &settings.connections[slot.index.get()];
    let congestion = slot.congestion();
    let levels = Levels::from(congestion.levels());
    let throttle = configured.throttle.as_ref();
    let address = shell.connections.get(slot.index.get()).and_then(|connection| connection.address.as_ref());
    Connection {
        name: configured.name.clone(),
        peer: settings.peer_of(slot.index).host.clone(),
        address: address.map(ToString::to_string),
        remote: None,
        state: slot.machine().state().name().to_owned(),
        admin: slot.admin().name().to_owned(),
        manual_level: slot.manual_level().map(Level::number),
        watchdog: slot.machine().watchdog().name().to_owned(),
        cpl: congestion.cpl().number(),
        levels,
        set_by: levels.set_by().map(str::to_owned),
        why: why::why(slot, agent, address, now),
        since: Some((now - slot.level_since()).as_secs_f64()),
        rate: congestion.rate(),
        throttle: throttle.map(|set| set.name.clone()),
        max_rate: throttle.map(|set| set.max_rate),
        pending: congestion.pending(),
        pending_limit: congestion.pending_limit(),
        counters: counters(slot.counters()),
        kernel: None,
        last_refusal: slot.last_refusal().map(|(at, priority, refusal)| LastRefusal {
            ago: (now - at).as_secs_f64(),
            priority: priority.number(),
            reason: refusal.label().to_owned(),
            level: match refusal {
                Refusal::Cpl(level) => Some(level.number()),
                _ => None,
            },
            rule: why::rule(priority, refusal, configured, group_of(slot, settings)),
        }),
        last_close: slot.last_close().map(ToString::to_string),
    }
}

/// The name of the group that it is a member of.
fn group_of<'s>(slot: &Slot, settings: &'s Settings) -> Option<&'s str> {
    slot.group().and_then(|at| settings.groups.get(at)).map(|group| group.name.as_str())
}

fn counters(counters: &agent::Counters) -> Counters {
    let by_priority = |reason: &str| {
        let column = HELD_BACK_REASONS.iter().position(|label| *label == reason);
        counters.held_back.map(|row| column.map_or(0, |column| row[column]))
    };
    Counters {
        requests_received: counters.requests_received,
        requests_sent: counters.requests_sent,
        answers_received: counters.answers_received,
        answers_sent: counters.answers_sent,
        held_back: HeldBack {
            cpl: by_priority("cpl"),
            pending_limit: by_priority("pending_limit"),
            rate_limit: by_priority("rate_limit"),
            group: by_priority("group"),
        },
        discarded: Discarded { answers: counters.answers_discarded, requests_rerouted: counters.requests_withdrawn },
        timeouts: counters.timeouts,
        retransmitted: counters.retransmitted,
        retried: counters.retried,
        answers_late: counters.answers_late,
        answers_duplicate: counters.answers_duplicate,
        answers_unknown: counters.answers_unknown,
        busy_own: counters.busy_own,
        busy_behind: counters.busy_behind,
        malformed: counters.malformed,
    }
}

fn peer(peer: &settings::Peer, settings: &Settings, agent: &Agent) -> Peer {
    let slots = || peer.connections.iter().filter_map(|at| agent.slots().get(at.get()));
    Peer {
        host: peer.host.clone(),
        realm: peer.realm.clone(),
        product: slots().find_map(|slot| slot.machine().remote()).and_then(|remote| remote.product_name.clone()),
        connections: names(&peer.connections, settings),
        up: slots().filter(|slot| !slot.congestion().is_down()).count().try_into().unwrap_or(u32::MAX),
    }
}

fn route(route: &settings::Route, settings: &Settings, agent: &Agent) -> Route {
    let member = |&(connection, weight): &(ConnectionIndex, u32)| RouteMember {
        connection: settings.connections[connection.get()].name.clone(),
        weight,
        cpl: agent.slots().get(connection.get()).map_or(Level::UNAVAILABLE, |slot| slot.congestion().cpl()).number(),
    };
    Route {
        name: route.name.clone(),
        realm: route.realm.clone(),
        host: route.host.clone(),
        application: route.application,
        command: route.command,
        groups: route.groups.iter().map(|g| RouteGroup { members: g.members.iter().map(member).collect() }).collect(),
    }
}

fn totals(agent: &Agent) -> Totals {
    let totals = agent.totals();
    let by_name = |(name, count): (&&str, &u64)| ((*name).to_owned(), *count);
    Totals {
        refused: totals.refused.iter().map(by_name).collect(),
        rejected: totals.rejected.clone(),
        closed: totals.closed.iter().map(by_name).collect(),
        unknown_peers: totals.unknown_peers,
        answers_orphaned: totals.answers_orphaned,
    }
}

fn names(connections: &[ConnectionIndex], settings: &Settings) -> Vec<String> {
    connections.iter().map(|at| settings.connections[at.get()].name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use governor_core::peer::Local;
    use std::sync::Arc;

    /// Every field of the document, as an agent with nothing connected has it.
    #[test]
    fn an_agent_without_connections_is_shown_whole() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/throttle.toml")).unwrap();
        let config = crate::config::parse(&text, "throttle.toml").unwrap();
        let local = Local {
            origin_host: config.settings.node.origin_host.clone(),
            origin_realm: config.settings.node.origin_realm.clone(),
            product_name: "governor".to_owned(),
            vendor_id: 0,
            firmware_revision: 1,
            origin_state_id: 1,
        };
        let mut agent = Agent::new(Time::ZERO, Arc::new(config.settings), Arc::new(local), 1);
        agent.handle_start(Time::ZERO);
        let snapshot = snapshot(&mut agent, &config.shell, Time::from_millis(1500));

        assert_eq!((snapshot.node.origin_host.as_str(), snapshot.node.pending_limit), ("gov1.example.net", 200_000));
        assert!((snapshot.node.uptime - 1.5).abs() < 1e-9);
        let peers: Vec<_> = snapshot.peers.iter().map(|p| (p.host.as_str(), p.connections.len(), p.up)).collect();
        assert_eq!(peers, [("hss1.example.net", 2, 0), ("hss2.example.net", 1, 0), ("client1.example.net", 1, 0)]);
        let hss1 = &snapshot.connections[0];
        let expected = Connection {
            name: "hss1-a".to_owned(),
            peer: "hss1.example.net".to_owned(),
            address: Some("tcp://127.0.0.1:3869".to_owned()),
            state: "Wait-Conn-Ack".to_owned(),
            admin: "enabled".to_owned(),
            watchdog: "INITIAL".to_owned(),
            cpl: 99,
            levels: Levels { status: 99, ..Levels::default() },
            set_by: Some("status".to_owned()),
            why: "down: connecting to tcp://127.0.0.1:3869".to_owned(),
            since: Some(1.5),
            throttle: Some("gold".to_owned()),
            max_rate: Some(1000),
            pending_limit: 1000,
            ..Connection::default()
        };
        assert_eq!(*hss1, expected);
        let client = &snapshot.connections[3];
        assert_eq!((client.address.as_ref(), client.state.as_str(), client.throttle.as_ref()), (None, "Closed", None));
        let route = &snapshot.routes[0];
        assert_eq!(
            (route.name.as_str(), route.realm.as_deref(), route.host.as_ref()),
            ("hss", Some("example.net"), None)
        );
        let members: Vec<_> = route.groups.iter().flat_map(|g| &g.members).collect();
        let members: Vec<_> = members.iter().map(|m| (m.connection.as_str(), m.weight, m.cpl)).collect();
        assert_eq!(members, [("hss1-a", 50, 99), ("hss1-b", 50, 99), ("hss2-a", 100, 99)]);
        let group = &snapshot.groups[0];
        assert_eq!(group.connections, ["hss1-a", "hss1-b"]);
        assert_eq!((group.level, group.max_rate, group.max_pending), (0, Some(1500), Some(800)));
        assert_eq!(snapshot.totals, Totals::default());
    }

    #[test]
    fn every_reason_has_its_counts_by_priority() {
        let mut counted = agent::Counters::default();
        for (priority, row) in counted.held_back.iter_mut().enumerate() {
            for (reason, count) in row.iter_mut().enumerate() {
                *count = (10 * priority + reason) as u64;
            }
        }
        let held_back = counters(&counted).held_back;
        assert_eq!(HELD_BACK_REASONS, ["cpl", "pending_limit", "rate_limit", "group"]);
        assert_eq!(held_back.cpl, [0, 10, 20]);
        assert_eq!(held_back.pending_limit, [1, 11, 21]);
        assert_eq!(held_back.rate_limit, [2, 12, 22]);
        assert_eq!(held_back.group, [3, 13, 23]);
        assert_eq!(held_back.total(), 138);
    }
}
