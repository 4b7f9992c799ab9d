//! The relay agent in simulated time, between scripted peers: what it does with requests and answers, and what holds
//! whatever happens.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod ledger;
mod message;
mod net;
mod node;
mod pipe;
mod relaying;
mod reload;
mod service;
mod topology;
