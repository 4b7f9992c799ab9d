//! The checked settings that the core runs on. The shell's configuration file becomes one [`Settings`];
//! every value here is already within its range.

use crate::level::Priority;
use std::time::Duration;

/// Index of a connection in [`Settings::connections`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionIndex(pub u32);

/// Index of a peer in [`Settings::peers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerIndex(pub u32);

impl ConnectionIndex {
    /// As a subscript.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl PeerIndex {
    /// As a subscript.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// Everything that was configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `[node]`
    pub node: Node,
    /// `[[peer]]`, in file order.
    pub peers: Vec<Peer>,
    /// `[[peer.connection]]` of all peers, in file order.
    pub connections: Vec<Connection>,
    /// `[[priority]]`: the first that matches wins.
    pub priorities: Vec<PriorityRule>,
    /// `[[route]]`, in file order.
    pub routes: Vec<Route>,
    /// `[[group]]`, in file order.
    pub groups: Vec<Group>,
}

/// The agent itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Our Origin-Host.
    pub origin_host: String,
    /// Our Origin-Realm.
    pub origin_realm: String,
    /// Pending records of the whole agent; default 200000 (rule 5).
    pub pending_limit: u32,
    /// How long an answer may take; default 3 s (rule 5).
    pub answer_timeout: Duration,
    /// Connections a request is tried on, the first included, 1 to 16; default 2 (rule 5).
    pub max_attempts: u8,
    /// Result-Code when every eligible connection is held back; default 3004 (rule 8).
    pub busy_result_code: u32,
    /// Tw, 6 s or more; default 30 s (RFC 3539 section 3.4.1).
    pub watchdog: Duration,
    /// Tc, from a failed or lost connection to the next attempt; default 30 s (RFC 6733 section 2.1).
    pub reconnect: Duration,
    /// How long a connection may take to open, from the first byte to the capabilities exchange's end; default 10 s.
    pub connect_timeout: Duration,
    /// How long a started message may take to arrive whole; default 10 s.
    pub message_timeout: Duration,
    /// Longest message accepted, bytes, 4096 to [`crate::diameter::MAX_MESSAGE`]; default 65536 (rule 11).
    pub max_message: u32,
    /// Priority of a request by its DRMP value 0 to 15 (rule 7).
    pub drmp: [Priority; 16],
    /// Result-Codes that make a request try another connection (rule 5 of retries; default 3002 and 3004).
    pub retry_result_codes: Vec<u32>,
}

/// A configured peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its Diameter identity, as it must stand in Origin-Host.
    pub host: String,
    /// Its realm.
    pub realm: String,
    /// Where it may connect to us from; empty: from anywhere.
    pub addresses: Vec<std::net::IpAddr>,
    /// Its connections.
    pub connections: Vec<ConnectionIndex>,
}

/// A configured connection: everything the core needs; addresses and sockets are the shell's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Unique name.
    pub name: String,
    /// The peer at its other end.
    pub peer: PeerIndex,
    /// Do we open it (an address is given), or does the peer?
    pub initiate: bool,
    /// Rule 2.
    pub remote_busy: RemoteBusy,
    /// Rule 3.
    pub transport: Transport,
    /// Rule 4; `None`: no limit.
    pub throttle: Option<Throttle>,
    /// Pending records, 10 to 20000; default 1000 (rule 5).
    pub pending_limit: u32,
}

/// Remote BUSY (rule 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteBusy {
    /// Which requests X2 holds back.
    pub usage: Usage,
    /// Time at each level on the way down; default 5 s, 0.5 to 60 s.
    pub abatement: Duration,
}

/// Which requests a busy peer's level holds back (rule 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// The level stays 0.
    Off,
    /// All of them.
    On,
    /// All but those whose Destination-Host is the peer.
    HostOverride,
}

