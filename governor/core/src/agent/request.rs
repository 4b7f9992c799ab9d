//! A request's way: what it is, where it may go, and what happens when the place it went to fails.

use super::link::Use;
use super::outbox::Cargo;
use super::{Agent, LinkId};
use crate::congestion;
use crate::diameter::codes::application;
use crate::diameter::{Message, RoutingAvps, forward};
use crate::level::Priority;
use crate::refusal::{Refusal, code};
use crate::routing::{PriorityRequest, RouteRequest, Target, TransactionId, priority};
use crate::settings::{ConnectionIndex, PeerIndex};
use crate::time::Time;
use bytes::BytesMut;

/// What is known of a pending request. Its buffers are reused by the next one.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Where it came from.
    pub ingress: LinkId,
    /// The hop-by-hop identifier that it came with.
    pub hop_by_hop: u32,
    /// As it came, for sending it again.
    pub message: Vec<u8>,
    pub plan: Plan,
    /// The connection it is on, and the identifier that it has there.
    pub egress: Option<(ConnectionIndex, u32)>,
    /// Connections that it was sent on before.
    pub tried: Vec<ConnectionIndex>,
    /// Connections it was sent on, the present one included.
    pub attempts: u8,
}

/// What decides where a request may go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    pub ingress: ConnectionIndex,
    pub target: Target,
    pub priority: Priority,
    pub application: u32,
    /// The configured peer that is its Destination-Host.
    pub destination: Option<PeerIndex>,
    /// A connection that it had left on failed it: it may have been done already, and bears the T bit from now on.
    pub lost: bool,
    /// The session's hash, on a sticky route.
    pub session: Option<u64>,
}

/// Why a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It is not: this is the first time, or it was not written where it was put last.
    No,
    /// Its connection was lost or gave no answer in time: the T bit is set (rule 5).
    Lost,
    /// A peer refused it with an answer of its own: no T bit for that.
    Answered,
}

/// A record's buffer is kept for the next one up to this, bytes.
const KEEP: usize = 4096;

// === impl Agent ===

impl Agent {
    pub(super) fn handle_request(&mut self, now: Time, link: LinkId, ingress: ConnectionIndex, message: &Message<'_>) {
        let header = message.header;
        self.slots[ingress.get()].counters.requests_received += 1;
        if header.flags.is_error() {
            // RFC 6733 section 3: the E bit must not be set in a request.
            self.reject(now, link, message, code::INVALID_HDR_BITS, "the E bit is set in a request", None);
            return;
        }
        let avps = match RoutingAvps::scan(message, &self.local.origin_host) {
            Ok(avps) => avps,
            Err(error) => {
                self.slots[ingress.get()].counters.malformed += 1;
                self.reject_avp(now, link, message, error);
                return;
            }
        };
        if avps.looped {
            self.refuse(now, link, message, Refusal::Loop);
            return;
        }
        let own = self.local.origin_host.as_bytes();
        let for_us = avps.destination_host.is_some_and(|host| host.eq_ignore_ascii_case(own));
        if header.application == application::BASE || !header.flags.is_proxiable() || for_us {
            // RFC 6733 sections 3 and 6.1.4: without the P bit, or with our identity in Destination-Host, a message is
            // processed here, and a relay processes none but its own.
            let text =
                "a relay processes only its own peer messages; this request is not proxiable, or addressed to it";
            self.reject(now, link, message, code::COMMAND_UNSUPPORTED, text, None);
            return;
        }
        let settings = &self.settings;
        let priority = priority(
            settings,
            &PriorityRequest {
                application: header.application,
                command: header.command,
                ingress_peer: Some(&self.slots[ingress.get()].peer_host),
                realm: avps.destination_realm,
                drmp: avps.drmp,
            },
        );
        let route = RouteRequest {
            application: header.application,
            command: header.command,
            destination_host: avps.destination_host,
            destination_realm: avps.destination_realm,
            origin_host: avps.origin_host,
            origin_realm: avps.origin_realm,
            user_name: avps.user_name,
        };
        let target = match self.table.find(settings, &route) {
            Ok(target) => target,
            Err(refusal) => {
                self.refuse(now, link, message, refusal);
                return;
            }
        };
        let destination = target.peer.or_else(|| avps.destination_host.and_then(|host| self.table.peer(host)));
        let session = target
            .route
            .filter(|&route| settings.routes[route].sticky)
            .and(avps.session_id)
            .map(crate::routing::session_hash);
        let plan =
            Plan { ingress, target, priority, application: header.application, destination, lost: false, session };
        if let Some(route) = target.route {
            self.routes[route].count_request(priority);
        }
        let id = self.transactions.insert();
        match self.place(now, id, &plan, &[], message.bytes(), Again::No) {
            Ok(egress) => {
                if let Some(t) = self.transactions.get_mut(id) {
                    t.ingress = link;
                    t.hop_by_hop = header.hop_by_hop;
                    t.message.clear();
                    t.message.extend_from_slice(message.bytes());
                    t.plan = plan;
                    t.egress = Some(egress);
                    t.tried.clear();
                    t.attempts = 1;
                }
                self.slots[ingress.get()].awaited += 1;
                self.transactions.set_deadline(id, now + self.settings.node.answer_timeout);
            }
            Err(refusal) => {
                self.transactions.remove(id);
                self.count_refused(&plan, refusal);
                self.refuse(now, link, message, refusal);
            }
        }
    }

