//! The addresses that the relay listens on, each with the task that accepts.

use super::connector;
use super::engine::Shared;
use crate::config::Address;
use crate::transport::{Listener, Options};
use std::io;
use std::net::SocketAddr;
use tokio::task::{AbortHandle, spawn_local};
use tracing::info;

/// An address that is bound, and nothing accepted yet. Dropping it closes it.
pub(super) struct Bound {
    address: Address,
    sockets: Vec<Listener>,
}

/// An address at work. Dropping it closes it; what it has accepted stays.
pub(super) struct Listening {
    /// As configured.
    pub address: Address,
    /// Where it listens, with the ports that the system chose for 0.
    pub local: Vec<SocketAddr>,
    tasks: Vec<AbortHandle>,
}

// === impl Bound ===

impl Bound {
    /// Binds an address of the configuration.
    pub fn new(address: &Address) -> io::Result<Self> {
        let sockets = address.endpoints.iter().map(|&on| Listener::bind(on, Options::default()));
        Ok(Self { address: address.clone(), sockets: sockets.collect::<io::Result<_>>()? })
    }

    /// Where it is bound, with the ports that the system chose for 0.
    pub fn local(&self) -> Vec<SocketAddr> {
        self.sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect()
    }

    /// Accepts from now on.
    pub fn serve(self, shared: &Shared) -> Listening {
        let local = self.local();
        for address in &local {
            info!(%address, "listening");
        }
        let accept = |socket| spawn_local(connector::accept(shared.clone(), socket)).abort_handle();
        Listening { address: self.address, local, tasks: self.sockets.into_iter().map(accept).collect() }
    }
}

// === impl Listening ===

impl Listening {
    /// Where it listens, as the configuration spells it.
    pub fn addresses(&self) -> impl Iterator<Item = String> {
        self.local.iter().map(|address| format!("{}://{address}", self.address.scheme))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
