//! The way there and back.

use crate::message::Request;
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::diameter::codes::avp;
use governor_core::settings::Usage;
use std::time::Duration;

#[test]
fn a_request_goes_out_and_its_answer_comes_back() {
    let mut net = Net::star(1, 1);
    let answer = net.ask("c1", &Request::default());
    assert_eq!(answer.code(), Some(2001));
    assert_eq!(answer.origin(), "s1.example.net");
    let request = net.last_request("s1");
    assert_eq!(request.texts(avp::ROUTE_RECORD), ["c1.example.net"]);
    assert!(!request.is_retransmitted());
    assert_eq!(net.counters("c1").requests_received, 1);
    assert_eq!(net.counters("s1").requests_sent, 1);
    assert_eq!(net.counters("s1").answers_received, 1);
    assert_eq!(net.counters("c1").answers_sent, 1);
}

#[test]
fn many_requests_in_small_reads_all_come_back() {
    let mut net = Net::star(2, 3);
    net.segment = 37;
    let ids = [net.requests("c1", 50), net.requests("c2", 50)].concat();
    net.drive();
    assert_eq!(net.codes(&ids), vec![2001; 100]);
    assert_eq!(net.got(["s1", "s2", "s3"]), [34, 33, 33]);
}

#[test]
fn our_identifiers_wrap_and_none_is_used_twice() {
    // Field bug 28. The seed is one with which the server's identifiers start just before the wrap; the nodes check
    // that no identifier comes a second time.
    let mut net = Net::with_seed(Topology::chain(1), 303_736_647);
    net.connect_all();
    net.behave("s1", Behaviour::Silent);
    let pending = net.request("c1", &Request::default());
    net.run_ms(10);
    assert!(net.last_request("s1").header().hop_by_hop >= 0xffff_fff0, "the seed does not fit any more");
    net.behave("s1", Behaviour::Answer(2001));
    let ids = net.requests("c1", 40);
    net.run_ms(10);
    assert_eq!(net.codes(&ids), [2001; 40]);
    assert!(net.last_request("s1").header().hop_by_hop < 40, "wrapped");
    net.drive();
    assert_eq!(net.codes(&[pending]), [3002]);
}

#[test]
fn a_wake_up_that_is_ten_minutes_late_breaks_nothing() {
    // The machine was suspended, or the process stopped.
    let mut net = Net::star(2, 2);
    net.behave("s1", Behaviour::Silent);
    net.behave("s2", Behaviour::Silent);
    let ids = [net.requests("c1", 5), net.requests("c2", 5)].concat();
    net.run_ms(10);
    net.now += Duration::from_secs(600);
    net.behave("s1", Behaviour::Answer(2001));
    net.behave("s2", Behaviour::Answer(2001));
    net.drive();
    assert!(net.codes(&ids).iter().all(|code| matches!(code, 2001 | 3002)));
    net.run(Duration::from_secs(120));
    let ids = [net.requests("c1", 5), net.requests("c2", 5)].concat();
    net.drive();
    assert_eq!(net.codes(&ids), [2001; 10]);
}

#[test]
fn with_every_control_off_nothing_is_ever_refused() {
    // Field bug 39.
    let topology = Topology::star(2, 2)
        .set("s1", |c| c.remote_busy.usage = Usage::Off)
        .set("s2", |c| c.remote_busy.usage = Usage::Off)
        .node(|n| n.retry_result_codes.clear());
    let mut net = Net::up(topology);
    net.behave("s1", Behaviour::Answer(3004));
    net.behave("s2", Behaviour::After(Duration::from_millis(900), 2001));
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.extend(net.requests("c1", 10));
        ids.extend(net.requests("c2", 10));
        net.run_ms(20);
    }
    net.drive();
    assert_eq!(net.got(["s1", "s2"]), [500, 500]);
    assert!(ids.iter().all(|&id| net.answer(id).origin() != "gov.example.net"));
    assert!(net.agent.totals().refused.is_empty());
    for server in ["s1", "s2"] {
        assert_eq!(net.counters(server).held_back, [[0; 4]; 3]);
    }
}
