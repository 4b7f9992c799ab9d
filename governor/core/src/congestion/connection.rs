//! One connection: the maximum of its features, and what may leave on it (rules 1 and 5).

use super::change::{Cause, LevelChange, changes};
use super::peak::Peak;
use super::pending::Pending;
use super::remote_busy::RemoteBusy;
use super::status::Status;
use super::throttle::Throttle;
use super::transport::Transport;
use crate::level::{Level, Levels, Priority};
use crate::refusal::Refusal;
use crate::settings;
use crate::time::Time;
use std::collections::VecDeque;

/// The levels, the pending records and the rate of one transport connection.
///
/// Call `admit_*`, and once the message is on its way `handle_*_sent`. Every `handle_*` and `admit_*` first runs the
/// timers due at or before `now`. Drain [`Self::poll_event`] after them, and call [`Self::handle_timeout`] when
/// [`Self::poll_timeout`] says so; late is harmless to the levels, only their changes are told late. The rate needs no
/// timer: before reading it of a connection that has been idle, call [`Self::handle_timeout`].
#[derive(Clone, Debug)]
pub struct Connection {
    status: Status,
    remote_busy: RemoteBusy,
    transport: Transport,
    throttle: Throttle,
    pending: Pending,
    rate_peak: Peak<f64>,
    pending_peak: Peak<u32>,
    /// The first instant at which some timer or sample is due; `None` while down.
    next: Option<Time>,
    events: VecDeque<LevelChange>,
}

/// The timers that change a level.
#[derive(Clone, Copy)]
enum Timer {
    /// Rule 2.
    RemoteBusyAbatement,
    /// Rule 3.
    TransportAbatement,
    /// Rule 4.
    Sample,
}

// === impl Connection ===

impl Connection {
    /// A connection that is down.
    pub fn new(settings: &settings::Connection) -> Self {
        Self {
            status: Status::new(),
            remote_busy: RemoteBusy::new(settings.remote_busy),
            transport: Transport::new(settings.transport),
            throttle: Throttle::new(settings.throttle.as_ref()),
            pending: Pending::new(settings.pending_limit),
            rate_peak: Peak::default(),
            pending_peak: Peak::default(),
            next: None,
            events: VecDeque::new(),
        }
    }

    /// Other settings for a connection in service. Levels, timers that run, the rate and the pending records are kept
    /// where the new settings have them; a lowered pending limit drops nothing (rule 5).
    pub fn reconfigure(&mut self, now: Time, settings: &settings::Connection) {
        self.run_timers(now);
        self.change(now, Cause::Reconfigured, |c| {
            c.remote_busy.reconfigure(settings.remote_busy);
            c.transport.reconfigure(settings.transport);
            c.throttle.reconfigure(settings.throttle.as_ref());
        });
        self.pending.set_limit(settings.pending_limit);
    }

    // --- X1

    /// The connection is open, or no longer degraded. The other features are kept.
    pub fn handle_up(&mut self, now: Time) {
        self.open(now);
        self.change(now, Cause::Up, |c| c.status.handle_up());
    }

    /// The connection is closed: every feature, the rate and the pending records are cleared. The caller
    /// drops its records of this connection without [`Self::handle_released`].
    pub fn handle_down(&mut self, now: Time) {
        if self.status.is_down() {
            return;
        }
        self.run_timers(now);
        self.change(now, Cause::Down, |c| {
            c.status.handle_down();
            c.remote_busy.clear();
            c.transport.clear();
            c.throttle.start(now);
        });
        self.pending.clear();
        self.next = None;
    }

    /// Degraded by hand or by the watchdog: `level` is 1-3 or 98. On a down connection it opens with that level.
    /// Levels 0 and 99 are the same as up and down.
    pub fn handle_degraded(&mut self, now: Time, level: Level) {
        match level {
            Level::CL0 => self.handle_up(now),
            Level::UNAVAILABLE => self.handle_down(now),
            level => {
                self.open(now);
                self.change(now, Cause::Degraded, |c| c.status.handle_degraded(level));
            }
        }
    }

