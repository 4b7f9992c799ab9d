//! X1, operational status (design: the inputs; rule 12): 0 up, 1-3 or 98 degraded, 99 down.

use crate::level::Level;

#[derive(Clone, Copy, Debug)]
pub(super) struct Status(Level);

impl Status {
    /// Every connection starts down.
    pub(super) const fn new() -> Self {
        Self(Level::UNAVAILABLE)
    }

    pub(super) const fn level(self) -> Level {
        self.0
    }

    pub(super) fn is_down(self) -> bool {
        self.0 == Level::UNAVAILABLE
    }

    pub(super) fn handle_up(&mut self) {
        // ## 99 => 0            the peer is open
        // ## 1-3 | 98 => 0      no longer degraded
        self.0 = Level::CL0;
    }

    pub(super) fn handle_down(&mut self) {
        // ## any => 99
        self.0 = Level::UNAVAILABLE;
    }

    /// `level` is 1-3 or 98.
    pub(super) fn handle_degraded(&mut self, level: Level) {
        // ## 0 | 1-3 | 98 => level      by hand, or by the watchdog (suspect: 98)
        // ## 99 => level                a down connection opens with that level
        self.0 = level;
    }
}
