//! Levels 1 to 3 from a sampled figure and pairs of onset and abatement (rules 4 and 6).

use crate::level::Level;
use crate::settings::Threshold;
use crate::time::Time;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// Above `onset[n - 1]`: level n. `None`: no such level.
    onset: [Option<u32>; 3],
    /// Below `abatement[n - 1]`: level n may end.
    abatement: [u32; 3],
    abatement_time: Duration,
    level: u8,
    /// The first of the samples that are all below the level's abatement.
    below_since: Option<Time>,
}

impl Steps {
    /// `share` gives the figure that is `percent` of the maximum, as a fraction `(numerator, denominator)`.
    /// Figures are whole, so `figure > share` is `figure > floor(share)`, and `figure < share` is `figure < ceil(share)`.
    pub(super) fn new(thresholds: &[Threshold], abatement_time: Duration, share: impl Fn(u8) -> (u128, u128)) -> Self {
        let mut steps = Self { onset: [None; 3], abatement: [0; 3], abatement_time, level: 0, below_since: None };
        for (n, threshold) in thresholds.iter().take(3).enumerate() {
            let (over, under) = share(threshold.onset);
            steps.onset[n] = Some(whole(over / under));
            let (over, under) = share(threshold.abatement);
            steps.abatement[n] = whole(over.div_ceil(under));
        }
        steps
    }

    /// Takes the level over from the steps before a change of settings, as far as there is one.
    pub(super) fn keep_level(&mut self, before: &Self) {
        let levels = self.onset.iter().flatten().count();
        self.level = before.level.min(u8::try_from(levels).unwrap_or(3));
    }

    pub(super) const fn level(&self) -> Level {
        Level::step(self.level)
    }

    pub(super) fn clear(&mut self) {
        self.level = 0;
        self.below_since = None;
    }

    /// The figure at a sample.
    pub(super) fn handle_sample(&mut self, at: Time, figure: u32) {
        // ## CL-n => CL-m, m > n            above onset m: at once, the highest m that holds
        if let Some(m) = self.rises_to(figure) {
            self.level = m;
            self.below_since = None;
            return;
        }
        if !self.is_below(figure) {
            // ## CL-n => CL-n               at or above abatement n: the time below it starts again
            self.below_since = None;
            return;
        }
        // ## CL-n => CL-(n-1), n > 0        below abatement n at every sample for the abatement time
        let since = *self.below_since.get_or_insert(at);
        if at.since(since) >= self.abatement_time {
            self.level -= 1;
            // Counted afresh, from this very sample if it is below the next abatement too: the steps down from a
            // figure far below are one abatement time apart.
            self.below_since = self.is_below(figure).then_some(at);
        }
    }

    /// Would samples of this figure, or of falling ones if `falls`, leave the level as it is for ever?
    pub(super) fn is_settled(&self, figure: u32, falls: bool) -> bool {
        let may_fall = self.level > 0 && (falls || self.is_below(figure) || self.below_since.is_some());
        !may_fall && self.rises_to(figure).is_none()
    }

    /// The highest level above the present one whose onset is exceeded.
    fn rises_to(&self, figure: u32) -> Option<u8> {
        let highest = (1..=3).zip(&self.onset).rev().find(|(_, onset)| onset.is_some_and(|onset| figure > onset));
        highest.map(|(m, _)| m).filter(|&m| m > self.level)
    }

    /// Is it below the present level's abatement?
    fn is_below(&self, figure: u32) -> bool {
        self.level.checked_sub(1).is_some_and(|n| figure < self.abatement[usize::from(n)])
    }
}

fn whole(figure: u128) -> u32 {
    u32::try_from(figure).unwrap_or(u32::MAX)
}
