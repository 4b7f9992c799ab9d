//! freeDiameter nodes: relays, and with the extension of ours clients and servers.
//!
//! What freeDiameter expects of a test: a certificate whose owner matches the identity even without TLS, and addresses
//! outside 127.0.0.0/8.

use crate::{NetNs, Process, Scratch, wait::eventually};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

const DAEMON: &str = "freeDiameterd";
const ACL: &str = "/usr/lib/freeDiameter/acl_wl.fdx";
const DEFAULT_ROUTE: &str = "/usr/lib/freeDiameter/rt_default.fdx";

/// A node to start. Its realm is what follows the first dot of its identity.
#[derive(Clone, Debug)]
pub struct Node {
    identity: String,
    address: String,
    port: u16,
    watchdog: u32,
    relay: bool,
    connect: Vec<(String, String, u16)>,
    accept: Vec<String>,
    default_route: Option<String>,
    core: Option<usize>,
    extension: Option<String>,
}

/// A running node.
#[derive(Debug)]
pub struct Running {
    /// The daemon.
    pub process: Process,
    report: PathBuf,
    control: PathBuf,
}

/// What a client sends; see the head of `governor_peer.c`.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// Destination-Realm.
    pub realm: &'a str,
    /// Destination-Host.
    pub host: Option<&'a str>,
    /// Requests in all.
    pub count: u32,
    /// requests/s; 0: as fast as `concurrency` lets.
    pub rate: u32,
    /// Most requests outstanding.
    pub concurrency: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl Default for Load<'_> {
    fn default() -> Self {
        let timeout = Duration::from_secs(10);
        Self { realm: "example.net", host: None, count: 1, rate: 0, concurrency: 1, payload: 0, timeout }
    }
}

/// How a server answers; may change while it runs.
#[derive(Clone, Debug)]
pub struct Conduct {
    /// Result-Code.
    pub result_code: u32,
    /// From the request to the answer.
    pub delay: Duration,
    /// Take requests and never answer.
    pub silent: bool,
    /// Origin-Host of the answers, where it is not the server's own.
    pub origin_host: Option<String>,
}

impl Default for Conduct {
    fn default() -> Self {
        Self { result_code: 2001, delay: Duration::ZERO, silent: false, origin_host: None }
    }
}

// === impl Node ===

impl Node {
    /// A node that relays.
    pub fn relay(identity: &str, address: &str, port: u16) -> Self {
        Self {
            identity: identity.to_owned(),
            address: address.to_owned(),
            port,
            watchdog: 6,
            relay: true,
            connect: Vec::new(),
            accept: Vec::new(),
            default_route: None,
            core: None,
            extension: None,
        }
    }

    /// A node that generates requests as soon as a peer is open.
    pub fn client(identity: &str, address: &str, port: u16, load: &Load<'_>) -> Self {
        let mut text = format!("mode = client\nrealm = {}\ncount = {}\n", load.realm, load.count);
        if let Some(host) = load.host {
            let _ = writeln!(text, "host = {host}");
        }
        let _ = writeln!(text, "rate = {}\nconcurrency = {}", load.rate, load.concurrency);
        let _ = writeln!(text, "payload = {}\ntimeout_ms = {}", load.payload, load.timeout.as_millis());
        Self { relay: false, extension: Some(text), ..Self::relay(identity, address, port) }
    }

    /// A node that answers.
    pub fn server(identity: &str, address: &str, port: u16, conduct: &Conduct) -> Self {
        let text = format!("mode = server\n{}", conduct.lines());
        Self { relay: false, extension: Some(text), ..Self::relay(identity, address, port) }
    }

    /// Connects to that peer, and takes connections from it.
    #[must_use]
    pub fn connect(mut self, identity: &str, address: &str, port: u16) -> Self {
        self.connect.push((identity.to_owned(), address.to_owned(), port));
        self
    }

    /// Takes connections from that peer.
    #[must_use]
    pub fn accept(mut self, identity: &str) -> Self {
        self.accept.push(identity.to_owned());
        self
    }

    /// Sends what no connected peer's identity or realm matches to that peer: a relay in another realm gets nothing else.
    #[must_use]
    pub fn default_route(mut self, identity: &str) -> Self {
        self.default_route = Some(identity.to_owned());
        self
    }

    /// Twtimer in seconds, 6 or more (which is the harness's default).
    #[must_use]
    pub fn watchdog(mut self, seconds: u32) -> Self {
        self.watchdog = seconds;
        self
    }

    /// Runs it on that core only.
    #[must_use]
    pub fn pinned(mut self, core: usize) -> Self {
        self.core = Some(core);
        self
    }

    /// Starts it, and waits until it listens.
    pub fn start(&self, ns: &NetNs, scratch: &Scratch) -> Result<Running> {
        let file = |suffix: &str| scratch.file(&format!("{}.{suffix}", self.identity));
        let (report, control) = (file("json"), file("control"));
        let _ = std::fs::remove_file(&report);
        let (key, certificate) = self.certificate(scratch)?;
        let config = scratch.write(
            &format!("{}.conf", self.identity),
            &self.configuration(scratch, &key, &certificate, &report, &control)?,
        )?;
        let mut command = match self.core {
            Some(core) => {
                let mut pinned = Command::new("taskset");
                pinned.arg("-c").arg(core.to_string()).arg(DAEMON);
                pinned
            }
            None => Command::new(DAEMON),
        };
        command.arg("-c").arg(config);
        let mut process = Process::start(ns, &self.identity, &command, &file("log"))?;
        process.wait_for_line("freeDiameterd daemon initialized", Duration::from_secs(20))?;
        Ok(Running { process, report, control })
    }

