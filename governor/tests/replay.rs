//! `governor replay` as a command: what it prints where, and how it exits.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const CONFIG: &str = r#"
[node]
origin_host = "gov1.example.net"
origin_realm = "example.net"

[throttle.gold]
max_rate = 100
throttle = [60, 80, 100]
abatement = [50, 70, 90]

[[peer]]
host = "hss1.example.net"
realm = "example.net"

[[peer.connection]]
name = "hss1-a"
address = "tcp://127.0.0.1:3869"
throttle = "gold"
transport_congestion = { abatement = "5s", pressure = { onset = [50, 70, 85], abatement = [40, 60, 75] } }

[[peer]]
host = "hss0.example.net"
realm = "example.net"

[[peer.connection]]
name = "hss0-a"
address = "tcp://127.0.0.1:3870"
remote_busy = { usage = "host_override", abatement = "0.5s" }

[[route]]
name = "hss"
realm = "example.net"
groups = [ { weights = { "hss1-a" = 50, "hss0-a" = 50 } } ]
"#;

/// A file that is gone at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(text: impl AsRef<[u8]>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("governor-replay-{}-{number}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn start(config: &Scratch, events: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_governor"))
        .args(["replay", "--config", config.0.to_str().unwrap(), "--events", events])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn replay(events: impl AsRef<[u8]>) -> Output {
    let config = Scratch::new(CONFIG);
    let mut child = start(&config, "-");
    // The write fails where the command has ended before all was read.
    let _ = child.stdin.take().unwrap().write_all(events.as_ref());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const UP: &str = r#"{"t":0,"event":"up","connection":"hss1-a"}"#;
const UP_ANSWER: &str = r#"{"t":0,"event":"up","connection":"hss1-a","cpl":0,"levels":{"status":0,"remote_busy":0,"transport":0,"throttle":0},"pending":0,"rate":0.0}"#;

#[test]
fn each_line_is_answered_by_a_line_and_nothing_else_is_printed() {
    let output = replay(format!("{UP}\n{{\"t\":1,\"event\":\"tick\"}}\n"));
    assert!(output.status.success());
    let tick = r#"{"t":1,"event":"tick","connection":null,"cpl":null,"levels":null,"pending":null,"rate":null}"#;
    assert_eq!(text(&output.stdout), format!("{UP_ANSWER}\n{tick}\n"));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn no_line_is_no_fault() {
    let output = replay("");
    assert!(output.status.success());
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn the_last_line_may_end_without_a_line_feed_and_lines_with_a_carriage_return() {
    let output = replay(format!("{UP}\r\n{UP}"));
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), format!("{UP_ANSWER}\n{UP_ANSWER}\n"));
}

#[test]
fn a_bad_line_ends_it_with_its_number_and_the_lines_before_it_answered() {
    for (bad, says) in [
        (&b""[..], "blank"),
        (b"{", "EOF"),
        (br#"{"t":0,"event":"up","connection":"hss9-a"}"#, "no connection \"hss9-a\""),
        (
            b"{\"t\":0,\"event\":\"request\",\"connection\":\"hss1-a\",\"priority\":0,\"destination_host\":\"\xff\"}",
            "UTF-8",
        ),
    ] {
        let output = replay([UP.as_bytes(), b"\n", UP.as_bytes(), b"\n", bad, b"\n", UP.as_bytes(), b"\n"].concat());
        assert_eq!(output.status.code(), Some(2), "{says}");
        assert_eq!(text(&output.stdout), format!("{UP_ANSWER}\n{UP_ANSWER}\n"));
        let said = text(&output.stderr);
        assert!(said.contains("line 3") && said.contains(says), "{said}");
    }
}

#[test]
fn events_come_from_a_file_too() {
    let events = Scratch::new(format!("{UP}\n"));
    let config = Scratch::new(CONFIG);
    let output = start(&config, events.0.to_str().unwrap()).wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), format!("{UP_ANSWER}\n"));
}

#[test]
fn files_that_cannot_be_read_and_faulty_configurations_exit_with_2() {
    let config = Scratch::new(CONFIG);
    let output = start(&config, "/nonexistent/events").wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/nonexistent/events"));
    let faulty = Scratch::new("[node]\n");
    let output = start(&faulty, "-").wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("origin_host"));
}

#[test]
fn an_answer_is_there_before_the_next_line_is_asked_for() {
    let config = Scratch::new(CONFIG);
    let mut child = start(&config, "-");
    let (mut events, mut answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..3 {
        writeln!(events, "{UP}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), UP_ANSWER);
    }
    drop(events);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_settings_of_the_file_are_those_that_run() {
    let events = r#"
{"t":0,"event":"up","connection":"hss1-a"}
{"t":0,"event":"up","connection":"hss0-a"}
{"t":0,"event":"request","route":"hss","priority":0}
{"t":0,"event":"request","route":"hss","priority":0}
{"t":0,"event":"pressure","connection":"hss1-a","queued":70,"limit":100}
{"t":0,"event":"answer","connection":"hss0-a","result":3004,"priority":1}
{"t":0,"event":"request","connection":"hss0-a","priority":0,"destination_host":"HSS0.example.net"}
{"t":0.5,"event":"tick","connection":"hss0-a"}"#;
    let output = replay(events.trim_start());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answers: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // In the file's order, not the alphabet's.
    assert_eq!((&answers[2]["connection"], &answers[3]["connection"]), (&"hss1-a".into(), &"hss0-a".into()));
    assert_eq!(answers[4]["cpl"], 2);
    assert_eq!((&answers[5]["cpl"], &answers[6]["verdict"]), (&2.into(), &"admit".into()));
    assert_eq!(answers[7]["cpl"], 1);
}

#[test]
fn the_example_of_the_page_is_true() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/replay.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = |language: &str, nth: usize| {
        let opening = format!("```{language}\n");
        page.split(&opening).nth(nth).and_then(|rest| rest.split("```").next()).unwrap()
    };
    let (config, events) = (Scratch::new(block("toml", 1)), Scratch::new(block("json", 1)));
    let output = start(&config, events.0.to_str().unwrap()).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), block("json", 2));
}
