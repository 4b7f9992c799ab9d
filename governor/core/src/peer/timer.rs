//! The timers of one peer connection.

use crate::time::Time;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// From the attempt to connect to the capabilities exchange's end (the RFC's Timeout in the Wait- states).
    Connect,
    /// Tc: when to try again.
    Reconnect,
    /// Tw: silence on the open connection.
    Watchdog,
    /// From DPR to DPA, or from DPA to the peer's close (the RFC's Timeout in Closing).
    Disconnect,
    /// The open connection has to show life, or a new one of the peer replaces it.
    Probe,
}

impl Timer {
    /// All of them, in the order in which timers due at once run.
    pub(super) const ALL: [Self; 5] = [Self::Connect, Self::Reconnect, Self::Watchdog, Self::Disconnect, Self::Probe];
}

/// When each timer is due, if it runs.
#[derive(Clone, Debug, Default)]
pub(super) struct TimerTable {
    due: [Option<Time>; Timer::ALL.len()],
}

impl TimerTable {
    pub(super) fn set(&mut self, timer: Timer, due: Time) {
        self.due[timer as usize] = Some(due);
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.due[timer as usize] = None;
    }

    pub(super) fn is_expired(&self, timer: Timer, now: Time) -> bool {
        self.due[timer as usize].is_some_and(|due| due <= now)
    }

    /// When the next one is due.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.due.iter().copied().flatten().min()
    }
}
