//! What is measured: time at each level, onsets, peaks, the routes' counts.

use crate::message::Request;
use crate::net::Net;
use crate::node::Behaviour;
use crate::topology::Topology;
use governor_core::agent::Event;
use governor_core::level::{Feature, Level};
use governor_core::refusal::Refusal;
use governor_core::time::Time;
use std::time::Duration;

/// Seconds at each level of [`Level::ALL`].
fn seconds(net: &mut Net, name: &str) -> [f64; 6] {
    net.agent.refresh(net.now);
    net.slot(name).level_times().until(net.now).map(|span| span.as_secs_f64())
}

fn onsets(net: &Net, name: &str, feature: Feature) -> [u64; 6] {
    net.counters(name).onsets[feature.index()]
}

#[test]
fn time_at_each_level_adds_up_to_the_age_and_follows_the_steps() {
    let mut net = Net::star(1, 1);
    let before = seconds(&mut net, "s1");
    net.reads("s1", false);
    let mut ids = Vec::new();
    while net.cpl("s1") != 98 {
        ids.extend(net.requests("c1", 100));
        net.run_ms(1);
        assert!(ids.len() < 100_000);
    }
    net.run(Duration::from_secs(2));
    net.reads("s1", true);
    net.run(Duration::from_secs(30));
    let after = seconds(&mut net, "s1");
    let spent: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    // 98 while it blocks, then 3, 2 and 1 for 5 s each (rule 3).
    assert!((1.9..2.2).contains(&spent[4]), "{spent:?}");
    for (level, seconds) in spent.iter().enumerate().take(4).skip(1) {
        assert!((seconds - 5.0).abs() < 1e-6, "level {level}: {spent:?}");
    }
    assert!((after.iter().sum::<f64>() - net.now.as_secs_f64()).abs() < 1e-6, "no time is lost: {after:?}");
    assert_eq!(onsets(&net, "s1", Feature::Transport), [0, 0, 0, 0, 1, 0], "the steps down are no onsets");
}

#[test]
fn onsets_are_counted_by_feature_and_level() {
    let mut net = Net::star(1, 1);
    net.behave("s1", Behaviour::Answer(3004));
    for priority in [0, 2, 2, 0] {
        net.ask("c1", &Request::of_priority(priority));
    }
    assert_eq!(onsets(&net, "s1", Feature::RemoteBusy), [0, 1, 0, 1, 0, 0]);
    net.cut("s1");
    assert_eq!(onsets(&net, "s1", Feature::Status), [0, 0, 0, 0, 0, 1]);
}

#[test]
fn routes_count_requests_groups_and_refusals() {
    let mut net = Net::up(Topology::chain(2));
    net.ask("c1", &Request::of_priority(1));
    net.ask("c1", &Request::default());
    net.behave("s1", Behaviour::Silent);
    net.behave("s2", Behaviour::Silent);
    let lost = net.requests("c1", 1);
    net.run(Duration::from_secs(10));
    assert_eq!(net.codes(&lost), [3002]);
    let route = &net.agent.routes()[0];
    assert_eq!(route.requests, [2, 1, 0]);
    assert_eq!(route.by_group, [3, 1], "the lost one was sent again");
    let exhausted = Refusal::LABELS.iter().position(|label| *label == "attempts_exhausted").unwrap();
    assert_eq!(route.refused[exhausted], 1);
    assert_eq!(route.refused.iter().sum::<u64>(), 1);
    assert_eq!(net.counters("s1").requests_admitted, [2, 1, 0]);
}

#[test]
fn a_route_keeps_its_counts_over_a_reload() {
    let mut net = Net::star(1, 1);
    net.ask("c1", &Request::default());
    net.reload(Topology::star(1, 2));
    assert_eq!(net.agent.routes()[0].requests, [1, 0, 0]);
    net.reload(Topology::chain(2));
    assert_eq!(net.agent.routes()[0].requests, [1, 0, 0]);
    assert_eq!(net.agent.routes()[0].by_group, [0, 0], "they are other groups");
}

#[test]
fn a_peak_between_two_looks_is_seen() {
    let mut net = Net::star(1, 1);
    net.behave("s1", Behaviour::After(Duration::from_millis(20), 2001));
    let ids = net.requests("c1", 200);
    net.run(Duration::from_secs(15));
    assert_eq!(net.codes(&ids), vec![2001; 200]);
    net.agent.refresh(net.now);
    let levels = net.slot("s1").congestion();
    assert_eq!((levels.pending(), levels.pending_peak(net.now)), (0, 200));
    assert!(levels.rate() < 1.0);
    assert!((levels.rate_peak(net.now) - 200.0).abs() < 1e-9, "{}", levels.rate_peak(net.now));
    net.run(Duration::from_secs(130));
    assert_eq!(net.slot("s1").congestion().pending_peak(net.now), 0);
}

#[test]
fn a_change_of_a_groups_level_is_told() {
    let topology = Topology::star(1, 2).group(&["s1", "s2"], |group| group.max_pending = Some(100));
    let mut net = Net::up(topology);
    for name in ["s1", "s2"] {
        net.behave(name, Behaviour::After(Duration::from_millis(900), 2001));
    }
    net.requests("c1", 70);
    net.run(Duration::from_secs(5));
    let told: Vec<_> = net
        .events
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Group(0, change) => Some((*at, change.from, change.to, change.pending)),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((told[0].1, told[0].2, told[0].3), (Level::CL0, Level::CL1, 70));
    assert_eq!((told[1].1, told[1].2, told[1].3), (Level::CL1, Level::CL0, 0));
    assert!(told[1].0 - told[0].0 > Duration::from_millis(900));
    let group = &net.agent.groups()[0];
    assert_eq!((group.counters().pending_onsets, group.counters().rate_onsets), ([1, 0, 0], [0; 3]));
    assert_eq!((group.counters().requests, group.counters().held_back), (70, [0; 3]));
    assert_eq!(group.pending_peak(net.now), 70);
    assert!((group.rate_peak(net.now) - 70.0).abs() < 1e-9);
    assert!(net.now > Time::from_secs(5));
}
