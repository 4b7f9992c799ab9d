//! `test`: every test, one report. Units as the caller, whatever needs the kernel or namespaces as root.

mod tally;

use crate::build::{self, Executable};
use crate::host;
use crate::setup::{self, Scope};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use tally::Tally;

/// What a file of tests may take, in seconds, before it is ended and counted as failed.
const PATIENCE: u32 = 1200;
/// Crates whose tests run as the caller.
const PLAIN: [&str; 3] = ["governor-core", "governor-common", "xtask"];
/// Crates whose tests load kernel programs, make namespaces or start real peers: as root, one test at a time.
const ROOT: [&str; 2] = ["governor", "governor-tests"];

/// Sets up, builds, runs everything; success only if tests ran and none failed.
pub fn test() -> Result<ExitCode> {
    setup::ensure(Scope::Test)?;
    let program = build::build(true)?;
    let mut cargo = host::cargo();
    cargo.args(["test", "--no-run"]);
    for package in PLAIN.iter().chain(&ROOT) {
        cargo.args(["--package", package]);
    }
    let suites = build::executables(&mut cargo)?;

    let skips = std::env::temp_dir().join(format!("governor-skips.{}", std::process::id()));
    std::fs::write(&skips, "").with_context(|| format!("cannot write {}", skips.display()))?;
    let mut tally = Tally::default();
    for package in PLAIN.iter().chain(&ROOT) {
        for suite in suites.iter().filter(|suite| suite.tests && suite.package == *package) {
            println!("\n== {} {}", suite.package, suite.target);
            run(suite, ROOT.contains(package), &program, &skips, &mut tally)?;
        }
    }
    println!("\n== documentation");
    let mut cargo = host::cargo();
    cargo.args(["test", "--doc", "--no-fail-fast"]);
    for package in ["governor-core", "governor-common", "governor"] {
        cargo.args(["--package", package]);
    }
    watch(&mut cargo, "documentation", &mut tally)?;

    tally.skipped_at_run_time(&std::fs::read_to_string(&skips)?);
    std::fs::remove_file(&skips)?;
    println!("\n{tally}");
    Ok(if tally.good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one file of tests. `GOVERNOR_BIN` names the program under test; a test that finds that this machine cannot run
/// it appends a line `NAME: REASON` to the file `GOVERNOR_SKIPS` and passes: it is reported as skipped.
fn run(suite: &Executable, root: bool, program: &Path, skips: &Path, tally: &mut Tally) -> Result<()> {
    let variables: [(&str, &OsStr); 4] = [
        ("GOVERNOR_BIN", program.as_os_str()),
        ("GOVERNOR_SKIPS", skips.as_os_str()),
        ("CARGO_MANIFEST_DIR", suite.folder.as_os_str()),
        ("RUST_BACKTRACE", OsStr::new("1")),
    ];
    let mut command = if root {
        host::as_root("timeout", &variables)?
    } else {
        let mut command = Command::new("timeout");
        command.envs(variables);
        command
    };
    command.args(["--kill-after=10", &PATIENCE.to_string()]).arg(&suite.path).current_dir(&suite.folder);
    if root {
        command.arg("--test-threads=1");
    }
    watch(&mut command, &format!("{} {}", suite.package, suite.target), tally)
}

/// Runs a command that prints libtest's lines: shows and counts them. One that fails without a failed test has died.
fn watch(command: &mut Command, name: &str, tally: &mut Tally) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", host::shown(command)))?;
    let failed_before = tally.failed;
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            println!("{line}");
            tally.line(name, &line);
        }
    }
    let status = child.wait()?;
    if !status.success() && tally.failed == failed_before {
        tally.died(name, &status.to_string());
    }
    Ok(())
}
