//! From a configuration to a running relay, and its end.

use super::engine::{Engine, Shared};
use super::handle::{Command, Handle, Outcome};
use super::kernel::Kernel;
use super::listeners::Bound;
use super::{driver, kernel, origin_state, reload, stop, systemd};
use crate::config::{Address, Config};
use crate::observe::control;
use crate::observe::metrics::server::Server;
use crate::transport::limits;
use governor_core::agent::Agent;
use governor_core::peer::Local;
use governor_core::time::Time;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tracing::{info, warn};

/// Vendor-Id of the CER: none (RFC 6733 section 5.3.3).
const VENDOR: u32 = 0;

/// Why the relay cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listening address.
    #[error("cannot listen on {address}")]
    Listen {
        /// As configured.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The runtime.
    #[error("cannot start the event loop")]
    Runtime(#[source] std::io::Error),
    /// `kernel_assist = "required"`, and it cannot be had.
    #[error(transparent)]
    Kernel(crate::kernel::Error),
}

/// A relay that runs: what to ask it by, and where it listens.
#[derive(Clone, Debug)]
pub struct Started {
    /// To ask and to stop it.
    pub handle: Handle,
    /// Where it listens, with the ports that the system chose for 0.
    pub listening: Vec<SocketAddr>,
    /// Where the metrics are served, with the port that the system chose for 0.
    pub metrics: Option<SocketAddr>,
    /// What the kernel offers, for people.
    pub kernel: String,
}

/// Runs a relay on this thread until it is stopped. `started` is called once it listens, within the relay's
/// `tokio::task::LocalSet`; `until` ends it, as [`Handle::stop`] does.
///
/// # Errors
/// What keeps it from starting; nothing is left behind then.
pub fn start(
    config: Config,
    started: impl FnOnce(Started),
    until: impl Future<Output = ()> + 'static,
) -> Result<Outcome, StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Runtime)?;
    LocalSet::new().block_on(&runtime, run(config, started, until))
}

async fn run(
    config: Config,
    started: impl FnOnce(Started),
    until: impl Future<Output = ()> + 'static,
) -> Result<Outcome, StartError> {
    let Config { settings, shell, file, .. } = config;
    check_open_files(settings.connections.len());
    let bind = |address: &Address| {
        Bound::new(address).map_err(|source| StartError::Listen { address: address.to_string(), source })
    };
    let bound = shell.listen.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
    let (programs, events) = Kernel::load(&shell, &settings).map_err(StartError::Kernel)?;
    let report = programs.report().to_string();

    // A relay that cannot be asked still relays.
    let control = shell.control.as_deref().and_then(|path| match control::Listener::bind(path) {
        Ok(listener) => Some(listener),
        Err(error) => {
            warn!("`governor status` cannot ask this agent: {:#}", anyhow::Error::new(error));
            None
        }
    });

    let (ask, asked) = mpsc::channel(1);
    let metrics = shell.metrics.and_then(|address| match Server::start(address, ask) {
        Ok(server) => Some(server),
        Err(error) => {
            warn!(%address, %error, "cannot serve metrics");
            None
        }
    });

    let state_file = shell.control.as_deref().and_then(|c| c.parent()).map(|dir| dir.join("origin-state-id"));
    let local = Arc::new(Local {
        origin_host: settings.node.origin_host.clone(),
        origin_realm: settings.node.origin_realm.clone(),
        product_name: "governor".to_owned(),
        vendor_id: VENDOR,
        firmware_revision: 1,
        origin_state_id: origin_state::next(state_file.as_deref()),
    });
    let seed = seed();
    let agent = Agent::new(Time::ZERO, Arc::new(settings), local, seed);
    let shared = Shared::new(Engine::new(agent, shell, programs, file));

    spawn_local(driver::drive(shared.clone()));
    if let Some(events) = events {
        spawn_local(kernel::listen(shared.clone(), events));
    }
    let sharing = spawn_local(super::share::run(shared.clone(), seed));
    let metrics_at = metrics.as_ref().map(Server::address);
    if let Some(address) = metrics_at {
        info!("metrics at http://{address}/metrics");
        spawn_local(super::measure::answer(shared.clone(), asked));
    }
    if let Some(control) = control {
        info!(socket = %control.path().display(), "answering `governor status`");
        spawn_local(control.serve(shared.clone()));
    }
    let (sender, mut commands) = mpsc::unbounded_channel();
    let handle = Handle { commands: sender, events: shared.borrow().events.downgrade() };
    // Before anybody can see that it runs: who is told so may end it at once, and be heard.
    let listening = bound.iter().flat_map(Bound::local).collect();
    started(Started { handle: handle.clone(), listening, metrics: metrics_at, kernel: report });
    {
        let mut engine = shared.borrow();
        let now = engine.now();
        engine.listeners = bound.into_iter().map(|bound| bound.serve(&shared)).collect();
        engine.agent.handle_start(now);
        kernel::sample_if_needed(&shared, &mut engine);
        engine.wake_driver();
    }
    spawn_local(systemd::watchdog());
    systemd::ready();
    tokio::select! {
        () = until => {}
        () = serve(&shared, &mut commands) => {}
    }
    let outcome = tokio::select! {
        outcome = stop::stop(&shared) => outcome,
        () = serve(&shared, &mut commands) => Outcome::AtOnce,
    };
    if outcome != Outcome::AtOnce {
        sharing.abort();
        super::share::leave(&shared, seed).await;
    }
    // Until here: the end is to be seen on the page.
    drop(metrics);
    Ok(outcome)
}

/// Tells when there may be fewer descriptors than sockets.
pub(super) fn check_open_files(connections: usize) {
    let (open_files, connections) = (limits::raise_open_files(), connections as u64);
    if open_files < connections + 64 {
        warn!(open_files, connections, "the limit of open files (RLIMIT_NOFILE) is too low for all connections");
    }
}

/// Answers commands until one says stop.
async fn serve(shared: &Shared, commands: &mut mpsc::UnboundedReceiver<Command>) {
    // The relay's own handle keeps the channel open, so `None` never comes.
    while let Some(command) = commands.recv().await {
        match command {
            Command::Status(reply) => {
                // Whoever asked may be gone.
                let _ = reply.send(Box::new(super::status::status(&mut shared.borrow())));
            }
            Command::Follow(follower) => shared.borrow().followers.push(follower),
            Command::Reload(reply) => {
                let shared = shared.clone();
                spawn_local(async move {
                    let outcome = reload::reload(&shared).await;
                    let _ = reply.send(outcome);
                });
            }
            Command::Stop => return,
        }
    }
}

/// Another one at each call. Not a secret: it makes jitter and the first identifiers.
pub(super) fn seed() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    u64::try_from(time & u128::from(u64::MAX)).unwrap_or_default() ^ u64::from(std::process::id()).rotate_left(32)
}
