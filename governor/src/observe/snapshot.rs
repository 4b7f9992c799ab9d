//! The agent's state at one instant, as `governor status --json` prints it.
//!
//! One JSON object. Names and meanings are a contract with other programs: fields are added, never renamed. Spans of time
//! are seconds, levels are the numbers 0, 1, 2, 3, 98, 99, counters only grow while the agent runs. What does not apply or
//! is not known is null.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The agent itself.
    pub node: Node,
    /// What the kernel programs do.
    pub kernel_assist: KernelAssist,
    /// Where peers may connect to, as addresses of the configuration's form (`tcp://127.0.0.1:3868`).
    pub listeners: Vec<String>,
    /// In file order.
    pub peers: Vec<Peer>,
    /// In file order.
    pub connections: Vec<Connection>,
    /// In file order.
    pub routes: Vec<Route>,
    /// In file order.
    pub groups: Vec<Group>,
    /// Counts that belong to no single connection.
    pub totals: Totals,
}

/// The agent itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Our Origin-Host.
    pub origin_host: String,
    /// Our Origin-Realm.
    pub origin_realm: String,
    /// The program's version.
    pub version: String,
    /// Process id.
    pub pid: u32,
    /// Time since the start, seconds.
    pub uptime: f64,
    /// Pending records of the whole agent (rule 5).
    pub pending: u32,
    /// Their limit.
    pub pending_limit: u32,
}

/// What the kernel programs do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelAssist {
    /// What was asked for: `auto`, `required` or `off`.
    pub mode: String,
    /// Is any kernel program at work?
    pub active: bool,
    /// The statement made at start: what this kernel offers, what is missing and what that costs; a line an element.
    pub report: Vec<String>,
}

/// A configured peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its Diameter identity.
    pub host: String,
    /// Its realm.
    pub realm: String,
    /// Product-Name that it gave in its last capabilities exchange.
    pub product: Option<String>,
    /// Names of its connections.
    pub connections: Vec<String>,
    /// How many of them are up.
    pub up: u32,
}

/// A configured connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Its name.
    pub name: String,
    /// Its peer's host.
    pub peer: String,
    /// Where we connect to; null: the peer connects to us.
    pub address: Option<String>,
    /// The peer's end of the transport connection there is, `IP:PORT`.
    pub remote: Option<String>,
    /// State of its peer machine (RFC 6733 section 5.6): `Closed`, `Wait-Conn-Ack`, `Wait-I-CEA`, `I-Open`, `R-Open`, `Closing`...
    pub state: String,
    /// Whether the operator wants it in service: `enabled`, `draining` (no new requests; a DPR once what is pending has
    /// ended) or `disabled`.
    pub admin: String,
    /// The status level that the operator has set by hand: 1, 2, 3 or 98.
    pub manual_level: Option<u8>,
    /// State of its watchdog (RFC 3539): `INITIAL`, `OKAY`, `SUSPECT`, `DOWN`, `REOPEN`.
    pub watchdog: String,
    /// The connection's overall level.
    pub cpl: u8,
    /// The four inputs that the CPL is the maximum of.
    pub levels: Levels,
    /// The input that sets the CPL (`status`, `remote_busy`, `transport`, `throttle`; the first of several); null at 0.
    pub set_by: Option<String>,
    /// Why it is where it is, in a sentence.
    pub why: String,
    /// How long the CPL has been what it is, seconds; null: since the start.
    pub since: Option<f64>,
    /// Egress messages/s.
    pub rate: f64,
    /// Name of its throttle set.
    pub throttle: Option<String>,
    /// The set's maximum, messages/s.
    pub max_rate: Option<u32>,
    /// Pending records.
    pub pending: u32,
    /// Their limit.
    pub pending_limit: u32,
    /// What was counted on it since the start.
    pub counters: Counters,
    /// What the kernel programs measure on its socket.
    pub kernel: Option<KernelConnection>,
    /// The last request that it was passed over for while up.
    pub last_refusal: Option<LastRefusal>,
    /// Why it was last closed.
    pub last_close: Option<String>,
}

/// The four inputs of a CPL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    /// X1
    pub status: u8,
    /// X2
    pub remote_busy: u8,
    /// X3
    pub transport: u8,
    /// X98
    pub throttle: u8,
}

