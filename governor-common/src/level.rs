//! Map `levels`: what the agent publishes of each connection.

use crate::record;

record! {
    /// The levels of one connection: 0, 1, 2, 3, 98 or 99 each.
    pub struct LevelRecord {
        /// `max(X1, X2, X3, X98)`
        pub cpl: u8,
        /// X1, operational status.
        pub status: u8,
        /// X2, remote BUSY.
        pub remote_busy: u8,
        /// X3, egress transport.
        pub transport: u8,
        /// X98, egress message throttling.
        pub throttle: u8,
    }
}

const _: () = assert!(size_of::<LevelRecord>() == 5);
