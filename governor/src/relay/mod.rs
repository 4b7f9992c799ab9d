//! The running relay: sockets, clock and signals around the core's [`governor_core::agent::Agent`].
//!
//! One thread owns the agent and every socket, so there is no lock and no queue between connections. A task a
//! connection waits for input; what it reads goes through the agent at once, and the *driver* task writes what came of
//! it. The driver runs after every task that is ready, so that one call writes what many reads have produced.

mod connector;
mod driver;
mod engine;
mod handle;
mod kernel;
mod listeners;
mod measure;
mod origin_state;
mod reload;
mod service;
pub mod share;
mod start;
mod status;
mod stop;
mod systemd;
mod tell;

pub use handle::{Change, Command, Handle, Outcome};
pub use start::{StartError, Started, start};
