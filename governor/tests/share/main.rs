//! Rule 6 across agents, in simulated time: whatever fails, the agents of a group together keep to its maximum.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

mod failures;
mod store;
mod world;

use governor_core::congestion::ShareState;
use governor_core::level::Level;
use governor_core::settings::{Group, GroupMode, Share};
use world::World;

const AWAY: ShareState = ShareState::Away;
const SHARED: ShareState = ShareState::Shared;

fn group(max_rate: Option<u32>, max_pending: Option<u32>, agents: u32) -> Group {
    let share = Some(Share { agents, ..Share::default() });
    Group { max_rate, max_pending, mode: GroupMode::Limit, share, ..Group::new("site") }
}

/// So many agents that share 1000 requests/s, past the server's first two seconds.
fn thousand(agents: u32) -> World {
    let mut world = World::new(&vec![group(Some(1000), None, agents); agents as usize]);
    world.run(2000);
    assert_eq!(world.states(), vec![SHARED; agents as usize]);
    world
}

#[test]
fn two_agents_under_more_than_they_may_send_the_maximum_in_equal_parts() {
    let mut world = thousand(2);
    world.offer(&[1500, 900]);
    world.run(2000);
    let sent = world.sent_in(10_000);
    let sum: u64 = sent.iter().sum();
    assert!((9900..=10_000).contains(&sum), "{sent:?}");
    assert!(sent.iter().all(|sent| (4900..=5100).contains(sent)), "{sent:?}");
    assert!(world.most <= 1000, "{} in one second", world.most);
}

#[test]
fn what_one_agent_is_not_asked_for_another_may_send() {
    let mut world = thousand(3);
    world.offer(&[2000, 100, 0]);
    world.run(2000);
    let sent = world.sent_in(10_000);
    assert!((8600..=9000).contains(&sent[0]), "{sent:?}");
    assert!((980..=1000).contains(&sent[1]), "{sent:?}");
    // And it is taken back when it is asked for.
    world.offer(&[2000, 100, 2000]);
    world.run(2000);
    let sent = world.sent_in(10_000);
    assert!((4300..=4500).contains(&sent[0]) && (4300..=4500).contains(&sent[2]), "{sent:?}");
    assert!((980..=1000).contains(&sent[1]), "{sent:?}");
    assert!(world.most <= 1000, "{} in one second", world.most);
}

#[test]
fn an_agents_first_requests_do_not_wait_while_there_is_room() {
    let mut world = thousand(2);
    world.offer(&[900, 0]);
    assert_eq!(world.sent_in(3000), [2700, 0]);
}

#[test]
fn away_from_the_server_each_has_its_equal_part_and_back_again_they_share() {
    let mut world = thousand(2);
    world.offer(&[2000, 300]);
    world.run(3000);
    assert!(world.parts()[0] > 650, "{:?}", world.parts());
    world.server_up = false;
    world.run(1000);
    assert_eq!(world.states(), [AWAY, AWAY]);
    assert_eq!(world.parts()[0], 500, "no more than the equal part, at once");
    world.run(3000);
    assert_eq!(world.parts(), [500, 500], "and the whole of it once the other has come down");
    let sent = world.sent_in(6000);
    assert_eq!(sent, [3000, 1800]);
    // It comes back without what it knew.
    world.store.forget();
    world.server_up = true;
    world.run(300);
    assert_eq!(world.states(), [SHARED, SHARED]);
    world.run(4000);
    let sent: u64 = world.sent_in(5000).iter().sum();
    assert!((4850..=5000).contains(&sent), "{sent}");
    assert!(world.most <= 1000, "{} in one second", world.most);
}

#[test]
fn one_that_starts_while_the_server_is_away_takes_its_part_by_the_configured_number() {
    let mut world = World::new(&vec![group(Some(1000), None, 4); 2]);
    world.server_up = false;
    world.offer(&[2000, 2000]);
    assert_eq!(world.sent_in(2900), [0, 0]);
    world.run(1500);
    assert_eq!((world.states(), world.parts()), (vec![AWAY; 2], vec![250; 2]));
    assert_eq!(world.sent_in(4000), [1000, 1000]);
}

