//! What the hooks have in common: a measure of a connection's send buffer, and the edges it makes.

use crate::event::{add, tell};
use crate::maps::CONNECTIONS;
use crate::offsets::{self, Object};
use aya_ebpf::helpers::{bpf_get_socket_cookie, bpf_ktime_get_ns};
use governor_common::{ConnectionRecord, EventKind, LostEvents, PROTOCOL_SCTP, PROTOCOL_TCP, WRITABLE};

const EAGAIN: i32 = 11;

/// Is it a socket of a protocol that carries Diameter? The hooks see every socket of the host: this keeps the others cheap.
#[inline(always)]
pub fn protocol(sk: Object) -> Option<u16> {
    // SAFETY: `sk` is a hook's `struct sock *` and the offset that of its u16 field.
    let protocol = unsafe { offsets::load::<u16>(sk, &offsets::SOCK_PROTOCOL) };
    (protocol == PROTOCOL_TCP || protocol == PROTOCOL_SCTP).then_some(protocol)
}

/// The socket's cookie.
#[inline(always)]
pub fn cookie(sk: Object) -> u64 {
    // SAFETY: the helper takes a `struct sock *` of a hook's arguments.
    unsafe { bpf_get_socket_cookie(sk.cast_mut()) }
}

/// The bytes queued on the socket now.
#[inline(always)]
pub fn queued(sk: Object) -> u32 {
    // SAFETY: as in `protocol`.
    unsafe { offsets::load::<u32>(sk, &offsets::SOCK_WMEM_QUEUED) }
}

/// The socket's send buffer in bytes.
#[inline(always)]
fn limit(sk: Object) -> u32 {
    // SAFETY: as in `protocol`.
    unsafe { offsets::load::<u32>(sk, &offsets::SOCK_SNDBUF) }
}

/// A send on `sk` returned `outcome`: bytes taken, or a negative errno.
#[inline(always)]
pub fn sent(sk: Object, outcome: i32, lost: impl Fn(*mut LostEvents) -> *mut u64 + Copy) {
    if protocol(sk).is_none() {
        return;
    }
    let cookie = cookie(sk);
    let Some(record) = CONNECTIONS.get_ptr_mut(cookie) else { return };
    // SAFETY: a value of the map stays in place while the program runs; other processors only store whole words into it.
    let record = unsafe { &mut *record };
    // SAFETY: no argument, only a clock.
    let now = unsafe { bpf_ktime_get_ns() };
    if outcome > 0 {
        add(&raw mut record.sends, 1);
        add(&raw mut record.bytes, u64::from(outcome.unsigned_abs()));
    } else if outcome == -EAGAIN {
        add(&raw mut record.refusals, 1);
    }
    measured(record, cookie, queued(sk), limit(sk), now, lost);
    if outcome == -EAGAIN && record.blocked_since == 0 {
        record.blocked_since = now;
        tell(EventKind::Blocked, cookie, record, now, lost);
    } else if outcome > 0 && record.blocked_since != 0 {
        record.blocked_since = 0;
        tell(EventKind::Unblocked, cookie, record, now, lost);
    }
}

/// The peer acknowledged: `queued` bytes are left on `sk`.
#[inline(always)]
pub fn drained(
    sk: Object,
    record: &mut ConnectionRecord,
    cookie: u64,
    queued: u32,
    lost: impl Fn(*mut LostEvents) -> *mut u64 + Copy,
) {
    // SAFETY: no argument, only a clock.
    let now = unsafe { bpf_ktime_get_ns() };
    measured(record, cookie, queued, limit(sk), now, lost);
    let (numerator, denominator) = WRITABLE;
    let writable = u64::from(record.queued) * denominator <= u64::from(record.limit) * numerator;
    if record.blocked_since != 0 && writable {
        record.blocked_since = 0;
        tell(EventKind::Unblocked, cookie, record, now, lost);
    }
}

/// Enters a measure, and tells of another pressure level.
#[inline(always)]
fn measured(
    record: &mut ConnectionRecord,
    cookie: u64,
    queued: u32,
    limit: u32,
    now: u64,
    lost: impl Fn(*mut LostEvents) -> *mut u64,
) {
    record.queued = queued;
    record.limit = limit;
    record.measured = now;
    let level = record.thresholds.level(record.pressure, queued, limit);
    if level != record.pressure {
        record.pressure = level;
        tell(EventKind::Pressure, cookie, record, now, lost);
    }
}
