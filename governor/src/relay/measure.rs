//! The numbers for the page of metrics: copied here, on the relay's thread; the page is written elsewhere.

use super::engine::{Engine, Shared};
use crate::kernel::{monotonic, occupancy};
use crate::observe::metrics::{Buffer, KernelCounts, Sample};
use governor_core::agent::Slot;
use governor_core::settings::ConnectionIndex;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;

/// Sockets asked in one go: each is a system call, and messages wait meanwhile.
const AT_ONCE: usize = 256;

/// What only a connection's socket knows.
struct Socket {
    connection: ConnectionIndex,
    buffer: Option<Buffer>,
    kernel: Option<KernelCounts>,
}

/// Answers whoever asks for the numbers, until nobody can.
pub(super) async fn answer(shared: Shared, mut asked: mpsc::Receiver<oneshot::Sender<Sample>>) {
    while let Some(reply) = asked.recv().await {
        // Whoever asked may be gone.
        let _ = reply.send(sample(&shared).await);
    }
}

async fn sample(shared: &Shared) -> Sample {
    let mut sockets = Vec::new();
    let mut cost = Duration::ZERO;
    for first in (0..).step_by(AT_ONCE) {
        let start = Instant::now();
        let more = shared.borrow().ask_sockets(first, &mut sockets);
        cost += start.elapsed();
        if !more {
            break;
        }
        yield_now().await;
    }
    // The agent's own numbers in one go: they belong together.
    let start = Instant::now();
    let mut engine = shared.borrow();
    let now = engine.now();
    engine.agent.refresh(now);
    let mut sample = Sample::new(&engine.agent, now);
    sample.kernel_active = engine.kernel.is_active();
    sample.kernel_lost = engine.kernel.lost();
    for socket in sockets {
        if let Some(connection) = sample.connections.get_mut(socket.connection.get()) {
            connection.buffer = socket.buffer;
            connection.kernel = socket.kernel;
        }
    }
    // Bringing the rates up to date may have changed levels.
    engine.wake_driver();
    sample.cost = cost + start.elapsed();
    sample
}

// === impl Engine ===

impl Engine {
    /// Asks the sockets from that place on; are there more behind them?
    fn ask_sockets(&self, first: usize, found: &mut Vec<Socket>) -> bool {
        for socket in self.sockets_at(first, AT_ONCE) {
            let Some(connection) = socket.connection else { continue };
            // While the machine chooses between two links, neither is the connection's yet.
            if self.agent.slots().get(connection.get()).and_then(Slot::link) != Some(socket.link) {
                continue;
            }
            let record = socket.cookie.and_then(|cookie| self.kernel.record(cookie));
            let buffer = match record {
                Some(record) => Some(Buffer { queued: record.queued, limit: record.limit }),
                None => occupancy(socket.writer.as_fd())
                    .ok()
                    .map(|measured| Buffer { queued: measured.queued, limit: measured.limit }),
            };
            let kernel = record.map(|record| KernelCounts {
                sends: record.sends,
                refusals: record.refusals,
                blocked: match record.blocked_since {
                    0 => Duration::ZERO,
                    since => Duration::from_nanos(monotonic().saturating_sub(since)),
                },
            });
            found.push(Socket { connection, buffer, kernel });
        }
        self.has_sockets_behind(first + AT_ONCE)
    }
}
