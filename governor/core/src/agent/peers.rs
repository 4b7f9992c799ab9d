//! Peer messages, and who serves which slot: what goes between the links and the slots' peer machines.

use super::link::Use;
use super::timers::Timer;
use super::{Admin, Agent, Event, LinkId};
use crate::diameter::codes::{application, command};
use crate::diameter::{AvpError, FrameError, Header, Message, answer::Verdict};
use crate::peer::{self, CloseReason, Side, capabilities, watchdog};
use crate::refusal::code;
use crate::settings::{ConnectionIndex, PeerIndex};
use crate::time::Time;

// === impl Agent ===

impl Agent {
    pub(super) fn handle_message(
        &mut self,
        now: Time,
        link: LinkId,
        used: Use,
        message: &Message<'_>,
        traffic: &mut Option<(ConnectionIndex, Side)>,
    ) {
        let header = &message.header;
        match used {
            Use::Closing { .. } => {}
            Use::Unknown { .. } => {
                if header.command == command::CAPABILITIES_EXCHANGE && header.flags.is_request() {
                    self.handle_first_cer(now, link, message);
                } else {
                    // RFC 6733 section 5.6: no other message may come before the capabilities are exchanged.
                    self.close(now, link, CloseReason::UnexpectedMessage);
                }
            }
            Use::Slot { connection, side } => {
                let base = header.application == application::BASE;
                let slot = &mut self.slots[connection.get()];
                match header.command {
                    command::CAPABILITIES_EXCHANGE | command::DEVICE_WATCHDOG | command::DISCONNECT_PEER if base => {
                        slot.machine.handle_message(now, side, message);
                        self.touch(connection);
                        // At once, not at the batch's end: the next message may already need the new state.
                        self.settle(now);
                    }
                    // Before the capabilities are exchanged, or on a connection still being judged: the machine closes it.
                    _ if slot.open != Some(side) => {
                        slot.machine.handle_traffic(now, side);
                        self.touch(connection);
                        self.settle(now);
                    }
                    _ => {
                        *traffic = Some((connection, side));
                        if header.flags.is_request() {
                            self.handle_request(now, link, connection, message);
                        } else {
                            self.handle_answer(now, connection, message);
                        }
                    }
                }
            }
        }
    }

    /// The first message of an accepted link: who is it, and which slot does it serve?
    fn handle_first_cer(&mut self, now: Time, link: LinkId, cer: &Message<'_>) {
        let remote = match capabilities::parse_cer(cer) {
            Ok(remote) => remote,
            Err(error) => {
                let answer = error.answer(cer, &self.local);
                self.send_own(link, &answer);
                self.end(link, CloseReason::Capabilities(error));
                return;
            }
        };
        let Some(peer) = self.table.peer(remote.origin_host.as_bytes()) else {
            let why = format!("Origin-Host {} is no peer of this node", remote.origin_host);
            self.turn_away(link, cer, &why);
            return;
        };
        let configured = &self.settings.peers[peer.get()];
        if let Err(error) = remote.expect(&configured.host, Some(&configured.realm)) {
            self.turn_away(link, cer, &error.to_string());
            return;
        }
        if let Some(Use::Unknown { remote: from, .. }) = self.links.used_for(link)
            && !configured.addresses.is_empty()
            && !configured.addresses.contains(&from)
        {
            self.turn_away(link, cer, &format!("address {from} is none of those that {} has", remote.origin_host));
            return;
        }
        let Some(connection) = self.slot_for(peer) else {
            self.turn_away(link, cer, "this peer has no connection configured");
            return;
        };
        let local = self.links.get(link).map(|l| l.local.clone()).unwrap_or_default();
        match self.slots[connection.get()].machine.handle_incoming(now, cer, remote, &local) {
            Ok(side) => {
                if let Some(l) = self.links.get_mut(link) {
                    l.used = Use::Slot { connection, side };
                }
                self.bind(link, connection, side);
            }
            Err(rejected) => {
                self.send_own(link, &rejected.answer);
                self.end(link, rejected.reason);
            }
        }
        self.touch(connection);
        self.settle(now);
    }

    /// 3010 to somebody who is in no configuration.
    fn turn_away(&mut self, link: LinkId, cer: &Message<'_>, why: &str) {
        self.totals.unknown_peers += 1;
        let answer = capabilities::unknown_peer_answer(cer, &self.local, why);
        self.send_own(link, &answer);
        self.end(link, CloseReason::UnknownPeer(why.to_owned()));
    }

    /// The slot that a newcomer of this peer serves: one that waits for the peer, else one that is not open, else the
    /// one that has been silent longest, whose machine then probes it.
    fn slot_for(&self, peer: PeerIndex) -> Option<ConnectionIndex> {
        let connections = &self.settings.peers.get(peer.get())?.connections;
        let slot = |c: &&ConnectionIndex| &self.slots[c.get()];
        let free = |c: &&ConnectionIndex| slot(c).links.iter().all(Option::is_none);
        let waits = |c: &&ConnectionIndex| !self.settings.connections[c.get()].initiate;
        connections
            .iter()
            .find(|c| waits(c) && free(c))
            .or_else(|| connections.iter().find(free))
            .or_else(|| connections.iter().find(|c| !slot(c).machine.is_open()))
            .or_else(|| connections.iter().min_by_key(|c| slot(c).machine.heard()))
            .copied()
    }

    pub(super) fn bind(&mut self, link: LinkId, connection: ConnectionIndex, side: Side) {
        self.slots[connection.get()].links[side.index()] = Some(link);
        self.events.push_back(Event::Bound { link, connection });
    }

