//! What Failed-AVP holds (RFC 6733 section 7.5): whole, padded AVPs.

use crate::diameter::Avp;
use crate::diameter::avp::MANDATORY;
use crate::diameter::build::put_avp;
use bytes::BytesMut;

/// Data of an AVP that is sent back, bytes at most: enough to see what it was, and an answer never outgrows its length.
const MOST_DATA: usize = 1024;

/// An AVP as it came, its data cut to what is reasonable.
pub(super) fn as_it_came(avp: &Avp<'_>) -> Vec<u8> {
    let mut out = BytesMut::new();
    put_avp(&mut out, avp.code, avp.vendor, avp.flags, &avp.data[..avp.data.len().min(MOST_DATA)]);
    out.to_vec()
}

/// An AVP of that code with `data` bytes of zeros: one that is missing (5005), or one whose length cannot be right
/// (5014), as short as its type allows.
pub(super) fn zeroed(code: u32, data: usize) -> Vec<u8> {
    group(code, &vec![0; data])
}

/// A base AVP of that code with `data` in it.
pub(super) fn group(code: u32, data: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    put_avp(&mut out, code, None, MANDATORY, data);
    out.to_vec()
}
