//! Where requests go.

use crate::message::{GX, Request};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::diameter::codes::avp;

#[test]
fn each_hop_adds_the_route_record_of_the_peer_that_it_came_from() {
    let mut net = Net::star(2, 1);
    net.ask("c2", &Request { route_records: vec!["first.net".into()], ..Request::default() });
    assert_eq!(net.last_request("s1").texts(avp::ROUTE_RECORD), ["first.net", "c2.example.net"]);
}

#[test]
fn a_request_never_goes_back_to_the_peer_that_it_came_from() {
    // s1 is server and client at once, with two connections.
    let t = Topology::new().client("c1").server("s1").server("s1-b").server("s2");
    let mut net = Net::up(t.route("example.net", &[&[("s1", 1), ("s1-b", 1)], &[("s2", 1)]]));
    for _ in 0..4 {
        assert_eq!(net.ask("s1", &Request::default()).origin(), "s2.example.net");
        assert_eq!(net.ask("s1", &Request::to_host("s1.example.net")).origin(), "s2.example.net");
        assert_eq!(net.ask("c1", &Request::default()).origin(), "s1.example.net");
    }
    net.script("s2").reachable = Some(false);
    net.cut("s2");
    assert_eq!(net.ask("s1", &Request::default()).code(), Some(3002));
}

#[test]
fn a_destination_host_that_is_a_peer_is_tried_first() {
    let mut net = Net::chain(3);
    assert_eq!(net.ask("c1", &Request::to_host("S3.example.net")).origin(), "s3.example.net");
    assert_eq!(net.ask("c1", &Request::to_host("unknown.example.net")).origin(), "s1.example.net");
}

#[test]
fn a_destination_host_that_is_down_leaves_it_to_the_others_of_the_route() {
    let mut net = Net::chain(2);
    net.script("s2").reachable = Some(false);
    net.cut("s2");
    assert_eq!(net.ask("c1", &Request::to_host("s2.example.net")).origin(), "s1.example.net");
}

#[test]
fn the_connections_of_a_destination_host_take_turns() {
    let t = Topology::new().client("c1").server("s1").server("s1-b").server("s2");
    let mut net = Net::up(t.route("example.net", &[&[("s2", 1)]]));
    for _ in 0..6 {
        net.ask("c1", &Request::to_host("s1.example.net"));
    }
    assert_eq!((net.counters("s1").requests_sent, net.counters("s1-b").requests_sent), (3, 3));
}

#[test]
fn a_server_without_the_application_is_passed_over() {
    let mut net = Net::new(Topology::chain(2));
    net.script("s1").applications = vec![GX];
    net.connect_all();
    assert_eq!(net.ask("c1", &Request::default()).origin(), "s2.example.net");
    assert_eq!(net.ask("c1", &Request { application: GX, ..Request::default() }).origin(), "s1.example.net");
    assert_eq!(net.counters("s1").held_back, [[0; 4]; 3], "that is no congestion");
}

#[test]
fn a_relay_takes_every_application() {
    let mut net = Net::new(Topology::chain(1));
    net.script("s1").applications = vec![0xffff_ffff];
    net.connect_all();
    assert_eq!(net.ask("c1", &Request { application: 1234, ..Request::default() }).code(), Some(2001));
}

#[test]
fn commands_applications_and_avps_that_nobody_knows_pass_byte_for_byte() {
    // Field bugs 10 and 14: the ledger compares every byte of every message that passes.
    let mut net = Net::new(Topology::chain(1));
    net.script("s1").applications = vec![0xffff_ffff];
    net.connect_all();
    let tail = vec![
        0xde, 0xad, 0xbe, 0xef, 0xff, 0, 0, 15, 0, 0, 0x28, 0xaf, 1, 2, 3,
        0x55, // M bit, vendor, padding not zero
        0, 0, 1, 27, 0x40, 0, 0, 21, 0, 0, 0, 1, 0xc0, 0, 0, 99, 1, 2, 3, 4, 5, 0, 0, 0, // Grouped only by name
    ];
    let request = Request { command: 0xff_fffe, application: 0xffff_fffe, tail, ..Request::default() };
    assert_eq!(net.ask("c1", &request).code(), Some(2001));
    assert_eq!(net.last_request("s1").texts(avp::ROUTE_RECORD), ["c1.example.net"]);
}

#[test]
fn answers_go_to_where_the_request_came_from() {
    // Field bug 34: not to the first peer configured, nor to another connection of the same peer.
    let t = Topology::new().client("c1").client("c1-b").client("c2").server("s1");
    let mut net = Net::up(t.route("example.net", &[&[("s1", 1)]]));
    net.ask("c2", &Request::default());
    net.ask("c1", &Request::default());
    assert_eq!(net.counters("c2").answers_sent, 1);
    assert_eq!(net.counters("c1").answers_sent + net.counters("c1-b").answers_sent, 1);
}

#[test]
fn an_answer_whose_client_has_gone_is_dropped_and_counted() {
    let mut net = Net::chain(1);
    net.behave("s1", Behaviour::After(std::time::Duration::from_secs(1), 2001));
    net.request("c1", &Request::default());
    net.run_ms(10);
    net.cut("c1");
    let client = net.node("c1");
    net.dial(client);
    net.drive();
    assert_eq!(net.cpl("c1"), 0, "the peer is back, on another connection");
    assert_eq!(net.agent.totals().answers_orphaned, 1);
    assert_eq!(net.script("c1").answers.len(), 0);
}

#[test]
fn one_slow_server_costs_the_others_nothing() {
    // Field bug 36, with its numbers: 200 requests/s, a server that takes 5 s, and one that reads nothing at all.
    let t = Topology::new().client("c1").server("slow").server("deaf").server("well");
    let t = t.route("slow.net", &[&[("slow", 1)]]).route("deaf.net", &[&[("deaf", 1)]]);
    let mut net = Net::up(t.route("well.net", &[&[("well", 1)]]));
    net.behave("slow", Behaviour::After(std::time::Duration::from_secs(5), 2001));
    net.reads("deaf", false);
    let request = |realm: &str| Request { realm: Some(realm.into()), filler: 1000, ..Request::default() };
    let mut asked = Vec::new();
    for _ in 0..600 {
        net.request("c1", &request("slow.net"));
        net.request("c1", &request("deaf.net"));
        asked.push((net.now, net.request("c1", &request("well.net"))));
        net.run_ms(5);
    }
    net.drive();
    assert_eq!(net.cpl("deaf"), 98);
    assert!(net.agent.totals().refused["cpl"] > 400);
    for (at, id) in asked {
        let answer = net.answer(id);
        assert_eq!(answer.code(), Some(2001));
        assert_eq!((answer.at - at).as_millis(), 4, "four ways of 1 ms");
    }
}

#[test]
fn shares_follow_the_weights() {
    let t = Topology::new().client("c1").server("s1").server("s2").server("s3");
    let mut net = Net::up(t.route("example.net", &[&[("s1", 5), ("s2", 3), ("s3", 0)]]));
    net.requests("c1", 80);
    net.drive();
    assert_eq!(net.got(["s1", "s2", "s3"]), [50, 30, 0]);
}
