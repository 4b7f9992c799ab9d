//! Telling the agent.

use crate::maps::{EVENTS, LOST};
use core::arch::asm;
use governor_common::{ConnectionRecord, EventKind, EventRecord, LostEvents};

/// Puts an event into the ring; a full ring is counted in the program's own field.
#[inline(always)]
pub fn tell(
    kind: EventKind,
    cookie: u64,
    record: &ConnectionRecord,
    now: u64,
    lost: impl Fn(*mut LostEvents) -> *mut u64,
) {
    let Some(mut entry) = EVENTS.reserve(0) else {
        if let Some(counters) = LOST.get_ptr_mut(0) {
            add(lost(counters), 1);
        }
        return;
    };
    entry.write(EventRecord {
        timestamp: now,
        cookie,
        kind: kind as u32,
        pressure: record.pressure,
        queued: record.queued,
        limit: record.limit,
    });
    entry.submit(0);
}

/// Adds to a counter in a map's value; other processors may be adding too.
#[inline(always)]
pub fn add(counter: *mut u64, amount: u64) {
    // SAFETY: every caller passes an aligned u64 inside a value of a map, which lives as long as the program runs. The target
    // has this instruction in all versions, but `core` offers no atomic addition for it.
    unsafe { asm!("lock *(u64 *)({0} + 0) += {1}", in(reg) counter, in(reg) amount, options(nostack)) };
}
