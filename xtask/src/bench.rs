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
    /// One agent with thousands of connections: memory and idle CPU of each, time from cause to level
    Capacity {
        /// Options of the bench; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// Builds what is measured, optimised, and runs the bench as root.
pub fn bench(what: &Bench) -> Result<()> {
    let (name, args) = match what {
        Bench::Relay { args } => ("relay-bench", args),
        Bench::Capacity { args } => ("capacity", args),
    };
    setup::ensure(Scope::Test)?;
    let program = build::build(true)?;
    let mut cargo = host::cargo();
    cargo.args(["build", "--release", "--package", "governor-tests", "--bin", name]);
    let made = build::executables(&mut cargo)?;
    let bench =
        made.into_iter().find(|made| made.target == name).with_context(|| format!("cargo built no `{name}`"))?;
    let mut command = host::as_root(&bench.path, &[("GOVERNOR_BIN", program.as_os_str())])?;
    host::check(command.args(args))
}
