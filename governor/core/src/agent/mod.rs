//! The relay agent as one deterministic machine (RFC 6733 section 2.8.1): bytes, time and transport events in; bytes,
//! timeouts and events out. It composes the peer machines, the routes, the pending transactions and the levels.
//!
//! The order of calls: any `handle_*`; then drain [`Agent::poll_dirty`] (write what [`Agent::output`] gives and report
//! with [`Agent::handle_written`] and [`Agent::handle_blocked`]) and [`Agent::poll_event`]; then wait for the
//! sockets or for [`Agent::poll_timeout`], whichever is first. `now` never goes back.
//!
//! A *link* is one transport connection; a *slot* is one configured connection, which a link serves once the
//! capabilities exchange has told who is at its other end.

mod admin;
mod answer;
mod counters;
mod link;
mod outbox;
mod peers;
mod reload;
mod request;
mod slot;
mod timers;
mod transport;

pub use admin::Admin;
use admin::Turns;
pub use counters::{Counters, HELD_BACK_REASONS, RouteCounters, Totals};
pub use link::LinkId;
pub use reload::Changes;
pub use slot::Slot;

use crate::congestion::{Grant, Group, GroupChange, LevelChange, Pending, Report, ShareChange};
use crate::peer::{CloseReason, DisconnectCause, Local};
use crate::routing::{Selection, Table, Transactions};
use crate::settings::{ConnectionIndex, Settings};
use crate::time::Time;
use link::{Links, Use};
use request::Transaction;
use std::collections::VecDeque;
use std::sync::Arc;
use timers::{Timer, Timers};

/// Something the shell has to do or may want to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Open the transport connection of this slot: [`Agent::handle_connected`] or [`Agent::handle_connect_failed`] follows.
    Connect(ConnectionIndex),
    /// Give up opening it, if that has not ended yet.
    GiveUp(ConnectionIndex),
    /// This link now serves this slot.
    Bound {
        /// The link.
        link: LinkId,
        /// The slot.
        connection: ConnectionIndex,
    },
    /// Close this link once its output is written, and report it with [`Agent::handle_disconnected`].
    Close {
        /// The link.
        link: LinkId,
        /// Why, for the log line.
        reason: CloseReason,
    },
    /// The slot takes requests.
    Up(ConnectionIndex),
    /// The slot takes none.
    Down(ConnectionIndex, CloseReason),
    /// A feature's level changed.
    Level(ConnectionIndex, LevelChange),
    /// The operator has put the slot into this state, or its drain has ended.
    Admin(ConnectionIndex, Admin),
    /// The level of a group, an index into [`Settings::groups`], changed.
    Group(usize, GroupChange),
    /// Our standing with the other agents that share a group, an index into [`Settings::groups`], changed.
    Share(usize, ShareChange),
}

/// The relay agent.
pub struct Agent {
    settings: Arc<Settings>,
    local: Arc<Local>,
    table: Table,
    selection: Selection,
    slots: Vec<Slot>,
    /// Which slots take requests ([`Slot::is_up`]), side by side: a route's turn looks at each of its members.
    up: Vec<bool>,
    links: Links,
    transactions: Transactions<Transaction>,
    pending: Pending,
    groups: Vec<Group>,
    /// Which connection of a peer is tried first for a request addressed to that peer.
    peer_turns: Vec<usize>,
    timers: Timers,
    totals: Totals,
    /// By index in [`Settings::routes`].
    routes: Vec<RouteCounters>,
    /// Slots that something was done to since the last [`Agent::settle`].
    touched: Vec<ConnectionIndex>,
    dirty: Vec<LinkId>,
    /// The end has begun ([`Agent::handle_drain`]).
    ending: bool,
    events: VecDeque<Event>,
}

// === impl Agent ===

impl Agent {
    /// An agent with every slot down. `seed` makes jitter and first identifiers; give each start another one.
    pub fn new(now: Time, settings: Arc<Settings>, local: Arc<Local>, seed: u64) -> Self {
        let mut slots: Vec<Slot> = (0..settings.connections.len())
            .zip(0u32..)
            .map(|(_, at)| Slot::new(now, &settings, &local, ConnectionIndex(at), seed))
            .collect();
        for (group, at) in settings.groups.iter().zip(0u16..) {
            for connection in &group.connections {
                slots[connection.get()].group = Some(at);
            }
        }
        Self {
            table: Table::new(&settings),
            selection: Selection::new(&settings),
            up: vec![false; slots.len()],
            slots,
            links: Links::default(),
            transactions: Transactions::default(),
            pending: Pending::new(settings.node.pending_limit),
            groups: settings.groups.iter().map(|group| Group::new(now, group)).collect(),
            peer_turns: vec![0; settings.peers.len()],
            timers: Timers::default(),
            totals: Totals::default(),
            routes: settings.routes.iter().map(RouteCounters::of).collect(),
            touched: Vec::new(),
            dirty: Vec::new(),
            ending: false,
            events: VecDeque::new(),
            settings,
            local,
        }
    }

    /// Starts every slot in service: those with an address of the peer's ask to be connected. Again later, it lifts every
    /// wait for the next attempt.
    pub fn handle_start(&mut self, now: Time) {
        let mut turns = Turns::new(now);
        for at in 0..self.slots.len() {
            if self.slots[at].admin != Admin::Enabled {
                continue;
            }
            // One that waits for the peer has nothing to begin.
            let waits = self.settings.connections.get(at).is_some_and(|c| !c.initiate);
            self.slots[at].start_at = Some(if waits { now } else { turns.next() });
            self.touch(self.slots[at].index);
        }
        self.settle(now);
    }

