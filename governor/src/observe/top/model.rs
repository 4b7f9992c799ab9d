//! What the view knows of the agent: its last snapshot, and what only several of them tell: rates and a minute of history.

use super::history::History;
use crate::observe::snapshot::{Connection, Counters, KernelAssist, Node, Snapshot};
use governor_core::level::Level;
use std::collections::HashMap;
use std::time::Duration;

/// A connection.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// As it was at the last look.
    pub now: Connection,
    /// Over the last second or interval, whichever is longer.
    pub per_second: PerSecond,
    /// Its egress rate, messages/s.
    pub history: History,
    /// What `per_second` counts from; a new connection has none.
    base: Option<Counters>,
}

/// Counters' growth, a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerSecond {
    /// Requests that came in.
    pub requests_received: f64,
    /// Requests sent.
    pub requests_sent: f64,
    /// Answers that came in.
    pub answers_received: f64,
    /// Answers sent.
    pub answers_sent: f64,
    /// Requests that were held back.
    pub held_back: f64,
    /// Messages that were discarded, of both kinds.
    pub discarded: f64,
    /// Requests without an answer in time.
    pub timeouts: f64,
}

/// The agent does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Away {
    /// Since when, on the view's clock.
    pub since: Duration,
    /// What the last attempt said.
    pub why: String,
}

/// Everything that is known.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The agent.
    pub node: Node,
    /// What the kernel programs do.
    pub kernel_assist: KernelAssist,
    /// In file order.
    pub rows: Vec<Row>,
    /// Over all connections.
    pub per_second: PerSecond,
    /// Requests that no connection took and that the agent answered, a second.
    pub refused: f64,
    /// Does not answer now; what is known is of the last look.
    pub away: Option<Away>,
    /// The view's clock now.
    pub at: Duration,
    base: Option<Base>,
    looked_at: Option<Duration>,
    unwatched: bool,
}

/// What the rates count from.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// By the agent's own clock, seconds.
    uptime: f64,
    refused: u64,
    /// Have there been rates over a whole [`WINDOW`]? Until then they are over what there is.
    whole: bool,
}

/// Over which rates are taken at least, seconds: a little less than a second, so that looks a second apart are enough.
const WINDOW: f64 = 0.8;

// === impl Model ===

impl Model {
    /// Takes a snapshot, at `at` on the view's clock.
    pub fn look(&mut self, at: Duration, snapshot: Snapshot) {
        let Snapshot { node, kernel_assist, connections, totals, .. } = snapshot;
        let refused: u64 = totals.refused.values().sum();
        // After its restart the agent's counts began anew.
        let base = self.base.filter(|_| node.pid == self.node.pid && node.uptime >= self.node.uptime);
        let span = base.map_or(0.0, |base| node.uptime - base.uptime);
        // The next rates are from here on.
        let moves = base.is_none() || span >= WINDOW;
        let tells = span >= WINDOW || base.is_some_and(|base| !base.whole);
        let seconds = self.looked_at.map_or(1, |before| at.as_secs().saturating_sub(before.as_secs()));
        let watched = self.away.is_none() && !std::mem::take(&mut self.unwatched);

        let mut before = Known::new(std::mem::take(&mut self.rows));
        for (position, now) in connections.into_iter().enumerate() {
            let mut row = before.take(position, &now.name).unwrap_or_default();
            row.per_second = match &row.base {
                Some(counted) if tells => PerSecond::between(counted, &now.counters, span),
                Some(_) if base.is_some() => row.per_second,
                _ => PerSecond::default(),
            };
            if moves {
                row.base = Some(now.counters.clone());
            }
            row.history.push(seconds, watched, now.rate);
            row.now = now;
            self.rows.push(row);
        }
        self.per_second = self.rows.iter().fold(PerSecond::default(), |sum, row| sum.plus(row.per_second));
        self.refused = match base {
            Some(base) if tells => rate(base.refused, refused, span),
            Some(_) => self.refused,
            None => 0.0,
        };
        if moves {
            self.base = Some(Base { uptime: node.uptime, refused, whole: base.is_some() });
        }
        (self.node, self.kernel_assist, self.away) = (node, kernel_assist, None);
        (self.at, self.looked_at) = (at, Some(at));
    }

