//! Closed and the Wait- states: from no connection to an open one.

use super::held::Held;
use super::{CloseReason, Event, Input, IpAddr, Machine, Rejected, Remote, Side, State, Status, Time, Timer, message};
use crate::diameter::Message;
use crate::diameter::codes::avp;
use crate::peer::capabilities::parse_cea;
use crate::peer::election;
use crate::refusal::code;

impl Machine {
    /// Start: begin connecting if we initiate. It lifts a stop, and every wait for the next attempt.
    pub fn handle_start(&mut self, now: Time) {
        self.stopped = None;
        self.back_off.reset();
        self.start_again = self.state == State::Closing;
        if self.state == State::Closed && self.config.initiate {
            self.attempt_open(now);
        }
    }

    //   Closed           Start            I-Snd-Conn-Req   Wait-Conn-Ack
    pub(super) fn attempt_open(&mut self, now: Time) {
        if self.state != State::Closed || self.stopped.is_some() {
            return;
        }
        self.state = State::WaitConnAck;
        self.timers.stop(Timer::Reconnect);
        self.timers.set(Timer::Connect, now + self.config.connect_timeout);
        self.events.push_back(Event::Connect);
    }

    /// I-Rcv-Conn-Ack: our transport connection is there. `local_addrs` become the CER's Host-IP-Addresses: one at
    /// least, for SCTP every one.
    pub fn handle_connected(&mut self, now: Time, local_addrs: &[IpAddr]) {
        match self.state {
            //   Wait-Conn-Ack    I-Rcv-Conn-Ack   I-Snd-CER        Wait-I-CEA
            State::WaitConnAck => {
                self.send_cer(local_addrs);
                self.state = State::WaitICea;
            }
            //   Wait-Conn-Ack/   I-Rcv-Conn-Ack   I-Snd-CER,Elect  Wait-Returns
            //   Elect
            State::WaitConnAckElect => {
                self.send_cer(local_addrs);
                self.elect(now);
            }
            // An attempt that was given up before.
            _ => {}
        }
    }

    /// I-Rcv-Conn-Nack: no transport connection could be had.
    pub fn handle_connect_failed(&mut self, now: Time) {
        match self.state {
            //   Wait-Conn-Ack    I-Rcv-Conn-Nack  Cleanup          Closed
            State::WaitConnAck => self.closed(now, &CloseReason::PeerClosed),
            //   Wait-Conn-Ack/   I-Rcv-Conn-Nack  R-Snd-CEA        R-Open
            //   Elect
            State::WaitConnAckElect => self.take_held(now),
            _ => {}
        }
    }

    /// R-Conn-CER: the peer has opened a connection, and its CER is valid and belongs to this slot.
    ///
    /// The name under which the machine knows the connection from now on, or what to answer before it is closed.
    pub fn handle_incoming(
        &mut self,
        now: Time,
        cer: &Message<'_>,
        remote: Remote,
        local_addrs: &[IpAddr],
    ) -> Result<Side, Rejected> {
        if let Some(cause) = self.stopped {
            return Err(self.reject(cer, "stopped by the operator", CloseReason::Stopped(cause)));
        }
        if self.held.is_some() {
            //   Wait-Conn-Ack/   R-Conn-CER       R-Reject         Wait-Conn-Ack/
            //   Elect                                              Elect
            //   Wait-Returns     R-Conn-CER       R-Reject         Wait-Returns
            return Err(self.reject(cer, "another connection is being judged", CloseReason::Duplicate));
        }
        let taken = self.open.is_some_and(|(side, _)| side == Side::Responder);
        let side = if taken { Side::SecondResponder } else { Side::Responder };
        let held = Held::new(side, cer, remote, local_addrs);
        match self.state {
            //   Closed           R-Conn-CER       R-Accept,        R-Open
            //                                     Process-CER,
            //                                     R-Snd-CEA
            State::Closed => self.accept(now, held),
            //   Wait-Conn-Ack    R-Conn-CER       R-Accept,        Wait-Conn-Ack/
            //                                     Process-CER      Elect
            State::WaitConnAck => {
                self.held = Some(held);
                self.state = State::WaitConnAckElect;
            }
            //   Wait-I-CEA       R-Conn-CER       R-Accept,        Wait-Returns
            //                                     Process-CER,
            //                                     Elect
            State::WaitICea => {
                self.held = Some(held);
                self.elect(now);
            }
            // A connection is held in these, always.
            State::WaitConnAckElect | State::WaitReturns => {}
            //   R-Open           R-Conn-CER       R-Reject         R-Open
            //   I-Open           R-Conn-CER       R-Reject         I-Open
            // Ours: the peer may have lost the old connection without our knowing (a crash, a dead path), and would
            // be shut out until the watchdog finds it: a DWR asks the old one. If it answers, R-Reject (5012); if it
            // does not, or is suspect already, the new one replaces it.
            State::ROpen | State::IOpen => {
                self.held = Some(held);
                self.probe(now);
            }
            // Ours, no row: the peer that has said good-bye, or that we have, is back before the old connection ended.
            State::Closing => {
                self.held = Some(held);
                self.close(now, CloseReason::PeerClosed);
            }
        }
        Ok(side)
    }

    fn probe(&mut self, now: Time) {
        if self.watchdog.status() == Status::Suspect {
            self.close(now, CloseReason::Replaced);
            return;
        }
        if !self.watchdog.pending() {
            self.watchdog.probed();
            self.send_dwr();
        }
        self.timers.set(Timer::Probe, now + self.config.probe_timeout);
    }

