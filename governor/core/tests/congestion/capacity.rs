//! Rule 10: what a connection costs.

use governor_core::congestion::Connection;
use governor_core::level::Priority;
use governor_core::settings::{self, PeerIndex, Throttle};
use governor_core::time::Time;

#[test]
fn a_connection_is_small() {
    assert!(size_of::<Connection>() <= 512, "{} bytes", size_of::<Connection>());
}

#[test]
fn sixteen_thousand_idle_connections_need_no_timer() {
    let mut settings = settings::Connection::new("a", PeerIndex(0));
    settings.throttle = Some(Throttle::new("set", 1000));
    let mut connections: Vec<Connection> = (0..16_000).map(|_| Connection::new(&settings)).collect();
    for (connection, at) in connections.iter_mut().zip(0..) {
        connection.handle_up(Time::from_millis(at));
        assert_eq!(connection.poll_timeout(), None);
    }
    // A message below every threshold needs none either: the rate is caught up when it is read.
    let now = Time::from_secs(60);
    for connection in &mut connections {
        connection.admit_request(now, Priority::P0, false).unwrap();
        connection.handle_request_sent(now);
        assert_eq!(connection.poll_timeout(), None);
        connection.handle_timeout(Time::from_millis(60_100));
        assert!((connection.rate() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn without_a_throttle_set_no_traffic_needs_a_timer() {
    let mut connection = Connection::new(&settings::Connection::new("a", PeerIndex(0)));
    connection.handle_up(Time::ZERO);
    for at in 0..10_000 {
        connection.handle_answer_sent(Time::from_millis(at / 10));
        assert_eq!(connection.poll_timeout(), None);
    }
}

#[test]
fn a_timer_is_asked_for_only_at_the_sample_that_changes_the_level() {
    let mut settings = settings::Connection::new("a", PeerIndex(0));
    settings.throttle = Some(Throttle::new("set", 10));
    let mut connection = Connection::new(&settings);
    connection.handle_up(Time::ZERO);
    let now = Time::from_millis(30);
    for _ in 0..10 {
        connection.handle_answer_sent(now);
        assert_eq!(connection.poll_timeout(), None);
    }
    connection.handle_answer_sent(now);
    assert_eq!(connection.poll_timeout(), Some(Time::from_millis(100)));
    connection.handle_timeout(Time::from_millis(100));
    assert_eq!(connection.cpl().number(), 1);
    // While a level stands each sample may end it; after that, silence.
    let mut timers = 0;
    while let Some(due) = connection.poll_timeout() {
        connection.handle_timeout(due);
        timers += 1;
    }
    // In the window until 1.1 s, then 500 ms below the abatement.
    assert_eq!((timers, connection.cpl().number()), (15, 0));
}

#[test]
fn catching_up_after_years_is_quick() {
    let mut settings = settings::Connection::new("a", PeerIndex(0));
    settings.throttle = Some(Throttle::new("set", 10));
    let mut connection = Connection::new(&settings);
    connection.handle_up(Time::ZERO);
    (0..50).for_each(|_| connection.handle_answer_sent(Time::ZERO));
    // 5 * 10^9 samples: it would not end here if each were ticked through.
    connection.handle_timeout(Time::from_secs(500_000_000));
    assert_eq!(connection.cpl().number(), 0);
}
