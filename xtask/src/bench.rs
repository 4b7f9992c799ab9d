//! `bench`: the governor beside what it is to be measured by.

use crate::build;
use crate::host;
use crate::setup::{self, Scope};
use anyhow::{Context, Result};
use clap::Subcommand;
use std::ffi::OsString;

#[derive(Subcommand)]
pub enum Bench {
    /// The same load through a freeDiameter relay and through the governor
    Relay {
        /// Options of the bench; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// Builds what is measured, optimised, and runs the bench as root.
pub fn bench(what: &Bench) -> Result<()> {
    let Bench::Relay { args } = what;
    setup::ensure(Scope::Test)?;
    let program = build::build(true)?;
    let mut cargo = host::cargo();
    cargo.args(["build", "--release", "--package", "governor-tests", "--bin", "relay-bench"]);
    let made = build::executables(&mut cargo)?;
    let bench = made.into_iter().find(|made| made.target == "relay-bench").context("cargo built no `relay-bench`")?;
    let mut command = host::as_root(&bench.path, &[("GOVERNOR_BIN", program.as_os_str())])?;
    host::check(command.args(args))
}
