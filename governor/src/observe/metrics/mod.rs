//! The page of metrics that Prometheus reads: what is measured, under which names.
//!
//! The relay's thread only copies numbers into a [`Sample`]; the page is written from that on a thread of its own
//! ([`server`]). Each metric is one entry of [`METRICS`], from which the operator's page `docs/metrics.md` is checked too.
//! Nothing here is incremented: counters come from the core's, gauges from its state.

mod agent;
mod connection;
mod process;
mod sample;
pub mod server;

pub use process::Process;
pub use sample::{Buffer, ConnectionSample, GroupSample, KernelCounts, RouteSample, Sample};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;

/// What a metric's values do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only grow, until the program (or what the help names) starts anew.
    Counter,
    /// They go up and down.
    Gauge,
}

/// One metric: a line of the table that the page and the operator's documentation are made from.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Its name, by the conventions of Prometheus.
    pub name: &'static str,
    /// What its values do.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it is, in one sentence without a full stop.
    pub help: &'static str,
    /// The measurements and alarms of other signalling routers that tell the same; empty: none.
    pub known_as: &'static str,
    write: fn(&Page, &mut Series<'_>),
}

/// Every metric, in the order of the page.
pub const METRICS: [&[Metric]; 3] = [connection::METRICS, agent::METRICS, process::METRICS];

/// What a page is written from.
#[derive(Debug)]
pub struct Page {
    /// The relay.
    pub sample: Arc<Sample>,
    /// This process.
    pub process: Process,
}

/// Writes the series of one metric.
struct Series<'a> {
    encoder: MetricEncoder<'a>,
    /// The first failure to write: the rest is not tried.
    outcome: fmt::Result,
}

// === impl Page ===

impl Page {
    /// Writes the page, in the text format 0.0.4 of Prometheus.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, out: &mut impl fmt::Write) -> fmt::Result {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        text::encode_registry(out, &registry)
    }
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for metric in METRICS.into_iter().flatten() {
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            let encoder = encoder.encode_descriptor(metric.name, metric.help, None, kind)?;
            let mut series = Series { encoder, outcome: Ok(()) };
            (metric.write)(self, &mut series);
            series.outcome?;
        }
        Ok(())
    }
}

// === impl Series ===

impl Series<'_> {
    /// One series.
    fn put(&mut self, labels: &[(&str, &str)], value: impl EncodeGaugeValue + Copy) {
        self.write(&labels, &value);
    }

    /// One series of a connection, with these labels more.
    fn connection(&mut self, of: &ConnectionSample, more: &[(&str, &str)], value: impl EncodeGaugeValue + Copy) {
        let own = [("connection", &*of.name), ("peer", &*of.peer)];
        self.write(&(own.as_slice(), more), &value);
    }

    /// Every value is written as a gauge's: a counter's would get a second `_total` behind its name, as `OpenMetrics` wants
    /// it, and `promtool` reads the older text format.
    fn write(&mut self, labels: &impl EncodeLabelSet, value: &impl EncodeGaugeValue) {
        if self.outcome.is_ok() {
            self.outcome = self.encoder.encode_family(labels).and_then(|mut encoder| encoder.encode_gauge(value));
        }
    }
}

// === impl Metric ===

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metric").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The priorities of requests, as labels.
const PRIORITIES: [&str; 3] = ["0", "1", "2"];
/// The levels, as labels, by [`governor_core::level::Level::index`].
const LEVELS: [&str; 6] = ["0", "1", "2", "3", "98", "99"];