    /// The open connection of a slot is gone, and what is on it fails over.
    fn handle_down(&mut self, now: Time, connection: ConnectionIndex, reason: CloseReason) {
        let slot = &mut self.slots[connection.get()];
        let link = slot.link();
        slot.open = None;
        slot.draining = false;
        slot.congestion.handle_down(now);
        slot.last_close = Some(reason.clone());
        self.note_up(connection);
        self.touch(connection);
        self.fail_over(now, connection, link, true);
        self.events.push_back(Event::Down(connection, reason));
    }

    /// A header that no message can have: the RFC's answer if it was a request's, and the end of the link.
    pub(super) fn handle_frame_error(&mut self, now: Time, link: LinkId, bytes: &[u8], error: FrameError) {
        let result_code = match error {
            FrameError::Version(_) => code::UNSUPPORTED_VERSION,
            FrameError::Length(_) | FrameError::TooLong { .. } => code::INVALID_MESSAGE_LENGTH,
        };
        if let Some(header) = Header::parse(bytes).filter(|h| h.flags.is_request())
            && let Some(request) = bytes.first_chunk::<{ Header::LEN }>()
        {
            if let Some(connection) = self.slot_of(link) {
                self.slots[connection.get()].counters.requests_received += 1;
            }
            // The header alone: nothing behind it can be trusted to be this message's.
            if let Some(mut message) = Message::new(request) {
                message.header = Header { version: Header::VERSION, ..header };
                self.reject(now, link, &message, result_code, &error.to_string(), None);
            }
        }
        self.close(now, link, CloseReason::Malformed);
    }

    /// Answers a request that cannot be handled, on the link it came from.
    pub(super) fn reject(
        &mut self,
        now: Time,
        link: LinkId,
        request: &Message<'_>,
        result_code: u32,
        error_message: &str,
        failed_avp: Option<&[u8]>,
    ) {
        let verdict = Verdict { result_code, error_message, failed_avp };
        let answer =
            crate::diameter::answer::answer(request, &self.local.origin_host, &self.local.origin_realm, &verdict);
        *self.totals.rejected.entry(result_code).or_default() += 1;
        match self.links.used_for(link) {
            // Nobody's yet: no level holds anything back.
            Some(Use::Unknown { .. }) => self.send_own(link, &answer),
            _ => self.send_answer_of_ours(now, link, &answer),
        }
    }

    /// A request whose AVPs cannot be walked: 5014 with Failed-AVP (RFC 6733 section 7.1.5). The frame's boundary is
    /// still sound, so the link stays.
    pub(super) fn reject_avp(&mut self, now: Time, link: LinkId, request: &Message<'_>, error: AvpError) {
        let avps = request.bytes().get(Header::LEN..).unwrap_or_default();
        let failed = error.failed_avp(avps);
        self.reject(now, link, request, code::INVALID_AVP_LENGTH, &error.to_string(), Some(&failed));
    }

    /// Carries out what the touched slots' machines and levels have decided, and sets their timers.
    pub(super) fn settle(&mut self, now: Time) {
        while let Some(connection) = self.touched.pop() {
            let at = connection.get();
            self.slots[at].touched = false;
            self.settle_admin(now, connection);
            self.note_up(connection);
            while let Some((side, message)) = self.slots[at].machine.poll_transmit() {
                if let Some(link) = self.slots[at].links[side.index()] {
                    self.send_own(link, &message);
                }
            }
            while let Some(event) = self.slots[at].machine.poll_event() {
                self.handle_machine_event(now, connection, event);
            }
            while let Some(change) = self.slots[at].congestion.poll_event() {
                let slot = &mut self.slots[at];
                slot.times.enter(change.at, change.cpl_to);
                slot.counters.count_onset(&change);
                slot.causes[change.feature.index()] = Some(change.cause);
                self.events.push_back(Event::Level(connection, change));
            }
            self.note_up(connection);
            let slot = &mut self.slots[at];
            // By the state itself, whatever the changes said.
            slot.times.enter(now, slot.congestion.cpl());
            let drain = match slot.admin {
                Admin::Draining { until } => Some(until),
                Admin::Enabled | Admin::Disabled => None,
            };
            let next = [slot.machine.poll_timeout(), slot.congestion.poll_timeout(), drain, slot.start_at];
            if let Some(next) = next.into_iter().flatten().min() {
                self.timers.schedule(Timer::Slot(connection), next);
            }
        }
    }

    fn handle_machine_event(&mut self, now: Time, connection: ConnectionIndex, event: peer::Event) {
        let slot = &mut self.slots[connection.get()];
        match event {
            peer::Event::Connect => self.events.push_back(Event::Connect(connection)),
            peer::Event::Disconnect { side, reason } => {
                if let Some(link) = slot.links[side.index()].take() {
                    self.end(link, reason);
                } else if side == Side::Initiator {
                    // An attempt that has not become a link yet.
                    self.events.push_back(Event::GiveUp(connection));
                }
            }
            peer::Event::Opened { side } => {
                slot.open = Some(side);
                slot.draining = false;
                if slot.machine.watchdog() == watchdog::Status::Reopen {
                    self.set_status(now, connection);
                }
            }
            peer::Event::Up { .. } => {
                self.set_status(now, connection);
                self.events.push_back(Event::Up(connection));
            }
            peer::Event::Down { reason } => self.handle_down(now, connection, reason),
            // Rule 12: suspect is 98. What was sent fails over (RFC 3539 section 3.4.1).
            peer::Event::Suspect => {
                let link = slot.link();
                self.set_status(now, connection);
                self.fail_over(now, connection, link, false);
            }
            peer::Event::Recovered => self.set_status(now, connection),
            peer::Event::Draining => {
                slot.draining = true;
                self.note_up(connection);
            }
        }
    }
}
