//! Debian's packages, asked for only where something is missing.

use super::Report;
use crate::host;
use anyhow::{Context, Result, bail};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Another apt may be at work (unattended upgrades on a new machine): seconds to wait for it.
const LOCK_WAIT: u32 = 900;
/// Debian asks this file before a package's installation starts a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";
const POLICY_TEXT: &str =
    "#!/bin/sh\n# Written by the governor's `cargo xtask setup`, and removed at its end.\nexit 101\n";

/// Installs what is missing of the groups: (what for, packages), a package being `name` or `name|other`.
pub fn ensure(groups: &[(&str, &[&str])], report: &mut Report) -> Result<()> {
    if host::find_program("dpkg-query").is_none() {
        bail!("setup knows Debian only, and there is no dpkg here; install by hand: {}", list(groups));
    }
    let names: Vec<&str> = groups.iter().flat_map(|(_, packages)| *packages).flat_map(|p| p.split('|')).collect();
    let installed = installed(&names);
    let mut missing = Vec::new();
    for (purpose, packages) in groups {
        let lacking: Vec<&str> =
            packages.iter().copied().filter(|p| !p.split('|').any(|name| installed.contains(name))).collect();
        if lacking.is_empty() {
            report.found(&format!("{} packages {purpose}", packages.len()));
        }
        missing.extend(lacking);
    }
    if missing.is_empty() {
        return Ok(());
    }
    update(report)?;
    let mut chosen = Vec::new();
    for package in missing {
        let Some(name) = package.split('|').find(|name| candidate(name).is_some()) else {
            bail!("this system's package sources have no {}", package.replace('|', " or "));
        };
        chosen.push(name);
    }
    install(&chosen, report)
}

fn list(groups: &[(&str, &[&str])]) -> String {
    groups.iter().flat_map(|(_, packages)| *packages).copied().collect::<Vec<_>>().join(" ")
}

/// Those of the packages that are installed.
fn installed(names: &[&str]) -> HashSet<String> {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat", "${Package} ${db:Status-Status}\n"]).args(names);
    // It exits with 1 where one name is unknown, and lists the others all the same.
    let out = query.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_suffix(" installed")).map(str::to_owned).collect()
}

/// The version that apt would install.
pub fn candidate(name: &str) -> Option<String> {
    let policy = host::output(Command::new("apt-cache").args(["policy", name]).env("LC_ALL", "C"))?;
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// Renews the package lists once; an unreachable mirror is no reason to stop while the lists at hand will do.
pub fn update(report: &mut Report) -> Result<()> {
    if std::mem::replace(&mut report.fresh_lists, true) {
        return Ok(());
    }
    report.doing("apt-get update");
    for _ in 0..LOCK_WAIT / 5 {
        let out = apt()?.args(["-qq", "update"]).stdin(Stdio::null()).output().context("cannot start apt-get")?;
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        // `DPkg::Lock::Timeout` does not cover the lock on the lists.
        if !errors.contains("Could not get lock") {
            if !out.status.success() {
                report.warn(&format!("apt-get update: {}", errors.trim()));
            }
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(5));
    }
    bail!("another apt has held the lock on the package lists for {LOCK_WAIT} s")
}

/// Installs packages; nothing that is installed is removed for them, and no service is started.
pub fn install(packages: &[&str], report: &mut Report) -> Result<()> {
    report.doing(&format!("apt-get install {}", packages.join(" ")));
    let quiet_services = hold_services(report)?;
    let mut apt = apt()?;
    apt.args(["-qq", "--yes", "--no-remove", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0"]);
    apt.args(["-o", &format!("DPkg::Lock::Timeout={LOCK_WAIT}"), "install"]).args(packages);
    let result = host::check_quietly(&mut apt);
    if quiet_services {
        host::check(host::as_root("rm", &[])?.args(["-f", POLICY]))?;
    }
    result
}

fn apt() -> Result<Command> {
    let plain = [("DEBIAN_FRONTEND", OsStr::new("noninteractive")), ("LC_ALL", OsStr::new("C"))];
    host::as_root("apt-get", &plain)
}

/// Keeps a package's installation from starting a service (epmd, a Diameter daemon on our port): true if the policy file
/// is ours to remove. One that is there already, and not left over from a killed setup, is the owner's.
fn hold_services(report: &mut Report) -> Result<bool> {
    if Path::new(POLICY).exists() {
        return Ok(std::fs::read_to_string(POLICY).is_ok_and(|text| text == POLICY_TEXT));
    }
    let mut write = host::as_root("sh", &[])?;
    write.args(["-c", r#"printf %s "$1" >"$2" && chmod 755 "$2""#, "sh", POLICY_TEXT, POLICY]);
    if let Err(error) = host::check(&mut write) {
        report.warn(&format!("packages may start their services: {error:#}"));
        return Ok(false);
    }
    Ok(true)
}
