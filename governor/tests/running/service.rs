//! Connections out of service and back, levels by hand.

use crate::relay::{File, Relay, client, connection, eventually, server};
use crate::reload::assert_clean;
use governor::load::Behaviour;
use governor::observe::control::{self, AskError, Connections, ManualLevel, Request, Summary};
use governor::observe::snapshot::{Connection, Snapshot};
use governor_core::level::Level;
use std::process::Command;

fn named(connection: &str) -> String {
    connection.to_owned()
}

fn two() -> ([governor::load::Server; 2], Relay) {
    let servers = ["hss1", "hss2"].map(|name| server(name, Behaviour::default()));
    let relay = Relay::start(File::new(&[("hss1", servers[0].address()), ("hss2", servers[1].address())]));
    (servers, relay)
}

/// Requests go out on the other connection and none on this one.
#[track_caller]
fn assert_no_traffic(relay: &Relay, this: &str, other: &str) {
    let sent = |snapshot: &Snapshot, name| connection(snapshot, name).counters.requests_sent;
    let more = |than: &Snapshot| {
        let there = sent(than, other) + 200;
        relay.wait("traffic on the other", |now| sent(now, other) > there)
    };
    // What was on its way at first is gone by then.
    let before = more(&relay.status());
    let after = more(&before);
    assert_eq!(sent(&after, this), sent(&before, this));
}

#[test]
fn out_of_service_and_back_under_load_loses_nothing() {
    let ([hss1, hss2], relay) = two();
    let load = client(relay.address(), 50);
    for round in 1..=10 {
        eventually("traffic on it", {
            let before = hss1.snapshot().requests;
            let hss1 = &hss1;
            move || hss1.snapshot().requests > before
        });
        let now: Summary = relay.ask(&Request::Disable { connection: named("hss1") });
        assert!(matches!(now.admin.as_str(), "draining" | "disabled"), "{now:?}");
        let off = relay.wait("closed", |now| connection(now, "hss1").state == "Closed");
        let off = connection(&off, "hss1");
        assert_eq!((off.admin.as_str(), off.cpl, off.pending), ("disabled", 99, 0));
        assert!(off.why.starts_with("taken out of service by hand; down: closed"), "{}", off.why);
        assert_no_traffic(&relay, "hss1", "hss2");
        let now: Summary = relay.ask(&Request::Enable { connection: named("hss1") });
        assert_eq!(now.admin, "enabled");
        relay.wait_up();
        eventually("the server counts it", || hss1.snapshot().connections == 1 + round);
    }
    load.stop();
    assert_clean(&load.join());
    assert_eq!((hss1.snapshot().connections_lost, hss2.snapshot().connections_lost), (0, 0));
}

#[test]
fn a_level_by_hand_moves_traffic_and_holds_until_it_is_taken_back() {
    let ([hss1, hss2], relay) = two();
    let load = client(relay.address(), 20);
    eventually("traffic on both", || hss1.snapshot().requests > 50 && hss2.snapshot().requests > 50);
    let level = |level| Request::Level { connection: named("hss1"), level };

    for (by_hand, sentence) in [
        (Level::CL98, "set to 98 by hand: nothing leaves"),
        (Level::CL1, "set to 1 by hand: requests of priority 0 are held back"),
    ] {
        let now: Summary = relay.ask(&level(ManualLevel::At(by_hand)));
        assert_eq!((now.cpl, now.manual_level), (by_hand.number(), Some(by_hand.number())));
        assert_eq!((now.why.as_str(), now.set_by.as_deref()), (sentence, Some("status")));
        assert_no_traffic(&relay, "hss1", "hss2");
    }
    let shown: Connection = relay.ask(&Request::Show { connection: named("hss1") });
    let refusal = shown.last_refusal.unwrap();
    assert_eq!((refusal.reason.as_str(), refusal.level), ("cpl", Some(1)));
    assert_eq!(refusal.rule, "rule 1: priority 0 is below the level 1");

    let now: Summary = relay.ask(&level(ManualLevel::Auto));
    assert_eq!((now.cpl, now.manual_level, now.why.as_str()), (0, None, "up: its level holds nothing back"));
    let before = hss1.snapshot().requests;
    eventually("traffic on it again", || hss1.snapshot().requests > before + 50);
    load.stop();
    assert_clean(&load.join());
    assert_eq!(hss1.snapshot().connections, 1, "it stayed open");
}

#[test]
fn the_command_shows_and_changes_connections() {
    let (_servers, relay) = two();
    let socket = relay.socket();
    let governor = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_governor"));
        let output = command.arg("connection").args(arguments).arg("--control").arg(&socket).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, list, _) = governor(&["list"]);
    assert_eq!(code, Some(0));
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["connection", "peer", "service", "state", "by", "hand", "CPL", "pending", "why"]);
    assert_eq!(lines[1][..6], ["hss1", "hss1.example.net", "enabled", "I-Open", "0", "0"]);
    assert!(list.contains("waits for the peer to connect"), "{list}");

    let (code, text, _) = governor(&["disable", "hss1", "--wait", "20"]);
    assert_eq!(code, Some(0));
    assert!(text.starts_with("hss1: CPL 99, taken out of service by hand; down: closed"), "{text}");
    let (_, text, _) = governor(&["show", "hss1", "--json"]);
    let shown: Connection = serde_json::from_str(&text).unwrap();
    assert_eq!((shown.name.as_str(), shown.admin.as_str()), ("hss1", "disabled"));
    let (code, ..) = governor(&["enable", "hss1"]);
    assert_eq!(code, Some(0));
    relay.wait_up();
    let (_, text, _) = governor(&["level", "hss2", "3"]);
    assert_eq!(text, "hss2: CPL 3, set to 3 by hand: every request is held back\n");
    let (code, _, error) = governor(&["level", "hss2", "4"]);
    assert_eq!(code, Some(2), "{error}");
    let (code, _, error) = governor(&["disable", "hss9"]);
    assert_eq!((code, error.contains("there is no connection \"hss9\"")), (Some(1), true), "{error}");
    let (_, text, _) = governor(&["show", "hss2"]);
    assert!(text.contains("service: enabled, level 3 by hand\nwhy: set to 3 by hand"), "{text}");
}

#[test]
fn what_the_operator_has_said_stands_over_a_reload_and_another_address() {
    let ([hss1, _hss2], mut relay) = two();
    let elsewhere = server("hss1", Behaviour::default());
    relay.ask::<Summary>(&Request::Disable { connection: named("hss1") });
    relay.ask::<Summary>(&Request::Level { connection: named("hss2"), level: ManualLevel::At(Level::CL2) });
    relay.wait("closed", |now| connection(now, "hss1").state == "Closed");
    let mut file = relay.file.clone().with("hss2", "pending_limit = 50");
    file.servers[0].1 = elsewhere.address();
    relay.reload(file).unwrap();
    let list: Connections = relay.ask(&Request::List);
    assert_eq!((list.connections[0].admin.as_str(), list.connections[0].state.as_str()), ("disabled", "Closed"));
    assert_eq!((list.connections[1].manual_level, list.connections[1].cpl), (Some(2), 2));
    relay.ask::<Summary>(&Request::Enable { connection: named("hss1") });
    relay.wait("up at the other address", |now| connection(now, "hss1").cpl == 0);
    eventually("its connection counted", || elsewhere.snapshot().connections == 1);
    assert_eq!(hss1.snapshot().connections, 1);
    let unknown = control::ask::<Summary>(&relay.socket(), &Request::Enable { connection: named("hss3") });
    assert!(matches!(unknown, Err(AskError::Answer { .. })));
}
