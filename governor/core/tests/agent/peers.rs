//! Who is let in, and what ends a connection.

use crate::message::{self, Request};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::agent::Event;
use governor_core::diameter::codes::avp;
use governor_core::peer::DisconnectCause;
use std::time::Duration;

/// The answer to the CER of a node that dials.
fn cea(net: &mut Net, node: usize) -> message::Seen {
    net.dial(node);
    net.run_ms(10);
    net.nodes[node].peer_messages.last().unwrap().clone()
}

#[test]
fn nobody_unknown_comes_in() {
    // Field bug 26.
    let mut net = Net::chain(1);
    let node = net.stranger("x");
    let answer = cea(&mut net, node);
    assert_eq!(answer.code(), Some(3010));
    assert!(answer.header().flags.is_error());
    assert!(answer.text(avp::ERROR_MESSAGE).unwrap().contains("x.example.net"));
    assert_eq!(net.agent.totals().unknown_peers, 1);
    assert_eq!(net.closes(), ["unknown_peer"]);
}

#[test]
fn the_realm_has_to_be_the_configured_one() {
    let mut net = Net::new(Topology::chain(1));
    net.script("c1").realm = "other.net".into();
    let node = net.node("c1");
    let answer = cea(&mut net, node);
    assert_eq!(answer.code(), Some(3010));
    assert!(answer.text(avp::ERROR_MESSAGE).unwrap().contains("Origin-Realm"));
}

#[test]
fn a_second_cer_closes_the_connection() {
    let mut net = Net::chain(1);
    let node = net.node("c1");
    let wire = net.wire_of("c1");
    let id = net.request("c1", &Request { realm: Some("nowhere".into()), ..Request::default() });
    let cer = net.cer(node);
    net.send(wire, &cer);
    net.run_ms(10);
    assert_eq!(net.nodes[node].peer_messages.last().unwrap().code(), Some(5012));
    assert_eq!(net.closes(), ["second_cer"]);
    assert_eq!(net.codes(&[id]), [3003], "what was answered before leaves before");
    assert!(!net.wires[wire].at_node);
}

#[test]
fn a_request_before_the_cer_closes_the_connection() {
    let mut net = Net::chain(1);
    let node = net.stranger("x");
    let wire = net.dial_silently(node);
    let bytes = Request::default().build("x.example.net", 1, 2);
    net.send(wire, &bytes);
    net.run_ms(10);
    assert_eq!(net.closes(), ["unexpected_message"]);
    assert!(!net.wires[wire].at_node);
}

#[test]
fn a_request_before_the_cea_closes_the_connection() {
    let mut net = Net::new(Topology::chain(1));
    net.run_ms(1);
    // The transport connection is there, and our CER on its way.
    let wire = net.wire_of("s1");
    let bytes = Request::default().build("s1.example.net", 1, 2);
    net.send(wire, &bytes);
    net.run_ms(10);
    assert_eq!(net.closes(), ["unexpected_message"]);
    assert_eq!(net.counters("s1").requests_received, 0);
}

#[test]
fn whoever_says_nothing_is_closed_after_connect_timeout() {
    let mut net = Net::chain(1);
    let node = net.stranger("x");
    let wire = net.dial_silently(node);
    net.run_ms(9_900);
    assert_eq!(net.closes(), [""; 0]);
    net.run_ms(200);
    assert_eq!(net.closes(), ["connect_timeout"]);
    assert!(!net.wires[wire].at_node);
}

#[test]
fn a_message_that_does_not_end_in_time_closes_the_connection() {
    // Field bug 6: too long a length makes the reader wait, never for ever.
    let mut net = Net::chain(1);
    let wire = net.wire_of("c1");
    let bytes = Request::default().build("c1.example.net", 1, 2);
    net.send(wire, &bytes[..30]);
    net.run_ms(5000);
    net.send(wire, &bytes[30..40]);
    net.run_ms(4900);
    assert_eq!(net.closes(), [""; 0]);
    net.run_ms(200);
    assert_eq!(net.closes(), ["message_timeout"], "10 s from its start, whatever came since");
}

#[test]
fn a_message_that_ends_in_time_is_taken_and_the_next_has_its_own_time() {
    let mut net = Net::chain(1);
    let wire = net.wire_of("c1");
    for id in 1..5 {
        let bytes = Request::default().build("c1.example.net", id, id);
        net.ledger.requested(id, "c1.example.net", bytes.clone());
        net.script("c1").outstanding.insert((wire, id), id);
        net.send(wire, &bytes[..30]);
        net.run_ms(9000);
        net.send(wire, &bytes[30..]);
        net.run_ms(10);
    }
    net.drive();
    assert_eq!(net.codes(&[1, 2, 3, 4]), [2001; 4]);
    assert_eq!(net.closes(), [""; 0]);
}

