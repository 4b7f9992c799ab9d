//! Egress throttle groups (rule 6): a rate of requests and a count of pending records that several connections share, and,
//! where the group has a [`Share`], several agents.

use super::peak::Peak;
use super::pending::Pending;
use super::rate::Rate;
use super::share::{Grant, Report, Share, ShareChange, Sums};
use super::steps::Steps;
use super::window::Window;
use crate::level::{Level, Priority};
use crate::refusal::Refusal;
use crate::settings::{self, GroupMode};
use crate::time::Time;
use std::collections::VecDeque;
use std::time::Duration;

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
    /// The maxima as configured; 0: none.
    max: Sums,
    convergence: Duration,
    /// Our part of the maxima; `None`: they are this agent's alone.
    share: Option<Box<Share>>,
    counters: GroupCounters,
    events: VecDeque<GroupChange>,
    share_events: VecDeque<ShareChange>,
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
        let max = maxima(settings);
        let mut group = Self {
            rate: Rate::new(now, settings.convergence),
            window: settings.max_rate.map(Window::new),
            pending: Pending::new(settings.max_pending.unwrap_or(u32::MAX)),
            max,
            convergence: settings.convergence,
            share: settings.share.map(|share| Box::new(Share::new(now, share, max))),
            rate_peak: Peak::default(),
            pending_peak: Peak::default(),
            rate_steps: rate_steps(settings),
            pending_steps: pending_steps(settings),
            counters: GroupCounters::default(),
            events: VecDeque::new(),
            share_events: VecDeque::new(),
        };
        group.apply_part();
        group
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
            window.keep(max);
            window.set_limit(max);
            window
        });
        (self.max, self.convergence) = (maxima(settings), settings.convergence);
        self.share = settings.share.map(|configured| match self.share.take() {
            Some(mut share) => {
                share.reconfigure(configured, self.max);
                share
            }
            None => Box::new(Share::new(now, configured, self.max)),
        });
        self.apply_part();
        self.tell(from, now);
    }

    /// May a request of this priority go to a member? [`Refusal::Group`] if not.
    pub fn admit(&mut self, now: Time, priority: Priority) -> Result<(), Refusal> {
        self.handle_timeout(now);
        let for_pending = self.pending.admit().is_err();
        let held_back = for_pending
            || !self.level().admits(priority)
            || self.window.as_ref().is_some_and(|window| window.is_full(now));
        if !held_back {
            return Ok(());
        }
        if let Some(share) = &mut self.share {
            share.count_offered(now, for_pending);
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
        if let Some(share) = &mut self.share {
            share.count_offered(now, false);
        }
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

    /// What to tell the store of a shared group now; `None`: the group is this agent's alone.
    pub fn share_report(&mut self, now: Time) -> Option<Report> {
        self.handle_timeout(now);
        let used = Sums {
            rate: self.window.as_ref().map_or(0, |window| window.sent(now)),
            pending: if self.max.pending == 0 { 0 } else { self.pending.used() },
        };
        let level = self.own_level();
        let report = self.share.as_mut()?.report(now, used, level);
        self.apply_part();
        Some(report)
    }

    /// The store's answer to the report made at `reported`.
    pub fn handle_share(&mut self, now: Time, reported: Time, grant: Grant) {
        self.handle_timeout(now);
        self.with_share(now, |share| share.handle_grant(now, reported, grant));
    }

    /// When [`Self::handle_timeout`] is due for the level or the part to change. `None`: they do not change by time alone.
    pub fn poll_timeout(&self) -> Option<Time> {
        let share = self.share.as_ref().and_then(|share| share.deadline());
        [self.next_step(), share].into_iter().flatten().min()
    }

    /// The next sample, if it may change the level.
    fn next_step(&self) -> Option<Time> {
        let rate = self.rate_figure(self.rate.in_next_window());
        let rate = self.rate_steps.as_ref().is_none_or(|steps| steps.is_settled(rate, true));
        let pending = self.pending_figure();
        let pending = self.pending_steps.as_ref().is_none_or(|steps| steps.is_settled(pending, false));
        (!rate || !pending).then(|| self.rate.next_sample())
    }

    /// Takes the samples due at or before `now`, and ends our part if its time is over.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(due) = self.share.as_ref().and_then(|share| share.deadline()).filter(|&due| due <= now) {
            self.take_samples(due);
            self.with_share(due, |share| share.handle_timeout(due));
        }
        self.take_samples(now);
    }

    fn take_samples(&mut self, now: Time) {
        if self.rate.next_sample() > now {
            return;
        }
        while let Some(due) = self.next_step().filter(|&due| due <= now) {
            let from = self.level();
            self.rate.sample();
            self.rate_peak.note(due, self.rate.per_second());
            let (rate, pending) = (self.rate_figure(self.rate.in_window()), self.pending_figure());
            if let Some(steps) = &mut self.rate_steps {
                let from = steps.level();
                steps.handle_sample(due, rate);
                count_onset(&mut self.counters.rate_onsets, from, steps.level());
            }
            if let Some(steps) = &mut self.pending_steps {
                let from = steps.level();
                steps.handle_sample(due, pending);
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

    /// The requests in a window that count for the levels, if ours are `own`.
    fn rate_figure(&self, own: u32) -> u32 {
        let Some(share) = &self.share else { return own };
        let others = u128::from(share.others().rate) * self.convergence.as_nanos() / 1_000_000_000;
        share.whole(own, u32::try_from(others).unwrap_or(u32::MAX), share.part().rate, self.max.rate)
    }

    /// The pending records that count for the levels.
    fn pending_figure(&self) -> u32 {
        let own = self.pending.used();
        let Some(share) = &self.share else { return own };
        share.whole(own, share.others().pending, share.part().pending, self.max.pending)
    }

    fn with_share(&mut self, at: Time, change: impl FnOnce(&mut Share) -> bool) {
        let level = self.level();
        let Some(share) = &mut self.share else { return };
        let from = share.state();
        if change(share) && share.state() != from {
            let (to, part, members) = (share.state(), share.part(), share.members());
            self.share_events.push_back(ShareChange { from, to, part, members, at });
        }
        self.apply_part();
        self.tell(level, at);
    }

    /// Our part becomes the limit.
    fn apply_part(&mut self) {
        let Some(share) = &self.share else { return };
        if let Some(window) = &mut self.window {
            window.set_limit(share.part().rate);
        }
        if self.max.pending > 0 {
            self.pending.set_limit(share.part().pending);
        }
    }

    /// What changed, oldest first.
    pub fn poll_event(&mut self) -> Option<GroupChange> {
        self.events.pop_front()
    }

    /// How the standing with the other agents changed, oldest first.
    pub fn poll_share_event(&mut self) -> Option<ShareChange> {
        self.share_events.pop_front()
    }

    /// Our part of a group that is shared.
    pub fn share(&self) -> Option<&Share> {
        self.share.as_deref()
    }

    /// What was counted.
    pub const fn counters(&self) -> &GroupCounters {
        &self.counters
    }

    /// The higher of the two levels, 0-3; of a shared group the highest that a member has found.
    pub fn level(&self) -> Level {
        self.share.as_ref().map_or(Level::CL0, |share| share.others_level()).max(self.own_level())
    }

    fn own_level(&self) -> Level {
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

/// 0: none.
fn maxima(settings: &settings::Group) -> Sums {
    Sums { rate: settings.max_rate.unwrap_or(0), pending: settings.max_pending.unwrap_or(0) }
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
