//! Log lines on standard error, for commands that keep running.

use anyhow::Context as _;
use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error at the filter in `GOVERNOR_LOG`, else `RUST_LOG`, else `info`.
///
/// # Errors
/// A filter that cannot be read; logging already started.
pub fn init() -> anyhow::Result<()> {
    let named = ["GOVERNOR_LOG", "RUST_LOG"].into_iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
    let filter = match named {
        Some((name, filter)) => filter.parse().with_context(|| format!("{name}={filter}"))?,
        None => EnvFilter::new("info"),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init()
        .map_err(|error| anyhow::anyhow!("logging: {error}"))
}
