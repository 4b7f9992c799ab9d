//! When each slot, link or group has to be looked at next: a heap with lazy deletion. A deadline that moves later costs
//! nothing until the earlier one fires; only one that moves earlier is pushed again.

use super::LinkId;
use crate::settings::ConnectionIndex;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The deadline that counts for each, by its number, with a link's generation; an entry of the heap with another one
    /// is void. This is looked at for each message: plain tables.
    slots: Vec<Scheduled>,
    links: Vec<Scheduled>,
    groups: Vec<Scheduled>,
}

type Scheduled = Option<(u32, Time)>;

// === impl Timers ===

impl Timers {
    /// The timer shall fire at `at`, unless it is set to fire earlier.
    pub fn schedule(&mut self, timer: Timer, at: Time) {
        let (scheduled, generation) = self.scheduled(timer);
        if scheduled.is_none_or(|(g, old)| g != generation || at < old) {
            *scheduled = Some((generation, at));
            self.heap.push(Reverse((at, timer)));
        }
    }

    fn scheduled(&mut self, timer: Timer) -> (&mut Scheduled, u32) {
        let (table, at, generation) = match timer {
            Timer::Slot(connection) => (&mut self.slots, connection.get(), 0),
            Timer::Link(link) => (&mut self.links, link.index(), link.generation),
            Timer::Group(at) => (&mut self.groups, usize::from(at), 0),
        };
        if table.len() <= at {
            table.resize(at + 1, None);
        }
        (&mut table[at], generation)
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
            let (scheduled, generation) = self.scheduled(timer);
            if *scheduled == Some((generation, at)) {
                *scheduled = None;
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

    #[test]
    fn a_link_does_not_inherit_the_deadline_of_the_one_before_it() {
        let mut timers = Timers::default();
        let [old, new] = [0, 1].map(|generation| Timer::Link(LinkId { index: 3, generation }));
        timers.schedule(old, Time::from_secs(1));
        timers.schedule(new, Time::from_secs(5));
        assert_eq!(timers.due(Time::from_secs(4)), None);
        assert_eq!(timers.due(Time::from_secs(5)), Some(new));
        assert_eq!(timers.due(Time::from_secs(9)), None);
    }
}
