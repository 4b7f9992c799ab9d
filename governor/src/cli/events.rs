//! `governor events`: what happens in the running agent, as it happens.

use super::agent::{Agent, print};
use crate::observe::control;
use anyhow::bail;
use std::process::ExitCode;

/// Arguments of `governor events`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// End after this many events
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    #[command(flatten)]
    agent: Agent,
}

/// Prints each event as a line of JSON until the agent ends.
///
/// # Errors
/// No agent runs or none can be asked; this program was too slow for the events; exit code 1.
pub fn run(Args { count, agent }: Args) -> anyhow::Result<ExitCode> {
    let events = control::events(&agent.socket()?)?;
    for event in events.take(count.unwrap_or(usize::MAX)) {
        let line = event?;
        if !print(&format!("{line}\n"))? {
            break;
        }
        let parsed: serde_json::Value = serde_json::from_str(&line)?;
        if parsed["event"] == "dropped" {
            bail!("too slow: {} events are lost", parsed["lost"]);
        }
    }
    Ok(ExitCode::SUCCESS)
}
