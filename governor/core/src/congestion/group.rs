//! Egress throttle groups (rule 6), within one agent: a rate of requests and a count of pending records
//! that several connections share.

use super::peak::Peak;
use super::pending::Pending;
use super::rate::Rate;
use super::steps::Steps;
use super::window::Window;
use crate::level::{Level, Priority};
use crate::refusal::Refusal;
use crate::settings::{self, GroupMode};
use crate::time::Time;
use std::collections::VecDeque;

/// One group's shared rate, pending records and level.
///
/// Both figures are sampled each 100 ms from the group's making on. It holds back requests alone: answers are neither
/// counted nor refused.
#[derive(Clone, Debug)]
pub struct Group {
    rate: Rate,
    /// The hard limit of the rate; `None`: no maximum.
    window: Option<Window>,
    pending: Pending,
    rate_peak: Peak<f64>,
    pending_peak: Peak<u32>,
    /// `None`: no maximum of the rate, or no levels.
    rate_steps: Option<Steps>,
    /// `None`: no maximum of the pending records, or no levels.
    pending_steps: Option<Steps>,
    counters: GroupCounters,
    events: VecDeque<GroupChange>,
}

/// Counts of one group; they only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// Requests sent to a member; one that is sent again counts again.
    pub requests: u64,
    /// Requests for which a member was passed over, by priority 0 to 2.
    pub held_back: [u64; 3],
    /// Onsets of level 1 to 3 by the rate.
    pub rate_onsets: [u64; 3],
    /// Onsets of level 1 to 3 by the pending records.
    pub pending_onsets: [u64; 3],
}

/// A group's level became another, with the figures that decided it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupChange {
    /// The level before.
    pub from: Level,
    /// The level now.
    pub to: Level,
    /// requests/s
    pub rate: f64,
    /// Pending records.
    pub pending: u32,
    /// The sample's time.
    pub at: Time,
}

// === impl Group ===

impl Group {
    /// A group without traffic; its samples stand at `now + k * 100 ms`.
    pub fn new(now: Time, settings: &settings::Group) -> Self {
        Self {
            rate: Rate::new(now, settings.convergence),
            window: settings.max_rate.map(Window::new),
            pending: Pending::new(settings.max_pending.unwrap_or(u32::MAX)),
            rate_peak: Peak::default(),
            pending_peak: Peak::default(),
            rate_steps: rate_steps(settings),
            pending_steps: pending_steps(settings),
            counters: GroupCounters::default(),
            events: VecDeque::new(),
        }
    }

    /// Other settings for a group in service. The figures are kept, and a level that the new settings have.
    pub fn reconfigure(&mut self, now: Time, settings: &settings::Group) {
        self.handle_timeout(now);
        let keep = |before: &Option<Steps>, mut after: Option<Steps>| {
            if let (Some(before), Some(after)) = (before, &mut after) {
                after.keep_level(before);
            }
            after
        };
        let from = self.level();
        self.rate.set_convergence(settings.convergence);
        self.rate_steps = keep(&self.rate_steps, rate_steps(settings));
        self.pending_steps = keep(&self.pending_steps, pending_steps(settings));
        self.pending.set_limit(settings.max_pending.unwrap_or(u32::MAX));
        self.window = settings.max_rate.map(|max| {
            let mut window = self.window.take().unwrap_or(Window::new(max));
            window.set_limit(max);
            window
        });
        self.tell(from, now);
    }

    /// May a request of this priority go to a member? [`Refusal::Group`] if not.
    pub fn admit(&mut self, now: Time, priority: Priority) -> Result<(), Refusal> {
        self.handle_timeout(now);
        let held_back = !self.level().admits(priority)
            || self.pending.admit().is_err()
            || self.window.as_ref().is_some_and(|window| window.is_full(now));
        if !held_back {
            return Ok(());
        }
        if let Some(count) = self.counters.held_back.get_mut(usize::from(priority.number())) {
            *count += 1;
        }
        Err(Refusal::Group)
    }

    /// A request is on its way to a member.
    pub fn handle_request_sent(&mut self, now: Time) {
        self.handle_timeout(now);
        self.rate.count();
        self.pending.take();
        self.pending_peak.note(now, self.pending.used());
        self.counters.requests += 1;
        if let Some(window) = &mut self.window {
            window.count(now);
        }
    }

