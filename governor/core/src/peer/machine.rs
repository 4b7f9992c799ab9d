//! The peer state machine (RFC 6733 section 5.6) of one configured connection.

mod closing;
mod connecting;
mod held;
mod open;

use super::capabilities::Remote;
use super::disconnect::{BackOff, CloseReason, DisconnectCause};
use super::message::{self, Ids};
use super::random::Random;
use super::timer::{Timer, TimerTable};
use super::watchdog::{Action, Input, Status, Watchdog};
use super::{Local, Side};
use crate::diameter::Message;
use crate::settings::{ConnectionIndex, Settings};
use crate::time::Time;
use bytes::Bytes;
use held::Held;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// What one machine is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The peer's Origin-Host.
    pub peer_host: String,
    /// The peer's Origin-Realm; `None`: any.
    pub peer_realm: Option<String>,
    /// Do we open the connection? Otherwise we wait for the peer to do so; it may in either case.
    pub initiate: bool,
    /// Tw, 6 s or more (less counts as 6 s); each interval is jittered by up to 2 s either way.
    pub watchdog: Duration,
    /// Tc.
    pub reconnect: Duration,
    /// From the attempt to connect to the capabilities exchange's end.
    pub connect_timeout: Duration,
    /// From DPR to DPA, and from DPA to the peer's close.
    pub disconnect_timeout: Duration,
    /// How long an open connection may take to answer when the peer has opened another one.
    pub probe_timeout: Duration,
}

/// Where the machine stands. The names are the RFC's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection.
    Closed,
    /// We are connecting.
    WaitConnAck,
    /// We have sent a CER.
    WaitICea,
    /// We are connecting, and the peer's own connection and CER have come.
    WaitConnAckElect,
    /// Both connections are there, and we have lost the election: the peer's CEA decides.
    WaitReturns,
    /// Open, on the connection that the peer opened.
    ROpen,
    /// Open, on the connection that we opened.
    IOpen,
    /// A DPR was sent or answered.
    Closing,
}

/// What the caller has to do or to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Open a transport connection to the configured address; report it by `handle_connected` or
    /// `handle_connect_failed`.
    Connect,
    /// Close this transport connection (or give up connecting it) once what was polled for it is written. It is no
    /// longer this machine's: nothing more is to be reported of it, and its name is free. Each connection, and each
    /// attempt that did not end in `handle_connect_failed`, ends with one of these; also when the peer closed it.
    Disconnect {
        /// Which one.
        side: Side,
        /// Why.
        reason: CloseReason,
    },
    /// The capabilities exchange ended well: [`Machine::remote`] is known, answers flow, requests of the peer are
    /// taken. Our requests wait for `Up`, which follows at once unless the last connection failed (REOPEN).
    Opened {
        /// Which connection carries everything from now on.
        side: Side,
    },
    /// Usable for requests.
    ///
    /// Between `Opened` and `Up` the connection's X1 is best 3: nothing but answers leaves.
    Up {
        /// The open connection.
        side: Side,
    },
    /// No new requests; pending ones fail over (watchdog: SUSPECT).
    Suspect,
    /// Requests again, after `Suspect`.
    Recovered,
    /// No new requests: a DPR was sent or came. Pending ones may still be answered until `Down`.
    Draining,
    /// No connection any more: ends what `Opened` began.
    Down {
        /// Why.
        reason: CloseReason,
    },
}

/// R-Reject: an incoming connection that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The CEA to write before the connection is closed.
    pub answer: Bytes,
    /// Why.
    pub reason: CloseReason,
}

/// The machine of one configured connection ("slot") of a peer.
///
/// `handle_*` take what happened and when, `poll_*` give what to do, getters change nothing. After each `handle_*` the
/// caller empties [`Self::poll_transmit`], then [`Self::poll_event`], before it reports anything else; then it asks
/// [`Self::poll_timeout`]. `now` never goes back. What comes in another state than expected (a timer that ran late, a
/// connection already given up) is ignored.
#[derive(Clone, Debug)]
pub struct Machine {
    config: Config,
    local: Arc<Local>,
    state: State,
    /// The operator's stop, and what we said: neither connect nor accept.
    stopped: Option<DisconnectCause>,
    /// A start came while the last connection was closing.
    start_again: bool,
    /// In the open states and in Closing: the connection in use, and since when.
    open: Option<(Side, Time)>,
    remote: Option<Remote>,
    /// An incoming connection whose CER is not answered yet.
    held: Option<Held>,
    /// In Closing: why.
    leaving: Option<CloseReason>,
    /// Hop-by-Hop Identifier of the CER that waits for its CEA.
    cer_hop_by_hop: u32,
    watchdog: Watchdog,
    /// When the last message came on the open connection: Tw counts from here.
    heard: Time,
    /// How much silence from there on.
    interval: Duration,
    timers: TimerTable,
    back_off: BackOff,
    random: Random,
    next_ids: Ids,
    transmits: VecDeque<(Side, Bytes)>,
    events: VecDeque<Event>,
}

