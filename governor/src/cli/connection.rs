//! `governor connection`: one connection of the running agent, looked at or put out of and into service.

use super::agent::{Agent, print};
use super::status::table;
use crate::observe::control::{self, Connections, ManualLevel, Request, Summary};
use crate::observe::snapshot::Connection;
use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Arguments of `governor connection`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    agent: Agent,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Every connection, in a line each
    List,
    /// One connection in full
    Show {
        /// Its name
        #[arg(value_name = "NAME")]
        connection: String,
    },
    /// Take a connection out of service: no new requests; once what is pending has ended, a DPR, and it stays closed
    Disable {
        /// Its name
        #[arg(value_name = "NAME")]
        connection: String,
        /// Wait until it is closed, at most this long, and exit with 1 if it is not
        #[arg(long, value_name = "SECONDS")]
        wait: Option<u64>,
    },
    /// Put a connection back into service
    Enable {
        /// Its name
        #[arg(value_name = "NAME")]
        connection: String,
    },
    /// Set the level of a connection by hand, for maintenance; `auto` takes it back
    Level {
        /// Its name
        #[arg(value_name = "NAME")]
        connection: String,
        /// At least this level: 1, 2, 3 or 98 (nothing leaves); auto: what is measured counts
        #[arg(value_name = "1|2|3|98|auto")]
        level: ManualLevel,
    },
}

/// Does what is asked and prints how the connection stands.
///
/// # Errors
/// No agent runs, none can be asked, or it has no such connection; exit code 1.
pub fn run(Args { what, json, agent }: Args) -> anyhow::Result<ExitCode> {
    let socket = agent.socket()?;
    match what {
        What::List => {
            let list: Connections = control::ask(&socket, &Request::List)?;
            out(json, &list, || table::summaries(&list.connections))
        }
        What::Show { connection } => {
            let shown: Connection = control::ask(&socket, &Request::Show { connection })?;
            out(json, &shown, || table::connection(&shown))
        }
        What::Disable { connection, wait } => {
            let mut now: Summary = control::ask(&socket, &Request::Disable { connection: connection.clone() })?;
            if let Some(seconds) = wait {
                now = wait_for_end(&socket, &connection, Duration::from_secs(seconds))?;
            }
            out(json, &now, || sentence(&now))
        }
        What::Enable { connection } => summary(&socket, json, &Request::Enable { connection }),
        What::Level { connection, level } => summary(&socket, json, &Request::Level { connection, level }),
    }
}

fn summary(socket: &Path, json: bool, request: &Request) -> anyhow::Result<ExitCode> {
    let summary: Summary = control::ask(socket, request)?;
    out(json, &summary, || sentence(&summary))
}

fn sentence(Summary { name, cpl, why, .. }: &Summary) -> String {
    format!("{name}: CPL {cpl}, {why}\n")
}

fn out(json: bool, what: &impl Serialize, text: impl Fn() -> String) -> anyhow::Result<ExitCode> {
    let text = if json { serde_json::to_string_pretty(what).context("JSON")? + "\n" } else { text() };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn wait_for_end(socket: &Path, connection: &str, at_most: Duration) -> anyhow::Result<Summary> {
    let start = Instant::now();
    loop {
        let now: Connection = control::ask(socket, &Request::Show { connection: connection.to_owned() })?;
        if now.admin == "disabled" && now.state == "Closed" {
            return Ok(now.into());
        }
        if start.elapsed() >= at_most {
            bail!("{connection} is not closed yet: {}", now.why);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