    // --- X2

    /// A 3004 whose Origin-Host is this connection's peer answered a request of this priority.
    pub fn handle_busy(&mut self, now: Time, priority: Priority) {
        if self.ready(now) {
            self.change(now, Cause::Busy { priority }, |c| c.remote_busy.handle_busy(now, priority));
        }
    }

    // --- X3

    /// A write failed for want of send-buffer space.
    pub fn handle_blocked(&mut self, now: Time) {
        if self.ready(now) {
            self.change(now, Cause::Blocked, |c| c.transport.handle_blocked());
        }
    }

    /// The socket is writable again.
    pub fn handle_unblocked(&mut self, now: Time) {
        if self.ready(now) {
            self.change(now, Cause::Unblocked, |c| c.transport.handle_unblocked(now));
        }
    }

    /// The send buffer holds `queued` of at most `limit` bytes.
    pub fn handle_pressure(&mut self, now: Time, queued: u64, limit: u64) {
        if self.ready(now) {
            self.change(now, Cause::Pressure { queued, limit }, |c| c.transport.handle_pressure(queued, limit));
        }
    }

    // --- messages

    /// May a request of this priority leave? `to_this_peer`: its Destination-Host is the peer (rule 2, host override).
    /// Refused for the first of: the CPL, the pending limit, the hard limit of the rate.
    pub fn admit_request(&mut self, now: Time, priority: Priority, to_this_peer: bool) -> Result<(), Refusal> {
        self.run_timers(now);
        let levels = self.levels();
        let without_busy = to_this_peer && self.remote_busy.is_overridden_by_host();
        let level = if without_busy { levels.cpl_without_remote_busy() } else { levels.cpl() };
        admit(level, priority)?;
        self.pending.admit()?;
        self.throttle.admit(now)
    }

    /// May an answer leave? Neither the pending limit nor the rate holds answers back.
    pub fn admit_answer(&mut self, now: Time) -> Result<(), Refusal> {
        self.run_timers(now);
        admit(self.cpl(), Priority::ANSWER)
    }

    /// A request is on its way: one pending record more, and one message of the rate.
    pub fn handle_request_sent(&mut self, now: Time) {
        if self.ready(now) {
            self.pending.take();
            self.pending_peak.note(now, self.pending.used());
            self.throttle.handle_sent(now);
        }
    }

    /// An answer is on its way: one message of the rate.
    pub fn handle_answer_sent(&mut self, now: Time) {
        if self.ready(now) {
            self.throttle.handle_sent(now);
        }
    }

    /// One pending record is gone: answered, timed out, or sent elsewhere.
    pub fn handle_released(&mut self) {
        self.pending.release();
    }

    // --- time and events