/// Counters of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests that came in on it.
    pub requests_received: u64,
    /// Requests routed out on it.
    pub requests_sent: u64,
    /// Answers to pending requests that came in on it.
    pub answers_received: u64,
    /// Answers sent out on it, forwarded or ours.
    pub answers_sent: u64,
    /// Requests for which it was passed over while up.
    pub held_back: HeldBack,
    /// What was taken for it and could not leave.
    pub discarded: Discarded,
    /// Requests without an answer in time.
    pub timeouts: u64,
    /// Requests that left on it with the T bit, after another connection failed them.
    pub retransmitted: u64,
    /// Requests that left on it after another peer's explicit answer (3002, 3004).
    pub retried: u64,
    /// Answers that came after the timeout.
    pub answers_late: u64,
    /// Answers that came a second time.
    pub answers_duplicate: u64,
    /// Answers to nothing that was sent.
    pub answers_unknown: u64,
    /// 3004 answers from its peer.
    pub busy_own: u64,
    /// 3004 answers from nodes behind its peer.
    pub busy_behind: u64,
    /// Messages whose AVPs cannot be walked.
    pub malformed: u64,
}

/// Requests held back, by reason and by priority 0 to 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBack {
    /// By the CPL (rule 1).
    pub cpl: [u64; 3],
    /// By the pending limit (rule 5).
    pub pending_limit: [u64; 3],
    /// By the rate's hard limit (rule 4).
    pub rate_limit: [u64; 3],
    /// By its group (rule 6).
    pub group: [u64; 3],
}

/// Messages taken for a connection that then blocked or closed, by kind (rule 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarded {
    /// Answers, gone.
    pub answers: u64,
    /// Requests that went back to routing: to another connection, or answered with an error.
    pub requests_rerouted: u64,
}

/// The send buffer as the kernel has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelConnection {
    /// The connection's key in the kernel's maps.
    pub cookie: u64,
    /// Bytes queued.
    pub queued: u64,
    /// Bytes that the buffer may hold.
    pub limit: u64,
    /// How long sends have been refused, seconds; null: they are not.
    pub blocked_for: Option<f64>,
    /// Sends that succeeded.
    pub sends: u64,
    /// Sends refused for want of room.
    pub refusals: u64,
}

/// A refusal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastRefusal {
    /// How long ago, seconds.
    pub ago: f64,
    /// Priority of the request.
    pub priority: u8,
    /// `cpl`, `pending_limit`, `rate_limit` or `group`.
    pub reason: String,
    /// The level that did it, where the reason is `cpl`.
    pub level: Option<u8>,
    /// Which rule did it, in a sentence with its figures.
    pub rule: String,
}

/// A route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// Destination-Realm; null: every.
    pub realm: Option<String>,
    /// Destination-Host; null: every.
    pub host: Option<String>,
    /// Application-Id; null: every.
    pub application: Option<u32>,
    /// Command code; null: every.
    pub command: Option<u32>,
    /// Its groups, in order of preference.
    pub groups: Vec<RouteGroup>,
}

/// Connections of equal preference in a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteGroup {
    /// In file order.
    pub members: Vec<RouteMember>,
}

/// A connection in a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteMember {
    /// Its name.
    pub connection: String,
    /// Its weight.
    pub weight: u32,
    /// Its CPL.
    pub cpl: u8,
}

/// An egress throttle group (rule 6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Names of its connections.
    pub connections: Vec<String>,
    /// Its level, 0 to 3.
    pub level: u8,
    /// Requests/s over all its connections.
    pub rate: f64,
    /// Their maximum.
    pub max_rate: Option<u32>,
    /// Pending records over all its connections.
    pub pending: u32,
    /// Their maximum.
    pub max_pending: Option<u32>,
    /// How it is shared with other agents; null: it is not.
    pub share: Option<GroupShare>,
}

