//! Rule 7 through the relay: what a request's priority is taken from. `s1` is at level 2, so only priority 2 goes there.

use crate::message::{CREDIT_CONTROL, GX, Request};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use std::time::Duration;

/// Does this request go to `s1`?
fn is_urgent(topology: Topology, from: &str, request: &Request) -> bool {
    let mut net = Net::up(topology);
    net.behave("s1", Behaviour::Answer(3004));
    net.ask(from, &Request::of_priority(1));
    assert_eq!(net.cpl("s1"), 2);
    net.behave("s1", Behaviour::Answer(2001));
    net.ask(from, request).origin() == "s1.example.net"
}

fn chain() -> Topology {
    let t = Topology::new().client("c1").client("c2").server("s1").server("s2");
    t.route("example.net", &[&[("s1", 1)], &[("s2", 1)]]).route("Other.net", &[&[("s1", 1)], &[("s2", 1)]])
}

#[test]
fn drmp_is_mapped_by_thirds() {
    for drmp in 0..16 {
        let request = Request { drmp: Some(drmp), ..Request::default() };
        assert_eq!(is_urgent(chain(), "c1", &request), drmp <= 4, "DRMP {drmp}");
    }
    assert!(!is_urgent(chain(), "c1", &Request { drmp: Some(16), ..Request::default() }), "not a DRMP");
}

#[test]
fn drmp_goes_before_the_rules_and_its_mapping_can_be_set() {
    let all = || chain().priority(2, |_| ());
    assert!(is_urgent(all(), "c1", &Request::default()));
    assert!(!is_urgent(all(), "c1", &Request { drmp: Some(15), ..Request::default() }));
    let mapped = chain().node(|n| n.drmp[15] = governor_core::level::Priority::P2);
    assert!(is_urgent(mapped, "c1", &Request { drmp: Some(15), ..Request::default() }));
}

#[test]
fn the_first_rule_that_matches_counts_and_none_means_0() {
    let gx = Request { application: GX, command: CREDIT_CONTROL, ..Request::default() };
    let rules = || chain().priority(0, |r| r.command = Some(CREDIT_CONTROL)).priority(2, |r| r.application = Some(GX));
    assert!(!is_urgent(rules(), "c1", &gx));
    assert!(is_urgent(rules(), "c1", &Request { command: 258, ..gx }));
    assert!(!is_urgent(rules(), "c1", &Request::default()));
}

#[test]
fn rules_match_the_ingress_peer_and_the_realm() {
    let by_peer = || chain().priority(2, |r| r.ingress_peer = Some("C2.example.net".into()));
    assert!(is_urgent(by_peer(), "c2", &Request::default()));
    assert!(!is_urgent(by_peer(), "c1", &Request::default()));
    let by_realm = || chain().priority(2, |r| r.realm = Some("other.net".into()));
    assert!(is_urgent(by_realm(), "c1", &Request { realm: Some("OTHER.NET".into()), ..Request::default() }));
    assert!(!is_urgent(by_realm(), "c1", &Request::default()));
}

#[test]
fn an_answer_in_place_of_one_that_cannot_come_keeps_priority_3() {
    // The client's connection is at level 3, where requests would be held back.
    let mut net = Net::up(chain());
    let wire = net.wire_of("c1");
    net.wires[wire].to_node.capacity = 200;
    net.wires[wire].reading = false;
    net.requests("c1", 5);
    net.drive();
    net.reads("c1", true);
    net.run(Duration::from_millis(10));
    assert_eq!(net.cpl("c1"), 3);
    let answer = net.ask("c1", &Request { realm: Some("nowhere".into()), ..Request::default() });
    assert_eq!(answer.code(), Some(3003));
}
