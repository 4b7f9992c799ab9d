//! Rule 2 through the relay: a peer that says 3004.

use crate::message::Request;
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::settings::Usage;

#[test]
fn a_3004_of_the_peer_sets_the_level_above_the_refused_priority() {
    for (priority, level) in [(0, 1), (1, 2), (2, 3)] {
        let mut net = Net::chain(2);
        net.behave("s1", Behaviour::Answer(3004));
        let answer = net.ask("c1", &Request::of_priority(priority));
        assert_eq!(answer.code(), Some(2001), "retried on the other server");
        assert_eq!(net.cpl("s1"), level);
        net.behave("s1", Behaviour::Answer(2001));
        for p in 0..3 {
            let [before] = net.got(["s1"]);
            net.ask("c1", &Request::of_priority(p));
            assert_eq!(net.got(["s1"]) == [before + 1], p >= level, "priority {p} at level {level}");
        }
    }
}

#[test]
fn the_level_goes_down_by_time() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Answer(3004));
    net.ask("c1", &Request::of_priority(2));
    for level in [3, 2, 1, 0] {
        assert_eq!(net.cpl("s1"), level);
        net.run_ms(5000);
    }
}

#[test]
fn a_3004_of_a_node_behind_is_passed_on_and_changes_nothing() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Behind(3004));
    let answer = net.ask("c1", &Request::default());
    assert_eq!((answer.code(), answer.origin()), (Some(3004), "behind.example.net"));
    assert_eq!(net.cpl("s1"), 0);
    assert_eq!((net.counters("s1").busy_own, net.counters("s1").busy_behind), (0, 1));
    assert_eq!(net.got(["s1", "s2"]), [1, 0]);
}

#[test]
fn the_peers_origin_host_compares_without_regard_to_case() {
    let mut net = Net::chain(1);
    net.script("s1").host = "S1.Example.NET".into();
    net.behave("s1", Behaviour::Answer(3004));
    net.ask("c1", &Request::default());
    assert_eq!(net.cpl("s1"), 1);
}

#[test]
fn usage_off_keeps_the_level_at_0() {
    let mut net = Net::up(Topology::chain(2).set("s1", |c| c.remote_busy.usage = Usage::Off));
    net.behave("s1", Behaviour::Answer(3004));
    net.ask("c1", &Request::default());
    assert_eq!(net.cpl("s1"), 0);
    assert_eq!(net.counters("s1").busy_own, 1);
}

#[test]
fn host_override_lets_out_what_is_addressed_to_the_busy_peer() {
    for (usage, passes) in [(Usage::On, false), (Usage::HostOverride, true)] {
        let mut net = Net::up(Topology::chain(2).set("s1", |c| c.remote_busy.usage = usage));
        net.behave("s1", Behaviour::Answer(3004));
        net.ask("c1", &Request::of_priority(2));
        assert_eq!(net.cpl("s1"), 3);
        net.behave("s1", Behaviour::Answer(2001));
        let answer = net.ask("c1", &Request::to_host("s1.example.net"));
        assert_eq!(answer.origin() == "s1.example.net", passes, "{usage:?}");
        assert_eq!(net.ask("c1", &Request::default()).origin(), "s2.example.net");
    }
}

#[test]
fn only_the_connection_that_got_the_answer_is_busy() {
    let topology =
        Topology::new().client("c1").server("s1").server("s1-b").route("example.net", &[&[("s1", 1)], &[("s1-b", 1)]]);
    let mut net = Net::up(topology);
    net.behave("s1", Behaviour::Answer(3004));
    net.request("c1", &Request::default());
    net.run_ms(2);
    net.behave("s1", Behaviour::Answer(2001));
    net.drive();
    assert_eq!((net.cpl("s1"), net.cpl("s1-b")), (1, 0));
}

#[test]
fn the_level_is_0_when_the_connection_has_closed() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Answer(3004));
    net.ask("c1", &Request::of_priority(2));
    net.cut("s1");
    assert_eq!(net.slot("s1").congestion().levels().remote_busy.number(), 0);
    net.run_ms(10_000);
    assert_eq!(net.cpl("s1"), 0, "and it is up again");
}
