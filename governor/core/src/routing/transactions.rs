//! Pending transactions (rule 5): one record from a request's sending to its answer, its timeout or its connection's end.
//!
//! Two tables. [`Transactions`] holds the requests of the whole agent, oldest first, so that the next timeout is known
//! without a search. [`HopByHop`], one a connection, finds them by the identifier that we gave them, and remembers
//! for a while which identifiers have timed out, to tell a late answer from a bogus one.

use crate::time::Time;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A handle of a record; stale handles find nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransactionId {
    index: u32,
    generation: u32,
}

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    older: u32,
    newer: u32,
    /// `None`: in no list, waiting for its first deadline or free.
    deadline: Option<Time>,
    used: bool,
    value: T,
}

/// Records with deadlines. Values are reused, so what they hold on the heap is too.
///
/// Deadlines must be set in order, each not before the one set last, which a single answer timeout gives.
#[derive(Debug)]
pub struct Transactions<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

// === impl Transactions ===

impl<T: Default> Default for Transactions<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), oldest: NONE, newest: NONE }
    }
}

impl<T: Default> Transactions<T> {
    /// A record without a deadline, its value as its last user left it.
    pub fn insert(&mut self) -> TransactionId {
        let index = self.free.pop().unwrap_or_else(|| {
            let value = T::default();
            self.entries.push(Entry { generation: 0, older: NONE, newer: NONE, deadline: None, used: false, value });
            u32::try_from(self.entries.len() - 1).unwrap_or(NONE)
        });
        let entry = &mut self.entries[index as usize];
        entry.used = true;
        TransactionId { index, generation: entry.generation }
    }

    /// The record's value.
    pub fn get(&self, id: TransactionId) -> Option<&T> {
        self.entries.get(id.index as usize).filter(|e| e.used && e.generation == id.generation).map(|e| &e.value)
    }

    /// The record's value.
    pub fn get_mut(&mut self, id: TransactionId) -> Option<&mut T> {
        self.entry(id).map(|e| &mut e.value)
    }

    fn entry(&mut self, id: TransactionId) -> Option<&mut Entry<T>> {
        self.entries.get_mut(id.index as usize).filter(|e| e.used && e.generation == id.generation)
    }

    /// Sets the record's deadline, behind all that were set before.
    pub fn set_deadline(&mut self, id: TransactionId, deadline: Time) {
        if self.entry(id).is_none() {
            return;
        }
        self.unlink(id.index);
        let newest = self.newest;
        // A deadline shortened by a reload must not overtake: the list stays sorted.
        let floor = self.entries.get(newest as usize).and_then(|e| e.deadline).unwrap_or_default();
        let entry = &mut self.entries[id.index as usize];
        entry.deadline = Some(deadline.max(floor));
        entry.older = newest;
        entry.newer = NONE;
        match self.entries.get_mut(newest as usize) {
            Some(before) => before.newer = id.index,
            None => self.oldest = id.index,
        }
        self.newest = id.index;
    }

    fn unlink(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        if entry.deadline.take().is_none() {
            return;
        }
        let (older, newer) = (entry.older, entry.newer);
        match self.entries.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
    }

    /// Ends the record; its value stays for the next one.
    pub fn remove(&mut self, id: TransactionId) -> bool {
        if self.entry(id).is_none() {
            return false;
        }
        self.unlink(id.index);
        let entry = &mut self.entries[id.index as usize];
        entry.used = false;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(id.index);
        true
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Time> {
        self.entries.get(self.oldest as usize)?.deadline
    }

    /// The record whose deadline is the earliest, if it is due.
    pub fn due(&self, now: Time) -> Option<TransactionId> {
        let entry = self.entries.get(self.oldest as usize)?;
        (entry.deadline? <= now).then_some(TransactionId { index: self.oldest, generation: entry.generation })
    }

    /// The values of all records in use.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().filter(|e| e.used).map(|e| &e.value)
    }

    /// The values of all records in use.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().filter(|e| e.used).map(|e| &mut e.value)
    }

    /// Records in use.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Is none in use?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What became of an identifier of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its request is pending.
    Pending(TransactionId),
    /// Its request timed out, or was sent elsewhere, a short while ago.
    Late,
    /// It was answered a short while ago.
    Duplicate,
    /// We never sent it, or too long ago.
    Never,
}

