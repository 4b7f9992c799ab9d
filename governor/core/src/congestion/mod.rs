//! The congestion levels of connections and groups (rules 1 to 6), one file a feature.
//!
//! [`Connection`] holds the four inputs of one connection's CPL, its pending records and its rate, and decides
//! what may leave. [`Group`] holds what several connections share, and
//! [`Share`] which part of it is this agent's where several agents share it. All follow the core's contract:
//! `handle_*` take an event and the time, and first run the timers due at or before that time, in order;
//! `poll_timeout` says when `handle_timeout` is due, `poll_event` what changed; getters change nothing.
//! A timer that is run late gives the same levels as one run in time: samples that were missed are caught up.

mod change;
mod connection;
mod group;
mod peak;
mod pending;
mod rate;
mod remote_busy;
mod share;
mod status;
mod steps;
mod throttle;
mod transport;
mod window;

pub use change::{Cause, LevelChange};
pub use connection::Connection;
pub use group::{Group, GroupChange, GroupCounters};
pub use pending::Pending;
pub use share::{Grant, Report, Share, ShareChange, ShareState, Sums};

use crate::level::Priority;
use crate::refusal::Refusal;
use crate::time::Time;

/// May a request leave on this connection? `agent` are the whole agent's pending records, `group` is the connection's,
/// `to_this_peer`: its Destination-Host is the peer.
///
/// # Errors
/// Of several causes the first of: CPL, pending limit (the connection's or the agent's), rate limit, group.
pub fn admit(
    now: Time,
    connection: &mut Connection,
    agent: &Pending,
    group: Option<&mut Group>,
    priority: Priority,
    to_this_peer: bool,
) -> Result<(), Refusal> {
    match connection.admit_request(now, priority, to_this_peer) {
        Ok(()) | Err(Refusal::RateLimit) if agent.admit().is_err() => return Err(Refusal::PendingLimit),
        verdict => verdict?,
    }
    group.map_or(Ok(()), |group| group.admit(now, priority))
}