    /// Nobody answered, at `at` on the view's clock.
    pub fn miss(&mut self, at: Duration, why: String) {
        let since = self.away.as_ref().map_or(at, |away| away.since);
        self.away = Some(Away { since, why });
        self.at = at;
    }

    /// Nobody looks until the next look: what was in between is unknown.
    pub fn pause(&mut self) {
        self.unwatched = true;
    }

    /// How many connections are at each level, rising.
    pub fn levels(&self) -> [(u8, usize); 6] {
        Level::ALL.map(|level| {
            let level = level.number();
            (level, self.rows.iter().filter(|row| row.now.cpl == level).count())
        })
    }

    /// The connection of that name.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.now.name == name)
    }
}

/// The rows of the look before. Their order changes with a reload only: mostly a row is where it was.
struct Known {
    rows: Vec<Option<Row>>,
    by_name: Option<HashMap<String, usize>>,
}

// === impl Known ===

impl Known {
    fn new(rows: Vec<Row>) -> Self {
        Self { rows: rows.into_iter().map(Some).collect(), by_name: None }
    }

    fn take(&mut self, position: usize, name: &str) -> Option<Row> {
        let is = |row: &&mut Option<Row>| row.as_ref().is_some_and(|row| row.now.name == name);
        if let Some(row) = self.rows.get_mut(position).filter(is) {
            return row.take();
        }
        let rows = &self.rows;
        let by_name = self.by_name.get_or_insert_with(|| {
            rows.iter().enumerate().filter_map(|(at, row)| Some((row.as_ref()?.now.name.clone(), at))).collect()
        });
        let at = by_name.remove(name)?;
        self.rows.get_mut(at)?.take()
    }
}

// === impl PerSecond ===

impl PerSecond {
    fn between(before: &Counters, now: &Counters, span: f64) -> Self {
        let of = |count: fn(&Counters) -> u64| rate(count(before), count(now), span);
        Self {
            requests_received: of(|c| c.requests_received),
            requests_sent: of(|c| c.requests_sent),
            answers_received: of(|c| c.answers_received),
            answers_sent: of(|c| c.answers_sent),
            held_back: of(|c| c.held_back.total()),
            discarded: of(discarded),
            timeouts: of(|c| c.timeouts),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            requests_received: self.requests_received + other.requests_received,
            requests_sent: self.requests_sent + other.requests_sent,
            answers_received: self.answers_received + other.answers_received,
            answers_sent: self.answers_sent + other.answers_sent,
            held_back: self.held_back + other.held_back,
            discarded: self.discarded + other.discarded,
            timeouts: self.timeouts + other.timeouts,
        }
    }
}

/// Messages of both kinds that were taken for a connection and could not leave.
pub const fn discarded(counters: &Counters) -> u64 {
    counters.discarded.answers + counters.discarded.requests_rerouted
}

