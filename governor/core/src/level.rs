//! Congestion levels and message priorities (rules 1 and 7).

use serde::{Deserialize, Serialize};
use std::fmt;

/// A congestion level: 0, 1, 2, 3, 98 (blocked) or 99 (unavailable). Rule 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Level(u8);

impl Level {
    /// Every level, rising.
    pub const ALL: [Self; 6] = [Self::CL0, Self::CL1, Self::CL2, Self::CL3, Self::CL98, Self::UNAVAILABLE];
    /// Nothing is held back.
    pub const CL0: Self = Self(0);
    /// Requests of priority 0 are held back.
    pub const CL1: Self = Self(1);
    /// Requests of priority 0 and 1 are held back.
    pub const CL2: Self = Self(2);
    /// Every request is held back; answers leave.
    pub const CL3: Self = Self(3);
    /// Nothing leaves: the connection is up and cannot take a message.
    pub const CL98: Self = Self(98);
    /// Nothing leaves: the connection is down.
    pub const UNAVAILABLE: Self = Self(99);

    /// The level of that number; `None` unless it is 0, 1, 2, 3, 98 or 99.
    pub const fn new(number: u8) -> Option<Self> {
        match number {
            0..=3 | 98 | 99 => Some(Self(number)),
            _ => None,
        }
    }

    /// The step level `n`, capped at 3: what a feature with steps (rules 2 to 4) can set.
    pub const fn step(n: u8) -> Self {
        if n > 3 { Self(3) } else { Self(n) }
    }

    /// The level's number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its place in [`Level::ALL`].
    pub const fn index(self) -> usize {
        match self.0 {
            98 => 4,
            99 => 5,
            step => step as usize,
        }
    }

    /// May a message of this priority leave on a connection at this level? `p >= CPL` (rule 1).
    pub const fn admits(self, priority: Priority) -> bool {
        priority.number() >= self.0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<Level> for u8 {
    fn from(level: Level) -> Self {
        level.0
    }
}

impl TryFrom<u8> for Level {
    type Error = &'static str;
    fn try_from(number: u8) -> Result<Self, Self::Error> {
        Self::new(number).ok_or("a level is 0, 1, 2, 3, 98 or 99")
    }
}

/// The priority of a message: 0 (lowest) to 2 for requests, 3 for every answer (rule 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// The lowest, and the default of a request.
    pub const P0: Self = Self(0);
    /// The middle one.
    pub const P1: Self = Self(1);
    /// The highest of a request.
    pub const P2: Self = Self(2);
    /// Every answer's.
    pub const ANSWER: Self = Self(3);

    /// A request's priority of that number; `None` unless it is 0, 1 or 2.
    pub const fn request(number: u8) -> Option<Self> {
        match number {
            0..=2 => Some(Self(number)),
            _ => None,
        }
    }

    /// The priority's number, 0 to 3.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

impl TryFrom<u8> for Priority {
    type Error = &'static str;
    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            0..=3 => Ok(Self(number)),
            _ => Err("a priority is 0, 1, 2 or 3"),
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What each of the four inputs says of one connection, and their maximum (design: the rule that everything serves).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// X1, operational status: 0 up, 1-3 or 98 degraded, 99 down.
    pub status: Level,
    /// X2, remote BUSY: 0-3.
    pub remote_busy: Level,
    /// X3, egress transport: 0-3, 98.
    pub transport: Level,
    /// X98, egress message throttling: 0-3.
    pub throttle: Level,
}

impl Levels {
    /// A feature's level.
    pub const fn of(self, feature: Feature) -> Level {
        match feature {
            Feature::Status => self.status,
            Feature::RemoteBusy => self.remote_busy,
            Feature::Transport => self.transport,
            Feature::Throttle => self.throttle,
        }
    }

    /// `CPL = max(X1, X2, X3, X98)`.
    pub fn cpl(self) -> Level {
        self.status.max(self.remote_busy).max(self.transport).max(self.throttle)
    }

    /// The level that counts for a request that ignores remote BUSY (rule 2, host override).
    pub fn cpl_without_remote_busy(self) -> Level {
        self.status.max(self.transport).max(self.throttle)
    }
}

/// One of the four inputs of the CPL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// X1
    Status,
    /// X2
    RemoteBusy,
    /// X3
    Transport,
    /// X98
    Throttle,
}

impl Feature {
    /// Every feature, in the order of the formula.
    pub const ALL: [Self; 4] = [Self::Status, Self::RemoteBusy, Self::Transport, Self::Throttle];

    /// Its place in [`Feature::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name as status, events and metrics spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::RemoteBusy => "remote_busy",
            Self::Transport => "transport",
            Self::Throttle => "throttle",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
