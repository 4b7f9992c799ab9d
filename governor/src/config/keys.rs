//! Every key of the file: type, range, default, rule and meaning. The reader takes ranges from here, and
//! `docs/configuration.md` is written from here, so that neither can differ from the other.

use std::fmt;

/// What a key's value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Diameter identity: a host or realm name.
    Identity,
    /// A name of our own: 1 to 64 printable ASCII characters without spaces.
    Name,
    /// A whole number.
    Number {
        /// The least allowed.
        min: u32,
        /// The greatest allowed.
        max: u32,
    },
    /// An array of whole numbers.
    Numbers {
        /// The fewest elements.
        least: usize,
        /// The most elements.
        most: usize,
        /// The least an element may be.
        min: u32,
        /// The greatest an element may be.
        max: u32,
    },
    /// A span of time; bounds in milliseconds.
    Time {
        /// The shortest allowed.
        min: u32,
        /// The longest allowed.
        max: u32,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An address that a connection is opened to.
    Address,
    /// Addresses to listen on.
    Addresses,
    /// An absolute path, or `"off"`.
    Path,
    /// `IP:PORT`, or `"off"`.
    EndpointOrOff,
    /// The name of something defined elsewhere in the file.
    NameOf(&'static str),
    /// The URL of a Redis or Valkey server.
    ServerUrl,
    /// An array of IP addresses.
    Ips,
    /// An array of peers' hosts and connections' names.
    Members,
    /// A table: connection name = weight.
    Weights,
    /// A table of its own, in braces or under its own heading.
    Table(&'static str),
    /// `"off"`, or a table of its own.
    OffOrTable(&'static str),
    /// Any number of tables.
    Tables(&'static str),
}

/// What a missing key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The file is faulty.
    Fault,
    /// The same as this TOML value.
    Value(&'static str),
    /// Something that no value says.
    Means(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value must be.
    pub kind: Kind,
    /// What its absence means.
    pub missing: Missing,
    /// Where the number or behaviour comes from.
    pub source: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// One table of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// As it is written in the file.
    pub heading: &'static str,
    /// What it describes.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

const SECOND: u32 = 1000;
const MINUTE: u32 = 60 * SECOND;
const HOUR: u32 = 60 * MINUTE;

const APPLICATION: Key = Key {
    name: "application",
    kind: Kind::Number { min: 0, max: u32::MAX },
    missing: Missing::Means("every application"),
    source: "RFC 6733 section 3",
    about: "Application-Id of the request's header.",
};
const COMMAND: Key = Key {
    name: "command",
    kind: Kind::Number { min: 0, max: 0xff_ffff },
    missing: Missing::Means("every command"),
    source: "RFC 6733 section 3",
    about: "Command code of the request's header.",
};
const CONVERGENCE: Key = Key {
    name: "convergence",
    kind: Kind::Time { min: 250, max: 4 * SECOND },
    missing: Missing::Value("\"1s\""),
    source: "rule 4",
    about: "Length of the window over which the rate is measured: the longer, the more of a burst is forgiven.",
};
const ABATEMENT_TIME: Key = Key {
    name: "abatement_time",
    kind: Kind::Time { min: 200, max: 10 * SECOND },
    missing: Missing::Value("\"500ms\""),
    source: "rule 4",
    about: "How long every sample must lie below the abatement threshold before the level drops by one.",
};

/// The file itself.
pub const ROOT: Table = Table {
    heading: "the file",
    about: "",
    keys: &[
        Key {
            name: "node",
            kind: Kind::Table("node"),
            missing: Missing::Fault,
            source: "",
            about: "The agent itself.",
        },
        Key {
            name: "throttle",
            kind: Kind::Table("throttle.NAME"),
            missing: Missing::Means("no throttle sets"),
            source: "rule 4",
            about: "Throttle sets by name, at most 50.",
        },
        Key {
            name: "peer",
            kind: Kind::Tables("peer"),
            missing: Missing::Means("no peers"),
            source: "",
            about: "The nodes that we talk to; others are refused.",
        },
        Key {
            name: "priority",
            kind: Kind::Tables("priority"),
            missing: Missing::Means("priority 0 without DRMP"),
            source: "rule 7",
            about: "Rules that give requests their priority.",
        },
        Key {
            name: "route",
            kind: Kind::Tables("route"),
            missing: Missing::Means("no routes"),
            source: "rule 8",
            about: "Where requests go.",
        },
        Key {
            name: "group",
            kind: Kind::Tables("group"),
            missing: Missing::Means("no groups"),
            source: "rule 6",
            about: "Connections that share one limit.",
        },
        Key {
            name: "share",
            kind: Kind::Table("share"),
            missing: Missing::Means("groups are this agent's alone"),
            source: "rule 6",
            about: "How several agents share the limits of their groups.",
        },
    ],
};

/// `[node]`
pub const NODE: Table = Table {
    heading: "[node]",
    about: "The agent itself.",
    keys: &[
        Key {
            name: "origin_host",
            kind: Kind::Identity,
            missing: Missing::Fault,
            source: "RFC 6733 section 6.3",
            about: "Our Origin-Host. No peer may have the same.",
        },
        Key {
            name: "origin_realm",
            kind: Kind::Identity,
            missing: Missing::Fault,
            source: "RFC 6733 section 6.4",
            about: "Our Origin-Realm.",
        },
        Key {
            name: "listen",
            kind: Kind::Addresses,
            missing: Missing::Value("[]"),
            source: "RFC 6733 section 2.1",
            about: "Where peers may connect to us. An empty list: nowhere, every connection is opened by us.",
        },
        Key {
            name: "kernel_assist",
            kind: Kind::Choice(&["auto", "required", "off"]),
            missing: Missing::Value("\"auto\""),
            source: "",
            about: "Kernel programs that measure send buffers: `auto` runs with what the kernel offers and says what is \
                    missing, `required` refuses to start without, `off` loads nothing.",
        },
        Key {
            name: "pending_limit",
            kind: Kind::Number { min: 10, max: 10_000_000 },
            missing: Missing::Value("200000"),
            source: "rule 5",
            about: "Requests of the whole agent that may wait for their answers at one time.",
        },
        Key {
            name: "answer_timeout",
            kind: Kind::Time { min: 100, max: HOUR },
            missing: Missing::Value("\"3s\""),
            source: "rule 5",
            about: "How long an answer may take; then the request goes to another connection of its route.",
        },
        Key {
            name: "max_attempts",
            kind: Kind::Number { min: 1, max: 16 },
            missing: Missing::Value("2"),
            source: "rule 5",
            about: "Connections that one request is sent on, the first included, before it is answered with an error.",
        },
        Key {
            name: "busy_result_code",
            kind: Kind::Number { min: 3000, max: 5999 },
            missing: Missing::Value("3004"),
            source: "rule 8",
            about: "Result-Code of our answer when every eligible connection is held back by its level, a rate or a \
                    pending limit.",
        },
        Key {
            name: "retry_result_codes",
            kind: Kind::Numbers { least: 0, most: 64, min: 3000, max: 5999 },
            missing: Missing::Value("[3002, 3004]"),
            source: "rule 5",
            about: "Result-Codes from an adjacent peer that send the request to another connection of its route. An \
                    empty list: every answer is passed on as it is.",
        },
        Key {
            name: "drmp",
            kind: Kind::Numbers { least: 16, most: 16, min: 0, max: 2 },
            missing: Missing::Value("[2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]"),
            source: "rule 7, RFC 7944",
            about: "Priority of a request by its DRMP value, 0 (the first) to 15 (the last).",
        },
        Key {
            name: "watchdog",
            kind: Kind::Time { min: 6 * SECOND, max: HOUR },
            missing: Missing::Value("\"30s\""),
            source: "rule 11, RFC 3539 section 3.4.1",
            about: "Tw: silence on a connection before a DWR is sent, with a jitter of 2 s. A connection that stays \
                    silent is suspect after one more Tw and closed after another.",
        },
        Key {
            name: "reconnect",
            kind: Kind::Time { min: 100, max: HOUR },
            missing: Missing::Value("\"30s\""),
            source: "RFC 6733 section 2.1",
            about: "Tc: from a failed or lost connection to the next attempt.",
        },
        Key {
            name: "connect_timeout",
            kind: Kind::Time { min: 100, max: 5 * MINUTE },
            missing: Missing::Value("\"10s\""),
            source: "",
            about: "How long a connection may take to open, the capabilities exchange included.",
        },
        Key {
            name: "message_timeout",
            kind: Kind::Time { min: 100, max: 5 * MINUTE },
            missing: Missing::Value("\"10s\""),
            source: "",
            about: "How long a message that has begun may take to arrive whole; then the connection is closed.",
        },
        Key {
            name: "max_message",
            kind: Kind::Number { min: 4096, max: 0xff_f000 },
            missing: Missing::Value("65536"),
            source: "rule 11",
            about: "Longest message accepted, in bytes; a longer one closes its connection.",
        },
        Key {
            name: "control",
            kind: Kind::Path,
            missing: Missing::Value("\"/run/governor/control.sock\""),
            source: "",
            about: "Unix socket on which `governor status` and `governor top` reach the agent. `\"off\"`: none.",
        },
        Key {
            name: "metrics",
            kind: Kind::EndpointOrOff,
            missing: Missing::Value("\"off\""),
            source: "",
            about: "Where Prometheus finds the metrics: `http://IP:PORT/metrics`, for whoever can reach it. Port 0: any free \
                    one, which the log tells.",
        },
    ],
};

/// `[throttle.NAME]`
pub const THROTTLE: Table = Table {
    heading: "[throttle.NAME]",
    about: "A throttle set: the egress message rate of each connection that names it, measured every 100 ms. Above \
            `throttle` n percent of `max_rate` the connection is at level n at once; below `abatement` n percent for \
            `abatement_time` it is at n - 1. At `max_rate` itself no request leaves. At most 50 sets. The thresholds \
            must be in this order: TT3 > AT3 > TT2 > AT2 > TT1 > AT1, as many of one kind as of the other.",
    keys: &[
        Key {
            name: "max_rate",
            kind: Kind::Number { min: 10, max: 10_000 },
            missing: Missing::Fault,
            source: "rule 4",
            about: "Messages a second. Answers count too; only requests are held back.",
        },
        Key {
            name: "throttle",
            kind: Kind::Numbers { least: 1, most: 3, min: 2, max: 100 },
            missing: Missing::Value("[100]"),
            source: "rule 4",
            about: "TT1, TT2, TT3: percent of `max_rate` above which level 1, 2, 3 sets in.",
        },
        Key {
            name: "abatement",
            kind: Kind::Numbers { least: 1, most: 3, min: 1, max: 99 },
            missing: Missing::Value("[80]"),
            source: "rule 4",
            about: "AT1, AT2, AT3: percent of `max_rate` below which level 1, 2, 3 may end.",
        },
        CONVERGENCE,
        ABATEMENT_TIME,
    ],
};

/// `[[peer]]`
pub const PEER: Table = Table {
    heading: "[[peer]]",
    about: "A node that we talk to, with one or more connections.",
    keys: &[
        Key {
            name: "host",
            kind: Kind::Identity,
            missing: Missing::Fault,
            source: "RFC 6733 section 5.3",
            about: "Its Origin-Host; compared without regard to case. Unique.",
        },
        Key {
            name: "realm",
            kind: Kind::Identity,
            missing: Missing::Fault,
            source: "RFC 6733 section 5.3",
            about: "Its Origin-Realm.",
        },
        Key {
            name: "addresses",
            kind: Kind::Ips,
            missing: Missing::Means("any"),
            source: "",
            about: "IP addresses from which it may connect to us. From another one its CER is answered 3010, and the log says \
                    so.",
        },
        Key {
            name: "connection",
            kind: Kind::Tables("peer.connection"),
            missing: Missing::Fault,
            source: "",
            about: "Its connections, at least one.",
        },
    ],
};

/// `[[peer.connection]]`
pub const CONNECTION: Table = Table {
    heading: "[[peer.connection]]",
    about: "A connection of the peer above it.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Name,
            missing: Missing::Fault,
            source: "",
            about: "Its name in routes, groups, displays and counters. Unique.",
        },
        Key {
            name: "address",
            kind: Kind::Address,
            missing: Missing::Means("the peer connects to us"),
            source: "",
            about: "Where we connect to.",
        },
        Key {
            name: "remote_busy",
            kind: Kind::Table("remote_busy"),
            missing: Missing::Value("{}"),
            source: "rule 2",
            about: "What a DIAMETER_TOO_BUSY (3004) of the peer does.",
        },
        Key {
            name: "transport_congestion",
            kind: Kind::Table("transport_congestion"),
            missing: Missing::Value("{}"),
            source: "rule 3",
            about: "What a full send buffer does.",
        },
        Key {
            name: "throttle",
            kind: Kind::NameOf("throttle set"),
            missing: Missing::Means("no rate limit"),
            source: "rule 4",
            about: "Its throttle set.",
        },
        Key {
            name: "pending_limit",
            kind: Kind::Number { min: 10, max: 20_000 },
            missing: Missing::Value("1000"),
            source: "rule 5",
            about: "Requests that may wait for their answers at one time; at the limit the connection is passed over.",
        },
        Key {
            name: "send_buffer",
            kind: Kind::Number { min: 4096, max: 64 * 1024 * 1024 },
            missing: Missing::Means("1048576"),
            source: "socket(7), SO_SNDBUF",
            about: "Send buffer of the socket in bytes. The kernel doubles it for its own bookkeeping, and without \
                    CAP_NET_ADMIN caps it at `net.core.wmem_max`. Too small a one reads as a blocked connection at every \
                    burst.",
        },
    ],
};

/// `remote_busy` of a connection
pub const REMOTE_BUSY: Table = Table {
    heading: "remote_busy = { ... }",
    about: "In `[[peer.connection]]`.",
    keys: &[
        Key {
            name: "usage",
            kind: Kind::Choice(&["off", "on", "host_override"]),
            missing: Missing::Value("\"on\""),
            source: "rule 2",
            about: "Which requests the level holds back: none (`off`), all (`on`), or all but those whose \
                    Destination-Host is the peer (`host_override`).",
        },
        Key {
            name: "abatement",
            kind: Kind::Time { min: 500, max: MINUTE },
            missing: Missing::Value("\"5s\""),
            source: "rule 2",
            about: "Time at each level on the way down.",
        },
    ],
};

/// `transport_congestion` of a connection
pub const TRANSPORT: Table = Table {
    heading: "transport_congestion = { ... }",
    about: "In `[[peer.connection]]`.",
    keys: &[
        Key {
            name: "abatement",
            kind: Kind::Time { min: 3 * SECOND, max: MINUTE },
            missing: Missing::Value("\"5s\""),
            source: "rule 3",
            about: "Time at levels 3, 2 and 1 on the way down once the socket takes data again.",
        },
        Key {
            name: "pressure",
            kind: Kind::OffOrTable("pressure"),
            missing: Missing::Value("\"off\""),
            source: "rule 3",
            about: "Levels 1 to 3 before the socket blocks, from the occupancy of its send buffer. An empty table: on, \
                    with the defaults below.",
        },
    ],
};

/// `pressure` of a connection
pub const PRESSURE: Table = Table {
    heading: "pressure = { ... }",
    about: "In `transport_congestion`. Both lists rise, and each abatement lies below its onset.",
    keys: &[
        Key {
            name: "onset",
            kind: Kind::Numbers { least: 3, most: 3, min: 1, max: 100 },
            missing: Missing::Value("[50, 70, 85]"),
            source: "rule 3",
            about: "Percent of the send buffer at or above which level 1, 2, 3 sets in.",
        },
        Key {
            name: "abatement",
            kind: Kind::Numbers { least: 3, most: 3, min: 1, max: 100 },
            missing: Missing::Value("[40, 60, 75]"),
            source: "rule 3",
            about: "Percent below which level 1, 2, 3 ends, at once.",
        },
    ],
};

/// `[[priority]]`
pub const PRIORITY: Table = Table {
    heading: "[[priority]]",
    about: "Priority of requests without a DRMP AVP: the first rule that matches, in file order, else 0. A matcher that \
            is left out matches every request.",
    keys: &[
        APPLICATION,
        COMMAND,
        Key {
            name: "ingress_peer",
            kind: Kind::NameOf("peer"),
            missing: Missing::Means("every peer"),
            source: "rule 7",
            about: "Host of the peer that the request came from.",
        },
        Key {
            name: "realm",
            kind: Kind::Identity,
            missing: Missing::Means("every realm"),
            source: "rule 7",
            about: "Destination-Realm.",
        },
        Key {
            name: "priority",
            kind: Kind::Number { min: 0, max: 2 },
            missing: Missing::Fault,
            source: "rule 7",
            about: "What a matching request gets: 0 is the lowest, 2 the highest.",
        },
    ],
};

/// `[[route]]`
pub const ROUTE: Table = Table {
    heading: "[[route]]",
    about: "Where matching requests go: the first route that matches, in file order. A request whose Destination-Host is one \
            of the peers is tried on that peer's connections first, unless the route names a host itself.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Name,
            missing: Missing::Fault,
            source: "",
            about: "Its name in replay, displays and counters. Unique.",
        },
        Key {
            name: "realm",
            kind: Kind::Identity,
            missing: Missing::Fault,
            source: "RFC 6733 section 6.1.6",
            about: "Destination-Realm; compared without regard to case.",
        },
        Key {
            name: "host",
            kind: Kind::Identity,
            missing: Missing::Means("every host, or none"),
            source: "RFC 6733 section 6.1.6",
            about: "Destination-Host.",
        },
        APPLICATION,
        COMMAND,
        Key {
            name: "origin_host",
            kind: Kind::Identity,
            missing: Missing::Means("every"),
            source: "",
            about: "Origin-Host.",
        },
        Key {
            name: "origin_realm",
            kind: Kind::Identity,
            missing: Missing::Means("every"),
            source: "",
            about: "Origin-Realm.",
        },
        Key {
            name: "user_name_prefix",
            kind: Kind::Name,
            missing: Missing::Means("every User-Name, or none"),
            source: "",
            about: "What User-Name begins with; in S6a that is the IMSI, so `26201` is one network's subscribers.",
        },
        Key {
            name: "sticky",
            kind: Kind::Choice(&["off", "session"]),
            missing: Missing::Value("\"off\""),
            source: "",
            about: "`session`: requests of one Session-Id go to the same connection as long as it is up and takes them; \
                    weights then count sessions instead of requests.",
        },
        Key {
            name: "groups",
            kind: Kind::Tables("groups"),
            missing: Missing::Fault,
            source: "",
            about: "Groups of connections in order of preference, at least one: `groups = [ { weights = { ... } }, ... ]`.",
        },
    ],
};

/// An element of `groups` of a route
pub const ROUTE_GROUP: Table = Table {
    heading: "groups = [ { ... } ]",
    about: "In `[[route]]`.",
    keys: &[Key {
        name: "weights",
        kind: Kind::Weights,
        missing: Missing::Fault,
        source: "",
        about: "Connection name = weight. Requests are shared out by weight among the connections that may take them; \
                weight 0: only when no other of the group is left.",
    }],
};

/// `[[group]]`
pub const GROUP: Table = Table {
    heading: "[[group]]",
    about: "An egress throttle group: connections that share a request rate, a number of pending requests, or both; at \
            least one maximum must stand. In mode `threshold` the group has levels like a throttle set, the higher of \
            the two; at a maximum itself no request goes to any member.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Name,
            missing: Missing::Fault,
            source: "",
            about: "Its name in displays and counters. Unique.",
        },
        Key {
            name: "members",
            kind: Kind::Members,
            missing: Missing::Fault,
            source: "rule 6",
            about: "Hosts of peers (all their connections) and names of connections; each in one group at most.",
        },
        Key {
            name: "max_rate",
            kind: Kind::Number { min: 100, max: 250_000 },
            missing: Missing::Means("no limit"),
            source: "rule 6",
            about: "Requests a second over all members.",
        },
        Key {
            name: "max_pending",
            kind: Kind::Number { min: 100, max: 1_000_000 },
            missing: Missing::Means("no limit"),
            source: "rule 6",
            about: "Requests of all members that may wait for their answers at one time.",
        },
        Key {
            name: "mode",
            kind: Kind::Choice(&["threshold", "limit"]),
            missing: Missing::Value("\"threshold\""),
            source: "rule 6",
            about: "`threshold`: levels by the thresholds below. `limit`: no levels, only the maximum.",
        },
        Key {
            name: "onset",
            kind: Kind::Numbers { least: 1, most: 3, min: 2, max: 100 },
            missing: Missing::Value("[60]"),
            source: "rule 6",
            about: "Percent of a maximum above which level 1, 2, 3 sets in. Ordered as in a throttle set.",
        },
        Key {
            name: "abatement",
            kind: Kind::Numbers { least: 1, most: 3, min: 1, max: 99 },
            missing: Missing::Value("[55]"),
            source: "rule 6",
            about: "Percent of a maximum below which level 1, 2, 3 may end.",
        },
        CONVERGENCE,
        ABATEMENT_TIME,
        Key {
            name: "shared",
            kind: Kind::Choice(&["on", "off"]),
            missing: Missing::Means("`\"on\"` where there is a `[share]`"),
            source: "rule 6",
            about: "`on`: the maxima are those of all agents together that share a group of this name. `off`: of this agent \
                    alone.",
        },
    ],
};

