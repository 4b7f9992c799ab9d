//! Telling what happened: a log line, and a record for whoever follows the relay.

use super::engine::Engine;
use crate::observe::event::{Event, What};
use governor_core::agent::{Admin, LinkId};
use governor_core::congestion::{GroupChange, LevelChange, ShareChange};
use governor_core::peer::CloseReason;
use governor_core::settings::ConnectionIndex;
use governor_core::time::Time;
use std::sync::Arc;
use std::time::SystemTime;

/// Events that a follower may lag behind before it loses the oldest (it is told how many).
pub(super) const BACKLOG: usize = 4096;

// === impl Engine ===

impl Engine {
    pub fn tell_level(&self, connection: ConnectionIndex, change: &LevelChange) {
        let (name, peer) = self.names(connection);
        let pending = self.agent.slot(connection).map_or(0, |slot| slot.congestion().pending());
        self.tell(change.at, What::level(name, peer, change, pending));
    }

    pub fn tell_group(&self, group: usize, change: &GroupChange) {
        if let Some(configured) = self.agent.settings().groups.get(group) {
            self.tell(change.at, What::group(configured, change));
        }
    }

    pub fn tell_share(&self, group: usize, change: &ShareChange) {
        if let Some(configured) = self.agent.settings().groups.get(group) {
            self.tell(change.at, What::share(configured, change));
        }
    }

    pub fn tell_up(&self, connection: ConnectionIndex) {
        let (connection, peer) = self.names(connection);
        self.tell(self.now(), What::Up { connection, peer });
    }

    pub fn tell_down(&self, connection: ConnectionIndex, reason: &CloseReason) {
        let (connection, peer) = self.names(connection);
        self.tell(self.now(), What::down(connection, peer, reason));
    }

    pub fn tell_closed(&self, link: LinkId, reason: &CloseReason) {
        let whose = self.whose(link);
        let connection = whose.and_then(|whose| whose.connection).map(|connection| self.names(connection).0);
        let remote = whose.map(|whose| whose.remote.to_string());
        self.tell(self.now(), What::closed(connection, remote, reason));
    }

    pub fn tell_admin(&self, connection: ConnectionIndex, admin: Admin) {
        let (connection, peer) = self.names(connection);
        self.tell_now(What::Admin { connection, peer, admin: admin.name().to_owned() });
    }

    pub fn tell_now(&self, what: What) {
        self.tell(self.now(), what);
    }

    fn tell(&self, at: Time, what: What) {
        // The clock of this moment less the time gone by: the relay's own time never jumps, the clock may.
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let t = clock.saturating_sub(self.now() - at).as_secs_f64();
        let event = Event { t, what };
        event.log();
        if self.events.receiver_count() > 0 {
            // An error means that the last follower has just gone.
            let _ = self.events.send(Arc::new(event));
        }
    }

    /// A connection's name and its peer's host. Not from the settings: it may have gone from those.
    pub fn names(&self, connection: ConnectionIndex) -> (String, String) {
        let slot = self.agent.slot(connection);
        slot.map(|slot| (slot.name.to_string(), slot.peer_host().to_string())).unwrap_or_default()
    }
}
