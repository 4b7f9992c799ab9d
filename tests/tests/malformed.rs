//! Malformed and misplaced input gets the RFC's answer or a close, and the other connections are untouched.

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use governor_core::diameter::codes::{avp, command};
use governor_core::diameter::{Builder, Header, Message};
use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::raw::{COMMAND, Client, Conduct, Peer, Received, Server};
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};
use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

const REALM: &str = "example.net";
/// `connect_timeout` and `message_timeout`, with room for a busy machine.
const PATIENCE: Duration = secs(5);

/// A governor with a server, a client that behaves, and one that will not.
struct Scene {
    ns: NetNs,
    _scratch: Scratch,
    server: Server,
    governor: Governor,
    good: Client,
}

impl Scene {
    fn new(name: &str) -> Result<Self> {
        let (ns, scratch) = (NetNs::new()?, Scratch::new(name)?);
        let server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", Conduct::default())?;
        let config = Config::new("off")
            .node("connect_timeout = \"1s\"\nmessage_timeout = \"1s\"\nanswer_timeout = \"1s\"")
            .client("good.example.net")
            .client("bad.example.net")
            .server("server.example.net", "10.0.0.2:3869", "")
            .route(REALM, &[&["server"]]);
        let governor = Governor::start(&ns, &scratch, &config)?;
        governor.up(&["server"])?;
        let mut good = Client::open(&ns, ADDRESS, "good.example.net", REALM)?;
        assert_eq!(good.peer().exchange(REALM)?, 2001);
        Ok(Self { ns, _scratch: scratch, server, governor, good })
    }

    /// A connection of the other client's, open.
    fn bad(&self) -> Result<Peer> {
        Peer::open(&self.ns, ADDRESS, "bad.example.net")
    }

    /// A connection on which nothing was said yet.
    fn stranger(&self) -> Result<Peer> {
        Peer::connect(&self.ns, ADDRESS, "bad.example.net")
    }

    /// The others are untouched: the same connections go on.
    fn others_go_on(mut self) -> Result<()> {
        assert_eq!(self.good.peer().exchange(REALM)?, 2001);
        assert_eq!(self.server.connections(), 1);
        assert!(self.server.trouble().is_empty(), "{:?}", self.server.trouble());
        assert!(self.governor.process.exited().is_none(), "the governor runs");
        Ok(())
    }
}

/// The answer with that code, then a close; a close without an answer is the RFC's other way.
fn answered_or_not_then_closed(peer: &mut Peer, code: u32) -> Result<()> {
    if let Received::Message(bytes) = peer.receive(PATIENCE)? {
        let answer = Message::new(&bytes).context("an answer shorter than a header")?;
        assert_eq!(answer.find(avp::RESULT_CODE).and_then(|a| a.u32()), Some(code));
    }
    peer.closed(PATIENCE)
}