#[test]
fn one_that_vanishes_keeps_its_equal_part_for_a_minute_and_one_that_says_goodbye_does_not() {
    let mut world = thousand(2);
    world.offer(&[2000, 2000]);
    world.run(2000);
    world.kill(1);
    world.run(4000);
    assert_eq!(world.parts()[0], 500);
    assert_eq!(world.agents[0].group.share().unwrap().missing(), 1);
    world.run(60_000);
    assert_eq!((world.parts()[0], world.agents[0].group.share().unwrap().members()), (1000, 1));

    let mut world = thousand(2);
    world.offer(&[2000, 2000]);
    world.run(2000);
    world.leave(1);
    world.run(1500);
    assert_eq!((world.parts()[0], world.agents[0].group.share().unwrap().members()), (1000, 1));
    assert!(world.most <= 1000, "{} in one second", world.most);
}

#[test]
fn one_that_starts_again_takes_the_place_of_its_former_self() {
    let mut world = thousand(2);
    world.offer(&[2000, 2000]);
    world.run(2000);
    world.kill(1);
    world.restart(1);
    world.run(3500);
    assert_eq!(world.parts(), [500, 500]);
    assert_eq!(world.agents[0].group.share().unwrap().members(), 2);
    assert!(world.most <= 1000, "{} in one second", world.most);
}

#[test]
fn agents_with_different_maxima_keep_to_the_least() {
    let mut world = World::new(&[group(Some(1000), None, 2), group(Some(400), None, 2)]);
    world.offer(&[2000, 2000]);
    world.run(4000);
    let sent = world.sent_in(5000);
    assert!(sent.iter().all(|sent| (970..=1000).contains(sent)), "{sent:?}");
}

#[test]
fn pending_requests_are_shared_by_demand_and_never_more_than_the_maximum() {
    let mut world = World::new(&vec![group(None, Some(100), 2); 2]);
    world.run(2000);
    // 20 and 200 at one time are asked for.
    world.offer(&[100, 1000]);
    world.run(3000);
    let pending = world.agents.iter().map(|agent| agent.group.pending()).collect::<Vec<_>>();
    assert!((18..=21).contains(&pending[0]) && (70..=82).contains(&pending[1]), "{pending:?}");
    world.offer(&[1000, 1000]);
    world.run(3000);
    let pending = world.agents.iter().map(|agent| agent.group.pending()).collect::<Vec<_>>();
    assert!(pending.iter().all(|pending| (45..=50).contains(pending)), "{pending:?}");
    assert!(world.most_pending <= 100, "{}", world.most_pending);
}

#[test]
fn the_level_goes_by_the_sum_and_away_by_the_own_part() {
    let threshold = Group { mode: GroupMode::Threshold, ..group(Some(1000), None, 2) };
    let levels = |world: &World| world.agents.iter().map(|agent| agent.group.level()).collect::<Vec<_>>();
    let mut world = World::new(&vec![threshold; 2]);
    world.run(2000);
    world.offer(&[250, 250]);
    world.run(2000);
    assert_eq!(levels(&world), [Level::CL0; 2], "50 % together");
    world.server_up = false;
    world.run(3000);
    assert_eq!(levels(&world), [Level::CL0; 2], "50 % of each part");
    world.server_up = true;
    world.run(3000);
    assert_eq!(levels(&world), [Level::CL0; 2]);
    world.offer(&[250, 400]);
    world.run(1200);
    assert_eq!(levels(&world), [Level::CL1; 2], "65 % together: both hold back, whichever has found it first");
}

#[test]
fn a_report_that_was_overtaken_changes_nothing() {
    let mut world = thousand(2);
    world.offer(&[1500, 1500]);
    // Every other message takes so long that the next one overtakes it.
    world.delays = vec![2, 2, 180];
    world.run(10_000);
    assert_eq!(world.states(), [SHARED; 2]);
    assert!(world.most <= 1000, "{} in one second", world.most);
    let sent: u64 = world.sent_in(5000).iter().sum();
    assert!(sent > 4700, "{sent}");
}
