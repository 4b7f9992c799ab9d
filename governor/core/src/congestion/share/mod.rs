//! A group that several agents share (rule 6): which part of the maxima is this agent's, at any time.
//!
//! No request waits for another agent. Each agent has a *part* of each maximum, and holds its requests to it as one agent
//! alone holds them to the maximum. Each interval it makes a report to a store that all of them reach (the shell's affair:
//! [`Share::report`], [`Share::handle_grant`]), and the store answers with the part that is its own from then on:
//!
//! - The store never lets the parts add up to more than the maximum. A part that becomes smaller is made smaller by the
//!   agent first and then reported, and what requests of the last second and pending records occupy of the former part
//!   counts as held until they are gone: in no second do all agents together send more than the maximum.
//! - How the parts are shared out is reckoned by each agent from everybody's demand (`fair_part`).
//! - A part is a lease. It ends five intervals after the report that it answers was made, counted on the agent's own clock;
//!   the store's own count of it starts later and is as long. A report says how long ago the last one was made whose answer
//!   came, so that the store knows of an agent that tells without hearing; one that is very late counts for nothing.
//!
//! | state | part |
//! |---|---|
//! | joining: no answer since the start | nothing |
//! | shared: the lease runs | what the store granted |
//! | away: the lease has ended | the smaller of what was granted and the fallback part |
//! | away for longer than [`settings::Share::settle`]; or joining for that long | the fallback part |
//!
//! The fallback part is the agent's equal part, by the number of the members it knows and no fewer than are configured. It is
//! granted by the store as well, so that these too never add up to more than the whole, even if the store dies while a
//! member joins. The pause before it is taken whole is what the others need to come down from more than theirs: those that
//! still reach the store make room for a member that is missing.
//!
//! The group's level goes by the sums over all members, each agent adding what it knows of the others to its own; as that is
//! an interval old, the level that counts is the highest that any member has found. An agent away goes by its own figures
//! against its own part.
//!
//! Back from a death, the store may have lost what it knew. It then grants nobody more than it holds for a while, until
//! every agent has reported again.

mod message;
mod part;

pub use message::{Grant, Report, Sums};

use super::rate::{DEFAULT_CONVERGENCE, Rate};
use crate::level::Level;
use crate::settings;
use crate::time::Time;
use part::fair_part;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

const WHOLE: u32 = 1_000_000;

/// Where an agent stands with the store of a shared group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareState {
    /// No answer has come since the start.
    Joining,
    /// The sums are shared.
    Shared,
    /// The store cannot be reached: each agent keeps to its equal part.
    Away,
}

/// An agent's standing with the store became another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareChange {
    /// The state before.
    pub from: ShareState,
    /// The state now.
    pub to: ShareState,
    /// Our part now.
    pub part: Sums,
    /// The agents that share the group, as far as is known.
    pub members: u32,
    /// When.
    pub at: Time,
}

/// One group's part.
#[derive(Clone, Debug)]
pub struct Share {
    settings: settings::Share,
    /// The maxima as configured; 0: none.
    configured: Sums,
    /// The least of all members'.
    max: Sums,
    state: ShareState,
    part: Sums,
    /// Millionths; `None`: never told.
    fallback: Option<u32>,
    /// When the report was made that the lease comes from; while joining, the start.
    since: Time,
    number: u64,
    /// When the report was made whose answer is awaited.
    awaited: Option<Time>,
    /// When the last answer came.
    received: Time,
    /// As reported last.
    demand: Sums,
    /// What the last answer said.
    last: Grant,
    /// Requests that wanted out, those held back too.
    offered: Rate,
    /// Requests held back for want of pending records, since the last report.
    refused_pending: u32,
}

// === impl ShareState ===

impl fmt::Display for ShareState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Joining => "joining",
            Self::Shared => "shared",
            Self::Away => "away",
        })
    }
}

// === impl Share ===

impl Share {
    /// An agent that has not reported yet.
    pub(super) fn new(now: Time, settings: settings::Share, max: Sums) -> Self {
        Self {
            settings,
            configured: max,
            max,
            state: ShareState::Joining,
            part: Sums::default(),
            fallback: None,
            since: now,
            number: 0,
            awaited: None,
            received: now,
            demand: Sums::default(),
            last: Grant::default(),
            offered: Rate::new(now, DEFAULT_CONVERGENCE),
            refused_pending: 0,
        }
    }

    /// Other settings: the standing is kept, and the part as far as the maxima allow.
    pub(super) fn reconfigure(&mut self, settings: settings::Share, max: Sums) {
        // A sum that had no maximum has had no part of it either: the next answer brings one.
        self.settings = settings;
        self.configured = max;
        self.max = max;
        self.part = self.part.min(max);
    }

    /// A request went out or was held back.
    pub(super) fn count_offered(&mut self, now: Time, for_pending: bool) {
        self.offered.catch_up(now);
        self.offered.count();
        self.refused_pending = self.refused_pending.saturating_add(u32::from(for_pending));
    }

