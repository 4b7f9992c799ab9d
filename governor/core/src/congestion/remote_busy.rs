//! X2, remote BUSY (rule 2): what a peer's 3004 says of it, until time takes it back.

use crate::level::{Level, Priority};
use crate::settings::{self, Usage};
use crate::time::Time;

#[derive(Clone, Debug)]
pub(super) struct RemoteBusy {
    settings: settings::RemoteBusy,
    /// 0-3.
    level: u8,
    /// Runs while the level is above 0.
    abatement: Option<Time>,
}

impl RemoteBusy {
    pub(super) const fn new(settings: settings::RemoteBusy) -> Self {
        Self { settings, level: 0, abatement: None }
    }

    pub(super) const fn level(&self) -> Level {
        Level::step(self.level)
    }

    pub(super) const fn poll_timeout(&self) -> Option<Time> {
        self.abatement
    }

    /// Does a request whose Destination-Host is this peer ignore X2?
    pub(super) fn is_overridden_by_host(&self) -> bool {
        self.settings.usage == Usage::HostOverride
    }

    /// A new abatement counts from the next step on; the timer that runs is left to run.
    pub(super) fn reconfigure(&mut self, settings: settings::RemoteBusy) {
        self.settings = settings;
        if settings.usage == Usage::Off {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.level = 0;
        self.abatement = None;
    }

    /// The peer refused a request of this priority.
    pub(super) fn handle_busy(&mut self, now: Time, priority: Priority) {
        let x = priority.number();
        // ## CL-0 => CL-0               usage off
        if self.settings.usage == Usage::Off {
            return;
        }
        // ## CL-n => CL-n, n > x        nothing changes, and the timer runs on
        if self.level > x {
            return;
        }
        // ## CL-n => CL-(x+1), n <= x   a request of priority x was refused; abatement starts again
        self.level = Level::step(x + 1).number();
        self.abatement = Some(now + self.settings.abatement);
    }

    /// The abatement timer ran out at `due`.
    pub(super) fn handle_abatement(&mut self, due: Time) {
        // ## CL-n => CL-(n-1), n > 1        the timer starts again
        // ## CL-1 => CL-0
        self.level = self.level.saturating_sub(1);
        self.abatement = (self.level > 0).then(|| due + self.settings.abatement);
    }
}
