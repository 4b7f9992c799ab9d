//! Pending records in simulated time: which one an answer frees, and which one times out next.

use crate::level::Priority;
use crate::settings::ConnectionIndex;
use crate::time::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A record's number: later ones are greater.
pub(super) type Record = u64;

/// The records of one connection, by priority, oldest first.
#[derive(Debug, Default)]
pub(super) struct Records([VecDeque<Record>; 3]);

/// All records in the order of their timeouts, which is that of their sending; those freed before stand here too.
#[derive(Debug)]
pub(super) struct Timeouts {
    timeout: Duration,
    next: Record,
    queue: VecDeque<(Time, ConnectionIndex, Priority, Record)>,
}

// === impl Records ===

impl Records {
    pub(super) fn push(&mut self, priority: Priority, record: Record) {
        if let Some(queue) = self.queue(priority) {
            queue.push_back(record);
        }
    }

    /// Frees the oldest record of that priority, else the oldest; gives the freed one's priority.
    pub(super) fn take(&mut self, priority: Option<Priority>) -> Option<Priority> {
        if let Some(priority) = priority
            && self.queue(priority)?.pop_front().is_some()
        {
            return Some(priority);
        }
        let oldest = (0..3).filter(|&n| !self.0[n].is_empty()).min_by_key(|&n| self.0[n].front().copied())?;
        self.0[oldest].pop_front();
        u8::try_from(oldest).ok().and_then(Priority::request)
    }

    /// Frees this record; false if it is gone already. Records of a priority go in their order, so it is its oldest or gone.
    pub(super) fn expire(&mut self, priority: Priority, record: Record) -> bool {
        let Some(queue) = self.queue(priority) else { return false };
        let is_here = queue.front() == Some(&record);
        if is_here {
            queue.pop_front();
        }
        is_here
    }

    /// Frees all; gives how many.
    pub(super) fn clear(&mut self) -> u32 {
        let count = self.0.iter().map(VecDeque::len).sum::<usize>();
        self.0.iter_mut().for_each(VecDeque::clear);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn queue(&mut self, priority: Priority) -> Option<&mut VecDeque<Record>> {
        self.0.get_mut(usize::from(priority.number()))
    }
}

// === impl Timeouts ===

impl Timeouts {
    pub(super) const fn new(timeout: Duration) -> Self {
        Self { timeout, next: 0, queue: VecDeque::new() }
    }

    /// A request was sent: its record's number.
    pub(super) fn push(&mut self, now: Time, connection: ConnectionIndex, priority: Priority) -> Record {
        let record = self.next;
        self.next += 1;
        self.queue.push_back((now + self.timeout, connection, priority, record));
        record
    }

    /// The next timeout due at or before `now`.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<(Time, ConnectionIndex, Priority, Record)> {
        let &(due, ..) = self.queue.front()?;
        if due > now {
            return None;
        }
        self.queue.pop_front()
    }
}
