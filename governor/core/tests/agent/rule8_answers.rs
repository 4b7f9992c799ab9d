//! Rule 8: the answers that the relay gives itself, each case with its code and form.

use crate::message::{GX, Request, Seen, with_length};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::diameter::Flags;
use governor_core::diameter::codes::avp;
use governor_core::settings::{GroupMode, Throttle};
use std::time::Duration;

const PROXY_INFOS: [&[u8]; 2] = [b"\0\0\x01\x18\x40\0\0\x0bp2", b"\0\0\x01\x18\x40\0\0\x0bp1"];

/// The request whose answer is looked at, and what must hold of any answer of ours to it.
fn answer_of_ours(net: &mut Net, request: &Request, code: u32) -> Seen {
    let request = Request { proxy_infos: PROXY_INFOS.to_vec(), ..request.clone() };
    let id = net.request("c1", &request);
    net.drive();
    let answer = net.answer(id);
    let header = answer.header();
    assert_eq!(answer.code(), Some(code));
    assert_eq!(header.flags.is_error(), code / 1000 == 3, "E bit");
    assert!(!header.flags.is_request() && !header.flags.is_retransmitted());
    assert_eq!(header.flags.is_proxiable(), request.flags & Flags::PROXIABLE != 0, "P bit as it came");
    assert_eq!((header.command, header.application), (request.command, request.application));
    assert_eq!(answer.text(avp::SESSION_ID), Some(format!("c1.example.net;1;{id}").as_str()));
    assert_eq!(answer.origin(), "gov.example.net");
    assert_eq!(answer.text(avp::ORIGIN_REALM), Some("example.net"));
    let infos: Vec<&[u8]> = answer.all(avp::PROXY_INFO).iter().map(|bytes| &bytes[8..]).collect();
    assert_eq!(infos, PROXY_INFOS, "every Proxy-Info, in order");
    answer
}

fn refused(net: &mut Net, request: &Request, code: u32, message: &str, label: &str) {
    let before = net.agent.totals().refused.get(label).copied().unwrap_or_default();
    let answer = answer_of_ours(net, request, code);
    let text = answer.text(avp::ERROR_MESSAGE).unwrap();
    assert!(text.contains(message), "{text}");
    assert_eq!(net.agent.totals().refused[label], before + 1);
}

#[test]
fn held_back_by_the_level_is_3004() {
    let mut net = Net::chain(1);
    net.behave("s1", Behaviour::Answer(3004));
    net.ask("c1", &Request::of_priority(1));
    refused(&mut net, &Request::default(), 3004, "CPL", "cpl");
    assert_eq!(net.counters("s1").held_back[0][0], 1);
}

#[test]
fn held_back_by_the_pending_limit_is_3004() {
    let mut net = Net::up(Topology::chain(1).set("s1", |c| c.pending_limit = 1));
    net.behave("s1", Behaviour::After(Duration::from_secs(1), 2001));
    net.request("c1", &Request::default());
    refused(&mut net, &Request::default(), 3004, "pending_limit", "pending_limit");
}

#[test]
fn held_back_by_the_rate_is_3004() {
    let mut net = Net::up(Topology::chain(1).set("s1", |c| {
        c.throttle = Some(Throttle { thresholds: vec![], ..Throttle::new("t", 10) });
    }));
    net.requests("c1", 10);
    net.run_ms(10);
    refused(&mut net, &Request::default(), 3004, "max_rate", "rate_limit");
}

#[test]
fn held_back_by_a_group_is_3004() {
    let mut net = Net::up(Topology::chain(1).group(&["s1"], |g| {
        g.max_pending = Some(1);
        g.mode = GroupMode::Limit;
    }));
    net.behave("s1", Behaviour::After(Duration::from_secs(1), 2001));
    net.request("c1", &Request::default());
    refused(&mut net, &Request::default(), 3004, "group", "group");
}

#[test]
fn the_code_for_congestion_can_be_set() {
    let mut net = Net::up(Topology::chain(1).set("s1", |c| c.pending_limit = 1).node(|n| n.busy_result_code = 5012));
    net.behave("s1", Behaviour::After(Duration::from_secs(1), 2001));
    net.request("c1", &Request::default());
    refused(&mut net, &Request::default(), 5012, "pending_limit", "pending_limit");
}

