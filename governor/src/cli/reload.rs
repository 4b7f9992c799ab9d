//! `governor reload`: the running agent reads its configuration file again.

use super::agent::{Agent, print};
use crate::config::Faults;
use crate::observe::control::{self, AskError, Reloaded, Request};
use anyhow::Context as _;
use std::process::ExitCode;

/// Arguments of `governor reload`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    agent: Agent,
}

/// Exit code 0 when the agent runs on what the file says; 2 when it refused the file, each fault on a line of standard
/// error, and nothing has changed.
///
/// # Errors
/// No agent runs or none can be asked; exit code 1.
pub fn run(Args { json, agent }: Args) -> anyhow::Result<ExitCode> {
    let asked = agent.socket().and_then(|socket| Ok(control::ask::<Reloaded>(&socket, &Request::Reload)?));
    match asked {
        Ok(reloaded) => {
            let text = if json { serde_json::to_string_pretty(&reloaded).context("JSON")? } else { text(&reloaded) };
            print(&(text + "\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => match faults(&error) {
            Some(faults) => {
                eprintln!("{faults}\ngovernor: the configuration is refused; nothing has changed");
                Ok(ExitCode::from(2))
            }
            None => Err(error),
        },
    }
}

/// Found by the agent, or already here on the way to its control socket.
fn faults(error: &anyhow::Error) -> Option<&Faults> {
    match error.downcast_ref::<AskError>() {
        Some(AskError::Faults { faults, .. }) => Some(faults),
        _ => error.downcast_ref::<Faults>(),
    }
}

fn text(reloaded: &Reloaded) -> String {
    let Reloaded { added, removed, kept, listening, closed, notes } = reloaded;
    let mut lines =
        vec![format!("reloaded: {kept} connections stay, {} added, {} removed", added.len(), removed.len())];
    for (what, names) in
        [("added", added), ("removed", removed), ("listening on", listening), ("no more listening on", closed)]
    {
        if !names.is_empty() {
            lines.push(format!("{what}: {}", names.join(", ")));
        }
    }
    lines.extend(notes.iter().map(|note| format!("note: line {}: {}: {}", note.line, note.key, note.message)));
    lines.join("\n")
}
