//! Pending transactions (rule 5): the limit of a connection, and the end of records without an answer.

use anyhow::Result;
use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::raw::{Client, Conduct, Server};
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};

const LIMIT: &str = "pending_limit = 10";

fn pending(governor: &Governor, name: &str) -> Result<u64> {
    Ok(governor.connection(name)?["pending"].as_u64().unwrap_or(u64::MAX))
}

#[test]
fn the_eleventh_request_to_a_silent_server_goes_elsewhere_and_the_timeout_frees_the_records() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("pending")?);
    let silent =
        Server::start(&ns, "10.0.0.2:3869", "silent.example.net", Conduct { silent: true, ..Conduct::default() })?;
    let other = Server::start(&ns, "10.0.0.3:3870", "other.example.net", Conduct::default())?;
    let config = Config::new("off")
        .node("answer_timeout = \"2s\"")
        .client("client.example.net")
        .server("silent.example.net", "10.0.0.2:3869", LIMIT)
        .server("other.example.net", "10.0.0.3:3870", "")
        .route("example.net", &[&["silent"], &["other"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["silent", "other"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;

    let outcome = std::thread::scope(|scope| -> Result<_> {
        let load = scope.spawn(|| client.offer(100, millis(300), 0, secs(8)));
        eventually("ten pending records", secs(1), || {
            pending(&governor, "silent").is_ok_and(|n| n == 10).then_some(())
        })?;
        eventually("the other twenty", secs(1), || (other.requests() == 20).then_some(()))?;
        assert_eq!(silent.requests(), 10);
        load.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    })?;
    // The ten are tried again on the other connection after the timeout, with the T bit.
    assert_eq!((outcome.sent, outcome.code(2001), outcome.unanswered), (30, 30, 0), "{outcome:?}");
    assert_eq!((other.requests(), other.retransmitted()), (30, 10));
    assert_eq!(pending(&governor, "silent")?, 0);
    assert_eq!(pending(&governor, "other")?, 0);

    // The records are free: the connection takes ten again.
    let again = client.offer(100, millis(100), 0, secs(8))?;
    assert_eq!((again.code(2001), silent.requests()), (10, 20), "{again:?}");
    assert!(silent.trouble().is_empty() && other.trouble().is_empty());
    Ok(())
}

#[test]
fn with_no_other_connection_the_eleventh_gets_3004_and_the_ten_3002() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("pending-alone")?);
    let silent =
        Server::start(&ns, "10.0.0.2:3869", "silent.example.net", Conduct { silent: true, ..Conduct::default() })?;
    let config = Config::new("off")
        .node("answer_timeout = \"1s\"")
        .client("client.example.net")
        .server("silent.example.net", "10.0.0.2:3869", LIMIT)
        .route("example.net", &[&["silent"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["silent"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let outcome = client.offer(100, millis(150), 0, secs(8))?;
    assert_eq!((outcome.code(3004), outcome.code(3002), outcome.unanswered), (5, 10, 0), "{outcome:?}");
    assert_eq!(silent.requests(), 10);
    assert_eq!(pending(&governor, "silent")?, 0);
    Ok(())
}