/// Least Tw (RFC 3539 section 3.4.1).
const MIN_WATCHDOG: Duration = Duration::from_secs(6);
/// Jitter of Tw, either way (RFC 3539 section 3.4.1).
const WATCHDOG_JITTER: Duration = Duration::from_secs(2);

// === impl Config ===

impl Config {
    /// The configuration of that connection; DPA may take 5 s, the answer to a probe 3 s.
    pub fn new(settings: &Settings, connection: ConnectionIndex) -> Self {
        let peer = settings.peer_of(connection);
        Self {
            peer_host: peer.host.clone(),
            peer_realm: Some(peer.realm.clone()),
            initiate: settings.connections[connection.get()].initiate,
            watchdog: settings.node.watchdog,
            reconnect: settings.node.reconnect,
            connect_timeout: settings.node.connect_timeout,
            disconnect_timeout: Duration::from_secs(5),
            probe_timeout: Duration::from_secs(3),
        }
    }
}

// === impl State ===

impl State {
    /// The RFC's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "Closed",
            Self::WaitConnAck => "Wait-Conn-Ack",
            Self::WaitICea => "Wait-I-CEA",
            Self::WaitConnAckElect => "Wait-Conn-Ack/Elect",
            Self::WaitReturns => "Wait-Returns",
            Self::ROpen => "R-Open",
            Self::IOpen => "I-Open",
            Self::Closing => "Closing",
        }
    }
}

// === impl Machine ===

