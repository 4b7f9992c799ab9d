//! The end.

use crate::relay::{File, Relay, client, client_options, eventually, server};
use crate::reload::assert_clean;
use governor::load::{Behaviour, Client, ClientOptions};
use std::time::{Duration, Instant};

#[test]
fn a_stop_under_load_answers_everything_that_is_pending() {
    let slow = Behaviour { delay: Duration::from_millis(700), ..Behaviour::default() };
    let hss1 = server("hss1", slow);
    let mut relay = Relay::start(File::new(&[("hss1", hss1.address())]));
    let load = ClientOptions { count: Some(200), ..client_options(relay.address(), 200) };
    let load = Client::start(&load).unwrap();
    eventually("all of them pending", || hss1.snapshot().requests == 200);
    relay.signal("TERM");
    let status = relay.wait_end();
    assert_eq!(status.code(), Some(0), "{}", relay.log());
    let report = load.join();
    assert_eq!((report.sent, report.answered), (200, 200));
    assert_eq!(report.by_result.get("2001"), Some(&200), "{report:?}");
    assert_eq!(hss1.snapshot().connections_lost, 0, "goodbye");
    assert!(relay.log().contains("everything was answered, and every peer has said goodbye"), "{}", relay.log());
    assert!(!relay.socket().exists());
}

#[test]
fn what_comes_during_the_end_is_refused_not_lost() {
    let slow = Behaviour { delay: Duration::from_millis(300), ..Behaviour::default() };
    let hss1 = server("hss1", slow);
    let mut relay = Relay::start(File::new(&[("hss1", hss1.address())]));
    let options = ClientOptions { pace: governor::load::Pace::Rate(500.0), ..client_options(relay.address(), 1) };
    let load = Client::start(&options).unwrap();
    eventually("traffic", || load.snapshot().answered > 100);
    relay.signal("TERM");
    assert!(relay.wait_end().success());
    load.stop();
    let report = load.join();
    println!("{report:?}");
    assert!(report.adds_up);
    assert_eq!(report.timed_out, 0);
    assert!(report.by_result.keys().all(|code| matches!(code.as_str(), "2001" | "3002")), "{report:?}");
}

#[test]
fn the_end_waits_no_longer_than_the_answer_timeout() {
    let hss1 = server("hss1", Behaviour { silent: true, ..Behaviour::default() });
    let mut file = File::new(&[("hss1", hss1.address())]);
    file.node = "answer_timeout = \"1s\"".to_owned();
    let mut relay = Relay::start(file);
    let load = Client::start(&ClientOptions { count: Some(10), ..client_options(relay.address(), 10) }).unwrap();
    eventually("all of them pending", || hss1.snapshot().requests == 10);
    let start = Instant::now();
    relay.signal("TERM");
    assert_eq!(relay.wait_end().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    let report = load.join();
    assert_eq!(report.by_result.get("3002"), Some(&10), "{report:?}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let hss1 = server("hss1", Behaviour { silent: true, ..Behaviour::default() });
    let mut file = File::new(&[("hss1", hss1.address())]);
    file.node = "answer_timeout = \"10m\"".to_owned();
    let mut relay = Relay::start(file);
    let load = client(relay.address(), 10);
    eventually("all of them pending", || hss1.snapshot().requests == 10);
    relay.signal("TERM");
    eventually("it is stopping", || relay.log().contains("stopping"));
    std::thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    relay.signal("INT");
    assert_eq!(relay.wait_end().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    drop(load);
}

#[test]
fn an_idle_relay_ends_quickly_and_cleanly() {
    let hss1 = server("hss1", Behaviour::default());
    let mut relay = Relay::start(File::new(&[("hss1", hss1.address())]));
    let load = Client::start(&ClientOptions { count: Some(10), ..client_options(relay.address(), 10) }).unwrap();
    assert_clean(&load.join());
    let start = Instant::now();
    relay.signal("TERM");
    assert!(relay.wait_end().success());
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert_eq!(hss1.snapshot().connections_lost, 0);
}