/// Egress transport congestion (rule 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Time at each level on the way down; default 5 s, 3 to 60 s.
    pub abatement: Duration,
    /// Early levels from occupancy; `None`: the plain behaviour.
    pub pressure: Option<Pressure>,
}

/// Early levels 1 to 3 from the send buffer's occupancy, in percent (rule 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// At or above `onset[n - 1]`: level n. Rising; default 50, 70, 85.
    pub onset: [u8; 3],
    /// Below `abatement[n - 1]`: level n - 1. Each below its onset; default 40, 60, 75.
    pub abatement: [u8; 3],
}

/// A throttle set (rule 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// The set's name.
    pub name: String,
    /// messages/s, 10 to 10000.
    pub max_rate: u32,
    /// One to three (TT, AT) pairs, percent of `max_rate`, for levels 1 to 3; TT3 > AT3 > TT2 > AT2 > TT1 > AT1.
    pub thresholds: Vec<Threshold>,
    /// Length of the rate's window; default 1 s, 250 ms to 4 s.
    pub convergence: Duration,
    /// How long below AT before a step down; default 500 ms, 200 ms to 10 s.
    pub abatement_time: Duration,
}

/// One level's pair of percentages (rules 4 and 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Above it the level sets in (TT, onset).
    pub onset: u8,
    /// Below it the level may end (AT, abatement).
    pub abatement: u8,
}

/// One rule of request priority (rule 7). An absent matcher matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorityRule {
    /// Application-Id.
    pub application: Option<u32>,
    /// Command code.
    pub command: Option<u32>,
    /// Host of the peer that the request came from.
    pub ingress_peer: Option<String>,
    /// Destination-Realm.
    pub realm: Option<String>,
    /// What a matching request gets.
    pub priority: Priority,
}

/// A route: what it matches, and where to. An absent matcher matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Unique name.
    pub name: String,
    /// Destination-Realm (mandatory in the file).
    pub realm: Option<String>,
    /// Destination-Host.
    pub host: Option<String>,
    /// Application-Id.
    pub application: Option<u32>,
    /// Command code.
    pub command: Option<u32>,
    /// Origin-Host.
    pub origin_host: Option<String>,
    /// Origin-Realm.
    pub origin_realm: Option<String>,
    /// What User-Name begins with: in S6a the IMSI, so a country's and a network's digits.
    pub user_name_prefix: Option<String>,
    /// Do all requests of a session (Session-Id) go the same way, as long as that way is open?
    pub sticky: bool,
    /// In order of preference.
    pub groups: Vec<RouteGroup>,
}

/// Connections of equal preference, with weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteGroup {
    /// (connection, weight 0 to 64000), in file order.
    pub members: Vec<(ConnectionIndex, u32)>,
}

/// An egress throttle group (rule 6); at least one maximum stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Unique name.
    pub name: String,
    /// Member connections; a peer member stands here as all its connections.
    pub connections: Vec<ConnectionIndex>,
    /// requests/s over all members, 100 to 250000.
    pub max_rate: Option<u32>,
    /// Pending records over all members, 100 to 1000000.
    pub max_pending: Option<u32>,
    /// With levels, or the maximum alone.
    pub mode: GroupMode,
    /// One to three (onset, abatement) pairs, percent; default 60/55 for level 1 alone.
    pub thresholds: Vec<Threshold>,
    /// As in a throttle set.
    pub convergence: Duration,
    /// As in a throttle set.
    pub abatement_time: Duration,
    /// Are its maxima those of several agents together? `None`: of this one alone.
    pub share: Option<Share>,
}

/// How agents share a group (rule 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Time between two reports, 50 ms to 1 s; default 100 ms.
    pub interval: Duration,
    /// How many agents share at least, 1 to 1000; default 2. The equal part of one that is away is no greater than by
    /// this many.
    pub agents: u32,
}

/// How a group holds back (rule 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMode {
    /// By level, and at the maximum.
    Threshold,
    /// At the maximum only.
    Limit,
}