    fn certificate(&self, scratch: &Scratch) -> Result<(PathBuf, PathBuf)> {
        let (key, certificate) =
            (scratch.file(&format!("{}.key", self.identity)), scratch.file(&format!("{}.pem", self.identity)));
        if !certificate.exists() {
            let out = Command::new("openssl")
                .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
                .args(["-subj", &format!("/CN={}", self.identity)])
                .arg("-keyout")
                .arg(&key)
                .arg("-out")
                .arg(&certificate)
                .output()
                .context("cannot run openssl: run `cargo xtask setup`")?;
            ensure!(out.status.success(), "openssl: {}", String::from_utf8_lossy(&out.stderr));
        }
        Ok((key, certificate))
    }

    fn configuration(
        &self,
        scratch: &Scratch,
        key: &Path,
        certificate: &Path,
        report: &Path,
        control: &Path,
    ) -> Result<String> {
        let realm = self.identity.split_once('.').map_or("example.net", |(_, realm)| realm);
        let (key, certificate) = (key.display(), certificate.display());
        let mut text = format!(
            "Identity = \"{}\";\nRealm = \"{realm}\";\nListenOn = \"{}\";\nPort = {};\nSecPort = 0;\nNo_SCTP;\nNo_IPv6;\n\
             TcTimer = 1;\nTwTimer = {};\nTLS_Cred = \"{certificate}\", \"{key}\";\nTLS_CA = \"{certificate}\";\n",
            self.identity, self.address, self.port, self.watchdog
        );
        if !self.relay {
            text.push_str("NoRelay;\n");
        }
        for (identity, address, port) in &self.connect {
            let _ =
                writeln!(text, "ConnectPeer = \"{identity}\" {{ ConnectTo = \"{address}\"; Port = {port}; No_TLS; }};");
        }
        if !self.accept.is_empty() {
            let mut list = String::new();
            for identity in &self.accept {
                let _ = writeln!(list, "ALLOW_IPSEC {identity}");
            }
            let list = scratch.write(&format!("{}.acl", self.identity), &list)?;
            let _ = writeln!(text, "LoadExtension = \"{ACL}\" : \"{}\";", list.display());
        }
        if let Some(peer) = &self.default_route {
            let rules = scratch.write(&format!("{}.rt", self.identity), &format!("* : \"{peer}\" += 50 ;\n"))?;
            let _ = writeln!(text, "LoadExtension = \"{DEFAULT_ROUTE}\" : \"{}\";", rules.display());
        }
        if let Some(extension) = &self.extension {
            let lines = format!("report = {}\ncontrol = {}\n{extension}", report.display(), control.display());
            let lines = scratch.write(&format!("{}.peer", self.identity), &lines)?;
            let _ = writeln!(text, "LoadExtension = \"{}\" : \"{}\";", extension_path()?.display(), lines.display());
        }
        Ok(text)
    }
}

// === impl Conduct ===

impl Conduct {
    fn lines(&self) -> String {
        let origin = self.origin_host.as_ref().map(|o| format!("origin_host = {o}\n")).unwrap_or_default();
        let (delay, silent) = (self.delay.as_millis(), u8::from(self.silent));
        format!("result_code = {}\ndelay_ms = {delay}\nsilent = {silent}\n{origin}", self.result_code)
    }
}

// === impl Running ===

impl Running {
    /// The newest report of the extension; null before the first.
    pub fn report(&self) -> Value {
        let text = std::fs::read_to_string(&self.report).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Waits until a client has settled every request, and gives its report.
    pub fn finished(&self, limit: Duration) -> Result<Value> {
        eventually("the end of the client's load", limit, || {
            let report = self.report();
            (report["done"] == true).then_some(report)
        })
        .with_context(|| format!("last report: {}", self.report()))
    }

    /// Changes how a server answers; takes effect within 100 ms.
    pub fn conduct(&self, conduct: &Conduct) -> Result<()> {
        let fresh = self.control.with_extension("new");
        std::fs::write(&fresh, conduct.lines())?;
        std::fs::rename(&fresh, &self.control)?;
        Ok(())
    }

    /// Waits until a connection to `peer` is open.
    pub fn open(&mut self, peer: &str, limit: Duration) -> Result<()> {
        let text = format!("-> 'STATE_OPEN'\t'{peer}'");
        self.process.wait_for_line(&text, limit).map(drop)
    }

    /// Asks it to end, and gives its last report.
    pub fn stop(&mut self) -> Result<Value> {
        self.process.stop(Duration::from_secs(30))?;
        Ok(self.report())
    }
}

/// A number of a report, 0 where it has none: `number(&report, "/codes/2001")`.
pub fn number(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// The extension, built once a process.
fn extension_path() -> Result<&'static Path> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build_extension().map_err(|e| format!("{e:#}")));
    built.as_deref().map_err(|e| anyhow::anyhow!("{e}"))
}

fn build_extension() -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("freediameter/governor_peer.c");
    let directory = crate::governor::target_directory()?;
    let built = directory.join("governor_peer.fdx");
    // Several test programs may build it at once: each into a name of its own, then over the common one.
    let own = directory.join(format!("governor_peer.{}.fdx", std::process::id()));
    let out = Command::new("gcc")
        .args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-pthread", "-o"])
        .arg(&own)
        .arg(&source)
        .output()
        .context("cannot run gcc: run `cargo xtask setup`")?;
    ensure!(
        out.status.success(),
        "cannot build the freeDiameter extension (libfreediameter-dev, from `cargo xtask setup`):\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
    std::fs::rename(&own, &built)?;
    Ok(built)
}
