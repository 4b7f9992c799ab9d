//! Rule 5: pending transactions, timeouts and retransmission.

use crate::message::{Request, Seen};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use std::time::Duration;

#[test]
fn no_answer_in_time_sends_it_again_elsewhere_with_the_t_bit() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Silent);
    let sent = net.now;
    let id = net.request("c1", &Request::default());
    net.drive();
    assert_eq!(net.codes(&[id]), [2001]);
    let again = net.last_request("s2");
    assert!(again.is_retransmitted());
    assert_eq!(again.header().end_to_end, id, "the end-to-end identifier is kept");
    assert!((3.0..3.01).contains(&(again.at - sent).as_secs_f64()), "after answer_timeout");
    assert_eq!((net.counters("s1").timeouts, net.counters("s2").retransmitted), (1, 1));
}

#[test]
fn at_most_max_attempts_connections_then_3002() {
    for attempts in [1, 2, 3] {
        let mut net = Net::up(Topology::chain(4).node(|n| n.max_attempts = attempts));
        for server in ["s1", "s2", "s3", "s4"] {
            net.behave(server, Behaviour::Silent);
        }
        let answer = net.ask("c1", &Request::default());
        assert_eq!((answer.code(), answer.origin()), (Some(3002), "gov.example.net"));
        let got = net.got(["s1", "s2", "s3", "s4"]);
        assert_eq!(got.iter().sum::<usize>(), usize::from(attempts));
        assert_eq!(net.agent.totals().refused["attempts_exhausted"], 1);
    }
}

#[test]
fn it_is_never_sent_twice_on_one_connection() {
    let mut net = Net::up(Topology::chain(2).node(|n| n.max_attempts = 16));
    net.behave("s1", Behaviour::Silent);
    net.behave("s2", Behaviour::Silent);
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(3002));
    assert_eq!(net.got(["s1", "s2"]), [1, 1]);
}

#[test]
fn at_the_limit_of_10_the_11th_goes_elsewhere_until_the_timeout_frees_the_records() {
    let topology = Topology::chain(2).set("s1", |c| c.pending_limit = 10).node(|n| n.max_attempts = 1);
    let mut net = Net::up(topology);
    net.behave("s1", Behaviour::Silent);
    net.requests("c1", 11);
    net.run_ms(10);
    assert_eq!(net.got(["s1", "s2"]), [10, 1]);
    assert_eq!(net.slot("s1").congestion().pending(), 10);
    assert_eq!(net.counters("s1").held_back[0], [0, 1, 0, 0], "by the pending limit, once");
    net.run_ms(3000);
    assert_eq!(net.slot("s1").congestion().pending(), 0);
    net.requests("c1", 1);
    net.run_ms(10);
    assert_eq!(net.got(["s1", "s2"]), [11, 1]);
}

#[test]
fn the_agents_own_limit_holds_for_all_connections_together() {
    let mut net = Net::up(Topology::star(1, 2).node(|n| n.pending_limit = 5));
    net.behave("s1", Behaviour::After(Duration::from_secs(1), 2001));
    net.behave("s2", Behaviour::After(Duration::from_secs(1), 2001));
    let ids = net.requests("c1", 6);
    net.run_ms(10);
    assert_eq!(net.agent.pending(), 5);
    let refused = net.answer(ids[5]);
    assert_eq!(refused.code(), Some(3004));
    net.drive();
    assert_eq!(net.codes(&ids[..5]), [2001; 5]);
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001), "there is room again");
}

#[test]
fn a_late_answer_is_counted_and_dropped() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::After(Duration::from_secs(4), 2001));
    let answer = net.ask("c1", &Request::default());
    assert_eq!(answer.origin(), "s2.example.net");
    net.run_ms(2000);
    let counters = net.counters("s1");
    assert_eq!((counters.answers_late, counters.answers_unknown, counters.answers_received), (1, 0, 0));
    assert_eq!(net.cpl("s1"), 0, "the connection is kept");
}

#[test]
fn a_connection_that_closes_fails_over_at_once_with_the_t_bit() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Silent);
    let ids = net.requests("c1", 3);
    net.run_ms(10);
    net.cut("s1");
    net.run_ms(10);
    assert_eq!(net.codes(&ids), [2001; 3]);
    assert!(net.script("s2").requests.iter().all(Seen::is_retransmitted));
    let order: Vec<u32> = net.script("s2").requests.iter().map(|r| r.header().end_to_end).collect();
    assert_eq!(order, ids, "in the order in which they were sent");
}

#[test]
fn the_t_bit_of_the_client_is_kept() {
    let mut net = Net::chain(1);
    net.ask("c1", &Request { flags: 0x50, ..Request::default() });
    assert!(net.last_request("s1").is_retransmitted());
}

#[test]
fn a_retransmission_waits_for_its_answer_anew() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Silent);
    net.behave("s2", Behaviour::After(Duration::from_millis(2900), 2001));
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
}

#[test]
fn no_refusal_is_mended_for_a_client_that_has_gone() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::After(Duration::from_millis(100), 3004));
    net.requests("c1", 3);
    net.run_ms(10);
    net.cut("c1");
    net.drive();
    assert_eq!(net.got(["s1", "s2"]), [3, 0]);
    assert_eq!(net.agent.totals().answers_orphaned, 3);
    assert_eq!(net.cpl("s1"), 1, "it was busy all the same");
}

#[test]
fn nobody_is_asked_again_for_a_client_that_has_gone() {
    let mut net = Net::star(2, 2);
    net.behave("s1", Behaviour::Silent);
    net.behave("s2", Behaviour::Silent);
    net.requests("c1", 4);
    net.run_ms(10);
    net.cut("c1");
    net.drive();
    assert_eq!(net.got(["s1", "s2"]), [2, 2]);
    assert_eq!(net.agent.totals().answers_orphaned, 4);
    assert_eq!(net.agent.totals().refused.get("attempts_exhausted"), None);
}
