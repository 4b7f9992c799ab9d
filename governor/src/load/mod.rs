//! Diameter load: a client that asks, a server that answers, and a report that adds up.
//!
//! Made for measuring a relay that shares the machine with it: threads with an event loop each, a template message
//! whose identifiers are patched, one write a batch, and nothing allocated for a message. Both ends count, and the
//! client's count has to add up: sent = answered + timed out + lost with a connection.

mod base;
mod behaviour;
mod client;
mod endpoint;
mod outstanding;
mod report;
mod responder;
mod schedule;
mod sender;
mod server;
mod stream;
mod template;
#[cfg(test)]
mod tests;
mod timer;

pub use base::Identity;
pub use behaviour::Behaviour;
pub use client::{Client, ClientOptions};
pub use endpoint::Endpoint;
pub use report::{ClientReport, ServerReport};
pub use schedule::{Pace, PriorityMix};
pub use server::{Server, ServerOptions};

use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a load could not start.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The operating system refused.
    #[error("cannot {what}")]
    Io {
        /// What was tried, and where.
        what: String,
        /// Its answer.
        #[source]
        source: io::Error,
    },
    /// The peer's capabilities answer did not say success.
    #[error("{address} refused the capabilities exchange with Result-Code {}", .result_code.map_or("(none)".to_owned(), |c| c.to_string()))]
    Capabilities {
        /// The peer.
        address: SocketAddr,
        /// What it answered.
        result_code: Option<u32>,
    },
    /// Not Diameter, or not an answer to our request.
    #[error("{address} did not answer the capabilities exchange with Diameter: {why}")]
    NotDiameter {
        /// The peer.
        address: SocketAddr,
        /// What is wrong with it.
        why: String,
    },
    /// An option is out of its range.
    #[error("{0}")]
    Option(String),
}

impl LoadError {
    fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
