//! The relay agent as one deterministic machine (RFC 6733 section 2.8.1): bytes, time and transport events in; bytes,
//! timeouts and events out. It composes the peer machines, the routes, the pending transactions and the levels.
//!
//! The order of calls: any `handle_*`; then drain [`Agent::poll_dirty`] (write what [`Agent::output`] gives and report
//! with [`Agent::handle_written`] and [`Agent::handle_blocked`]) and [`Agent::poll_event`]; then wait for the
//! sockets or for [`Agent::poll_timeout`], whichever is first. `now` never goes back.
//!
//! A *link* is one transport connection; a *slot* is one configured connection, which a link serves once the
//! capabilities exchange has told who is at its other end.

mod answer;
mod counters;
mod link;
mod outbox;
mod peers;
mod request;
mod slot;
mod timers;

pub use counters::{Counters, HELD_BACK_REASONS, Totals};
pub use link::LinkId;
pub use slot::Slot;

use crate::congestion::{Group, LevelChange, Pending};
use crate::diameter::Message;
use crate::peer::{CloseReason, DisconnectCause, Local};
use crate::routing::{Selection, Table, Transactions};
use crate::settings::{ConnectionIndex, Settings};
use crate::time::Time;
use link::{Links, Use};
use outbox::Cargo;
use request::Transaction;
use std::collections::VecDeque;
use std::net::IpAddr;
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
}

