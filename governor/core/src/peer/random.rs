//! Pseudo-random numbers for jitter and identifiers: `SplitMix64`, deterministic by seed.

use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn next_u32(&mut self) -> u32 {
        // The upper half: the lower one is as good, this one is customary.
        (self.next_u64() >> 32) as u32
    }

    /// A span from zero to `most`, both included.
    pub(super) fn up_to(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(match most.checked_add(1) {
            Some(choices) => self.next_u64() % choices,
            None => self.next_u64(),
        })
    }
}
