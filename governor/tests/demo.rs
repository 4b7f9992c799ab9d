//! `governor demo` as a program: nothing is lost, and the terminal is given back.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

const GOVERNOR: &str = env!("CARGO_BIN_EXE_governor");

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs the demo with a terminal, and types into it.
fn in_terminal(arguments: &str, typed: &[u8]) -> Output {
    // Of bsdutils, on every Debian: runs a command in a terminal of its own and gives on what it shows.
    let mut script = Command::new("script")
        .args([
            "--quiet",
            "--return",
            "--command",
            &format!("stty rows 30 cols 110; {GOVERNOR} demo {arguments}"),
            "/dev/null",
        ])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = script.stdin.take().unwrap();
    stdin.write_all(typed).unwrap();
    let output = script.wait_with_output().unwrap();
    drop(stdin);
    output
}

#[test]
fn every_request_is_answered_while_servers_refuse_and_block() {
    let output = Command::new(GOVERNOR).args(["demo", "--plain", "--no-kernel", "--seconds", "6"]).output().unwrap();
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.ends_with("every request was answered, none was lost\n"), "{text}");
    assert!(text.starts_with("kernel assist: off"), "{text}");
    assert!(text.contains("server-c  remote busy 0 -> 1  CPL 0 -> 1  peer busy for priority 0"), "{text}");
    assert!(text.contains("server-b  transport 0 -> 98  CPL 0 -> 98  send buffer full"), "{text}");
    let seconds = text.lines().filter(|line| line.contains(" s  CPL ")).count();
    assert!((5..=6).contains(&seconds), "a line a second: {text}");
}

#[test]
fn the_printed_configuration_is_one_that_check_accepts() {
    let printed = Command::new(GOVERNOR).args(["demo", "--print-config"]).output().unwrap();
    assert!(printed.status.success());
    let file = std::env::temp_dir().join(format!("governor-demo-{}.toml", std::process::id()));
    std::fs::write(&file, &printed.stdout).unwrap();
    let check = Command::new(GOVERNOR).arg("check").arg("--config").arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(check.status.success(), "{}", text(&check));
}

#[test]
fn the_terminal_is_taken_over_and_given_back() {
    let output = in_terminal("--no-kernel --seconds 2", b"");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what:?} is missing: {text:?}"));
    let (taken, shown, given) = (at("\x1b[?1049h"), at("traffic"), at("\x1b[?1049l"));
    let summary = at("every request was answered, none was lost");
    assert!(taken < shown && shown < given && given < summary, "{text:?}");
}

#[test]
fn q_ends_it_early_without_a_loss() {
    let began = std::time::Instant::now();
    let output = in_terminal("--no-kernel --seconds 60", b"q");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("every request was answered, none was lost"), "{text:?}");
    assert!(began.elapsed().as_secs() < 40);
}