    /// Says goodbye on every open connection (DPR with this cause) and connects no more.
    pub fn handle_stop(&mut self, now: Time, cause: DisconnectCause) {
        for at in 0..self.slots.len() {
            self.slots[at].start_at = None;
            self.slots[at].machine.handle_stop(now, cause);
            self.touch(self.slots[at].index);
        }
        for link in self.links.unknown() {
            self.end(link, CloseReason::Stopped(cause));
        }
        self.settle(now);
    }

    /// When to call [`Agent::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Time> {
        [self.timers.next(), self.transactions.next_deadline()].into_iter().flatten().min()
    }

    /// Runs everything that is due.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(timer) = self.timers.due(now) {
            match timer {
                Timer::Slot(connection) => {
                    let slot = &mut self.slots[connection.get()];
                    slot.machine.handle_timeout(now);
                    slot.congestion.handle_timeout(now);
                    self.touch(connection);
                }
                Timer::Link(link) => self.handle_link_timeout(now, link),
                Timer::Group(at) => {
                    self.groups[usize::from(at)].handle_timeout(now);
                    self.settle_group(at);
                }
            }
            // Each timer settles by itself: what it touched may set timers that are due as well.
            self.settle(now);
        }
        self.expire_transactions(now);
        self.settle(now);
    }

    /// Brings the rates of idle connections and groups up to `now`, for somebody who wants to look at them.
    pub fn refresh(&mut self, now: Time) {
        for at in 0..self.slots.len() {
            self.slots[at].congestion.handle_timeout(now);
            self.touch(self.slots[at].index);
        }
        for at in 0..self.groups.len() {
            self.groups[at].handle_timeout(now);
            self.tell_group(at);
        }
        self.settle(now);
    }

    /// What to tell the store that agents share groups by: a report for each shared group, an index into
    /// [`Settings::groups`]. To be called each interval, whether or not the store can be reached.
    pub fn share_reports(&mut self, now: Time) -> Vec<(usize, Report)> {
        let mut reports = Vec::new();
        for (at, number) in (0..self.groups.len()).zip(0u16..) {
            reports.extend(self.groups[at].share_report(now).map(|report| (at, report)));
            self.settle_group(number);
        }
        reports
    }

    /// The store's answer to the report of that group made at `reported`; an unknown group is no fault, it may have gone.
    pub fn handle_share(&mut self, now: Time, group: usize, reported: Time, grant: Grant) {
        if let (Some(shared), Ok(at)) = (self.groups.get_mut(group), u16::try_from(group)) {
            shared.handle_share(now, reported, grant);
            self.settle_group(at);
        }
    }

    /// A link with output that no write has been tried for.
    pub fn poll_dirty(&mut self) -> Option<LinkId> {
        let link = self.dirty.pop()?;
        if let Some(l) = self.links.get_mut(link) {
            l.dirty = false;
        }
        Some(link)
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The settings it runs on.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The slots of the configured connections, by [`ConnectionIndex`].
    pub fn slots(&self) -> &[Slot] {
        &self.slots[..self.settings.connections.len()]
    }

    /// A slot, also one that is in no configuration any more and has not ended yet.
    pub fn slot(&self, connection: ConnectionIndex) -> Option<&Slot> {
        self.slots.get(connection.get())
    }

    /// The slot that a link serves.
    pub fn slot_of(&self, link: LinkId) -> Option<ConnectionIndex> {
        match self.links.used_for(link)? {
            Use::Slot { connection, .. } => Some(connection),
            Use::Unknown { .. } | Use::Closing { .. } => None,
        }
    }

    /// The groups, in file order.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Counts of the routes, in file order.
    pub fn routes(&self) -> &[RouteCounters] {
        &self.routes
    }

    /// Counts that belong to no single connection.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Pending records of the whole agent.
    pub fn pending(&self) -> u32 {
        self.pending.used()
    }

    /// Records in the transaction table; equals the pending records at rest.
    pub fn transactions(&self) -> usize {
        self.transactions.len()
    }

    /// Has every slot said goodbye and every link ended?
    pub fn is_quiet(&self) -> bool {
        self.links.is_empty()
    }

    /// Tells what changed in a group, and sets its timer.
    fn settle_group(&mut self, at: u16) {
        self.tell_group(usize::from(at));
        if let Some(next) = self.groups[usize::from(at)].poll_timeout() {
            self.timers.schedule(Timer::Group(at), next);
        }
    }

    fn tell_group(&mut self, at: usize) {
        while let Some(change) = self.groups[at].poll_event() {
            self.events.push_back(Event::Group(at, change));
        }
        while let Some(change) = self.groups[at].poll_share_event() {
            self.events.push_back(Event::Share(at, change));
        }
    }

    /// To be called where a slot may have come up or gone down, at the latest when it is settled.
    fn note_up(&mut self, connection: ConnectionIndex) {
        let at = connection.get();
        self.up[at] = self.slots[at].is_up();
    }

    fn touch(&mut self, connection: ConnectionIndex) {
        let slot = &mut self.slots[connection.get()];
        if !slot.touched {
            slot.touched = true;
            self.touched.push(connection);
        }
    }

    fn mark_dirty(&mut self, link: LinkId) {
        if let Some(l) = self.links.get_mut(link)
            && !l.dirty
        {
            l.dirty = true;
            self.dirty.push(link);
        }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("slots", &self.slots.len())
            .field("links", &self.links.len())
            .field("pending", &self.pending.used())
            .finish_non_exhaustive()
    }
}
