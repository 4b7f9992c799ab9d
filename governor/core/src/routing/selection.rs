//! The order in which a route's connections are tried: groups in order of preference, inside a group by weight.
//!
//! Smooth weighted round robin: deterministic, and the share of a member is spread evenly over time rather than sent
//! in runs. A connection that is down takes no part; one that refuses keeps its turn, and the rest of the group is
//! next. A member of weight 0 is tried only when no other of its group is left.
//!
//! A sticky route takes no turns: each session ranks the members by itself (weighted rendezvous hashing), so that all its
//! requests go the same way without a table of sessions, and a connection that goes down moves its own sessions only.

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
    /// The session's hash, on a sticky route.
    session: Option<u64>,
    /// The open group's first choice, while the rest of the group has not been ranked.
    first: Option<ConnectionIndex>,
    /// What is left of the open group, the next one last.
    rest: Vec<ConnectionIndex>,
}

// === impl Candidates ===

impl Candidates {
    /// Which of the route's groups the last connection given out belongs to.
    pub const fn group(&self) -> usize {
        self.next_group.saturating_sub(1)
    }
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
        Candidates { route, next_group: 0, session: None, first: None, rest: Vec::new() }
    }

    /// Begins the order of one request of a session on a sticky route. `session` is a hash of its Session-Id.
    pub const fn start_sticky(&self, route: usize, session: u64) -> Candidates {
        Candidates { route, next_group: 0, session: Some(session), first: None, rest: Vec::new() }
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
            if let Some(session) = candidates.session {
                rank_session(group, session, &mut is_up, &mut candidates.rest);
            } else if let Some(first) = turn(group, &mut is_up) {
                candidates.first = Some(first);
                return Some(first);
            }
        }
    }
}

/// Takes one turn of a group: its first choice among the members that are up. Ties in file order.
fn turn(group: &mut [Member], mut is_up: impl FnMut(ConnectionIndex) -> bool) -> Option<ConnectionIndex> {
    let mut total = 0;
    let mut first: Option<(usize, i64)> = None;
    for (at, member) in group.iter_mut().enumerate() {
        if !is_up(member.connection) {
            continue;
        }
        member.current += member.weight;
        total += member.weight;
        let urgency = member.urgency();
        if first.is_none_or(|(_, most)| urgency > most) {
            first = Some((at, urgency));
        }
    }
    let first = &mut group[first?.0];
    first.current -= total;
    Some(first.connection)
}

/// The eligible members, the next one to try last. Ties in file order: the sort is stable.
fn rank(group: &[Member], mut eligible: impl FnMut(ConnectionIndex) -> bool, out: &mut Vec<ConnectionIndex>) {
    let mut left: Vec<&Member> = group.iter().filter(|m| eligible(m.connection)).collect();
    left.sort_by_key(|member| Reverse(member.urgency()));
    out.extend(left.iter().rev().map(|m| m.connection));
}

/// The members that are up in a session's own order, the next one to try last.
fn rank_session(
    group: &[Member],
    session: u64,
    mut is_up: impl FnMut(ConnectionIndex) -> bool,
    out: &mut Vec<ConnectionIndex>,
) {
    // With u uniform in (0, 1), the member with the least -ln(u) / weight is each member in proportion to its weight.
    let score = |member: &Member| {
        let hash = mix(session ^ mix(u64::from(member.connection.0)));
        let uniform = ((hash >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        -uniform.ln() / member.weight as f64
    };
    let mut left: Vec<(bool, f64, ConnectionIndex)> = group
        .iter()
        .filter(|member| is_up(member.connection))
        .map(|member| (member.weight == 0, score(member), member.connection))
        .collect();
    left.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    out.extend(left.iter().rev().map(|&(.., connection)| connection));
}

/// A hash of bytes, the same in every process: FNV-1a, then spread.
pub fn session_hash(bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    mix(fnv)
}

/// The finalizer of splitmix64.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Member {
    /// The highest is next: whose turn it is most; weight 0 behind all others.
    const fn urgency(&self) -> i64 {
        if self.weight == 0 { i64::MIN } else { self.current }
    }
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

    fn sticky(selection: &mut Selection, session: u32, down: &[u32]) -> Vec<u32> {
        let mut candidates = selection.start_sticky(0, session_hash(format!("mme;1;{session}").as_bytes()));
        std::iter::from_fn(|| selection.next(&mut candidates, |c| !down.contains(&c.0))).map(|c| c.0).collect()
    }

    #[test]
    fn a_session_keeps_its_way_and_only_the_sessions_of_a_lost_connection_move() {
        let mut s = selection(&[&[(0, 50), (1, 50), (2, 50)], &[(3, 1)]]);
        for session in 0..500 {
            let before = sticky(&mut s, session, &[]);
            assert_eq!(sticky(&mut s, session, &[]), before);
            assert_eq!(before.len(), 4);
            assert_eq!(before[3], 3, "the next group comes last");
            let after = sticky(&mut s, session, &[1]);
            if before[0] != 1 {
                assert_eq!(after[0], before[0]);
            }
        }
    }

    #[test]
    fn sessions_spread_by_weight() {
        let mut s = selection(&[&[(0, 75), (1, 25), (2, 0)]]);
        let mut count = [0; 3];
        for session in 0..10_000 {
            count[sticky(&mut s, session, &[])[0] as usize] += 1;
        }
        assert!((7200..=7800).contains(&count[0]), "{count:?}");
        assert_eq!(count[2], 0);
    }
}