#[test]
fn no_connection_up_is_3002() {
    let mut net = Net::chain(2);
    for server in ["s1", "s2"] {
        net.script(server).reachable = Some(false);
        net.cut(server);
    }
    refused(&mut net, &Request::default(), 3002, "no connection", "no_connection");
}

#[test]
fn no_connection_that_answers_is_3002() {
    let mut net = Net::chain(1);
    net.behave("s1", Behaviour::Silent);
    refused(&mut net, &Request::default(), 3002, "no connection that was tried", "attempts_exhausted");
}

#[test]
fn no_route_for_the_application_in_a_realm_that_is_served_is_3002() {
    let topology = Topology::new().client("c1").server("s1");
    let mut net = Net::up(topology.route_with("example.net", &[&[("s1", 1)]], |r| r.application = Some(GX)));
    refused(&mut net, &Request::default(), 3002, "no route", "no_route");
}

#[test]
fn a_realm_that_is_in_no_route_is_3003() {
    let mut net = Net::chain(1);
    for realm in [Some("elsewhere.net".to_owned()), None] {
        let request = Request { realm, ..Request::default() };
        refused(&mut net, &request, 3003, "realm", "realm_not_served");
    }
}

#[test]
fn our_own_identity_in_the_request_is_3005() {
    let mut net = Net::chain(1);
    let own = || "GOV.example.net".to_owned();
    let origin = Request { origin_host: Some(own()), ..Request::default() };
    let record = Request { route_records: vec!["x.example.net".into(), own()], ..Request::default() };
    for request in [origin, record] {
        refused(&mut net, &request, 3005, "identity", "loop");
    }
    assert_eq!(net.got(["s1"]), [0]);
    // Somebody else's are no loop.
    let others = Request { route_records: vec!["gov.example.net.x".into(), "x".into()], ..Request::default() };
    assert_eq!(net.ask("c1", &others).code(), Some(2001));
}

#[test]
fn an_application_that_no_server_of_the_route_has_is_3007() {
    let mut net = Net::chain(2);
    refused(
        &mut net,
        &Request { application: 4, ..Request::default() },
        3007,
        "application",
        "application_unsupported",
    );
}

#[test]
fn a_connection_that_is_held_back_decides_the_code_whatever_the_others_lack() {
    // The last of the route has not the application; or it is the one that the request came from.
    for application in [true, false] {
        let mut net = Net::new(Topology::chain(2));
        if application {
            net.script("s2").applications = vec![GX];
        }
        net.connect_all();
        net.behave("s1", Behaviour::Answer(3004));
        net.ask("c1", &Request { host: Some("s1.example.net".into()), ..Request::of_priority(2) });
        assert_eq!(net.cpl("s1"), 3);
        let from = if application { "c1" } else { "s2" };
        assert_eq!(net.ask(from, &Request::default()).code(), Some(3004), "{from}");
    }
}

#[test]
fn a_request_that_may_not_be_proxied_is_3001() {
    let mut net = Net::chain(1);
    let answer = answer_of_ours(&mut net, &Request { flags: 0, ..Request::default() }, 3001);
    assert!(answer.text(avp::ERROR_MESSAGE).unwrap().contains("proxiable"));
    answer_of_ours(&mut net, &Request { application: 0, command: 999, ..Request::default() }, 3001);
    assert_eq!(net.agent.totals().rejected[&3001], 2);
}

#[test]
fn a_request_that_is_addressed_to_the_relay_itself_is_3001() {
    let mut net = Net::chain(1);
    answer_of_ours(&mut net, &Request::to_host("Gov.example.net"), 3001);
    assert_eq!(net.got(["s1"]), [0]);
}

#[test]
fn the_e_bit_in_a_request_is_3008() {
    let mut net = Net::chain(1);
    answer_of_ours(&mut net, &Request { flags: Flags::PROXIABLE | Flags::ERROR, ..Request::default() }, 3008);
}

