//! A timer that ends an event loop's wait to the microsecond: the wait's own timeout counts in milliseconds, too coarse
//! for an open-loop schedule of thousands a second.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// One-shot; setting it again replaces what it was set to. Never read: registered for edges, each expiry is one.
pub(super) struct Timer(OwnedFd);

impl Timer {
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self(fd))
    }

    /// Ends a wait `span` from now; at once for zero.
    pub(super) fn set(&self, span: Duration) -> io::Result<()> {
        // All zero would switch it off.
        let span = span.max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(span.subsec_nanos()),
        };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: zero, it_value: value })?;
        Ok(())
    }
}