/// `[share]`
pub const SHARE: Table = Table {
    heading: "[share]",
    about: "Several agents share the maxima of their groups through a Redis or Valkey server: each has a part, by what is \
            asked of it, and the parts never add up to more than the maximum. No request waits for the server. An agent \
            that cannot reach it for five intervals is *away*: it keeps to its equal part until it is back, and the log and \
            `governor status` say so. An agent that vanishes without a goodbye keeps its equal part reserved for a minute. \
            The agents must have different `origin_host`s, and the same `[[group]]` maxima (else the least of them counts).",
    keys: &[
        Key {
            name: "url",
            kind: Kind::ServerUrl,
            missing: Missing::Fault,
            source: "",
            about: "The server: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]` or `unix:///PATH`.",
        },
        Key {
            name: "name",
            kind: Kind::Name,
            missing: Missing::Value("\"governor\""),
            source: "",
            about: "Which agents belong together, where others use the same server: the keys begin with it.",
        },
        Key {
            name: "agents",
            kind: Kind::Number { min: 1, max: 1000 },
            missing: Missing::Value("2"),
            source: "rule 6",
            about: "How many agents share at least. The equal part is by this number or by that of the agents seen, the \
                    greater of the two.",
        },
        Key {
            name: "interval",
            kind: Kind::Time { min: 50, max: SECOND },
            missing: Missing::Value("\"100ms\""),
            source: "rule 6",
            about: "Time between two reports to the server.",
        },
    ],
};

