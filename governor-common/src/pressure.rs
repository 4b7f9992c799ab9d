//! Pressure levels from a send buffer's occupancy (rule 3), the same arithmetic in the kernel programs and in the agent.

use crate::record;

/// A socket whose send was refused is writable again once this share of its send buffer or less is taken, as
/// (numerator, denominator): the condition by which the kernel wakes a writer (`sk_stream_is_writeable`).
pub const WRITABLE: (u64, u64) = (2, 3);

record! {
    /// Percentages of the send buffer where pressure levels 1 to 3 start and end (rule 3). An onset of 0: no such level.
    pub struct Thresholds {
        /// At or above `onset[n - 1]`: level n at once.
        pub onset: [u8; 3],
        /// Below `abatement[n - 1]`: level n - 1 at once.
        pub abatement: [u8; 3],
    }
}

impl Thresholds {
    /// No pressure levels: the plain behaviour.
    pub const OFF: Self = Self { onset: [0; 3], abatement: [0; 3] };

    /// The level after a measure of `queued` bytes in a buffer of `limit`, coming from level `from` (0 to 3).
    #[inline]
    pub fn level(&self, from: u32, queued: u32, limit: u32) -> u32 {
        let filled = u64::from(queued) * 100;
        let limit = u64::from(limit);
        let reached = |percent: u8| filled >= u64::from(percent) * limit;
        let sets_in = |percent: u8| percent != 0 && reached(percent);
        // ## below abatement n => n - 1, repeatedly
        let mut level = from;
        if level >= 3 && !reached(self.abatement[2]) {
            level = 2;
        }
        if level == 2 && !reached(self.abatement[1]) {
            level = 1;
        }
        if level == 1 && !reached(self.abatement[0]) {
            level = 0;
        }
        // ## at or above onset n => n, however many steps
        if sets_in(self.onset[2]) {
            return 3;
        }
        if level < 2 && sets_in(self.onset[1]) {
            return 2;
        }
        if level < 1 && sets_in(self.onset[0]) {
            return 1;
        }
        level
    }
}

#[cfg(test)]
mod tests {
    use super::Thresholds;

    const RULE_3: Thresholds = Thresholds { onset: [50, 70, 85], abatement: [40, 60, 75] };

    #[test]
    fn levels_follow_rule_3() {
        // (from, queued of 1000, to)
        let table = [
            (0, 0, 0),
            (0, 499, 0),
            (0, 500, 1),
            (0, 700, 2),
            (0, 850, 3),
            (0, 1200, 3),
            (1, 400, 1),
            (1, 399, 0),
            (1, 699, 1),
            (2, 600, 2),
            (2, 599, 1),
            (2, 399, 0),
            (3, 750, 3),
            (3, 749, 2),
            (3, 599, 1),
            (3, 0, 0),
        ];
        for (from, queued, to) in table {
            assert_eq!(RULE_3.level(from, queued, 1000), to, "from {from} with {queued}");
        }
    }

    #[test]
    fn without_thresholds_there_is_no_level() {
        for queued in [0, 1, 1000, u32::MAX] {
            assert_eq!(Thresholds::OFF.level(0, queued, 1000), 0);
        }
    }
}