    /// One pending record of a member is gone: answered, timed out, sent elsewhere.
    pub fn handle_released(&mut self, now: Time) {
        self.handle_released_many(now, 1);
    }

    /// `count` pending records of a member are gone: its connection went down.
    pub fn handle_released_many(&mut self, now: Time, count: u32) {
        self.handle_timeout(now);
        self.pending.release_many(count);
    }

    /// Its members have so many pending records: they are other members now.
    pub const fn set_pending(&mut self, count: u32) {
        self.pending.set_used(count);
    }

    /// When [`Self::handle_timeout`] is due for the level to change. `None`: it does not change by time alone.
    pub fn poll_timeout(&self) -> Option<Time> {
        let rate = self.rate_steps.as_ref().is_none_or(|steps| steps.is_settled(self.rate.in_next_window(), true));
        let pending = self.pending_steps.as_ref().is_none_or(|steps| steps.is_settled(self.pending.used(), false));
        (!rate || !pending).then(|| self.rate.next_sample())
    }

    /// Takes the samples due at or before `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.rate.next_sample() > now {
            return;
        }
        while let Some(due) = self.poll_timeout().filter(|&due| due <= now) {
            let from = self.level();
            self.rate.sample();
            self.rate_peak.note(due, self.rate.per_second());
            if let Some(steps) = &mut self.rate_steps {
                let from = steps.level();
                steps.handle_sample(due, self.rate.in_window());
                count_onset(&mut self.counters.rate_onsets, from, steps.level());
            }
            if let Some(steps) = &mut self.pending_steps {
                let from = steps.level();
                steps.handle_sample(due, self.pending.used());
                count_onset(&mut self.counters.pending_onsets, from, steps.level());
            }
            self.tell(from, due);
        }
        // Of the samples that nothing was sent between, the first is the highest.
        let next = self.rate.next_sample();
        if next <= now {
            self.rate_peak.note(next, self.rate.next_per_second());
        }
        self.rate.catch_up(now);
    }

    /// What changed, oldest first.
    pub fn poll_event(&mut self) -> Option<GroupChange> {
        self.events.pop_front()
    }

    /// What was counted.
    pub const fn counters(&self) -> &GroupCounters {
        &self.counters
    }

    /// The higher of the two levels, 0-3.
    pub fn level(&self) -> Level {
        let level = |steps: &Option<Steps>| steps.as_ref().map_or(Level::CL0, Steps::level);
        level(&self.rate_steps).max(level(&self.pending_steps))
    }

    /// requests/s at the newest sample.
    pub fn rate(&self) -> f64 {
        self.rate.per_second()
    }

    /// The highest that [`Self::rate`] has been at a sample in the last minute; what was between one and two minutes ago
    /// may count still.
    pub fn rate_peak(&self, now: Time) -> f64 {
        self.rate_peak.get(now, self.rate())
    }

    /// The highest that [`Self::pending`] has been in the last minute; what was between one and two minutes ago may
    /// count still.
    pub fn pending_peak(&self, now: Time) -> u32 {
        self.pending_peak.get(now, self.pending())
    }

    /// Pending records of all members.
    pub fn pending(&self) -> u32 {
        self.pending.used()
    }

    fn tell(&mut self, from: Level, at: Time) {
        let to = self.level();
        if from != to {
            self.events.push_back(GroupChange { from, to, rate: self.rate(), pending: self.pending(), at });
        }
    }
}

fn count_onset(onsets: &mut [u64; 3], from: Level, to: Level) {
    if to > from
        && let Some(count) = onsets.get_mut(usize::from(to.number()) - 1)
    {
        *count += 1;
    }
}

fn rate_steps(settings: &settings::Group) -> Option<Steps> {
    let max = settings.max_rate?;
    steps(settings, |percent| Rate::window_share(max, percent, settings.convergence))
}

fn pending_steps(settings: &settings::Group) -> Option<Steps> {
    let max = settings.max_pending?;
    steps(settings, |percent| (u128::from(max) * u128::from(percent), 100))
}

fn steps(settings: &settings::Group, share: impl Fn(u8) -> (u128, u128)) -> Option<Steps> {
    match settings.mode {
        GroupMode::Threshold => Some(Steps::new(&settings.thresholds, settings.abatement_time, share)),
        GroupMode::Limit => None,
    }
}
