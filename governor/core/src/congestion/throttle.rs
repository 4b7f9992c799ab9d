//! X98, egress message throttling (rule 4): the connection's rate against its set's maximum.

use super::rate::{DEFAULT_CONVERGENCE, Rate};
use super::steps::Steps;
use super::window::Window;
use crate::level::Level;
use crate::refusal::Refusal;
use crate::settings;
use crate::time::Time;

/// The rate of every connection, and the levels and the hard limit of one that has a throttle set.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    rate: Rate,
    // Boxed: most connections have none.
    set: Option<Box<Set>>,
}

#[derive(Clone, Debug)]
struct Set {
    steps: Steps,
    window: Window,
}

impl Throttle {
    pub(super) fn new(settings: Option<&settings::Throttle>) -> Self {
        let convergence = settings.map_or(DEFAULT_CONVERGENCE, |set| set.convergence);
        Self {
            rate: Rate::new(Time::ZERO, convergence),
            set: settings.map(|set| Box::new(Set { steps: steps(set), window: Window::new(set.max_rate) })),
        }
    }

    /// The rate, and a level that the new set has, are kept. A first set counts the hard limit from now on.
    pub(super) fn reconfigure(&mut self, settings: Option<&settings::Throttle>) {
        let before = self.set.take();
        self.rate.set_convergence(settings.map_or(DEFAULT_CONVERGENCE, |set| set.convergence));
        self.set = settings.map(|set| {
            let (mut steps, mut window) = (steps(set), Window::new(set.max_rate));
            if let Some(before) = before {
                steps.keep_level(&before.steps);
                window = before.window;
                window.set_limit(set.max_rate);
            }
            Box::new(Set { steps, window })
        });
    }

    /// The connection comes up: sampling starts, with baseline 0.
    pub(super) fn start(&mut self, now: Time) {
        self.rate = self.rate.restarted(now);
        if let Some(set) = &mut self.set {
            set.steps.clear();
            set.window.clear();
        }
    }

    pub(super) fn level(&self) -> Level {
        self.set.as_ref().map_or(Level::CL0, |set| set.steps.level())
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate.per_second()
    }

    /// The rate at the next sample, if nothing is sent until then.
    pub(super) fn rate_at_next_sample(&self) -> f64 {
        self.rate.next_per_second()
    }

    pub(super) fn max_rate(&self) -> Option<u32> {
        self.set.as_ref().map(|set| set.window.limit())
    }

    /// The hard limit: no request leaves while the messages sent in (t - 1 s, t] number `max_rate` or more.
    pub(super) fn admit(&self, now: Time) -> Result<(), Refusal> {
        match &self.set {
            Some(set) if set.window.is_full(now) => Err(Refusal::RateLimit),
            _ => Ok(()),
        }
    }

    /// A message was sent, a request or an answer.
    pub(super) fn handle_sent(&mut self, now: Time) {
        self.rate.count();
        if let Some(set) = &mut self.set {
            set.window.count(now);
        }
    }

    /// When the next sample is due that may change the level, if no message is sent before it.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let set = self.set.as_ref()?;
        (!set.steps.is_settled(self.rate.in_next_window(), true)).then(|| self.rate.next_sample())
    }

    /// When the next sample is due, whether or not it may change the level.
    pub(super) fn next_sample(&self) -> Time {
        self.rate.next_sample()
    }

    /// Takes the next sample, and judges it.
    pub(super) fn handle_sample(&mut self) {
        let due = self.rate.next_sample();
        self.rate.sample();
        if let Some(set) = &mut self.set {
            set.steps.handle_sample(due, self.rate.in_window());
        }
    }

    /// Takes the samples due by `now`, none of which may change the level.
    pub(super) fn catch_up(&mut self, now: Time) {
        self.rate.catch_up(now);
    }
}

/// The set's percentages as messages in its window.
fn steps(set: &settings::Throttle) -> Steps {
    Steps::new(&set.thresholds, set.abatement_time, |percent| {
        Rate::window_share(set.max_rate, percent, set.convergence)
    })
}
