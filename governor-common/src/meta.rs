//! Map `meta`: whose maps these are.

use crate::record;

/// Version of every layout in this crate; one higher with each change.
pub const VERSION: u32 = 1;

record! {
    /// The one entry of the map `meta`.
    pub struct Meta {
        /// [`VERSION`] of the agent that loaded the programs.
        pub version: u32,
        /// Its process id.
        pub pid: u32,
    }
}
