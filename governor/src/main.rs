//! The `governor` command.

use clap::Parser;
use governor::cli::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("governor: {error:#}");
            ExitCode::FAILURE
        }
    }
}
