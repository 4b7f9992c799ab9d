//! `governor demo`: see it work, without a file, peers or root.

use crate::demo::{self, Options};
use anyhow::Context as _;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

/// Arguments of `governor demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long the traffic lasts
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600), value_name = "N")]
    seconds: u64,
    /// A line a second instead of a screen; so without a terminal too
    #[arg(long)]
    plain: bool,
    /// Leave the kernel programs alone
    #[arg(long)]
    no_kernel: bool,
    /// Print the relay's configuration and end
    #[arg(long)]
    print_config: bool,
}

/// Exit code 0 if every request was answered, else 1.
///
/// # Errors
/// A part that could not start.
pub fn run(Args { seconds, plain, no_kernel, print_config }: Args) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout();
    if print_config {
        out.write_all(demo::example_configuration().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let options =
        Options { whole: Duration::from_secs(seconds), plain: plain || !out.is_terminal(), kernel: !no_kernel };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    let clean = runtime.block_on(demo::run(options, out))?;
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
