//! Asking the agent, on a thread: an agent that is slow to answer, and an answer of megabytes, must not hold up the keys.

use crate::observe::control;
use crate::observe::snapshot::Snapshot;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// What came of asking.
pub enum Heard {
    /// The agent's state.
    Look(Box<Snapshot>),
    /// Why there is none.
    Miss(String),
}

/// The thread's other end; it ends when this is dropped.
pub struct Poller {
    heard: mpsc::Receiver<Heard>,
    paused: Arc<AtomicBool>,
}

// === impl Poller ===

impl Poller {
    /// Asks the agent behind that socket from one interval after now on.
    pub fn start(socket: PathBuf, interval: Duration) -> Self {
        // One answer waits at most: old ones are of no use.
        let (sender, heard) = mpsc::channel(1);
        let paused = Arc::new(AtomicBool::new(false));
        let pausing = Arc::clone(&paused);
        std::thread::spawn(move || {
            let mut due = Instant::now();
            loop {
                // Not faster to make up for what was late.
                due = (due + interval).max(Instant::now());
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if pausing.load(Ordering::Relaxed) {
                    if sender.is_closed() {
                        return;
                    }
                    continue;
                }
                let heard = match control::status(&socket) {
                    Ok(snapshot) => Heard::Look(Box::new(snapshot)),
                    Err(error) => Heard::Miss(format!("{:#}", anyhow::Error::from(error))),
                };
                if sender.blocking_send(heard).is_err() {
                    return;
                }
            }
        });
        Self { heard, paused }
    }

    /// The next. `None`: the thread has failed. Cancel safe.
    pub async fn heard(&mut self) -> Option<Heard> {
        self.heard.recv().await
    }

    /// Leaves the agent alone, or asks it again.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }
}
