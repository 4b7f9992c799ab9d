//! `governor run`: the relay.

use crate::cli::log;
use crate::config;
use crate::relay::{self, Handle, Outcome, Started};
use anyhow::Context;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Runs the relay until SIGTERM or SIGINT; SIGHUP has it read its file again.
///
/// # Errors
/// A faulty configuration, or what keeps the relay from starting.
pub fn run(Args { config: file }: Args) -> anyhow::Result<ExitCode> {
    log::init()?;
    let config = match config::load(&file) {
        Ok(config) => config,
        Err(faults) => {
            eprintln!("{faults}");
            return Ok(ExitCode::from(2));
        }
    };
    for note in &config.notes {
        warn!(line = note.line, key = note.key, "{}", note.message);
    }
    let started = |started: Started| {
        started.kernel.lines().for_each(|line| info!("{line}"));
        match Signals::new() {
            Ok(signals) => drop(tokio::task::spawn_local(signals.obey(started.handle))),
            Err(error) => warn!(%error, "cannot listen for signals; stop with SIGKILL"),
        }
    };
    match relay::start(config, started, std::future::pending()).context("the relay cannot start")? {
        Outcome::Quiet => info!("everything was answered, and every peer has said goodbye"),
        Outcome::Deadline => warn!("some answers or goodbyes have not come in time"),
        Outcome::AtOnce => warn!("told a second time to end: ended at once"),
    }
    Ok(ExitCode::SUCCESS)
}

/// SIGHUP: other settings. SIGTERM, SIGINT: the end; a second one: at once.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

// === impl Signals ===

impl Signals {
    /// Heard from now on.
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn obey(mut self, relay: Handle) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => relay.stop(),
                _ = self.interrupt.recv() => relay.stop(),
                // The log has the outcome. Not waited for: an end must not wait for a reload.
                _ = self.hang_up.recv() => {
                    let reloading = relay.clone();
                    tokio::task::spawn_local(async move { reloading.reload().await });
                }
            }
        }
    }
}
