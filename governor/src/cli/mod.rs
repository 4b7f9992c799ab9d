//! The commands, one file each. To add one called `verb`:
//!
//! 1. `cli/verb.rs` with `#[derive(clap::Args)] pub struct Args { .. }` and `pub fn run(args: Args) -> anyhow::Result<ExitCode>`;
//! 2. `pub mod verb;`, a line `Verb(verb::Args)` in [`Command`] whose doc comment is its help;
//! 3. a line `Command::Verb(args) => verb::run(args)` in [`Cli::run`].
//!
//! A command that keeps running calls [`log::init`] first. An `Err` is printed as `governor: <chain of causes>` and exits
//! with 1; a command with other codes by contract returns them as `Ok(ExitCode)`. Wrong arguments exit with 2.

pub mod agent;
pub mod check;
pub mod connection;
pub mod demo;
pub mod events;
pub mod load;
pub mod log;
pub mod reload;
pub mod replay;
pub mod run;
pub mod status;
pub mod top;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// An egress governor for Diameter.
///
/// Relays Diameter requests over the connections it owns, measures the congestion of each (send buffer, busy answers,
/// rate, outstanding requests), and lets a request leave only where its priority may pass.
#[derive(Debug, Parser)]
#[command(name = "governor", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a configuration file whole; print every fault with its line
    Check(check::Args),
    /// A connection of the running agent: look at it, take it out of service, set its level by hand
    Connection(connection::Args),
    /// See it work: a relay, four servers and an overload in one process; no file, no peers, no root
    Demo(demo::Args),
    /// Follow what happens in the running agent: each change of level, and more, as a line of JSON
    Events(events::Args),
    /// Diameter load: a client, a server, or both, with a report
    Load(Box<load::Args>),
    /// Run the relay
    Run(run::Args),
    /// Have the running agent read its configuration file again; exit 2 if it refuses it
    Reload(reload::Args),
    /// Run events through the core in simulated time: what would these settings have done?
    Replay(replay::Args),
    /// Show the running agent: levels, rates, pending requests, counters
    Status(status::Args),
    /// The running agent, live: connections with levels and what sets them, rates, pending requests
    Top(top::Args),
}

impl Cli {
    /// Runs the command that was asked for.
    ///
    /// # Errors
    /// What went wrong, to be printed; exit code 1.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Check(args) => check::run(args),
            Command::Connection(args) => connection::run(args),
            Command::Demo(args) => demo::run(args),
            Command::Events(args) => events::run(args),
            Command::Load(args) => load::run(*args),
            Command::Run(args) => run::run(args),
            Command::Reload(args) => reload::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Status(args) => status::run(args),
            Command::Top(args) => top::run(args),
        }
    }
}
