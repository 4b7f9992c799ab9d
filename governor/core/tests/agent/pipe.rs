//! One direction of a simulated transport connection: bytes in order, with latency and a bounded buffer.

use governor_core::time::Time;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub struct Pipe {
    flying: VecDeque<(Time, Vec<u8>)>,
    /// When the end of the stream arrives, behind everything.
    fin: Option<Time>,
    used: usize,
    pub capacity: usize,
}

impl Pipe {
    pub const fn new(capacity: usize) -> Self {
        Self { flying: VecDeque::new(), fin: None, used: 0, capacity }
    }

    /// Takes what there is room for, and says how much; 0: it is full.
    pub fn write(&mut self, now: Time, latency: Duration, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.capacity.saturating_sub(self.used));
        if count > 0 {
            self.used += count;
            self.flying.push_back((now + latency, bytes[..count].to_vec()));
        }
        count
    }

    /// Nothing more is written.
    pub fn finish(&mut self, now: Time, latency: Duration) {
        self.fin.get_or_insert(now + latency);
    }

    /// The bytes that have arrived, at most `most`; `None`: none have.
    pub fn read(&mut self, now: Time, most: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        while out.len() < most && self.flying.front().is_some_and(|(at, _)| *at <= now) {
            let (at, mut bytes) = self.flying.pop_front()?;
            if bytes.len() > most - out.len() {
                let rest = bytes.split_off(most - out.len());
                self.flying.push_front((at, rest));
            }
            out.extend_from_slice(&bytes);
        }
        self.used -= out.len();
        (!out.is_empty()).then_some(out)
    }

    /// Has everything been read, and has the end arrived?
    pub fn is_at_end(&self, now: Time) -> bool {
        self.flying.is_empty() && self.fin.is_some_and(|at| at <= now)
    }

    /// Like a socket: writable again once a third of the buffer is free.
    pub fn is_writable(&self) -> bool {
        self.used < self.capacity && self.used <= self.capacity * 2 / 3
    }

    pub fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    pub fn next_arrival(&self) -> Option<Time> {
        self.flying.front().map(|(at, _)| *at).or(self.fin)
    }
}
