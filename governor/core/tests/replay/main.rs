//! `governor replay` from the outside: rules 1 to 6 as scripts, the shape of each line, and what makes a line bad.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_lines;
mod properties;
mod routes;
mod rule1_admission;
mod rule2_remote_busy;
mod rule3_transport;
mod rule4_throttle;
mod rule5_pending;
mod rule6_groups;
mod script;
mod shape;
