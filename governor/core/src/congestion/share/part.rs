//! What is an agent's fair part of a maximum.

/// One part in so many of an equal one is left to an agent without demand, so that its first requests need not wait.
const IDLE: u32 = 50;

/// The part of `available` for an agent whose demand is `own`, beside others with those demands. Each has what it asks
/// for as long as that is enough for all, and the rest in equal parts; else nobody has more than another that is refused
/// something (max-min fairness).
///
/// The parts that agents with the same `available` and the same demands reckon never add up to more than it.
pub(super) fn fair_part(available: u32, own: u32, others: impl Iterator<Item = u32> + Clone) -> u32 {
    let agents = u64::try_from(others.clone().count()).unwrap_or(u64::MAX).saturating_add(1);
    let available = u64::from(available);
    let idle = available / agents / u64::from(IDLE);
    let demand = |demand: u32| u64::from(demand).max(idle);
    let own = demand(own);
    let all = own + others.clone().map(demand).sum::<u64>();
    let part = if all <= available {
        own + (available - all) / agents
    } else {
        own.min(level(available, own, &others.map(demand)))
    };
    u32::try_from(part).unwrap_or(u32::MAX)
}

/// The height to which `available` fills the demands, `own` among them: `sum(min(demand, height)) <= available`.
fn level(available: u64, own: u64, others: &(impl Iterator<Item = u64> + Clone)) -> u64 {
    let mut demands: Vec<u64> = others.clone().chain([own]).collect();
    demands.sort_unstable();
    let (mut left, mut agents) = (available, demands.len() as u64);
    for demand in demands {
        if demand > left / agents {
            return left / agents;
        }
        left -= demand;
        agents -= 1;
    }
    // The demands are no more than what there is: no height holds anybody back.
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::fair_part;
    use proptest::prelude::*;

    fn parts(available: u32, demands: &[u32]) -> Vec<u32> {
        (0..demands.len())
            .map(|at| {
                let others =
                    demands.iter().enumerate().filter(move |(other, _)| *other != at).map(|(_, demand)| *demand);
                fair_part(available, demands[at], others)
            })
            .collect()
    }

    #[test]
    fn parts_by_demand() {
        let rows: [(&[u32], &[u32]); 7] = [
            (&[0], &[1000]),
            (&[5000], &[1000]),
            (&[0, 0], &[500, 500]),
            // The rest in equal parts.
            (&[100, 500], &[300, 700]),
            // Nobody has more than another that is refused something.
            (&[1500, 900], &[500, 500]),
            (&[300, 1200], &[300, 700]),
            // Without demand: a fiftieth of the equal part.
            (&[0, 1200], &[10, 990]),
        ];
        for (demands, expected) in rows {
            assert_eq!(parts(1000, demands), expected, "{demands:?}");
        }
        assert_eq!(parts(0, &[7, 0]), [0, 0]);
    }

    proptest! {
        #[test]
        fn parts_never_add_up_to_more_and_waste_less_than_one_an_agent(
            available in 0..1_000_000u32,
            demands in prop::collection::vec(prop_oneof![0..100u32, 0..1_000_000u32], 1..20),
        ) {
            let sum: u64 = parts(available, &demands).into_iter().map(u64::from).sum();
            prop_assert!(sum <= u64::from(available));
            prop_assert!(sum + demands.len() as u64 >= u64::from(available));
        }
    }
}
