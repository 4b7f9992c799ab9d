//! What happens, as one record each: the log line and whoever follows the agent see the same.
//!
//! As JSON one object an event. `event` says which (docs/control.md has them all), `t` when, in seconds since 1970 (UTC). Names and meanings are a contract with other programs: fields are added, never renamed.

use super::control::Reloaded;
use crate::config::Faults;
use governor_core::congestion::{Cause, GroupChange, LevelChange, ShareChange, ShareState};
use governor_core::level::{Feature, Level};
use governor_core::peer::CloseReason;
use serde::{Deserialize, Serialize};
use tracing::{error, info, warn};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, in seconds since 1970 (UTC).
    pub t: f64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// A feature's level on a connection became another.
    Level {
        /// The connection's name.
        connection: String,
        /// Its peer's host.
        peer: String,
        /// `status`, `remote_busy`, `transport` or `throttle`.
        feature: Feature,
        /// The feature's level before.
        from: Level,
        /// The feature's level now.
        to: Level,
        /// The connection's CPL before.
        cpl_from: Level,
        /// The connection's CPL now.
        cpl: Level,
        /// Why, with the figures that decided it.
        #[serde(flatten)]
        cause: Cause,
        /// Pending records of the connection when the event was told.
        pending: u32,
    },
    /// The level of an egress throttle group became another (rule 6).
    Group {
        /// The group's name.
        group: String,
        /// Its level before.
        from: Level,
        /// Its level now.
        to: Level,
        /// Requests/s over all members, at the sample that decided it.
        rate: f64,
        /// Their maximum.
        max_rate: Option<u32>,
        /// Pending records over all members, at that sample.
        pending: u32,
        /// Their maximum.
        max_pending: Option<u32>,
    },
    /// An agent's standing with those that it shares a group with became another (rule 6).
    Share {
        /// The group's name.
        group: String,
        /// `joining`, `shared` or `away` before.
        from: ShareState,
        /// The same now.
        to: ShareState,
        /// The agents that share the group, as far as is known.
        members: u32,
        /// Our part of the maximum, requests/s; null: there is no maximum.
        part_rate: Option<u32>,
        /// Our part of the maximum, pending records; likewise.
        part_pending: Option<u32>,
    },
    /// A connection takes requests: the capabilities are exchanged.
    Up {
        /// Its name.
        connection: String,
        /// Its peer's host.
        peer: String,
    },
    /// A connection takes no more messages.
    Down {
        /// Its name.
        connection: String,
        /// Its peer's host.
        peer: String,
        /// Why: a word for counters.
        reason: String,
        /// Why, for people.
        detail: String,
    },
    /// The operator has put a connection into or out of service, or its drain has ended.
    Admin {
        /// Its name.
        connection: String,
        /// Its peer's host.
        peer: String,
        /// `enabled`, `draining` or `disabled`.
        admin: String,
    },
    /// The operator has set a connection's status level by hand.
    ManualLevel {
        /// Its name.
        connection: String,
        /// Its peer's host.
        peer: String,
        /// The level; null: what is measured counts again.
        level: Option<Level>,
    },
    /// The agent runs on other settings.
    Reloaded(Reloaded),
    /// A configuration was not taken; nothing has changed.
    ReloadRefused(Faults),
    /// The end has begun.
    Stopping {
        /// Pending records of the whole agent: they are waited for.
        pending: u32,
    },
    /// A transport connection is closed.
    Closed {
        /// The connection it served; null: it is not known whose it was.
        connection: Option<String>,
        /// The peer's end, `IP:PORT`.
        remote: Option<String>,
        /// Why: a word for counters.
        reason: String,
        /// Why, for people.
        detail: String,
    },
}

// === impl What ===

impl What {
    /// A change of level on a connection of that name and peer.
    pub fn level(connection: String, peer: String, change: &LevelChange, pending: u32) -> Self {
        let &LevelChange { feature, from, to, cpl_from, cpl_to: cpl, cause, at: _ } = change;
        Self::Level { connection, peer, feature, from, to, cpl_from, cpl, cause, pending }
    }

    /// A change of a group's level.
    pub fn group(group: &governor_core::settings::Group, change: &GroupChange) -> Self {
        Self::Group {
            group: group.name.clone(),
            from: change.from,
            to: change.to,
            rate: change.rate,
            max_rate: group.max_rate,
            pending: change.pending,
            max_pending: group.max_pending,
        }
    }

    /// A change of the standing with the agents that share a group.
    pub fn share(group: &governor_core::settings::Group, change: &ShareChange) -> Self {
        let &ShareChange { from, to, part, members, at: _ } = change;
        Self::Share {
            group: group.name.clone(),
            from,
            to,
            members,
            part_rate: group.max_rate.map(|_| part.rate),
            part_pending: group.max_pending.map(|_| part.pending),
        }
    }

    /// The end of a connection.
    pub fn down(connection: String, peer: String, reason: &CloseReason) -> Self {
        Self::Down { connection, peer, reason: reason.label().to_owned(), detail: reason.to_string() }
    }

    /// The end of a transport connection.
    pub fn closed(connection: Option<String>, remote: Option<String>, reason: &CloseReason) -> Self {
        Self::Closed { connection, remote, reason: reason.label().to_owned(), detail: reason.to_string() }
    }
}

// === impl Event ===

