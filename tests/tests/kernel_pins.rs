//! Pins: what is left behind, and what never is.

use anyhow::{Context, Result, bail, ensure};
use governor::kernel::{Assist, Mode, Options};
use governor_core::level::{Level, Levels};
use governor_tests::assist::{Pipe, load_with, options, pin_root};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// An agent with pins there, once it says that it is ready. Its report comes with it.
fn agent(root: &Path) -> Result<(Child, String)> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kernel_agent"))
        .arg("auto")
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut report = String::new();
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        let line = line?;
        if line == "ready" {
            return Ok((child, report));
        }
        report += &line;
        report.push('\n');
    }
    bail!("the agent ended: {}\n{report}", child.wait()?)
}

/// Every name under a directory, relative to it.
fn names(root: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            found.extend(names(&entry.path())?.into_iter().map(|inner| format!("{name}/{inner}")));
        }
        found.insert(name);
    }
    Ok(found)
}

/// `bpftool --json ARGUMENTS`
fn bpftool(arguments: &[&str]) -> Result<serde_json::Value> {
    let out = Command::new("bpftool").arg("--json").args(arguments).output().context("this test needs bpftool")?;
    ensure!(out.status.success(), "bpftool {arguments:?}: {}", String::from_utf8_lossy(&out.stdout));
    Ok(serde_json::from_slice(&out.stdout)?)
}

/// The id of a pinned link.
fn link_id(pin: &Path) -> Result<String> {
    let link = bpftool(&["link", "show", "pinned", &pin.display().to_string()])?;
    let link = link.as_array().map_or(&link, |links| &links[0]);
    Ok(link["id"].as_u64().with_context(|| format!("no id in {link}"))?.to_string())
}

#[test]
fn maps_and_links_are_pinned_while_it_runs_and_gone_after() -> Result<()> {
    let options = options(Mode::Auto, "gone");
    let root = &options.pin_root;
    let (assist, report) = load_with(&options)?;
    assert_eq!(report.pins.as_ref(), Some(root));
    let expected = [
        "connections",
        "events",
        "levels",
        "links",
        "links/inet_sock_set_state",
        "links/sock_send_length",
        "links/tcp_probe",
        "lost",
        "meta",
        "ports",
    ];
    assert_eq!(names(root)?, expected.map(str::to_owned).into());
    drop(assist);
    assert!(!root.exists());
    Ok(())
}

#[test]
fn bpftool_prints_named_fields() -> Result<()> {
    let options = options(Mode::Auto, "named");
    let root = options.pin_root.display().to_string();
    let (assist, _report) = load_with(&options)?;
    let mut pipe = Pipe::new("127.0.0.1:0", None)?;
    assist.register(&pipe.registration)?;
    let (sends, bytes) = pipe.fill()?;
    let levels = Levels { transport: Level::CL98, remote_busy: Level::CL2, ..Levels::default() };
    assist.publish_level(pipe.cookie(), levels)?;

    let dump = bpftool(&["map", "dump", "pinned", &format!("{root}/connections")])?;
    let entry = &dump[0]["formatted"];
    assert_eq!(entry["key"], pipe.cookie());
    let value = &entry["value"];
    assert_eq!((&value["sends"], &value["bytes"], &value["refusals"]), (&sends.into(), &bytes.into(), &1.into()));
    for field in [
        "local_address",
        "remote_address",
        "local_port",
        "remote_port",
        "protocol",
        "queued",
        "limit",
        "blocked_since",
        "requests",
        "answers",
        "outstanding",
        "busy_answers",
    ] {
        assert!(!value[field].is_null(), "no field {field} in {value}");
    }
    assert_eq!(value["local_port"], pipe.writer.local_addr()?.port());
    assert_eq!(value["blocked_since"], pipe.record(&assist)?.blocked_since);

    let dump = bpftool(&["map", "dump", "pinned", &format!("{root}/levels")])?;
    let value = &dump[0]["formatted"]["value"];
    let of = |field: &str| value[field].as_u64();
    assert_eq!((of("cpl"), of("status"), of("remote_busy")), (Some(98), Some(0), Some(2)));
    assert_eq!((of("transport"), of("throttle")), (Some(98), Some(0)));

    let dump = bpftool(&["map", "dump", "pinned", &format!("{root}/meta")])?;
    let value = &dump[0]["formatted"]["value"];
    assert_eq!((value["version"].as_u64(), value["pid"].as_u64()), (Some(1), Some(std::process::id().into())));
    Ok(())
}

#[test]
fn a_killed_agent_leaves_nothing_to_the_next() -> Result<()> {
    let root = pin_root("killed");
    let somebody = pin_root("somebody");
    // Another program's pins, one beside ours and one among ours.
    let (other, _report) = load_with(&Options { pin_root: somebody.clone(), ..Options::new(Mode::Auto) })?;
    let theirs = names(&somebody)?;
    let (mut first, _) = agent(&root)?;
    let [from, to] = [somebody.join("meta"), root.join("theirs")].map(|path| path.display().to_string());
    bpftool(&["map", "pin", "pinned", &from, &to])?;
    let all = names(&root)?;
    let mut old = link_id(&root.join("links/tcp_probe"))?;
    first.kill()?;
    first.wait()?;
    assert_eq!(names(&root)?, all, "a killed agent leaves its pins");
    assert!(bpftool(&["link", "show", "id", &old]).is_ok(), "and with them its programs");
    for round in 0..30 {
        let (mut child, report) = agent(&root)?;
        assert!(report.contains("attached: the outcome of every send"), "round {round}: {report}");
        assert_eq!(names(&root)?, all, "round {round}");
        let new = link_id(&root.join("links/tcp_probe"))?;
        assert!(bpftool(&["link", "show", "id", &old]).is_err(), "round {round}: link {old} is still attached");
        old = new;
        child.kill()?;
        child.wait()?;
    }
    // One that ends in order removes all of it, and nothing of others.
    let (mut last, _) = agent(&root)?;
    drop(last.stdin.take());
    assert!(last.wait()?.success());
    assert_eq!(names(&root)?, BTreeSet::from(["theirs".to_owned()]));
    assert_eq!(names(&somebody)?, theirs);
    fs::remove_file(root.join("theirs"))?;
    fs::remove_dir(&root)?;
    drop(other);
    Ok(())
}

#[test]
fn a_second_agent_runs_without_and_leaves_the_first_alone() -> Result<()> {
    let options = options(Mode::Auto, "second");
    let (assist, _report) = load_with(&options)?;
    let before = names(&options.pin_root)?;
    let (second, report) = Assist::load_with(&options)?;
    assert!(second.is_none());
    let text = report.to_string();
    assert!(text.contains("another governor is running with the pins in /sys/fs/bpf/governor-test-"), "{text}");
    assert_eq!(names(&options.pin_root)?, before);
    let required = Assist::load_with(&Options { mode: Mode::Required, ..options.clone() });
    assert!(required.is_err_and(|e| e.to_string().contains("another governor is running")));
    drop(assist);
    load_with(&options)?;
    Ok(())
}
