//! A real Redis or Valkey server.

use crate::wait::secs;
use crate::{NetNs, Process, Scratch};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// A running server that keeps nothing on disk.
#[derive(Debug)]
pub struct ShareServer {
    /// The program.
    pub process: Process,
}

impl ShareServer {
    /// Starts it on `address` (`IP:PORT`), and waits until it listens.
    pub fn start(ns: &NetNs, scratch: &Scratch, address: &str) -> Result<Self> {
        let (ip, port) = address.rsplit_once(':').with_context(|| format!("{address} is not IP:PORT"))?;
        let mut command = Command::new(program()?);
        // No file of the system's is read: all that it has is here.
        command.args(["--bind", ip, "--port", port, "--save", "", "--appendonly", "no", "--protected-mode", "no"]);
        command.arg("--dir").arg(scratch.path());
        let mut process = Process::start(ns, "share server", &command, &scratch.file("share-server.log"))?;
        process.wait_for_line("Ready to accept connections", secs(20))?;
        Ok(Self { process })
    }
}

fn program() -> Result<PathBuf> {
    let names = ["valkey-server", "redis-server"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file());
    found.with_context(|| format!("no {}: run `cargo xtask setup`", names.join(" or ")))
}