fn rate(before: u64, now: u64, span: f64) -> f64 {
    if span > 0.0 { now.saturating_sub(before) as f64 / span } else { 0.0 }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An agent up for so many seconds, with these connections: name, CPL, requests sent.
    pub fn snapshot(uptime: f64, connections: &[(&str, u8, u64)]) -> Snapshot {
        let connection = |&(name, cpl, requests_sent): &(&str, u8, u64)| Connection {
            name: name.to_owned(),
            peer: format!("{name}.example.net"),
            cpl,
            rate: requests_sent as f64,
            counters: Counters { requests_sent, ..Counters::default() },
            ..Connection::default()
        };
        Snapshot {
            node: Node { origin_host: "gov1.example.net".to_owned(), uptime, pid: 7, ..Node::default() },
            connections: connections.iter().map(connection).collect(),
            ..Snapshot::default()
        }
    }

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn sent(model: &Model) -> Vec<(&str, f64)> {
        model.rows.iter().map(|row| (row.now.name.as_str(), row.per_second.requests_sent)).collect()
    }

    #[test]
    fn rates_are_growth_by_the_agent_s_own_clock() {
        let mut model = Model::default();
        model.look(secs(0), snapshot(10.0, &[("a", 0, 1000), ("b", 0, 0)]));
        assert_eq!(sent(&model), [("a", 0.0), ("b", 0.0)], "one look tells no rate");
        let mut second = snapshot(12.0, &[("a", 0, 2000), ("b", 3, 0)]);
        second.connections[1].counters.held_back.cpl = [10, 0, 0];
        second.connections[1].counters.held_back.group = [0, 0, 20];
        second.connections[1].counters.discarded.answers = 2;
        second.connections[1].counters.discarded.requests_rerouted = 4;
        second.connections[1].counters.timeouts = 8;
        second.totals.refused.insert("cpl".to_owned(), 5);
        second.totals.refused.insert("no_route".to_owned(), 1);
        // The view was late: its own clock says 3 s.
        model.look(secs(3), second);
        assert_eq!(sent(&model), [("a", 500.0), ("b", 0.0)]);
        let b = model.rows[1].per_second;
        assert_eq!((b.held_back, b.discarded, b.timeouts), (15.0, 3.0, 4.0));
        assert_eq!(model.per_second, PerSecond { requests_sent: 500.0, ..b });
        assert!((model.refused - 3.0).abs() < 1e-9);
        assert_eq!(model.levels(), [(0, 1), (1, 0), (2, 0), (3, 1), (98, 0), (99, 0)]);
    }

    #[test]
    fn looks_in_quick_succession_tell_rates_over_a_second() {
        let mut model = Model::default();
        // 100 requests at once every half second.
        let sent_by = |tick: u32| u64::from(tick / 5) * 100;
        let mut told = Vec::new();
        for tick in 0..40 {
            let uptime = f64::from(tick) * 0.1;
            model.look(Duration::from_millis(100) * tick, snapshot(uptime, &[("a", 0, sent_by(tick))]));
            told.push(model.rows[0].per_second.requests_sent);
        }
        assert!(told[1..5].iter().all(|rate| *rate < 1.0), "nothing yet: {told:?}");
        assert!(told[5] > 150.0, "the first rates are over what there is: {told:?}");
        assert!(told[10..].iter().all(|rate| (100.0..=260.0).contains(rate)), "{told:?}");
    }

    #[test]
    fn connections_that_come_and_go_with_a_reload_keep_their_own_figures() {
        let mut model = Model::default();
        model.look(secs(0), snapshot(1.0, &[("a", 0, 100), ("b", 0, 200), ("c", 0, 300)]));
        model.look(secs(1), snapshot(2.0, &[("new", 0, 50), ("c", 0, 310), ("a", 0, 101)]));
        assert_eq!(sent(&model), [("new", 0.0), ("c", 10.0), ("a", 1.0)]);
        assert_eq!(model.row("c").unwrap().history.line(60).trim_start(), "██");
        assert_eq!(model.row("new").unwrap().history.line(60).trim_start(), "█");
        assert!(model.row("b").is_none());
    }

    #[test]
    fn an_agent_that_was_away_is_shown_as_it_was_and_a_new_one_starts_anew() {
        let mut model = Model::default();
        model.look(secs(0), snapshot(50.0, &[("a", 0, 1000)]));
        model.miss(secs(1), "refused".to_owned());
        model.miss(secs(2), "still refused".to_owned());
        assert_eq!(model.away, Some(Away { since: secs(1), why: "still refused".to_owned() }));
        assert_eq!((model.rows.len(), model.at), (1, secs(2)));
        let mut again = snapshot(1.0, &[("a", 0, 2000)]);
        again.node.pid = 8;
        model.look(secs(4), again);
        assert_eq!(model.away, None);
        assert_eq!(sent(&model), [("a", 0.0)], "the counts of another process are no growth");
        assert_eq!(model.rows[0].history.line(60).trim_start(), "▄   █");
    }
}
