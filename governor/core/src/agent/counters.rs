//! What is counted. Counters only grow; gauges are computed from state, never kept by hand (field experience: gauges
//! that events move up and down drift).

use crate::congestion::LevelChange;
use crate::level::{Feature, Level, Priority};
use crate::peer::CloseReason;
use crate::refusal::Refusal;
use crate::settings::Route;
use std::collections::BTreeMap;

/// The reasons for which a connection is passed over, in the order of [`Counters::held_back`].
pub const HELD_BACK_REASONS: [&str; 4] = ["cpl", "pending_limit", "rate_limit", "group"];

/// Counts of one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that came in on it.
    pub requests_received: u64,
    /// Answers that came in on it and belonged to a pending request.
    pub answers_received: u64,
    /// Requests written to it, to their last byte.
    pub requests_sent: u64,
    /// Requests let out on it, by priority 0 to 2; one taken back unwritten stays counted.
    pub requests_admitted: [u64; 3],
    /// Answers written to it, to their last byte, forwarded or ours.
    pub answers_sent: u64,
    /// Requests for which it was passed over, by priority 0 to 2 and by [`HELD_BACK_REASONS`].
    pub held_back: [[u64; 4]; 3],
    /// Answers discarded because nothing may leave (98, 99), or gone with their connection.
    pub answers_discarded: u64,
    /// Requests taken back unwritten when it blocked or closed, to be tried elsewhere.
    pub requests_withdrawn: u64,
    /// Requests that got no answer in time.
    pub timeouts: u64,
    /// Requests that left on it with the T bit after another connection failed them.
    pub retransmitted: u64,
    /// Requests that left on it after another peer's explicit answer (3002, 3004).
    pub retried: u64,
    /// Answers after the timeout.
    pub answers_late: u64,
    /// Second answers.
    pub answers_duplicate: u64,
    /// Answers to nothing we sent.
    pub answers_unknown: u64,
    /// Messages whose AVPs cannot be walked.
    pub malformed: u64,
    /// 3004 whose Origin-Host is this peer.
    pub busy_own: u64,
    /// 3004 from a node behind this peer.
    pub busy_behind: u64,
    /// Onsets: a feature entered a higher level. By [`Feature::index`] and by [`Level::index`] of the new level.
    pub onsets: [[u64; Level::ALL.len()]; Feature::ALL.len()],
}

impl Counters {
    /// Counts a change of level, if it is an onset.
    pub(super) const fn count_onset(&mut self, change: &LevelChange) {
        if change.to.number() > change.from.number() {
            self.onsets[change.feature.index()][change.to.index()] += 1;
        }
    }

    /// Counts a request that was let out.
    pub(super) fn count_admitted(&mut self, priority: Priority) {
        if let Some(count) = self.requests_admitted.get_mut(usize::from(priority.number())) {
            *count += 1;
        }
    }

    /// Counts a refusal of a connection that was up.
    pub(super) fn count_held_back(&mut self, priority: Priority, refusal: Refusal) {
        let reason = HELD_BACK_REASONS.iter().position(|label| *label == refusal.label());
        if let Some(reason) = reason
            && let Some(row) = self.held_back.get_mut(usize::from(priority.number()))
        {
            row[reason] += 1;
        }
    }
}

/// Counts of one route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteCounters {
    /// Requests that took it, by priority 0 to 2.
    pub requests: [u64; 3],
    /// Requests let out by it on a connection of each of its groups, in order of preference; one that is sent again counts
    /// again.
    pub by_group: Vec<u64>,
    /// Requests that took it and that we answered ourselves, by [`Refusal::LABELS`].
    pub refused: [u64; Refusal::LABELS.len()],
}

impl RouteCounters {
    pub(super) fn of(route: &Route) -> Self {
        Self { by_group: vec![0; route.groups.len()], ..Self::default() }
    }

    pub(super) fn count_request(&mut self, priority: Priority) {
        if let Some(count) = self.requests.get_mut(usize::from(priority.number())) {
            *count += 1;
        }
    }

    pub(super) fn count_group(&mut self, group: usize) {
        if let Some(count) = self.by_group.get_mut(group) {
            *count += 1;
        }
    }

    pub(super) fn count_refused(&mut self, refusal: Refusal) {
        if let Some(at) = Refusal::LABELS.iter().position(|label| *label == refusal.label()) {
            self.refused[at] += 1;
        }
    }
}

/// Counts that belong to no single connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests answered by us, by [`Refusal::label`].
    pub refused: BTreeMap<&'static str, u64>,
    /// Answers of ours to requests that cannot be handled, by Result-Code.
    pub rejected: BTreeMap<u32, u64>,
    /// Links closed, by reason.
    pub closed: BTreeMap<&'static str, u64>,
    /// CERs from nobody we know.
    pub unknown_peers: u64,
    /// Answers whose requester has gone.
    pub answers_orphaned: u64,
}

impl Totals {
    pub(super) fn count_refused(&mut self, refusal: Refusal) {
        *self.refused.entry(refusal.label()).or_default() += 1;
    }

    pub(super) fn count_close(&mut self, reason: &CloseReason) {
        *self.closed.entry(reason.label()).or_default() += 1;
    }
}
