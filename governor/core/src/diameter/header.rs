//! The Diameter header (RFC 6733 section 3).

/// Command flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// R: a request.
    pub const REQUEST: u8 = 0x80;
    /// P: may be proxied, relayed or redirected.
    pub const PROXIABLE: u8 = 0x40;
    /// E: a protocol error (answers only).
    pub const ERROR: u8 = 0x20;
    /// T: potentially retransmitted (requests only).
    pub const RETRANSMITTED: u8 = 0x10;

    /// Is the R bit set?
    pub const fn is_request(self) -> bool {
        self.0 & Self::REQUEST != 0
    }

    /// Is the P bit set?
    pub const fn is_proxiable(self) -> bool {
        self.0 & Self::PROXIABLE != 0
    }

    /// Is the E bit set?
    pub const fn is_error(self) -> bool {
        self.0 & Self::ERROR != 0
    }

    /// Is the T bit set?
    pub const fn is_retransmitted(self) -> bool {
        self.0 & Self::RETRANSMITTED != 0
    }
}

/// A decoded header. Decoding checks nothing: [`super::frame`] has judged version and length before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Protocol version, 1.
    pub version: u8,
    /// Message Length, header and padding included, 24 bits.
    pub length: u32,
    /// Command flags.
    pub flags: Flags,
    /// Command code, 24 bits.
    pub command: u32,
    /// Application-Id.
    pub application: u32,
    /// Hop-by-Hop Identifier.
    pub hop_by_hop: u32,
    /// End-to-End Identifier.
    pub end_to_end: u32,
}

impl Header {
    /// Length of a header, bytes.
    pub const LEN: usize = 20;
    /// The only version.
    pub const VERSION: u8 = 1;

    /// Decodes the first 20 bytes; `None` if there are fewer.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let b: &[u8; Self::LEN] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        Some(Self {
            version: b[0],
            length: word(0) & 0x00ff_ffff,
            flags: Flags(b[4]),
            command: word(4) & 0x00ff_ffff,
            application: word(8),
            hop_by_hop: word(12),
            end_to_end: word(16),
        })
    }

    /// Encodes it; length and command lose all but their low 24 bits.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        b[0..4].copy_from_slice(&(u32::from(self.version) << 24 | self.length & 0x00ff_ffff).to_be_bytes());
        b[4..8].copy_from_slice(&(u32::from(self.flags.0) << 24 | self.command & 0x00ff_ffff).to_be_bytes());
        b[8..12].copy_from_slice(&self.application.to_be_bytes());
        b[12..16].copy_from_slice(&self.hop_by_hop.to_be_bytes());
        b[16..20].copy_from_slice(&self.end_to_end.to_be_bytes());
        b
    }
}
