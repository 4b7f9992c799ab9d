//! Connections taken out of service and put back, levels set by hand, the drain before the end.

use crate::message::Request;
use crate::net::Net;
use crate::node::Behaviour;
use governor_core::agent::Admin;
use governor_core::level::Level;
use governor_core::peer::{CloseReason, DisconnectCause, State};
use governor_core::settings::ConnectionIndex;
use std::time::Duration;

fn index(net: &Net, name: &str) -> ConnectionIndex {
    net.agent.settings().connection(name).unwrap()
}

fn disable(net: &mut Net, name: &str) {
    let connection = index(net, name);
    net.agent.handle_disable(net.now, connection);
    net.settle();
}

fn enable(net: &mut Net, name: &str) {
    let connection = index(net, name);
    net.agent.handle_enable(net.now, connection);
    net.settle();
}

#[test]
fn a_disabled_connection_drains_then_says_goodbye_and_stays_away() {
    let mut net = Net::star(1, 2);
    net.behave("s1", Behaviour::After(Duration::from_millis(500), 2001));
    let ids = net.requests("c1", 2);
    net.run_ms(10);
    disable(&mut net, "s1");
    let more = net.requests("c1", 3);
    net.run_ms(100);
    assert_eq!(net.got(["s1", "s2"]), [1, 4], "no new request for the draining one");
    assert!(net.slot("s1").machine().is_open(), "its pending request may still be answered");
    net.run_ms(1000);
    assert_eq!(net.codes(&ids), [2001, 2001]);
    assert_eq!(net.codes(&more), [2001; 3]);
    assert_eq!(net.slot("s1").admin(), Admin::Disabled);
    assert_eq!(net.slot("s1").machine().state(), State::Closed);
    let unwanted = CloseReason::Stopped(DisconnectCause::DoNotWantToTalkToYou);
    assert_eq!(net.slot("s1").last_close(), Some(&unwanted));
    net.run(Duration::from_secs(3600));
    assert_eq!(net.slot("s1").machine().state(), State::Closed);
    enable(&mut net, "s1");
    net.run_ms(100);
    assert_eq!(net.cpl("s1"), 0);
    net.requests("c1", 2);
    net.drive();
    assert_eq!(net.got(["s1"]), [2]);
}

#[test]
fn a_draining_connection_waits_no_longer_than_the_answer_timeout() {
    let mut net = Net::star(1, 1);
    net.behave("s1", Behaviour::Silent);
    let ids = net.requests("c1", 1);
    net.run_ms(10);
    disable(&mut net, "s1");
    net.run_ms(3100);
    assert_eq!(net.slot("s1").machine().state(), State::Closed);
    assert_eq!(net.codes(&ids), [3002]);
}

#[test]
fn a_disabled_connection_that_the_peer_opens_is_refused() {
    let mut net = Net::star(1, 1);
    disable(&mut net, "c1");
    net.run_ms(100);
    assert_eq!(net.slot("c1").machine().state(), State::Closed);
    let c1 = net.node("c1");
    net.dial(c1);
    net.run_ms(100);
    assert_eq!(net.slot("c1").machine().state(), State::Closed);
    enable(&mut net, "c1");
    net.dial(c1);
    net.run_ms(100);
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
}

#[test]
fn a_level_set_by_hand_holds_until_it_is_taken_back() {
    let mut net = Net::star(1, 2);
    let s1 = index(&net, "s1");
    net.agent.handle_manual_level(net.now, s1, Level::new(2));
    net.settle();
    assert_eq!(net.cpl("s1"), 2);
    for priority in [0, 1] {
        for _ in 0..4 {
            net.ask("c1", &Request::of_priority(priority));
        }
    }
    assert_eq!(net.got(["s1", "s2"]), [0, 8]);
    for _ in 0..4 {
        net.ask("c1", &Request::of_priority(2));
    }
    assert_eq!(net.got(["s1", "s2"]), [2, 10]);
    // Also over a close and an opening.
    net.cut("s1");
    assert_eq!(net.cpl("s1"), 99);
    net.run(Duration::from_secs(30));
    assert_eq!(net.cpl("s1"), 2);
    net.agent.handle_manual_level(net.now, s1, None);
    net.settle();
    assert_eq!(net.cpl("s1"), 0);
}

#[test]
fn a_drain_answers_what_is_pending_and_refuses_what_is_new() {
    let mut net = Net::star(1, 1);
    net.behave("s1", Behaviour::After(Duration::from_millis(300), 2001));
    let pending = net.requests("c1", 5);
    net.run_ms(10);
    net.agent.handle_drain(net.now);
    let refused = net.requests("c1", 2);
    net.run_ms(100);
    assert_eq!(net.codes(&refused), [3002; 2]);
    net.run_ms(400);
    assert_eq!(net.codes(&pending), [2001; 5]);
    net.agent.handle_stop(net.now, DisconnectCause::Rebooting);
    net.run(Duration::from_secs(10));
    assert!(net.agent.is_quiet());
    // Whoever opens the connection: it is to come back.
    let rebooting = CloseReason::Stopped(DisconnectCause::Rebooting);
    assert_eq!(["c1", "s1"].map(|name| net.slot(name).last_close()), [Some(&rebooting); 2]);
}

#[test]
fn many_connections_begin_a_lot_at_a_time() {
    let mut net = Net::new(crate::topology::Topology::star(0, 120));
    net.settle();
    let begun = |net: &Net| net.agent.slots().iter().filter(|s| s.machine().state() != State::Closed).count();
    assert_eq!(begun(&net), 50);
    net.run_ms(99);
    assert_eq!(begun(&net), 50);
    net.run_ms(2);
    assert_eq!(begun(&net), 100);
    net.run_ms(200);
    assert!(net.agent.slots().iter().all(|slot| slot.machine().is_open()));
}
