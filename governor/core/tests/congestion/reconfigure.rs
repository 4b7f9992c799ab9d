//! Settings that change under a connection or a group in service.

use governor_core::congestion::{Cause, Connection, Group};
use governor_core::level::{Level, Priority};
use governor_core::refusal::Refusal;
use governor_core::settings::{self, PeerIndex, Pressure, Threshold, Throttle, Usage};
use governor_core::time::Time;
use std::time::Duration;

const fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn settings() -> settings::Connection {
    settings::Connection::new("a", PeerIndex(0))
}

fn up(settings: &settings::Connection) -> Connection {
    let mut connection = Connection::new(settings);
    connection.handle_up(Time::ZERO);
    connection
}

#[test]
fn a_lowered_pending_limit_drops_nothing_and_admits_nothing_until_below_it() {
    let mut c = up(&settings());
    (0..20).for_each(|_| c.handle_request_sent(ms(1)));
    c.reconfigure(ms(2), &settings::Connection { pending_limit: 10, ..settings() });
    assert_eq!((c.pending(), c.pending_limit()), (20, 10));
    for left in (10..20).rev() {
        assert_eq!(c.admit_request(ms(3), Priority::P2, false), Err(Refusal::PendingLimit));
        c.handle_released();
        assert_eq!(c.pending(), left);
    }
    assert_eq!(c.admit_request(ms(3), Priority::P2, false), Err(Refusal::PendingLimit));
    c.handle_released();
    assert_eq!(c.admit_request(ms(3), Priority::P2, false), Ok(()));
}

#[test]
fn usage_off_clears_remote_busy() {
    let mut c = up(&settings());
    c.handle_busy(ms(0), Priority::P2);
    let mut off = settings();
    off.remote_busy.usage = Usage::Off;
    c.reconfigure(ms(1), &off);
    assert_eq!(c.cpl(), Level::CL0);
    assert_eq!(c.poll_timeout(), None);
    let last = std::iter::from_fn(|| c.poll_event()).last().unwrap();
    assert_eq!((last.from, last.to, last.cause), (Level::CL3, Level::CL0, Cause::Reconfigured));
}

#[test]
fn a_new_abatement_counts_from_the_next_step_on() {
    let mut c = up(&settings());
    c.handle_busy(ms(0), Priority::P1);
    let mut quick = settings();
    quick.remote_busy.abatement = Duration::from_millis(500);
    c.reconfigure(ms(1), &quick);
    assert_eq!(c.poll_timeout(), Some(ms(5000)));
    c.handle_timeout(ms(5000));
    assert_eq!(c.poll_timeout(), Some(ms(5500)));
}

#[test]
fn pressure_off_clears_its_level_and_keeps_the_blocking() {
    let mut on = settings();
    on.transport.pressure = Some(Pressure::default());
    let mut c = up(&on);
    c.handle_pressure(ms(0), 90, 100);
    assert_eq!(c.cpl(), Level::CL3);
    c.reconfigure(ms(1), &settings());
    assert_eq!(c.cpl(), Level::CL0);
    c.handle_blocked(ms(2));
    c.reconfigure(ms(3), &on);
    assert_eq!(c.cpl(), Level::CL98);
}

#[test]
fn a_raised_max_rate_still_knows_the_last_second() {
    let set = |rate| settings::Connection { throttle: Some(Throttle::new("set", rate)), ..settings() };
    let mut c = up(&set(10));
    (0..25).for_each(|_| c.handle_answer_sent(ms(1)));
    assert_eq!(c.admit_request(ms(2), Priority::P2, false), Err(Refusal::RateLimit));
    c.reconfigure(ms(3), &set(25));
    assert_eq!(c.admit_request(ms(3), Priority::P2, false), Err(Refusal::RateLimit));
    c.reconfigure(ms(4), &set(26));
    assert_eq!(c.admit_request(ms(4), Priority::P2, false), Ok(()));
}

#[test]
fn a_throttle_set_can_come_and_go() {
    let with = settings::Connection { throttle: Some(Throttle::new("set", 10)), ..settings() };
    let mut c = up(&with);
    (0..11).for_each(|_| c.handle_answer_sent(ms(1)));
    c.handle_timeout(ms(100));
    assert_eq!(c.cpl(), Level::CL1);
    c.reconfigure(ms(101), &settings());
    assert_eq!((c.cpl(), c.poll_timeout()), (Level::CL0, None));
    assert!((c.rate() - 11.0).abs() < 1e-9, "the rate is kept");
    c.reconfigure(ms(102), &with);
    c.handle_timeout(ms(200));
    assert_eq!(c.cpl(), Level::CL1, "the samples of the last second are still there");
}

#[test]
fn fewer_levels_cap_the_level() {
    let pair = |onset, abatement| Threshold { onset, abatement };
    let three = Throttle { thresholds: vec![pair(20, 10), pair(40, 30), pair(60, 50)], ..Throttle::new("set", 10) };
    let one = Throttle { thresholds: vec![pair(20, 10)], ..three.clone() };
    let mut c = up(&settings::Connection { throttle: Some(three), ..settings() });
    (0..9).for_each(|_| c.handle_answer_sent(ms(1)));
    c.handle_timeout(ms(100));
    assert_eq!(c.cpl(), Level::CL3);
    c.reconfigure(ms(101), &settings::Connection { throttle: Some(one), ..settings() });
    assert_eq!(c.cpl(), Level::CL1);
}

#[test]
fn a_group_keeps_its_figures() {
    let group = |max_rate, max_pending| settings::Group { max_rate, max_pending, ..settings::Group::new("site") };
    let mut g = Group::new(Time::ZERO, &group(Some(100), Some(100)));
    (0..70).for_each(|_| g.handle_request_sent(ms(1)));
    g.handle_timeout(ms(100));
    assert_eq!(g.level(), Level::CL1);
    g.reconfigure(ms(101), &group(None, Some(70)));
    assert_eq!((g.level(), g.pending()), (Level::CL1, 70));
    assert_eq!(g.admit(ms(101), Priority::P2), Err(Refusal::Group));
    g.handle_released(ms(102));
    assert_eq!(g.admit(ms(102), Priority::P2), Ok(()));
    g.reconfigure(ms(103), &group(Some(70), None));
    assert_eq!(g.level(), Level::CL0, "the rate's steps start anew");
}
