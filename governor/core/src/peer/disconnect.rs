//! Why a connection ended, and when to try again (RFC 6733 sections 2.1 and 5.4).

use super::capabilities::CapabilitiesError;
use super::random::Random;
use std::fmt;
use std::time::Duration;

/// Disconnect-Cause (RFC 6733 section 5.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DisconnectCause {
    /// REBOOTING, 0. A cause we do not know, or none, counts as this one: the peer leaves, and says no more.
    Rebooting,
    /// BUSY, 1
    Busy,
    /// `DO_NOT_WANT_TO_TALK_TO_YOU`, 2
    DoNotWantToTalkToYou,
}

/// Why one transport connection ended. Each one ends with one of these, once: one log line, one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// No connection, or no CEA, within the time to connect.
    ConnectTimeout,
    /// The transport connection was closed, or broke, at the other end.
    PeerClosed,
    /// The caller found the transport unusable (an error on read or write).
    TransportError,
    /// The caller could not frame what came: nothing more of this stream is to be trusted.
    Malformed,
    /// A message that was started did not come whole in time.
    MessageTimeout,
    /// Silence for Tw after a DWR and for one more Tw as suspect.
    WatchdogTimeout,
    /// The peer sent a DPR.
    PeerDisconnect(DisconnectCause),
    /// We were told to stop ([`super::Machine::handle_stop`]).
    Stopped(DisconnectCause),
    /// The other connection of the two that crossed is kept.
    Election,
    /// The open connection is alive, so this second one is not wanted.
    Duplicate,
    /// The open connection showed no life, and the peer has opened a new one.
    Replaced,
    /// The CEA had this Result-Code, or none (0).
    Refused(u32),
    /// The CEA is not one, or not from the peer that is configured.
    Capabilities(CapabilitiesError),
    /// The CER is from nobody who is configured: which of identity, realm and address it was.
    UnknownPeer(String),
    /// A second CER on an open connection.
    SecondCer,
    /// A message other than the CEA before the capabilities exchange ended.
    UnexpectedMessage,
}

/// When a connection that we open is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    /// Soon, then ever later, up to Tc.
    BackOff,
    /// After this many Tc.
    Tc(u32),
    /// When the peer comes or the operator asks.
    Never,
}

/// Attempts that came to nothing so far.
#[derive(Clone, Debug, Default)]
pub(super) struct BackOff {
    failures: u32,
}

/// The first wait after a failure; it doubles up to Tc.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// After a DPR with BUSY: this many Tc.
const BUSY_FACTOR: u32 = 10;

// === impl DisconnectCause ===

impl DisconnectCause {
    /// The cause of that number.
    pub const fn from_u32(value: u32) -> Self {
        match value {
            1 => Self::Busy,
            2 => Self::DoNotWantToTalkToYou,
            _ => Self::Rebooting,
        }
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Rebooting => 0,
            Self::Busy => 1,
            Self::DoNotWantToTalkToYou => 2,
        }
    }
}

// === impl CloseReason ===

impl CloseReason {
    /// Every label, for tables of counters.
    pub const LABELS: [&'static str; 18] = [
        "connect_timeout",
        "peer_closed",
        "transport_error",
        "malformed",
        "message_timeout",
        "watchdog_timeout",
        "dpr_rebooting",
        "dpr_busy",
        "dpr_do_not_want_to_talk_to_you",
        "stopped",
        "election",
        "duplicate",
        "replaced",
        "refused",
        "capabilities",
        "unknown_peer",
        "second_cer",
        "unexpected_message",
    ];

    /// The reason as log lines and metrics spell it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::ConnectTimeout => "connect_timeout",
            Self::PeerClosed => "peer_closed",
            Self::TransportError => "transport_error",
            Self::Malformed => "malformed",
            Self::MessageTimeout => "message_timeout",
            Self::WatchdogTimeout => "watchdog_timeout",
            Self::PeerDisconnect(DisconnectCause::Rebooting) => "dpr_rebooting",
            Self::PeerDisconnect(DisconnectCause::Busy) => "dpr_busy",
            Self::PeerDisconnect(DisconnectCause::DoNotWantToTalkToYou) => "dpr_do_not_want_to_talk_to_you",
            Self::Stopped(_) => "stopped",
            Self::Election => "election",
            Self::Duplicate => "duplicate",
            Self::Replaced => "replaced",
            Self::Refused(_) => "refused",
            Self::Capabilities(_) => "capabilities",
            Self::UnknownPeer(_) => "unknown_peer",
            Self::SecondCer => "second_cer",
            Self::UnexpectedMessage => "unexpected_message",
        }
    }

    /// Did both ends agree on it, by DPR and DPA?
    pub(super) const fn is_in_order(&self) -> bool {
        matches!(self, Self::PeerDisconnect(_) | Self::Stopped(_))
    }

    const fn retry(&self) -> Retry {
        match self {
            // REBOOTING: "MAY attempt reconnection". BUSY: "SHOULD NOT", and a node that was busy is not so for ever.
            Self::PeerDisconnect(DisconnectCause::Rebooting) => Retry::Tc(1),
            Self::PeerDisconnect(DisconnectCause::Busy) => Retry::Tc(BUSY_FACTOR),
            Self::PeerDisconnect(DisconnectCause::DoNotWantToTalkToYou) => Retry::Never,
            // A refusal too: a peer that has not yet done with our last connection refuses the next one.
            _ => Retry::BackOff,
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(0) => f.write_str("refused: the CEA has no Result-Code"),
            Self::Refused(code) => write!(f, "refused: the CEA has Result-Code {code}"),
            Self::Capabilities(error) => write!(f, "capabilities: {error}"),
            Self::UnknownPeer(why) => write!(f, "unknown peer: {why}"),
            other => f.write_str(other.label()),
        }
    }
}

// === impl BackOff ===

impl BackOff {
    /// The next failure is a first one again.
    pub(super) const fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after a connection, or an attempt, that ended for `reason`; `None`: until the peer comes or the
    /// operator asks. With a jitter of a quarter downwards, so that peers which failed together do not return together.
    pub(super) fn next(&mut self, reason: &CloseReason, tc: Duration, random: &mut Random) -> Option<Duration> {
        let wait = match reason.retry() {
            Retry::Never => return None,
            Retry::Tc(times) => tc.saturating_mul(times),
            Retry::BackOff => {
                let wait = FIRST_WAIT.saturating_mul(1 << self.failures.min(16)).min(tc);
                self.failures = self.failures.saturating_add(1);
                wait
            }
        };
        Some(wait.saturating_sub(random.up_to(wait / 4)).max(Duration::from_millis(1)))
    }
}
