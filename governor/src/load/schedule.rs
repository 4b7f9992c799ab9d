//! When the next request goes, and with which priority.

use std::str::FromStr;
use std::time::Duration;

/// What decides when the next request goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Open loop: requests/s over all connections, sent on schedule whatever is still unanswered. Latency counts from
    /// the intended time, so that a stall shows in every request it held up, not in one (coordinated omission).
    Rate(f64),
    /// Closed loop: so many unanswered over all connections, the next goes when an answer comes.
    Outstanding(usize),
}

/// The open-loop schedule of one thread out of `threads`, which take turns: request `n` of the run is due at
/// `n / rate` seconds after its start, or after the last change of rate.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// Nanoseconds since the run's start.
    origin: u64,
    rate: f64,
    next: u64,
    step: u64,
}

impl Schedule {
    /// `rate` in requests/s, more than 0.
    pub(super) fn new(rate: f64, thread: usize, threads: usize) -> Self {
        Self { origin: 0, rate, next: thread as u64, step: threads as u64 }
    }

    /// When the next request is due, nanoseconds since the start.
    pub(super) fn due(&self) -> u64 {
        Duration::try_from_secs_f64(self.next as f64 / self.rate)
            .ok()
            .and_then(|due| u64::try_from(due.as_nanos()).ok())
            .unwrap_or(u64::MAX)
            .saturating_add(self.origin)
    }

    /// Another rate from the next request on.
    pub(super) fn change(&mut self, rate: f64) {
        // Compared as they were given: nothing was calculated with them.
        if rate.to_bits() != self.rate.to_bits() {
            self.origin = self.due();
            self.next = 0;
            self.rate = rate;
        }
    }

    /// The next request was sent.
    pub(super) fn advance(&mut self) {
        self.next += self.step;
    }
}

/// One priority of a mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// As the report names it.
    pub(super) label: String,
    /// The DRMP value of its requests, 0 (highest) to 15; `None`: no DRMP AVP.
    pub(super) drmp: Option<u8>,
}

/// Which priorities the requests have, in which proportion: none, one, or several taking turns.
///
/// Spelled `none`, a priority `0` to `2`, `mix` (all three alike), or weights as `0:50,1:30,2:20`; with `drmp` before a
/// number it is a DRMP value: `drmp7`, `drmp0:1,drmp15:3`. A priority goes as the lowest DRMP value that the governor's
/// default mapping (rule 7) gives it: 2 as 0, 1 as 5, 0 as 10.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityMix {
    pub(super) classes: Vec<Class>,
    /// Classes in the order they take turns.
    pub(super) turns: Vec<u8>,
}

impl Default for PriorityMix {
    fn default() -> Self {
        Self { classes: vec![Class { label: "none".into(), drmp: None }], turns: vec![0] }
    }
}

impl FromStr for PriorityMix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => return Ok(Self::default()),
            "mix" => return "0:1,1:1,2:1".parse(),
            _ => {}
        }
        let mut classes = Vec::new();
        let mut weights = Vec::new();
        for part in text.split(',') {
            let (name, weight) = part.split_once(':').unwrap_or((part, "1"));
            let weight: i64 = weight.parse().map_err(|e| format!("weight {weight:?}: {e}"))?;
            if !(1..=1000).contains(&weight) {
                return Err(format!("weight {weight} is not 1 to 1000"));
            }
            classes.push(class(name)?);
            weights.push(weight);
        }
        if classes.len() > 16 {
            return Err("more than 16 priorities in a mix".into());
        }
        Ok(Self { classes, turns: turns(&weights) })
    }
}

fn class(name: &str) -> Result<Class, String> {
    let drmp = match (name, name.strip_prefix("drmp").map(str::parse::<u8>)) {
        ("0", _) => 10,
        ("1", _) => 5,
        ("2", _) => 0,
        (_, Some(Ok(drmp))) if drmp < 16 => drmp,
        _ => return Err(format!("{name:?} is neither a priority 0 to 2 nor drmp0 to drmp15")),
    };
    Ok(Class { label: name.to_owned(), drmp: Some(drmp) })
}

/// Smooth weighted round robin over one whole cycle: each class as often as its weight, evenly spread.
fn turns(weights: &[i64]) -> Vec<u8> {
    let total: i64 = weights.iter().sum();
    let mut current = vec![0; weights.len()];
    (0..total)
        .map(|_| {
            for (c, w) in current.iter_mut().zip(weights) {
                *c += w;
            }
            // The first of equals.
            let best = (0..current.len()).rev().max_by_key(|&i| current[i]).unwrap_or_default();
            current[best] -= total;
            u8::try_from(best).unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_one_schedule() {
        let due = |thread| {
            let mut s = Schedule::new(1000.0, thread, 2);
            let mut out = Vec::new();
            for _ in 0..3 {
                out.push(s.due());
                s.advance();
            }
            out
        };
        assert_eq!(due(0), [0, 2_000_000, 4_000_000]);
        assert_eq!(due(1), [1_000_000, 3_000_000, 5_000_000]);
    }

    #[test]
    fn a_rate_changes_from_the_next_request_on() {
        let mut s = Schedule::new(1000.0, 0, 1);
        s.advance();
        s.advance();
        s.change(1000.0);
        assert_eq!(s.due(), 2_000_000);
        s.change(2000.0);
        assert_eq!(s.due(), 2_000_000);
        s.advance();
        assert_eq!(s.due(), 2_500_000);
    }

    #[test]
    fn a_mix_takes_turns_by_weight() {
        let mix: PriorityMix = "0:2,2:1".parse().unwrap();
        assert_eq!(mix.turns, [0, 1, 0]);
        assert_eq!(mix.classes.iter().map(|c| c.drmp).collect::<Vec<_>>(), [Some(10), Some(0)]);
        assert_eq!("mix".parse::<PriorityMix>().unwrap().turns.len(), 3);
        assert_eq!("drmp7".parse::<PriorityMix>().unwrap().classes[0].drmp, Some(7));
    }

    #[test]
    fn a_priority_out_of_range_is_refused() {
        for text in ["3", "drmp16", "0:0", "0:x", "", "0,,1"] {
            assert!(text.parse::<PriorityMix>().is_err(), "{text:?}");
        }
    }
}
