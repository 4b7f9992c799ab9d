//! Where a message ends in a stream (RFC 6733 section 3, Message Length).
//!
//! There is one framing function for every reader. A stream whose header cannot be right is not to be trusted
//! any further: the caller answers if it can, and closes; nobody resynchronises by guessing.

use super::Header;
use thiserror::Error;

/// A header that no message can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Not version 1.
    #[error("unsupported Diameter version {0}, expected 1")]
    Version(u8),
    /// Less than a header's 20 bytes, or not a multiple of 4.
    #[error("message length {0} is not a multiple of 4 of at least 20")]
    Length(u32),
    /// More than `max_message`.
    #[error("message length {length} is over the limit of {max} bytes (max_message)")]
    TooLong {
        /// What the header announced.
        length: u32,
        /// The limit.
        max: u32,
    },
}

/// The longest message that is ever accepted, bytes. The 24-bit length could say 4 KiB more: that much is kept free for
/// what we add to it, a Route-Record when it is forwarded, an answer's own AVPs beside the copied ones.
pub const MAX_MESSAGE: u32 = 0xff_f000;

/// The length in bytes of the message that `buffer` starts with: `None` while fewer bytes than that are in hand.
///
/// Allocates nothing, and judges nothing before the 20 bytes of the header are there: an answer to a bad one needs its
/// identifiers. `max` caps the length, in bytes; more than [`MAX_MESSAGE`] is taken as that.
pub fn frame(buffer: &[u8], max: u32) -> Result<Option<usize>, FrameError> {
    let Some(header) = buffer.first_chunk::<{ Header::LEN }>() else {
        return Ok(None);
    };
    if header[0] != Header::VERSION {
        return Err(FrameError::Version(header[0]));
    }
    let length = u32::from_be_bytes([0, header[1], header[2], header[3]]);
    let bytes = length as usize;
    if bytes < Header::LEN || !bytes.is_multiple_of(4) {
        return Err(FrameError::Length(length));
    }
    let max = max.min(MAX_MESSAGE);
    if length > max {
        return Err(FrameError::TooLong { length, max });
    }
    Ok((buffer.len() >= bytes).then_some(bytes))
}