impl Machine {
    /// A machine in Closed. It takes the peer's connections at once, and opens its own after [`Self::handle_start`].
    /// `seed` decides jitter and identifiers: another one for each machine and each start.
    pub fn new(now: Time, config: Config, local: Arc<Local>, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let next_ids = Ids { hop_by_hop: random.next_u32(), end_to_end: random.next_u32() };
        Self {
            config,
            local,
            state: State::Closed,
            stopped: None,
            start_again: false,
            open: None,
            remote: None,
            held: None,
            leaving: None,
            cer_hop_by_hop: 0,
            watchdog: Watchdog::default(),
            heard: now,
            interval: Duration::ZERO,
            timers: TimerTable::default(),
            back_off: BackOff::default(),
            random,
            next_ids,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Other times from now on: each from the next time that it is set. The peer must be the same.
    pub fn reconfigure(&mut self, config: Config) {
        self.config = config;
    }

    /// Where it stands.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The watchdog's status.
    pub const fn watchdog(&self) -> Status {
        self.watchdog.status()
    }

    /// Is a connection open: answers flow, and the peer's requests are taken?
    pub const fn is_open(&self) -> bool {
        matches!(self.state, State::ROpen | State::IOpen)
    }

    /// May new requests be sent?
    pub fn is_up(&self) -> bool {
        self.is_open() && self.watchdog.status() == Status::Okay
    }

    /// The open connection; in Closing, the one that is being closed.
    pub fn side(&self) -> Option<Side> {
        self.open.map(|(side, _)| side)
    }

    /// When the last message came on the open connection. Of several slots of one peer that are all open, a newcomer is
    /// best given to the one that has been silent longest: it is probed, and replaced if it is dead.
    pub const fn heard(&self) -> Time {
        self.heard
    }

    /// What the peer said of itself, while the connection is open or closing.
    pub const fn remote(&self) -> Option<&Remote> {
        self.remote.as_ref()
    }

    /// When to call [`Self::handle_timeout`]; earlier does no harm.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.next_timeout()
    }

    /// The next message to write, and where.
    pub fn poll_transmit(&mut self) -> Option<(Side, Bytes)> {
        self.transmits.pop_front()
    }

    /// The next thing to do or to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A CER, CEA, DWR, DWA, DPR or DPA arrived.
    pub fn handle_message(&mut self, now: Time, side: Side, message: &Message<'_>) {
        if self.open.is_some_and(|(open, _)| open == side) {
            self.message_on_open(now, side, message);
        } else if self.holds(side) {
            self.drop_held(CloseReason::UnexpectedMessage);
        } else if side == Side::Initiator {
            self.message_before_open(now, message);
        }
    }

    /// Any other message arrived, or several: Tw starts anew. Cheap: once a batch of messages is enough.
    pub fn handle_traffic(&mut self, now: Time, side: Side) {
        if self.open.is_some_and(|(open, _)| open == side) {
            if self.watchdog.status() == Status::Okay && self.held.is_none() {
                self.heard = now;
            } else {
                self.sign_of_life(now, Input::ReceiveNonDwa);
            }
        } else if self.holds(side) {
            self.drop_held(CloseReason::UnexpectedMessage);
        } else if side == Side::Initiator && matches!(self.state, State::WaitICea | State::WaitReturns) {
            self.initiator_failed(now, CloseReason::UnexpectedMessage);
        }
    }

    /// The transport connection is gone.
    pub fn handle_disconnected(&mut self, now: Time, side: Side) {
        self.handle_unusable(now, side, CloseReason::PeerClosed);
    }

    /// The caller gives up a transport connection for a reason of its own, such as bytes that cannot be framed.
    pub fn handle_unusable(&mut self, now: Time, side: Side, reason: CloseReason) {
        if self.open.is_some_and(|(open, _)| open == side) {
            //   R-Open           R-Peer-Disc      R-Disc           Closed
            //   I-Open           I-Peer-Disc      I-Disc           Closed
            //   Closing          I-Peer-Disc      I-Disc           Closed
            //                    R-Peer-Disc      R-Disc           Closed
            self.close(now, reason);
        } else if self.holds(side) {
            self.drop_held(reason);
        } else if side == Side::Initiator {
            self.initiator_failed(now, reason);
        }
    }

    /// Runs every timer that is due.
    pub fn handle_timeout(&mut self, now: Time) {
        for timer in Timer::ALL {
            if !self.timers.is_expired(timer, now) {
                continue;
            }
            self.timers.stop(timer);
            match timer {
                Timer::Connect => self.connect_timed_out(now),
                Timer::Reconnect => self.watch(now, Input::TimerExpires),
                Timer::Watchdog => self.watchdog_timed_out(now),
                Timer::Disconnect => self.close(now, CloseReason::PeerClosed),
                // Ours: the open connection has shown no life since the peer opened another one.
                Timer::Probe => self.close(now, CloseReason::Replaced),
            }
        }
    }

    // --- common to several states ---

    /// One step of the watchdog, and what it asks for.
    fn watch(&mut self, now: Time, input: Input) {
        let before = self.watchdog.status();
        for action in self.watchdog.step(input) {
            match action {
                Action::SendWatchdog => self.send_dwr(),
                Action::SetWatchdog => self.set_watchdog(now),
                Action::Failover => self.events.push_back(Event::Suspect),
                Action::Failback if before == Status::Suspect => self.events.push_back(Event::Recovered),
                Action::Failback => self.up(),
                Action::CloseConnection => self.close(now, CloseReason::WatchdogTimeout),
                Action::AttemptOpen => self.attempt_open(now),
            }
        }
    }

    /// `Tw = TWINIT - 2.0 + 4.0 * random()`, from `heard` on.
    fn set_watchdog(&mut self, heard: Time) {
        let least = self.config.watchdog.max(MIN_WATCHDOG).saturating_sub(WATCHDOG_JITTER);
        self.heard = heard;
        self.interval = least + self.random.up_to(2 * WATCHDOG_JITTER);
        self.timers.set(Timer::Watchdog, heard + self.interval);
    }

    fn up(&mut self) {
        if let Some((side, _)) = self.open {
            self.events.push_back(Event::Up { side });
        }
    }

    fn send_dwr(&mut self) {
        if let Some((side, _)) = self.open {
            let ids = self.take_ids();
            self.transmits.push_back((side, message::dwr(&self.local, ids)));
        }
    }

    fn take_ids(&mut self) -> Ids {
        let ids = self.next_ids;
        self.next_ids = Ids { hop_by_hop: ids.hop_by_hop.wrapping_add(1), end_to_end: ids.end_to_end.wrapping_add(1) };
        ids
    }

    fn disconnect(&mut self, side: Side, reason: CloseReason) {
        self.events.push_back(Event::Disconnect { side, reason });
    }

    /// The capabilities exchange ended well on `side`.
    fn opened(&mut self, now: Time, side: Side, remote: Remote) {
        self.state = if side == Side::Initiator { State::IOpen } else { State::ROpen };
        self.open = Some((side, now));
        self.remote = Some(remote);
        self.timers.stop(Timer::Connect);
        self.timers.stop(Timer::Reconnect);
        self.events.push_back(Event::Opened { side });
        self.watch(now, Input::ConnectionUp);
        if self.watchdog.status() == Status::Okay {
            self.up();
        }
    }
}
