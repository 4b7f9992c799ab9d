//! `governor load` as a program: reports, exit codes, signals.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

fn load(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_governor"));
    command.arg("load").args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server, and where it listens.
fn server(arguments: &str) -> (Child, String) {
    let mut server = load(&format!("server --listen tcp://127.0.0.1:0 --json {arguments}")).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
    (server, address)
}

fn terminate(child: Child) -> Output {
    let pid = i32::try_from(child.id()).unwrap();
    assert!(Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn the_ends_of_a_load_agree() {
    let (server, address) = server("--busy-every 4");
    let client = load(&format!("client --connect {address} --count 1000 --priority mix --json")).output().unwrap();
    let server = terminate(server);
    assert!(client.status.success() && server.status.success());
    let (client, server) = (json(&client), json(&server));
    assert_eq!(client["sent"], 1000);
    assert_eq!(client["adds_up"], true);
    assert_eq!(client["by_result"]["3004"], 250);
    assert_eq!(client["by_origin"]["hss1.example.net"], 1000);
    assert_eq!(server["requests"], 1000);
    assert_eq!(server["by_result"]["3004"], 250);
}

#[test]
fn an_unanswered_request_is_exit_code_1() {
    let (server, address) = server("--silent");
    let line = format!("client --connect {address} --count 5 --outstanding 5 --timeout 200ms");
    let client = load(&line).output().unwrap();
    assert_eq!(client.status.code(), Some(1));
    let text = String::from_utf8_lossy(&client.stdout);
    assert!(text.ends_with("sent 5 = answered 0 + timed out 5 + lost with a connection 0\n"), "{text}");
    terminate(server);
}

#[test]
fn nobody_listening_is_exit_code_1_and_says_where() {
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = load(&format!("client --connect tcp://{address} --count 1")).output().unwrap();
    assert_eq!(client.status.code(), Some(1));
    let text = String::from_utf8_lossy(&client.stderr);
    assert!(text.contains(&format!("cannot connect to {address}")), "{text}");
}

#[test]
fn a_signal_ends_the_sending_and_the_report_still_adds_up() {
    let (server, address) = server("");
    let client = load(&format!("client --connect {address} --rate 500/s --duration 60s --json")).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let client = terminate(client);
    terminate(server);
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stderr));
    let report = json(&client);
    assert_eq!(report["sent"], report["answered"]);
    assert!(report["sent"].as_u64().unwrap() > 50, "{report}");
}

#[test]
fn both_ends_in_one_process() {
    let both = load("both --count 2000 --outstanding 64 --json").output().unwrap();
    assert!(both.status.success());
    let report = json(&both);
    assert_eq!(report["client"]["answered"], 2000);
    assert_eq!(report["server"]["requests"], 2000);
}
