//! What a missing key means: the numbers of the rules, and the same in the code that runs and in the table of keys.

use super::{EVERYTHING, accepted};
use governor::config::keys::{Missing, TABLES};
use governor::config::{Config, KernelAssist, parse};
use governor_core::settings::{GroupMode, Threshold, Usage};
use std::path::PathBuf;
use std::time::Duration;

/// Every table, and only what is required.
const LEAST: &str = r#"
[node]
origin_host = "gov1.example.net"
origin_realm = "example.net"

[throttle.gold]
max_rate = 1000

[[peer]]
host = "hss1.example.net"
realm = "example.net"

[[peer.connection]]
name = "hss1-a"
throttle = "gold"
address = "tcp://127.0.0.1:3869"
remote_busy = {}
transport_congestion = { pressure = {} }

[[priority]]
priority = 1

[[route]]
name = "hss"
realm = "example.net"
groups = [{ weights = { hss1-a = 1 } }]

[[group]]
name = "site"
members = ["hss1-a"]
max_rate = 100

[share]
url = "redis://127.0.0.1"
"#;

#[test]
fn the_defaults_are_those_of_the_rules() {
    let config = accepted(LEAST);
    let node = config.settings.node;
    assert_eq!(node.pending_limit, 200_000, "rule 5");
    assert_eq!(node.answer_timeout, Duration::from_secs(3), "rule 5");
    assert_eq!(node.max_attempts, 2, "rule 5");
    assert_eq!(node.busy_result_code, 3004, "rule 8");
    assert_eq!(node.watchdog, Duration::from_secs(30), "rule 11");
    assert_eq!(node.max_message, 65_536, "rule 11");
    let drmp: Vec<u8> = node.drmp.iter().map(|priority| priority.number()).collect();
    assert_eq!(drmp, [2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0], "rule 7");
    assert_eq!(node.reconnect, Duration::from_secs(30), "RFC 6733 section 2.1");
    let connection = &config.settings.connections[0];
    assert_eq!(connection.remote_busy.usage, Usage::On, "rule 2");
    assert_eq!(connection.remote_busy.abatement, Duration::from_secs(5), "rule 2");
    assert_eq!(connection.transport.abatement, Duration::from_secs(5), "rule 3");
    let pressure = connection.transport.pressure.unwrap();
    assert_eq!((pressure.onset, pressure.abatement), ([50, 70, 85], [40, 60, 75]), "rule 3");
    assert_eq!(connection.pending_limit, 1000, "rule 5");
    let throttle = connection.throttle.as_ref().unwrap();
    assert_eq!(throttle.thresholds, [Threshold { onset: 100, abatement: 80 }], "rule 4");
    assert_eq!(throttle.convergence, Duration::from_secs(1), "rule 4");
    assert_eq!(throttle.abatement_time, Duration::from_millis(500), "rule 4");
    let group = &config.settings.groups[0];
    assert_eq!(group.thresholds, [Threshold { onset: 60, abatement: 55 }], "rule 6");
    assert_eq!((group.mode, group.max_pending), (GroupMode::Threshold, None), "rule 6");
    assert_eq!(group.convergence, Duration::from_secs(1), "rule 6");
    assert_eq!(group.abatement_time, Duration::from_millis(500), "rule 6");
    assert_eq!(config.shell.kernel_assist, KernelAssist::Auto);
    assert_eq!(config.shell.control, Some(PathBuf::from("/run/governor/control.sock")));
    assert_eq!(config.shell.metrics, None);
    assert_eq!(config.shell.listen, []);
}

#[test]
fn a_connection_left_at_its_defaults_has_the_plain_behaviour() {
    let text = LEAST
        .replace("throttle = \"gold\"\n", "")
        .replace("remote_busy = {}\n", "")
        .replace("transport_congestion = { pressure = {} }\n", "");
    let connection = accepted(&text).settings.connections.remove(0);
    assert_eq!(connection.throttle, None);
    assert_eq!(connection.transport.pressure, None);
    assert_eq!(connection.remote_busy.usage, Usage::On);
}

/// Writing down a default of the table of keys changes nothing.
#[test]
fn the_table_of_keys_has_the_defaults_that_the_code_has() {
    let least = accepted(LEAST);
    let mut written = 0;
    for table in TABLES {
        for key in table.keys {
            let Missing::Value(value) = key.missing else { continue };
            let document: toml::Table = toml::from_str(LEAST).unwrap();
            let mut document = toml::Value::Table(document);
            let value: toml::Table = toml::from_str(&format!("v = {value}")).unwrap();
            let slot = super::ranges::table_of(&mut document, table.heading);
            if slot.contains_key(key.name) {
                // `{}` in the text above, so that its inner tables are there.
                continue;
            }
            slot.insert(key.name.to_owned(), value["v"].clone());
            let text = toml::to_string(&document).unwrap();
            let config = parse(&text, "f").unwrap_or_else(|faults| panic!("{} {}: {faults}", table.heading, key.name));
            // Elsewhere in the text, of course.
            let config = Config { lines: least.lines.clone(), ..config };
            assert_eq!(config, least, "{} {}", table.heading, key.name);
            written += 1;
        }
    }
    assert_eq!(written, 34);
}

/// Each required key, taken out, is one fault that names it.
#[test]
fn a_required_key_that_is_missing_is_told() {
    let mut removed = 0;
    for table in TABLES {
        for key in table.keys.iter().filter(|key| key.missing == Missing::Fault) {
            let document: toml::Table = toml::from_str(EVERYTHING).unwrap();
            let mut document = toml::Value::Table(document);
            super::ranges::table_of(&mut document, table.heading).remove(key.name).unwrap();
            let faults = parse(&toml::to_string(&document).unwrap(), "f").unwrap_err().faults;
            let told = faults.iter().filter(|fault| {
                fault.key.split('.').next_back() == Some(key.name)
                    && fault.message.starts_with("missing; must be given (")
            });
            assert_eq!(told.count(), 1, "{} {}: {faults:?}", table.heading, key.name);
            removed += 1;
        }
    }
    assert_eq!(removed, 16);
}