impl Event {
    /// Writes the log line.
    pub fn log(&self) {
        match &self.what {
            What::Level { connection, peer, feature, from, to, cpl_from, cpl, cause, pending } => info!(
                connection,
                peer,
                %feature,
                from = from.number(),
                to = to.number(),
                cpl_from = cpl_from.number(),
                cpl = cpl.number(),
                %cause,
                pending,
                "level"
            ),
            What::Group { group, from, to, rate, max_rate, pending, max_pending } => info!(
                group,
                from = from.number(),
                to = to.number(),
                rate,
                max_rate,
                pending,
                max_pending,
                "group level"
            ),
            What::Share { group, from, to: ShareState::Away, members, part_rate, part_pending } => {
                warn!(group, %from, members, part_rate, part_pending, "away from the share server: our equal part");
            }
            What::Share { group, from, to, members, part_rate, part_pending } => {
                info!(group, %from, %to, members, part_rate, part_pending, "sharing");
            }
            What::Up { connection, peer } => info!(connection, peer, "up"),
            What::Down { connection, peer, reason, detail } => warn!(connection, peer, reason, detail, "down"),
            What::Admin { connection, peer, admin } => info!(connection, peer, admin, "service"),
            What::ManualLevel { connection, peer, level } => {
                info!(connection, peer, level = level.map(Level::number), "level by hand");
            }
            What::Reloaded(Reloaded { added, removed, kept, listening, closed, notes }) => {
                for note in notes {
                    warn!(line = note.line, key = note.key, "{}", note.message);
                }
                info!(kept, ?added, ?removed, ?listening, ?closed, "reloaded");
            }
            What::ReloadRefused(Faults { file, faults }) => {
                for fault in faults {
                    error!(file, line = fault.line, key = fault.key, "{}", fault.message);
                }
                error!(file, faults = faults.len(), "the configuration is refused; nothing has changed");
            }
            What::Stopping { pending } => info!(pending, "stopping"),
            What::Closed { connection, remote, reason, detail } => {
                info!(connection, remote, reason, detail, "closing");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Fault;
    use governor_core::congestion::Sums;
    use governor_core::level::Priority;
    use governor_core::time::Time;
    use serde_json::json;

    fn level(cause: Cause) -> Event {
        let change = LevelChange {
            feature: Feature::Throttle,
            from: Level::CL0,
            to: Level::CL2,
            cpl_from: Level::CL1,
            cpl_to: Level::CL2,
            cause,
            at: Time::from_secs(1),
        };
        Event { t: 1.5, what: What::level("hss1-a".to_owned(), "hss1.example.net".to_owned(), &change, 7) }
    }

    #[test]
    fn a_change_of_level_has_its_cause_and_figures() {
        let event = level(Cause::Rate { rate: 812.5, max_rate: 1000 });
        let expected = json!({
            "t": 1.5, "event": "level", "connection": "hss1-a", "peer": "hss1.example.net", "feature": "throttle",
            "from": 0, "to": 2, "cpl_from": 1, "cpl": 2, "cause": "rate", "rate": 812.5, "max_rate": 1000, "pending": 7,
        });
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    }

    /// Every event and every field of it stands in the page for other programs.
    #[test]
    fn every_event_survives_json_and_is_in_the_page() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/control.md")).unwrap();
        let causes = [
            Cause::Up,
            Cause::Down,
            Cause::Degraded,
            Cause::Busy { priority: Priority::P1 },
            Cause::Abated,
            Cause::Blocked,
            Cause::Unblocked,
            Cause::Pressure { queued: 60_000, limit: 87_040 },
            Cause::Rate { rate: 1.0, max_rate: 10 },
            Cause::Reconfigured,
        ];
        let group = governor_core::settings::Group { max_rate: Some(5000), ..governor_core::settings::Group::new("g") };
        let change =
            GroupChange { from: Level::CL0, to: Level::CL1, rate: 3001.5, pending: 3, at: Time::from_millis(100) };
        let fault = Fault { line: 3, key: "node".to_owned(), message: "no".to_owned() };
        let shared = ShareChange {
            from: ShareState::Shared,
            to: ShareState::Away,
            part: Sums { rate: 2500, pending: 0 },
            members: 2,
            at: Time::from_millis(100),
        };
        let others = [
            What::group(&group, &change),
            What::share(&group, &shared),
            What::Up { connection: "a".to_owned(), peer: "h".to_owned() },
            What::down("a".to_owned(), "h".to_owned(), &CloseReason::WatchdogTimeout),
            What::closed(None, Some("127.0.0.1:1".to_owned()), &CloseReason::UnknownPeer("no peer".to_owned())),
            What::Admin { connection: "a".to_owned(), peer: "h".to_owned(), admin: "draining".to_owned() },
            What::ManualLevel { connection: "a".to_owned(), peer: "h".to_owned(), level: Some(Level::CL2) },
            What::ManualLevel { connection: "a".to_owned(), peer: "h".to_owned(), level: None },
            What::Reloaded(Reloaded { added: vec!["b".to_owned()], kept: 3, ..Reloaded::default() }),
            What::ReloadRefused(Faults { file: "f".to_owned(), faults: vec![fault] }),
            What::Stopping { pending: 4 },
        ];
        let events = causes.map(level).into_iter().chain(others.map(|what| Event { t: 1.25, what }));
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
            let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
            let words = ["event", "cause"].iter().filter_map(|tag| fields.get(*tag)?.as_str());
            for word in fields.keys().map(String::as_str).chain(words) {
                assert!(page.contains(&format!("`{word}`")), "`{word}` of {text} is not in docs/control.md");
            }
        }
    }
}
