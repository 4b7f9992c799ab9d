//! The relay agent in simulated time, between scripted peers: what it does with requests and answers, and what holds
//! whatever happens.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod failover;
mod ledger;
mod measures;
mod message;
mod net;
mod node;
mod operations;
mod peers;
mod pipe;
mod relaying;
mod reload;
mod routing;
mod rule2_remote_busy;
mod rule3_transport;
mod rule5_pending;
mod rule6_groups;
mod rule7_priority;
mod rule8_answers;
mod service;
mod topology;
