//! Other settings while traffic goes on.

use crate::relay::{
    File, PATIENCE, Relay, any_address, client, client_options, connection, eventually, free_address, server,
};
use governor::config::Fault;
use governor::load::{Behaviour, Client, ClientOptions, ClientReport, Identity};
use governor::observe::control::{self, AskError, Reloaded};
use governor::observe::event::{Event, What};
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Message, frame};
use governor_core::level::Feature;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

/// Everything sent was answered 2001, and no connection was lost.
#[track_caller]
pub fn assert_clean(report: &ClientReport) {
    let ClientReport { sent, answered, timed_out, lost, connections_lost, .. } = report;
    assert!(*sent > 0 && report.adds_up, "{report:?}");
    assert_eq!((answered, timed_out, lost, connections_lost), (sent, &0, &0, &0), "{report:?}");
    assert_eq!(report.by_result.keys().collect::<Vec<_>>(), ["2001"], "{report:?}");
}

#[track_caller]
fn faults(outcome: Result<Reloaded, AskError>) -> Vec<Fault> {
    match outcome {
        Err(AskError::Faults { faults, .. }) => faults.faults,
        other => panic!("not refused: {other:?}"),
    }
}

/// The Origin-State-Id that the relay gives a peer that connects now; the peer leaves at once.
fn origin_state_id(relay: SocketAddr) -> u32 {
    let mut socket = TcpStream::connect(relay).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let probe = Identity::relay("probe.example.net", "example.net");
    socket.write_all(&probe.cer(socket.local_addr().unwrap().ip(), 1)).unwrap();
    let mut received = Vec::new();
    let length = loop {
        if let Some(length) = frame(&received, 65_536).unwrap() {
            break length;
        }
        let mut part = [0; 4096];
        let count = socket.read(&mut part).unwrap();
        assert!(count > 0, "closed instead of a CEA");
        received.extend_from_slice(&part[..count]);
    };
    Message::new(&received[..length]).unwrap().find(avp::ORIGIN_STATE_ID).unwrap().u32().unwrap()
}

#[test]
fn a_hundred_reloads_under_load_half_of_them_broken_lose_nothing() {
    let servers = ["hss1", "hss2", "hss3"].map(|name| server(name, Behaviour::default()));
    let [hss1, hss2, hss3] = [0, 1, 2].map(|at: usize| (["hss1", "hss2", "hss3"][at], servers[at].address()));
    let two = File::new(&[hss1, hss2]);
    let mut relay = Relay::start(two.clone());
    let state = origin_state_id(relay.address());
    let load = client(relay.address(), 50);
    eventually("traffic", || load.snapshot().answered > 500);

    let mut third = 0;
    for round in 0..50u32 {
        // Good: other limits, a throttle set that comes and goes, a third server that comes and goes, another listener.
        let mut file = two.clone().with("hss1", &format!("pending_limit = {}", 100 + round));
        if round % 2 == 0 {
            file.servers.push((hss3.0.to_owned(), hss3.1, String::new()));
        }
        if round % 3 == 0 {
            file.rest = "[throttle.gold]\nmax_rate = 10000\n".to_owned();
            file = file.with("hss2", "throttle = \"gold\"");
        }
        if round % 5 == 0 {
            file.listen.push(any_address());
        }
        let before = relay.file.servers.len();
        let reloaded = relay.reload(file.clone()).unwrap();
        assert_eq!(reloaded.kept, 4 + usize::from(before == 3 && file.servers.len() == 3), "{reloaded:?}");
        assert_eq!(
            (reloaded.listening.len(), reloaded.closed.len()),
            (usize::from(round % 5 == 0), usize::from(round % 5 == 1))
        );
        third += u32::from(reloaded.added == ["hss3"]);
        let now = relay.status();
        assert_eq!(connection(&now, "hss1").pending_limit, 100 + round);
        assert_eq!(connection(&now, "hss2").max_rate, (round % 3 == 0).then_some(10_000));

        // Broken, each time elsewhere: nothing changes.
        let line = 3 + round as usize;
        let broken = relay.reload_text(|text| {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.resize(lines.len().max(line), "");
            lines.insert(line - 1, "[[[");
            lines.join("\n")
        });
        let faults = faults(broken);
        assert_eq!(faults[0].line, line, "{faults:?}");
        assert!(relay.log().contains(&format!("line={line} ")), "the log names line {line}");
        assert_eq!(connection(&relay.status(), "hss1").pending_limit, 100 + round);
        std::thread::sleep(Duration::from_millis(5));
    }
    let more = load.snapshot().answered + 500;
    eventually("traffic after the last reload", || load.snapshot().answered > more);
    load.stop();
    let report = load.join();
    assert_clean(&report);
    assert_eq!(third, 25);
    let [hss1, hss2, hss3] = servers.map(|server| server.snapshot());
    assert_eq!((hss1.connections, hss1.connections_lost), (1, 0));
    assert_eq!((hss2.connections, hss2.connections_lost), (1, 0));
    assert_eq!(hss3.connections_lost, 0, "goodbye each time");
    assert!(hss3.connections > 5 && hss3.requests > 0, "{hss3:?}");
    assert_eq!(origin_state_id(relay.address()), state);
    println!(
        "100 reloads, 50 refused; {} requests, all answered; latency p99 {} us, longest {} us",
        report.sent, report.latency.p99, report.latency.max
    );
}

