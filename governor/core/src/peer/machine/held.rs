//! An incoming connection whose CER waits for its answer: in an election, or while an older one is probed.

use super::{CloseReason, IpAddr, Machine, Rejected, Remote, Side, State, Time, Timer, message};
use crate::diameter::{Header, Message};
use crate::refusal::code;

#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) side: Side,
    cer: Header,
    pub(super) remote: Remote,
    addresses: Vec<IpAddr>,
}

impl Held {
    pub(super) fn new(side: Side, cer: &Message<'_>, remote: Remote, addresses: &[IpAddr]) -> Self {
        Self { side, cer: cer.header, remote, addresses: addresses.to_vec() }
    }
}

impl Machine {
    pub(super) fn holds(&self, side: Side) -> bool {
        self.held.as_ref().is_some_and(|held| held.side == side)
    }

    /// R-Accept, Process-CER, R-Snd-CEA: the next state is R-Open.
    pub(super) fn accept(&mut self, now: Time, held: Held) {
        let cea = message::cea(&self.local, &held.addresses, &held.cer);
        self.transmits.push_back((held.side, cea));
        self.opened(now, held.side, held.remote);
    }

    /// R-Disc with a CEA that says why; the state stays.
    pub(super) fn refuse_held(&mut self, result_code: u32, why: &str, reason: CloseReason) {
        self.timers.stop(Timer::Probe);
        if let Some(held) = self.held.take() {
            let cea = message::refusing_cea(&self.local, &held.cer, result_code, why, &[]);
            self.transmits.push_back((held.side, cea));
            self.disconnect(held.side, reason);
        }
    }

    /// The waiting connection is gone, or has said something before its CEA.
    pub(super) fn drop_held(&mut self, reason: CloseReason) {
        self.timers.stop(Timer::Probe);
        let Some(held) = self.held.take() else { return };
        self.disconnect(held.side, reason);
        match self.state {
            //   Wait-Conn-Ack/   R-Peer-Disc      R-Disc           Wait-Conn-Ack
            //   Elect
            State::WaitConnAckElect => self.state = State::WaitConnAck,
            //   Wait-Returns     R-Peer-Disc      R-Disc           Wait-I-CEA
            State::WaitReturns => self.state = State::WaitICea,
            // While the open connection is probed: it stays what it is.
            _ => {}
        }
    }

    /// R-Reject. 5012 is what the field answers to a connection too many; 4003 is the election's alone.
    pub(super) fn reject(&self, cer: &Message<'_>, why: &str, reason: CloseReason) -> Rejected {
        let answer = message::refusing_cea(&self.local, &cer.header, code::UNABLE_TO_COMPLY, why, &[]);
        Rejected { answer, reason }
    }
}
