//! The harness by itself, without the governor: what the other tests stand on.

use governor_tests::erlang;
use governor_tests::freediameter::{Conduct, Load, Node, number};
use governor_tests::raw::{self, Client, Peer, Server};
use governor_tests::tshark::Capture;
use governor_tests::wait::secs;
use governor_tests::{NetNs, Outcome, Scratch, eventually};

#[test]
fn freediameter_to_freediameter_to_freediameter() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("fd-relay")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut server = Node::server("server.example.net", "10.0.0.2", 3869, &Conduct::default())
        .accept("relay.example.net")
        .start(&ns, &scratch)?;
    let mut relay = Node::relay("relay.example.net", "10.0.0.1", 3868)
        .connect("server.example.net", "10.0.0.2", 3869)
        .accept("client.example.net")
        .start(&ns, &scratch)?;
    relay.open("server.example.net", secs(10))?;
    let load = Load { count: 500, concurrency: 20, payload: 100, ..Load::default() };
    let mut client = Node::client("client.example.net", "10.0.0.3", 3870, &load)
        .connect("relay.example.net", "10.0.0.1", 3868)
        .start(&ns, &scratch)?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 500, "{report}");
    assert_eq!(number(&report, "/origins/server.example.net"), 500, "{report}");
    client.stop()?;
    relay.stop()?;
    assert_eq!(number(&server.stop()?, "/answered"), 500);
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (1000, 1000));
    assert_eq!((wire.requests(257), wire.answers(257)), (2, 2));
    assert!(wire.requests(282) >= 2 && wire.answers(282) >= 2, "DPR and DPA at the end");
    Ok(())
}

#[test]
fn erlang_to_freediameter_to_erlang() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("erlang-fd")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut server = erlang::Node::server(&ns, &scratch, "server.example.net", "10.0.0.2:3869", &[])?;
    let mut relay = Node::relay("relay.example.net", "10.0.0.1", 3868)
        .connect("server.example.net", "10.0.0.2", 3869)
        .accept("client.example.net")
        .start(&ns, &scratch)?;
    relay.open("server.example.net", secs(10))?;
    let mut client =
        erlang::Node::client(&ns, &scratch, "client.example.net", "10.0.0.1:3868", 200, &["concurrency=10"])?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 200, "{report}");
    assert_eq!(number(&report, "/origins/server.example.net"), 200, "{report}");
    assert_eq!(number(&server.stop()?, "/received"), 200);
    relay.stop()?;
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (400, 400));
    assert!(wire.requests(282) >= 2, "DPR at the end");
    Ok(())
}

#[test]
fn script_to_freediameter_to_script() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("raw-fd")?);
    let capture = Capture::start(&ns, &scratch)?;
    let server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", raw::Conduct::default())?;
    let mut relay = Node::relay("relay.example.net", "10.0.0.1", 3868)
        .connect("server.example.net", "10.0.0.2", 3869)
        .accept("client.example.net")
        .start(&ns, &scratch)?;
    relay.open("server.example.net", secs(10))?;
    let mut client = Client::open(&ns, "10.0.0.1:3868", "client.example.net", "example.net")?;
    let outcome = client.offer(500, secs(2), 4000, secs(5))?;
    assert_eq!((outcome.sent, outcome.code(2001), outcome.unanswered, outcome.stray), (1000, 1000, 0, 0));
    assert_eq!((server.requests(), outcome.from("server.example.net")), (1000, 1000));
    client.peer().disconnect()?;
    relay.stop()?;
    assert!(server.trouble().is_empty(), "{:?}", server.trouble());
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316), wire.results(2001) >= 2000), (2000, 2000, true));
    Ok(())
}

#[test]
fn the_judge_finds_a_malformed_message() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("judge")?);
    let capture = Capture::start(&ns, &scratch)?;
    let server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", raw::Conduct::default())?;
    let mut peer = Peer::open(&ns, "10.0.0.2:3869", "client.example.net")?;
    assert_eq!(peer.exchange("example.net")?, 2001);
    let mut bad = peer.request("example.net", 0).to_vec();
    bad[27] = 3; // the length of the first AVP
    peer.send(&bad)?;
    eventually("the message's arrival", secs(2), || (server.requests() == 2).then_some(()))?;
    let verdict = capture.judge();
    assert!(verdict.is_err(), "{verdict:?}");
    Ok(())
}

#[test]
fn the_judge_finds_bytes_that_are_not_diameter() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("judge-bytes")?);
    let capture = Capture::start(&ns, &scratch)?;
    let server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", raw::Conduct::default())?;
    let mut peer = Peer::open(&ns, "10.0.0.2:3869", "client.example.net")?;
    peer.send(b"GET / HTTP/1.1\r\nHost: example.net\r\n\r\n")?;
    eventually("the server's complaint", secs(2), || (!server.trouble().is_empty()).then_some(()))?;
    let verdict = capture.judge();
    assert!(verdict.is_err(), "{verdict:?}");
    Ok(())
}
