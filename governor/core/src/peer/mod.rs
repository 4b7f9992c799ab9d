//! A peer's connection: capabilities exchange, the peer state machine of RFC 6733 section 5.6, the watchdog of
//! RFC 3539 appendix A, disconnect with cause and the way back (rule 11).
//!
//! The RFCs' own rows (state, event, action, next state) stand beside the arms that do them; what departs from them
//! is marked "Ours" with its reason.

pub mod capabilities;
pub mod disconnect;
pub mod election;
mod failed_avp;
pub mod machine;
mod message;
mod random;
mod timer;
pub mod watchdog;

#[cfg(test)]
mod tests;

pub use capabilities::{Applications, CapabilitiesError, Remote, parse_cer, unknown_peer_answer};
pub use disconnect::{CloseReason, DisconnectCause};
pub use machine::{Config, Event, Machine, Rejected, State};

/// What we say of ourselves in every peer message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Origin-Host
    pub origin_host: String,
    /// Origin-Realm
    pub origin_realm: String,
    /// Product-Name
    pub product_name: String,
    /// Vendor-Id; 0: none (RFC 6733 section 5.3.3).
    pub vendor_id: u32,
    /// Firmware-Revision
    pub firmware_revision: u32,
    /// Origin-State-Id: fixed for the life of the process, higher at each start (RFC 6733 section 8.16). Peers take a
    /// change for a reboot, and some reset the connection.
    pub origin_state_id: u32,
}

/// Which transport connection of one configured connection ("slot").
///
/// A connection keeps its name until [`Event::Disconnect`] names it; then the name is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one that we opened (the RFC's I-).
    Initiator,
    /// The one that the peer opened (the RFC's R-).
    Responder,
    /// One that the peer opened while another of its own is still open: it waits while that one is probed, and
    /// replaces it if it is dead. It is an R- connection like the other.
    SecondResponder,
}

impl Side {
    /// How many names there are, for tables by [`Side::index`].
    pub const COUNT: usize = 3;

    /// As a subscript, 0 to 2.
    pub const fn index(self) -> usize {
        self as usize
    }
}