/// The hop-by-hop identifiers of one connection: ours, counted up, wrapping (RFC 6733 section 3).
#[derive(Debug)]
pub struct HopByHop {
    next: u32,
    pending: HashMap<u32, TransactionId, BuildHasherDefault<Spread>>,
    /// Identifiers that timed out or were sent elsewhere, oldest first.
    recent: VecDeque<u32>,
    late: HashSet<u32, BuildHasherDefault<Spread>>,
    /// The identifiers answered last, as a ring.
    answered: VecDeque<u32>,
}

/// How many identifiers of each kind are remembered.
const REMEMBERED: usize = 4096;
const ANSWERED: usize = 256;

// === impl HopByHop ===

impl HopByHop {
    /// Counts from `first`.
    pub fn new(first: u32) -> Self {
        Self {
            next: first,
            pending: HashMap::default(),
            recent: VecDeque::new(),
            late: HashSet::default(),
            answered: VecDeque::new(),
        }
    }

    /// The next identifier, skipping those still pending or remembered as late.
    pub fn insert(&mut self, transaction: TransactionId) -> u32 {
        let mut id = self.next;
        while self.pending.contains_key(&id) || (!self.late.is_empty() && self.late.contains(&id)) {
            id = id.wrapping_add(1);
        }
        self.next = id.wrapping_add(1);
        self.pending.insert(id, transaction);
        id
    }

    /// An answer with that identifier came: ends its entry.
    pub fn answered(&mut self, id: u32) -> Known {
        if let Some(transaction) = self.pending.remove(&id) {
            if self.answered.len() == ANSWERED {
                self.answered.pop_front();
            }
            self.answered.push_back(id);
            Known::Pending(transaction)
        } else if self.late.remove(&id) {
            Known::Late
        } else if self.answered.contains(&id) {
            Known::Duplicate
        } else {
            Known::Never
        }
    }

    /// Its request timed out: an answer from now on is late.
    pub fn expire(&mut self, id: u32) {
        if self.pending.remove(&id).is_some() {
            self.remember(id);
        }
    }

    /// Every request goes elsewhere, and the connection stays: gives the records, in the order of sending. Answers from
    /// now on are late.
    pub fn expire_all(&mut self) -> Vec<TransactionId> {
        let all = self.empty();
        for &(id, _) in &all {
            self.remember(id);
        }
        all.into_iter().map(|(_, record)| record).collect()
    }

    fn remember(&mut self, id: u32) {
        self.late.insert(id);
        self.recent.push_back(id);
        if self.recent.len() > REMEMBERED
            && let Some(oldest) = self.recent.pop_front()
        {
            self.late.remove(&oldest);
        }
    }

    /// Its request was never written: nothing can come.
    pub fn withdraw(&mut self, id: u32) {
        self.pending.remove(&id);
    }

    /// The connection ended: gives the records, in the order of sending, and forgets all.
    pub fn drain(&mut self) -> Vec<TransactionId> {
        self.recent.clear();
        self.late.clear();
        self.answered.clear();
        self.empty().into_iter().map(|(_, record)| record).collect()
    }

    fn empty(&mut self) -> Vec<(u32, TransactionId)> {
        let mut all: Vec<_> = self.pending.drain().collect();
        // Whatever the hash order; the wrap is judged from the next identifier.
        all.sort_unstable_by_key(|(id, _)| id.wrapping_sub(self.next));
        all
    }

