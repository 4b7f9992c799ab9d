//! R-Open and I-Open (they differ in nothing but the connection in use), and what still comes in Closing.

use super::{CloseReason, DisconnectCause, Event, Input, Machine, Side, State, Time, Timer, message};
use crate::diameter::Message;
use crate::diameter::codes::{avp, command};
use crate::refusal::code;

impl Machine {
    pub(super) fn message_on_open(&mut self, now: Time, side: Side, message: &Message<'_>) {
        match (message.header.command, message.header.flags.is_request()) {
            //   R-Open           R-Rcv-DWR        Process-DWR,     R-Open
            //                                     R-Snd-DWA
            //   I-Open           I-Rcv-DWR        Process-DWR,     I-Open
            //                                     I-Snd-DWA
            // Closing has no row for it: answered all the same, a peer may be slow to read our DPR.
            (command::DEVICE_WATCHDOG, true) => {
                self.transmits.push_back((side, message::dwa(&self.local, message)));
                self.sign_of_life(now, Input::ReceiveNonDwa);
            }
            //   R-Open           R-Rcv-DWA        Process-DWA      R-Open
            //   I-Open           I-Rcv-DWA        Process-DWA      I-Open
            (command::DEVICE_WATCHDOG, false) => self.sign_of_life(now, Input::ReceiveDwa),
            //   R-Open           R-Rcv-DPR        R-Snd-DPA        Closing
            //   I-Open           I-Rcv-DPR        I-Snd-DPA        Closing
            // In Closing the two DPRs have crossed: each is answered, and the first DPA closes.
            (command::DISCONNECT_PEER, true) => {
                self.transmits.push_back((side, message::dpa(&self.local, message)));
                if self.is_open() {
                    let cause = message.find(avp::DISCONNECT_CAUSE).and_then(|avp| avp.u32()).unwrap_or_default();
                    let cause = DisconnectCause::from_u32(cause);
                    self.leave(now, CloseReason::PeerDisconnect(cause));
                    if self.held.is_some() {
                        // The peer has opened its next connection before it left this one: no need to wait.
                        self.close(now, CloseReason::PeerClosed);
                    }
                }
            }
            //   Closing          I-Rcv-DPA        I-Disc           Closed
            //                    R-Rcv-DPA        R-Disc           Closed
            (command::DISCONNECT_PEER, false) if self.state == State::Closing => {
                self.close(now, CloseReason::PeerClosed);
            }
            // Ours: RFC 6733 has no row for a CER on an open connection any more (RFC 3588 had). What was negotiated
            // is not negotiated again.
            (command::CAPABILITIES_EXCHANGE, true) => {
                let why = "a second CER on an open connection";
                let cea = message::refusing_cea(&self.local, &message.header, code::UNABLE_TO_COMPLY, why, &[]);
                self.transmits.push_back((side, cea));
                self.close(now, CloseReason::SecondCer);
            }
            // A CEA or DPA that nobody waits for says that the peer is alive, and nothing else.
            _ => self.sign_of_life(now, Input::ReceiveNonDwa),
        }
    }

    /// A message on the open connection: the watchdog hears of it, and a probe has its answer.
    pub(super) fn sign_of_life(&mut self, now: Time, input: Input) {
        if !self.is_open() {
            return;
        }
        self.refuse_held(code::UNABLE_TO_COMPLY, "already connected", CloseReason::Duplicate);
        self.watch(now, input);
    }

    /// Tw was set for an interval of silence; traffic since moves its end, which is not worth a timer each time.
    pub(super) fn watchdog_timed_out(&mut self, now: Time) {
        if self.heard + self.interval > now {
            self.set_watchdog(self.heard);
        } else {
            self.watch(now, Input::TimerExpires);
        }
    }

    /// Into Closing, with a limit on how long it may take.
    pub(super) fn leave(&mut self, now: Time, reason: CloseReason) {
        self.state = State::Closing;
        self.leaving = Some(reason);
        self.timers.stop(Timer::Watchdog);
        self.timers.set(Timer::Disconnect, now + self.config.disconnect_timeout);
        self.events.push_back(Event::Draining);
    }
}
