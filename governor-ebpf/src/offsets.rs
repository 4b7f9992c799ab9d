//! Byte offsets of kernel fields, set by the loader from the running kernel's BTF before the programs are loaded.

use aya_ebpf::Global;
use aya_ebpf::cty::c_void;
use aya_ebpf::helpers::bpf_probe_read_kernel;

macro_rules! offsets {
    ($($name:ident = $field:literal;)+) => {
        $(
            #[doc = concat!("`", $field, "`")]
            #[unsafe(no_mangle)]
            pub static $name: Global<u32> = Global::new(0);
        )+
    };
}

offsets! {
    SOCKET_SK = "socket.sk";
    SOCK_PROTOCOL = "sock.sk_protocol";
    SOCK_WMEM_QUEUED = "sock.sk_wmem_queued";
    SOCK_SNDBUF = "sock.sk_sndbuf";
    SOCK_FAMILY = "sock_common.skc_family";
    SOCK_NUM = "sock_common.skc_num";
    SOCK_DPORT = "sock_common.skc_dport";
    SOCK_DADDR = "sock_common.skc_daddr";
    SOCK_RCV_SADDR = "sock_common.skc_rcv_saddr";
    SOCK_V6_DADDR = "sock_common.skc_v6_daddr";
    SOCK_V6_RCV_SADDR = "sock_common.skc_v6_rcv_saddr";
    TCP_WRITE_SEQ = "tcp_sock.write_seq";
    TCP_SND_UNA = "tcp_sock.snd_una";
    SKB_CB = "sk_buff.cb";
    TCP_SKB_CB_ACK_SEQ = "tcp_skb_cb.ack_seq";
}

/// A kernel object (`struct sock`, `struct socket`, `struct sk_buff`) as a hook hands it over.
pub type Object = *const c_void;

/// The field at `offset` of `object`, by a load that the verifier checks against the object's type.
///
/// # Safety
/// `object` is an unmodified argument of the hook, and `offset` that of a field of type `T` in its BTF type.
#[inline(always)]
pub unsafe fn load<T: Copy>(object: Object, offset: &Global<u32>) -> T {
    // SAFETY: the caller's promise; a fault in the kernel reads as zero.
    unsafe { object.byte_add(offset.load() as usize).cast::<T>().read_volatile() }
}

/// The field at `offset` of `object`, copied by the kernel: for what the object's BTF type does not show. Zero on a fault.
///
/// # Safety
/// The offset is that of a field of type `T`, for which all bit patterns are valid.
#[inline(always)]
pub unsafe fn copy<T: Copy + Default>(object: Object, offset: u32) -> T {
    // SAFETY: the helper checks the address.
    unsafe { bpf_probe_read_kernel(object.byte_add(offset as usize).cast::<T>()) }.unwrap_or_default()
}
