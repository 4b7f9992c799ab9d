//! Requests whose answer has not come: a slab by hop-by-hop id, threaded in order of sending.
//!
//! The id's low bits are the slot, the high bits count the slot's uses, so that an answer that comes too late finds its
//! slot changed. All requests have the same timeout: the oldest is always the next to expire.

use std::time::Duration;

const SLOT_BITS: u32 = 20;
const NONE: u32 = u32::MAX;

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// When it was, or by an open-loop schedule should have been, sent: nanoseconds since the run's start.
    pub(super) intended: u64,
    /// When it went into the output: nanoseconds since the run's start. The timeout counts from here.
    pub(super) at: u64,
    /// Which of the mix's priorities.
    pub(super) class: u8,
}

struct Slot {
    request: Option<Sent>,
    uses: u32,
    older: u32,
    /// In a free slot: the next free one.
    newer: u32,
}

/// The requests outstanding on one connection, at most 2^20.
pub(super) struct Outstanding {
    slots: Vec<Slot>,
    free: u32,
    oldest: u32,
    newest: u32,
    len: usize,
}

impl Outstanding {
    /// Most requests at a time.
    pub(super) const MAX: usize = 1 << SLOT_BITS;

    pub(super) fn with_capacity(slots: usize) -> Self {
        Self { slots: Vec::with_capacity(slots.min(Self::MAX)), free: NONE, oldest: NONE, newest: NONE, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Remembers a request; the hop-by-hop id for it, or `None` at the maximum. `sent` never falls.
    pub(super) fn insert(&mut self, request: Sent) -> Option<u32> {
        let at = if self.free == NONE {
            if self.slots.len() == Self::MAX {
                return None;
            }
            self.slots.push(Slot { request: None, uses: 0, older: NONE, newer: NONE });
            u32::try_from(self.slots.len() - 1).ok()?
        } else {
            let at = self.free;
            self.free = self.slots[at as usize].newer;
            at
        };
        let newest = self.newest;
        let slot = &mut self.slots[at as usize];
        slot.request = Some(request);
        slot.older = newest;
        slot.newer = NONE;
        let id = slot.uses << SLOT_BITS | at;
        match newest {
            NONE => self.oldest = at,
            newest => self.slots[newest as usize].newer = at,
        }
        self.newest = at;
        self.len += 1;
        Some(id)
    }

    /// Forgets the request of that id; `None` if there is none (answered before, timed out, never sent).
    pub(super) fn remove(&mut self, hop_by_hop: u32) -> Option<Sent> {
        let at = hop_by_hop & ((1 << SLOT_BITS) - 1);
        let slot = self.slots.get_mut(at as usize)?;
        if slot.uses << SLOT_BITS != hop_by_hop & !((1 << SLOT_BITS) - 1) {
            return None;
        }
        let request = slot.request.take()?;
        slot.uses = slot.uses.wrapping_add(1);
        let (older, newer) = (slot.older, slot.newer);
        slot.newer = self.free;
        self.free = at;
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        self.len -= 1;
        Some(request)
    }

    /// When the oldest was sent, nanoseconds since the run's start.
    pub(super) fn oldest_sent(&self) -> Option<u64> {
        Some(self.slots.get(self.oldest as usize)?.request?.at)
    }

    /// Forgets the oldest if it was sent `timeout` or longer before `now`.
    pub(super) fn expire(&mut self, now: u64, timeout: Duration) -> Option<Sent> {
        let sent = self.oldest_sent()?;
        if u128::from(now.saturating_sub(sent)) < timeout.as_nanos() {
            return None;
        }
        let at = self.oldest;
        let uses = self.slots.get(at as usize)?.uses;
        self.remove(uses << SLOT_BITS | at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(at: u64) -> Sent {
        Sent { intended: at, at, class: 0 }
    }

    #[test]
    fn an_answer_finds_its_request_once() {
        let mut o = Outstanding::with_capacity(4);
        let ids: Vec<_> = (0..3).map(|n| o.insert(sent(n)).unwrap()).collect();
        assert_eq!(o.remove(ids[1]), Some(sent(1)));
        assert_eq!(o.remove(ids[1]), None);
        assert_eq!(o.len(), 2);
        assert_eq!(o.remove(77), None);
    }

    #[test]
    fn a_late_answer_does_not_hit_the_slot_s_next_user() {
        let mut o = Outstanding::with_capacity(4);
        let late = o.insert(sent(0)).unwrap();
        assert_eq!(o.expire(5_000_000_000, Duration::from_secs(5)), Some(sent(0)));
        let next = o.insert(sent(1)).unwrap();
        assert_ne!(late, next);
        assert_eq!(o.remove(late), None);
        assert_eq!(o.remove(next), Some(sent(1)));
    }

    #[test]
    fn requests_expire_in_order_whatever_was_answered_between() {
        let mut o = Outstanding::with_capacity(4);
        let ids: Vec<_> = (0..6).map(|n| o.insert(sent(n)).unwrap()).collect();
        for gone in [0, 3, 5] {
            o.remove(ids[gone]).unwrap();
        }
        let timeout = Duration::from_nanos(10);
        assert_eq!(o.expire(10, timeout), None, "1 was sent at 1 and expires at 11");
        let expired: Vec<_> = std::iter::from_fn(|| o.expire(100, timeout)).map(|s| s.at).collect();
        assert_eq!(expired, [1, 2, 4]);
        assert_eq!((o.len(), o.oldest_sent()), (0, None));
    }

    #[test]
    fn slots_are_used_again_and_uses_wrap() {
        let mut o = Outstanding::with_capacity(1);
        for n in 0..10_000 {
            let id = o.insert(sent(n)).unwrap();
            assert_eq!(o.remove(id), Some(sent(n)));
        }
        assert_eq!(o.slots.len(), 1);
    }
}
