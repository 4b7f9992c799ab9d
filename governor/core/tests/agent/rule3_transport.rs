//! Rule 3: a connection whose send buffer is full.

use crate::message::{Request, Seen};
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::diameter::codes::command;
use governor_core::level::Priority;
use governor_core::settings::Pressure;
use std::time::Duration;

/// A server that reads nothing, behind a send buffer of so many bytes.
fn jam(net: &mut Net, name: &str, capacity: usize) {
    let wire = net.wire_of(name);
    net.wires[wire].to_node.capacity = capacity;
    net.wires[wire].reading = false;
}

/// The length of the default request as it is forwarded for `c1`.
fn forwarded_length() -> usize {
    let mut net = Net::star(1, 1);
    net.ask("c1", &Request::default());
    net.last_request("s1").bytes.len()
}

#[test]
fn blocked_is_98_and_unblocked_goes_down_by_steps() {
    let mut net = Net::chain(2);
    jam(&mut net, "s1", 1000);
    net.requests("c1", 10);
    net.run_ms(10);
    assert_eq!(net.cpl("s1"), 98);
    net.reads("s1", true);
    net.run_ms(1);
    for expected in [3, 2, 1] {
        assert_eq!(net.cpl("s1"), expected);
        net.run_ms(4990);
        assert_eq!(net.cpl("s1"), expected, "not before 5 s");
        net.run_ms(10);
    }
    assert_eq!(net.cpl("s1"), 0);
}

#[test]
fn each_step_lets_its_priorities_out() {
    let mut net = Net::chain(2);
    jam(&mut net, "s1", 1000);
    net.requests("c1", 10);
    net.run_ms(10);
    net.reads("s1", true);
    net.run_ms(10);
    for level in [3, 2, 1, 0] {
        assert_eq!(net.cpl("s1"), level);
        for priority in 0..3 {
            let [before] = net.got(["s1"]);
            net.ask("c1", &Request::of_priority(priority));
            assert_eq!(net.got(["s1"]) != [before], priority >= level, "priority {priority} at level {level}");
        }
        net.run_ms(5000);
    }
}

#[test]
fn what_has_not_begun_is_sent_elsewhere_and_what_has_begun_is_completed_first() {
    let length = forwarded_length();
    let mut net = Net::chain(2);
    jam(&mut net, "s1", 2 * length + length / 2);
    let ids = net.requests("c1", 10);
    net.run_ms(10);
    let wire = net.wire_of("s1");
    assert_eq!(net.wires[wire].begun.len(), length / 2, "the third is half written");
    assert_eq!(net.got(["s1", "s2"]), [0, 7]);
    assert_eq!(net.counters("s1").requests_withdrawn, 7);
    assert!(net.nodes[net.node("s2")].requests.iter().all(|r| !r.is_retransmitted()), "never written: no T bit");
    assert_eq!(net.slot("s1").congestion().pending(), 3);
    net.reads("s1", true);
    net.drive();
    assert_eq!(net.got(["s1", "s2"]), [3, 7]);
    assert_eq!(net.codes(&ids), [2001; 10]);
    assert_eq!(net.counters("s1").requests_sent, 3);
    assert_eq!(net.counters("s1").timeouts, 0);
}

#[test]
fn with_nowhere_else_to_go_the_unwritten_are_answered_3004_at_once() {
    let length = forwarded_length();
    let mut net = Net::chain(1);
    jam(&mut net, "s1", 2 * length);
    let ids = net.requests("c1", 5);
    net.run_ms(10);
    let codes: Vec<_> = ids[2..].iter().map(|&id| net.answer(id)).collect();
    for answer in &codes {
        assert_eq!(answer.code(), Some(3004));
        assert!(answer.at.as_secs_f64() < 0.2, "not after a timeout");
    }
    assert_eq!(net.agent.totals().refused["cpl"], 3);
    net.reads("s1", true);
    net.drive();
    assert_eq!(net.codes(&ids[..2]), [2001; 2]);
}

#[test]
fn answers_queued_or_new_are_discarded_and_counted() {
    let mut net = Net::star(1, 1);
    jam(&mut net, "c1", 400);
    net.requests("c1", 10);
    net.drive();
    assert_eq!(net.cpl("c1"), 98);
    let queued = net.counters("c1").answers_discarded;
    assert!(queued > 0);
    net.requests("c1", 5);
    net.drive();
    assert_eq!(net.counters("c1").answers_discarded, queued + 5);
    net.reads("c1", true);
    net.run_ms(10);
    // Those written, and the one half written, arrive; the rest never.
    let sent = net.counters("c1").answers_sent;
    assert_eq!(sent + net.counters("c1").answers_discarded, 15);
    assert_eq!(net.script("c1").answers.len() as u64, sent);
    assert_eq!(net.script("c1").outstanding.len() as u64, queued + 5);
    // Answers leave at level 3 already.
    assert_eq!(net.cpl("c1"), 3);
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
}

#[test]
fn blocking_again_on_the_way_down_is_98_again() {
    let mut net = Net::chain(2);
    jam(&mut net, "s1", 1000);
    net.requests("c1", 10);
    net.run_ms(10);
    net.reads("s1", true);
    net.run_ms(5100);
    assert_eq!(net.cpl("s1"), 2);
    net.reads("s1", false);
    for _ in 0..10 {
        net.request("c1", &Request::of_priority(2));
    }
    net.run_ms(10);
    assert_eq!(net.cpl("s1"), 98);
    net.reads("s1", true);
    net.run_ms(10);
    assert_eq!(net.cpl("s1"), 3, "from the top");
}

