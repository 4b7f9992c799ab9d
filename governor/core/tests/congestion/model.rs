//! Rules 1 to 5 as plainly as they are written: every send is remembered, every 100 ms are ticked through.

use governor_core::level::{Level, Levels, Priority};
use governor_core::refusal::Refusal;
use governor_core::settings::{Connection as Settings, Usage};

/// Milliseconds.
pub type Ms = u64;

pub struct Model {
    settings: Settings,
    /// When it came up; `None` while down.
    up: Option<Ms>,
    x1: u8,
    x2: u8,
    x2_due: Ms,
    blocked: bool,
    x3: u8,
    x3_due: Ms,
    pressure: u8,
    x98: u8,
    below_since: Option<Ms>,
    sends: Vec<Ms>,
    ticked: Ms,
    pub rate: f64,
    pub pending: u32,
}

impl Model {
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            up: None,
            x1: 99,
            x2: 0,
            x2_due: 0,
            blocked: false,
            x3: 0,
            x3_due: 0,
            pressure: 0,
            x98: 0,
            below_since: None,
            sends: Vec::new(),
            ticked: 0,
            rate: 0.0,
            pending: 0,
        }
    }

    pub fn levels(&self) -> Levels {
        let level = |n| Level::new(n).unwrap();
        Levels {
            status: level(self.x1),
            remote_busy: level(self.x2),
            transport: level(if self.blocked { 98 } else { self.x3.max(self.pressure) }),
            throttle: level(self.x98),
        }
    }

    /// One millisecond at a time, timers before samples.
    pub fn advance(&mut self, now: Ms) {
        for t in self.ticked + 1..=now {
            self.tick(t);
        }
        self.ticked = now;
    }

    fn tick(&mut self, t: Ms) {
        let Some(up) = self.up else { return };
        if self.x2 > 0 && self.x2_due == t {
            self.x2 -= 1;
            self.x2_due = t + ms(self.settings.remote_busy.abatement);
        }
        if !self.blocked && self.x3 > 0 && self.x3_due == t {
            self.x3 -= 1;
            self.x3_due = t + ms(self.settings.transport.abatement);
        }
        if (t - up).is_multiple_of(100) {
            self.sample(up, t);
        }
    }

    fn sample(&mut self, up: Ms, t: Ms) {
        let convergence = self.settings.throttle.as_ref().map_or(1000, |set| ms(set.convergence));
        // A sample counts the sends before it: those of its own instant come after it.
        let count = |sample: Ms| self.sends.iter().filter(|&&sent| sent < sample).count();
        let oldest = (up..=t).step_by(100).find(|&sample| t - sample <= convergence).unwrap();
        self.rate = (count(t) - count(oldest)) as f64 * 1000.0 / convergence as f64;
        let Some(set) = &self.settings.throttle else { return };
        let share = |percent: u8| f64::from(set.max_rate) * f64::from(percent) / 100.0;
        for (n, threshold) in (1..).zip(&set.thresholds) {
            if self.rate > share(threshold.onset) && n > self.x98 {
                self.x98 = n;
                self.below_since = None;
            }
        }
        let below = |level: u8| level > 0 && self.rate < share(set.thresholds[usize::from(level) - 1].abatement);
        if !below(self.x98) {
            self.below_since = None;
        } else if t - *self.below_since.get_or_insert(t) >= ms(set.abatement_time) {
            self.x98 -= 1;
            self.below_since = below(self.x98).then_some(t);
        }
    }

    pub fn open(&mut self, now: Ms, level: u8) {
        if self.up.is_none() {
            self.up = Some(now);
            self.rate = 0.0;
            self.sends.clear();
        }
        self.x1 = level;
    }

    pub fn down(&mut self) {
        *self = Self { ticked: self.ticked, ..Self::new(&self.settings) };
    }

    pub fn busy(&mut self, now: Ms, x: u8) {
        if self.up.is_some() && self.settings.remote_busy.usage != Usage::Off && self.x2 <= x {
            self.x2 = x + 1;
            self.x2_due = now + ms(self.settings.remote_busy.abatement);
        }
    }

    pub fn blocked(&mut self) {
        self.blocked = self.up.is_some();
    }

    pub fn unblocked(&mut self, now: Ms) {
        if self.blocked {
            self.blocked = false;
            self.x3 = 3;
            self.x3_due = now + ms(self.settings.transport.abatement);
        }
    }

    pub fn pressure(&mut self, queued: u64, limit: u64) {
        let (Some(thresholds), true) = (self.settings.transport.pressure, self.up.is_some()) else { return };
        let percent = queued as f64 * 100.0 / limit as f64;
        for (n, onset) in (1..).zip(thresholds.onset) {
            if percent >= f64::from(onset) {
                self.pressure = self.pressure.max(n);
            }
        }
        while self.pressure > 0 && percent < f64::from(thresholds.abatement[usize::from(self.pressure) - 1]) {
            self.pressure -= 1;
        }
    }

    pub fn admit_request(&self, now: Ms, priority: u8, to_this_peer: bool) -> Result<(), Refusal> {
        let levels = self.levels();
        let overridden = to_this_peer && self.settings.remote_busy.usage == Usage::HostOverride;
        let busy = if overridden { 0 } else { self.x2 };
        let cpl = self.x1.max(busy).max(levels.transport.number()).max(self.x98);
        let in_second = self.sends.iter().filter(|&&sent| sent + 1000 > now && sent <= now).count();
        if cpl == 99 {
            Err(Refusal::NoConnection)
        } else if priority < cpl {
            Err(Refusal::Cpl(Level::new(cpl).unwrap()))
        } else if self.pending >= self.settings.pending_limit {
            Err(Refusal::PendingLimit)
        } else if self.settings.throttle.as_ref().is_some_and(|set| in_second >= set.max_rate as usize) {
            Err(Refusal::RateLimit)
        } else {
            Ok(())
        }
    }

    pub fn sent(&mut self, now: Ms) {
        self.sends.push(now);
    }
}

fn ms(span: std::time::Duration) -> Ms {
    Ms::try_from(span.as_millis()).unwrap()
}

pub const PRIORITIES: [Priority; 3] = [Priority::P0, Priority::P1, Priority::P2];
