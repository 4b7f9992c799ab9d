//! The demo's relay: on a thread of its own, in this process.

use super::pool::Site;
use super::state::Noted;
use crate::config::Config;
use crate::observe::snapshot::Connection;
use crate::relay::{self, Change, Handle, Outcome, StartError};
use anyhow::{Context as _, bail};
use governor_core::settings::ConnectionIndex;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

/// The relay answers such a question in microseconds; a stuck one is to end the demo, not to hang it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running relay.
pub struct Relay {
    handle: Handle,
    thread: JoinHandle<Result<Outcome, StartError>>,
    changes: UnboundedReceiver<Change>,
    /// By [`Site`].
    connections: [ConnectionIndex; 4],
    /// Where it listens.
    pub address: SocketAddr,
    /// What the kernel programs do here, or why there are none, in one line.
    pub kernel: String,
}

impl Relay {
    /// Starts it and waits until it listens.
    pub fn start(config: Config) -> anyhow::Result<Self> {
        let mut connections = [ConnectionIndex(0); 4];
        for site in Site::ALL {
            let at = config.settings.connection(site.connection());
            connections[site as usize] = at.with_context(|| format!("{} is not configured", site.connection()))?;
        }
        let (sender, started) = mpsc::channel();
        let thread = std::thread::Builder::new().name("relay".into()).spawn(move || {
            let tell = move |started| {
                // The demo is gone: then nobody is interested.
                let _ = sender.send(started);
            };
            relay::start(config, tell, std::future::pending())
        })?;
        // The sender is dropped when the relay does not start.
        let Ok(started) = started.recv() else {
            match thread.join() {
                Ok(Err(error)) => return Err(error).context("the relay cannot start"),
                _ => bail!("the relay ended at once"),
            }
        };
        let changes = started.handle.follow();
        let address = started.listening.first().copied().context("the relay listens nowhere")?;
        Ok(Self {
            handle: started.handle,
            thread,
            changes,
            connections,
            address,
            kernel: started.kernel.lines().next().unwrap_or_default().to_owned(),
        })
    }

    /// The four connections now, and the changes of level since the last look. `at` is the demo's clock now; the changes'
    /// times are put on it.
    pub async fn look(&mut self, at: Duration) -> anyhow::Result<([Connection; 4], Vec<Noted>)> {
        let snapshot = timeout(PATIENCE, self.handle.status()).await.context("the relay does not answer")?;
        let mut snapshot = snapshot.context("the relay has ended")?;
        let connections =
            self.connections.map(|at| snapshot.connections.get_mut(at.get()).map(std::mem::take).unwrap_or_default());
        let mut noted = Vec::new();
        while let Ok((connection, change)) = self.changes.try_recv() {
            if let Some(site) = Site::ALL.into_iter().find(|site| self.connections[*site as usize] == connection) {
                let ago =
                    Duration::try_from_secs_f64(snapshot.node.uptime - change.at.as_secs_f64()).unwrap_or_default();
                noted.push(Noted { at: at.saturating_sub(ago), site, change });
            }
        }
        Ok((connections, noted))
    }

    /// Waits until all four connections are up.
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        let up = async {
            loop {
                let (connections, _) = self.look(Duration::ZERO).await?;
                if connections.iter().all(|connection| connection.levels.status == 0) {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, up).await.context("the relay's connections do not come up")?
    }

    /// Lets it say goodbye to its peers, and end.
    pub fn stop(self) {
        self.handle.stop();
        // A thread that panicked has said so.
        let _ = self.thread.join();
    }
}
