//! Building messages: lengths without padding, padding always zero.

use super::avp::{MANDATORY, VENDOR};
use super::{Flags, Header, Message, codes::avp};
use bytes::{BufMut, Bytes, BytesMut};

/// Appends one message to a buffer; [`Builder::finish`] writes its length.
#[derive(Debug)]
pub struct Builder {
    out: BytesMut,
}

impl Builder {
    /// A message with that header; its length is written at the end.
    pub fn new(header: &Header) -> Self {
        let mut out = BytesMut::with_capacity(256);
        out.put_slice(&header.encode());
        Self { out }
    }

    /// A request with the R bit and `flags` set.
    pub fn request(command: u32, application: u32, flags: u8, hop_by_hop: u32, end_to_end: u32) -> Self {
        Self::new(&Header {
            version: Header::VERSION,
            length: 0,
            flags: Flags(Flags::REQUEST | flags),
            command,
            application,
            hop_by_hop,
            end_to_end,
        })
    }

    /// The answer to a request: its command, application, identifiers and P bit, R, E and T cleared. The version is ours
    /// even where the request's is another: the answer that says so (5011) has to be readable.
    pub fn answer(request: &Header) -> Self {
        let flags = Flags(request.flags.0 & Flags::PROXIABLE);
        Self::new(&Header { version: Header::VERSION, length: 0, flags, ..*request })
    }

    /// Sets the E bit.
    #[must_use]
    pub fn error(mut self) -> Self {
        self.out[4] |= Flags::ERROR;
        self
    }

    /// Appends an AVP with any flags and vendor; the V flag is set if there is a vendor.
    ///
    /// # Panics
    /// If `data` does not fit the 24-bit length: what the agent builds is bounded by a message it has received.
    #[must_use]
    pub fn avp(mut self, code: u32, vendor: Option<u32>, flags: u8, data: &[u8]) -> Self {
        put_avp(&mut self.out, code, vendor, flags, data);
        self
    }

    /// Appends a base AVP with the M flag.
    #[must_use]
    pub fn bytes(self, code: u32, data: &[u8]) -> Self {
        self.avp(code, None, MANDATORY, data)
    }

    /// Appends a base AVP with the M flag, Unsigned32 or Enumerated.
    #[must_use]
    pub fn u32(self, code: u32, value: u32) -> Self {
        self.bytes(code, &value.to_be_bytes())
    }

    /// Appends an AVP as it lies in another message, padding it with zeros.
    #[must_use]
    pub fn copy(mut self, whole: &[u8]) -> Self {
        self.out.put_slice(whole);
        pad(&mut self.out, whole.len());
        self
    }

    /// Copies the Session-Id, which an answer starts with (RFC 6733 section 6.2), if one stands before the first
    /// malformed AVP.
    #[must_use]
    pub fn session_of(mut self, request: &Message<'_>) -> Self {
        if let Some(session) = request.find(avp::SESSION_ID) {
            self = self.copy(session.bytes);
        }
        self
    }

    /// Copies every Proxy-Info in order, up to the first malformed AVP (RFC 6733 section 6.2).
    #[must_use]
    pub fn proxy_info_of(mut self, request: &Message<'_>) -> Self {
        for info in request.avps().map_while(Result::ok).filter(|a| a.is(avp::PROXY_INFO)) {
            self = self.copy(info.bytes);
        }
        self
    }

    /// Writes the length and gives the message.
    pub fn finish(mut self) -> Bytes {
        set_length(&mut self.out, 0);
        self.out.freeze()
    }
}

/// Appends one AVP, zero-padded.
///
/// # Panics
/// If it does not fit the 24-bit length.
pub fn put_avp(out: &mut BytesMut, code: u32, vendor: Option<u32>, flags: u8, data: &[u8]) {
    let length = data.len() + if vendor.is_some() { 12 } else { 8 };
    assert!(length < 1 << 24, "AVP {code} of {length} bytes does not fit its 24-bit length");
    let flags = if vendor.is_some() { flags | VENDOR } else { flags & !VENDOR };
    out.put_u32(code);
    out.put_u32(u32::from(flags) << 24 | u32::try_from(length).unwrap_or_default());
    if let Some(vendor) = vendor {
        out.put_u32(vendor);
    }
    out.put_slice(data);
    pad(out, length);
}

fn pad(out: &mut BytesMut, length: usize) {
    out.put_bytes(0, length.next_multiple_of(4) - length);
}

/// Writes the length of the message that starts at `at` and ends the buffer.
pub(super) fn set_length(out: &mut BytesMut, at: usize) {
    let length = out.len() - at;
    debug_assert!(length < 1 << 24, "a message of {length} bytes does not fit its 24-bit length");
    let length = u32::try_from(length).unwrap_or_default().to_be_bytes();
    out[at + 1..at + 4].copy_from_slice(&length[1..]);
}
