//! The kernel's side as the machine's own tools show it.

use crate::NetNs;
use anyhow::{Result, bail, ensure};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// Where the governor pins its maps and links.
pub const PINS: &str = "/sys/fs/bpf/governor";

/// The entries of a pinned map as `bpftool` prints them, with named fields.
pub fn dump(ns: &NetNs, map: &str) -> Result<Vec<Value>> {
    let path = format!("{PINS}/{map}");
    let mut command = Command::new("bpftool");
    command.args(["--json", "map", "dump", "pinned", &path]);
    let out = ns.output(command)?;
    ensure!(out.status.success(), "bpftool, {path}: {}", String::from_utf8_lossy(&out.stderr));
    match serde_json::from_slice(&out.stdout)? {
        Value::Array(entries) => Ok(entries),
        other => bail!("unexpected answer of bpftool: {other}"),
    }
}

/// Every file and folder in the BPF file system of the namespace, sorted.
pub fn pins(ns: &NetNs) -> Result<Vec<String>> {
    let mut command = Command::new("find");
    // The kernel's own two files show its iterators.
    command.arg("/sys/fs/bpf").args(["-mindepth", "1", "-not", "-name", "*.debug"]);
    let out = ns.output(command)?;
    ensure!(out.status.success(), "find: {}", String::from_utf8_lossy(&out.stderr));
    let mut found: Vec<String> = String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect();
    found.sort();
    Ok(found)
}

/// The clock that the kernel programs' times are on.
pub fn monotonic() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default()
}
