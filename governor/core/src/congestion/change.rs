//! What happened to a connection's levels, and why.

use crate::level::{Feature, Level, Levels, Priority};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One feature's level on one connection became another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// The feature whose level changed.
    pub feature: Feature,
    /// Its level before.
    pub from: Level,
    /// Its level now.
    pub to: Level,
    /// The connection's CPL before.
    pub cpl_from: Level,
    /// The connection's CPL now.
    pub cpl_to: Level,
    /// Why.
    pub cause: Cause,
    /// When: the event's time, or the time that the timer was due.
    pub at: Time,
}

/// Why a level changed, with the figures that decided it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// The connection came up, or is no longer degraded.
    Up,
    /// The connection went down: every feature is cleared.
    Down,
    /// Set by hand or by the watchdog.
    Degraded,
    /// The peer answered a request of this priority with 3004.
    Busy {
        /// Priority of the refused request.
        priority: Priority,
    },
    /// The abatement timer ran out.
    Abated,
    /// A write failed for want of send-buffer space.
    Blocked,
    /// The socket is writable again.
    Unblocked,
    /// Occupancy of the send buffer, as measured.
    Pressure {
        /// Bytes queued.
        queued: u64,
        /// Bytes that the buffer may hold.
        limit: u64,
    },
    /// The rate against the throttle set's maximum, at a sample.
    Rate {
        /// messages/s
        rate: f64,
        /// messages/s
        max_rate: u32,
    },
    /// The settings changed.
    Reconfigured,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Up => f.write_str("up"),
            Self::Down => f.write_str("down"),
            Self::Degraded => f.write_str("degraded"),
            Self::Busy { priority } => write!(f, "peer busy for priority {priority}"),
            Self::Abated => f.write_str("abatement time over"),
            Self::Blocked => f.write_str("send buffer full"),
            Self::Unblocked => f.write_str("writable again"),
            Self::Pressure { queued, limit } => write!(f, "{queued} of {limit} bytes queued"),
            Self::Rate { rate, max_rate } => write!(f, "{rate:.1} of {max_rate} messages/s"),
            Self::Reconfigured => f.write_str("reconfigured"),
        }
    }
}

/// The changes that lead from one set of levels to another, one feature at a time.
pub(super) fn changes(from: Levels, to: Levels, cause: Cause, at: Time) -> impl Iterator<Item = LevelChange> {
    let mut now = from;
    Feature::ALL.into_iter().filter_map(move |feature| {
        let (slot, new) = match feature {
            Feature::Status => (&mut now.status, to.status),
            Feature::RemoteBusy => (&mut now.remote_busy, to.remote_busy),
            Feature::Transport => (&mut now.transport, to.transport),
            Feature::Throttle => (&mut now.throttle, to.throttle),
        };
        let old = std::mem::replace(slot, new);
        if old == new {
            return None;
        }
        let before = match feature {
            Feature::Status => Levels { status: old, ..now },
            Feature::RemoteBusy => Levels { remote_busy: old, ..now },
            Feature::Transport => Levels { transport: old, ..now },
            Feature::Throttle => Levels { throttle: old, ..now },
        };
        Some(LevelChange { feature, from: old, to: new, cpl_from: before.cpl(), cpl_to: now.cpl(), cause, at })
    })
}
