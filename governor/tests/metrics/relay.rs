//! A running relay with traffic through it: the page, `governor status --json` and the clients' own reports agree.

use super::{PATIENCE, Series, metric, names, promtool, scrape, series};
use governor::observe::control;
use governor::observe::snapshot::{Connection, Snapshot};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn governor(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_governor"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Waits for a line of a log and gives the word behind `mark`.
#[track_caller]
fn word(log: &Path, mark: &str) -> String {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        if let Some((_, rest)) = text.split_once(mark)
            && let Some(word) = rest.lines().next().and_then(|line| line.split_whitespace().next())
            && rest.contains('\n')
        {
            return word.to_owned();
        }
        assert!(start.elapsed() < PATIENCE, "no {mark:?} in {text}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[track_caller]
fn wait_for(socket: &Path, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let start = Instant::now();
    loop {
        match control::status(socket) {
            Ok(snapshot) if wanted(&snapshot) => return snapshot,
            other if start.elapsed() > PATIENCE => panic!("never as wanted: {other:#?}"),
            _ => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
}

fn server(scratch: &Path, name: &str, more: &str) -> (Program, String) {
    let log = scratch.join(name);
    let mut command =
        governor(&format!("load server --listen tcp://127.0.0.1:0 --origin-host {name}.example.net {more}"));
    let server = Program(command.stderr(File::create(&log).unwrap()).spawn().unwrap());
    (server, word(&log, "listening on "))
}

/// What a snapshot says of a connection, as the page has it.
fn of_connection(c: &Connection) -> Vec<(String, f64)> {
    let own = format!("connection=\"{}\",peer=\"{}\"", c.name, c.peer);
    let series = |metric: &str, labels: &str, value: u64| {
        let labels = if labels.is_empty() { own.clone() } else { format!("{own},{labels}") };
        (format!("governor_connection_{metric}{{{labels}}}"), value as f64)
    };
    let n = &c.counters;
    let mut all = vec![
        series("cpl", "", c.cpl.into()),
        series("level", "feature=\"status\"", c.levels.status.into()),
        series("level", "feature=\"remote_busy\"", c.levels.remote_busy.into()),
        series("level", "feature=\"transport\"", c.levels.transport.into()),
        series("level", "feature=\"throttle\"", c.levels.throttle.into()),
        series("pending", "", c.pending.into()),
        series("pending_limit", "", c.pending_limit.into()),
        series("messages_received_total", "kind=\"request\"", n.requests_received),
        series("messages_received_total", "kind=\"answer\"", n.answers_received),
        series("messages_sent_total", "kind=\"request\"", n.requests_sent),
        series("messages_sent_total", "kind=\"answer\"", n.answers_sent),
        series("messages_discarded_total", "kind=\"answer\"", n.discarded.answers),
        series("messages_discarded_total", "kind=\"request\"", n.discarded.requests_rerouted),
        series("timeouts_total", "", n.timeouts),
        series("requests_retransmitted_total", "", n.retransmitted),
        series("requests_retried_total", "", n.retried),
        series("answers_unmatched_total", "cause=\"late\"", n.answers_late),
        series("answers_unmatched_total", "cause=\"duplicate\"", n.answers_duplicate),
        series("answers_unmatched_total", "cause=\"unknown\"", n.answers_unknown),
        series("busy_answers_total", "origin=\"peer\"", n.busy_own),
        series("busy_answers_total", "origin=\"behind\"", n.busy_behind),
        series("malformed_total", "", n.malformed),
    ];
    let held_back = &n.held_back;
    let reasons = [
        ("cpl", held_back.cpl),
        ("pending_limit", held_back.pending_limit),
        ("rate_limit", held_back.rate_limit),
        ("group", held_back.group),
    ];
    for (reason, counts) in reasons {
        for (priority, count) in counts.into_iter().enumerate() {
            let labels = format!("priority=\"{priority}\",reason=\"{reason}\"");
            all.push(series("requests_held_back_total", &labels, count));
        }
    }
    all
}

/// Everything that a snapshot and the page both have.
fn of(snapshot: &Snapshot) -> Vec<(String, f64)> {
    let mut all: Vec<_> = snapshot.connections.iter().flat_map(of_connection).collect();
    all.push(("governor_pending".to_owned(), snapshot.node.pending.into()));
    all.push(("governor_pending_limit".to_owned(), snapshot.node.pending_limit.into()));
    let totals = &snapshot.totals;
    all.push(("governor_unknown_peers_total".to_owned(), totals.unknown_peers as f64));
    all.push(("governor_answers_orphaned_total".to_owned(), totals.answers_orphaned as f64));
    let by = |name: &str, label: &str, of: &str, count: &u64| (format!("{name}{{{label}=\"{of}\"}}"), *count as f64);
    all.extend(totals.refused.iter().map(|(r, n)| by("governor_requests_refused_total", "reason", r, n)));
    all.extend(totals.rejected.iter().map(|(c, n)| by("governor_requests_rejected_total", "code", &c.to_string(), n)));
    all.extend(totals.closed.iter().map(|(r, n)| by("governor_closes_total", "reason", r, n)));
    for group in &snapshot.groups {
        all.push((format!("governor_group_level{{group=\"{}\"}}", group.name), group.level.into()));
        all.push((format!("governor_group_pending{{group=\"{}\"}}", group.name), group.pending.into()));
    }
    all
}

fn sum(series: &Series, metric: &str, labels: &[&str]) -> f64 {
    let fits = |name: &str| self::metric(name) == metric && labels.iter().all(|label| name.contains(label));
    series.iter().filter(|(name, _)| fits(name)).map(|(_, value)| value).sum()
}

#[test]
fn the_page_of_a_running_relay_agrees_with_its_status() {
    let scratch = Scratch(std::env::temp_dir().join(format!("governor-metrics-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).unwrap();
    let socket = scratch.0.join("control.sock");
    let (_hss1, hss1) = server(&scratch.0, "hss1", "--busy-every 5");
    let (_hss2, hss2) = server(&scratch.0, "hss2", "");
    let text = format!(
        r#"
        [node]
        origin_host = "gov1.example.net"
        origin_realm = "example.net"
        listen = ["tcp://127.0.0.1:0"]
        kernel_assist = "off"
        control = "{}"
        metrics = "127.0.0.1:0"

        [throttle.low]
        max_rate = 400
        throttle = [40, 60, 80]
        abatement = [30, 50, 70]

        [[peer]]
        host = "hss1.example.net"
        realm = "example.net"
        [[peer.connection]]
        name = "hss1-a"
        address = "{hss1}"
        remote_busy = {{ abatement = "500ms" }}

        [[peer]]
        host = "hss2.example.net"
        realm = "example.net"
        [[peer.connection]]
        name = "hss2-a"
        address = "{hss2}"
        throttle = "low"
        pending_limit = 10

        [[peer]]
        host = "client.example.net"
        realm = "example.net"
        [[peer.connection]]
        name = "client-a"

        [[route]]
        name = "hss"
        realm = "example.net"
        groups = [{{ weights = {{ "hss1-a" = 1 }} }}, {{ weights = {{ "hss2-a" = 1 }} }}]

        [[group]]
        name = "site"
        members = ["hss1-a", "hss2-a"]
        max_rate = 400
        max_pending = 100
        "#,
        socket.display()
    );
    let config = scratch.0.join("relay.toml");
    std::fs::write(&config, text).unwrap();
    let log = scratch.0.join("relay.log");
    let mut relay = governor(&format!("run --config {}", config.display()));
    let _relay = Program(relay.stderr(File::create(&log).unwrap()).spawn().unwrap());
    let at: SocketAddr = word(&log, "metrics at http://").strip_suffix("/metrics").unwrap().parse().unwrap();
    let up = wait_for(&socket, |s| s.connections.iter().filter(|c| c.cpl == 0).count() == 2);
    let idle = series(&scrape(at));
    assert!(sum(&idle, "governor_connection_messages_sent_total", &[]) < 0.5);

    // Faster than either server or the group may take: some is held back, some refused.
    let client = governor(&format!(
        "load client --connect {} --rate 900/s --duration 2s --priority mix --json",
        up.listeners[0]
    ))
    .stdout(Stdio::piped())
    .output()
    .unwrap();
    let client: Value = serde_json::from_slice(&client.stdout).unwrap();
    assert_eq!(client["adds_up"], true, "{client}");
    let sent = client["sent"].as_f64().unwrap();

    // The two are asked one after the other: nothing may happen in between.
    wait_for(&socket, |s| s.connections.iter().all(|c| c.cpl == if c.name == "client-a" { 99 } else { 0 }));
    let start = Instant::now();
    let (snapshot, page) = loop {
        let before = of(&wait_for(&socket, |_| true));
        let page = scrape(at);
        let snapshot = wait_for(&socket, |_| true);
        if before == of(&snapshot) {
            break (snapshot, page);
        }
        assert!(start.elapsed() < PATIENCE);
    };
    let page_series = series(&page);
    for (name, value) in of(&snapshot) {
        // Left out: what the configuration makes impossible.
        let impossible = name.contains("reason=\"rate_limit\"") || name.contains("reason=\"group\"");
        let shown = page_series.get(&name).copied().or(impossible.then_some(0.0));
        let shown = shown.unwrap_or_else(|| panic!("{name} is not on the page"));
        assert!((shown - value).abs() < 1e-9, "{name}: {shown} on the page, {value} in the status");
    }

    // Against what the client counted itself.
    let page = page_series;
    let of_client = ["connection=\"client-a\""];
    assert!((sum(&page, "governor_connection_messages_received_total", &of_client) - sent).abs() < 0.5);
    assert!((sum(&page, "governor_connection_messages_sent_total", &of_client) - sent).abs() < 0.5);
    assert!((sum(&page, "governor_route_requests_total", &[]) - sent).abs() < 0.5);
    // Every request was answered by a server or refused by us.
    let refused = sum(&page, "governor_requests_refused_total", &[]);
    assert!(refused > 0.0, "nothing was held back");
    assert!((refused - sum(&page, "governor_route_requests_refused_total", &["route=\"hss\""])).abs() < 0.5);
    let admitted = sum(&page, "governor_connection_requests_admitted_total", &[]);
    assert!((admitted - sum(&page, "governor_route_requests_placed_total", &[])).abs() < 0.5);
    assert!((admitted - sum(&page, "governor_group_requests_total", &[])).abs() < 0.5);
    let answers = sum(&page, "governor_connection_messages_received_total", &["kind=\"answer\""]);
    assert!((admitted - answers).abs() < 0.5, "{admitted} sent, {answers} answered");
    let retried = sum(&page, "governor_connection_requests_retried_total", &[]);
    assert!((admitted - retried + refused - sent).abs() < 0.5, "{admitted} - {retried} + {refused} != {sent}");
    // What happened, by cause.
    let busy = "feature=\"remote_busy\"";
    assert!(sum(&page, "governor_connection_onsets_total", &["connection=\"hss1-a\"", busy]) >= 1.0);
    assert!(sum(&page, "governor_connection_onsets_total", &["connection=\"hss2-a\"", "feature=\"throttle\""]) >= 1.0);
    assert!(sum(&page, "governor_group_onsets_total", &["limit=\"rate\""]) >= 1.0);
    assert!(page["governor_group_requests_per_second_peak{group=\"site\"}"] > 100.0);
    assert!(sum(&page, "governor_connection_pending_peak", &["connection=\"hss2-a\""]) >= 1.0);
    // The invariant of rule 5's records.
    assert!(page["governor_pending"].abs() < 0.5 && page["governor_transactions"].abs() < 0.5);
    // The time at each level adds up to the uptime.
    for name in ["hss1-a", "hss2-a", "client-a"] {
        let stays = sum(&page, "governor_connection_level_seconds_total", &[&format!("\"{name}\"")]);
        assert!((stays - snapshot.node.uptime).abs() < 5.0, "{name}: {stays} of {}", snapshot.node.uptime);
        assert!(stays <= snapshot.node.uptime);
    }

    // The dashboard, and promtool.
    let there: BTreeSet<&str> = page.keys().map(|name| metric(name)).collect();
    for query in names::queries() {
        for name in names::words(&query) {
            // Nothing was malformed, and there are no kernel programs.
            let absent = ["governor_requests_rejected_total", "governor_connection_blocked_seconds"];
            assert!(there.contains(name) || absent.contains(&name) || name.contains("_kernel_"), "{name}: {query}");
        }
    }
    let (accepted, words) = promtool(&["check", "metrics"], &scrape(at));
    assert!(accepted && words.is_empty(), "{words}");
}
