//! The workshop: everything between a fresh clone and a running, tested governor. A verb a file.

mod bench;
mod bpf;
mod build;
mod deb;
#[cfg(test)]
mod docs;
mod host;
mod run;
mod setup;
mod test;

use anyhow::Result;
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The governor's workshop", version)]
enum Verb {
    /// Install what building, running and testing need on this Debian machine; a second run changes nothing
    Setup,
    /// Build both halves: the kernel object and the `governor` program
    Build {
        /// Optimised, as `run` uses it
        #[arg(long)]
        release: bool,
    },
    /// Build both halves and pack them into a Debian package
    Deb,
    /// Set up what is missing, build both halves and run `governor ARGS` as root
    Run {
        /// What `governor` is to do, as in `cargo xtask run -- demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Set up what is missing and run every test: units, kernel programs on this kernel, real peers
    Test,
    /// Measure
    Bench {
        #[command(subcommand)]
        what: bench::Bench,
    },
}

fn main() -> ExitCode {
    match go(Verb::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn go(verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Setup => setup::setup()?,
        Verb::Build { release } => {
            let program = build::build(release)?;
            println!("built {}", program.display());
        }
        Verb::Deb => println!("built {}", deb::deb()?.display()),
        Verb::Run { args } => run::run(&args)?,
        Verb::Bench { what } => bench::bench(&what)?,
        Verb::Test => return test::test(),
    }
    Ok(ExitCode::SUCCESS)
}
