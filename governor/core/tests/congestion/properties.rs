//! Properties over random histories, each checked step by step against the model.

use crate::model::{Model, Ms, PRIORITIES};
use governor_core::congestion::{Connection, Pending};
use governor_core::level::{Feature, Level, Priority};
use governor_core::settings::{self, PeerIndex, Pressure, RemoteBusy, Threshold, Throttle, Transport, Usage};
use governor_core::time::Time;
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Op {
    Up,
    Down,
    Degraded(u8),
    Busy(u8),
    Blocked,
    Unblocked,
    Pressure(u64),
    /// Offers of (priority, to the peer itself), sent where admitted.
    Requests(u8, bool, u16),
    Answers(u16),
    Released(u8),
    Idle,
}

fn ops() -> impl Strategy<Value = Vec<(Ms, Op)>> {
    let wait = prop_oneof![6 => Just(0), 6 => 1..120u64, 4 => prop::sample::select(vec![100, 200, 500, 1000]), 2 => 100..3000u64, 1 => 3000..40_000u64];
    let op = prop_oneof![
        2 => Just(Op::Up),
        1 => Just(Op::Down),
        1 => prop::sample::select(vec![1, 2, 3, 98]).prop_map(Op::Degraded),
        3 => (0..3u8).prop_map(Op::Busy),
        1 => Just(Op::Blocked),
        2 => Just(Op::Unblocked),
        3 => (0..120u64).prop_map(Op::Pressure),
        9 => (0..3u8, any::<bool>(), 1..30u16).prop_map(|(p, host, n)| Op::Requests(p, host, n)),
        4 => (1..20u16).prop_map(Op::Answers),
        3 => (1..40u8).prop_map(Op::Released),
        4 => Just(Op::Idle),
    ];
    prop::collection::vec((wait, op), 1..120)
}

fn connection() -> impl Strategy<Value = settings::Connection> {
    let ms = |range: std::ops::RangeInclusive<u64>| range.prop_map(Duration::from_millis);
    let usage = prop::sample::select(vec![Usage::Off, Usage::On, Usage::HostOverride]);
    let busy = (usage, ms(500..=6000)).prop_map(|(usage, abatement)| RemoteBusy { usage, abatement });
    let pressure = prop_oneof![Just(None), Just(Some(Pressure::default()))];
    let transport = (ms(3000..=6000), pressure).prop_map(|(abatement, pressure)| Transport { abatement, pressure });
    let thresholds = prop::collection::btree_set(1..=100u8, 6).prop_flat_map(|set| {
        let six: Vec<u8> = set.into_iter().collect();
        (1..=3usize).prop_map(move |n| {
            six.chunks(2).take(n).map(|pair| Threshold { onset: pair[1], abatement: pair[0] }).collect::<Vec<_>>()
        })
    });
    let set = (10..60u32, thresholds, prop::sample::select(vec![250, 500, 730, 1000, 2000, 4000]), ms(200..=1500))
        .prop_map(|(max_rate, thresholds, convergence, abatement_time)| Throttle {
            thresholds,
            convergence: Duration::from_millis(convergence),
            abatement_time,
            ..Throttle::new("set", max_rate)
        });
    (busy, transport, prop::option::weighted(0.8, set), 10..60u32).prop_map(
        |(remote_busy, transport, throttle, limit)| settings::Connection {
            remote_busy,
            transport,
            throttle,
            pending_limit: limit,
            ..settings::Connection::new("a", PeerIndex(0))
        },
    )
}

fn priority(n: u8) -> Priority {
    Priority::request(n).unwrap()
}

