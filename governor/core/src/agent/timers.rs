//! When each slot, link or group has to be looked at next: a heap with lazy deletion. A deadline that moves later costs
//! nothing until the earlier one fires; only one that moves earlier is pushed again.

use super::LinkId;
use crate::settings::ConnectionIndex;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Timer {
    /// A slot's peer machine and levels.
    Slot(ConnectionIndex),
    /// A link's first message, or the rest of a begun one.
    Link(LinkId),
    /// A group's levels.
    Group(u16),
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    /// The deadline that counts for each; an entry of the heap with another one is void.
    scheduled: HashMap<Timer, Time>,
}

// === impl Timers ===

impl Timers {
    /// The timer shall fire at `at`, unless it is set to fire earlier.
    pub fn schedule(&mut self, timer: Timer, at: Time) {
        let earlier = self.scheduled.get(&timer).is_none_or(|old| at < *old);
        if earlier {
            self.scheduled.insert(timer, at);
            self.heap.push(Reverse((at, timer)));
        }
    }

    /// The earliest deadline, perhaps a void one.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// A timer that is due; it is not set any more.
    pub fn due(&mut self, now: Time) -> Option<Timer> {
        while let Some(&Reverse((at, timer))) = self.heap.peek() {
            if at > now {
                return None;
            }
            self.heap.pop();
            if self.scheduled.get(&timer) == Some(&at) {
                self.scheduled.remove(&timer);
                return Some(timer);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_deadline_replaces_a_later_one_and_not_the_other_way_round() {
        let mut timers = Timers::default();
        let slot = Timer::Slot(ConnectionIndex(0));
        timers.schedule(slot, Time::from_secs(5));
        timers.schedule(slot, Time::from_secs(3));
        timers.schedule(slot, Time::from_secs(9));
        assert_eq!(timers.next(), Some(Time::from_secs(3)));
        assert_eq!(timers.due(Time::from_secs(2)), None);
        assert_eq!(timers.due(Time::from_secs(3)), Some(slot));
        assert_eq!(timers.due(Time::from_secs(9)), None, "the entry for 5 s is void");
    }
}