#[test]
fn sighup_and_the_command_reload_with_exit_codes() {
    let hss1 = server("hss1", Behaviour::default());
    let mut relay = Relay::start(File::new(&[("hss1", hss1.address())]));
    let governor = |relay: &Relay, how: [&str; 2]| {
        Command::new(env!("CARGO_BIN_EXE_governor"))
            .arg("reload")
            .args(how)
            .output()
            .map(|out| (relay.log(), out))
            .unwrap()
    };
    let (config, socket) = (relay.config(), relay.socket());
    let (config, socket) = (config.to_str().unwrap(), socket.to_str().unwrap());

    // By signal.
    relay.file = relay.file.clone().with("hss1", "pending_limit = 77");
    let file = relay.file.clone();
    std::fs::write(config, std::fs::read_to_string(config).unwrap().replace("[[route]]", "#\n[[route]]")).unwrap();
    relay.reload(file).unwrap();
    let text = std::fs::read_to_string(config).unwrap();
    std::fs::write(config, text.replace("pending_limit = 77", "pending_limit = 88")).unwrap();
    relay.signal("HUP");
    relay.wait("the limit of the signal's reload", |now| connection(now, "hss1").pending_limit == 88);

    // By command.
    std::fs::write(config, text.replace("pending_limit = 77", "pending_limit = 99")).unwrap();
    let (_, good) = governor(&relay, ["--control", socket]);
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    assert_eq!(String::from_utf8_lossy(&good.stdout), "reloaded: 3 connections stay, 0 added, 0 removed\n");
    assert_eq!(connection(&relay.status(), "hss1").pending_limit, 99);

    let line = 1 + text.lines().position(|line| line.contains("pending_limit = 77")).unwrap();
    std::fs::write(config, text.replace("pending_limit = 77", "pending_limit = 7")).unwrap();
    for how in [["--control", socket], ["--config", config]] {
        let (_, refused) = governor(&relay, how);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(
            message.starts_with(&format!("{config}:{line}: peer[1].connection[1].pending_limit: must be")),
            "{message}"
        );
    }
    relay.signal("HUP");
    eventually("the signal's refusal in the log", || relay.log().matches("nothing has changed").count() >= 2);
    assert_eq!(connection(&relay.status(), "hss1").pending_limit, 99);
}