/// Runs one history on the connection and on the model, and compares all that can be seen after each step.
/// `eager`: the connection is told of each millisecond's timers as they fall due, too.
fn run(
    settings: &settings::Connection,
    ops: &[(Ms, Op)],
    eager: bool,
) -> Result<Vec<governor_core::congestion::LevelChange>, TestCaseError> {
    let mut model = Model::new(settings);
    let mut connection = Connection::new(settings);
    let mut events = Vec::new();
    let (mut t, mut records) = (0, 0_u32);
    for (wait, op) in ops {
        t += wait;
        let now = Time::from_millis(t);
        if eager {
            let mut last = None;
            while let Some(due) = connection.poll_timeout().filter(|&due| due <= now) {
                prop_assert!(last < Some(due), "a timer that has run is due again");
                last = Some(due);
                connection.handle_timeout(due);
            }
        }
        model.advance(t);
        match *op {
            Op::Up => {
                model.open(t, 0);
                connection.handle_up(now);
            }
            Op::Down => {
                model.down();
                connection.handle_down(now);
                records = 0;
            }
            Op::Degraded(level) => {
                model.open(t, level);
                connection.handle_degraded(now, Level::new(level).unwrap());
            }
            Op::Busy(x) => {
                model.busy(t, x);
                connection.handle_busy(now, priority(x));
            }
            Op::Blocked => {
                model.blocked();
                connection.handle_blocked(now);
            }
            Op::Unblocked => {
                model.unblocked(t);
                connection.handle_unblocked(now);
            }
            Op::Pressure(queued) => {
                model.pressure(queued, 100);
                connection.handle_pressure(now, queued, 100);
            }
            Op::Requests(p, to_this_peer, n) => {
                for _ in 0..n {
                    let expected = model.admit_request(t, p, to_this_peer);
                    prop_assert_eq!(connection.admit_request(now, priority(p), to_this_peer), expected);
                    if expected.is_ok() {
                        model.sent(t);
                        model.pending += 1;
                        records += 1;
                        connection.handle_request_sent(now);
                    }
                }
            }
            Op::Answers(n) => {
                for _ in 0..n {
                    let leaves = model.levels().cpl() <= Level::CL3;
                    prop_assert_eq!(connection.admit_answer(now).is_ok(), leaves);
                    if leaves {
                        model.sent(t);
                        connection.handle_answer_sent(now);
                    }
                }
            }
            Op::Released(n) => {
                // It takes no time, so it runs no timers.
                connection.handle_timeout(now);
                for _ in 0..u32::from(n).min(records) {
                    model.pending -= 1;
                    records -= 1;
                    connection.handle_released();
                }
            }
            Op::Idle => connection.handle_timeout(now),
        }
        prop_assert_eq!(connection.levels(), model.levels());
        prop_assert_eq!(connection.cpl(), model.levels().cpl());
        prop_assert_eq!(connection.pending(), model.pending);
        prop_assert_eq!(connection.pending(), records, "pending leaks");
        prop_assert!(connection.pending() <= connection.pending_limit());
        connection.handle_timeout(now);
        prop_assert!((connection.rate() - model.rate).abs() < 1e-6, "{} is not {}", connection.rate(), model.rate);
        prop_assert!(connection.poll_timeout().is_none_or(|due| due > now));
        for p in PRIORITIES {
            let level = connection.cpl();
            let limited =
                model.admit_request(t, 2, true).is_err() || connection.pending() == connection.pending_limit();
            if !limited && settings.throttle.is_none() {
                prop_assert_eq!(connection.admit_request(now, p, false).is_ok(), p.number() >= level.number());
            }
        }
        events.extend(std::iter::from_fn(|| connection.poll_event()));
    }
    Ok(events)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_connection_does_what_the_plain_model_does(settings in connection(), ops in ops()) {
        run(&settings, &ops, false)?;
    }

    #[test]
    fn timers_run_late_and_in_time_tell_the_same_changes(settings in connection(), ops in ops()) {
        let late = run(&settings, &ops, false)?;
        prop_assert_eq!(late, run(&settings, &ops, true)?);
    }

    #[test]
    fn levels_never_skip_on_the_way_down_by_time(settings in connection(), ops in ops()) {
        use governor_core::congestion::Cause;
        let mut cpl = Level::UNAVAILABLE;
        let mut at = Time::ZERO;
        for event in run(&settings, &ops, false)? {
            prop_assert_eq!(event.cpl_from, cpl, "changes join up");
            prop_assert!(event.at >= at);
            (cpl, at) = (event.cpl_to, event.at);
            match event.cause {
                Cause::Abated => prop_assert_eq!(event.to.number() + 1, event.from.number()),
                Cause::Rate { .. } if event.to < event.from => prop_assert_eq!(event.to.number() + 1, event.from.number()),
                Cause::Unblocked => prop_assert_eq!((event.feature, event.from, event.to), (Feature::Transport, Level::CL98, Level::CL3)),
                _ => {}
            }
        }
    }

    #[test]
    fn the_hard_limit_holds_in_every_second(limit in 10..200u32, gaps in prop::collection::vec(0..40_000_000u64, 1..1500)) {
        let settings = settings::Connection {
            throttle: Some(Throttle::new("set", limit)),
            pending_limit: u32::MAX,
            ..settings::Connection::new("a", PeerIndex(0))
        };
        let mut connection = Connection::new(&settings);
        connection.handle_up(Time::ZERO);
        let (mut now, mut sent) = (0, Vec::new());
        for gap in gaps {
            now += gap / u64::from(limit);
            let at = Time::from_nanos(now);
            let second = sent.iter().rev().take_while(|&&then| now - then < 1_000_000_000).count();
            match connection.admit_request(at, Priority::P2, false) {
                Ok(()) => {
                    prop_assert!(second < limit as usize);
                    connection.handle_request_sent(at);
                    sent.push(now);
                }
                Err(_) => prop_assert!(second >= limit as usize),
            }
        }
        prop_assert!(!sent.is_empty());
    }

    #[test]
    fn pending_records_are_counted_and_bounded(limit in 1..50u32, ops in prop::collection::vec((0..4u8, 1..50u32), 1..300)) {
        let (mut pending, mut used, mut limit) = (Pending::new(limit), 0_u32, limit);
        for (op, n) in ops {
            match op {
                0 | 1 => {
                    let admitted = pending.admit().is_ok();
                    prop_assert_eq!(admitted, used < limit);
                    if admitted {
                        pending.take();
                        used += 1;
                    }
                }
                2 => {
                    pending.release();
                    used = used.saturating_sub(1);
                }
                _ => {
                    pending.set_limit(n);
                    limit = n;
                }
            }
            prop_assert_eq!((pending.used(), pending.limit()), (used, limit));
        }
    }
}
