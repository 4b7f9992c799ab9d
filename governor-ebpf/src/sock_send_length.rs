//! tp_btf `sock_send_length` (Linux 6.3 on): the outcome of every send. Arguments: sk, ret, flags.

use crate::measure;
use crate::offsets::Object;
use aya_ebpf::macros::btf_tracepoint;
use aya_ebpf::programs::BtfTracePointContext;

#[btf_tracepoint(function = "sock_send_length")]
fn sock_send_length(ctx: BtfTracePointContext) -> i32 {
    let sk: Object = ctx.arg(0);
    // SAFETY: the counter's address inside a value of the map; nothing is read.
    measure::sent(sk, ctx.arg(1), |lost| unsafe { &raw mut (*lost).sock_send_length });
    0
}
