//! What a link still has to write: bytes in one piece, so that one call writes many messages, and the messages'
//! boundaries, so that those not begun can be taken back whole and none is ever torn (rule 3).

use crate::routing::TransactionId;
use bytes::BytesMut;
use std::collections::VecDeque;

/// What a queued message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cargo {
    /// The agent's own peer message, or an answer of its own.
    Own,
    /// A request that has this record.
    Request(TransactionId),
    /// A forwarded answer, or one built in its place.
    Answer,
}

/// How many messages of each kind, the agent's own ones aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub requests: u32,
    pub answers: u32,
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: BytesMut,
    /// How much of `bytes` is written already.
    written: usize,
    /// Length and kind of each message that is not wholly written, oldest first.
    messages: VecDeque<(u32, Cargo)>,
    /// What `messages` holds.
    queued: Tally,
    /// How much of the oldest message is written already.
    begun: u32,
}

/// An emptied buffer larger than this is given back, so that a burst does not cost memory for ever.
const KEEP: usize = 256 * 1024;

// === impl Outbox ===

impl Outbox {
    /// Appends one message: `write` puts its bytes.
    pub fn push(&mut self, cargo: Cargo, write: impl FnOnce(&mut BytesMut)) {
        let before = self.bytes.len();
        write(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - before).unwrap_or(u32::MAX);
        self.messages.push_back((length, cargo));
        self.queued.add(cargo);
    }

    /// What is not wholly written.
    pub const fn queued(&self) -> Tally {
        self.queued
    }

    /// The bytes to write.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// `count` bytes were written. Gives the messages that are whole with them.
    pub fn advance(&mut self, count: usize) -> Tally {
        self.written = (self.written + count).min(self.bytes.len());
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.written = 0;
            self.messages.clear();
            self.begun = 0;
            if self.bytes.capacity() > KEEP {
                self.bytes = BytesMut::new();
                self.messages = VecDeque::new();
            }
            return std::mem::take(&mut self.queued);
        }
        let mut whole = Tally::default();
        let mut done = count + self.begun as usize;
        while let Some(&(length, cargo)) = self.messages.front() {
            if done < length as usize {
                break;
            }
            done -= length as usize;
            self.messages.pop_front();
            whole.add(cargo);
        }
        self.begun = u32::try_from(done).unwrap_or_default();
        self.queued.requests -= whole.requests;
        self.queued.answers -= whole.answers;
        whole
    }

    /// Takes back every message that is not begun, but for the agent's own ones, and for answers unless `answers`. What
    /// stays: the rest of the begun message, then those.
    pub fn withdraw(&mut self, answers: bool) -> Vec<Cargo> {
        let mut taken = Vec::new();
        let mut kept_bytes = BytesMut::new();
        let mut kept = VecDeque::new();
        let mut queued = Tally::default();
        let mut at = self.written - self.begun as usize;
        for (index, &(length, cargo)) in self.messages.iter().enumerate() {
            let begun = index == 0 && self.begun > 0;
            if begun || cargo == Cargo::Own || (cargo == Cargo::Answer && !answers) {
                kept_bytes.extend_from_slice(&self.bytes[at..at + length as usize]);
                kept.push_back((length, cargo));
                queued.add(cargo);
            } else {
                taken.push(cargo);
            }
            at += length as usize;
        }
        self.written = self.begun as usize;
        self.bytes = kept_bytes;
        self.messages = kept;
        self.queued = queued;
        taken
    }
}

// === impl Tally ===

impl Tally {
    const fn add(&mut self, cargo: Cargo) {
        match cargo {
            Cargo::Own => {}
            Cargo::Request(_) => self.requests += 1,
            Cargo::Answer => self.answers += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Transactions;

    fn push(outbox: &mut Outbox, cargo: Cargo, bytes: &[u8]) {
        outbox.push(cargo, |out| out.extend_from_slice(bytes));
    }

    #[test]
    fn a_begun_message_stays_and_the_rest_is_taken_back() {
        let mut records: Transactions<()> = Transactions::default();
        let request = Cargo::Request(records.insert());
        let mut outbox = Outbox::default();
        push(&mut outbox, Cargo::Answer, b"aaaa");
        push(&mut outbox, request, b"bbbb");
        push(&mut outbox, Cargo::Own, b"cccc");
        push(&mut outbox, Cargo::Answer, b"dddd");
        outbox.advance(6);
        assert_eq!(outbox.withdraw(true), [Cargo::Answer]);
        assert_eq!(outbox.bytes(), b"bbcccc");
        outbox.advance(2);
        assert_eq!(outbox.withdraw(true), []);
        assert_eq!(outbox.bytes(), b"cccc");
        assert_eq!(outbox.advance(4), Tally::default());
        assert!(outbox.bytes().is_empty());
    }

    #[test]
    fn a_message_is_counted_when_its_last_byte_is_written() {
        let mut records: Transactions<()> = Transactions::default();
        let mut outbox = Outbox::default();
        push(&mut outbox, Cargo::Request(records.insert()), b"aaaa");
        push(&mut outbox, Cargo::Own, b"bbbb");
        push(&mut outbox, Cargo::Answer, b"cccc");
        push(&mut outbox, Cargo::Answer, b"dddd");
        assert_eq!(outbox.advance(3), Tally::default());
        assert_eq!(outbox.advance(6), Tally { requests: 1, answers: 0 });
        assert_eq!(outbox.queued(), Tally { requests: 0, answers: 2 });
        assert_eq!(outbox.withdraw(true), [Cargo::Answer], "the other has begun");
        assert_eq!(outbox.queued(), Tally { requests: 0, answers: 1 });
        assert_eq!(outbox.advance(3), Tally { requests: 0, answers: 1 });
        assert_eq!(outbox.queued(), Tally::default());
    }

    #[test]
    fn answers_stay_where_only_requests_are_taken_back() {
        let mut records: Transactions<()> = Transactions::default();
        let request = Cargo::Request(records.insert());
        let mut outbox = Outbox::default();
        push(&mut outbox, Cargo::Answer, b"aaaa");
        push(&mut outbox, request, b"bbbb");
        push(&mut outbox, Cargo::Answer, b"cccc");
        assert_eq!(outbox.withdraw(false), [request]);
        assert_eq!(outbox.bytes(), b"aaaacccc");
    }

    #[test]
    fn at_a_boundary_nothing_is_begun() {
        let mut outbox = Outbox::default();
        push(&mut outbox, Cargo::Answer, b"aaaa");
        push(&mut outbox, Cargo::Answer, b"bbbb");
        outbox.advance(4);
        assert_eq!(outbox.withdraw(true), [Cargo::Answer]);
        assert!(outbox.bytes().is_empty());
        push(&mut outbox, Cargo::Own, b"cc");
        assert_eq!(outbox.bytes(), b"cc");
    }

    #[test]
    fn partial_writes_add_up() {
        let mut outbox = Outbox::default();
        push(&mut outbox, Cargo::Answer, b"aaaa");
        push(&mut outbox, Cargo::Answer, b"bbbb");
        for _ in 0..5 {
            outbox.advance(1);
        }
        assert_eq!(outbox.bytes(), b"bbb");
        push(&mut outbox, Cargo::Answer, b"cccc");
        assert_eq!(outbox.withdraw(true), [Cargo::Answer]);
        assert_eq!(outbox.bytes(), b"bbb");
    }
}
