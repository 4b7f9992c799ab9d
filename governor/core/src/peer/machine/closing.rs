//! Stop, and the end of an open connection.

use super::{CloseReason, DisconnectCause, Input, Machine, Side, State, Time, Timer, message};
use crate::refusal::code;

impl Machine {
    /// Stop: a DPR to the peer if the connection is open, then close. Nothing is opened or accepted until
    /// [`Self::handle_start`].
    pub fn handle_stop(&mut self, now: Time, cause: DisconnectCause) {
        self.stopped = Some(cause);
        self.timers.stop(Timer::Reconnect);
        let reason = CloseReason::Stopped(cause);
        self.refuse_held(code::UNABLE_TO_COMPLY, "stopped by the operator", reason.clone());
        match self.state {
            // Nothing to close, or on its way already.
            State::Closed | State::Closing => {}
            // No row: there is nobody to say good-bye to yet.
            State::WaitConnAck | State::WaitICea | State::WaitConnAckElect | State::WaitReturns => {
                self.disconnect(Side::Initiator, reason.clone());
                self.closed(now, &reason);
            }
            //   R-Open           Stop             R-Snd-DPR        Closing
            //   I-Open           Stop             I-Snd-DPR        Closing
            State::ROpen | State::IOpen => {
                if let Some((side, _)) = self.open {
                    let ids = self.take_ids();
                    self.transmits.push_back((side, message::dpr(&self.local, cause, ids)));
                }
                self.leave(now, reason);
            }
        }
    }

    /// The open (or closing) connection ends: the identity is free at once, and whoever waits for it is let in.
    ///
    /// In Closing the reason for leaving stands, whatever ended the wait:
    ///   Closing          Timeout          Error            Closed
    pub(super) fn close(&mut self, now: Time, reason: CloseReason) {
        let Some((side, since)) = self.open.take() else { return };
        let reason = self.leaving.take().unwrap_or(reason);
        self.state = State::Closed;
        self.remote = None;
        for timer in [Timer::Watchdog, Timer::Disconnect, Timer::Probe] {
            self.timers.stop(timer);
        }
        if reason.is_in_order() {
            self.watchdog.closed_in_order();
        } else {
            self.watchdog.step(Input::ConnectionDown);
        }
        if now.since(since) >= self.config.reconnect {
            self.back_off.reset();
        }
        self.events.push_back(super::Event::Down { reason: reason.clone() });
        self.disconnect(side, reason.clone());
        match self.held.take() {
            Some(held) => self.accept(now, held),
            None => self.closed(now, &reason),
        }
    }
}
