//! What is told of each change.

use governor_core::congestion::{Cause, Connection, LevelChange};
use governor_core::level::{Feature, Level, Priority};
use governor_core::settings::{self, PeerIndex, Pressure, Throttle};
use governor_core::time::Time;

fn connection() -> Connection {
    let mut settings = settings::Connection::new("a", PeerIndex(0));
    settings.throttle = Some(Throttle::new("set", 10));
    settings.transport.pressure = Some(Pressure::default());
    Connection::new(&settings)
}

fn drain(connection: &mut Connection) -> Vec<LevelChange> {
    std::iter::from_fn(|| connection.poll_event()).collect()
}

fn change(feature: Feature, levels: [u8; 2], cpls: [u8; 2], cause: Cause, millis: u64) -> LevelChange {
    let level = |n| Level::new(n).unwrap();
    LevelChange {
        feature,
        from: level(levels[0]),
        to: level(levels[1]),
        cpl_from: level(cpls[0]),
        cpl_to: level(cpls[1]),
        cause,
        at: Time::from_millis(millis),
    }
}

#[test]
fn each_change_names_its_feature_and_cause() {
    let mut c = connection();
    c.handle_up(Time::ZERO);
    c.handle_degraded(Time::from_millis(1), Level::CL1);
    c.handle_up(Time::from_millis(2));
    c.handle_busy(Time::from_millis(3), Priority::P1);
    c.handle_pressure(Time::from_millis(4), 90, 100);
    c.handle_blocked(Time::from_millis(5));
    c.handle_unblocked(Time::from_millis(6));
    assert_eq!(
        drain(&mut c),
        [
            change(Feature::Status, [99, 0], [99, 0], Cause::Up, 0),
            change(Feature::Status, [0, 1], [0, 1], Cause::Degraded, 1),
            change(Feature::Status, [1, 0], [1, 0], Cause::Up, 2),
            change(Feature::RemoteBusy, [0, 2], [0, 2], Cause::Busy { priority: Priority::P1 }, 3),
            change(Feature::Transport, [0, 3], [2, 3], Cause::Pressure { queued: 90, limit: 100 }, 4),
            change(Feature::Transport, [3, 98], [3, 98], Cause::Blocked, 5),
            change(Feature::Transport, [98, 3], [98, 3], Cause::Unblocked, 6),
        ]
    );
}

#[test]
fn timers_run_late_tell_when_they_were_due_in_order() {
    let mut c = connection();
    c.handle_up(Time::ZERO);
    c.handle_busy(Time::ZERO, Priority::P0);
    (0..11).for_each(|_| c.handle_answer_sent(Time::ZERO));
    drain(&mut c);
    c.handle_timeout(Time::from_secs(60));
    let rate = |rate| Cause::Rate { rate, max_rate: 10 };
    assert_eq!(
        drain(&mut c),
        [
            change(Feature::Throttle, [0, 1], [1, 1], rate(11.0), 100),
            change(Feature::Throttle, [1, 0], [1, 1], rate(0.0), 1600),
            change(Feature::RemoteBusy, [1, 0], [1, 0], Cause::Abated, 5000),
        ]
    );
}

#[test]
fn going_down_tells_of_every_feature_that_is_cleared() {
    let mut c = connection();
    c.handle_up(Time::ZERO);
    c.handle_busy(Time::ZERO, Priority::P0);
    c.handle_blocked(Time::ZERO);
    drain(&mut c);
    c.handle_down(Time::from_millis(7));
    assert_eq!(
        drain(&mut c),
        [
            change(Feature::Status, [0, 99], [98, 99], Cause::Down, 7),
            change(Feature::RemoteBusy, [1, 0], [99, 99], Cause::Down, 7),
            change(Feature::Transport, [98, 0], [99, 99], Cause::Down, 7),
        ]
    );
    assert_eq!(c.poll_timeout(), None);
}

#[test]
fn what_changes_nothing_is_not_told() {
    let mut c = connection();
    c.handle_down(Time::ZERO);
    c.handle_busy(Time::ZERO, Priority::P2);
    c.handle_blocked(Time::ZERO);
    c.handle_unblocked(Time::ZERO);
    c.handle_pressure(Time::ZERO, 100, 100);
    assert_eq!(drain(&mut c), []);
    c.handle_up(Time::ZERO);
    drain(&mut c);
    c.handle_up(Time::ZERO);
    c.handle_unblocked(Time::ZERO);
    c.handle_pressure(Time::ZERO, 10, 100);
    // A reading without a limit says nothing.
    c.handle_pressure(Time::ZERO, 10, 0);
    c.handle_busy(Time::ZERO, Priority::P1);
    drain(&mut c);
    c.handle_busy(Time::ZERO, Priority::P0);
    assert_eq!(drain(&mut c), []);
}

#[test]
fn causes_are_said_with_their_figures() {
    for (cause, says) in [
        (Cause::Busy { priority: Priority::P1 }, "peer busy for priority 1"),
        (Cause::Pressure { queued: 90, limit: 100 }, "90 of 100 bytes queued"),
        (Cause::Rate { rate: 1200.25, max_rate: 1000 }, "1200.2 of 1000 messages/s"),
        (Cause::Blocked, "send buffer full"),
    ] {
        assert_eq!(cause.to_string(), says);
    }
}
