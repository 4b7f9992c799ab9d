//! What was counted, and whether it adds up.

use super::schedule::Class;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Longest latency told apart, microseconds: an hour.
const LONGEST: u64 = 3_600_000_000;

/// Counts of one client thread.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) by_class: Vec<ClassTally>,
    pub(super) timed_out: u64,
    pub(super) lost: u64,
    pub(super) unexpected_answers: u64,
    pub(super) unexpected_requests: u64,
    pub(super) connections_lost: u64,
    pub(super) pending: u64,
    /// Microseconds.
    pub(super) latency: Histogram<u64>,
    /// Nanoseconds since the run's start.
    pub(super) last_answer: u64,
    /// CPU time of the thread.
    pub(super) cpu: Duration,
}

/// Counts of one priority.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassTally {
    pub(super) sent: u64,
    rows: Vec<Row>,
    /// The row that the last answer fell into: most fall into the same again.
    last: usize,
}

#[derive(Clone, Debug)]
struct Row {
    result: Option<u32>,
    origin: Vec<u8>,
    count: u64,
}

impl Tally {
    pub(super) fn new(classes: usize) -> Self {
        // The bounds are constants within the histogram's own limits.
        let latency = Histogram::new_with_bounds(1, LONGEST, 3)
            .unwrap_or_else(|_| unreachable!("1 us to an hour with three digits is a histogram"));
        Self {
            by_class: vec![ClassTally::default(); classes],
            timed_out: 0,
            lost: 0,
            unexpected_answers: 0,
            unexpected_requests: 0,
            connections_lost: 0,
            pending: 0,
            latency,
            last_answer: 0,
            cpu: Duration::ZERO,
        }
    }

    /// Counts an answer; `latency` and `now` in nanoseconds.
    pub(super) fn answered(&mut self, class: u8, result: Option<u32>, origin: &[u8], latency: u64, now: u64) {
        let class = &mut self.by_class[class as usize];
        let hit = |row: &Row| row.result == result && row.origin == origin;
        if !class.rows.get(class.last).is_some_and(hit) {
            class.last = class.rows.iter().position(hit).unwrap_or_else(|| {
                class.rows.push(Row { result, origin: origin.to_vec(), count: 0 });
                class.rows.len() - 1
            });
        }
        class.rows[class.last].count += 1;
        self.latency.saturating_record(latency / 1000);
        self.last_answer = now;
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.by_class.iter_mut().zip(&other.by_class) {
            mine.sent += theirs.sent;
            mine.rows.extend(theirs.rows.iter().cloned());
        }
        self.timed_out += other.timed_out;
        self.lost += other.lost;
        self.unexpected_answers += other.unexpected_answers;
        self.unexpected_requests += other.unexpected_requests;
        self.connections_lost += other.connections_lost;
        self.pending += other.pending;
        // Same bounds on both sides.
        let _ = self.latency.add(&other.latency);
        self.last_answer = self.last_answer.max(other.last_answer);
        self.cpu += other.cpu;
    }
}

/// What a client saw.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ClientReport {
    /// Requests handed to a connection.
    pub sent: u64,
    /// Of those: answered in time.
    pub answered: u64,
    /// Of those: not answered within the timeout.
    pub timed_out: u64,
    /// Of those: unanswered when their connection was lost.
    pub lost: u64,
    /// Of those: still waited for (in a snapshot; none at the end).
    pub pending: u64,
    /// Requests of a `count` that could not be sent, since no connection was left.
    pub unsent: u64,
    /// `sent = answered + timed_out + lost + pending`
    pub adds_up: bool,
    /// Answers without a request waiting: late, repeated or never asked for.
    pub unexpected_answers: u64,
    /// Requests from the peer that a client does not serve; each was answered 3001.
    pub unexpected_requests: u64,
    /// Connections that ended before their time.
    pub connections_lost: u64,
    /// Answers by Result-Code; `none` where an answer had none.
    pub by_result: BTreeMap<String, u64>,
    /// Answers by their Origin-Host.
    pub by_origin: BTreeMap<String, u64>,
    /// By priority of the request.
    pub by_priority: BTreeMap<String, PriorityReport>,
    /// From the first request to the last answer, seconds.
    pub elapsed: f64,
    /// Answers a second.
    pub rate: f64,
    /// From sending to answer; with a rate schedule from the intended time of sending.
    pub latency: Latency,
    /// CPU microseconds that the client itself used a request.
    pub cpu_us: f64,
}