#[test]
fn what_cannot_change_while_it_runs_is_refused_with_its_line() {
    let hss1 = server("hss1", Behaviour::default());
    let relay = Relay::start(File::new(&[("hss1", hss1.address())]).with("hss1", "pending_limit = 100"));
    let outcome = relay.reload_text(|text| {
        text.replace("gov1.example.net", "gov2.example.net")
            .replace("origin_realm = \"example.net\"", "origin_realm = \"example.org\"")
            .replace("kernel_assist = \"off\"", "kernel_assist = \"auto\"")
            .replace("control.sock", "other.sock")
            .replace("pending_limit = 100", "pending_limit = 200")
    });
    let faults = faults(outcome);
    let told: Vec<_> = faults.iter().map(|fault| (fault.line, fault.key.as_str())).collect();
    let expected = [(2, "node.origin_host"), (3, "node.origin_realm"), (5, "node.kernel_assist"), (7, "node.control")];
    assert_eq!(told, expected);
    let sentence = "cannot change while the agent runs; it runs with \"gov1.example.net\", here is \"gov2.example.net\": restart it";
    assert_eq!(faults[0].message, sentence);
    assert_eq!(connection(&relay.status(), "hss1").pending_limit, 100);
}

#[test]
fn a_limit_lowered_in_use_drops_nothing_and_admits_nothing_until_below_it() {
    let slow = Behaviour { delay: Duration::from_millis(400), ..Behaviour::default() };
    let (hss1, hss2) = (server("hss1", slow.clone()), server("hss2", slow));
    let mut relay = Relay::start(File::new(&[("hss1", hss1.address()), ("hss2", hss2.address())]));
    let load = client(relay.address(), 400);
    relay.wait("200 pending", |now| connection(now, "hss1").pending >= 150);
    let lower = relay.file.clone().with("hss1", "pending_limit = 20");
    relay.reload(lower).unwrap();
    relay.wait("pending below the limit", |now| connection(now, "hss1").pending <= 20);
    let held_back = relay.wait("requests passed it over", |now| {
        connection(now, "hss1").last_refusal.as_ref().is_some_and(|refusal| refusal.reason == "pending_limit")
    });
    let rule = &connection(&held_back, "hss1").last_refusal.as_ref().unwrap().rule;
    assert!(rule.starts_with("rule 5: ") && rule.contains("20 here (pending_limit)"), "{rule}");
    for _ in 0..50 {
        let now = relay.status();
        assert!(connection(&now, "hss1").pending <= 20, "{}", connection(&now, "hss1").pending);
        std::thread::sleep(Duration::from_millis(10));
    }
    load.stop();
    assert_clean(&load.join());
    assert_eq!((hss1.snapshot().connections_lost, hss2.snapshot().connections_lost), (0, 0));
}

#[test]
fn listeners_come_and_go_and_what_came_in_over_them_stays() {
    let hss1 = server("hss1", Behaviour::default());
    let mut relay = Relay::start(File::new(&[("hss1", hss1.address())]).with("hss1", "pending_limit = 100"));
    let old = relay.address();
    let load = client(old, 10);
    eventually("traffic", || load.snapshot().answered > 100);

    // One that cannot be had: nothing changes, the good one beside it included.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let (taken_address, new) = (taken.local_addr().unwrap(), free_address());
    let mut file = relay.file.clone().with("hss1", "pending_limit = 200");
    file.listen = vec![new, taken_address];
    let refused = faults(relay.reload(file.clone()));
    assert_eq!((refused.len(), refused[0].line, refused[0].key.as_str()), (1, 4, "node.listen[2]"));
    assert!(refused[0].message.starts_with(&format!("cannot listen on tcp://{taken_address}: ")), "{refused:?}");
    assert_eq!(connection(&relay.status(), "hss1").pending_limit, 100);
    assert!(TcpStream::connect(new).is_err());
    origin_state_id(old);

    drop(taken);
    let reloaded = relay.reload(file).unwrap();
    assert_eq!(reloaded.listening, [format!("tcp://{new}"), format!("tcp://{taken_address}")]);
    assert_eq!(reloaded.closed, [format!("tcp://{old}")]);
    assert_eq!(relay.status().listeners, reloaded.listening);
    origin_state_id(new);
    eventually("the old address is closed", || TcpStream::connect(old).is_err());
    let more = load.snapshot().answered + 500;
    eventually("traffic over the old address's connection", || load.snapshot().answered > more);
    load.stop();
    assert_clean(&load.join());
}