/// A request with its header's length changed.
fn with_length(request: &[u8], length: u32) -> Vec<u8> {
    let mut out = request.to_vec();
    out[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
    out
}

/// A request with an AVP at its end whose length field says `length`.
fn with_last_avp(peer: &mut Peer, length: u8) -> Bytes {
    let mut out = BytesMut::from(&peer.request(REALM, 0)[..]);
    out.extend_from_slice(&[0, 0, 0, 25, 0x40, 0, 0, length, 1, 2, 3, 4]);
    let total = out.len();
    with_length(&out, u32::try_from(total).unwrap_or_default()).into()
}

#[test]
fn a_wrong_version_is_answered_5011_and_the_connection_closed() -> Outcome {
    let scene = Scene::new("version")?;
    let mut bad = scene.bad()?;
    let mut request = bad.request(REALM, 0).to_vec();
    request[0] = 2;
    bad.send(&request)?;
    answered_or_not_then_closed(&mut bad, 5011)?;
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_length_below_20_is_answered_5015_and_the_connection_closed() -> Outcome {
    let scene = Scene::new("short")?;
    for length in [0, 4, 16] {
        let mut bad = scene.bad()?;
        let request = with_length(&bad.request(REALM, 0), length);
        bad.send(&request)?;
        answered_or_not_then_closed(&mut bad, 5015)?;
        scene.governor.connection("bad").and_then(|_| eventually("bad down", PATIENCE, || down(&scene.governor)))?;
    }
    scene.others_go_on()?;
    Ok(())
}

fn down(governor: &Governor) -> Option<()> {
    governor.cpl("bad").is_ok_and(|cpl| cpl == 99).then_some(())
}

#[test]
fn a_length_that_is_no_multiple_of_4_is_answered_5015_and_the_connection_closed() -> Outcome {
    let scene = Scene::new("odd")?;
    let mut bad = scene.bad()?;
    let request = bad.request(REALM, 0);
    let odd = with_length(&request, u32::try_from(request.len())? - 2);
    bad.send(&odd)?;
    answered_or_not_then_closed(&mut bad, 5015)?;
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn an_avp_of_length_0_is_answered_5014_with_its_header_and_the_connection_kept() -> Outcome {
    let scene = Scene::new("avp-0")?;
    let mut bad = scene.bad()?;
    let request = with_last_avp(&mut bad, 0);
    refused_with_failed_avp(&scene, &mut bad, &request)?;
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn an_avp_past_the_end_is_answered_5014_with_its_header_and_the_connection_kept() -> Outcome {
    let scene = Scene::new("avp-past")?;
    let mut bad = scene.bad()?;
    let request = with_last_avp(&mut bad, 200);
    refused_with_failed_avp(&scene, &mut bad, &request)?;
    scene.others_go_on()?;
    Ok(())
}

fn refused_with_failed_avp(scene: &Scene, bad: &mut Peer, request: &[u8]) -> Result<()> {
    let before = scene.server.requests();
    bad.send(request)?;
    let bytes = bad.message()?;
    let answer = Message::new(&bytes).context("an answer shorter than a header")?;
    assert_eq!(answer.find(avp::RESULT_CODE).and_then(|a| a.u32()), Some(5014));
    assert_eq!(Header::parse(request).map(|h| h.hop_by_hop), Some(answer.header.hop_by_hop));
    let failed = answer.find(avp::FAILED_AVP).context("no Failed-AVP")?;
    assert_eq!(failed.data[..4], [0, 0, 0, 25], "the header of the AVP at fault");
    assert_eq!(bad.exchange(REALM)?, 2001, "the connection is kept");
    assert_eq!(scene.server.requests(), before + 1, "the malformed request was not relayed");
    Ok(())
}

#[test]
fn a_thousand_length_bombs_take_no_memory() -> Outcome {
    let scene = Scene::new("bomb")?;
    let (soft, hard) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE)?;
    let resident = || -> Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", scene.governor.process.pid()))?;
        let line = text.lines().find(|l| l.starts_with("VmRSS:")).context("no VmRSS")?;
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).context("VmRSS")
    };
    // The governor has raised its own limit of open files by now; this is the test's.
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, hard.min(8192).max(soft), hard)?;
    let before = resident()?;
    let bomb = [1, 0xff, 0xff, 0xfc, 0x80, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    let mut bombs = Vec::new();
    let mut most = before;
    for n in 0..1000 {
        let mut peer = scene.stranger()?;
        peer.send(&bomb)?;
        bombs.push(peer);
        if n % 100 == 99 {
            most = most.max(resident()?);
        }
    }
    for peer in &mut bombs {
        peer.closed(PATIENCE)?;
    }
    most = most.max(resident()?);
    assert!(most < before + 32 * 1024, "resident memory grew from {before} to {most} KiB");
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_truncated_header_on_an_open_connection_ends_it() -> Outcome {
    let scene = Scene::new("truncated")?;
    let mut bad = scene.bad()?;
    let request = bad.request(REALM, 0);
    bad.send(&request[..10])?;
    bad.closed(PATIENCE)?;
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_truncated_header_before_the_end_of_the_stream_is_no_message() -> Outcome {
    let scene = Scene::new("truncated-end")?;
    let mut bad = scene.bad()?;
    let before = scene.server.requests();
    let request = bad.request(REALM, 0);
    bad.send(&request[..10])?;
    bad.stream().shutdown(Shutdown::Write)?;
    bad.closed(PATIENCE)?;
    assert_eq!(scene.server.requests(), before);
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_cer_that_never_ends_is_closed_on() -> Outcome {
    let scene = Scene::new("endless-cer")?;
    let mut bad = scene.stranger()?;
    let cer = bad.cer();
    let endless = with_length(&cer, 4096);
    bad.send(&endless)?;
    let start = Instant::now();
    let mut stream = bad.stream().try_clone()?;
    // One byte now and then keeps it alive by no measure.
    while stream.write_all(&[0]).is_ok() {
        assert!(start.elapsed() < PATIENCE, "still open after {PATIENCE:?}");
        std::thread::sleep(millis(100));
    }
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn an_answer_with_an_unknown_hop_by_hop_is_dropped_and_the_connection_kept() -> Outcome {
    let scene = Scene::new("unknown-id")?;
    let mut bad = scene.bad()?;
    let request = bad.request_with(0x1234_5678, REALM, 0);
    let answer = bad.answer(&Message::new(&request).context("a request")?, 2001, None);
    bad.send(&answer)?;
    assert_eq!(bad.exchange(REALM)?, 2001);
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_second_cer_closes_the_connection() -> Outcome {
    let scene = Scene::new("second-cer")?;
    let mut bad = scene.bad()?;
    let cer = bad.cer();
    bad.send(&cer)?;
    bad.closed(PATIENCE)?;
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_request_before_the_cer_closes_the_connection_unanswered() -> Outcome {
    let scene = Scene::new("early")?;
    let before = scene.server.requests();
    let mut bad = scene.stranger()?;
    let request = bad.request(REALM, 0);
    bad.send(&request)?;
    assert_eq!(bad.receive(PATIENCE)?, Received::Closed);
    assert_eq!(scene.server.requests(), before);
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_cer_of_nobody_known_is_answered_3010_and_the_connection_closed() -> Outcome {
    let scene = Scene::new("unknown-peer")?;
    let mut peer = Peer::connect(&scene.ns, ADDRESS, "nobody.example.net")?;
    let cer = peer.cer();
    peer.send(&cer)?;
    let (header, code) = peer.result()?;
    assert_eq!((header.command, code), (command::CAPABILITIES_EXCHANGE, Some(3010)));
    assert!(header.flags.is_error());
    peer.closed(PATIENCE)?;
    scene.others_go_on()?;
    Ok(())
}

#[test]
fn a_malformed_answer_of_a_server_leaves_no_client_without_one() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("bad-answer")?);
    let listener = ns.enter(|| Ok(std::net::TcpListener::bind("10.0.0.2:3869")?))?;
    let config = Config::new("off")
        .node("answer_timeout = \"1s\"")
        .client("good.example.net")
        .server("server.example.net", "10.0.0.2:3869", "")
        .route(REALM, &[&["server"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    let mut server = Peer::accept(&listener, "server.example.net")?;
    server.answer_cer()?;
    governor.up(&["server"])?;
    let mut client = Peer::open(&ns, ADDRESS, "good.example.net")?;
    let request = client.request(REALM, 0);
    client.send(&request)?;
    let relayed = server.message()?;
    let relayed = Message::new(&relayed).context("a request")?;
    assert_eq!(relayed.header.command, COMMAND);
    let mut answer = BytesMut::from(&Builder::answer(&relayed.header).u32(avp::RESULT_CODE, 2001).finish()[..]);
    answer.extend_from_slice(&[0, 0, 1, 8, 0x40, 0, 0, 0]);
    let length = u32::try_from(answer.len())?;
    server.send(&with_length(&answer, length))?;
    let (header, code) = client.result()?;
    assert_eq!(Header::parse(&request).map(|h| h.hop_by_hop), Some(header.hop_by_hop));
    assert!(code.is_some(), "an answer, the server's own bytes or one of ours");
    Ok(())
}

#[test]
fn a_message_of_60_kb_passes_whole_and_one_over_max_message_closes_the_connection() -> Outcome {
    let scene = Scene::new("large")?;
    let mut bad = scene.bad()?;
    let request = bad.request(REALM, 60_000);
    bad.send(&request)?;
    assert_eq!(bad.result()?.1, Some(2001));
    let request = bad.request(REALM, 70_000);
    // The rest of it may find the connection closed.
    let _ = bad.send(&request);
    answered_or_not_then_closed(&mut bad, 5015)?;
    scene.others_go_on()?;
    Ok(())
}