/// The relay agent.
pub struct Agent {
    settings: Arc<Settings>,
    local: Arc<Local>,
    table: Table,
    selection: Selection,
    slots: Vec<Slot>,
    links: Links,
    transactions: Transactions<Transaction>,
    pending: Pending,
    groups: Vec<Group>,
    /// Which connection of a peer is tried first for a request addressed to that peer.
    peer_turns: Vec<usize>,
    timers: Timers,
    totals: Totals,
    /// Slots that something was done to since the last [`Agent::settle`].
    touched: Vec<ConnectionIndex>,
    dirty: Vec<LinkId>,
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
            slots,
            links: Links::default(),
            transactions: Transactions::default(),
            pending: Pending::new(settings.node.pending_limit),
            groups: settings.groups.iter().map(|group| Group::new(now, group)).collect(),
            peer_turns: vec![0; settings.peers.len()],
            timers: Timers::default(),
            totals: Totals::default(),
            touched: Vec::new(),
            dirty: Vec::new(),
            events: VecDeque::new(),
            settings,
            local,
        }
    }

    /// Starts every slot: those with an address of the peer's ask to be connected.
    pub fn handle_start(&mut self, now: Time) {
        for at in 0..self.slots.len() {
            self.slots[at].machine.handle_start(now);
            self.touch(self.slots[at].index);
        }
        self.settle(now);
    }

    /// Says goodbye on every open connection (DPR with this cause) and connects no more.
    pub fn handle_stop(&mut self, now: Time, cause: DisconnectCause) {
        for at in 0..self.slots.len() {
            self.slots[at].machine.handle_stop(now, cause);
            self.touch(self.slots[at].index);
        }
        self.settle(now);
    }

    /// The transport accepted a connection; who it is comes with its CER. `local` are the addresses of our end.
    pub fn handle_accepted(&mut self, now: Time, local: Vec<IpAddr>) -> LinkId {
        let deadline = now + self.settings.node.connect_timeout;
        let link = self.links.insert(Use::Unknown { deadline }, local);
        self.timers.schedule(Timer::Link(link), deadline);
        link
    }

    /// The transport connection that [`Event::Connect`] asked for is open.
    pub fn handle_connected(&mut self, now: Time, connection: ConnectionIndex, local: Vec<IpAddr>) -> LinkId {
        let side = crate::peer::Side::Initiator;
        let link = self.links.insert(Use::Slot { connection, side }, local.clone());
        self.bind(link, connection, side);
        self.slots[connection.get()].machine.handle_connected(now, &local);
        self.touch(connection);
        self.settle(now);
        link
    }

    /// The transport connection that [`Event::Connect`] asked for could not be opened.
    pub fn handle_connect_failed(&mut self, now: Time, connection: ConnectionIndex) {
        self.slots[connection.get()].machine.handle_connect_failed(now);
        self.touch(connection);
        self.settle(now);
    }

    /// A link's transport connection is gone. Its pending requests go to other connections.
    pub fn handle_disconnected(&mut self, now: Time, link: LinkId) {
        if let Some(Use::Slot { connection, side }) = self.links.used_for(link) {
            self.slots[connection.get()].machine.handle_disconnected(now, side);
            self.touch(connection);
        }
        // First what the slot makes of it: what it takes back lies in the link's output.
        self.settle(now);
        self.links.remove(link);
    }

    /// What a link has to write: whole messages, but for the rest of one that was partly written.
    pub fn output(&self, link: LinkId) -> &[u8] {
        self.links.get(link).map(|l| l.outbox.bytes()).unwrap_or_default()
    }

    /// The first `count` bytes of [`Agent::output`] were written.
    pub fn handle_written(&mut self, link: LinkId, count: usize) {
        if let Some(l) = self.links.get_mut(link) {
            l.outbox.advance(count);
        }
    }

    /// A write failed for want of send-buffer space: CL-98 at once. Answers not yet begun are discarded and counted,
    /// requests not yet begun are tried elsewhere or answered (rule 3).
    pub fn handle_blocked(&mut self, now: Time, link: LinkId) {
        let Some(l) = self.links.get_mut(link) else { return };
        let withdrawn = l.outbox.withdraw();
        if let Use::Slot { connection, .. } = l.used {
            self.slots[connection.get()].congestion.handle_blocked(now);
            self.touch(connection);
            self.reroute_unwritten(now, connection, withdrawn);
        }
        self.settle(now);
    }

    /// The link takes bytes again (rule 3: CL-3, then down by steps).
    pub fn handle_unblocked(&mut self, now: Time, link: LinkId) {
        if let Some(Use::Slot { connection, .. }) = self.links.used_for(link) {
            self.slots[connection.get()].congestion.handle_unblocked(now);
            self.touch(connection);
        }
        if !self.output(link).is_empty() {
            self.mark_dirty(link);
        }
        self.settle(now);
    }

    /// The send buffer's occupancy as the kernel has it, bytes (rule 3, pressure).
    pub fn handle_pressure(&mut self, now: Time, link: LinkId, queued: u64, limit: u64) {
        if let Some(Use::Slot { connection, .. }) = self.links.used_for(link) {
            self.slots[connection.get()].congestion.handle_pressure(now, queued, limit);
            self.touch(connection);
            self.settle(now);
        }
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
                    let group = &mut self.groups[usize::from(at)];
                    group.handle_timeout(now);
                    if let Some(next) = group.poll_timeout() {
                        self.timers.schedule(Timer::Group(at), next);
                    }
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
        for group in &mut self.groups {
            group.handle_timeout(now);
        }
        self.settle(now);
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

    /// The slots, by [`ConnectionIndex`].
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slot that a link serves.
    pub fn slot_of(&self, link: LinkId) -> Option<ConnectionIndex> {
        match self.links.used_for(link)? {
            Use::Slot { connection, .. } => Some(connection),
            Use::Unknown { .. } | Use::Closing => None,
        }
    }

    /// The groups, in file order.
    pub fn groups(&self) -> &[Group] {
        &self.groups
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

    /// Queues one message of ours on a link.
    fn send_own(&mut self, link: LinkId, message: &[u8]) {
        if let Some(l) = self.links.get_mut(link) {
            l.outbox.push(Cargo::Own, |out| out.extend_from_slice(message));
            self.mark_dirty(link);
        }
    }

    /// Ends a link for a reason of ours: nothing more is read from it, what is queued is still written.
    fn close(&mut self, now: Time, link: LinkId, reason: CloseReason) {
        match self.links.used_for(link) {
            None | Some(Use::Closing) => {}
            Some(Use::Unknown { .. }) => self.end(link, reason),
            Some(Use::Slot { connection, side }) => {
                self.slots[connection.get()].machine.handle_unusable(now, side, reason);
                self.touch(connection);
                self.settle(now);
            }
        }
    }

    /// Marks a link as closing and tells the shell.
    fn end(&mut self, link: LinkId, reason: CloseReason) {
        if let Some(l) = self.links.get_mut(link) {
            l.used = Use::Closing;
            self.totals.count_close(&reason);
            self.events.push_back(Event::Close { link, reason });
        }
    }

    fn handle_link_timeout(&mut self, now: Time, link: LinkId) {
        let Some(l) = self.links.get(link) else { return };
        let handshake = match l.used {
            Use::Unknown { deadline } => Some(deadline),
            Use::Slot { .. } | Use::Closing => None,
        };
        if handshake.is_some_and(|at| at <= now) {
            self.close(now, link, CloseReason::ConnectTimeout);
        } else if l.partial.is_some_and(|at| at <= now) {
            self.close(now, link, CloseReason::MessageTimeout);
        } else if let Some(next) = [handshake, l.partial].into_iter().flatten().min() {
            self.timers.schedule(Timer::Link(link), next);
        }
    }

    /// Bytes arrived on a link. Takes every whole message and gives the number of bytes taken; the caller keeps the
    /// rest and gives it again in front of what comes next.
    pub fn handle_input(&mut self, now: Time, link: LinkId, bytes: &[u8]) -> usize {
        let max = self.settings.node.max_message;
        let mut taken = 0;
        let mut traffic = None;
        loop {
            let rest = &bytes[taken..];
            let used = match self.links.used_for(link) {
                // Nobody listens any more: what comes is thrown away.
                None | Some(Use::Closing) => return bytes.len(),
                Some(used) => used,
            };
            match crate::diameter::frame(rest, max) {
                Ok(Some(length)) => {
                    taken += length;
                    if let Some(message) = Message::new(&rest[..length]) {
                        self.handle_message(now, link, used, &message, &mut traffic);
                    }
                }
                Ok(None) => {
                    self.wait_for_rest(now, link, taken > 0, !rest.is_empty());
                    break;
                }
                Err(error) => {
                    self.handle_frame_error(now, link, rest, error);
                    taken = bytes.len();
                    break;
                }
            }
        }
        // Once a batch: any traffic resets the watchdog (RFC 3539 section 3.4.1).
        if let Some((connection, side)) = traffic {
            self.slots[connection.get()].machine.handle_traffic(now, side);
            self.touch(connection);
        }
        self.settle(now);
        taken
    }

    /// A started message has to end within `message_timeout`, each counted from its start.
    fn wait_for_rest(&mut self, now: Time, link: LinkId, progressed: bool, started: bool) {
        let deadline = now + self.settings.node.message_timeout;
        let Some(l) = self.links.get_mut(link) else { return };
        if !started {
            l.partial = None;
        } else if progressed || l.partial.is_none() {
            l.partial = Some(deadline);
            self.timers.schedule(Timer::Link(link), deadline);
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
