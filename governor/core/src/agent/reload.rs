//! Other settings for a running agent (rule 5: a limit lowered in use drops nothing).
//!
//! Connections are told apart by name. One whose peer and transport address are what they were stays up and keeps its
//! levels, counters and pending records; only its limits change. One that is gone, or goes elsewhere now, is *retired*:
//! it takes no new requests, its pending ones end as on a disabled connection, and then it says goodbye. Retired slots
//! stand behind the configured ones and are in no route.

use super::admin::Turns;
use super::link::Use;
use super::timers::{Timer, Timers};
use super::{Admin, Agent, Event, RouteCounters, Slot};
use crate::congestion::Group;
use crate::peer::{self, DisconnectCause};
use crate::routing::{Selection, Table, Target};
use crate::settings::{ConnectionIndex, PeerIndex, Settings};
use crate::time::Time;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a change of settings did to the connections: their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New, or going elsewhere now.
    pub added: Vec<String>,
    /// Gone, or going elsewhere now.
    pub removed: Vec<String>,
    /// As they were, but for limits.
    pub kept: usize,
    /// The new index of each old one, for whoever keeps connections by their indices; `None`: forgotten.
    pub moved: Vec<Option<ConnectionIndex>>,
}

// === impl Agent ===

impl Agent {
    /// Runs on other settings from now on. Our own identity (Origin-Host and -Realm) must be the same. `same_transport`
    /// says of an old and a new connection of one name whether their addresses are the same. Drain
    /// [`Agent::poll_event`] before: the connections' indices change.
    pub fn handle_settings(
        &mut self,
        now: Time,
        settings: Arc<Settings>,
        seed: u64,
        same_transport: impl Fn(ConnectionIndex, ConnectionIndex) -> bool,
    ) -> Changes {
        self.settle(now);
        let old = std::mem::replace(&mut self.settings, settings);
        let mut changes = Changes::default();
        let mut turns = Turns::new(now);
        let mut by_name: HashMap<&str, usize> =
            old.connections.iter().enumerate().map(|(at, c)| (c.name.as_str(), at)).collect();
        let mut before: Vec<Option<Slot>> = std::mem::take(&mut self.slots).into_iter().map(Some).collect();
        let mut moved = vec![ConnectionIndex(u32::MAX); before.len()];

        for (at, connection) in (0u32..).zip(&self.settings.connections) {
            let index = ConnectionIndex(at);
            let kept = by_name.get(connection.name.as_str()).copied().filter(|&from| {
                let was = ConnectionIndex(u32::try_from(from).unwrap_or(u32::MAX));
                let (was_peer, peer) = (old.peer_of(was), self.settings.peer_of(index));
                old.connections[from].initiate == connection.initiate
                    && was_peer.host.eq_ignore_ascii_case(&peer.host)
                    && was_peer.realm.eq_ignore_ascii_case(&peer.realm)
                    && same_transport(was, index)
            });
            if let Some((from, mut slot)) = kept.and_then(|from| Some((from, before[from].take()?))) {
                by_name.remove(connection.name.as_str());
                moved[from] = index;
                slot.index = index;
                slot.peer = Some(connection.peer);
                slot.group = None;
                slot.congestion.reconfigure(now, connection);
                slot.machine.reconfigure(peer::Config::new(&self.settings, index));
                self.slots.push(slot);
                changes.kept += 1;
            } else {
                let mut slot = Slot::new(now, &self.settings, &self.local, index, seed);
                // What the operator has said of this name still holds.
                let was = by_name.get(connection.name.as_str()).and_then(|&from| before[from].as_ref());
                slot.manual = was.and_then(|was| was.manual);
                if was.is_some_and(|was| was.admin != Admin::Enabled) {
                    slot.admin = Admin::Disabled;
                    slot.machine.handle_stop(now, DisconnectCause::Rebooting);
                } else {
                    slot.start_at = Some(if connection.initiate { turns.next() } else { now });
                }
                self.slots.push(slot);
                changes.added.push(connection.name.clone());
            }
        }
        let referred = self.referred();
        let until = now + old.node.answer_timeout;
        for (from, slot) in before.into_iter().enumerate() {
            let Some(mut slot) = slot else { continue };
            let was = ConnectionIndex(u32::try_from(from).unwrap_or(u32::MAX));
            if slot.peer.take().is_some() {
                changes.removed.push(slot.name.to_string());
            } else if slot.is_over() && !referred.contains(&was) {
                // Retired by an earlier change, and done.
                continue;
            }
            let index = ConnectionIndex(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
            moved[from] = index;
            slot.index = index;
            slot.group = None;
            if slot.admin == Admin::Enabled {
                slot.admin = Admin::Draining { until };
            }
            slot.start_at = None;
            self.slots.push(slot);
        }
        self.renumber(&old, &moved);
        self.regroup(now, &old);
        self.table = Table::new(&self.settings);
        self.selection = Selection::new(&self.settings);
        self.recount_routes(&old);
        self.peer_turns = vec![0; self.settings.peers.len()];
        self.pending.set_limit(self.settings.node.pending_limit);
        self.rearm(now);
        changes.moved = moved.into_iter().map(|to| (to.0 != u32::MAX).then_some(to)).collect();
        changes
    }

    /// The connections that a pending request came from, is on, or was on, and those whose last bytes are being written.
    fn referred(&self) -> HashSet<ConnectionIndex> {
        let mut referred: HashSet<_> = self.links.iter().filter_map(|link| link.used.connection()).collect();
        for t in self.transactions.values() {
            referred.insert(t.plan.ingress);
            referred.extend(t.egress.map(|(connection, _)| connection));
            referred.extend(&t.tried);
        }
        referred
    }

    /// Gives everything that names a connection, a peer or a route by its index the new one.
    fn renumber(&mut self, old: &Settings, moved: &[ConnectionIndex]) {
        let new = Arc::clone(&self.settings);
        let to = |connection: &mut ConnectionIndex| *connection = moved[connection.get()];
        let peers: HashMap<String, PeerIndex> =
            new.peers.iter().zip(0u32..).map(|(p, at)| (p.host.to_ascii_lowercase(), PeerIndex(at))).collect();
        let peer_to = |peer: PeerIndex| peers.get(&old.peers[peer.get()].host.to_ascii_lowercase()).copied();
        for t in self.transactions.values_mut() {
            to(&mut t.plan.ingress);
            if let Some((connection, _)) = &mut t.egress {
                to(connection);
            }
            t.tried.iter_mut().for_each(to);
            t.plan.destination = t.plan.destination.and_then(peer_to);
            t.plan.target = Target {
                peer: t.plan.target.peer.and_then(peer_to),
                route: t.plan.target.route.and_then(|route| new.route(&old.routes[route].name)),
            };
        }
        for link in self.links.iter_mut() {
            match &mut link.used {
                Use::Slot { connection, .. } | Use::Closing { of: Some(connection) } => to(connection),
                Use::Unknown { .. } | Use::Closing { of: None } => {}
            }
        }
        self.events.retain_mut(|event| {
            match event {
                Event::Connect(connection)
                | Event::GiveUp(connection)
                | Event::Bound { connection, .. }
                | Event::Up(connection)
                | Event::Down(connection, _)
                | Event::Level(connection, _)
                | Event::Admin(connection, _) => to(connection),
                Event::Group(at, _) | Event::Share(at, _) => {
                    match new.groups.iter().position(|group| group.name == old.groups[*at].name) {
                        Some(now) => *at = now,
                        // Nobody can be told of a group that is no more.
                        None => return false,
                    }
                }
                Event::Close { .. } => {}
            }
            true
        });
    }

    /// The groups of the new settings: one that was there keeps its figures, and each counts what is pending on its
    /// members.
    fn regroup(&mut self, now: Time, old: &Settings) {
        let mut before: HashMap<&str, Group> =
            old.groups.iter().map(|group| group.name.as_str()).zip(std::mem::take(&mut self.groups)).collect();
        for (configured, at) in self.settings.groups.iter().zip(0u16..) {
            let mut group = match before.remove(configured.name.as_str()) {
                Some(mut group) => {
                    group.reconfigure(now, configured);
                    group
                }
                None => Group::new(now, configured),
            };
            let mut pending = 0;
            for connection in &configured.connections {
                let slot = &mut self.slots[connection.get()];
                slot.group = Some(at);
                pending += slot.congestion.pending();
            }
            group.set_pending(pending);
            self.groups.push(group);
        }
    }

    /// A route that was there keeps its counts, and starts anew those of its groups if their number is another one.
    fn recount_routes(&mut self, old: &Settings) {
        let before = std::mem::take(&mut self.routes);
        let mut before: HashMap<&str, RouteCounters> =
            old.routes.iter().map(|route| route.name.as_str()).zip(before).collect();
        self.routes = self
            .settings
            .routes
            .iter()
            .map(|route| {
                let fresh = RouteCounters::of(route);
                match before.remove(route.name.as_str()) {
                    Some(kept) if kept.by_group.len() == fresh.by_group.len() => kept,
                    Some(kept) => RouteCounters { by_group: fresh.by_group, ..kept },
                    None => fresh,
                }
            })
            .collect();
    }

    /// Every timer anew: they name slots by their indices.
    fn rearm(&mut self, now: Time) {
        self.timers = Timers::default();
        for (link, l) in self.links.deadlines() {
            self.timers.schedule(Timer::Link(link), l);
        }
        for (group, at) in self.groups.iter().zip(0u16..) {
            if let Some(next) = group.poll_timeout() {
                self.timers.schedule(Timer::Group(at), next);
            }
        }
        self.up = self.slots.iter().map(Slot::is_up).collect();
        self.touched.clear();
        for at in 0..self.slots.len() {
            self.slots[at].touched = false;
            self.touch(self.slots[at].index);
        }
        self.settle(now);
    }
}
