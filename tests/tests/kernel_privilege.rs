//! `kernel_assist` without the privilege for it.

use anyhow::{Context, Result};
use governor_tests::assist::pin_root;
use std::process::{Command, Output, Stdio};

/// The agent in that mode, started by `setpriv` with those arguments.
fn agent(setpriv: &[&str], mode: &str) -> Result<Output> {
    Command::new("setpriv")
        .args(setpriv)
        .arg(env!("CARGO_BIN_EXE_kernel_agent"))
        .arg(mode)
        .arg(pin_root("privilege"))
        .stdin(Stdio::null())
        .output()
        .context("this test needs setpriv (util-linux)")
}

/// As nobody; and as root without single capabilities.
const STRIPPED: [(&[&str], &str); 4] = [
    (&["--reuid=65534", "--clear-groups"], "this process lacks CAP_BPF and CAP_PERFMON; run it as root"),
    (&["--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-all"], "this process lacks CAP_BPF and CAP_PERFMON"),
    (&["--bounding-set=-bpf,-sys_admin", "--inh-caps=-all"], "this process lacks CAP_BPF (to load programs)"),
    (&["--bounding-set=-perfmon,-sys_admin", "--inh-caps=-all"], "this process lacks CAP_PERFMON (to trace kernel"),
];

#[test]
fn required_is_an_error_that_names_the_capability() -> Result<()> {
    for (setpriv, reason) in STRIPPED {
        let out = agent(setpriv, "required")?;
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success(), "{setpriv:?} started");
        assert!(text.contains(&format!("kernel_assist = \"required\", but {reason}")), "{setpriv:?}: {text}");
    }
    Ok(())
}

#[test]
fn auto_runs_without_and_says_what_is_lost() -> Result<()> {
    for (setpriv, reason) in STRIPPED {
        let out = agent(setpriv, "auto")?;
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success(), "{setpriv:?}: {}", String::from_utf8_lossy(&out.stderr));
        assert!(text.contains("kernel assist: none") && text.contains(reason), "{setpriv:?}: {text}");
        assert!(text.contains("without it send-buffer pressure is measured from the agent's own sockets"), "{text}");
    }
    Ok(())
}

#[test]
fn the_two_capabilities_are_enough() -> Result<()> {
    let out = agent(&["--bounding-set=-sys_admin", "--inh-caps=-all"], "required")?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Ok(())
}

#[test]
fn off_loads_nothing_and_says_so() -> Result<()> {
    let out = agent(&["--reuid=65534", "--clear-groups"], "off")?;
    assert!(out.status.success());
    assert!(String::from_utf8_lossy(&out.stdout).starts_with("kernel assist: off, as configured"));
    Ok(())
}
