//! Other settings for a running relay.

use crate::message::Request;
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::agent::Admin;
use governor_core::level::Level;
use governor_core::peer::State;
use governor_core::settings::ConnectionIndex;
use std::time::Duration;

#[test]
fn connections_that_did_not_change_stay_up_whatever_their_order() {
    let mut net = Net::star(1, 2);
    let before = net.requests("c1", 20);
    net.run_ms(1);
    let other = Topology::new().server("s3").server("s2").client("c1").server("s1");
    let changes = net.reload(other.route("example.net", &[&[("s1", 1), ("s2", 1)], &[("s3", 1)]]));
    assert_eq!((changes.kept, changes.added, changes.removed), (3, vec!["s3".to_owned()], vec![]));
    assert_eq!(net.closes(), Vec::<&str>::new());
    net.drive();
    assert_eq!(net.codes(&before), [2001; 20]);
    assert_eq!(net.counters("c1").requests_received, 20);
    net.run_ms(100);
    assert_eq!(net.cpl("s3"), 0);
    let after = net.requests("c1", 10);
    net.drive();
    assert_eq!(net.codes(&after), [2001; 10]);
    assert_eq!(net.got(["s1", "s2", "s3"]), [15, 15, 0]);
}

#[test]
fn a_removed_connection_answers_what_is_pending_and_says_goodbye() {
    let mut net = Net::star(1, 2);
    net.behave("s2", Behaviour::After(Duration::from_millis(500), 2001));
    let pending = net.requests("c1", 10);
    net.run_ms(10);
    let changes = net.reload(Topology::star(1, 1));
    assert_eq!((changes.kept, changes.added, changes.removed), (2, vec![], vec!["s2".to_owned()]));
    let after = net.requests("c1", 10);
    net.run_ms(50);
    assert_eq!(net.got(["s1", "s2"]), [15, 5]);
    net.drive();
    assert_eq!(net.codes(&pending), [2001; 10]);
    assert_eq!(net.codes(&after), [2001; 10]);
    net.run(Duration::from_secs(10));
    assert_eq!(net.closes().len(), 1, "one goodbye: {:?}", net.closes());
    // And back again.
    net.reload(Topology::star(1, 2));
    net.run_ms(100);
    assert_eq!(net.cpl("s2"), 0);
    net.requests("c1", 2);
    net.drive();
    assert_eq!(net.got(["s1", "s2"]), [16, 6]);
}

#[test]
fn what_the_operator_has_said_of_a_name_holds_at_another_address_too() {
    let mut net = Net::star(1, 2);
    let index = |net: &Net, name: &str| net.agent.settings().connection(name).unwrap();
    let (s1, s2) = (index(&net, "s1"), index(&net, "s2"));
    net.agent.handle_disable(net.now, s1);
    net.agent.handle_manual_level(net.now, s2, Level::new(2));
    net.run_ms(100);
    let changes = net.reload_at(Topology::star(1, 2), false);
    assert_eq!((changes.kept, changes.added.len(), changes.removed.len()), (0, 3, 3));
    let to = |at: usize| changes.moved[at].map(ConnectionIndex::get);
    assert_eq!([to(0), to(1), to(2)], [Some(3), Some(4), Some(5)], "behind the configured ones");
    net.run_ms(100);
    assert_eq!(net.slot("s1").admin(), Admin::Disabled);
    assert_eq!(net.slot("s1").machine().state(), State::Closed);
    assert_eq!(net.slot("s2").manual_level(), Level::new(2));
}

#[test]
fn a_client_that_is_removed_still_gets_its_pending_answers() {
    let mut net = Net::up(Topology::star(2, 1));
    net.behave("s1", Behaviour::After(Duration::from_millis(500), 2001));
    let pending = net.requests("c2", 3);
    net.run_ms(10);
    let changes = net.reload(Topology::star(1, 1));
    assert_eq!(changes.removed, ["c2"]);
    net.drive();
    assert_eq!(net.codes(&pending), [2001; 3]);
}

#[test]
fn a_limit_lowered_in_use_drops_nothing_and_admits_nothing_until_below_it() {
    let mut net = Net::up(Topology::star(1, 2));
    net.behave("s1", Behaviour::After(Duration::from_millis(500), 2001));
    net.behave("s2", Behaviour::After(Duration::from_millis(500), 2001));
    let pending = net.requests("c1", 40);
    net.run_ms(10);
    net.reload(Topology::star(1, 2).set("s1", |s1| s1.pending_limit = 10));
    assert_eq!(net.slot("s1").congestion().pending(), 20);
    let more = net.requests("c1", 4);
    net.run_ms(10);
    assert_eq!(net.got(["s1", "s2"]), [20, 24]);
    net.drive();
    assert_eq!(net.codes(&[pending, more].concat()), [2001; 44]);
}

#[test]
fn groups_count_what_is_pending_on_the_members_they_have_now() {
    let group = |max| move |g: &mut governor_core::settings::Group| g.max_pending = Some(max);
    let mut net = Net::up(Topology::star(1, 2).group(&["s1"], group(100)));
    net.behave("s1", Behaviour::After(Duration::from_millis(300), 2001));
    net.behave("s2", Behaviour::After(Duration::from_millis(300), 2001));
    net.requests("c1", 20);
    net.run_ms(10);
    assert_eq!(net.agent.groups()[0].pending(), 10);
    net.reload(Topology::star(1, 2).group(&["s2", "s1"], group(200)));
    assert_eq!(net.agent.groups()[0].pending(), 20);
    net.drive();
    assert_eq!(net.agent.groups()[0].pending(), 0);
}

#[test]
fn a_hundred_changes_under_traffic_lose_nothing() {
    let mut net = Net::up(Topology::star(2, 3));
    for server in ["s1", "s2", "s3", "s4"] {
        if server != "s4" {
            net.behave(server, Behaviour::After(Duration::from_millis(30), 2001));
        }
    }
    let mut ids = Vec::new();
    for round in 0..100 {
        ids.extend(net.requests("c1", 3));
        ids.extend(net.requests("c2", 3));
        net.run_ms(7);
        let servers = 2 + round % 3;
        net.reload(Topology::star(2, servers).set("s1", |s1| s1.pending_limit = 100 + u32::try_from(round).unwrap()));
    }
    net.drive();
    assert_eq!(net.codes(&ids), vec![2001; 600]);
    assert_eq!(net.slot("c1").machine().state(), State::ROpen);
    assert!(net.ask("c1", &Request::default()).code() == Some(2001));
    assert!(net.agent.slot(ConnectionIndex(40)).is_none(), "retired slots are forgotten");
}
