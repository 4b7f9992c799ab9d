//! From a configuration to a running relay, and its end.

use super::engine::{Engine, Shared};
use super::handle::{Command, Handle, Outcome};
use super::kernel::Kernel;
use super::{connector, driver, origin_state};
use crate::config::{Address, Config};
use crate::observe::control;
use crate::observe::metrics::server::Server;
use crate::transport::limits;
use governor_core::agent::Agent;
use governor_core::peer::{DisconnectCause, Local};
use governor_core::time::Time;
use std::future::Future;
use std::net::SocketAddr;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// Vendor-Id of the CER: none (RFC 6733 section 5.3.3).
const VENDOR: u32 = 0;
/// How long peers may take to say goodbye at the end.
const GOODBYE: Duration = Duration::from_secs(5);

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

/// Runs a relay on this thread until it is stopped. `started` is called once it listens; `until` ends it, as
/// [`Handle::stop`] does.
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
    let open_files = limits::raise_open_files();
    let connections = config.settings.connections.len() as u64;
    if open_files < connections + 64 {
        warn!(open_files, connections, "the limit of open files (RLIMIT_NOFILE) is too low for all connections");
    }
    let Config { settings, shell, .. } = config;
    let mut listeners = Vec::new();
    for address in &shell.listen {
        let listening = connector::listen(address)
            .map_err(|source| StartError::Listen { address: Address::to_string(address), source })?;
        listeners.extend(listening);
    }
    let listening = listeners.iter().filter_map(|l| l.local_addr().ok()).collect::<Vec<_>>();
    let (kernel, events) = Kernel::load(&shell, &settings).map_err(StartError::Kernel)?;
    let report = kernel.report().to_string();
    let measure_ourselves = settings.connections.iter().any(|connection| connection.transport.pressure.is_some());

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
    let agent = Agent::new(Time::ZERO, Arc::new(settings), local, seed());
    let mut engine = Engine::new(agent, shell, kernel, Instant::now());
    engine.listening.clone_from(&listening);
    let shared = Shared::new(engine);

    spawn_local(driver::drive(shared.clone()));
    for listener in listeners {
        spawn_local(connector::accept(shared.clone(), listener));
    }
    if let Some(events) = events {
        spawn_local(super::kernel::listen(shared.clone(), events));
    }
    if measure_ourselves {
        spawn_local(super::kernel::sample(shared.clone()));
    }
    let metrics_at = metrics.as_ref().map(Server::address);
    if let Some(address) = metrics_at {
        info!("metrics at http://{address}/metrics");
        spawn_local(super::measure::answer(shared.clone(), asked));
    }
    if let Some(control) = control {
        info!(socket = %control.path().display(), "answering `governor status`");
        let shared = shared.clone();
        spawn_local(control.serve(move || {
            let snapshot = super::status::status(&mut shared.borrow());
            std::future::ready(Some(snapshot))
        }));
    }
    {
        let mut engine = shared.borrow();
        let now = engine.now();
        engine.agent.handle_start(now);
        engine.wake_driver();
    }
    let (sender, commands) = mpsc::unbounded_channel();
    let handle = Handle { commands: sender, events: shared.borrow().events.downgrade() };
    for address in &listening {
        info!(%address, "listening");
    }
    started(Started { handle: handle.clone(), listening, metrics: metrics_at, kernel: report });
    tokio::select! {
        () = until => {}
        () = serve(shared.clone(), commands) => {}
    }
    let outcome = stop(shared).await;
    // Until here: the end is to be seen on the page.
    drop(metrics);
    Ok(outcome)
}

/// Answers commands until one says stop.
async fn serve(shared: Shared, mut commands: mpsc::UnboundedReceiver<Command>) {
    // The relay's own handle keeps the channel open, so `None` never comes.
    while let Some(command) = commands.recv().await {
        match command {
            Command::Status(reply) => {
                // Whoever asked may be gone.
                let _ = reply.send(Box::new(super::status::status(&mut shared.borrow())));
            }
            Command::Follow(follower) => shared.borrow().followers.push(follower),
            Command::Stop => return,
        }
    }
}

/// DPR to every peer, and a while for their answers.
async fn stop(shared: Shared) -> Outcome {
    info!("stopping");
    {
        let mut engine = shared.borrow();
        let now = engine.now();
        engine.agent.handle_stop(now, DisconnectCause::Rebooting);
        engine.wake_driver();
    }
    let quiet = async {
        while !shared.borrow().agent.is_quiet() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    match timeout(GOODBYE, quiet).await {
        Ok(()) => Outcome::Quiet,
        Err(_) => Outcome::Deadline,
    }
}

/// Another one at each start. Not a secret: it makes jitter and the first identifiers.
fn seed() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    u64::try_from(time & u128::from(u64::MAX)).unwrap_or_default() ^ u64::from(std::process::id()).rotate_left(32)
}
