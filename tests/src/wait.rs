//! Waiting for something that comes about by itself.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// Polls every 10 ms until `check` gives a value; an error names `what` did not come within `limit`.
pub fn eventually<T>(what: &str, limit: Duration, mut check: impl FnMut() -> Option<T>) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = check() {
            return Ok(value);
        }
        if Instant::now() >= end {
            bail!("{what}: not within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Seconds, for brevity in tests.
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Milliseconds, likewise.
pub const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}