    /// Puts a request on the first connection that takes it: the addressed peer's, then the route's, in their order.
    ///
    /// # Errors
    /// The refusal of the last connection that was tried; when none was up, why.
    fn place(
        &mut self,
        now: Time,
        id: TransactionId,
        plan: &Plan,
        tried: &[ConnectionIndex],
        bytes: &[u8],
        again: Again,
    ) -> Result<(ConnectionIndex, u32), Refusal> {
        let mut refusal = Refusal::NoConnection;
        let peer = plan.target.peer;
        if let Some(peer) = peer {
            let count = self.settings.peers[peer.get()].connections.len();
            let turn = self.peer_turns[peer.get()];
            self.peer_turns[peer.get()] = (turn + 1) % count.max(1);
            for step in 0..count {
                let connection = self.settings.peers[peer.get()].connections[(turn + step) % count];
                match self.try_on(now, id, plan, tried, connection, bytes, again) {
                    Ok(hop_by_hop) => return Ok((connection, hop_by_hop)),
                    Err(why) => refusal = worse(refusal, why),
                }
            }
        }
        if let Some(route) = plan.target.route {
            let mut candidates = match plan.session {
                Some(session) => self.selection.start_sticky(route, session),
                None => self.selection.start(route),
            };
            loop {
                let up = &self.up;
                let Some(connection) = self.selection.next(&mut candidates, |c| up[c.get()]) else {
                    break;
                };
                if peer.is_some() && self.slots[connection.get()].peer == peer {
                    continue;
                }
                match self.try_on(now, id, plan, tried, connection, bytes, again) {
                    Ok(hop_by_hop) => {
                        self.routes[route].count_group(candidates.group());
                        return Ok((connection, hop_by_hop));
                    }
                    Err(why) => refusal = worse(refusal, why),
                }
            }
        }
        Err(refusal)
    }

    /// Lets one request out on one connection, or says why not.
    #[expect(clippy::too_many_arguments, reason = "one request's whole context, on the hot path")]
    fn try_on(
        &mut self,
        now: Time,
        id: TransactionId,
        plan: &Plan,
        tried: &[ConnectionIndex],
        connection: ConnectionIndex,
        bytes: &[u8],
        again: Again,
    ) -> Result<u32, Refusal> {
        let ingress_peer = self.slots[plan.ingress.get()].peer;
        let slot = &mut self.slots[connection.get()];
        // A request never goes back to the peer it came from, nor twice to a connection that failed it.
        if !slot.is_up() || slot.peer == ingress_peer || tried.contains(&connection) {
            return Err(Refusal::NoConnection);
        }
        if !slot.supports(plan.application) {
            return Err(Refusal::ApplicationUnsupported);
        }
        let Some(link) = slot.link() else { return Err(Refusal::NoConnection) };
        let to_this_peer = plan.destination.is_some() && plan.destination == slot.peer;
        let group = slot.group.map(|group| &mut self.groups[usize::from(group)]);
        let admitted = congestion::admit(now, &mut slot.congestion, &self.pending, group, plan.priority, to_this_peer);
        if let Err(refusal) = admitted {
            slot.counters.count_held_back(plan.priority, refusal);
            slot.last_refusal = Some((now, plan.priority, refusal));
            return Err(refusal);
        }
        let hop_by_hop = slot.hop_by_hop.insert(id);
        slot.congestion.handle_request_sent(now);
        slot.counters.count_admitted(plan.priority);
        match again {
            Again::No => {}
            Again::Lost => slot.counters.retransmitted += 1,
            Again::Answered => slot.counters.retried += 1,
        }
        self.pending.take();
        if let Some(at) = slot.group {
            self.groups[usize::from(at)].handle_request_sent(now);
            self.settle_group(at);
        }
        let route_record = &self.slots[plan.ingress.get()].route_record;
        if let Some(l) = self.links.get_mut(link) {
            l.outbox.push(Cargo::Request(id), |out| {
                forward::request(out, bytes, hop_by_hop, route_record, plan.lost);
            });
        }
        self.mark_dirty(link);
        self.touch(connection);
        Ok(hop_by_hop)
    }

