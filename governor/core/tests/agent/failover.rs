//! What happens to pending requests when a peer refuses, falls silent, leaves or breaks.

use crate::message::{self, Request};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::agent::Event;
use governor_core::peer::DisconnectCause;
use std::time::Duration;

#[test]
fn a_refusal_of_the_adjacent_peer_is_mended_elsewhere_without_the_t_bit() {
    // Field bug 30.
    for code in [3002, 3004] {
        let mut net = Net::chain(2);
        net.behave("s1", Behaviour::Answer(code));
        let answer = net.ask("c1", &Request::default());
        assert_eq!((answer.code(), answer.origin()), (Some(2001), "s2.example.net"));
        assert!(!net.last_request("s2").is_retransmitted());
        assert_eq!(net.counters("s2").retried, 1);
        assert_eq!(net.counters("s1").answers_received, 1);
    }
}

#[test]
fn other_codes_and_refusals_from_behind_go_back_as_they_are() {
    for behaviour in
        [Behaviour::Answer(3003), Behaviour::Answer(5012), Behaviour::Behind(3002), Behaviour::Behind(3004)]
    {
        let mut net = Net::chain(2);
        net.behave("s1", behaviour);
        net.ask("c1", &Request::default());
        assert_eq!(net.got(["s1", "s2"]), [1, 0]);
    }
}

#[test]
fn the_codes_to_retry_can_be_set() {
    let mut net = Net::up(Topology::chain(2).node(|n| n.retry_result_codes = vec![5012]));
    net.behave("s1", Behaviour::Answer(5012));
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
    net.behave("s1", Behaviour::Answer(3002));
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(3002));
}

#[test]
fn retries_are_bounded_by_max_attempts() {
    let mut net = Net::chain(4);
    for server in ["s1", "s2", "s3", "s4"] {
        net.behave(server, Behaviour::Answer(3002));
    }
    let answer = net.ask("c1", &Request::default());
    assert_eq!((answer.code(), answer.origin()), (Some(3002), "s2.example.net"), "the last one's own answer");
    assert!(answer.header().flags.is_error());
    assert_eq!(net.got(["s1", "s2", "s3", "s4"]), [1, 1, 0, 0]);
}

#[test]
fn with_nobody_else_left_the_peers_own_answer_goes_back() {
    let mut net = Net::chain(1);
    net.behave("s1", Behaviour::Answer(3004));
    let answer = net.ask("c1", &Request::default());
    assert_eq!((answer.code(), answer.origin()), (Some(3004), "s1.example.net"));
    assert_eq!(net.agent.totals().refused.len(), 0);
}

#[test]
fn a_peer_that_was_asked_for_by_name_is_believed() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Answer(3002));
    assert_eq!(net.ask("c1", &Request::to_host("s1.example.net")).origin(), "s1.example.net");
    assert_eq!(net.got(["s1", "s2"]), [1, 0]);
}

#[test]
fn the_t_bit_stays_for_a_retry_after_a_loss() {
    let mut net = Net::up(Topology::chain(3).node(|n| n.max_attempts = 3));
    net.behave("s1", Behaviour::Silent);
    net.behave("s2", Behaviour::Answer(3004));
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
    assert!(net.last_request("s3").is_retransmitted(), "s1 may have done it");
}

#[test]
fn a_suspect_peer_gets_no_new_requests_and_its_pending_ones_fail_over() {
    let topology = Topology::chain(2).node(|n| {
        n.watchdog = Duration::from_secs(6);
        n.answer_timeout = Duration::from_secs(60);
    });
    let mut net = Net::up(topology);
    net.lose("s1", true);
    let id = net.request("c1", &Request::default());
    net.run_ms(17_000);
    assert_eq!(net.codes(&[id]), [2001]);
    assert!(net.last_request("s2").is_retransmitted());
    assert!(net.answer(id).at.as_secs_f64() >= 8.0);
    net.run_ms(8000);
    assert!(net.closes().contains(&"watchdog_timeout"));
}

#[test]
fn an_answer_of_a_suspect_peer_is_late_and_the_peer_well_again() {
    let topology = Topology::chain(2).node(|n| {
        n.watchdog = Duration::from_secs(6);
        n.answer_timeout = Duration::from_secs(60);
    });
    let mut net = Net::up(topology);
    net.script("s1").answers_watchdogs = false;
    net.behave("s1", Behaviour::Silent);
    let id = net.request("c1", &Request::default());
    while net.cpl("s1") != 98 {
        assert!(net.step());
    }
    net.run_ms(5);
    assert_eq!(net.answer(id).origin(), "s2.example.net");
    let late = message::answer(&net.last_request("s1").message(), "s1.example.net", Some(2001));
    let wire = net.wire_of("s1");
    net.send(wire, &late);
    net.run_ms(5);
    assert_eq!(net.cpl("s1"), 0);
    assert_eq!((net.counters("s1").answers_late, net.counters("s1").answers_unknown), (1, 0));
}

#[test]
fn a_peer_that_says_good_bye_gets_no_more_requests() {
    for cause in [DisconnectCause::Rebooting, DisconnectCause::Busy, DisconnectCause::DoNotWantToTalkToYou] {
        let mut net = Net::chain(2);
        net.behave("s1", Behaviour::After(Duration::from_millis(2), 2001));
        let pending = net.request("c1", &Request::default());
        net.run_ms(3);
        net.dpr("s1", cause);
        // The next request comes behind the DPR and before the end of the connection.
        net.run(Duration::from_micros(500));
        let later = net.request("c1", &Request::default());
        net.drive();
        assert_eq!(net.answer(pending).code(), Some(2001), "{cause:?}");
        assert_eq!(net.answer(later).origin(), "s2.example.net");
        assert!(!net.last_request("s2").is_retransmitted(), "it went there first");
        assert_eq!(net.got(["s1"]), [1]);
    }
}

