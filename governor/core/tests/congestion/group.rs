//! Rule 6 against a plain model of it.

use crate::model::PRIORITIES;
use governor_core::congestion::{Group, GroupChange};
use governor_core::level::{Level, Priority};
use governor_core::settings::{self, GroupMode, Threshold};
use governor_core::time::Time;
use proptest::prelude::*;
use std::time::Duration;

/// Every request is remembered, every 100 ms are ticked through.
struct Model {
    settings: settings::Group,
    sends: Vec<u64>,
    pending: usize,
    ticked: u64,
    /// (level, below since) of the rate and of the pending records.
    steps: [(u8, Option<u64>); 2],
}

impl Model {
    fn advance(&mut self, now: u64) {
        for t in (self.ticked + 1..=now).filter(|t| t % 100 == 0) {
            let convergence = u64::try_from(self.settings.convergence.as_millis()).unwrap();
            let oldest = (0..=t).step_by(100).find(|sample| t - sample <= convergence).unwrap();
            let sent = self.sends.iter().filter(|&&at| at < t && at >= oldest).count();
            if let Some(max) = self.settings.max_rate {
                self.step(0, t, sent as f64 * 1000.0 / convergence as f64, f64::from(max));
            }
            if let Some(max) = self.settings.max_pending {
                self.step(1, t, self.pending as f64, f64::from(max));
            }
        }
        self.ticked = now;
    }

    fn step(&mut self, at: usize, t: u64, figure: f64, max: f64) {
        let thresholds = &self.settings.thresholds;
        let (level, below_since) = &mut self.steps[at];
        for (n, threshold) in (1..).zip(thresholds) {
            if figure > max * f64::from(threshold.onset) / 100.0 && n > *level {
                (*level, *below_since) = (n, None);
            }
        }
        let below =
            |level: u8| level > 0 && figure < max * f64::from(thresholds[usize::from(level) - 1].abatement) / 100.0;
        if !below(*level) {
            *below_since = None;
        } else if u128::from(t - *below_since.get_or_insert(t)) >= self.settings.abatement_time.as_millis() {
            *level -= 1;
            *below_since = below(*level).then_some(t);
        }
    }

    fn level(&self) -> u8 {
        match self.settings.mode {
            GroupMode::Threshold => self.steps[0].0.max(self.steps[1].0),
            GroupMode::Limit => 0,
        }
    }

    fn admits(&self, now: u64, priority: u8) -> bool {
        let in_second = self.sends.iter().filter(|&&at| at + 1000 > now).count();
        priority >= self.level()
            && self.settings.max_rate.is_none_or(|max| in_second < max as usize)
            && self.settings.max_pending.is_none_or(|max| self.pending < max as usize)
    }
}

fn group() -> impl Strategy<Value = settings::Group> {
    let pair = |(onset, abatement)| Threshold { onset, abatement };
    let thresholds =
        prop::sample::select(vec![vec![(60, 55)], vec![(40, 30), (60, 50)], vec![(20, 10), (50, 40), (90, 60)]]);
    let maxima = prop_oneof![
        (30..80u32).prop_map(|rate| (Some(rate), None)),
        (30..80u32).prop_map(|pending| (None, Some(pending))),
        (30..80u32, 30..80u32).prop_map(|(rate, pending)| (Some(rate), Some(pending))),
    ];
    let mode = prop::sample::select(vec![GroupMode::Threshold, GroupMode::Threshold, GroupMode::Limit]);
    (thresholds, maxima, mode, prop::sample::select(vec![250, 1000, 2000]), 200..1500u64).prop_map(
        move |(thresholds, (max_rate, max_pending), mode, convergence, abatement)| settings::Group {
            thresholds: thresholds.into_iter().map(pair).collect(),
            max_rate,
            max_pending,
            mode,
            convergence: Duration::from_millis(convergence),
            abatement_time: Duration::from_millis(abatement),
            ..settings::Group::new("site")
        },
    )
}

/// (wait, requests offered with their priority, records released)
type Step = (u64, u8, u16, u16);

fn run(settings: &settings::Group, steps: &[Step], eager: bool) -> Result<Vec<GroupChange>, TestCaseError> {
    let mut group = Group::new(Time::ZERO, settings);
    let mut model = Model { settings: settings.clone(), sends: vec![], pending: 0, ticked: 0, steps: [(0, None); 2] };
    let (mut t, mut events) = (0, Vec::new());
    for &(wait, p, requests, released) in steps {
        t += wait;
        let now = Time::from_millis(t);
        while eager && let Some(due) = group.poll_timeout().filter(|&due| due <= now) {
            group.handle_timeout(due);
        }
        model.advance(t);
        let released = usize::from(released).min(model.pending);
        group.handle_released_many(now, u32::try_from(released).unwrap());
        model.pending -= released;
        for _ in 0..requests {
            let admitted = group.admit(now, Priority::request(p).unwrap()).is_ok();
            prop_assert_eq!(admitted, model.admits(t, p));
            if admitted {
                group.handle_request_sent(now);
                model.sends.push(t);
                model.pending += 1;
            }
        }
        prop_assert_eq!(group.level(), Level::step(model.level()));
        prop_assert_eq!(group.pending() as usize, model.pending);
        prop_assert!(group.poll_timeout().is_none_or(|due| due > now));
        for p in PRIORITIES {
            prop_assert_eq!(group.admit(now, p).is_ok(), model.admits(t, p.number()));
        }
        events.extend(std::iter::from_fn(|| group.poll_event()));
    }
    Ok(events)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![6 => 0..150u64, 2 => prop::sample::select(vec![100, 500]), 1 => 0..6000u64];
    prop::collection::vec((wait, 0..3u8, 0..30u16, 0..30u16), 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_group_does_what_the_plain_model_does_late_or_in_time(settings in group(), steps in steps()) {
        let late = run(&settings, &steps, false)?;
        prop_assert_eq!(&late, &run(&settings, &steps, true)?);
        for pair in late.windows(2) {
            prop_assert_eq!(pair[0].to, pair[1].from);
            prop_assert!(pair[0].at <= pair[1].at);
        }
    }
}
