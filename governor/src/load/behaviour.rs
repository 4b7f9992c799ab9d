//! What a server of the load does with a request.

use governor_core::refusal::code;
use std::time::Duration;

/// How a server behaves; it may be changed while the server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// From a request's arrival to its answer.
    pub delay: Duration,
    /// Result-Code of its answers.
    pub result: u32,
    /// Every so many requests one is answered 3004; `None`: none.
    pub busy_every: Option<u32>,
    /// Requests over so many a second are answered 3004; `None`: none.
    pub busy_above_rate: Option<u32>,
    /// Requests of this DRMP value and above, or of none, are answered 3004: 10 is what the governor's default mapping
    /// (rule 7) takes for priority 0, 5 for priorities 0 and 1. `None`: none.
    pub busy_from_drmp: Option<u8>,
    /// Origin-Host of its answers, where a node behind it is to have made them.
    pub behind: Option<String>,
    /// Nothing is answered (watchdogs are).
    pub silent: bool,
    /// Nothing is read: the peer's send buffer fills.
    pub stopped: bool,
    /// Stops reading by itself, once, after so many requests.
    pub stop_after: Option<u64>,
    /// How long after stopping by itself it reads again; `None`: never.
    pub read_again_after: Option<Duration>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            result: code::SUCCESS,
            busy_every: None,
            busy_above_rate: None,
            busy_from_drmp: None,
            behind: None,
            silent: false,
            stopped: false,
            stop_after: None,
            read_again_after: None,
        }
    }
}

/// How much of a second's allowance may come at once, in nanoseconds of the rate.
const BURST: u64 = 50_000_000;

/// Judges one request after the other by a [`Behaviour`].
#[derive(Debug, Default)]
pub(super) struct Judge {
    requests: u64,
    /// When the rate's allowance is used up to, nanoseconds (generic cell rate algorithm).
    used_until: u64,
}

impl Judge {
    /// The Result-Code for the next request, `None`: no answer. `now` in nanoseconds, never falling. `drmp` is asked
    /// for only where the behaviour looks at it.
    pub(super) fn next(&mut self, behaviour: &Behaviour, now: u64, drmp: impl FnOnce() -> Option<u8>) -> Option<u32> {
        self.requests += 1;
        if behaviour.silent {
            return None;
        }
        if behaviour.busy_every.is_some_and(|n| n > 0 && self.requests.is_multiple_of(u64::from(n))) {
            return Some(code::TOO_BUSY);
        }
        if behaviour.busy_from_drmp.is_some_and(|from| drmp().is_none_or(|drmp| drmp >= from)) {
            return Some(code::TOO_BUSY);
        }
        if let Some(rate) = behaviour.busy_above_rate {
            if self.used_until > now + BURST {
                return Some(code::TOO_BUSY);
            }
            self.used_until = self.used_until.max(now) + 1_000_000_000 / u64::from(rate.max(1));
        }
        Some(behaviour.result)
    }

    /// Requests judged.
    pub(super) const fn requests(&self) -> u64 {
        self.requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Option<u8> {
        None
    }

    #[test]
    fn low_priorities_are_busy() {
        let behaviour = Behaviour { busy_from_drmp: Some(5), ..Behaviour::default() };
        let mut judge = Judge::default();
        let codes = [Some(0), Some(4), Some(5), Some(15), None].map(|drmp| judge.next(&behaviour, 0, || drmp).unwrap());
        assert_eq!(codes, [2001, 2001, 3004, 3004, 3004]);
    }

    #[test]
    fn every_nth_is_busy() {
        let behaviour = Behaviour { busy_every: Some(3), ..Behaviour::default() };
        let mut judge = Judge::default();
        let codes: Vec<_> = (0..6).filter_map(|now| judge.next(&behaviour, now, none)).collect();
        assert_eq!(codes, [2001, 2001, 3004, 2001, 2001, 3004]);
    }

    #[test]
    fn what_is_over_the_rate_is_busy() {
        let behaviour = Behaviour { busy_above_rate: Some(1000), ..Behaviour::default() };
        let mut judge = Judge::default();
        // 2000/s for 10 s.
        let good = (0..20_000u64).filter(|n| judge.next(&behaviour, n * 500_000, none) == Some(2001)).count();
        assert!((10_000..10_100).contains(&good), "{good}");
    }

    #[test]
    fn a_silent_server_counts_and_says_nothing() {
        let behaviour = Behaviour { silent: true, ..Behaviour::default() };
        let mut judge = Judge::default();
        assert_eq!(judge.next(&behaviour, 0, none), None);
        assert_eq!(judge.requests(), 1);
    }
}