/// One priority's part of a [`ClientReport`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct PriorityReport {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub answered: u64,
    /// Answers by Result-Code.
    pub by_result: BTreeMap<String, u64>,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Median.
    pub p50: u64,
    /// Nine in ten are at most this.
    pub p90: u64,
    /// 99 in a hundred are at most this.
    pub p99: u64,
    /// The longest.
    pub max: u64,
    /// The mean.
    pub mean: f64,
}

impl Latency {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            p50: histogram.value_at_quantile(0.50),
            p90: histogram.value_at_quantile(0.90),
            p99: histogram.value_at_quantile(0.99),
            max: histogram.max(),
            mean: histogram.mean(),
        }
    }
}

impl ClientReport {
    /// `count`: how many were to be sent, if that was said and sending has ended.
    pub(super) fn new<'a>(tallies: impl Iterator<Item = &'a Tally>, classes: &[Class], count: Option<u64>) -> Self {
        let mut all = Tally::new(classes.len());
        for tally in tallies {
            all.merge(tally);
        }
        let mut report = Self {
            timed_out: all.timed_out,
            lost: all.lost,
            pending: all.pending,
            unexpected_answers: all.unexpected_answers,
            unexpected_requests: all.unexpected_requests,
            connections_lost: all.connections_lost,
            elapsed: all.last_answer as f64 / 1e9,
            latency: Latency::of(&all.latency),
            ..Self::default()
        };
        for (class, tally) in classes.iter().zip(&all.by_class) {
            let priority = report.by_priority.entry(class.label.clone()).or_default();
            priority.sent += tally.sent;
            report.sent += tally.sent;
            for row in &tally.rows {
                let result = row.result.map_or_else(|| "none".to_owned(), |code| code.to_string());
                *priority.by_result.entry(result.clone()).or_default() += row.count;
                priority.answered += row.count;
                *report.by_result.entry(result).or_default() += row.count;
                let origin = String::from_utf8_lossy(&row.origin).into_owned();
                *report.by_origin.entry(origin).or_default() += row.count;
                report.answered += row.count;
            }
        }
        report.unsent = count.map_or(0, |count| count.saturating_sub(report.sent));
        report.adds_up = report.sent == report.answered + report.timed_out + report.lost + report.pending;
        if report.elapsed > 0.0 {
            report.rate = report.answered as f64 / report.elapsed;
        }
        if report.sent > 0 {
            report.cpu_us = all.cpu.as_secs_f64() * 1e6 / report.sent as f64;
        }
        report
    }

    /// Does it add up, and was every request answered?
    pub fn is_clean(&self) -> bool {
        self.adds_up && self.sent == self.answered && self.unsent == 0
    }
}

impl fmt::Display for ClientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.0} requests/s over {:.2} s", self.rate, self.elapsed)?;
        let l = &self.latency;
        let ms = |us: u64| us as f64 / 1000.0;
        writeln!(
            f,
            "latency      p50 {:.3} ms, p90 {:.3} ms, p99 {:.3} ms, max {:.3} ms, mean {:.3} ms",
            ms(l.p50),
            ms(l.p90),
            ms(l.p99),
            ms(l.max),
            l.mean / 1000.0
        )?;
        writeln!(f, "own CPU      {:.2} us a request", self.cpu_us)?;
        writeln!(f, "by result    {}", list(&self.by_result))?;
        writeln!(f, "by origin    {}", list(&self.by_origin))?;
        if self.by_priority.len() > 1 {
            for (name, p) in &self.by_priority {
                writeln!(f, "priority {name}   sent {}, answered {}: {}", p.sent, p.answered, list(&p.by_result))?;
            }
        }
        if self.unexpected_answers + self.unexpected_requests > 0 {
            writeln!(f, "unexpected   {} answers, {} requests", self.unexpected_answers, self.unexpected_requests)?;
        }
        if self.connections_lost > 0 {
            writeln!(f, "connections  {} lost", self.connections_lost)?;
        }
        if self.unsent > 0 {
            writeln!(f, "not sent     {}: no connection was left", self.unsent)?;
        }
        let sign = if self.adds_up { "=" } else { "!=" };
        write!(
            f,
            "sent {} {sign} answered {} + timed out {} + lost with a connection {}",
            self.sent, self.answered, self.timed_out, self.lost
        )?;
        if self.pending > 0 {
            write!(f, " + pending {}", self.pending)?;
        }
        Ok(())
    }
}

