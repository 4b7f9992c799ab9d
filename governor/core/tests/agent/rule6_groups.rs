//! Rule 6 through the relay: what several connections share.

use crate::message::Request;
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::agent::Event;
use governor_core::settings::GroupMode;
use std::time::Duration;

fn shared(set: impl FnOnce(&mut governor_core::settings::Group)) -> Net {
    let topology = Topology::new().client("c1").server("s1").server("s2").server("s3");
    let topology = topology.route("example.net", &[&[("s1", 1), ("s2", 1)], &[("s3", 1)]]).group(&["s1", "s2"], set);
    let mut net = Net::up(topology);
    for server in ["s1", "s2", "s3"] {
        net.behave(server, Behaviour::After(Duration::from_secs(1), 2001));
    }
    net
}

#[test]
fn at_the_shared_pending_limit_no_member_takes_more() {
    let mut net = shared(|g| {
        g.max_pending = Some(4);
        g.mode = GroupMode::Limit;
    });
    let ids = net.requests("c1", 6);
    net.run_ms(10);
    assert_eq!(net.got(["s1", "s2", "s3"]), [2, 2, 2]);
    assert_eq!(net.agent.groups()[0].pending(), 4);
    net.drive();
    assert_eq!(net.codes(&ids), [2001; 6]);
    assert_eq!(net.agent.groups()[0].pending(), 0);
    let held: u64 = ["s1", "s2"].iter().map(|s| net.counters(s).held_back[0][3]).sum();
    assert_eq!(held, 4, "two requests, each passed over by both members");
}

#[test]
fn at_the_shared_rate_no_member_takes_more_until_a_second_has_passed() {
    let mut net = shared(|g| {
        g.max_rate = Some(4);
        g.mode = GroupMode::Limit;
    });
    net.requests("c1", 6);
    net.run_ms(10);
    assert_eq!(net.got(["s1", "s2", "s3"]), [2, 2, 2]);
    net.run_ms(1000);
    net.requests("c1", 1);
    net.run_ms(10);
    assert_eq!(net.got(["s3"]), [2]);
}

#[test]
fn the_groups_level_holds_back_by_priority_and_ends_by_itself() {
    let mut net = shared(|g| g.max_pending = Some(10));
    for server in ["s1", "s2"] {
        net.behave(server, Behaviour::After(Duration::from_millis(1500), 2001));
    }
    net.requests("c1", 7);
    net.run_ms(200);
    assert_eq!(net.agent.groups()[0].level().number(), 1, "7 of 10 is over 60 %");
    assert_eq!(net.got(["s1", "s2", "s3"]), [4, 3, 0]);
    net.request("c1", &Request::of_priority(0));
    net.request("c1", &Request::of_priority(1));
    net.run_ms(10);
    let [first, second, outside] = net.got(["s1", "s2", "s3"]);
    assert_eq!((first + second, outside), (8, 1));
    // No more traffic: the answers come, and 500 ms later the level has gone without anybody asking.
    net.run_ms(3000);
    assert_eq!(net.agent.groups()[0].level().number(), 0);
    let levels: Vec<(u8, u8)> = net
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Group(0, change) => Some((change.from.number(), change.to.number())),
            _ => None,
        })
        .collect();
    assert_eq!(levels, [(0, 1), (1, 0)]);
}

#[test]
fn a_connection_that_closes_gives_its_records_back_to_the_group() {
    let mut net = shared(|g| {
        g.max_pending = Some(4);
        g.mode = GroupMode::Limit;
    });
    net.requests("c1", 4);
    net.run_ms(10);
    net.cut("s1");
    net.run_ms(10);
    // s1's two went to s2, which is a member too.
    assert_eq!(net.agent.groups()[0].pending(), 4);
    net.cut("s2");
    net.run_ms(10);
    assert_eq!(net.agent.groups()[0].pending(), 0);
    net.drive();
}

#[test]
fn answers_are_never_held_back_by_a_group() {
    let topology = Topology::star(1, 1).group(&["c1"], |g| {
        g.max_pending = Some(1);
        g.max_rate = Some(1);
        g.mode = GroupMode::Limit;
    });
    let mut net = Net::up(topology);
    let ids = net.requests("c1", 20);
    net.drive();
    assert_eq!(net.codes(&ids), [2001; 20]);
}
