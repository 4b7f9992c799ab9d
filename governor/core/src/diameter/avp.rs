//! AVPs (RFC 6733 section 4): a bounded, always advancing walk.

use super::codes;
use thiserror::Error;

/// AVP flag V: a Vendor-ID follows.
pub const VENDOR: u8 = 0x80;
/// AVP flag M: mandatory.
pub const MANDATORY: u8 = 0x40;

/// One AVP, as it lies in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avp<'a> {
    /// AVP code.
    pub code: u32,
    /// AVP flags: V 0x80, M 0x40, P 0x20.
    pub flags: u8,
    /// Vendor-ID; `None` without the V flag.
    pub vendor: Option<u32>,
    /// The data, padding excluded.
    pub data: &'a [u8],
    /// Header and data, padding excluded.
    pub bytes: &'a [u8],
}

/// An AVP whose header or length cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AvpError {
    /// Bytes are left, fewer than a header's 8.
    #[error("{left} stray bytes at offset {offset} of the AVPs, fewer than an AVP header")]
    Truncated {
        /// Where, in bytes from the first AVP.
        offset: usize,
        /// How many.
        left: usize,
    },
    /// AVP Length is less than the AVP's own header: 8 bytes, 12 with the V flag.
    #[error("AVP {code} at offset {offset} has length {length}, less than its header")]
    TooShort {
        /// Where, in bytes from the first AVP.
        offset: usize,
        /// AVP code.
        code: u32,
        /// AVP Length.
        length: usize,
    },
    /// AVP Length reaches past the end of what holds it.
    #[error("AVP {code} at offset {offset} has length {length}, {left} bytes are left")]
    PastEnd {
        /// Where, in bytes from the first AVP.
        offset: usize,
        /// AVP code.
        code: u32,
        /// AVP Length.
        length: usize,
        /// Bytes in hand.
        left: usize,
    },
}

/// A walk over AVPs. Every step advances by at least 8 bytes; after an error it ends.
#[derive(Clone, Debug)]
pub struct Avps<'a> {
    bytes: &'a [u8],
    offset: usize,
}

// === impl Avp ===

impl<'a> Avp<'a> {
    /// Is it the IETF's AVP of that code?
    pub const fn is(&self, code: u32) -> bool {
        self.code == code && self.is_ietf()
    }

    /// Is its code one of the IETF's? Senders must not write vendor 0, and where one does it means just that
    /// (RFC 6733 section 4.1.1).
    pub const fn is_ietf(&self) -> bool {
        matches!(self.vendor, None | Some(0))
    }

    /// The data as Unsigned32, Integer32 or Enumerated; `None` unless it has 4 bytes.
    pub fn u32(&self) -> Option<u32> {
        Some(u32::from_be_bytes(self.data.try_into().ok()?))
    }

    /// The data as `UTF8String` or `DiameterIdentity`; `None` unless it is UTF-8.
    pub fn str(&self) -> Option<&'a str> {
        std::str::from_utf8(self.data).ok()
    }

    /// The AVPs of a Grouped one.
    pub const fn grouped(&self) -> Avps<'a> {
        Avps::new(self.data)
    }
}

// === impl AvpError ===

impl AvpError {
    /// Where the offending AVP starts, in bytes from the first AVP.
    pub const fn offset(&self) -> usize {
        match *self {
            Self::Truncated { offset, .. } | Self::TooShort { offset, .. } | Self::PastEnd { offset, .. } => offset,
        }
    }

    /// What belongs into Failed-AVP for it: its header as it came, with zeros for what of it is missing, and zeros as
    /// the shortest data that its type allows, as far as a relay knows types (RFC 6733 section 7.1.5, 5014).
    /// `avps` is what the failed walk ran over.
    pub fn failed_avp(&self, avps: &[u8]) -> Vec<u8> {
        let rest = avps.get(self.offset()..).unwrap_or_default();
        let vendor = rest.get(4).is_some_and(|flags| flags & VENDOR != 0);
        let mut out = vec![0; if vendor { 12 } else { 8 }];
        let have = rest.len().min(out.len());
        out[..have].copy_from_slice(&rest[..have]);
        if !vendor {
            out.extend_from_slice(codes::shortest_data(u32::from_be_bytes([out[0], out[1], out[2], out[3]])));
        }
        let length = u8::try_from(out.len()).unwrap_or_default();
        out[5..8].copy_from_slice(&[0, 0, length]);
        out
    }
}

// === impl Avps ===

impl<'a> Avps<'a> {
    /// A walk over the AVPs in `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Where the next AVP starts, in bytes from the first.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    fn step(&mut self) -> Result<Avp<'a>, AvpError> {
        let offset = self.offset;
        let rest = &self.bytes[offset..];
        let Some(header) = rest.first_chunk::<8>() else {
            return Err(AvpError::Truncated { offset, left: rest.len() });
        };
        let code = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
        let flags = header[4];
        let length = u32::from_be_bytes([0, header[5], header[6], header[7]]) as usize;
        let data_at = if flags & VENDOR == 0 { 8 } else { 12 };
        // The minimum first: nothing is subtracted from a length before it is known to cover the header.
        if length < data_at {
            return Err(AvpError::TooShort { offset, code, length });
        }
        let Some(bytes) = rest.get(..length) else {
            return Err(AvpError::PastEnd { offset, code, length, left: rest.len() });
        };
        let vendor =
            if data_at == 12 { Some(u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]])) } else { None };
        // The last AVP may come with its padding cut off.
        self.offset = (offset + length.next_multiple_of(4)).min(self.bytes.len());
        Ok(Avp { code, flags, vendor, data: &bytes[data_at..], bytes })
    }
}

impl<'a> Iterator for Avps<'a> {
    type Item = Result<Avp<'a>, AvpError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let step = self.step();
        if step.is_err() {
            self.offset = self.bytes.len();
        }
        Some(step)
    }
}
