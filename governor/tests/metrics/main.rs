//! The page of metrics: its names, its server, its numbers against `governor status`, its cost at 16000 connections.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

mod capacity;
mod names;
mod relay;
mod server;

use governor::config::{Config, parse};
use governor::observe::metrics::Sample;
use governor_core::agent::Agent;
use governor_core::peer::Local;
use governor_core::time::Time;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The repository's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A server's whole answer to these bytes, read to the end of the stream.
fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// The page at that address.
#[track_caller]
fn scrape(address: SocketAddr) -> String {
    let answer = exchange(address, "GET /metrics HTTP/1.1\r\nHost: governor\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    whole(body)
}

/// A body in chunks, put together (RFC 9112 section 7.1).
#[track_caller]
fn whole(mut body: &str) -> String {
    let mut page = String::with_capacity(body.len());
    loop {
        let (length, rest) = body.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        page.push_str(&rest[..length]);
        body = rest[length..].strip_prefix("\r\n").unwrap();
        if length == 0 {
            assert_eq!(body, "");
            return page;
        }
    }
}

/// Metric and labels, as they stand on the page.
type Series = BTreeMap<String, f64>;

/// The samples of a page. None stands twice.
#[track_caller]
fn series(page: &str) -> Series {
    let mut series = Series::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let before = series.insert(name.to_owned(), value.parse().unwrap());
        assert_eq!(before, None, "{name} stands twice");
    }
    series
}

/// The name of a series' metric.
fn metric(series: &str) -> &str {
    series.split_once('{').map_or(series, |(name, _)| name)
}

/// What promtool of Debian's package `prometheus` says of a text: (accepted, its words).
fn promtool(arguments: &[&str], input: &str) -> (bool, String) {
    let mut promtool = Command::new("promtool");
    promtool.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool.spawn().unwrap_or_else(|e| panic!("promtool (`cargo xtask setup` installs it): {e}"));
    promtool.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn config(text: &str) -> Config {
    match parse(text, "f") {
        Ok(config) => config,
        Err(faults) => panic!("{faults}"),
    }
}

/// An agent that has just started.
fn agent(config: Config) -> Agent {
    let local = Local {
        origin_host: config.settings.node.origin_host.clone(),
        origin_realm: config.settings.node.origin_realm.clone(),
        product_name: "governor".to_owned(),
        vendor_id: 0,
        firmware_revision: 1,
        origin_state_id: 1,
    };
    let mut agent = Agent::new(Time::ZERO, Arc::new(config.settings), Arc::new(local), 1);
    agent.handle_start(Time::ZERO);
    agent
}

/// The numbers of such an agent.
fn sample(text: &str) -> Sample {
    Sample::new(&agent(config(text)), Time::from_millis(1500))
}

/// Every kind of thing that is measured: throttle sets, pressure, groups, shared, and routes with two groups.
const EVERYTHING: &str = r#"
[node]
origin_host = "gov1.example.net"
origin_realm = "example.net"

[throttle.gold]
max_rate = 1000
throttle = [60, 80, 100]
abatement = [50, 70, 90]

[[peer]]
host = "hss1.example.net"
realm = "example.net"
[[peer.connection]]
name = "hss1-a"
address = "tcp://127.0.0.1:3869"
transport_congestion = { pressure = {} }
throttle = "gold"

[[peer]]
host = "hss2.example.net"
realm = "example.net"
[[peer.connection]]
name = "hss2-a"
address = "tcp://127.0.0.1:3870"

[[peer]]
host = "client.example.net"
realm = "example.net"
[[peer.connection]]
name = "client-a"
remote_busy = { usage = "off" }

[[route]]
name = "hss"
realm = "example.net"
groups = [{ weights = { hss1-a = 1 } }, { weights = { hss2-a = 1 } }]

[[group]]
name = "site"
members = ["hss1-a", "hss2-a"]
max_rate = 5000
max_pending = 20000

[share]
url = "redis://127.0.0.1"
"#;
