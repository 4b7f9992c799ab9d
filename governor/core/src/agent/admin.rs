//! What an operator does to a running agent: connections out of service and back, levels set by hand, a drain before the end.

use super::{Agent, Event};
use crate::level::Level;
use crate::peer::{DisconnectCause, watchdog};
use crate::settings::ConnectionIndex;
use crate::time::Time;
use std::time::Duration;

/// Whether the operator wants a slot in service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admin {
    /// In service.
    #[default]
    Enabled,
    /// It takes no new requests; when none is pending, or at this time, it is closed with a DPR.
    Draining {
        /// The latest time.
        until: Time,
    },
    /// Out of service: neither opened nor accepted.
    Disabled,
}

/// How many connections begin in one [`START_STEP`]: thousands at once would outlast their own time to connect.
const START_TOGETHER: usize = 50;
/// The time between one lot and the next.
const START_STEP: Duration = Duration::from_millis(100);

/// Gives each of many slots its turn to begin connecting.
#[derive(Debug)]
pub(super) struct Turns {
    now: Time,
    count: usize,
}

// === impl Turns ===

impl Turns {
    pub const fn new(now: Time) -> Self {
        Self { now, count: 0 }
    }

    /// The next one's time.
    pub fn next(&mut self) -> Time {
        let lot = u32::try_from(self.count / START_TOGETHER).unwrap_or(u32::MAX);
        self.count += 1;
        self.now + START_STEP.saturating_mul(lot)
    }
}

// === impl Admin ===

impl Admin {
    /// As status and events spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Draining { .. } => "draining",
            Self::Disabled => "disabled",
        }
    }
}

// === impl Agent ===

impl Agent {
    /// Takes a connection out of service: no new requests from now on; once its pending ones have ended, at the latest
    /// after `answer_timeout`, a DPR, and no connection until [`Agent::handle_enable`].
    pub fn handle_disable(&mut self, now: Time, connection: ConnectionIndex) {
        let until = now + self.settings.node.answer_timeout;
        if let Some(slot) = self.slots.get_mut(connection.get())
            && slot.admin == Admin::Enabled
        {
            self.set_admin(connection, Admin::Draining { until });
            self.touch(connection);
            self.settle(now);
        }
    }

    /// Puts a connection back into service.
    pub fn handle_enable(&mut self, now: Time, connection: ConnectionIndex) {
        if let Some(slot) = self.slots.get_mut(connection.get())
            && slot.admin != Admin::Enabled
        {
            slot.start_at = Some(now);
            self.set_admin(connection, Admin::Enabled);
            self.touch(connection);
            self.settle(now);
        }
    }

    /// Sets a connection's X1 by hand (1 to 3 or 98, for maintenance), or with `None` leaves it to what is measured.
    /// It holds until it is taken back, over closes and openings too; any other level counts as `None`.
    pub fn handle_manual_level(&mut self, now: Time, connection: ConnectionIndex, level: Option<Level>) {
        let level = level.filter(|level| !matches!(*level, Level::CL0 | Level::UNAVAILABLE));
        if let Some(slot) = self.slots.get_mut(connection.get()) {
            slot.manual = level;
            if !slot.congestion.is_down() {
                self.set_status(now, connection);
            }
            self.settle(now);
        }
    }

    /// Lets no new request in or out, so that what is pending can end: the first half of a graceful end.
    pub fn handle_drain(&mut self, now: Time) {
        let until = now + self.settings.node.answer_timeout;
        self.ending = true;
        for at in 0..self.slots.len() {
            if self.slots[at].admin == Admin::Enabled {
                self.slots[at].admin = Admin::Draining { until };
            }
            self.touch(self.slots[at].index);
        }
        self.settle(now);
    }

    /// X1 of a slot that is not down: the worst of what the watchdog and the operator say (rule 12).
    pub(super) fn set_status(&mut self, now: Time, connection: ConnectionIndex) {
        let slot = &mut self.slots[connection.get()];
        let watchdog = match slot.machine.watchdog() {
            watchdog::Status::Suspect => Level::CL98,
            // Back after a failure, and not yet trusted with requests (RFC 3539): answers already flow.
            watchdog::Status::Reopen => Level::CL3,
            _ => Level::CL0,
        };
        // Level 0 is "up" to the congestion core.
        slot.congestion.handle_degraded(now, watchdog.max(slot.manual.unwrap_or_default()));
        self.touch(connection);
    }

    /// A slot whose turn has come begins to connect; a draining one whose time has come says goodbye.
    pub(super) fn settle_admin(&mut self, now: Time, connection: ConnectionIndex) {
        let slot = &mut self.slots[connection.get()];
        if slot.start_at.is_some_and(|at| at <= now) {
            slot.start_at = None;
            slot.machine.handle_start(now);
        }
        let Admin::Draining { until } = slot.admin else { return };
        if (slot.congestion.pending() > 0 || slot.awaited > 0) && now < until {
            return;
        }
        slot.start_at = None;
        self.set_admin(connection, Admin::Disabled);
        // A peer that is told DO_NOT_WANT_TO_TALK_TO_YOU stays away for long; one that connects to us has to come back
        // by itself when the slot is enabled again. So has one that is to find us after our own restart.
        let initiate = !self.ending && self.settings.connections.get(connection.get()).is_some_and(|c| c.initiate);
        let cause = if initiate { DisconnectCause::DoNotWantToTalkToYou } else { DisconnectCause::Rebooting };
        self.slots[connection.get()].machine.handle_stop(now, cause);
    }

    fn set_admin(&mut self, connection: ConnectionIndex, admin: Admin) {
        self.slots[connection.get()].admin = admin;
        self.events.push_back(Event::Admin(connection, admin));
    }
}