#[test]
fn when_it_comes_back_depends_on_the_cause() {
    // Field bug 19; Tc is 10 s here.
    let up_again = |cause, secs| {
        let mut net = Net::chain(1);
        net.dpr("s1", cause);
        net.run(Duration::from_secs(secs));
        net.events.iter().any(|(_, e)| matches!(e, Event::Up(_)))
    };
    assert!(up_again(DisconnectCause::Rebooting, 11));
    assert!(!up_again(DisconnectCause::Busy, 70));
    assert!(up_again(DisconnectCause::Busy, 101));
    assert!(!up_again(DisconnectCause::DoNotWantToTalkToYou, 100_000));
}

#[test]
fn answers_still_come_from_a_peer_that_we_say_good_bye_to_until_it_closes() {
    let mut net = Net::chain(1);
    net.behave("s1", Behaviour::Silent);
    net.request("c1", &Request::default());
    net.run_ms(10);
    net.agent.handle_stop(net.now, DisconnectCause::Rebooting);
    net.settle();
    let wire = net.wire_of("s1");
    let answer = message::answer(&net.last_request("s1").message(), "s1.example.net", Some(2001));
    net.send(wire, &answer);
    net.run_ms(1);
    assert_eq!(net.counters("s1").answers_received, 1);
    net.run(Duration::from_secs(20));
    assert!(net.agent.is_quiet(), "every link has ended");
    assert_eq!(net.agent.transactions(), 0);
}

#[test]
fn a_server_that_closes_on_a_request_is_not_asked_again_for_it() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Close);
    assert_eq!(net.ask("c1", &Request::default()).origin(), "s2.example.net");
    assert_eq!(net.got(["s1", "s2"]), [1, 1]);
}

#[test]
fn two_answers_are_one_answer_and_one_count() {
    // Field bug 27.
    let mut net = Net::chain(1);
    net.behave("s1", Behaviour::Twice);
    net.ask("c1", &Request::default());
    net.run_ms(10);
    assert_eq!((net.counters("s1").answers_received, net.counters("s1").answers_duplicate), (1, 1));
    net.behave("s1", Behaviour::Bogus);
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
    assert_eq!((net.counters("s1").answers_received, net.counters("s1").answers_unknown), (2, 1));
    assert_eq!(net.cpl("s1"), 0, "the connection is kept");
}

#[test]
fn a_new_connection_knows_nothing_of_the_old_ones_identifiers() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Silent);
    net.ask("c1", &Request::default());
    let late = message::answer(&net.last_request("s1").message(), "s1.example.net", Some(2001));
    net.cut("s1");
    net.run_ms(5000);
    let wire = net.wire_of("s1");
    net.send(wire, &late);
    net.run_ms(5);
    assert_eq!((net.counters("s1").answers_late, net.counters("s1").answers_unknown), (0, 1));
}

#[test]
fn an_answer_without_a_result_code_is_passed_on() {
    // Field bug 13.
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::NoResult);
    let answer = net.ask("c1", &Request::default());
    assert_eq!((answer.code(), answer.origin()), (None, "s1.example.net"));
}

#[test]
fn base_answers_that_nobody_asked_for_disturb_nothing() {
    let mut net = Net::chain(1);
    net.behave("s1", Behaviour::Confused);
    for _ in 0..3 {
        assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
    }
    assert_eq!(net.closes(), [""; 0]);
}

#[test]
fn a_client_that_is_back_after_a_failure_has_answers_at_once() {
    // RFC 3539, REOPEN: no requests *to* the peer before three watchdog answers; its own requests are taken, and
    // their answers have to leave.
    let mut net = Net::chain(1);
    net.cut("c1");
    net.script("c1").answers_watchdogs = false;
    let client = net.node("c1");
    net.dial(client);
    net.run_ms(5);
    assert!(!net.slot("c1").machine().is_up(), "REOPEN");
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
    assert_eq!(net.ask("c1", &Request { realm: Some("nowhere".into()), ..Request::default() }).code(), Some(3003));
    assert_eq!(net.cpl("c1"), 3, "answers only");
}

#[test]
fn a_server_that_is_back_after_a_failure_gets_requests_after_three_watchdog_answers() {
    let mut net = Net::chain(2);
    net.cut("s1");
    net.script("s1").answers_watchdogs = false;
    net.run_ms(1000);
    assert!(net.slot("s1").machine().is_open());
    assert_eq!(net.ask("c1", &Request::default()).origin(), "s2.example.net");
    net.script("s1").answers_watchdogs = true;
    net.run(Duration::from_secs(120));
    assert_eq!(net.ask("c1", &Request::default()).origin(), "s1.example.net");
}

#[test]
fn requests_in_flight_when_everything_breaks_all_have_an_answer() {
    let mut net = Net::star(2, 3);
    for server in ["s1", "s2", "s3"] {
        net.behave(server, Behaviour::After(Duration::from_millis(50), 2001));
    }
    let ids = [net.requests("c1", 30), net.requests("c2", 30)].concat();
    net.run_ms(10);
    for server in ["s1", "s2", "s3"] {
        net.script(server).reachable = Some(false);
        net.cut(server);
    }
    net.drive();
    assert_eq!(net.codes(&ids), [3002; 60]);
}
