//! `governor check` from outside: what it prints, and its exit codes.

use super::root;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn check(file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_governor")).args(["check", "--config"]).arg(file).output().unwrap()
}

fn scratch(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_examples_have_no_fault_and_no_note() {
    let table = [
        (
            "dra.toml",
            "no faults; 5 peers, 6 connections (4 opened by us), 1 listen address, 2 routes, 2 priority rules, 1 throttle set, 1 group",
        ),
        (
            "relay.toml",
            "no faults; 3 peers, 3 connections (2 opened by us), 1 listen address, 1 route, 0 priority rules, 0 throttle sets, 0 groups",
        ),
        (
            "throttle.toml",
            "no faults; 3 peers, 4 connections (3 opened by us), 1 listen address, 1 route, 3 priority rules, 2 throttle sets, 1 group",
        ),
    ];
    for (name, summary) in table {
        let path = root().join("examples").join(name);
        let output = check(&path);
        assert_eq!(text(&output.stderr), "", "{name}");
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert_eq!(text(&output.stdout), format!("{}: {summary}\n", path.display()));
    }
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    assert_eq!(examples.count(), table.len(), "each example stands in the table above");
}

#[test]
fn every_fault_goes_to_standard_error_with_exit_code_2() {
    let path = scratch("faulty.toml", "[node]\norigin_host = \"g\"\npending_limit = 1\n\n[nodes]\n");
    let output = check(&path);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let file = path.display();
    let expected = format!(
        "{file}:1: node.origin_realm: missing; must be given (Diameter identity)\n\
         {file}:3: node.pending_limit: must be a number, 10 to 10000000, is 1\n\
         {file}:5: nodes: unknown key; did you mean `node`?\n"
    );
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_exit_code_2() {
    let missing = root().join("no-such-file.toml");
    let output = check(&missing);
    assert_eq!(output.status.code(), Some(2));
    let message = format!("{}: cannot be read: No such file or directory (os error 2)\n", missing.display());
    assert_eq!(text(&output.stderr), message);

    let output = check(&root());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot be read: "));

    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("latin1.toml");
    std::fs::write(&path, b"# caf\xe9\n").unwrap();
    let output = check(&path);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot be read: stream did not contain valid UTF-8"));
}

#[test]
fn a_note_goes_to_standard_error_and_the_file_passes() {
    let path = scratch(
        "note.toml",
        "[node]\norigin_host = \"g\"\norigin_realm = \"r\"\n[[peer]]\nhost = \"h\"\nrealm = \"r\"\n[[peer.connection]]\nname = \"a\"\n",
    );
    let output = check(&path);
    assert_eq!(output.status.code(), Some(0));
    let note = text(&output.stderr);
    assert!(note.starts_with(&format!("{}:7: peer[1].connection[1]: note: ", path.display())), "{note}");
}

#[test]
fn without_a_file_the_usage_is_shown() {
    let output = Command::new(env!("CARGO_BIN_EXE_governor")).arg("check").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--config <FILE>"));
}
