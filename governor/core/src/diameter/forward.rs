//! Forwarding: the bytes as they came, with a hop-by-hop id of ours and, on requests, one Route-Record more
//! (RFC 6733 sections 6.1.9 and 6.2.2). Nothing is ever re-encoded.

use super::build::{put_avp, set_length};
use super::{Flags, avp::MANDATORY, codes::avp};
use bytes::{BufMut, Bytes, BytesMut};

/// The Route-Record AVP that names `peer`, ready to append.
pub fn route_record(peer: &str) -> Bytes {
    let mut out = BytesMut::new();
    put_avp(&mut out, avp::ROUTE_RECORD, None, MANDATORY, peer.as_bytes());
    out.freeze()
}

/// Appends a request to `out` with its hop-by-hop id replaced, `route_record` appended, and the T bit set when
/// `retransmitted` (it is never cleared). `message` is one framed message.
pub fn request(out: &mut BytesMut, message: &[u8], hop_by_hop: u32, route_record: &[u8], retransmitted: bool) {
    let at = out.len();
    out.reserve(message.len() + route_record.len());
    out.put_slice(message);
    out.put_slice(route_record);
    set_length(out, at);
    set_hop_by_hop(out, at, hop_by_hop);
    if retransmitted {
        out[at + 4] |= Flags::RETRANSMITTED;
    }
}

/// Appends an answer to `out` with the hop-by-hop id that its request came with.
pub fn answer(out: &mut BytesMut, message: &[u8], hop_by_hop: u32) {
    let at = out.len();
    out.put_slice(message);
    set_hop_by_hop(out, at, hop_by_hop);
}

fn set_hop_by_hop(out: &mut BytesMut, at: usize, hop_by_hop: u32) {
    out[at + 12..at + 16].copy_from_slice(&hop_by_hop.to_be_bytes());
}
