//! X3, egress transport congestion (rule 3): a full send buffer, its abatement, and early levels from occupancy.

use crate::level::Level;
use crate::settings;
use crate::time::Time;

#[derive(Clone, Debug)]
pub(super) struct Transport {
    settings: settings::Transport,
    blocked: bool,
    /// 0-3: the way down after blocking.
    step: u8,
    /// Runs while the step level is above 0.
    abatement: Option<Time>,
    /// 0-3: from occupancy.
    pressure: u8,
}

impl Transport {
    pub(super) const fn new(settings: settings::Transport) -> Self {
        Self { settings, blocked: false, step: 0, abatement: None, pressure: 0 }
    }

    /// 98 while blocked, else the higher of the step level and the pressure level.
    pub(super) fn level(&self) -> Level {
        if self.blocked { Level::CL98 } else { Level::step(self.step.max(self.pressure)) }
    }

    pub(super) const fn poll_timeout(&self) -> Option<Time> {
        self.abatement
    }

    /// A new abatement counts from the next step on, new pressure thresholds from the next reading on.
    pub(super) fn reconfigure(&mut self, settings: settings::Transport) {
        self.settings = settings;
        if settings.pressure.is_none() {
            self.pressure = 0;
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.settings);
    }

    /// A write failed for want of send-buffer space.
    pub(super) fn handle_blocked(&mut self) {
        // ## CL-0 | CL-1 | CL-2 | CL-3 | CL-98 => CL-98     at once, and abatement stops
        self.blocked = true;
        self.step = 0;
        self.abatement = None;
    }

    /// The socket is writable again.
    pub(super) fn handle_unblocked(&mut self, now: Time) {
        // ## CL-0 | CL-1 | CL-2 | CL-3 => the same          it was not blocked: nothing abates
        if !self.blocked {
            return;
        }
        // ## CL-98 => CL-3                                  at once, and abatement starts
        self.blocked = false;
        self.step = 3;
        self.abatement = Some(now + self.settings.abatement);
    }

    /// The abatement timer ran out at `due`.
    pub(super) fn handle_abatement(&mut self, due: Time) {
        // ## CL-3 => CL-2, CL-2 => CL-1                     the timer starts again
        // ## CL-1 => CL-0
        self.step = self.step.saturating_sub(1);
        self.abatement = (self.step > 0).then(|| due + self.settings.abatement);
    }

    /// The send buffer holds `queued` of at most `limit` bytes. A reading without a limit says nothing.
    pub(super) fn handle_pressure(&mut self, queued: u64, limit: u64) {
        let Some(thresholds) = self.settings.pressure else { return };
        if limit == 0 {
            return;
        }
        let reaches = |percent: u8| u128::from(queued) * 100 >= u128::from(limit) * u128::from(percent);
        // ## CL-n => CL-m, m > n            at or above onset m: at once, however many steps
        for (m, &onset) in (1..=3).zip(&thresholds.onset) {
            if reaches(onset) {
                self.pressure = self.pressure.max(m);
            }
        }
        // ## CL-n => CL-(n-1), n > 0        below abatement n: at once, repeatedly, no timer
        for (n, &abatement) in (1..=3).zip(&thresholds.abatement).rev() {
            if self.pressure == n && !reaches(abatement) {
                self.pressure = n - 1;
            }
        }
    }
}
