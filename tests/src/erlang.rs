//! Erlang/OTP's diameter as client and as server.

use crate::{NetNs, Process, Scratch};
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// A running node.
#[derive(Debug)]
pub struct Node {
    /// The Erlang machine.
    pub process: Process,
}

impl Node {
    /// Starts a client that connects to `address` (`IP:port`) and sends `count` requests; `extra` are arguments more
    /// (`key=value`, see the head of `governor_peer.erl`).
    pub fn client(
        ns: &NetNs,
        scratch: &Scratch,
        identity: &str,
        address: &str,
        count: u32,
        extra: &[&str],
    ) -> Result<Self> {
        let count = format!("count={count}");
        Self::start(ns, scratch, "client", identity, address, &[&[count.as_str()], extra].concat())
    }

    /// Starts a server on `address`, and waits until it listens.
    pub fn server(ns: &NetNs, scratch: &Scratch, identity: &str, address: &str, extra: &[&str]) -> Result<Self> {
        let mut node = Self::start(ns, scratch, "server", identity, address, extra)?;
        node.process.wait_for_line(r#""event":"listening""#, Duration::from_secs(20))?;
        Ok(node)
    }

    fn start(ns: &NetNs, scratch: &Scratch, mode: &str, identity: &str, address: &str, extra: &[&str]) -> Result<Self> {
        let (ip, port) = address.rsplit_once(':').with_context(|| format!("{address} is not IP:port"))?;
        let realm = crate::raw::realm_of(identity);
        let mut command = Command::new("erl");
        // No distribution, and one scheduler a core is plenty.
        command.args(["-noinput", "-pa"]).arg(compiled()?).args(["-run", "governor_peer", "main"]);
        command.arg(format!("mode={mode}")).arg(format!("identity={identity}")).arg(format!("realm={realm}"));
        command.arg(format!("address={ip}")).arg(format!("port={port}")).arg(format!("destination_realm={realm}"));
        command.args(extra);
        let process = Process::start(ns, identity, &command, &scratch.file(&format!("{identity}.log")))?;
        Ok(Self { process })
    }

    /// Waits until a client has settled every request, and gives its report.
    pub fn finished(&mut self, limit: Duration) -> Result<Value> {
        let line = self.process.wait_for_line(r#""event":"done""#, limit)?;
        serde_json::from_str(&line).with_context(|| format!("a line of Erlang's: {line}"))
    }

    /// Asks it to end (it says DPR to its peers), and gives its report.
    pub fn stop(&mut self) -> Result<Value> {
        self.process.stop(Duration::from_secs(20))?;
        self.finished(Duration::from_secs(1))
    }
}

/// The directory with the compiled module and the dictionary, made once a process.
fn compiled() -> Result<&'static Path> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| compile().map_err(|e| format!("{e:#}"))).as_deref().map_err(|e| anyhow!("{e}"))
}

fn compile() -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("erlang");
    let directory = crate::governor::target_directory()?.join("erlang");
    // Several test programs may build at once: each in a folder of its own, then over the common files.
    let own = directory.join(std::process::id().to_string());
    std::fs::create_dir_all(&own)?;
    let out = Command::new("erlc")
        .arg("-o")
        .arg(&own)
        .arg(source.join("governor_peer.erl"))
        .output()
        .context("cannot run erlc: run `cargo xtask setup`")?;
    ensure!(out.status.success(), "erlc: {}", String::from_utf8_lossy(&out.stdout));
    std::fs::copy(source.join("governor_test.dia"), own.join("governor_test.dia"))?;
    for file in ["governor_peer.beam", "governor_test.dia"] {
        std::fs::rename(own.join(file), directory.join(file))?;
    }
    std::fs::remove_dir(&own)?;
    Ok(directory)
}
