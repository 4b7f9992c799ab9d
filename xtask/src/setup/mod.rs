//! `setup`: what building, running and testing need on a Debian machine. Each step looks first, and says what it found
//! or did; a second run changes nothing.

mod apt;
mod bpf_tools;

use crate::host;
use anyhow::Result;
use std::process::Command;

/// How much is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// To build and run.
    Run,
    /// To run the tests too: real peers, a judge of the wire.
    Test,
}

/// What was found and done.
pub struct Report {
    quiet: bool,
    did: usize,
    /// The package lists have been renewed in this run.
    fresh_lists: bool,
}

impl Report {
    /// Something is in place already.
    pub fn found(&self, what: &str) {
        if !self.quiet {
            println!("found  {what}");
        }
    }

    /// Something is about to be done.
    pub fn doing(&mut self, what: &str) {
        self.did += 1;
        println!("doing  {what}");
    }

    /// Something could not be done, and it is no reason to stop: a reason to look again next time.
    pub fn warn(&mut self, what: &str) {
        self.did += 1;
        println!("note   {what}");
    }
}

/// What apt is to bring: what it is for, and the packages. `a|b`: the first that this Debian has will do.
const BUILD: (&str, &[&str]) = (
    "to build",
    &["gcc", "g++", "libc6-dev", "make", "pkg-config|pkgconf", "libelf-dev", "zlib1g-dev", "ca-certificates"],
);
const RUN: (&str, &[&str]) = ("to run and look inside", &["iproute2", "mount", "bpftool|linux-tools-generic"]);
const TEST: (&str, &[&str]) = (
    "to test: real peers, a judge of the wire",
    &[
        "freediameter",
        "freediameterd",
        "freediameter-extensions",
        "libfreediameter-dev",
        "cmake",
        "openssl",
        "erlang-base",
        "erlang-diameter",
        "prometheus",
        "redis-server|valkey-server",
        "tshark",
        "tmux",
        "procps",
        "util-linux",
    ],
);

/// The verb: everything, each thing said.
pub fn setup() -> Result<()> {
    let did = steps(Scope::Test, false)?;
    match did {
        0 => println!("setup: everything is in place, nothing was changed"),
        _ => println!("setup: done"),
    }
    Ok(())
}

/// The same for other verbs: says only what it does.
pub fn ensure(scope: Scope) -> Result<()> {
    steps(scope, true).map(drop)
}

fn steps(scope: Scope, quiet: bool) -> Result<usize> {
    let mut report = Report { quiet, did: 0, fresh_lists: false };
    let mut groups = vec![BUILD, RUN];
    if scope == Scope::Test {
        groups.push(TEST);
    }
    apt::ensure(&groups, &mut report)?;
    bpf_tools::ensure(&mut report)?;
    mount_bpffs(&mut report)?;
    Ok(report.did)
}

/// Where maps and links are pinned. A machine that cannot mount it still runs, without the kernel's help.
fn mount_bpffs(report: &mut Report) -> Result<()> {
    const AT: &str = "/sys/fs/bpf";
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    if mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq([AT, "bpf"])) {
        report.found("the BPF file system on /sys/fs/bpf");
        return Ok(());
    }
    report.doing("mounting the BPF file system on /sys/fs/bpf");
    let mut mount: Command = host::as_root("mount", &[])?;
    if let Err(error) = host::check(mount.args(["-t", "bpf", "bpf", AT])) {
        report.warn(&format!("no BPF file system, so no kernel half on this machine: {error:#}"));
    }
    Ok(())
}
