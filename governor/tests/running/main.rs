//! A running relay that is changed while traffic goes through it: `governor run` as a program, real sockets, the load's
//! servers and clients around it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

mod events;
mod notify;
mod relay;
mod reload;
mod service;
mod stop;
