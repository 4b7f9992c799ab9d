//! How the relay stands: what the agent knows, and what only the sockets and the kernel programs know.

use super::engine::Engine;
use super::listeners::Listening;
use crate::kernel::monotonic;
use crate::observe::collect;
use crate::observe::snapshot::{Connection, KernelAssist, KernelConnection, Snapshot};
use governor_core::agent::Slot;
use governor_core::settings::ConnectionIndex;
use std::time::Duration;

pub(super) fn status(engine: &mut Engine) -> Snapshot {
    let now = engine.now();
    let mut snapshot = collect::snapshot(&mut engine.agent, &engine.shell, now);
    snapshot.listeners = engine.listeners.iter().flat_map(Listening::addresses).collect();
    snapshot.kernel_assist = KernelAssist {
        mode: engine.shell.kernel_assist.to_string(),
        active: engine.kernel.is_active(),
        report: engine.kernel.report().to_string().lines().map(str::to_owned).collect(),
    };
    for socket in engine.sockets() {
        let Some(index) = socket.connection else { continue };
        let Some(connection) = snapshot.connections.get_mut(index.get()) else { continue };
        let open = engine.agent.slots().get(index.get()).and_then(Slot::link);
        // While the machine chooses between two, one that is open is the one to show.
        if connection.remote.is_some() && open != Some(socket.link) {
            continue;
        }
        connection.remote = Some(socket.remote.to_string());
        connection.kernel = socket.cookie.and_then(|cookie| kernel(engine, cookie));
    }
    // Bringing the rates up to date may have changed levels.
    engine.wake_driver();
    snapshot
}

/// One connection, without a look at the thousands of others.
pub(super) fn connection(engine: &Engine, at: ConnectionIndex) -> Option<Connection> {
    let slot = engine.agent.slots().get(at.get())?;
    let mut connection = collect::connection(slot, &engine.agent, &engine.shell, engine.now());
    let whose = slot.link().and_then(|link| engine.whose(link));
    let socket = whose.and_then(|whose| engine.sockets_at(whose.link.index(), 1).next());
    connection.remote = socket.map(|socket| socket.remote.to_string());
    connection.kernel = socket.and_then(|socket| socket.cookie).and_then(|cookie| kernel(engine, cookie));
    Some(connection)
}

fn kernel(engine: &Engine, cookie: u64) -> Option<KernelConnection> {
    let record = engine.kernel.record(cookie)?;
    let blocked = |since: u64| Duration::from_nanos(monotonic().saturating_sub(since)).as_secs_f64();
    Some(KernelConnection {
        cookie,
        queued: u64::from(record.queued),
        limit: u64::from(record.limit),
        blocked_for: (record.blocked_since > 0).then(|| blocked(record.blocked_since)),
        sends: record.sends,
        refusals: record.refusals,
    })
}
