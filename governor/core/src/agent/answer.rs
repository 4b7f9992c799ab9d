//! An answer's way back: to the link its request came from, with the identifier it came with.

use super::Agent;
use super::request::Again;
use crate::diameter::{Message, RoutingAvps, forward};
use crate::refusal::code;
use crate::routing::{Known, TransactionId};
use crate::settings::ConnectionIndex;
use crate::time::Time;

// === impl Agent ===

impl Agent {
    pub(super) fn handle_answer(&mut self, now: Time, connection: ConnectionIndex, message: &Message<'_>) {
        let slot = &mut self.slots[connection.get()];
        let id = match slot.hop_by_hop.answered(message.header.hop_by_hop) {
            Known::Pending(id) => id,
            // Dropped and counted by cause; never a reason to close.
            Known::Late => return slot.counters.answers_late += 1,
            Known::Duplicate => return slot.counters.answers_duplicate += 1,
            Known::Never => return slot.counters.answers_unknown += 1,
        };
        slot.counters.answers_received += 1;
        self.release(now, connection);
        self.touch(connection);
        match RoutingAvps::scan(message, "") {
            Ok(avps) => {
                let result_code = avps.result_code;
                let adjacent = avps
                    .origin_host
                    .is_some_and(|host| host.eq_ignore_ascii_case(self.slots[connection.get()].peer_host.as_bytes()));
                if result_code == Some(code::TOO_BUSY) {
                    self.handle_busy(now, connection, id, adjacent);
                }
                if adjacent && result_code.is_some_and(|code| self.retry(now, connection, id, code)) {
                    return;
                }
                self.pass_back(now, id, |out, hop_by_hop| forward::answer(out, message.bytes(), hop_by_hop));
            }
            Err(error) => {
                self.slots[connection.get()].counters.malformed += 1;
                self.replace_malformed(now, id, &error.to_string());
            }
        }
    }

    /// Rule 2: only a 3004 of the peer itself says that this connection's peer is busy.
    fn handle_busy(&mut self, now: Time, connection: ConnectionIndex, id: TransactionId, adjacent: bool) {
        let slot = &mut self.slots[connection.get()];
        if !adjacent {
            slot.counters.busy_behind += 1;
            return;
        }
        slot.counters.busy_own += 1;
        if let Some(t) = self.transactions.get(id) {
            slot.congestion.handle_busy(now, t.plan.priority);
        }
    }

    /// A refusal by the adjacent peer itself may be mended elsewhere, unless that very peer was asked for. Within
    /// `max_attempts`; when nobody else takes the request the peer's own answer goes back.
    fn retry(&mut self, now: Time, connection: ConnectionIndex, id: TransactionId, result_code: u32) -> bool {
        if !self.settings.node.retry_result_codes.contains(&result_code) {
            return false;
        }
        let peer = self.slots[connection.get()].peer;
        let asked_for = peer.is_some() && self.transactions.get(id).is_some_and(|t| t.plan.destination == peer);
        !asked_for && (self.is_orphan(id) || self.send_again(now, id, Again::Answered).is_ok())
    }

    /// Sends an answer to where its request came from and ends the record.
    fn pass_back(&mut self, now: Time, id: TransactionId, write: impl FnOnce(&mut bytes::BytesMut, u32)) {
        let Some(t) = self.transactions.get(id) else { return };
        let (link, hop_by_hop) = (t.ingress, t.hop_by_hop);
        self.end_transaction(id);
        if let Some(ingress) = self.requester(now, link) {
            self.send_answer(now, link, ingress, |out| write(out, hop_by_hop));
        }
    }

    /// An answer whose AVPs cannot be walked is not passed on; the requester still gets one.
    fn replace_malformed(&mut self, now: Time, id: TransactionId, error: &str) {
        let Some(t) = self.transactions.get_mut(id) else { return };
        let message = std::mem::take(&mut t.message);
        let link = t.ingress;
        if let Some(request) = Message::new(&message) {
            let text = format!("the answer was malformed: {error}");
            self.reject(now, link, &request, code::UNABLE_TO_COMPLY, &text, None);
        }
        if let Some(t) = self.transactions.get_mut(id) {
            t.message = message;
        }
        self.end_transaction(id);
    }
}
