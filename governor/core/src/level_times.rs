//! How long something has been at each level.

use crate::level::Level;
use crate::time::Time;
use std::time::Duration;

/// The time spent at each level, computed from the level, the instant since when it stands, and what was spent before:
/// at every instant the six spans add up to the age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelTimes {
    level: Level,
    since: Time,
    /// Without the present stay, by [`Level::index`].
    before: [Duration; Level::ALL.len()],
}

// === impl LevelTimes ===

impl LevelTimes {
    /// Begins at `now`, at that level.
    pub const fn new(now: Time, level: Level) -> Self {
        Self { level, since: now, before: [Duration::ZERO; Level::ALL.len()] }
    }

    /// The level is another one from `at` on, which is not before the last change. The same level changes nothing.
    pub fn enter(&mut self, at: Time, level: Level) {
        if level != self.level {
            // An instant before the last change would count a span twice.
            let at = at.max(self.since);
            self.before[self.level.index()] += at - self.since;
            (self.level, self.since) = (level, at);
        }
    }

    /// Since when the level is what it is.
    pub const fn since(&self) -> Time {
        self.since
    }

    /// The time at each level until `now`, by [`Level::index`].
    pub fn until(&self, now: Time) -> [Duration; Level::ALL.len()] {
        let mut spent = self.before;
        spent[self.level.index()] += now - self.since;
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_present_stay_counts_as_it_goes_on() {
        let mut times = LevelTimes::new(Time::from_secs(1), Level::UNAVAILABLE);
        times.enter(Time::from_secs(3), Level::CL0);
        times.enter(Time::from_secs(4), Level::CL0);
        times.enter(Time::from_secs(7), Level::CL98);
        assert_eq!(times.since(), Time::from_secs(7));
        let seconds = |now| times.until(Time::from_secs(now)).map(|span| span.as_secs());
        assert_eq!(seconds(7), [4, 0, 0, 0, 0, 2]);
        assert_eq!(seconds(17), [4, 0, 0, 0, 10, 2]);
    }

    proptest! {
        /// Whatever happens and whenever one looks, no time is lost and none is counted twice.
        #[test]
        fn the_spans_add_up_to_the_age(
            steps in proptest::collection::vec((0u64..5_000, 0usize..6), 0..50),
            start in 0u64..1000,
        ) {
            let start = Time::from_millis(start);
            let mut times = LevelTimes::new(start, Level::UNAVAILABLE);
            let mut now = start;
            let mut last = [Duration::ZERO; 6];
            for (wait, level) in steps {
                now += Duration::from_millis(wait);
                let spent = times.until(now);
                prop_assert_eq!(spent.iter().sum::<Duration>(), now - start);
                prop_assert!(spent.iter().zip(&last).all(|(now, before)| now >= before));
                last = spent;
                times.enter(now, Level::ALL[level]);
                prop_assert_eq!(times.until(now), spent);
            }
        }
    }
}
