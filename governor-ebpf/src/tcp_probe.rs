//! tp_btf `tcp_probe`: a segment arrives on an established connection; pressure falls as the peer acknowledges.
//! Arguments: sk, skb.
//!
//! The hook runs before the acknowledgement takes effect, so `sk_wmem_queued` is that of the one before, and the last
//! acknowledgement of a burst would never be seen. The share that this one leaves unacknowledged is reckoned instead.

use crate::maps::CONNECTIONS;
use crate::measure;
use crate::offsets::{self, Object};
use aya_ebpf::macros::btf_tracepoint;
use aya_ebpf::programs::BtfTracePointContext;

#[btf_tracepoint(function = "tcp_probe")]
fn tcp_probe(ctx: BtfTracePointContext) -> i32 {
    let sk: Object = ctx.arg(0);
    let before = measure::queued(sk);
    // Nothing queued, nothing to fall. True of every receiver on the host.
    if before == 0 {
        return 0;
    }
    let cookie = measure::cookie(sk);
    let Some(record) = CONNECTIONS.get_ptr_mut(cookie) else { return 0 };
    // SAFETY: as in `measure::sent`.
    let record = unsafe { &mut *record };
    let skb: Object = ctx.arg(1);
    let after = left(sk, skb, before);
    // SAFETY: the counter's address inside a value of the map; nothing is read.
    measure::drained(sk, record, cookie, after, |lost| unsafe { &raw mut (*lost).tcp_probe });
    0
}

/// The bytes of `queued` that are left once the acknowledgement in `skb` has taken effect.
#[inline(always)]
fn left(sk: Object, skb: Object, queued: u32) -> u32 {
    // SAFETY: `sk` of an established TCP connection is a `struct tcp_sock`; `cb` of an arriving segment a `struct tcp_skb_cb`.
    let (end, start, ack) = unsafe {
        (
            offsets::copy::<u32>(sk, offsets::TCP_WRITE_SEQ.load()),
            offsets::copy::<u32>(sk, offsets::TCP_SND_UNA.load()),
            offsets::copy::<u32>(skb, offsets::SKB_CB.load() + offsets::TCP_SKB_CB_ACK_SEQ.load()),
        )
    };
    let outstanding = end.wrapping_sub(start);
    let left = end.wrapping_sub(ack);
    // An acknowledgement older than the last one, or of what was never sent.
    if left >= outstanding {
        return queued;
    }
    let share = u64::from(queued) * u64::from(left) / u64::from(outstanding);
    share as u32
}
