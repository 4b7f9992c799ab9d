//! The congestion core as a library: events, live changes of settings, cost, and properties against plain models of the
//! rules. The rules' own tables are played through replay (`tests/replay`).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod capacity;
mod events;
mod group;
mod model;
mod properties;
mod reconfigure;