    /// Pending identifiers.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Is none pending?
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

/// Hash of keys of our own making: identifiers that are counted up, which one multiplication spreads well enough, and the
/// identities and realms of the configuration. Nobody outside chooses what is in such a table.
#[derive(Debug, Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            self.write_u64(u64::from_ne_bytes(*chunk));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.write_u64(u64::from_ne_bytes(last));
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(23) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_deadline_is_the_first_due() {
        let mut t: Transactions<u32> = Transactions::default();
        let ids: Vec<_> = (0..3).map(|_| t.insert()).collect();
        for (&id, at) in ids.iter().zip(1..) {
            t.set_deadline(id, Time::from_secs(at));
        }
        assert_eq!(t.next_deadline(), Some(Time::from_secs(1)));
        assert_eq!(t.due(Time::from_millis(999)), None);
        assert!(t.remove(ids[1]));
        assert_eq!(t.due(Time::from_secs(1)), Some(ids[0]));
        // A retransmission waits anew, behind the others.
        t.set_deadline(ids[0], Time::from_secs(4));
        assert_eq!(t.due(Time::from_secs(9)), Some(ids[2]));
        assert!(t.remove(ids[2]));
        assert_eq!(t.due(Time::from_secs(9)), Some(ids[0]));
        assert!(t.remove(ids[0]));
        assert_eq!(t.next_deadline(), None);
        assert!(t.is_empty());
    }

    #[test]
    fn a_stale_handle_finds_nothing() {
        let mut t: Transactions<u32> = Transactions::default();
        let old = t.insert();
        assert!(t.remove(old));
        let new = t.insert();
        assert_ne!(old, new);
        assert!(t.get(old).is_none());
        assert!(!t.remove(old));
        assert!(t.get(new).is_some());
    }

    #[test]
    fn a_shortened_timeout_keeps_the_order() {
        let mut t: Transactions<u32> = Transactions::default();
        let (a, b) = (t.insert(), t.insert());
        t.set_deadline(a, Time::from_secs(9));
        t.set_deadline(b, Time::from_secs(3));
        assert_eq!(t.due(Time::from_secs(9)), Some(a));
        t.remove(a);
        assert_eq!(t.due(Time::from_secs(9)), Some(b));
    }

    #[test]
    fn identifiers_wrap_and_skip_those_pending_or_late() {
        let mut t: Transactions<u32> = Transactions::default();
        let mut h = HopByHop::new(0xffff_fff0);
        let ids: Vec<u32> = (0..32).map(|_| h.insert(t.insert())).collect();
        assert_eq!(ids[15], 0xffff_ffff);
        assert_eq!(ids[16], 0);
        h.expire(ids[1]);
        for &id in ids.iter().skip(2) {
            assert!(matches!(h.answered(id), Known::Pending(_)));
        }
        h.next = ids[0];
        assert_eq!(h.insert(t.insert()), ids[2], "the first is pending, the second is late");
    }

    #[test]
    fn an_answer_is_told_pending_late_duplicate_or_bogus() {
        let mut t: Transactions<u32> = Transactions::default();
        let mut h = HopByHop::new(7);
        let record = t.insert();
        let id = h.insert(record);
        assert_eq!(h.answered(id), Known::Pending(record));
        assert_eq!(h.answered(id), Known::Duplicate);
        assert_eq!(h.answered(99), Known::Never);
        let id = h.insert(record);
        h.expire(id);
        assert_eq!(h.answered(id), Known::Late);
        assert_eq!(h.answered(id), Known::Never);
        assert!(h.is_empty());
    }

    #[test]
    fn draining_gives_the_records_in_the_order_of_sending() {
        let mut t: Transactions<u32> = Transactions::default();
        let mut h = HopByHop::new(0xffff_fffe);
        let mut start = || {
            let record = t.insert();
            (h.insert(record), record)
        };
        let sent: Vec<_> = (0..5).map(|_| start()).collect();
        let records: Vec<_> = sent.iter().map(|&(_, record)| record).collect();
        assert_eq!(h.expire_all(), records);
        assert_eq!(h.len(), 0);
        assert_eq!(h.answered(sent[3].0), Known::Late, "the connection stays");
        let record = t.insert();
        h.insert(record);
        assert_eq!(h.drain(), [record]);
        assert_eq!(h.answered(sent[4].0), Known::Never, "the connection has ended");
    }

    #[test]
    fn the_memory_of_late_identifiers_is_bounded() {
        let mut t: Transactions<u32> = Transactions::default();
        let mut h = HopByHop::new(0);
        let first = h.insert(t.insert());
        h.expire(first);
        for _ in 0..REMEMBERED {
            let id = h.insert(t.insert());
            h.expire(id);
        }
        assert_eq!(h.late.len(), REMEMBERED);
        assert_eq!(h.answered(first), Known::Never);
    }
}
