//! The pure core of the egress governor for Diameter.
//!
//! Deterministic: no sockets, no tasks, no clock, no logging. Input and `now` ([`time::Time`]) go in,
//! decisions come out; the shell (crate `governor`) owns everything that touches the outside.
//! Types that keep state follow one contract: `handle_*` take an event and the time, `poll_*` give
//! what to send, when to call again and what happened, getters change nothing. `now` never goes back.
#![forbid(unsafe_code)]

pub mod agent;
pub mod congestion;
pub mod diameter;
pub mod level;
pub mod level_times;
pub mod peer;
pub mod refusal;
pub mod replay;
pub mod routing;
pub mod settings;
pub mod time;
