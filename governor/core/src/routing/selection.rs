//! The order in which a route's connections are tried: groups in order of preference, inside a group by weight.
//!
//! Smooth weighted round robin: deterministic, and the share of a member is spread evenly over time rather than sent
//! in runs. A connection that is down takes no part; one that refuses keeps its turn, and the rest of the group is
//! next. A member of weight 0 is tried only when no other of its group is left.

use crate::settings::{ConnectionIndex, Settings};
use std::cmp::Reverse;

/// The round-robin state of every route.
#[derive(Clone, Debug)]
pub struct Selection {
    routes: Vec<Vec<Vec<Member>>>,
}

#[derive(Clone, Debug)]
struct Member {
    connection: ConnectionIndex,
    weight: i64,
    /// Grows by `weight` each turn, falls by the turn's total when chosen.
    current: i64,
}

/// A position in a route's order for one request.
#[derive(Clone, Debug)]
pub struct Candidates {
    route: usize,
    /// The group to open next.
    next_group: usize,
    /// The open group's first choice, while the rest of the group has not been ranked.
    first: Option<ConnectionIndex>,
    /// What is left of the open group, the next one last.
    rest: Vec<ConnectionIndex>,
}

// === impl Selection ===

impl Selection {
    /// The state before the first request.
    pub fn new(settings: &Settings) -> Self {
        let member = |&(connection, weight): &(ConnectionIndex, u32)| Member {
            connection,
            weight: i64::from(weight),
            current: 0,
        };
        let routes = settings
            .routes
            .iter()
            .map(|route| route.groups.iter().map(|group| group.members.iter().map(member).collect()).collect())
            .collect();
        Self { routes }
    }

    /// Begins the order of one request on a route. `route` is an index into [`Settings::routes`].
    pub const fn start(&self, route: usize) -> Candidates {
        Candidates { route, next_group: 0, first: None, rest: Vec::new() }
    }

    /// The next connection to try; `None` when the route is used up. A group's turn is taken when the request
    /// reaches it, so a group that is never reached keeps its state.
    ///
    /// Most requests leave on a group's first choice: only what goes on from there ranks the rest, on the heap.
    pub fn next(
        &mut self,
        candidates: &mut Candidates,
        mut is_up: impl FnMut(ConnectionIndex) -> bool,
    ) -> Option<ConnectionIndex> {
        let groups = self.routes.get_mut(candidates.route)?;
        if let Some(first) = candidates.first.take() {
            let group = groups.get(candidates.next_group - 1)?;
            rank(group, |c| c != first && is_up(c), &mut candidates.rest);
        }
        loop {
            if let Some(connection) = candidates.rest.pop() {
                return Some(connection);
            }
            let group = groups.get_mut(candidates.next_group)?;
            candidates.next_group += 1;
            if let Some(first) = turn(group, &mut is_up) {
                candidates.first = Some(first);
                return Some(first);
            }
        }
    }
}

/// Takes one turn of a group: its first choice among the members that are up. Ties in file order.
fn turn(group: &mut [Member], mut is_up: impl FnMut(ConnectionIndex) -> bool) -> Option<ConnectionIndex> {
    let mut total = 0;
    let mut first: Option<usize> = None;
    for at in 0..group.len() {
        if !is_up(group[at].connection) {
            continue;
        }
        group[at].current += group[at].weight;
        total += group[at].weight;
        if first.is_none_or(|best| order(&group[at]) < order(&group[best])) {
            first = Some(at);
        }
    }
    let first = &mut group[first?];
    first.current -= total;
    Some(first.connection)
}

/// The eligible members, the next one to try last. Ties in file order: the sort is stable.
fn rank(group: &[Member], mut eligible: impl FnMut(ConnectionIndex) -> bool, out: &mut Vec<ConnectionIndex>) {
    let mut left: Vec<&Member> = group.iter().filter(|m| eligible(m.connection)).collect();
    left.sort_by_key(|member| order(member));
    out.extend(left.iter().rev().map(|m| m.connection));
}

/// Members compare by this: weight 0 behind all others, then by whose turn it is most.
fn order(member: &Member) -> (bool, Reverse<i64>) {
    (member.weight == 0, Reverse(member.current))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Node, Route, RouteGroup};

    fn selection(groups: &[&[(u32, u32)]]) -> Selection {
        let groups = groups
            .iter()
            .map(|members| RouteGroup {
                members: members.iter().map(|&(connection, weight)| (ConnectionIndex(connection), weight)).collect(),
            })
            .collect();
        Selection::new(&Settings {
            node: Node::new("gov", "example.net"),
            peers: vec![],
            connections: vec![],
            priorities: vec![],
            routes: vec![Route { groups, ..Route::default() }],
            groups: vec![],
        })
    }

    fn order(selection: &mut Selection, down: &[u32]) -> Vec<u32> {
        let mut candidates = selection.start(0);
        std::iter::from_fn(|| selection.next(&mut candidates, |c| !down.contains(&c.0))).map(|c| c.0).collect()
    }

    #[test]
    fn equal_weights_alternate_in_file_order() {
        let mut s = selection(&[&[(0, 50), (1, 50)]]);
        let firsts: Vec<u32> = (0..4).map(|_| order(&mut s, &[])[0]).collect();
        assert_eq!(firsts, [0, 1, 0, 1]);
    }

    #[test]
    fn shares_follow_the_weights_and_are_spread() {
        let mut s = selection(&[&[(0, 5), (1, 1), (2, 1)]]);
        let firsts: Vec<u32> = (0..7).map(|_| order(&mut s, &[])[0]).collect();
        assert_eq!(firsts, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn the_rest_of_a_group_comes_before_the_next_group() {
        let mut s = selection(&[&[(0, 50), (1, 50)], &[(2, 1)]]);
        assert_eq!(order(&mut s, &[]), [0, 1, 2]);
        assert_eq!(order(&mut s, &[]), [1, 0, 2]);
    }

    #[test]
    fn a_connection_that_is_down_takes_no_part() {
        let mut s = selection(&[&[(0, 50), (1, 50)], &[(2, 1)]]);
        assert_eq!(order(&mut s, &[0]), [1, 2]);
        assert_eq!(order(&mut s, &[0, 1]), [2]);
        assert_eq!(order(&mut s, &[0, 1, 2]), Vec::<u32>::new());
    }

    #[test]
    fn weight_zero_is_tried_last_in_its_group() {
        let mut s = selection(&[&[(0, 0), (1, 1)], &[(2, 1)]]);
        for _ in 0..3 {
            assert_eq!(order(&mut s, &[]), [1, 0, 2]);
        }
        assert_eq!(order(&mut s, &[1]), [0, 2]);
    }
}
