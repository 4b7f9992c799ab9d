//! The one place that maps each cause of a refusal to Result-Code, E bit, reason and metric label (rule 8).

use crate::level::Level;

/// Result-Codes that the agent itself puts into answers (RFC 6733 section 7.1).
pub mod code {
    /// `DIAMETER_SUCCESS`
    pub const SUCCESS: u32 = 2001;
    /// `DIAMETER_COMMAND_UNSUPPORTED`
    pub const COMMAND_UNSUPPORTED: u32 = 3001;
    /// `DIAMETER_UNABLE_TO_DELIVER`
    pub const UNABLE_TO_DELIVER: u32 = 3002;
    /// `DIAMETER_REALM_NOT_SERVED`
    pub const REALM_NOT_SERVED: u32 = 3003;
    /// `DIAMETER_TOO_BUSY`
    pub const TOO_BUSY: u32 = 3004;
    /// `DIAMETER_LOOP_DETECTED`
    pub const LOOP_DETECTED: u32 = 3005;
    /// `DIAMETER_APPLICATION_UNSUPPORTED`
    pub const APPLICATION_UNSUPPORTED: u32 = 3007;
    /// `DIAMETER_INVALID_HDR_BITS`
    pub const INVALID_HDR_BITS: u32 = 3008;
    /// `DIAMETER_INVALID_AVP_BITS`
    pub const INVALID_AVP_BITS: u32 = 3009;
    /// `DIAMETER_UNKNOWN_PEER`
    pub const UNKNOWN_PEER: u32 = 3010;
    /// `DIAMETER_ELECTION_LOST`
    pub const ELECTION_LOST: u32 = 4003;
    /// `DIAMETER_INVALID_AVP_VALUE`
    pub const INVALID_AVP_VALUE: u32 = 5004;
    /// `DIAMETER_MISSING_AVP`
    pub const MISSING_AVP: u32 = 5005;
    /// `DIAMETER_AVP_OCCURS_TOO_MANY_TIMES`
    pub const AVP_OCCURS_TOO_MANY_TIMES: u32 = 5009;
    /// `DIAMETER_NO_COMMON_APPLICATION`
    pub const NO_COMMON_APPLICATION: u32 = 5010;
    /// `DIAMETER_UNSUPPORTED_VERSION`
    pub const UNSUPPORTED_VERSION: u32 = 5011;
    /// `DIAMETER_UNABLE_TO_COMPLY`
    pub const UNABLE_TO_COMPLY: u32 = 5012;
    /// `DIAMETER_INVALID_AVP_LENGTH`
    pub const INVALID_AVP_LENGTH: u32 = 5014;
    /// `DIAMETER_INVALID_MESSAGE_LENGTH`
    pub const INVALID_MESSAGE_LENGTH: u32 = 5015;
    /// `DIAMETER_NO_COMMON_SECURITY`
    pub const NO_COMMON_SECURITY: u32 = 5017;
}

/// Why a connection (or a route) did not take a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The connection's CPL holds this priority back (rule 1); the level that did it.
    Cpl(Level),
    /// The connection's, or the whole agent's, pending limit is reached (rule 5).
    PendingLimit,
    /// The throttle set's `max_rate` is used up (rule 4, the hard limit).
    RateLimit,
    /// A group's level or maximum holds it back (rule 6).
    Group,
    /// The connection is down, or no connection of the route is up.
    NoConnection,
    /// No route matches this host or application in a realm that is served.
    NoRoute,
    /// The realm is in no route.
    RealmNotServed,
    /// No connection of the route supports the application.
    ApplicationUnsupported,
    /// Our own identity stands in Origin-Host or Route-Record.
    Loop,
    /// `max_attempts` connections were tried and none answered (rule 5).
    AttemptsExhausted,
}

impl Refusal {
    /// The Result-Code of the answer built in place of the peer's; `busy` is the configured code for congestion
    /// (rule 8: 3004 unless set otherwise).
    pub const fn result_code(self, busy: u32) -> u32 {
        match self {
            Self::Cpl(Level::UNAVAILABLE) | Self::NoConnection | Self::NoRoute | Self::AttemptsExhausted => {
                code::UNABLE_TO_DELIVER
            }
            Self::Cpl(_) | Self::PendingLimit | Self::RateLimit | Self::Group => busy,
            Self::RealmNotServed => code::REALM_NOT_SERVED,
            Self::ApplicationUnsupported => code::APPLICATION_UNSUPPORTED,
            Self::Loop => code::LOOP_DETECTED,
        }
    }

    /// The reason as replay, events and metrics spell it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Cpl(Level::UNAVAILABLE) | Self::NoConnection => "no_connection",
            Self::Cpl(_) => "cpl",
            Self::PendingLimit => "pending_limit",
            Self::RateLimit => "rate_limit",
            Self::Group => "group",
            Self::NoRoute => "no_route",
            Self::RealmNotServed => "realm_not_served",
            Self::ApplicationUnsupported => "application_unsupported",
            Self::Loop => "loop",
            Self::AttemptsExhausted => "attempts_exhausted",
        }
    }

    /// The Error-Message of the answer: which rule refused.
    pub const fn error_message(self) -> &'static str {
        match self {
            Self::Cpl(Level::UNAVAILABLE) | Self::NoConnection => "no connection that this request may take is up",
            Self::Cpl(_) => "held back by the congestion level (CPL) of every connection of the route",
            Self::PendingLimit => "held back by the pending transaction limit (pending_limit)",
            Self::RateLimit => "held back by the egress message rate (max_rate)",
            Self::Group => "held back by the egress throttle group",
            Self::NoRoute => "no route matches this request",
            Self::RealmNotServed => "no route serves this realm",
            Self::ApplicationUnsupported => "no connection of the route supports this application",
            Self::Loop => "this node's identity is in the request already",
            Self::AttemptsExhausted => "no connection that was tried gave an answer",
        }
    }

    /// Every label, for tables of counters.
    pub const LABELS: [&'static str; 10] = [
        "cpl",
        "pending_limit",
        "rate_limit",
        "group",
        "no_connection",
        "no_route",
        "realm_not_served",
        "application_unsupported",
        "loop",
        "attempts_exhausted",
    ];
}

/// The E bit goes with protocol errors, 3xxx (RFC 6733 section 7.1.3).
pub const fn is_protocol_error(result_code: u32) -> bool {
    matches!(result_code, 3000..=3999)
}
