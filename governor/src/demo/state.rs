//! What the demo knows at a moment: kept apart from drawing it.

use super::pool::Site;
use crate::load::ClientReport;
use crate::observe::snapshot::Connection;
use governor_core::congestion::LevelChange;
use governor_core::level::Feature;
use std::collections::VecDeque;
use std::time::Duration;

/// A change of level, with its time on the demo's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// Since the start of the traffic.
    pub at: Duration,
    /// Whose connection.
    pub site: Site,
    /// What changed and why.
    pub change: LevelChange,
}

/// A connection as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// As the relay's own snapshot has it.
    pub now: Connection,
    /// Requests/s sent on it, over the last second.
    pub sent_rate: f64,
    /// Requests/s for which it was passed over, over the last second.
    pub held_back_rate: f64,
    /// Its part of the requests sent on all, over the last second, 0 to 1.
    pub share: f64,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub struct State {
    /// Since the start of the traffic.
    pub at: Duration,
    /// How long it will take.
    pub whole: Duration,
    /// By [`Site`].
    pub rows: [Row; 4],
    /// What the client has counted.
    pub client: ClientReport,
    /// What was announced, and when.
    pub phases: Vec<(Duration, &'static str)>,
    /// Every change of level, in order.
    pub changes: Vec<Noted>,
    /// What the kernel programs do here, in one line.
    pub kernel: String,
    /// Looks of the last second, for the rates.
    past: VecDeque<(Duration, [(u64, u64); 4])>,
}

/// Over which the view's rates are taken.
const WINDOW: Duration = Duration::from_secs(1);

impl State {
    /// Before the first look. `whole`: how long it will take; `kernel`: what the kernel programs do here.
    pub fn new(whole: Duration, kernel: String) -> Self {
        Self { whole, kernel, ..Self::default() }
    }

    /// Takes a look at all connections.
    pub fn look(&mut self, at: Duration, connections: [Connection; 4], client: ClientReport) {
        self.at = at;
        self.client = client;
        let counts = [0, 1, 2, 3].map(|i: usize| counts(&connections[i]));
        self.past.push_back((at, counts));
        // The oldest look stays until the next is a window old: the rates are over at least a window, once there is one.
        while self.past.get(1).is_some_and(|(then, _)| at.saturating_sub(*then) >= WINDOW) {
            self.past.pop_front();
        }
        let (then, before) = self.past.front().copied().unwrap_or((at, counts));
        let span = at.saturating_sub(then).as_secs_f64();
        let rate = |now: u64, before: u64| if span > 0.0 { now.saturating_sub(before) as f64 / span } else { 0.0 };
        for (i, connection) in connections.into_iter().enumerate() {
            let (sent, held_back) = counts[i];
            self.rows[i].sent_rate = rate(sent, before[i].0);
            self.rows[i].held_back_rate = rate(held_back, before[i].1);
            self.rows[i].now = connection;
        }
        let all: f64 = self.rows.iter().map(|row| row.sent_rate).sum();
        for row in &mut self.rows {
            row.share = if all > 0.0 { row.sent_rate / all } else { 0.0 };
        }
    }

    /// One of the rows.
    pub fn row(&self, site: Site) -> &Row {
        &self.rows[site as usize]
    }
}

/// Requests sent on a connection, and requests for which it was passed over.
fn counts(connection: &Connection) -> (u64, u64) {
    (connection.counters.requests_sent, connection.counters.held_back.total())
}

/// A feature's name, for people.
pub const fn feature_name(feature: Feature) -> &'static str {
    match feature {
        Feature::Status => "status",
        Feature::RemoteBusy => "remote busy",
        Feature::Transport => "transport",
        Feature::Throttle => "throttle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(sent: [u64; 4], held_back: u64) -> [Connection; 4] {
        sent.map(|sent| {
            let mut connection = Connection::default();
            connection.counters.requests_sent = sent;
            connection.counters.held_back.cpl[0] = held_back;
            connection
        })
    }

    #[test]
    fn rates_and_shares_are_of_the_last_second() {
        let mut state = State::default();
        for tick in 0..=40u64 {
            // A quarter each at 1000/s; after one second everything goes to A.
            let even = tick.min(20) * 50 / 4;
            let alone = tick.saturating_sub(20) * 50;
            let at = Duration::from_millis(tick * 50);
            state.look(at, connections([even + alone, even, even, even], tick), ClientReport::default());
            if tick == 20 {
                assert!((state.row(Site::B).share - 0.25).abs() < 0.01);
                assert!((state.row(Site::B).sent_rate - 250.0).abs() < 1.0);
            }
        }
        assert!((state.row(Site::A).share - 1.0).abs() < 0.01);
        assert!((state.row(Site::A).sent_rate - 1000.0).abs() < 1.0);
        assert!((state.row(Site::D).held_back_rate - 20.0).abs() < 0.1);
        assert_eq!(state.past.len(), 21);
    }

    #[test]
    fn nothing_sent_is_no_share() {
        let mut state = State::default();
        state.look(Duration::ZERO, connections([0; 4], 0), ClientReport::default());
        assert!(state.rows.iter().all(|row| row.share == 0.0 && row.sent_rate == 0.0));
    }
}
