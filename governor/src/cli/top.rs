//! `governor top`: the running agent, live.

use super::agent::{Agent, print};
use crate::config::duration;
use crate::observe::top::{self, Options};
use anyhow::{Context as _, bail};
use ratatui::crossterm::terminal;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

/// Width of a frame that goes elsewhere than to a terminal, cells: room for every column.
const WIDE: u16 = 200;

/// Arguments of `governor top`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    agent: Agent,
    /// From one look at the agent to the next, 100ms to 1h
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Show these connections only: parts of names, `cpl>=2`
    #[arg(long, value_name = "WORDS", default_value = "")]
    filter: String,
    /// Print one frame as text, after two looks, and end
    #[arg(long)]
    once: bool,
}

/// Shows the running agent.
///
/// # Errors
/// No agent runs or none can be asked; exit code 1.
pub fn run(Args { agent, interval, filter, once }: Args) -> anyhow::Result<ExitCode> {
    let options = Options { socket: agent.socket()?, interval, filter };
    let is_terminal = std::io::stdout().is_terminal();
    if once {
        let width = if is_terminal { terminal::size().map_or(WIDE, |(width, _)| width) } else { WIDE };
        print(&top::once(options, width)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !is_terminal {
        bail!("standard output is no terminal; `governor top --once` prints one frame as text");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    runtime.block_on(top::live(options))?;
    Ok(ExitCode::SUCCESS)
}

fn interval(text: &str) -> Result<Duration, String> {
    let allowed = Duration::from_millis(100)..=Duration::from_secs(3600);
    let interval = duration::parse(text).filter(|interval| allowed.contains(interval));
    interval.ok_or_else(|| "a duration from 100ms to 1h, such as 500ms or 2s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_neither_floods_the_agent_nor_sleeps_for_ever() {
        assert_eq!(interval("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(interval("2s"), Ok(Duration::from_secs(2)));
        for text in ["99ms", "0s", "", "1", "2h", "-1s"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