/// Every table, in the order of the reference page.
pub const TABLES: [Table; 13] = [
    ROOT,
    NODE,
    THROTTLE,
    PEER,
    CONNECTION,
    REMOTE_BUSY,
    TRANSPORT,
    PRESSURE,
    PRIORITY,
    ROUTE,
    ROUTE_GROUP,
    GROUP,
    SHARE,
];

/// Most throttle sets in a file (rule 4).
pub const MOST_THROTTLE_SETS: usize = 50;
/// Most members of a group (rule 6).
pub const MOST_MEMBERS: usize = 128;
/// Greatest weight of a connection in a route's group.
pub const MOST_WEIGHT: u32 = 64_000;

/// Milliseconds as the file spells them.
pub struct Millis(pub u32);

// === impl Table ===

impl Table {
    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

// === impl Millis ===

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms % HOUR == 0 => write!(f, "{}h", ms / HOUR),
            ms if ms % MINUTE == 0 => write!(f, "{}m", ms / MINUTE),
            ms if ms % SECOND == 0 => write!(f, "{}s", ms / SECOND),
            ms => write!(f, "{ms}ms"),
        }
    }
}

// === impl Kind ===

impl fmt::Display for Kind {
    /// The type and range, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity => f.write_str("Diameter identity"),
            Self::Name => f.write_str("name of 1 to 64 printable characters without spaces"),
            Self::Number { min, max } => write!(f, "number, {min} to {max}"),
            Self::Numbers { least, most, min, max } if least == most => {
                write!(f, "array of {least} numbers, {min} to {max}")
            }
            Self::Numbers { least, most, min, max } => {
                write!(f, "array of {least} to {most} numbers, {min} to {max}")
            }
            Self::Time { min, max } => write!(f, "duration, {} to {}", Millis(*min), Millis(*max)),
            Self::Choice(words) => write!(f, "`\"{}\"`", words.join("\"`, `\"")),
            Self::Address => f.write_str("address"),
            Self::Addresses => f.write_str("array of addresses"),
            Self::Path => f.write_str("absolute path, or `\"off\"`"),
            Self::EndpointOrOff => f.write_str("`\"IP:PORT\"` or `\"off\"`"),
            Self::NameOf(what) => write!(f, "name of a {what}"),
            Self::ServerUrl => f.write_str("URL, `redis://` or `unix://`"),
            Self::Ips => f.write_str("array of IP addresses"),
            Self::Members => write!(f, "array of 1 to {MOST_MEMBERS} hosts and names"),
            Self::Weights => write!(f, "table: connection = 0 to {MOST_WEIGHT}"),
            Self::Table(_) => f.write_str("table"),
            Self::OffOrTable(_) => f.write_str("`\"off\"` or table"),
            Self::Tables(_) => f.write_str("array of tables"),
        }
    }
}