    /// When the part changes by time alone.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.state {
            // ## shared => away             the lease has ended
            ShareState::Shared => Some(self.since + self.settings.lease()),
            ShareState::Away if self.part == self.fallback_part() => None,
            // ## joining => away            no answer for the settling time
            // ## away => away               the settling time is over: the whole fallback part
            ShareState::Joining | ShareState::Away => Some(self.since + self.settings.settle()),
        }
    }

    /// Brings the part up to `now`; true if anything changed.
    pub(super) fn handle_timeout(&mut self, now: Time) -> bool {
        if self.deadline().is_none_or(|due| due > now) {
            return false;
        }
        let settled = self.since + self.settings.settle() <= now;
        self.state = ShareState::Away;
        self.part = if settled { self.fallback_part() } else { self.part.min(self.fallback_part()) };
        true
    }

    /// What to tell the store now. `used` is what was sent in the last second, and the pending records; `level` the group's
    /// by what this agent knows.
    pub(super) fn report(&mut self, now: Time, used: Sums, level: Level) -> Report {
        self.offered.catch_up(now);
        self.number += 1;
        self.awaited = Some(now);
        let refused = std::mem::take(&mut self.refused_pending);
        // The last half second twice, where that is more: a rising demand is seen before it has filled a second.
        let rate = self.offered.in_window().max(self.offered.in_last(5).saturating_mul(2));
        let demand = Sums { rate, pending: used.pending.saturating_add(refused) };
        // A sixteenth more than was asked for: who has just what it asks for holds back every small burst.
        let demand = demand.each(self.configured, |demand, max| demand.saturating_add(demand / 16 + 1).min(max));
        self.demand = demand;
        let want = match self.state {
            ShareState::Joining => self.configured,
            ShareState::Shared => self.target(),
            ShareState::Away => self.part,
        };
        if self.state == ShareState::Shared && self.last.settled {
            self.part = self.part.min(want);
        }
        Report {
            number: self.number,
            made: self.store_time(now),
            age: millis(now - self.since),
            max: self.configured,
            held: self.part.max(used.min(self.configured)),
            want,
            demand,
            used,
            level: level.number(),
            fallback: self.fallback,
            agents: self.settings.agents,
        }
    }

    /// The store's answer to the report made at `reported`; true if it counts. It does not if its lease is over, nor if a
    /// later report has told the store already that less is held.
    pub(super) fn handle_grant(&mut self, now: Time, reported: Time, grant: Grant) -> bool {
        if self.awaited != Some(reported) || reported + self.settings.lease() <= now {
            return false;
        }
        self.awaited = None;
        self.received = now;
        self.last = grant;
        self.max = self.configured.each(self.last.max, |own, least| if least == 0 { own } else { own.min(least) });
        self.state = ShareState::Shared;
        self.since = reported;
        self.part = self.last.part.min(self.configured);
        if self.last.settled {
            self.part = self.part.min(self.target());
        }
        if self.last.settled || self.fallback.is_some() {
            self.fallback = Some(self.last.fallback.min(self.equal_part()));
        }
        true
    }

    /// Where it stands.
    pub const fn state(&self) -> ShareState {
        self.state
    }

    /// This agent's part; 0 where there is no maximum.
    pub const fn part(&self) -> Sums {
        self.part
    }

    /// The agents that share the group, this one and those not heard of lately included, as far as is known.
    pub fn members(&self) -> u32 {
        u32::try_from(self.last.demands.len()).unwrap_or(u32::MAX).saturating_add(1).saturating_add(self.last.missing)
    }

    /// Of these, how many were not heard of lately.
    pub const fn missing(&self) -> u32 {
        self.last.missing
    }

    /// What the other members have used; nothing is known of it while they are away.
    pub fn others(&self) -> Sums {
        if self.state == ShareState::Shared { self.last.used } else { Sums::default() }
    }

    /// The highest level that another member has found; 0 while they are away.
    pub fn others_level(&self) -> Level {
        if self.state == ShareState::Shared { Level::step(self.last.level.min(3)) } else { Level::CL0 }
    }

    /// When the report was made that was answered last; `None`: none was.
    pub fn last_answer(&self) -> Option<Time> {
        (self.state == ShareState::Shared || self.last != Grant::default()).then_some(self.since)
    }

    /// The sum over all members that stands for `own`, for levels. While the others are not known, own figures are to the
    /// maximum what they are to our part.
    pub(super) fn whole(&self, own: u32, others: u32, part: u32, max: u32) -> u32 {
        match self.state {
            ShareState::Shared => own.saturating_add(others),
            ShareState::Joining | ShareState::Away => {
                u32::try_from(u64::from(own) * u64::from(max) / u64::from(part.max(1))).unwrap_or(u32::MAX)
            }
        }
    }

    /// The store's time, no later than it is; 0: not known. After a long while it may have another clock.
    fn store_time(&self, now: Time) -> u64 {
        let known = self.last.at > 0 && now - self.since < self.settings.settle();
        if known { self.last.at.saturating_add(millis(now - self.received)) } else { 0 }
    }

    /// The fair part by what was told last.
    fn target(&self) -> Sums {
        let part = |max: u32, reserved: u32, own: u32, of: fn(&Sums) -> u32| {
            fair_part(max.saturating_sub(reserved), own, self.last.demands.iter().map(of))
        };
        let (reserved, demand) = (self.last.reserved, self.demand);
        Sums {
            rate: part(self.max.rate, reserved.rate, demand.rate, |sums| sums.rate),
            pending: part(self.max.pending, reserved.pending, demand.pending, |sums| sums.pending),
        }
    }

    fn fallback_part(&self) -> Sums {
        self.max.millionths(self.fallback.unwrap_or(self.equal_part()))
    }

    /// In millionths.
    fn equal_part(&self) -> u32 {
        WHOLE / self.members().max(self.settings.agents).max(1)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