    /// When [`Self::handle_timeout`] is due for a level to change. `None`: no level changes by time alone.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.next_timer().map(|(due, _)| due)
    }

    /// Runs the timers due at or before `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.run_timers(now);
    }

    /// What changed, oldest first.
    pub fn poll_event(&mut self) -> Option<LevelChange> {
        self.events.pop_front()
    }

    // --- getters, as of the last call that took the time

    /// The four inputs.
    pub fn levels(&self) -> Levels {
        Levels {
            status: self.status.level(),
            remote_busy: self.remote_busy.level(),
            transport: self.transport.level(),
            throttle: self.throttle.level(),
        }
    }

    /// The connection's overall level: the maximum over its features.
    pub fn cpl(&self) -> Level {
        self.levels().cpl()
    }

    /// Is it down (X1 is 99)?
    pub fn is_down(&self) -> bool {
        self.status.is_down()
    }

    /// Pending records.
    pub fn pending(&self) -> u32 {
        self.pending.used()
    }

    /// The highest that [`Self::pending`] has been in the last minute; what was between one and two minutes ago may
    /// count still.
    pub fn pending_peak(&self, now: Time) -> u32 {
        self.pending_peak.get(now, self.pending.used())
    }

    /// The most pending records admitted.
    pub fn pending_limit(&self) -> u32 {
        self.pending.limit()
    }

    /// messages/s at the newest sample (rule 4); 0 while down.
    pub fn rate(&self) -> f64 {
        self.throttle.rate()
    }

    /// The highest that [`Self::rate`] has been at a sample in the last minute; what was between one and two minutes ago
    /// may count still.
    pub fn rate_peak(&self, now: Time) -> f64 {
        self.rate_peak.get(now, self.rate())
    }

    // --- inside

    /// Comes up if it was down; else runs the timers.
    fn open(&mut self, now: Time) {
        if self.status.is_down() {
            self.throttle.start(now);
            self.next = Some(self.throttle.next_sample());
        } else {
            self.run_timers(now);
        }
    }

    /// Runs the timers. False on a down connection, where sockets and messages change nothing.
    fn ready(&mut self, now: Time) -> bool {
        self.run_timers(now);
        !self.status.is_down()
    }

    fn run_timers(&mut self, now: Time) {
        if self.next.is_some_and(|next| next <= now) {
            self.run_due_timers(now);
        }
    }

    #[cold]
    fn run_due_timers(&mut self, now: Time) {
        while let Some((due, timer)) = self.next_timer().filter(|&(due, _)| due <= now) {
            match timer {
                Timer::RemoteBusyAbatement => self.change(due, Cause::Abated, |c| c.remote_busy.handle_abatement(due)),
                Timer::TransportAbatement => self.change(due, Cause::Abated, |c| c.transport.handle_abatement(due)),
                Timer::Sample => {
                    let before = self.levels();
                    self.throttle.handle_sample();
                    self.rate_peak.note(due, self.rate());
                    let max_rate = self.throttle.max_rate().unwrap_or_default();
                    self.tell(before, due, Cause::Rate { rate: self.rate(), max_rate });
                }
            }
        }
        // Of the samples that nothing was sent between, the first is the highest.
        let next = self.throttle.next_sample();
        if next <= now {
            self.rate_peak.note(next, self.throttle.rate_at_next_sample());
        }
        self.throttle.catch_up(now);
        self.set_next();
    }

    /// The first timer that may change a level; at one instant in the order of the features.
    fn next_timer(&self) -> Option<(Time, Timer)> {
        if self.status.is_down() {
            return None;
        }
        let timers = [
            (self.remote_busy.poll_timeout(), Timer::RemoteBusyAbatement),
            (self.transport.poll_timeout(), Timer::TransportAbatement),
            (self.throttle.poll_timeout(), Timer::Sample),
        ];
        timers.into_iter().filter_map(|(due, timer)| due.map(|due| (due, timer))).min_by_key(|&(due, _)| due)
    }

    /// Samples are always taken before the next message is counted, so they bound what is due next.
    fn set_next(&mut self) {
        let sample = self.throttle.next_sample();
        self.next = Some(self.next_timer().map_or(sample, |(due, _)| due.min(sample)));
    }

    fn change(&mut self, at: Time, cause: Cause, change: impl FnOnce(&mut Self)) {
        let before = self.levels();
        change(self);
        self.tell(before, at, cause);
        if !self.status.is_down() {
            self.set_next();
        }
    }

    fn tell(&mut self, before: Levels, at: Time, cause: Cause) {
        let after = self.levels();
        if before != after {
            self.events.extend(changes(before, after, cause, at));
        }
    }
}

/// `p >= CPL` (rule 1); at 99 there is no connection.
fn admit(level: Level, priority: Priority) -> Result<(), Refusal> {
    if level.admits(priority) {
        Ok(())
    } else if level == Level::UNAVAILABLE {
        Err(Refusal::NoConnection)
    } else {
        Err(Refusal::Cpl(level))
    }
}
