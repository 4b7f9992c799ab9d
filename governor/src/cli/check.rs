//! `governor check`: a configuration file, checked whole.

use crate::config::{self, Config};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `governor check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to check
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Exit code 0 for a file without a fault, with a summary on standard output; 2 for a faulty one, each fault on a line of
/// standard error.
///
/// # Errors
/// None.
pub fn run(Args { config: file }: Args) -> anyhow::Result<ExitCode> {
    match config::load(&file) {
        Ok(config) => {
            for note in &config.notes {
                eprintln!("{}:{}: {}: note: {}", file.display(), note.line, note.key, note.message);
            }
            println!("{}: {}", file.display(), summary(&config));
            Ok(ExitCode::SUCCESS)
        }
        Err(faults) => {
            eprintln!("{faults}");
            Ok(ExitCode::from(2))
        }
    }
}

/// What the file describes, in a line.
fn summary(config: &Config) -> String {
    let settings = &config.settings;
    let count = |number: usize, thing: &str| match (number, thing.strip_suffix("ss")) {
        (1, _) => format!("1 {thing}"),
        (_, Some(_)) => format!("{number} {thing}es"),
        (_, None) => format!("{number} {thing}s"),
    };
    let opened = settings.connections.iter().filter(|connection| connection.initiate).count();
    format!(
        "no faults; {}, {} ({opened} opened by us), {}, {}, {}, {}, {}",
        count(settings.peers.len(), "peer"),
        count(settings.connections.len(), "connection"),
        count(config.shell.listen.len(), "listen address"),
        count(settings.routes.len(), "route"),
        count(settings.priorities.len(), "priority rule"),
        count(config.throttle_sets, "throttle set"),
        count(settings.groups.len(), "group"),
    )
}
