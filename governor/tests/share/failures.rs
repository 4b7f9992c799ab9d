//! Arbitrary delays and failures.

use crate::group;
use crate::world::World;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Happening {
    Offer(Vec<u64>),
    Delays(Vec<u64>),
    /// The server is away for so long, milliseconds; does it lose what it knew?
    ServerAway(u64, bool),
    /// The server does nothing for so long, and then all that has come meanwhile.
    ServerFrozen(u64),
    /// An agent does not reach the server for so long.
    CutOff(usize, u64),
    /// An agent does nothing at all for so long, and then goes on where it was.
    Stopped(usize, u64),
    /// An agent is killed and starts again so much later.
    Restart(usize, u64),
    Calm(u64),
}

/// The server may lose everything, or single agents may be cut off from it. Not both: a server that has lost what it knew
/// cannot know of an agent that it has not heard of since.
fn happenings(server_loses: bool) -> impl Strategy<Value = Vec<Happening>> {
    let offer = prop::collection::vec(prop_oneof![Just(0), 1..60u64, 60..300u64], 4);
    let delays = prop::collection::vec(prop_oneof![4 => 0..20u64, 1 => 20..700u64], 1..12);
    let time = || prop_oneof![0..1000u64, 1000..12_000u64];
    let both = prop_oneof![
        3 => offer.prop_map(Happening::Offer),
        1 => (0..4usize, time()).prop_map(|(agent, time)| Happening::Restart(agent, time)),
        1 => time().prop_map(Happening::Calm),
    ];
    let one = if server_loses {
        (time(), any::<bool>()).prop_map(|(time, lost)| Happening::ServerAway(time, lost)).boxed()
    } else {
        prop_oneof![
            (0..4usize, time()).prop_map(|(agent, time)| Happening::CutOff(agent, time)),
            (0..4usize, time()).prop_map(|(agent, time)| Happening::Stopped(agent, time)),
            time().prop_map(|time| Happening::ServerAway(time, false)),
            time().prop_map(Happening::ServerFrozen),
            delays.prop_map(Happening::Delays),
        ]
        .boxed()
    };
    prop::collection::vec(prop_oneof![2 => both, 2 => one], 1..12)
}

fn run(agents: usize, happenings: &[Happening]) -> Result<World, TestCaseError> {
    let settings = group(Some(100), Some(40), u32::try_from(agents).unwrap());
    let mut world = World::new(&vec![settings; agents]);
    world.run(3000);
    for happening in happenings {
        match happening {
            Happening::Offer(rates) => world.offer(rates),
            Happening::Delays(delays) => world.delays.clone_from(delays),
            Happening::ServerAway(time, lost) => {
                world.server_up = false;
                world.run(*time);
                if *lost {
                    world.store.forget();
                }
                world.server_up = true;
            }
            Happening::ServerFrozen(time) => {
                world.server_frozen = true;
                world.run(*time);
                world.server_frozen = false;
            }
            Happening::CutOff(agent, time) => {
                world.agents[agent % agents].reaches = false;
                world.run(*time);
                world.agents[agent % agents].reaches = true;
            }
            Happening::Stopped(agent, time) => {
                world.agents[agent % agents].running = false;
                world.run(*time);
                world.agents[agent % agents].running = true;
            }
            Happening::Restart(agent, time) => {
                world.kill(agent % agents);
                world.run(*time);
                world.restart(agent % agents);
            }
            Happening::Calm(time) => world.run(*time),
        }
        world.run(200);
        prop_assert!(world.most <= 100, "{} in one second: {happening:?} at {}", world.most, world.now);
        prop_assert!(world.most_pending <= 40, "{} pending: {happening:?} at {}", world.most_pending, world.now);
    }
    Ok(world)
}

/// Afterwards, in calm, nothing of what was lost is missing any more.
fn recovers(mut world: World) -> Result<(), TestCaseError> {
    world.delays = vec![3];
    world.answer_time = 50;
    // What is reserved for an agent that vanished while another of its name started is given free at once.
    world.offer(&[300; 4]);
    world.run(8000);
    let sent: u64 = world.sent_in(5000).iter().sum();
    prop_assert!(sent >= 460, "{sent} of 500: {:?} {:?}", world.parts(), world.states());
    prop_assert!(world.most <= 100, "{} in one second", world.most);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_sums_keep_to_the_maxima_whatever_becomes_of_the_server(agents in 1..5usize, happenings in happenings(true)) {
        recovers(run(agents, &happenings)?)?;
    }

    #[test]
    fn the_sums_keep_to_the_maxima_whatever_becomes_of_the_agents(agents in 1..5usize, happenings in happenings(false)) {
        recovers(run(agents, &happenings)?)?;
    }
}
