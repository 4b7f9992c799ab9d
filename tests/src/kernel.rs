//! The kernel's side as the machine's own tools show it.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs::File;
use std::process::Command;
use std::time::Duration;

/// Where the governor pins its maps and links.
pub const PINS: &str = "/sys/fs/bpf/governor";

/// Holds off other tests that load kernel programs: the pins are the whole machine's. Ends when dropped.
pub fn exclusive() -> Result<File> {
    let path = std::env::temp_dir().join("governor-tests.kernel.lock");
    let file = File::options().create(true).append(true).open(&path)?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// The entries of a pinned map as `bpftool` prints them, with named fields.
pub fn dump(map: &str) -> Result<Vec<Value>> {
    let path = format!("{PINS}/{map}");
    let out = Command::new("bpftool")
        .args(["--json", "map", "dump", "pinned", &path])
        .output()
        .context("cannot run bpftool: run `cargo xtask setup`")?;
    ensure!(out.status.success(), "bpftool, {path}: {}", String::from_utf8_lossy(&out.stderr));
    match serde_json::from_slice(&out.stdout)? {
        Value::Array(entries) => Ok(entries),
        other => bail!("unexpected answer of bpftool: {other}"),
    }
}

/// The clock that the kernel programs' times are on.
pub fn monotonic() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default()
}
