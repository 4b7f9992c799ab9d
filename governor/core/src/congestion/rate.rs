//! The rate of messages, sampled each 100 ms (rule 4).
//!
//! A sample holds the count of messages sent so far. Samples stand at `start + k * 100 ms`, and nothing is sent
//! between two calls, so samples that fell due meanwhile all hold the present count: they are filled in when
//! the next message comes, and a rate that nobody counts on needs no timer.

use crate::time::Time;
use std::time::Duration;

/// Time between samples.
pub(super) const SAMPLE: Duration = Duration::from_millis(100);
/// Window of a connection that has no throttle set.
pub(super) const DEFAULT_CONVERGENCE: Duration = Duration::from_secs(1);
/// The widest window, 4 s, has 40 samples and the one before them.
const SLOTS: usize = 41;
/// Samples kept besides the newest.
const OLDER: u64 = 40;

#[derive(Clone, Debug)]
pub(super) struct Rate {
    start: Time,
    /// Number of the newest sample; number 0 is the start's, with count 0.
    taken: u64,
    /// Messages since the start; wraps, as only differences count.
    sent: u32,
    convergence: Duration,
    /// Samples from the oldest of the window to the newest.
    span: u64,
    samples: [u32; SLOTS],
}

impl Rate {
    pub(super) fn new(start: Time, convergence: Duration) -> Self {
        let mut rate = Self { start, taken: 0, sent: 0, convergence, span: 1, samples: [0; SLOTS] };
        rate.set_convergence(convergence);
        rate
    }

    /// Another start with the same window.
    pub(super) fn restarted(&self, start: Time) -> Self {
        Self::new(start, self.convergence)
    }

    /// Samples already taken stay, so a wider window is full at once.
    pub(super) fn set_convergence(&mut self, convergence: Duration) {
        self.convergence = convergence.max(SAMPLE);
        // "the oldest sample not older than `convergence`"
        let whole = self.convergence.as_nanos() / SAMPLE.as_nanos();
        self.span = u64::try_from(whole).map_or(OLDER, |span| span.min(OLDER));
    }

    /// One message more. Samples due by now are to be taken before.
    pub(super) const fn count(&mut self) {
        self.sent = self.sent.wrapping_add(1);
    }

    /// When the next sample is due.
    pub(super) fn next_sample(&self) -> Time {
        // 100 ms, in nanoseconds.
        Time::from_nanos(self.start.as_nanos().saturating_add((self.taken + 1).saturating_mul(100_000_000)))
    }

    /// Takes the next sample.
    pub(super) fn sample(&mut self) {
        self.taken += 1;
        *self.slot(self.taken) = self.sent;
    }

    /// Takes every sample due at or before `now`.
    pub(super) fn catch_up(&mut self, now: Time) {
        let due = now.since(self.start).as_nanos() / SAMPLE.as_nanos();
        let due = u64::try_from(due).unwrap_or(u64::MAX).max(self.taken);
        // Older ones would be overwritten at once.
        let first = due.saturating_sub(OLDER).max(self.taken + 1);
        for number in first..=due {
            *self.slot(number) = self.sent;
        }
        self.taken = due;
    }

    /// Messages in the window, at the newest sample.
    pub(super) fn in_window(&self) -> u32 {
        self.at(self.taken).wrapping_sub(self.at(self.taken.saturating_sub(self.span)))
    }

    /// Messages between the newest sample and the one so many before it, at most 40.
    pub(super) fn in_last(&self, samples: u64) -> u32 {
        self.at(self.taken).wrapping_sub(self.at(self.taken.saturating_sub(samples.min(OLDER))))
    }

    /// Messages in the window at the next sample, if none is sent until then. At each later one there are fewer or as many.
    pub(super) fn in_next_window(&self) -> u32 {
        self.sent.wrapping_sub(self.at((self.taken + 1).saturating_sub(self.span)))
    }

    /// messages/s at the newest sample. A window not yet full is divided by the whole convergence all the same.
    pub(super) fn per_second(&self) -> f64 {
        f64::from(self.in_window()) * 1e9 / self.convergence.as_nanos() as f64
    }

    /// messages/s at the next sample, if none is sent until then.
    pub(super) fn next_per_second(&self) -> f64 {
        f64::from(self.in_next_window()) * 1e9 / self.convergence.as_nanos() as f64
    }

    /// `percent` of `per_second` as messages in a window: an exact fraction, numerator and denominator.
    pub(super) const fn window_share(per_second: u32, percent: u8, convergence: Duration) -> (u128, u128) {
        (per_second as u128 * percent as u128 * convergence.as_nanos(), 100 * 1_000_000_000)
    }

    fn at(&self, number: u64) -> u32 {
        self.samples[index(number)]
    }

    fn slot(&mut self, number: u64) -> &mut u32 {
        &mut self.samples[index(number)]
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number % (OLDER + 1)).unwrap_or_default()
}