#[test]
fn an_avp_whose_length_cannot_be_right_is_5014_with_failed_avp() {
    // Field bugs 1 and 2: below the header's length, with and without a vendor; past the end; stray bytes.
    let avp = |flags: u8, length: u8, more: &[u8]| {
        let mut bytes = vec![0, 0, 0x10, 0x01, flags, 0, 0, length];
        bytes.extend_from_slice(more);
        bytes
    };
    let mut tails: Vec<Vec<u8>> = (0..8).map(|length| avp(0x40, length, &[])).collect();
    tails.extend((0..12).map(|length| avp(0xc0, length, &[0, 0, 0x28, 0xaf])));
    tails.push(avp(0x40, 200, b"past the end"));
    tails.push(vec![1, 2, 3, 4]);
    let mut net = Net::chain(1);
    let count = tails.len() as u64;
    for tail in tails {
        let vendor = tail.len() > 4 && tail[4] & 0x80 != 0;
        let header: Vec<u8> = tail.iter().copied().take(4).collect();
        let answer = answer_of_ours(&mut net, &Request { tail, ..Request::default() }, 5014);
        let failed = answer.all(avp::FAILED_AVP);
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0][8..12], header, "the offending header");
        assert_eq!(failed[0][13..16], [0, 0, if vendor { 12 } else { 8 }], "with a length that can be right");
    }
    assert_eq!(net.counters("c1").malformed, count);
    assert_eq!(net.got(["s1"]), [0], "none is relayed");
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001), "and the connection is kept");
}

#[test]
fn a_malformed_answer_is_not_passed_on_and_5012_stands_in_for_it() {
    let mut net = Net::chain(2);
    net.behave("s1", Behaviour::Malformed);
    let answer = answer_of_ours(&mut net, &Request::default(), 5012);
    assert!(answer.text(avp::ERROR_MESSAGE).unwrap().contains("malformed"));
    assert_eq!(net.counters("s1").malformed, 1);
    net.behave("s1", Behaviour::Answer(2001));
    assert_eq!(net.ask("c1", &Request::default()).origin(), "s1.example.net", "and the connection is kept");
}

#[test]
fn a_header_that_cannot_be_right_is_answered_and_the_connection_closed() {
    // Field bugs 6 and 7. The last: one byte more than max_message.
    let mut cases: Vec<(u32, u8, u32)> = [0, 4, 16, 19, 21, 22, 102].map(|length| (length, 1, 5015)).to_vec();
    cases.extend([(65_540, 1, 5015), (0xff_fffc, 1, 5015), (20, 2, 5011), (20, 0, 5011)]);
    for (length, version, code) in cases {
        let mut net = Net::chain(1);
        let good = net.request("c1", &Request { realm: Some("nowhere".into()), ..Request::default() });
        let wire = net.wire_of("c1");
        let mut bytes = Request::default().build("c1.example.net", 0x77, 0x88).to_vec();
        bytes[..4].copy_from_slice(&(u32::from(version) << 24 | length).to_be_bytes());
        let client = net.node("c1");
        net.nodes[client].outstanding.insert((wire, 0x77), 0x88);
        net.send(wire, &bytes);
        net.send(wire, &[0; 100]);
        net.run_ms(10);
        let answer = net.answer(0x88);
        assert_eq!(answer.code(), Some(code), "length {length}, version {version}");
        assert_eq!((answer.header().version, answer.header().hop_by_hop), (1, 0x77));
        assert!(!answer.header().flags.is_error());
        assert_eq!(net.codes(&[good]), [3003], "what came before it has its answer too");
        assert_eq!(net.closes(), ["malformed"]);
        assert!(!net.wires[wire].at_node, "closed behind the answer");
    }
}

#[test]
fn a_header_that_cannot_be_right_of_an_answer_closes_without_an_answer() {
    let mut net = Net::chain(1);
    let wire = net.wire_of("s1");
    let before = net.script("s1").answers.len();
    net.send(wire, &[1, 0, 0, 19, 0, 0, 1, 60, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
    net.run_ms(10);
    assert_eq!(net.script("s1").answers.len(), before);
    assert_eq!(net.closes(), ["malformed"]);
}

#[test]
fn a_refusal_of_a_request_without_avps_is_answered_from_the_header() {
    let mut net = Net::chain(1);
    let wire = net.wire_of("c1");
    let mut bytes = Request::default().build("c1.example.net", 5, 6).to_vec();
    bytes.truncate(20);
    let client = net.node("c1");
    net.nodes[client].outstanding.insert((wire, 5), 6);
    net.send(wire, &with_length(bytes));
    net.drive();
    net.run_ms(5);
    assert_eq!(net.codes(&[6]), [3003]);
}
