//! `run`: from a fresh clone to a running governor.

use crate::setup::{self, Scope};
use crate::{build, host};
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;

/// Sets up what is missing, builds both halves optimised, and becomes `governor ARGS` as root: its signals and its exit
/// code are the caller's own. Returns only if it cannot be started.
pub fn run(args: &[OsString]) -> Result<()> {
    setup::ensure(Scope::Run)?;
    let program = build::build(true)?;
    let kept: Vec<(&str, OsString)> =
        ["RUST_LOG", "NO_COLOR", "TERM"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
    let kept: Vec<(&str, &OsStr)> = kept.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    let mut command = host::as_root(&program, &kept)?;
    host::scrub(&mut command).args(args);
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start {}", host::shown(&command)))
}
