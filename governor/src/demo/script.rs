//! What happens when: the demo's phases on one time line.
//!
//! Rule 3 sets the pace: from reading again to level 0 takes three abatements of at least 3 s.

use super::pool::Site;
use crate::load::Behaviour;
use std::time::Duration;

/// One step of the time line.
pub struct Phase {
    /// When, from the start of the traffic.
    pub at: Duration,
    /// What is announced.
    pub text: &'static str,
    /// What is done.
    pub act: Act,
}

/// What a phase does.
#[derive(Clone, Copy)]
pub enum Act {
    /// Nothing: the announcement says what to look at.
    Nothing,
    /// A server behaves otherwise.
    Server(Site, fn(&mut Behaviour)),
    /// The client sends so many requests a second.
    Rate(f64),
}

const fn phase(at: u64, text: &'static str, act: Act) -> Phase {
    Phase { at: Duration::from_millis(at), text, act }
}

/// Requests/s of the client, unless a phase says otherwise.
pub const RATE: f64 = 1000.0;
/// How long the whole time line takes, and a moment of calm after it.
pub const WHOLE: Duration = Duration::from_secs(20);

/// The time line, in order.
pub const PHASES: [Phase; 11] = [
    phase(0, "all four servers are well: each gets a quarter of 1000 requests/s", Act::Nothing),
    phase(
        1500,
        "C answers 3004 to priority 0: level 1, those go elsewhere",
        Act::Server(Site::C, |b| b.busy_from_drmp = Some(10)),
    ),
    phase(2200, "C answers 3004 to priority 1 too: level 2", Act::Server(Site::C, |b| b.busy_from_drmp = Some(5))),
    phase(
        2900,
        "C answers 3004 to every request: level 3, nothing but answers leaves",
        Act::Server(Site::C, |b| b.busy_from_drmp = Some(0)),
    ),
    phase(3300, "B slows down: answers take 300 ms", Act::Server(Site::B, |b| b.delay = Duration::from_millis(300))),
    phase(
        4000,
        "B stops reading: its send buffer fills, its connection blocks, its traffic moves",
        Act::Server(Site::B, |b| b.stopped = true),
    ),
    phase(
        5000,
        "C is well again: without 3004 its level falls by one every second",
        Act::Server(Site::C, |b| b.busy_from_drmp = None),
    ),
    phase(
        7000,
        "B reads again: level 3, then down by one every 3 s",
        Act::Server(Site::B, |b| {
            b.stopped = false;
            b.delay = Duration::ZERO;
        }),
    ),
    phase(11_000, "2500 requests/s: D gets more than its throttle set allows, and is held to it", Act::Rate(2500.0)),
    phase(14_000, "1000 requests/s again: D is under its thresholds", Act::Rate(RATE)),
    phase(16_500, "all levels are back at 0: each server has its quarter again", Act::Nothing),
];

/// Where the time line has come to.
#[derive(Debug, Default)]
pub struct Script {
    next: usize,
}

impl Script {
    /// The phases that are due at `at` and have not been given yet, in order.
    pub fn due(&mut self, at: Duration) -> &'static [Phase] {
        let from = self.next;
        self.next += PHASES[from..].iter().take_while(|phase| phase.at <= at).count();
        &PHASES[from..self.next]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_comes_once_and_in_order() {
        let mut script = Script::default();
        let mut seen = Vec::new();
        for at in (0..=20_000).step_by(50) {
            seen.extend(script.due(Duration::from_millis(at)).iter().map(|p| p.at));
        }
        assert_eq!(seen, PHASES.iter().map(|p| p.at).collect::<Vec<_>>());
        assert!(seen.is_sorted());
    }

    #[test]
    fn a_late_look_misses_nothing() {
        let mut script = Script::default();
        assert_eq!(script.due(Duration::from_secs(6)).len(), 7);
        assert_eq!(script.due(Duration::from_secs(6)).len(), 0);
    }

    #[test]
    fn all_is_well_at_the_end() {
        let mut servers: [Behaviour; 4] = std::array::from_fn(|_| Behaviour::default());
        let mut last_rate = RATE;
        for phase in &PHASES {
            match phase.act {
                Act::Nothing => {}
                Act::Server(site, change) => change(&mut servers[site as usize]),
                Act::Rate(rate) => last_rate = rate,
            }
        }
        assert!(servers.iter().all(|b| *b == Behaviour::default()), "{servers:?}");
        assert!((last_rate - RATE).abs() < f64::EPSILON);
    }
}