/// What a server saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ServerReport {
    /// Requests of applications read.
    pub requests: u64,
    /// Answers handed to a connection.
    pub answers: u64,
    /// Answers by Result-Code.
    pub by_result: BTreeMap<u32, u64>,
    /// Requests left without an answer on purpose.
    pub silent: u64,
    /// Answers that waited for their delay when their connection ended.
    pub dropped: u64,
    /// Answers that wait for their delay.
    pub held: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Connections open.
    pub open: u64,
    /// Connections that ended without a DPR.
    pub connections_lost: u64,
    /// Streams that were no Diameter, or AVPs that could not be walked.
    pub malformed: u64,
    /// Is it reading?
    pub reading: bool,
    /// CPU microseconds that the server itself used a request.
    pub cpu_us: f64,
}

impl fmt::Display for ServerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "own CPU      {:.2} us a request", self.cpu_us)?;
        writeln!(f, "by result    {}", list(&self.by_result))?;
        writeln!(f, "connections  {} accepted, {} lost", self.connections, self.connections_lost)?;
        if self.malformed > 0 {
            writeln!(f, "malformed    {}", self.malformed)?;
        }
        write!(
            f,
            "requests {} = answers {} + left silent {} + dropped with a connection {}",
            self.requests, self.answers, self.silent, self.dropped
        )?;
        if self.held > 0 {
            write!(f, " + held {}", self.held)?;
        }
        Ok(())
    }
}

/// CPU time of the calling thread, from the scheduler's statistics; zero where the kernel keeps none.
pub(super) fn thread_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or_default())
}

fn list<K: fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts.iter().map(|(name, count)| format!("{name}: {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes() -> Vec<Class> {
        ["0", "2"].map(|label| Class { label: label.to_owned(), drmp: None }).to_vec()
    }

    #[test]
    fn threads_merge_and_add_up() {
        let mut a = Tally::new(2);
        let mut b = Tally::new(2);
        a.by_class[0].sent = 3;
        b.by_class[1].sent = 2;
        a.answered(0, Some(2001), b"a", 1_000_000, 10);
        a.answered(0, Some(3004), b"gov", 2_000_000, 20);
        b.answered(1, Some(2001), b"a", 3_000_000, 15);
        a.timed_out = 1;
        b.lost = 1;
        let report = ClientReport::new([a, b].iter(), &classes(), None);
        assert!(report.adds_up);
        assert!(!report.is_clean());
        assert_eq!((report.sent, report.answered), (5, 3));
        assert_eq!(report.by_result, BTreeMap::from([("2001".into(), 2), ("3004".into(), 1)]));
        assert_eq!(report.by_origin, BTreeMap::from([("a".into(), 2), ("gov".into(), 1)]));
        assert_eq!(report.by_priority["2"].answered, 1);
        assert!(report.to_string().ends_with("sent 5 = answered 3 + timed out 1 + lost with a connection 1"));
    }

    #[test]
    fn percentiles_are_of_all_threads_together() {
        let mut tallies = [Tally::new(2), Tally::new(2)];
        // 1 to 1000 us, odd ones on one thread, even ones on the other.
        for us in 1..=1000u64 {
            let tally = &mut tallies[usize::from(us % 2 == 0)];
            tally.by_class[0].sent += 1;
            tally.answered(0, Some(2001), b"a", us * 1000, us * 1000);
        }
        let report = ClientReport::new(tallies.iter(), &classes(), Some(1000));
        assert!(report.is_clean());
        let l = report.latency;
        assert_eq!((l.p50, l.p90, l.p99, l.max), (500, 900, 990, 1000));
        assert!((l.mean - 500.5).abs() < 0.01, "{}", l.mean);
    }

    #[test]
    fn a_count_that_was_not_reached_is_not_clean() {
        let report = ClientReport::new([Tally::new(2)].iter(), &classes(), Some(10));
        assert_eq!(report.unsent, 10);
        assert!(report.adds_up && !report.is_clean());
        assert_eq!(report.latency, Latency::default());
    }
}
