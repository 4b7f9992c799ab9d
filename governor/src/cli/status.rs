//! `governor status`: the running agent, once.

mod table;

use crate::config::{self, DEFAULT_CONTROL};
use crate::observe::control;
use anyhow::{Context as _, bail};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `governor status`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// The running agent's control socket
    #[arg(long, value_name = "SOCKET", default_value = DEFAULT_CONTROL, conflicts_with = "config")]
    control: PathBuf,
    /// The running agent's configuration file: its control socket is asked
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Prints the state of the running agent.
///
/// # Errors
/// No agent runs or none can be asked; exit code 1.
pub fn run(Args { json, control, config }: Args) -> anyhow::Result<ExitCode> {
    let socket = match config {
        Some(file) => match config::load(&file)?.shell.control {
            Some(socket) => socket,
            None => bail!("{}: `node.control` is off, so the agent cannot be asked", file.display()),
        },
        None => control,
    };
    let snapshot = control::status(&socket)?;
    let text =
        if json { serde_json::to_string_pretty(&snapshot).context("JSON")? + "\n" } else { table::render(&snapshot) };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // The reader has seen enough (`| head`).
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        outcome => outcome.map(|()| ExitCode::SUCCESS).context("standard output"),
    }
}
