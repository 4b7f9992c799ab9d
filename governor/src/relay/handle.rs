//! Talking to a running relay from another task or thread.

use crate::config::Faults;
use crate::observe::control::Reloaded;
use crate::observe::event::Event;
use crate::observe::snapshot::Snapshot;
use governor_core::congestion::LevelChange;
use governor_core::settings::ConnectionIndex;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc, oneshot};

/// A change of level on a connection, by its index in the settings of that moment.
pub type Change = (ConnectionIndex, LevelChange);

/// Where the relay's events come from: [`broadcast::Sender::subscribe`]. A follower that lags behind is told how many it has
/// lost, and holds nobody up.
pub type Events = broadcast::Sender<Arc<Event>>;

/// What can be asked of a running relay.
#[derive(Debug)]
pub enum Command {
    /// How it stands.
    Status(oneshot::Sender<Box<Snapshot>>),
    /// Every change of level from now on, until the receiver is dropped.
    Follow(mpsc::UnboundedSender<Change>),
    /// Read the configuration file again.
    Reload(oneshot::Sender<Result<Reloaded, Faults>>),
    /// Say goodbye to every peer and end; the second time: end at once.
    Stop,
}

/// How the relay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every peer was told and every connection closed.
    Quiet,
    /// The deadline came first.
    Deadline,
    /// It was told to end a second time.
    AtOnce,
}

/// A running relay. Cheap to clone; the relay does not end with the last one.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) events: broadcast::WeakSender<Arc<Event>>,
}

// === impl Handle ===

impl Handle {
    /// How it stands; `None` when it runs no more.
    pub async fn status(&self) -> Option<Box<Snapshot>> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Status(reply)).ok()?;
        answer.await.ok()
    }

    /// Every change of level from now on.
    pub fn follow(&self) -> mpsc::UnboundedReceiver<Change> {
        let (follower, changes) = mpsc::unbounded_channel();
        // One that runs no more has no changes to tell: the receiver says so by its end.
        let _ = self.commands.send(Command::Follow(follower));
        changes
    }

    /// Everything that happens from now on, until it ends; `None` when it runs no more.
    pub fn events(&self) -> Option<broadcast::Receiver<Arc<Event>>> {
        Some(self.events.upgrade()?.subscribe())
    }

    /// Has it read its configuration file again; `None` when it runs no more.
    pub async fn reload(&self) -> Option<Result<Reloaded, Faults>> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Reload(reply)).ok()?;
        answer.await.ok()
    }

    /// Asks it to end: what is pending is answered, every peer is told. A second time: at once.
    pub fn stop(&self) {
        // It may have ended already.
        let _ = self.commands.send(Command::Stop);
    }
}
