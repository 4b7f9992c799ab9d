//! What `kernel_assist` means with and without privilege.

use anyhow::{Context, Result};
use governor_tests::governor::{ADDRESS, Config, Governor, binary};
use governor_tests::raw::{Client, Conduct, Server};
use governor_tests::wait::secs;
use governor_tests::{NetNs, Outcome, Process, Scratch};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn config(kernel_assist: &str) -> Config {
    Config::new(kernel_assist)
        .client("client.example.net")
        .server("server.example.net", "10.0.0.2:3869", "")
        .route("example.net", &[&["server"]])
}

/// The governor as a user without any privilege, with a file and a socket that this user may reach.
fn as_nobody(scratch: &Scratch, kernel_assist: &str) -> Result<(Command, std::path::PathBuf)> {
    let file = config(kernel_assist).write(scratch)?;
    let program = scratch.file("governor");
    std::fs::copy(binary()?, &program).context("cannot copy the governor")?;
    let open = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    open(scratch.path(), 0o777)?;
    open(&program, 0o755)?;
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .arg("run")
        .arg("--config")
        .arg(&file);
    Ok((command, file))
}

/// A request comes through.
fn works(ns: &NetNs, governor: &Governor) -> Result<()> {
    governor.up(&["server"])?;
    let mut client = Client::open(ns, ADDRESS, "client.example.net", "example.net")?;
    assert_eq!(client.peer().exchange("example.net")?, 2001);
    Ok(())
}

#[test]
fn off_works_and_says_that_nothing_was_loaded() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("off")?);
    let _server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", Conduct::default())?;
    let mut governor = Governor::start(&ns, &scratch, &config("off"))?;
    works(&ns, &governor)?;
    governor.process.wait_for_line("kernel assist: off", secs(1))?;
    Ok(())
}

#[test]
fn auto_without_privilege_works_and_says_what_is_missing() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("auto-nobody")?);
    let _server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", Conduct::default())?;
    let (mut command, file) = as_nobody(&scratch, "auto")?;
    let mut governor = Governor::start_as(&ns, &scratch, &file, &mut command)?;
    works(&ns, &governor)?;
    governor.process.wait_for_line("CAP_", secs(1))?;
    Ok(())
}

#[test]
fn auto_with_privilege_works() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("auto")?);
    let _server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", Conduct::default())?;
    let governor = Governor::start(&ns, &scratch, &config("auto"))?;
    works(&ns, &governor)?;
    Ok(())
}

#[test]
fn required_without_privilege_refuses_to_start_and_says_why() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("required-nobody")?);
    let (command, _) = as_nobody(&scratch, "required")?;
    let mut process = Process::start(&ns, "governor", &command, &scratch.file("governor.log"))?;
    let status = process.wait(secs(20))?;
    assert!(status.code().is_some_and(|code| code != 0), "{status}");
    let log = process.log();
    assert!(
        log.contains("required") && log.contains("CAP_"),
        "the message names the setting and the capability:\n{log}"
    );
    Ok(())
}
