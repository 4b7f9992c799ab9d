//! `governor status`: the running agent, once.

pub(super) mod table;

use super::agent::{Agent, print};
use crate::observe::control;
use anyhow::Context as _;
use std::process::ExitCode;

/// Arguments of `governor status`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    agent: Agent,
}

/// Prints the state of the running agent.
///
/// # Errors
/// No agent runs or none can be asked; exit code 1.
pub fn run(Args { json, agent }: Args) -> anyhow::Result<ExitCode> {
    let snapshot = control::status(&agent.socket()?)?;
    let text =
        if json { serde_json::to_string_pretty(&snapshot).context("JSON")? + "\n" } else { table::render(&snapshot) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
