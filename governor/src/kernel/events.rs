//! Events from the kernel programs, and their log lines.

use super::Error;
use super::maps::event;
use aya::Ebpf;
use aya::maps::{MapData, RingBuf};
use aya_log::EbpfLogger;
use governor_common::EventKind;
use std::future::pending;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tracing::level_filters::LevelFilter;

/// An edge that a kernel program saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub timestamp: u64,
    /// The connection's socket.
    pub cookie: u64,
    /// What happened.
    pub kind: EventKind,
    /// The pressure level, 0 to 3 (0 without thresholds).
    pub pressure: u8,
    /// Bytes in the send buffer.
    pub queued: u32,
    /// The send buffer's size in bytes.
    pub limit: u32,
}

/// The stream of events. Waiting for one also passes the programs' log lines on to `tracing`.
pub struct Events {
    ring: RingBuf<MapData>,
    ring_ready: Readiness,
    logger: Option<EbpfLogger<ToTracing>>,
    log_ready: Readiness,
}

impl Events {
    pub(super) fn new(ring: RingBuf<MapData>, ebpf: &mut Ebpf) -> Self {
        // A log that cannot be read is not worth failing for: the ring of log lines then fills up and stays full.
        let logger = EbpfLogger::init_with_logger(ebpf, ToTracing).ok();
        Self { ring, ring_ready: Readiness::default(), logger, log_ready: Readiness::default() }
    }

    /// The next event. Cancel safe. Must be called in a tokio runtime with I/O.
    ///
    /// # Errors
    /// [`Error::Events`].
    pub async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.try_next() {
                return Ok(event);
            }
            let ring = self.ring_ready.wait(Some(self.ring.as_fd()));
            let log = self.log_ready.wait(self.logger.as_ref().map(AsFd::as_fd));
            tokio::select! {
                outcome = ring => outcome.map_err(Error::Events)?,
                outcome = log => {
                    outcome.map_err(Error::Events)?;
                    if let Some(logger) = &mut self.logger {
                        logger.flush();
                    }
                }
            }
        }
    }

    /// The next event that is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        loop {
            let item = self.ring.next()?;
            // An event of a kind or length that this version does not know is skipped.
            let Some(record) = event(&item) else { continue };
            let Some(kind) = EventKind::new(record.kind) else { continue };
            return Some(Event {
                timestamp: record.timestamp,
                cookie: record.cookie,
                kind,
                pressure: u8::try_from(record.pressure).unwrap_or(3),
                queued: record.queued,
                limit: record.limit,
            });
        }
    }
}

/// Waiting for a ring; registered with the runtime at the first wait.
#[derive(Default)]
struct Readiness(Option<AsyncFd<OwnedFd>>);

impl Readiness {
    /// Waits for something in the ring since the last wait; for ever without a ring.
    async fn wait(&mut self, ring: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let Some(ring) = ring else { return pending().await };
        let registered = if let Some(registered) = self.0.take() {
            registered
        } else {
            let ring = ring.try_clone_to_owned()?;
            // SAFETY: an `OwnedFd` stays open and the same until the `AsyncFd` drops it.
            unsafe { AsyncFd::register_with_interest(ring, Interest::READABLE)? }
        };
        let registered = self.0.insert(registered);
        // Cleared before the ring is read: what comes in between makes it ready again.
        registered.readable().await?.clear_ready();
        Ok(())
    }
}

/// The most verbose level at which the programs log, by what `tracing` lets through now.
pub(super) fn log_level() -> u8 {
    let level = match LevelFilter::current() {
        LevelFilter::OFF => return 0,
        LevelFilter::ERROR => aya_log::Level::Error,
        LevelFilter::WARN => aya_log::Level::Warn,
        LevelFilter::INFO => aya_log::Level::Info,
        LevelFilter::DEBUG => aya_log::Level::Debug,
        _ => aya_log::Level::Trace,
    };
    level as u8
}

/// Hands log lines over to `tracing`.
struct ToTracing;

impl log::Log for ToTracing {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let (program, line) = (record.target(), record.args());
        match record.level() {
            log::Level::Error => tracing::error!(target: "governor::kernel", program, "{line}"),
            log::Level::Warn => tracing::warn!(target: "governor::kernel", program, "{line}"),
            log::Level::Info => tracing::info!(target: "governor::kernel", program, "{line}"),
            log::Level::Debug => tracing::debug!(target: "governor::kernel", program, "{line}"),
            log::Level::Trace => tracing::trace!(target: "governor::kernel", program, "{line}"),
        }
    }

    fn flush(&self) {}
}
