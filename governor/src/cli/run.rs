//! `governor run`: the relay.

use crate::cli::log;
use crate::config;
use crate::relay::{self, Outcome};
use anyhow::Context;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Runs the relay until SIGTERM or SIGINT.
///
/// # Errors
/// A faulty configuration, or what keeps the relay from starting.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    log::init()?;
    let config = match config::load(&args.config) {
        Ok(config) => config,
        Err(faults) => {
            eprintln!("{faults}");
            return Ok(ExitCode::from(2));
        }
    };
    for note in &config.notes {
        warn!(line = note.line, key = note.key, "{}", note.message);
    }
    let until = async {
        let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            warn!("cannot listen for signals; stop with SIGKILL");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let outcome = relay::start(config, |started| started.kernel.lines().for_each(|line| info!("{line}")), until)
        .context("the relay cannot start")?;
    match outcome {
        Outcome::Quiet => info!("every peer has said goodbye"),
        Outcome::Deadline => warn!("some peers have not said goodbye in time"),
    }
    Ok(ExitCode::SUCCESS)
}