/// How a group is shared with other agents (rule 6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupShare {
    /// `joining`, `shared` or `away`.
    pub state: String,
    /// Time since the report that the server answered last, seconds; null: it never did.
    pub answered: Option<f64>,
    /// Agents that share it, this one included, as far as is known.
    pub members: u32,
    /// Of these, not heard of lately.
    pub missing: u32,
    /// Our part of the maximum, requests/s.
    pub part_rate: Option<u32>,
    /// Our part of the maximum, pending records.
    pub part_pending: Option<u32>,
    /// Requests/s of all members; null: not known, we are not sharing now.
    pub total_rate: Option<f64>,
    /// Pending records of all members; likewise.
    pub total_pending: Option<u32>,
}

/// Counts that belong to no single connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Requests answered by us because no connection took them, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Requests answered by us because they cannot be handled, by Result-Code.
    pub rejected: BTreeMap<u32, u64>,
    /// Transport connections closed, by reason.
    pub closed: BTreeMap<String, u64>,
    /// CERs from peers that are not configured.
    pub unknown_peers: u64,
    /// Answers whose requester has gone.
    pub answers_orphaned: u64,
}

// === impl Levels ===

impl Levels {
    /// The input that sets the CPL: the first that has the maximum; `None` where that is 0.
    pub fn set_by(self) -> Option<&'static str> {
        let inputs = [
            ("status", self.status),
            ("remote_busy", self.remote_busy),
            ("transport", self.transport),
            ("throttle", self.throttle),
        ];
        let cpl = inputs.iter().map(|(_, level)| *level).max()?;
        inputs.iter().find(|(_, level)| *level == cpl && cpl > 0).map(|(name, _)| *name)
    }
}

impl From<governor_core::level::Levels> for Levels {
    fn from(levels: governor_core::level::Levels) -> Self {
        Self {
            status: levels.status.number(),
            remote_busy: levels.remote_busy.number(),
            transport: levels.transport.number(),
            throttle: levels.throttle.number(),
        }
    }
}

// === impl HeldBack ===

impl HeldBack {
    /// All of them.
    pub fn total(&self) -> u64 {
        [self.cpl, self.pending_limit, self.rate_limit, self.group].iter().flatten().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_with_the_maximum_sets_the_cpl() {
        let levels = |status, remote_busy, transport, throttle| Levels { status, remote_busy, transport, throttle };
        assert_eq!(levels(0, 0, 0, 0).set_by(), None);
        assert_eq!(levels(0, 2, 1, 0).set_by(), Some("remote_busy"));
        assert_eq!(levels(0, 0, 98, 3).set_by(), Some("transport"));
        assert_eq!(levels(99, 0, 0, 0).set_by(), Some("status"));
        assert_eq!(levels(0, 1, 0, 1).set_by(), Some("remote_busy"), "the first of several");
    }

    #[test]
    fn a_snapshot_survives_json() {
        let mut snapshot = Snapshot { connections: vec![Connection::default()], ..Snapshot::default() };
        snapshot.totals.rejected.insert(5014, 2);
        snapshot.connections[0].counters.held_back.cpl[1] = 7;
        let text = serde_json::to_string(&snapshot).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snapshot);
    }

    /// Every name of the document, at any depth, stands in the operator's page.
    #[test]
    fn the_page_names_every_field() {
        fn names(value: &serde_json::Value, found: &mut Vec<String>) {
            match value {
                serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| {
                    found.push(name.clone());
                    names(value, found);
                }),
                serde_json::Value::Array(array) => array.iter().for_each(|value| names(value, found)),
                _ => {}
            }
        }
        let connection = Connection {
            kernel: Some(KernelConnection::default()),
            last_refusal: Some(LastRefusal::default()),
            ..Connection::default()
        };
        let group = RouteGroup { members: vec![RouteMember::default()] };
        let snapshot = Snapshot {
            peers: vec![Peer::default()],
            connections: vec![connection],
            routes: vec![Route { groups: vec![group], ..Route::default() }],
            groups: vec![Group { share: Some(GroupShare::default()), ..Group::default() }],
            ..Snapshot::default()
        };
        let mut found = Vec::new();
        names(&serde_json::to_value(&snapshot).unwrap(), &mut found);
        assert!(found.len() > 80, "{found:?}");
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/status.md")).unwrap();
        let missing: Vec<_> = found.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "not in docs/status.md: {missing:?}");
    }
}
