//! The highest that a figure has been of late.

use crate::time::Time;
use std::time::Duration;

/// Length of a stretch: whoever looks once a minute or oftener misses no peak.
const STRETCH: Duration = Duration::from_secs(60);

/// The highest value in the stretch of one minute that runs and in the one before it. Looking changes nothing, so any number
/// may look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Peak<T> {
    /// End of the stretch that runs.
    end: Time,
    current: T,
    previous: T,
}

impl<T: Copy + Default + PartialOrd> Peak<T> {
    /// The figure is or was `value` at `at`; `at` never falls.
    pub(super) fn note(&mut self, at: Time, value: T) {
        if at >= self.end {
            let elapsed = at - self.end;
            self.previous = if elapsed < STRETCH { self.current } else { T::default() };
            self.current = T::default();
            self.end = at + STRETCH;
        }
        if value > self.current {
            self.current = value;
        }
    }

    /// The highest value of the last one to two minutes, `value` being the present one.
    pub(super) fn get(&self, now: Time, value: T) -> T {
        let mut seen = *self;
        seen.note(now, value);
        if seen.previous > seen.current { seen.previous } else { seen.current }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_shown_for_a_minute_at_least_and_two_at_most() {
        let at = Time::from_secs;
        let mut peak = Peak::default();
        peak.note(at(10), 5u32);
        peak.note(at(11), 9);
        peak.note(at(12), 2);
        assert_eq!(peak.get(at(12), 2), 9);
        assert_eq!(peak.get(at(75), 1), 9, "nobody noted anything for a minute");
        peak.note(at(75), 1);
        assert_eq!(peak.get(at(76), 1), 9);
        peak.note(at(134), 3);
        assert_eq!(peak.get(at(134), 3), 9);
        peak.note(at(136), 2);
        assert_eq!(peak.get(at(136), 2), 3);
        assert_eq!(peak.get(at(500), 0), 0);
    }

    #[test]
    fn the_present_value_is_never_above_the_peak() {
        let peak = Peak::<u32>::default();
        assert_eq!(peak.get(Time::ZERO, 4), 4);
    }
}