// === impl Share ===

impl Share {
    /// How long a granted part lasts, from the report on.
    pub const fn lease(&self) -> Duration {
        self.interval.saturating_mul(5)
    }

    /// How long an agent is away before it takes its equal part whole: the store makes room for it two leases after the last
    /// report whose answer came, the others learn of that within a lease of theirs, and their requests of the second before
    /// count with their part. A lease more is to spare.
    pub const fn settle(&self) -> Duration {
        self.lease().saturating_mul(4).saturating_add(Duration::from_secs(1))
    }
}

// === impl Settings ===

impl Settings {
    /// The connection of that name.
    pub fn connection(&self, name: &str) -> Option<ConnectionIndex> {
        let at = self.connections.iter().position(|c| c.name == name)?;
        u32::try_from(at).ok().map(ConnectionIndex)
    }

    /// The route of that name.
    pub fn route(&self, name: &str) -> Option<usize> {
        self.routes.iter().position(|r| r.name == name)
    }

    /// The peer of a connection.
    pub fn peer_of(&self, connection: ConnectionIndex) -> &Peer {
        &self.peers[self.connections[connection.get()].peer.get()]
    }
}

// === defaults: what a missing setting means ===

impl Default for RemoteBusy {
    fn default() -> Self {
        Self { usage: Usage::On, abatement: Duration::from_secs(5) }
    }
}

impl Default for Share {
    fn default() -> Self {
        Self { interval: Duration::from_millis(100), agents: 2 }
    }
}

impl Default for Transport {
    fn default() -> Self {
        Self { abatement: Duration::from_secs(5), pressure: None }
    }
}

impl Default for Pressure {
    fn default() -> Self {
        Self { onset: [50, 70, 85], abatement: [40, 60, 75] }
    }
}

impl Node {
    /// A node of that identity with every other setting at its default.
    pub fn new(origin_host: &str, origin_realm: &str) -> Self {
        let mut drmp = [Priority::P0; 16];
        drmp[..5].fill(Priority::P2);
        drmp[5..10].fill(Priority::P1);
        Self {
            origin_host: origin_host.to_owned(),
            origin_realm: origin_realm.to_owned(),
            pending_limit: 200_000,
            answer_timeout: Duration::from_secs(3),
            max_attempts: 2,
            busy_result_code: crate::refusal::code::TOO_BUSY,
            watchdog: Duration::from_secs(30),
            reconnect: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            message_timeout: Duration::from_secs(10),
            max_message: 65_536,
            drmp,
            retry_result_codes: vec![crate::refusal::code::UNABLE_TO_DELIVER, crate::refusal::code::TOO_BUSY],
        }
    }
}

impl Connection {
    /// A connection with every setting at its default.
    pub fn new(name: &str, peer: PeerIndex) -> Self {
        Self {
            name: name.to_owned(),
            peer,
            initiate: true,
            remote_busy: RemoteBusy::default(),
            transport: Transport::default(),
            throttle: None,
            pending_limit: 1000,
        }
    }
}

impl Throttle {
    /// A set of that name and rate with every other setting at its default: TT1 100, AT1 80.
    pub fn new(name: &str, max_rate: u32) -> Self {
        Self {
            name: name.to_owned(),
            max_rate,
            thresholds: vec![Threshold { onset: 100, abatement: 80 }],
            convergence: Duration::from_secs(1),
            abatement_time: Duration::from_millis(500),
        }
    }
}

impl Group {
    /// A group of that name, still without members and maxima, with every other setting at its default: onset 60,
    /// abatement 55.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            connections: Vec::new(),
            max_rate: None,
            max_pending: None,
            mode: GroupMode::Threshold,
            thresholds: vec![Threshold { onset: 60, abatement: 55 }],
            convergence: Duration::from_secs(1),
            abatement_time: Duration::from_millis(500),
            share: None,
        }
    }
}