    fn send_cer(&mut self, local_addrs: &[IpAddr]) {
        let ids = self.take_ids();
        self.cer_hop_by_hop = ids.hop_by_hop;
        self.transmits.push_back((Side::Initiator, message::cer(&self.local, local_addrs, ids)));
    }

    /// Elect: the next state is Wait-Returns, which a won election leaves at once.
    fn elect(&mut self, now: Time) {
        self.state = State::WaitReturns;
        let won =
            self.held.as_ref().is_some_and(|held| election::wins(&self.local.origin_host, &held.remote.origin_host));
        if won {
            //   Wait-Returns     Win-Election     I-Disc,R-Snd-CEA R-Open
            self.disconnect(Side::Initiator, CloseReason::Election);
            self.take_held(now);
        }
    }

    /// R-Snd-CEA on the connection that waits: R-Open.
    fn take_held(&mut self, now: Time) {
        if let Some(held) = self.held.take() {
            self.accept(now, held);
        }
    }

    /// A message on the connection that we opened, before it is open.
    pub(super) fn message_before_open(&mut self, now: Time, message: &Message<'_>) {
        if !matches!(self.state, State::WaitICea | State::WaitReturns) {
            return;
        }
        match self.judge_cea(message) {
            Ok(remote) => {
                //   Wait-Returns     I-Rcv-CEA        R-Disc           I-Open
                // The loser says 4003 on the connection that it gives up.
                self.refuse_held(code::ELECTION_LOST, "election lost", CloseReason::Election);
                //   Wait-I-CEA       I-Rcv-CEA        Process-CEA      I-Open
                self.opened(now, Side::Initiator, remote);
            }
            //   Wait-I-CEA       I-Rcv-Non-CEA    Error            Closed
            // A CEA that refuses, or cannot be right, or is another peer's, ends the same way.
            Err(reason) => self.initiator_failed(now, reason),
        }
    }

    fn judge_cea(&self, message: &Message<'_>) -> Result<Remote, CloseReason> {
        let header = &message.header;
        let is_cea = header.command == crate::diameter::codes::command::CAPABILITIES_EXCHANGE
            && !header.flags.is_request()
            && header.hop_by_hop == self.cer_hop_by_hop;
        if !is_cea {
            return Err(CloseReason::UnexpectedMessage);
        }
        match message.find(avp::RESULT_CODE).and_then(|avp| avp.u32()) {
            Some(2000..=2999) => {}
            Some(code::ELECTION_LOST) => return Err(CloseReason::Election),
            other => return Err(CloseReason::Refused(other.unwrap_or_default())),
        }
        let remote = parse_cea(message).map_err(CloseReason::Capabilities)?;
        remote.expect(&self.config.peer_host, self.config.peer_realm.as_deref()).map_err(CloseReason::Capabilities)?;
        Ok(remote)
    }

    /// The connection that we opened, or are opening, comes to nothing.
    pub(super) fn initiator_failed(&mut self, now: Time, reason: CloseReason) {
        match self.state {
            //   Wait-I-CEA       I-Peer-Disc      I-Disc           Closed
            //                    I-Rcv-Non-CEA    Error            Closed
            // Wait-Conn-Ack: a connection that went before it was reported.
            State::WaitConnAck | State::WaitICea => {
                self.disconnect(Side::Initiator, reason.clone());
                self.closed(now, &reason);
            }
            //   Wait-Returns     I-Peer-Disc      I-Disc,          R-Open
            //                                     R-Snd-CEA
            // Ours: I-Rcv-Non-CEA, which has no row here, and the same in Wait-Conn-Ack/Elect: nothing is wrong with
            // the peer's own connection.
            State::WaitConnAckElect | State::WaitReturns => {
                self.disconnect(Side::Initiator, reason);
                self.take_held(now);
            }
            _ => {}
        }
    }

    pub(super) fn connect_timed_out(&mut self, now: Time) {
        match self.state {
            //   Wait-Conn-Ack    Timeout          Error            Closed
            //   Wait-I-CEA       Timeout          Error            Closed
            //   Wait-Conn-Ack/   Timeout          Error            Closed
            //   Elect
            // Ours, in Wait-Conn-Ack/Elect: R-Snd-CEA, R-Open, as on I-Rcv-Conn-Nack. A peer that can be reached only
            // from its own side would else never get a connection.
            State::WaitConnAck | State::WaitICea | State::WaitConnAckElect => {
                self.initiator_failed(now, CloseReason::ConnectTimeout);
            }
            //   Wait-Returns     Timeout          Error            Closed
            State::WaitReturns => {
                self.refuse_held(code::UNABLE_TO_COMPLY, "no CEA came in time", CloseReason::ConnectTimeout);
                self.disconnect(Side::Initiator, CloseReason::ConnectTimeout);
                self.closed(now, &CloseReason::ConnectTimeout);
            }
            _ => {}
        }
    }

    /// Closed, with no connection left: when is the next attempt?
    pub(super) fn closed(&mut self, now: Time, reason: &CloseReason) {
        self.state = State::Closed;
        self.timers.stop(Timer::Connect);
        self.watch(now, Input::ConnectionDown);
        let start_again = std::mem::take(&mut self.start_again);
        if self.stopped.is_some() || !self.config.initiate {
            return;
        }
        if start_again {
            self.attempt_open(now);
            return;
        }
        if let Some(wait) = self.back_off.next(reason, self.config.reconnect, &mut self.random) {
            self.timers.set(Timer::Reconnect, now + wait);
        }
    }
}
