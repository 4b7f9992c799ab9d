//! fexit `inet_sendmsg`: the outcome of a send where tp_btf `sock_send_length` is absent.
//! Arguments: struct socket, struct msghdr, size; then what it returned.

use crate::measure;
use crate::offsets::{self, Object};
use aya_ebpf::macros::fexit;
use aya_ebpf::programs::FExitContext;

#[fexit(function = "inet_sendmsg")]
fn inet_sendmsg(ctx: FExitContext) -> i32 {
    let socket: Object = ctx.arg(0);
    // SAFETY: argument 0 is a `struct socket *`; its field is a pointer whose type the verifier follows.
    let sk: Object = unsafe { offsets::load(socket, &offsets::SOCKET_SK) };
    // The value returned stands behind the arguments: no helper needed, which kernels before 5.17 lack.
    // SAFETY: the counter's address inside a value of the map; nothing is read.
    measure::sent(sk, ctx.arg(3), |lost| unsafe { &raw mut (*lost).inet_sendmsg });
    0
}
