//! Diameter on the wire (RFC 6733 sections 3 and 4): framing, header, AVPs, views and builders.
//!
//! The view never copies and never trusts a length that is not covered by bytes in hand. A relay knows no
//! application dictionary: what it does not need it forwards byte for byte.

pub mod answer;
pub mod avp;
pub mod build;
pub mod codes;
pub mod forward;
pub mod frame;
pub mod header;
pub mod routing_avps;

pub use avp::{Avp, AvpError, Avps};
pub use build::Builder;
pub use frame::{FrameError, MAX_MESSAGE, frame};
pub use header::{Flags, Header};
pub use routing_avps::RoutingAvps;

/// A whole message, as it came: a header that [`frame`] has accepted, and the AVPs behind it.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The decoded header.
    pub header: Header,
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// A view of one framed message; `None` if the bytes are shorter than a header.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        Some(Self { header: Header::parse(bytes)?, bytes })
    }

    /// The message's bytes, header included.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its top-level AVPs.
    pub fn avps(&self) -> Avps<'a> {
        Avps::new(self.bytes.get(Header::LEN..).unwrap_or_default())
    }

    /// The first top-level AVP of that code without a vendor, up to the first malformed one.
    pub fn find(&self, code: u32) -> Option<Avp<'a>> {
        self.avps().map_while(Result::ok).find(|avp| avp.is(code))
    }
}
