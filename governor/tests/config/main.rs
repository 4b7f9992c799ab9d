//! The configuration file: faults and their lines, ranges, defaults, the reference page, the examples.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

mod accepted;
mod command;
mod defaults;
mod faults;
mod page;
mod property;
mod ranges;

use governor::config::{Config, parse};
use std::path::PathBuf;

/// The repository's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The faults of a text, one a line, without the file's name.
fn faults_of(text: &str) -> Vec<String> {
    match parse(text, "f") {
        Ok(_) => Vec::new(),
        Err(faults) => faults.to_string().lines().map(|line| line.strip_prefix("f:").unwrap().to_owned()).collect(),
    }
}

/// A text that must be without fault.
#[track_caller]
fn accepted(text: &str) -> Config {
    match parse(text, "f") {
        Ok(config) => config,
        Err(faults) => panic!("{faults}\n{text}"),
    }
}

/// Every table once, every key given.
const EVERYTHING: &str = r#"
[node]
origin_host = "gov1.example.net"
origin_realm = "example.net"
listen = ["tcp://127.0.0.1:3868", "tcp://[::1]:3868"]
kernel_assist = "required"
pending_limit = 5000
answer_timeout = "2s"
max_attempts = 3
busy_result_code = 5012
retry_result_codes = [3002]
drmp = [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
watchdog = "6s"
reconnect = "1s"
connect_timeout = "3s"
message_timeout = "4s"
max_message = 8192
control = "/tmp/gov.sock"
metrics = "127.0.0.1:9868"

[throttle.gold]
max_rate = 1000
throttle = [60, 80, 100]
abatement = [50, 70, 90]
convergence = "2s"
abatement_time = "700ms"

[[peer]]
host = "hss1.example.net"
realm = "example.net"

[[peer.connection]]
name = "hss1-a"
address = "tcp://127.0.0.1:3869"
remote_busy = { usage = "host_override", abatement = "4s" }
transport_congestion = { abatement = "3s", pressure = { onset = [20, 40, 60], abatement = [10, 30, 50] } }
throttle = "gold"
pending_limit = 100
send_buffer = 65536

[[peer]]
host = "client.example.net"
realm = "example.net"

[[peer.connection]]
name = "client-a"

[[priority]]
application = 16777251
command = 316
ingress_peer = "client.example.net"
realm = "example.net"
priority = 2

[[route]]
name = "hss"
realm = "example.net"
host = "hss1.example.net"
application = 16777251
command = 316
groups = [{ weights = { "hss1-a" = 50 } }]

[[group]]
name = "site"
members = ["hss1.example.net"]
max_rate = 5000
max_pending = 20000
mode = "limit"
onset = [50, 70]
abatement = [40, 60]
convergence = "3s"
abatement_time = "800ms"
shared = "on"

[share]
url = "redis://:secret@127.0.0.1:6380/2"
name = "site-1"
agents = 3
interval = "200ms"
"#;
