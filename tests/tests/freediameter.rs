//! freeDiameter from Debian as client, server and relay.

use anyhow::Result;
use governor_tests::freediameter::{Conduct, Load, Node, Running, number};
use governor_tests::governor::{Config, Governor, HOST};
use governor_tests::tshark::{Capture, Seen};
use governor_tests::wait::secs;
use governor_tests::{NetNs, Outcome, Scratch, eventually};

fn governed() -> Config {
    Config::new("off")
        .client("client.example.net")
        .server("server.example.net", "10.0.0.2:3869", "")
        .route("example.net", &[&["server"]])
}

fn server(ns: &NetNs, scratch: &Scratch) -> Result<Running> {
    Node::server("server.example.net", "10.0.0.2", 3869, &Conduct::default()).accept(HOST).start(ns, scratch)
}

fn client(ns: &NetNs, scratch: &Scratch, load: &Load<'_>) -> Result<Running> {
    Node::client("client.example.net", "10.0.0.3", 3870, load).connect(HOST, "10.0.0.1", 3868).start(ns, scratch)
}

#[test]
fn client_to_governor_to_server_with_watchdogs_and_a_goodbye() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("fd")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut server = server(&ns, &scratch)?;
    let mut governor = Governor::start(&ns, &scratch, &governed())?;
    governor.up(&["server"])?;
    let load = Load { count: 1000, concurrency: 50, payload: 200, ..Load::default() };
    let mut client = client(&ns, &scratch, &load)?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 1000, "{report}");
    assert_eq!(number(&report, "/origins/server.example.net"), 1000, "{report}");
    // Tw is 6 s with a jitter of 2 s on both sides of both connections.
    std::thread::sleep(secs(9));
    assert!(governor.stop()?.success(), "exit 0 after SIGTERM:\n{}", governor.process.log());
    for node in [&mut client, &mut server] {
        node.process.wait_for_line("sent a DPR with cause: REBOOTING", secs(5))?;
        node.stop()?;
    }
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (2000, 2000));
    assert_eq!((wire.requests(257), wire.answers(257)), (2, 2), "one exchange of capabilities a connection");
    for (name, port) in [("client", 3868), ("server", 3869)] {
        let on = |command: u32, request: bool| {
            let here = |m: &&Seen| m.from == port || m.to == port;
            wire.messages.iter().filter(here).filter(|m| m.command == command && m.is_request() == request).count()
        };
        assert!(on(280, true) >= 1, "a DWR on the {name}'s connection");
        assert_eq!(on(280, true), on(280, false), "each DWR on the {name}'s connection has its DWA");
        assert_eq!((on(282, true), on(282, false)), (1, 1), "DPR and DPA on the {name}'s connection");
    }
    Ok(())
}

#[test]
fn client_to_a_freediameter_relay_to_governor_to_server() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("fd-chain")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut server = server(&ns, &scratch)?;
    let config = Config::new("off")
        .client("relay.example.net")
        .server("server.example.net", "10.0.0.2:3869", "")
        .route("example.net", &[&["server"]]);
    let mut governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["server"])?;
    let mut relay = Node::relay("relay.example.net", "10.0.0.4", 3871)
        .connect(HOST, "10.0.0.1", 3868)
        .accept("client.example.net")
        .start(&ns, &scratch)?;
    relay.open(HOST, secs(10))?;
    let load = Load { count: 500, concurrency: 20, ..Load::default() };
    let mut client = Node::client("client.example.net", "10.0.0.3", 3870, &load)
        .connect("relay.example.net", "10.0.0.4", 3871)
        .start(&ns, &scratch)?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 500, "{report}");
    assert_eq!(number(&report, "/origins/server.example.net"), 500, "{report}");
    client.stop()?;
    relay.stop()?;
    assert!(governor.stop()?.success());
    assert_eq!(number(&server.stop()?, "/answered"), 500);
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (1500, 1500));
    Ok(())
}

#[test]
fn a_server_that_says_goodbye_and_comes_back_is_connected_to_again() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("fd-back")?);
    let mut first = server(&ns, &scratch)?;
    let mut governor = Governor::start(&ns, &scratch, &governed())?;
    governor.up(&["server"])?;
    first.stop()?;
    eventually("connection server down", secs(5), || governor.cpl("server").is_ok_and(|cpl| cpl == 99).then_some(()))?;
    let _second = server(&ns, &scratch)?;
    governor.up(&["server"])?;
    let client = client(&ns, &scratch, &Load { count: 50, concurrency: 5, ..Load::default() })?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 50, "{report}");
    assert!(governor.stop()?.success());
    Ok(())
}

#[test]
fn a_client_gets_3002_from_the_governor_while_no_server_is_up() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("fd-none")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut governor = Governor::start(&ns, &scratch, &governed())?;
    let mut client = client(&ns, &scratch, &Load { count: 20, concurrency: 5, ..Load::default() })?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/3002"), 20, "{report}");
    assert_eq!(number(&report, "/error_bit"), 20, "{report}");
    assert_eq!(number(&report, &format!("/origins/{HOST}")), 20, "{report}");
    client.stop()?;
    assert!(governor.stop()?.success());
    assert_eq!(capture.judge()?.results(3002), 20);
    Ok(())
}

#[test]
fn both_sides_connect_and_one_connection_remains() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("fd-election")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut governor = Governor::start(&ns, &scratch, &governed())?;
    let mut server = Node::server("server.example.net", "10.0.0.2", 3869, &Conduct::default())
        .connect(HOST, "10.0.0.1", 3868)
        .start(&ns, &scratch)?;
    governor.up(&["server"])?;
    let mut client = client(&ns, &scratch, &Load { count: 200, concurrency: 10, ..Load::default() })?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 200, "{report}");
    // Whoever lost the election does not try again while the other connection is open.
    std::thread::sleep(secs(3));
    assert_eq!(governor.cpl("server")?, 0);
    client.stop()?;
    assert!(governor.stop()?.success());
    server.stop()?;
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (400, 400));
    assert!(wire.requests(257) <= 5, "{} CERs", wire.requests(257));
    Ok(())
}
