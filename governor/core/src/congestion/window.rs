//! The hard limit (rules 4 and 6): how many were sent in (t - 1 s, t], exactly.

use crate::time::Time;
use std::collections::VecDeque;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(1);
/// [`WINDOW`] in nanoseconds.
const WINDOW_NANOS: u32 = 1_000_000_000;
/// The highest limit of a throttle set: kept at least, so that a raised limit finds the last second whole.
const KEPT: u32 = 10_000;

/// The instants of the last sends, four bytes each. The limit is reached if the `limit`-th last send is within the window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    limit: u32,
    /// Instants that are kept at least.
    kept: u32,
    /// The last send.
    last: Time,
    /// Low 32 bits of the instants in nanoseconds. All lie within the window that ends at `last`, so differences are exact.
    instants: VecDeque<u32>,
}

impl Window {
    pub(super) const fn new(limit: u32) -> Self {
        Self { limit, kept: if limit > KEPT { limit } else { KEPT }, last: Time::ZERO, instants: VecDeque::new() }
    }

    /// Keeps as many instants as a limit of `most` needs, whatever the limit is.
    pub(super) fn keep(&mut self, most: u32) {
        self.kept = most.max(KEPT);
    }

    pub(super) const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    pub(super) const fn limit(&self) -> u32 {
        self.limit
    }

    /// Forgets the sends, and gives their memory back.
    pub(super) fn clear(&mut self) {
        self.instants = VecDeque::new();
    }

    /// Were `limit` or more sent in (now - 1 s, now]?
    pub(super) fn is_full(&self, now: Time) -> bool {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if limit == 0 {
            return true;
        }
        let Some(nth_last) = self.instants.len().checked_sub(limit) else { return false };
        now.since(self.last) < WINDOW && self.instants.get(nth_last).is_none_or(|&then| age(now, then) < WINDOW_NANOS)
    }

    /// How many were sent in (now - 1 s, now], as far as they are kept.
    pub(super) fn sent(&self, now: Time) -> u32 {
        if now.since(self.last) >= WINDOW {
            return 0;
        }
        let gone = self.instants.partition_point(|&then| age(now, then) >= WINDOW_NANOS);
        u32::try_from(self.instants.len() - gone).unwrap_or(u32::MAX)
    }

    /// One was sent.
    pub(super) fn count(&mut self, now: Time) {
        if now.since(self.last) >= WINDOW {
            self.instants.clear();
        }
        while self.instants.front().is_some_and(|&then| age(now, then) >= WINDOW_NANOS) {
            self.instants.pop_front();
        }
        if self.instants.len() >= usize::try_from(self.limit.max(self.kept)).unwrap_or(usize::MAX) {
            self.instants.pop_front();
        }
        self.instants.push_back(low(now));
        self.last = now;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are wanted")]
const fn low(at: Time) -> u32 {
    at.as_nanos() as u32
}

/// Nanoseconds from `then` to `now`, which is under two windows, and so under 2^32.
const fn age(now: Time, then: u32) -> u32 {
    low(now).wrapping_sub(then)
}
