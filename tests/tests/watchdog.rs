//! The watchdog (RFC 3539) against a real peer that stops: suspect, closed, and back.

use anyhow::Result;
use governor_tests::freediameter::{Conduct, Node, Running, number};
use governor_tests::governor::{ADDRESS, Config, Governor, HOST};
use governor_tests::raw::Client;
use governor_tests::wait::secs;
use governor_tests::{NetNs, Outcome, Scratch, eventually};
use std::time::{Duration, Instant};

/// Tw with its jitter of 2 s, and room for a busy machine.
const TW: Duration = secs(6 + 2 + 2);

fn server(ns: &NetNs, scratch: &Scratch, name: &str, address: &str, port: u16) -> Result<Running> {
    Node::server(&format!("{name}.example.net"), address, port, &Conduct::default()).accept(HOST).start(ns, scratch)
}

#[test]
fn a_stopped_server_is_suspect_after_tw_closed_after_another_and_back_after_three_watchdogs() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("watchdog")?);
    let first = server(&ns, &scratch, "first", "10.0.0.2", 3869)?;
    let second = server(&ns, &scratch, "second", "10.0.0.3", 3870)?;
    let config = Config::new("off")
        .client("client.example.net")
        .server("first.example.net", "10.0.0.2:3869", "")
        .server("second.example.net", "10.0.0.3:3870", "")
        .route("example.net", &[&["first"], &["second"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["first", "second"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    assert_eq!(client.peer().exchange("example.net")?, 2001);

    first.process.pause()?;
    let start = Instant::now();
    eventually("first suspect", TW + TW, || governor.cpl("first").is_ok_and(|cpl| cpl == 98).then_some(()))?;
    assert_eq!(governor.connection("first")?["levels"]["status"], 98);
    assert_eq!(client.peer().exchange("example.net")?, 2001, "the other server takes it");
    eventually("first closed", TW, || governor.cpl("first").is_ok_and(|cpl| cpl == 99).then_some(()))?;
    // One Tw until the DWR, one until suspect, one until the close.
    assert!(start.elapsed() >= secs(3 * 4), "closed after {:?}", start.elapsed());
    assert_eq!(client.peer().exchange("example.net")?, 2001);
    eventually("two requests at the second", secs(2), || (number(&second.report(), "/received") == 2).then_some(()))?;

    first.process.resume()?;
    eventually("first back", secs(40), || governor.cpl("first").is_ok_and(|cpl| cpl == 0).then_some(()))?;
    assert_eq!(client.peer().exchange("example.net")?, 2001);
    eventually("the request at the first", secs(2), || (number(&first.report(), "/received") == 2).then_some(()))?;
    Ok(())
}
