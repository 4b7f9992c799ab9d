//! tp_btf `inet_sock_set_state`: a connection appears or goes, TCP and SCTP. Arguments: sk, old state, new state.
//!
//! It may run in a softirq with any task current: it goes by cookie and port, never by process.

use crate::event::tell;
use crate::maps::{CONNECTIONS, PORTS};
use crate::measure;
use crate::offsets::{self, Object};
use aya_ebpf::helpers::bpf_ktime_get_ns;
use aya_ebpf::macros::btf_tracepoint;
use aya_ebpf::programs::BtfTracePointContext;
use aya_log_ebpf::warn;
use governor_common::{CREATED_BY_KERNEL, ConnectionRecord, EventKind, FAMILY_IPV4, FAMILY_IPV6, LostEvents, state};

#[btf_tracepoint(function = "inet_sock_set_state")]
fn inet_sock_set_state(ctx: BtfTracePointContext) -> i32 {
    let sk: Object = ctx.arg(0);
    let new: i32 = ctx.arg(2);
    let new = new.unsigned_abs();
    let Some(protocol) = measure::protocol(sk) else { return 0 };
    let cookie = measure::cookie(sk);
    if let Some(record) = CONNECTIONS.get_ptr_mut(cookie) {
        // SAFETY: as in `measure::sent`.
        changed(cookie, unsafe { &mut *record }, new);
    } else if new == state::ESTABLISHED {
        opened(&ctx, sk, cookie, protocol);
    }
    0
}

/// A known connection is in state `new`.
#[inline(always)]
fn changed(cookie: u64, record: &mut ConnectionRecord, new: u32) {
    record.state = new;
    if new != state::CLOSE {
        return;
    }
    // SAFETY: no argument, only a clock.
    let now = unsafe { bpf_ktime_get_ns() };
    tell(EventKind::Closed, cookie, record, now, lost);
    if record.flags & CREATED_BY_KERNEL != 0 {
        // Fails only if it is gone already.
        let _ = CONNECTIONS.remove(cookie);
    }
}

/// A connection of a watched port is established: make its record.
#[inline(always)]
fn opened(ctx: &BtfTracePointContext, sk: Object, cookie: u64, protocol: u16) {
    // SAFETY: `sk` is a `struct sock *`, and these are its u16 fields.
    let (family, local_port, remote_port) = unsafe {
        (
            offsets::load::<u16>(sk, &offsets::SOCK_FAMILY),
            offsets::load::<u16>(sk, &offsets::SOCK_NUM),
            u16::from_be(offsets::load::<u16>(sk, &offsets::SOCK_DPORT)),
        )
    };
    if PORTS.get_ptr(local_port).is_none() && PORTS.get_ptr(remote_port).is_none() {
        return;
    }
    let (local_address, remote_address) = addresses(sk, family);
    let record = ConnectionRecord {
        local_address,
        remote_address,
        local_port,
        remote_port,
        family,
        protocol,
        state: state::ESTABLISHED,
        flags: CREATED_BY_KERNEL,
        ..ConnectionRecord::default()
    };
    if CONNECTIONS.insert(cookie, record, 0).is_err() {
        warn!(ctx, "connections is full: port {} goes unseen", remote_port);
        return;
    }
    // SAFETY: no argument, only a clock.
    tell(EventKind::Opened, cookie, &record, unsafe { bpf_ktime_get_ns() }, lost);
}

/// Both addresses, IPv4 mapped.
#[inline(always)]
fn addresses(sk: Object, family: u16) -> ([u8; 16], [u8; 16]) {
    match family {
        // SAFETY: these fields hold the addresses of a socket of that family, in network order.
        FAMILY_IPV4 => unsafe {
            (
                mapped(offsets::copy(sk, offsets::SOCK_RCV_SADDR.load())),
                mapped(offsets::copy(sk, offsets::SOCK_DADDR.load())),
            )
        },
        // SAFETY: likewise.
        FAMILY_IPV6 => unsafe {
            (offsets::copy(sk, offsets::SOCK_V6_RCV_SADDR.load()), offsets::copy(sk, offsets::SOCK_V6_DADDR.load()))
        },
        _ => ([0; 16], [0; 16]),
    }
}

/// `::ffff:a.b.c.d`
#[inline(always)]
fn mapped([a, b, c, d]: [u8; 4]) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
}

/// This program's counter of lost events.
#[inline(always)]
fn lost(counters: *mut LostEvents) -> *mut u64 {
    // SAFETY: the counter's address inside a value of the map; nothing is read.
    unsafe { &raw mut (*counters).inet_sock_set_state }
}