#[test]
fn a_connection_that_goes_elsewhere_answers_what_is_pending_and_opens_anew() {
    let slow = Behaviour { delay: Duration::from_millis(300), ..Behaviour::default() };
    let (before, after) = (server("hss1", slow), server("hss1", Behaviour::default()));
    let mut relay = Relay::start(File::new(&[("hss1", before.address())]));
    let options = client_options(relay.address(), 20);
    let load = Client::start(&ClientOptions { count: Some(20), ..options }).unwrap();
    eventually("all of them pending", || before.snapshot().requests == 20);
    let mut file = relay.file.clone();
    file.servers[0].1 = after.address();
    let reloaded = relay.reload(file).unwrap();
    assert_eq!(
        (reloaded.added.as_slice(), reloaded.removed.as_slice()),
        (["hss1".to_owned()].as_slice(), ["hss1".to_owned()].as_slice())
    );
    assert_clean(&load.join());
    relay.wait_up();
    assert_eq!(before.snapshot().connections_lost, 0);
    let load = Client::start(&ClientOptions { count: Some(20), ..client_options(relay.address(), 20) });
    // The client's slot may still say goodbye to the former connection.
    let load = load.unwrap();
    assert_clean(&load.join());
    eventually("all of them at the other address", || after.snapshot().requests == 20);
    assert_eq!(before.snapshot().requests, 20);
}

#[test]
fn pressure_levels_come_and_go_with_a_reload() {
    let hss1 = server("hss1", Behaviour::default());
    let plain = File::new(&[("hss1", hss1.address())]).with("hss1", "send_buffer = 524288\npending_limit = 20000");
    let early = plain.clone().with(
        "hss1",
        "send_buffer = 524288\npending_limit = 20000\ntransport_congestion = { pressure = { onset = [2, 3, 4], abatement = [1, 2, 3] } }",
    );
    let mut relay = Relay::start(plain.clone());
    let events = control::events(&relay.socket()).unwrap();
    relay.reload(early).unwrap();
    hss1.change(|behaviour| behaviour.stopped = true);
    let options = client_options(relay.address(), 1000);
    let options = ClientOptions { size: Some(4000), count: Some(20_000), ..options };
    let load = Client::start(&options).unwrap();
    relay.wait("an early level", |now| connection(now, "hss1").levels.transport == 3);
    let why = connection(&relay.status(), "hss1").why.clone();
    assert!(why.contains("bytes queued in the send buffer") && why.contains("every request is held back"), "{why}");
    relay.reload(plain).unwrap();
    relay.wait("no early level", |now| connection(now, "hss1").levels.transport != 3);
    hss1.change(|behaviour| behaviour.stopped = false);
    load.stop();
    let report = load.join();
    assert_eq!((report.answered, report.connections_lost), (report.sent, 0), "{report:?}");
    relay.signal("TERM");
    let causes: Vec<String> = events
        .map(|line| serde_json::from_str::<Event>(&line.unwrap()).unwrap())
        .filter_map(|event| match event.what {
            What::Level { feature: Feature::Transport, cause, .. } => Some(format!("{cause:?}")),
            _ => None,
        })
        .collect();
    assert!(causes[0].starts_with("Pressure"), "{causes:?}");
    assert!(causes.contains(&"Reconfigured".to_owned()), "{causes:?}");
}
