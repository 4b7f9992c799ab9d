//! The program under test: its file, its process, what it says about itself.

use crate::{NetNs, Process, Scratch, wait::eventually};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// The governor's identity in the tests.
pub const HOST: &str = "gov.example.net";
/// Where it listens.
pub const ADDRESS: &str = "10.0.0.1:3868";

/// A configuration file in the making. A connection is named after the first label of its peer's host.
#[derive(Clone, Debug)]
pub struct Config {
    address: String,
    node: String,
    rest: String,
}

/// A running governor; killed when the guard goes.
#[derive(Debug)]
pub struct Governor {
    /// The program.
    pub process: Process,
    config: PathBuf,
}

// === impl Config ===

impl Config {
    /// A node that listens on [`ADDRESS`], quick to reconnect.
    pub fn new(kernel_assist: &str) -> Self {
        Self::named(HOST, ADDRESS, kernel_assist)
    }

    /// The same with another identity and address: one of several.
    pub fn named(host: &str, address: &str, kernel_assist: &str) -> Self {
        let node = format!(
            "[node]\norigin_host = \"{host}\"\norigin_realm = \"example.net\"\nlisten = [\"tcp://{address}\"]\n\
             kernel_assist = \"{kernel_assist}\"\nwatchdog = \"6s\"\nreconnect = \"500ms\"\n"
        );
        Self { address: address.to_owned(), node, rest: String::new() }
    }

    /// Lines more for `[node]`.
    #[must_use]
    pub fn node(mut self, lines: &str) -> Self {
        let _ = writeln!(self.node, "{lines}");
        self
    }

    /// A peer that connects to us.
    #[must_use]
    pub fn client(self, host: &str) -> Self {
        self.peer(host, "")
    }

    /// The same with lines more for its connection.
    #[must_use]
    pub fn client_with(self, host: &str, lines: &str) -> Self {
        self.peer(host, lines)
    }

    /// A peer that we connect to, with lines more for its connection.
    #[must_use]
    pub fn server(self, host: &str, address: &str, lines: &str) -> Self {
        self.peer(host, &format!("address = \"tcp://{address}\"\n{lines}"))
    }

    fn peer(mut self, host: &str, lines: &str) -> Self {
        let _ = write!(
            self.rest,
            "[[peer]]\nhost = \"{host}\"\nrealm = \"{}\"\n[[peer.connection]]\nname = \"{}\"\n{lines}\n",
            crate::raw::realm_of(host),
            label(host)
        );
        self
    }

    /// A route for a realm: groups in order of preference, each of connections with equal weights.
    #[must_use]
    pub fn route(self, realm: &str, groups: &[&[&str]]) -> Self {
        let group = |names: &&[&str]| {
            let weights: Vec<String> = names.iter().map(|name| format!("\"{name}\" = 1")).collect();
            format!("{{ weights = {{ {} }} }}", weights.join(", "))
        };
        let groups: Vec<String> = groups.iter().map(group).collect();
        let text = format!("[[route]]\nname = \"{realm}\"\nrealm = \"{realm}\"\ngroups = [ {} ]", groups.join(", "));
        self.lines(&text)
    }

    /// Sections more.
    #[must_use]
    pub fn lines(mut self, text: &str) -> Self {
        let _ = writeln!(self.rest, "{text}");
        self
    }

    /// Writes the file; the control socket is beside it.
    pub fn write(&self, scratch: &Scratch) -> Result<PathBuf> {
        let control = scratch.file("control.sock");
        scratch.write("governor.toml", &format!("{}control = \"{}\"\n{}", self.node, control.display(), self.rest))
    }
}

// === impl Governor ===

impl Governor {
    /// Starts it in `ns`, and waits until it listens.
    pub fn start(ns: &NetNs, scratch: &Scratch, config: &Config) -> Result<Self> {
        let file = config.write(scratch)?;
        let mut command = Command::new(binary()?);
        command.arg("run").arg("--config").arg(&file);
        Self::launch(ns, scratch, &file, &command, &config.address)
    }

    /// The same with a command of the caller's; listens on [`ADDRESS`].
    pub fn start_as(ns: &NetNs, scratch: &Scratch, config: &Path, command: &mut Command) -> Result<Self> {
        Self::launch(ns, scratch, config, command, ADDRESS)
    }

    fn launch(ns: &NetNs, scratch: &Scratch, config: &Path, command: &Command, address: &str) -> Result<Self> {
        let mut process = Process::start(ns, "governor", command, &scratch.file("governor.log"))?;
        let listening = eventually("governor's listening", Duration::from_secs(20), || {
            match (process.exited(), ns.listens(address)) {
                (Some(status), _) => Some(Err(status)),
                (None, Ok(true)) => Some(Ok(())),
                (None, _) => None,
            }
        });
        match listening {
            Ok(Ok(())) => Ok(Self { process, config: config.to_owned() }),
            Ok(Err(status)) => bail!("governor ended ({status}):\n{}", process.log()),
            Err(e) => bail!("{e}:\n{}", process.log()),
        }
    }

    /// What `governor status --json` prints.
    pub fn status(&self) -> Result<Value> {
        let out = Command::new(binary()?).args(["status", "--json", "--config"]).arg(&self.config).output()?;
        ensure!(out.status.success(), "governor status: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).context("governor status --json printed something else")
    }

    /// What it prints about one connection.
    pub fn connection(&self, name: &str) -> Result<Value> {
        let status = self.status()?;
        let connections = status["connections"].as_array().with_context(|| format!("no connections in {status}"))?;
        let found = connections.iter().find(|c| c["name"] == name);
        found.cloned().with_context(|| format!("no connection {name} in {status}"))
    }

    /// The CPL of one connection.
    pub fn cpl(&self, name: &str) -> Result<u64> {
        let connection = self.connection(name)?;
        connection["cpl"].as_u64().with_context(|| format!("no cpl in {connection}"))
    }

    /// Waits until these connections take requests.
    pub fn up(&self, names: &[&str]) -> Result<()> {
        for name in names {
            eventually(&format!("connection {name} up"), Duration::from_secs(20), || {
                self.cpl(name).is_ok_and(|cpl| cpl == 0).then_some(())
            })
            .with_context(|| format!("{:?}\n{}", self.connection(name), self.process.log()))?;
        }
        Ok(())
    }

    /// Asks it to end, and waits.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        self.process.stop(Duration::from_secs(20))
    }
}

/// The first label of a host.
pub fn label(host: &str) -> &str {
    host.split_once('.').map_or(host, |(label, _)| label)
}

/// The directory that cargo built this program into (`target/debug`, `target/release`).
pub fn target_directory() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let directory = own.parent().context("a file without a directory")?;
    let directory = if directory.ends_with("deps") { directory.parent().unwrap_or(directory) } else { directory };
    Ok(directory.to_owned())
}

/// The governor: `GOVERNOR_BIN`, else the newest of the debug and the release build beside this program.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("GOVERNOR_BIN") {
        return Ok(path.into());
    }
    let directory = target_directory()?;
    let target = directory.parent().context("no target directory")?;
    let built = ["debug", "release"].map(|profile| target.join(profile).join("governor"));
    let newest = built.into_iter().filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max();
    match newest {
        Some((_, path)) => Ok(path),
        None => bail!("no governor in {}: run `cargo xtask build`", target.display()),
    }
}
