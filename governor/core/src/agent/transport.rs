//! The links: what the shell reports of its sockets, and what goes out on them.

use super::link::Use;
use super::outbox::Cargo;
use super::timers::Timer;
use super::{Agent, Event, LinkId};
use crate::diameter::Message;
use crate::peer::{CloseReason, Side, State};
use crate::settings::ConnectionIndex;
use crate::time::Time;
use std::net::IpAddr;

/// Peer messages of ours are kept for a blocked link up to this, bytes.
const BACKLOG: usize = 64 * 1024;

// === impl Agent ===

impl Agent {
    /// The transport accepted a connection from `remote`; who it is comes with its CER. `local` are the addresses of our
    /// end.
    pub fn handle_accepted(&mut self, now: Time, local: Vec<IpAddr>, remote: IpAddr) -> LinkId {
        let deadline = now + self.settings.node.connect_timeout;
        let link = self.links.insert(Use::Unknown { deadline, remote }, local);
        self.timers.schedule(Timer::Link(link), deadline);
        link
    }

    /// The transport connection that [`Event::Connect`] asked for is open.
    pub fn handle_connected(&mut self, now: Time, connection: ConnectionIndex, local: Vec<IpAddr>) -> LinkId {
        let state = self.slots[connection.get()].machine.state();
        if !matches!(state, State::WaitConnAck | State::WaitConnAckElect) {
            // The attempt was given up in this very moment.
            let link = self.links.insert(Use::Closing { of: None }, local);
            self.tell_end(link, CloseReason::ConnectTimeout);
            return link;
        }
        let side = Side::Initiator;
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
        match self.links.used_for(link) {
            Some(Use::Slot { connection, side }) => {
                self.slots[connection.get()].machine.handle_disconnected(now, side);
                self.touch(connection);
            }
            Some(Use::Unknown { .. }) => self.end(link, CloseReason::PeerClosed),
            Some(Use::Closing { .. }) | None => {}
        }
        // First what the slot makes of it: what it takes back lies in the link's output.
        self.settle(now);
        if let Some(l) = self.links.get(link)
            && let Some(connection) = l.used.connection()
        {
            self.slots[connection.get()].counters.answers_discarded += u64::from(l.outbox.queued().answers);
        }
        self.links.remove(link);
    }

    /// What a link has to write: whole messages, but for the rest of one that was partly written.
    pub fn output(&self, link: LinkId) -> &[u8] {
        self.links.get(link).map(|l| l.outbox.bytes()).unwrap_or_default()
    }

    /// The first `count` bytes of [`Agent::output`] were written.
    pub fn handle_written(&mut self, link: LinkId, count: usize) {
        let Some(l) = self.links.get_mut(link) else { return };
        let whole = l.outbox.advance(count);
        if let Some(connection) = l.used.connection() {
            let counters = &mut self.slots[connection.get()].counters;
            counters.requests_sent += u64::from(whole.requests);
            counters.answers_sent += u64::from(whole.answers);
        }
    }

    /// A write failed for want of send-buffer space: CL-98 at once. Answers not yet begun are discarded and counted,
    /// requests not yet begun are tried elsewhere or answered (rule 3).
    pub fn handle_blocked(&mut self, now: Time, link: LinkId) {
        let Some(l) = self.links.get_mut(link) else { return };
        l.blocked = true;
        let withdrawn = l.outbox.withdraw(true);
        let served = l.used.connection();
        if let Some(connection) = self.opened_by(link) {
            self.slots[connection.get()].congestion.handle_blocked(now);
            self.touch(connection);
        }
        if let Some(connection) = served {
            self.reroute_unwritten(now, connection, withdrawn);
        }
        self.settle(now);
    }

    /// The link takes bytes again (rule 3: CL-3, then down by steps).
    pub fn handle_unblocked(&mut self, now: Time, link: LinkId) {
        if let Some(l) = self.links.get_mut(link) {
            l.blocked = false;
        }
        if let Some(connection) = self.opened_by(link) {
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
        if let Some(connection) = self.opened_by(link) {
            self.slots[connection.get()].congestion.handle_pressure(now, queued, limit);
            self.touch(connection);
            self.settle(now);
        }
    }

    /// The slot that is open on this link: while the machine chooses between two, the other one says nothing of it.
    fn opened_by(&self, link: LinkId) -> Option<ConnectionIndex> {
        self.slot_of(link).filter(|connection| self.slots[connection.get()].link() == Some(link))
    }

    /// Queues one message of ours on a link. A peer that asks and asks and does not read loses what is over [`BACKLOG`].
    pub(super) fn send_own(&mut self, link: LinkId, message: &[u8]) {
        if let Some(l) = self.links.get_mut(link)
            && !(l.blocked && l.outbox.bytes().len() > BACKLOG)
        {
            l.outbox.push(Cargo::Own, |out| out.extend_from_slice(message));
            self.mark_dirty(link);
        }
    }

    /// Ends a link for a reason of ours: nothing more is read from it, what is queued is still written.
    pub(super) fn close(&mut self, now: Time, link: LinkId, reason: CloseReason) {
        match self.links.used_for(link) {
            None | Some(Use::Closing { .. }) => {}
            Some(Use::Unknown { .. }) => self.end(link, reason),
            Some(Use::Slot { connection, side }) => {
                self.slots[connection.get()].machine.handle_unusable(now, side, reason);
                self.touch(connection);
                self.settle(now);
            }
        }
    }

    /// Marks a link as closing and tells the shell.
    pub(super) fn end(&mut self, link: LinkId, reason: CloseReason) {
        if let Some(l) = self.links.get_mut(link) {
            l.used = Use::Closing { of: l.used.connection() };
            self.tell_end(link, reason);
        }
    }

    fn tell_end(&mut self, link: LinkId, reason: CloseReason) {
        self.totals.count_close(&reason);
        self.events.push_back(Event::Close { link, reason });
    }

    pub(super) fn handle_link_timeout(&mut self, now: Time, link: LinkId) {
        let Some(l) = self.links.get(link) else { return };
        let handshake = match l.used {
            Use::Unknown { deadline, .. } => Some(deadline),
            Use::Slot { .. } | Use::Closing { .. } => None,
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
                None | Some(Use::Closing { .. }) => return bytes.len(),
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