#[test]
fn our_own_peer_messages_wait_and_leave_when_there_is_room() {
    let mut net = Net::star(1, 1);
    jam(&mut net, "c1", 400);
    net.requests("c1", 10);
    net.drive();
    let wire = net.wire_of("c1");
    let dwr = crate::message::dwr("c1.example.net", 99);
    net.send(wire, &dwr);
    net.run_ms(10);
    net.reads("c1", true);
    net.run_ms(10);
    let last = net.script("c1").peer_messages.last().unwrap();
    assert_eq!((last.header().command, last.header().hop_by_hop), (command::DEVICE_WATCHDOG, 99));
}

#[test]
fn a_peer_that_asks_and_never_reads_does_not_fill_the_memory() {
    let mut net = Net::star(1, 1);
    net.segment = 64 * 1024;
    jam(&mut net, "c1", 100);
    let wire = net.wire_of("c1");
    for id in 0..5000 {
        let dwr = crate::message::dwr("c1.example.net", id);
        net.send(wire, &dwr);
    }
    net.run_ms(10);
    let kept = net.agent.output(net.wires[wire].link).len();
    assert!(kept > 0 && kept < 128 * 1024, "{kept} bytes are kept for a peer that does not read");
}

#[test]
fn pressure_sets_levels_before_anything_blocks() {
    let topology = Topology::chain(2).set("s1", |c| c.transport.pressure = Some(Pressure::default()));
    let mut net = Net::up(topology);
    let link = net.wires[net.wire_of("s1")].link;
    for (queued, level) in [(49, 0), (50, 1), (70, 2), (85, 3), (74, 2), (39, 0)] {
        net.agent.handle_pressure(net.now, link, queued, 100);
        net.settle();
        assert_eq!(net.cpl("s1"), level, "{queued} %");
    }
    net.agent.handle_pressure(net.now, link, 70, 100);
    net.ask("c1", &Request::of_priority(1));
    net.ask("c1", &Request::of_priority(2));
    assert_eq!(net.got(["s1", "s2"]), [1, 1]);
}

#[test]
fn a_blocked_connection_that_closes_fails_over_what_it_had() {
    let length = forwarded_length();
    let mut net = Net::chain(2);
    jam(&mut net, "s1", length + length / 2);
    let ids = net.requests("c1", 3);
    net.run_ms(10);
    assert_eq!(net.got(["s2"]), [1]);
    net.cut("s1");
    net.drive();
    assert_eq!(net.codes(&ids), [2001; 3]);
    let lost: Vec<bool> = net.script("s2").requests.iter().map(Seen::is_retransmitted).collect();
    assert_eq!(lost, [false, true, true], "written or begun: T bit");
}

#[test]
fn a_second_connection_that_is_full_does_not_block_the_first() {
    // The peer comes a second time while its connection is well, and its new one reads nothing.
    let mut net = Net::star(1, 1);
    let client = net.node("c1");
    let second = net.dial_silently(client);
    net.wires[second].reading = false;
    net.wires[second].to_node.capacity = 10;
    let cer = net.cer(client);
    net.send(second, &cer);
    net.run_ms(4000);
    assert_eq!(net.cpl("c1"), 0);
    net.wires[second].at_node = false;
    net.run_ms(2000);
    assert_eq!(net.ask("c1", &Request::default()).code(), Some(2001));
}

#[test]
fn a_request_sent_again_keeps_its_t_bit_when_its_next_connection_blocks() {
    let mut net = Net::up(Topology::chain(3).node(|n| n.max_attempts = 3));
    net.behave("s1", Behaviour::Silent);
    let id = net.request("c1", &Request::default());
    net.run_ms(2900);
    jam(&mut net, "s2", 0);
    net.run_ms(200);
    assert_eq!(net.got(["s1", "s2", "s3"]), [1, 0, 1]);
    assert!(net.last_request("s3").is_retransmitted(), "the first server may have done it already");
    net.drive();
    assert_eq!(net.codes(&[id]), [2001]);
}

#[test]
fn a_request_that_was_lost_before_is_3002_when_the_rest_is_held_back() {
    let mut net = Net::up(Topology::chain(2).node(|n| n.max_attempts = 3));
    net.behave("s1", Behaviour::Silent);
    let id = net.request("c1", &Request::default());
    net.run_ms(2900);
    jam(&mut net, "s2", 0);
    net.drive();
    assert_eq!(net.codes(&[id]), [3002]);
    assert_eq!(net.agent.totals().refused["attempts_exhausted"], 1);
}

#[test]
fn nothing_but_time_is_needed_to_abate() {
    let mut net = Net::chain(1);
    jam(&mut net, "s1", 100);
    net.requests("c1", 1);
    net.run_ms(10);
    net.reads("s1", true);
    net.run(Duration::from_secs(16));
    let levels: Vec<u8> = net
        .events
        .iter()
        .filter_map(|(_, e)| match e {
            governor_core::agent::Event::Level(_, change) => Some(change.cpl_to.number()),
            _ => None,
        })
        .collect();
    assert_eq!(levels, [98, 3, 2, 1, 0]);
    assert!(net.slot("s1").congestion().cpl().admits(Priority::P0));
}