#[test]
fn a_message_that_begins_behind_the_end_of_another_has_its_own_time() {
    let mut net = Net::chain(1);
    let wire = net.wire_of("c1");
    let mut stream = Vec::new();
    for id in 1..6 {
        let bytes = Request::default().build("c1.example.net", id, id);
        net.ledger.requested(id, "c1.example.net", bytes.clone());
        net.script("c1").outstanding.insert((wire, id), id);
        stream.extend_from_slice(&bytes);
    }
    // Each piece ends one message and begins the next.
    for piece in stream.chunks(stream.len() / 5 + 10) {
        net.send(wire, piece);
        net.run_ms(9000);
    }
    assert_eq!(net.codes(&[1, 2, 3, 4, 5]), [2001; 5]);
    assert_eq!(net.closes(), [""; 0]);
}

#[test]
fn an_announced_length_costs_no_memory_before_its_bytes_come() {
    // Field bug 7: the limit is judged on the header alone.
    let mut net = Net::chain(1);
    for _ in 0..100 {
        let node = net.stranger("x");
        let wire = net.dial_silently(node);
        net.send(wire, &[1, 0xff, 0xff, 0xfc, 0x80, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
    net.run_ms(10);
    assert_eq!(net.closes(), ["malformed"; 100]);
}

#[test]
fn three_messages_cut_anywhere_are_three_messages() {
    // Field bug 8.
    let build = |id: u32| Request::default().build("c1.example.net", id, id);
    let stream = [build(1), build(2), build(3)].concat();
    for cut in 1..stream.len() {
        let mut net = Net::chain(1);
        let wire = net.wire_of("c1");
        for id in 1..4 {
            net.ledger.requested(id, "c1.example.net", build(id));
            net.script("c1").outstanding.insert((wire, id), id);
        }
        net.send(wire, &stream[..cut]);
        net.run_ms(5);
        net.send(wire, &stream[cut..]);
        net.run_ms(10);
        assert_eq!(net.codes(&[1, 2, 3]), [2001; 3], "cut at {cut}");
    }
}

#[test]
fn sixty_four_messages_in_one_read_are_all_taken() {
    let mut net = Net::chain(1);
    let ids = net.requests("c1", 64);
    net.drive();
    assert_eq!(net.codes(&ids), [2001; 64]);
}

#[test]
fn a_watchdog_request_is_answered_and_silence_is_asked_about() {
    let mut net = Net::up(Topology::chain(1).node(|n| n.watchdog = Duration::from_secs(6)));
    let wire = net.wire_of("c1");
    let dwr = message::dwr("c1.example.net", 4711);
    net.send(wire, &dwr);
    net.run_ms(5);
    let answer = net.script("c1").peer_messages.last().unwrap().clone();
    assert_eq!((answer.code(), answer.header().hop_by_hop), (Some(2001), 4711));
    net.run(Duration::from_secs(100));
    assert_eq!(net.closes(), [""; 0], "answered watchdogs keep the connections");
    assert!(net.script("s1").peer_messages.len() >= 10);
}

#[test]
fn a_peer_that_comes_again_while_its_connection_is_dead_gets_the_new_one() {
    // Field bug 22.
    let mut net = Net::chain(1);
    net.lose("c1", true);
    let node = net.node("c1");
    net.dial(node);
    net.run_ms(3100);
    assert_eq!(net.closes(), ["replaced"]);
    assert!(net.slot("c1").machine().is_open());
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
}

#[test]
fn a_peer_that_comes_again_while_its_connection_is_well_is_refused() {
    let mut net = Net::chain(1);
    let node = net.node("c1");
    let old = net.wire_of("c1");
    let answer = cea(&mut net, node);
    assert_eq!(answer.code(), Some(5012));
    assert_eq!(net.closes(), ["duplicate"]);
    assert!(net.wires[old].at_agent);
}

#[test]
fn several_connections_of_one_peer_each_have_their_slot() {
    let t = Topology::new().client("c1").client("c1-b").server("s1");
    let net = Net::up(t.route("example.net", &[&[("s1", 1)]]));
    assert!(net.slot("c1").link().is_some() && net.slot("c1-b").link().is_some());
    assert_ne!(net.slot("c1").link(), net.slot("c1-b").link());
}

#[test]
fn a_peer_that_comes_by_itself_takes_the_connection_that_waits_for_it() {
    let t = Topology::new().server("s1").client("s1-b").route("example.net", &[&[("s1", 1)]]);
    let mut net = Net::new(t);
    net.script("s1").reachable = None;
    let node = net.node("s1");
    net.dial(node);
    net.run_ms(20);
    assert!(net.slot("s1-b").machine().is_open() && !net.slot("s1").machine().is_open());
    net.script("s1").reachable = Some(true);
    net.run(Duration::from_secs(30));
    assert!(net.slot("s1-b").machine().is_open() && net.slot("s1").machine().is_open());
}

#[test]
fn a_connection_that_breaks_comes_back_by_itself() {
    let mut net = Net::chain(1);
    for _ in 0..5 {
        net.cut("s1");
        net.run(Duration::from_secs(30));
        assert!(net.slot("s1").machine().is_up());
        assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
    }
}

#[test]
fn a_server_that_is_not_there_is_tried_again_and_again() {
    let mut net = Net::new(Topology::chain(1));
    net.script("s1").reachable = Some(false);
    net.run(Duration::from_secs(100));
    let tries = net.events.iter().filter(|(_, e)| matches!(e, Event::Connect(_))).count();
    assert!((10..30).contains(&tries), "{tries} attempts in 100 s at a Tc of 10 s");
    net.script("s1").reachable = None;
    net.run(Duration::from_secs(100));
    assert!(net.events.iter().any(|(_, e)| matches!(e, Event::GiveUp(_))));
    net.script("s1").reachable = Some(true);
    net.run(Duration::from_secs(30));
    assert!(net.slot("s1").machine().is_up());
}

#[test]
fn a_transport_connection_that_nobody_waits_for_any_more_is_closed() {
    // It came in the very moment in which the attempt was given up.
    let mut net = Net::new(Topology::chain(1));
    net.script("s1").reachable = None;
    net.run_ms(10_100);
    let server = net.agent.settings().connection("s1").unwrap();
    assert!(net.events.iter().any(|(_, e)| *e == Event::GiveUp(server)));
    let link = net.agent.handle_connected(net.now, server, vec![]);
    let closed =
        std::iter::from_fn(|| net.agent.poll_event()).any(|e| matches!(e, Event::Close { link: l, .. } if l == link));
    assert!(closed);
    net.agent.handle_disconnected(net.now, link);
    net.script("s1").reachable = Some(true);
    net.run(Duration::from_secs(30));
    assert!(net.slot("s1").machine().is_up());
}

#[test]
fn after_a_stop_everything_ends_and_nobody_is_let_in() {
    let mut net = Net::star(2, 2);
    let stranger = net.stranger("x");
    net.dial_silently(stranger);
    for server in ["s1", "s2"] {
        net.behave(server, Behaviour::Silent);
    }
    net.requests("c1", 5);
    net.run_ms(10);
    net.agent.handle_stop(net.now, DisconnectCause::Rebooting);
    net.run_ms(1500);
    assert!(net.agent.is_quiet());
    assert_eq!(net.agent.transactions(), 0);
    let node = net.node("c1");
    let answer = cea(&mut net, node);
    assert_eq!(answer.code(), Some(5012));
    net.run(Duration::from_secs(100));
    assert!(net.agent.is_quiet());
}

#[test]
fn a_broken_cer_is_answered_with_its_code() {
    // Field bug 11: 64 Origin-Hosts; field bug 1: a vendor AVP of length 8.
    let node_cer = |net: &mut Net| {
        let node = net.node("c1");
        net.cer(node).to_vec()
    };
    let mut net = Net::new(Topology::chain(1));
    let mut many = node_cer(&mut net);
    for _ in 0..63 {
        many.extend_from_slice(b"\0\0\x01\x08\x40\0\0\x16c1.example.net\0\0");
    }
    let mut vendor = node_cer(&mut net);
    vendor.extend_from_slice(&[0, 0, 1, 12, 0xc0, 0, 0, 8]);
    for (bytes, code) in [(many, 5009), (vendor, 5014)] {
        let node = net.node("c1");
        let wire = net.dial_silently(node);
        net.send(wire, &message::with_length(bytes));
        net.run_ms(10);
        assert_eq!(net.nodes[node].peer_messages.last().unwrap().code(), Some(code));
        assert_eq!(net.closes().last(), Some(&"capabilities"));
    }
}

#[test]
fn every_link_that_ends_is_told_and_counted_once() {
    // Field bug 21.
    let mut net = Net::star(2, 2);
    net.cut("s1");
    net.dpr("s2", DisconnectCause::Busy);
    let wire = net.wire_of("c1");
    net.close_at_node(wire);
    net.run_ms(2000);
    let counted: u64 = net.agent.totals().closed.values().sum();
    assert_eq!(net.closes().len() as u64, counted);
    let mut closes = net.closes();
    closes.sort_unstable();
    assert_eq!(closes, ["dpr_busy", "peer_closed", "peer_closed"]);
}

#[test]
fn an_unknown_link_that_hangs_up_is_counted_too() {
    let mut net = Net::chain(1);
    let node = net.stranger("x");
    let wire = net.dial_silently(node);
    net.close_at_node(wire);
    net.run_ms(10);
    assert_eq!(net.agent.totals().closed["peer_closed"], 1);
}

#[test]
fn a_peer_comes_in_from_its_own_addresses_only() {
    let ours = std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    let mut topology = Topology::star(1, 1);
    topology.settings.peers[0].addresses = vec![ours];
    let mut net = Net::new(topology);
    let c1 = net.node("c1");
    net.dial(c1);
    net.run_ms(100);
    assert_eq!(net.closes(), ["unknown_peer"]);
    let cea = net.nodes[c1].peer_messages.last().unwrap();
    assert_eq!(cea.code(), Some(3010));
    assert_eq!(cea.text(avp::ERROR_MESSAGE), Some("address 127.0.0.1 is none of those that c1.example.net has"));
    net.nodes[c1].address = ours;
    net.dial(c1);
    net.run_ms(100);
    assert!(net.slot("c1").machine().is_open());
}