    /// Counts a refusal on the route that the request took.
    fn count_refused(&mut self, plan: &Plan, refusal: Refusal) {
        if let Some(route) = plan.target.route {
            self.routes[route].count_refused(refusal);
        }
    }

    /// Answers a request that no connection took, and counts why.
    pub(super) fn refuse(&mut self, now: Time, link: LinkId, request: &Message<'_>, refusal: Refusal) {
        self.totals.count_refused(refusal);
        let result_code = refusal.result_code(self.settings.node.busy_result_code);
        let verdict =
            crate::diameter::answer::Verdict { result_code, error_message: refusal.error_message(), failed_avp: None };
        let answer =
            crate::diameter::answer::answer(request, &self.local.origin_host, &self.local.origin_realm, &verdict);
        self.send_answer_of_ours(now, link, &answer);
    }

    /// Queues an answer that we built, unless nothing may leave on its link.
    pub(super) fn send_answer_of_ours(&mut self, now: Time, link: LinkId, answer: &[u8]) {
        if let Some(connection) = self.requester(now, link) {
            self.send_answer(now, link, connection, |out| out.extend_from_slice(answer));
        }
    }

    /// Queues an answer on a link that serves that slot.
    pub(super) fn send_answer(
        &mut self,
        now: Time,
        link: LinkId,
        connection: ConnectionIndex,
        write: impl FnOnce(&mut BytesMut),
    ) {
        let slot = &mut self.slots[connection.get()];
        slot.congestion.handle_answer_sent(now);
        if let Some(l) = self.links.get_mut(link) {
            l.outbox.push(Cargo::Answer, write);
        }
        self.mark_dirty(link);
        self.touch(connection);
    }

    /// Ends a request's record: it has had its answer, or will have none. What a large message took is given back: the
    /// record's next user is likely to have a small one.
    pub(super) fn end_transaction(&mut self, id: TransactionId) {
        let Some(t) = self.transactions.get_mut(id) else { return };
        if t.message.capacity() > KEEP {
            t.message = Vec::new();
        }
        let ingress = t.plan.ingress;
        self.transactions.remove(id);
        self.slots[ingress.get()].awaited -= 1;
        self.touch(ingress);
    }

    /// Frees what a request holds on its present connection. The record itself stays.
    pub(super) fn release(&mut self, now: Time, connection: ConnectionIndex) {
        let slot = &mut self.slots[connection.get()];
        // A connection that went down has cleared its count already.
        if !slot.congestion.is_down() {
            slot.congestion.handle_released();
        }
        if let Some(group) = slot.group {
            self.groups[usize::from(group)].handle_released(now);
            self.settle_group(group);
        }
        self.pending.release();
    }

    /// Tries a request again elsewhere. On failure the record and its message are left for the caller to answer from.
    ///
    /// # Errors
    /// Why no other connection took it, or [`Refusal::AttemptsExhausted`].
    pub(super) fn send_again(&mut self, now: Time, id: TransactionId, again: Again) -> Result<(), Refusal> {
        let Some(t) = self.transactions.get_mut(id) else { return Ok(()) };
        let present = t.egress.take();
        if again != Again::No {
            t.tried.extend(present.map(|(connection, _)| connection));
            if t.attempts >= self.settings.node.max_attempts {
                return Err(Refusal::AttemptsExhausted);
            }
        }
        t.plan.lost |= again == Again::Lost;
        let plan = t.plan;
        // Taken out for the time of the call, and put back: the record keeps its buffers.
        let message = std::mem::take(&mut t.message);
        let tried = std::mem::take(&mut t.tried);
        let placed = self.place(now, id, &plan, &tried, &message, again);
        let Some(t) = self.transactions.get_mut(id) else { return Ok(()) };
        t.message = message;
        t.tried = tried;
        t.egress = placed.ok();
        if again != Again::No && placed.is_ok() {
            t.attempts += 1;
        }
        placed?;
        self.transactions.set_deadline(id, now + self.settings.node.answer_timeout);
        Ok(())
    }

    /// Has the requester gone? Then the record ends: nobody is asked again for an answer that nobody takes.
    pub(super) fn is_orphan(&mut self, id: TransactionId) -> bool {
        let requester = self.transactions.get(id).map(|t| t.ingress);
        let gone = requester.is_some_and(|link| !matches!(self.links.used_for(link), Some(Use::Slot { .. })));
        if gone {
            self.totals.answers_orphaned += 1;
            self.end_transaction(id);
        }
        gone
    }

