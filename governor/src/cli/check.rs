//! `governor check`: a configuration file, checked whole.

use crate::config;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `governor check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to check
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Exit code 0 for a file without a fault, 2 for a faulty one; each fault on a line of standard error.
///
/// # Errors
/// None.
pub fn run(Args { config: file }: Args) -> anyhow::Result<ExitCode> {
    match config::load(&file) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(faults) => {
            eprintln!("{faults}");
            Ok(ExitCode::from(2))
        }
    }
}
