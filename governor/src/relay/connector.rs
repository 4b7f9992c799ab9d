//! Connections coming into being: those that we open and those that we accept.

use super::engine::{Engine, Input, Shared};
use crate::transport::tcp::Connected;
use crate::transport::{self, Listener, Options, Reader};
use governor_core::agent::LinkId;
use governor_core::settings::ConnectionIndex;
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

/// Opens the transport connection of a slot and tells the agent how it went.
pub(super) fn connect(shared: &Shared, engine: &mut Engine, connection: ConnectionIndex) {
    let patience = engine.agent.settings().node.connect_timeout;
    let Some(name) = engine.agent.slot(connection).map(|slot| Arc::clone(&slot.name)) else { return };
    let Some(shell) = engine.shell.connections.get(connection.get()) else { return };
    let Some(to) = shell.address.as_ref().and_then(|address| address.endpoints.first().copied()) else { return };
    let options = Options { send_buffer: shell.send_buffer };
    let shared = shared.clone();
    let whose = Rc::new(Cell::new(connection));
    let connection = Rc::clone(&whose);
    let task = spawn_local(async move {
        let outcome = timeout(patience, transport::connect(to, options)).await;
        let outcome = outcome.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut)));
        let mut engine = shared.borrow();
        let (now, connection) = (engine.now(), connection.get());
        match outcome {
            Ok(connected) => {
                let local = vec![connected.local_ip()];
                let link = engine.agent.handle_connected(now, connection, local);
                adopt(&shared, &mut engine, link, connected);
            }
            Err(error) => {
                info!(connection = &*name, %to, %error, "cannot connect");
                engine.agent.handle_connect_failed(now, connection);
            }
        }
        engine.wake_driver();
    });
    engine.attempt(whose, task.abort_handle());
}

/// Accepts for ever.
pub(super) async fn accept(shared: Shared, listener: Listener) {
    loop {
        match listener.accept().await {
            Ok(connected) => {
                let mut engine = shared.borrow();
                let now = engine.now();
                let link =
                    engine.agent.handle_accepted(now, vec![connected.local_ip()], connected.remote.ip().to_canonical());
                debug!(remote = %connected.remote, "accepted");
                adopt(&shared, &mut engine, link, connected);
            }
            Err(error) => {
                // Out of descriptors, mostly: those in use go on, and the newcomer waits in the queue.
                warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Takes a connection into the engine and begins to read from it.
fn adopt(shared: &Shared, engine: &mut Engine, link: LinkId, connected: Connected) {
    let Connected { reader, writer, remote, .. } = connected;
    let task = spawn_local(read(shared.clone(), link, reader));
    engine.insert(link, writer, remote, task.abort_handle());
}

/// Reads until the end of the stream.
async fn read(shared: Shared, link: LinkId, mut reader: Reader) {
    loop {
        match poll_fn(|cx| shared.borrow().poll_input(cx, link, &mut reader)).await {
            Input::Some => {}
            Input::End(error) => {
                if let Some(error) = error {
                    debug!(%error, "read failed");
                }
                shared.borrow().remove(link);
                return;
            }
        }
    }
}