    /// Ends a request that has nowhere left to go with an answer of ours.
    fn give_up(&mut self, now: Time, id: TransactionId, refusal: Refusal) {
        let Some(t) = self.transactions.get_mut(id) else { return };
        let message = std::mem::take(&mut t.message);
        let (link, plan) = (t.ingress, t.plan);
        self.count_refused(&plan, refusal);
        if let Some(request) = Message::new(&message) {
            self.refuse(now, link, &request, refusal);
        }
        if let Some(t) = self.transactions.get_mut(id) {
            t.message = message;
        }
        self.end_transaction(id);
    }

    /// The slot of a request's link, if it is still there and an answer may leave on it; counts the answer otherwise.
    pub(super) fn requester(&mut self, now: Time, link: LinkId) -> Option<ConnectionIndex> {
        let Some(Use::Slot { connection, .. }) = self.links.used_for(link) else {
            self.totals.answers_orphaned += 1;
            return None;
        };
        let slot = &mut self.slots[connection.get()];
        if slot.congestion.admit_answer(now).is_err() {
            slot.counters.answers_discarded += 1;
            return None;
        }
        Some(connection)
    }

    /// What was queued on a connection and not begun when it blocked or closed: requests go elsewhere as if for the
    /// first time, answers are discarded and counted (rule 3).
    pub(super) fn reroute_unwritten(&mut self, now: Time, connection: ConnectionIndex, withdrawn: Vec<Cargo>) {
        for cargo in withdrawn {
            match cargo {
                Cargo::Own => {}
                Cargo::Answer => self.slots[connection.get()].counters.answers_discarded += 1,
                Cargo::Request(id) => {
                    let Some(t) = self.transactions.get(id) else { continue };
                    let Some((egress, hop_by_hop)) = t.egress else { continue };
                    let lost = t.plan.lost;
                    if egress != connection {
                        continue;
                    }
                    let slot = &mut self.slots[connection.get()];
                    slot.hop_by_hop.withdraw(hop_by_hop);
                    slot.counters.requests_withdrawn += 1;
                    self.release(now, connection);
                    if self.is_orphan(id) {
                        continue;
                    }
                    if let Err(refusal) = self.send_again(now, id, Again::No) {
                        self.give_up(now, id, if lost { Refusal::AttemptsExhausted } else { refusal });
                    }
                }
            }
        }
    }

    /// Everything on a connection that has closed, or is suspect, goes elsewhere: what was not begun to be written as if
    /// for the first time, what was sent with the T bit, or it is answered 3002 (rule 5).
    pub(super) fn fail_over(&mut self, now: Time, connection: ConnectionIndex, link: Option<LinkId>, closed: bool) {
        if let Some(l) = link.and_then(|link| self.links.get_mut(link)) {
            // The answers taken for it leave, if it is we who close it; they are counted if they do not.
            let withdrawn = l.outbox.withdraw(false);
            self.reroute_unwritten(now, connection, withdrawn);
        }
        let ids = &mut self.slots[connection.get()].hop_by_hop;
        for id in if closed { ids.drain() } else { ids.expire_all() } {
            self.release(now, connection);
            self.retransmit(now, id);
        }
    }

    /// Requests whose answer has not come in time (rule 5).
    pub(super) fn expire_transactions(&mut self, now: Time) {
        while let Some(id) = self.transactions.due(now) {
            let Some((connection, hop_by_hop)) = self.transactions.get(id).and_then(|t| t.egress) else {
                self.end_transaction(id);
                continue;
            };
            let slot = &mut self.slots[connection.get()];
            slot.hop_by_hop.expire(hop_by_hop);
            slot.counters.timeouts += 1;
            self.release(now, connection);
            self.retransmit(now, id);
        }
    }

    fn retransmit(&mut self, now: Time, id: TransactionId) {
        if self.is_orphan(id) {
            return;
        }
        // Whatever held it back elsewhere: it has been tried and lost, which is 3002 (rule 5).
        if self.send_again(now, id, Again::Lost).is_err() {
            self.give_up(now, id, Refusal::AttemptsExhausted);
        }
    }
}

/// Which of two refusals describes the route: the last of a connection that was up and could have taken it, else that
/// the application is supported nowhere, else that nothing was up (rule 8).
fn worse(before: Refusal, now: Refusal) -> Refusal {
    match (before, now) {
        (before, Refusal::NoConnection) => before,
        (Refusal::NoConnection, now) => now,
        (before, Refusal::ApplicationUnsupported) => before,
        (_, now) => now,
    }
}
