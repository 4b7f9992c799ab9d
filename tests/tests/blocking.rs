//! Egress transport congestion (rule 3): a server that stops reading.

use anyhow::{Context, Result};
use governor_tests::freediameter;
use governor_tests::governor::{ADDRESS, Config, Governor, HOST};
use governor_tests::kernel::{dump, monotonic};
use governor_tests::raw::{Client, Conduct, Peer, Received, Server, Tally};
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};
use serde_json::Value;
use std::time::{Duration, Instant};

const PAYLOAD: usize = 4000;
/// What the client that does not read its answers sends.
const REQUESTS: u64 = 2000;

fn config(kernel_assist: &str) -> Config {
    let connection = "pending_limit = 20000\ntransport_congestion = { abatement = \"3s\" }";
    Config::new(kernel_assist)
        .node("answer_timeout = \"5s\"")
        .client("client.example.net")
        .server("stuck.example.net", "10.0.0.2:3869", &format!("{connection}\nsend_buffer = 65536"))
        .server("well.example.net", "10.0.0.3:3870", connection)
        .route("example.net", &[&["stuck", "well"]])
}

/// What the kernel's maps say of the connection to that port: its record and its levels.
fn in_the_kernel(ns: &NetNs, port: u16) -> Result<(Value, Value)> {
    let connections = dump(ns, "connections")?;
    let here = |entry: &&Value| entry["formatted"]["value"]["remote_port"] == port;
    let entry = connections.iter().find(here).with_context(|| format!("port {port} is not in {connections:?}"))?;
    let cookie = &entry["formatted"]["key"];
    let levels = dump(ns, "levels")?;
    let level = levels.iter().find(|l| l["formatted"]["key"] == *cookie).context("its cookie is not in levels")?;
    Ok((entry["formatted"]["value"].clone(), level["formatted"]["value"].clone()))
}

/// Lets the server read again, and follows the CPL down from 98 to 0: each level, and when it was first seen.
fn descent(governor: &Governor, read_again: impl FnOnce() -> Result<()>) -> Result<Vec<(u64, Instant)>> {
    let mut seen = vec![(governor.cpl("stuck")?, Instant::now())];
    read_again()?;
    eventually("level 0", secs(12), || {
        let cpl = governor.cpl("stuck").ok()?;
        if seen.last().is_none_or(|(last, _)| *last != cpl) {
            seen.push((cpl, Instant::now()));
        }
        (cpl == 0).then_some(())
    })
    .with_context(|| format!("seen: {seen:?}"))?;
    Ok(seen)
}

/// Every level for the configured 3 s, the shortest there is.
fn assert_steps(seen: &[(u64, Instant)]) {
    let levels: Vec<u64> = seen.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [98, 3, 2, 1, 0]);
    for pair in seen[1..].windows(2) {
        let time = pair[1].1 - pair[0].1;
        assert!((millis(2700)..millis(4500)).contains(&time), "level {} for {time:?}", pair[0].0);
    }
}

fn assert_none_lost(outcome: &Tally) {
    assert_eq!((outcome.unanswered, outcome.stray), (0, 0), "{:?}", outcome.codes);
    assert_eq!(outcome.code(2001), outcome.sent, "each by one server or the other: {:?}", outcome.codes);
}

#[test]
fn a_server_that_stops_reading_is_at_98_within_100_ms_and_comes_back_in_steps_and_nothing_is_lost() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("blocking")?);
    let stuck = Server::start(&ns, "10.0.0.2:3869", "stuck.example.net", Conduct::default())?;
    let well = Server::start(&ns, "10.0.0.3:3870", "well.example.net", Conduct::default())?;
    let mut governor = Governor::start(&ns, &scratch, &config("required"))?;
    governor.up(&["stuck", "well"])?;
    let (_, level) = in_the_kernel(&ns, 3869)?;
    assert_eq!(level["cpl"], 0, "{level}");
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;

    let outcome = std::thread::scope(|scope| -> Result<Tally> {
        let load = scope.spawn(|| client.offer(500, secs(6), PAYLOAD, secs(15)));
        std::thread::sleep(secs(1));
        stuck.conduct(Conduct { reading: false, ..Conduct::default() });
        let (record, level, seen) = eventually("98 in the kernel's map", secs(5), || {
            let (record, level) = in_the_kernel(&ns, 3869).ok()?;
            let blocked = level["cpl"] == 98 && record["blocked_since"] != 0;
            blocked.then(|| (record, level, monotonic()))
        })?;
        // The first failed write: when the kernel refused it.
        let failed = Duration::from_nanos(record["blocked_since"].as_u64().context("no blocked_since")?);
        let late = seen.saturating_sub(failed);
        assert!(late <= millis(100), "98 was seen {late:?} after the first failed write");
        assert_eq!((&level["transport"], &level["remote_busy"]), (&Value::from(98), &Value::from(0)), "{level}");
        assert!(record["refusals"].as_u64() >= Some(1), "{record}");
        assert_eq!(governor.cpl("stuck")?, 98);
        assert_eq!(governor.cpl("well")?, 0);
        let before = well.requests();
        std::thread::sleep(secs(1));
        let taken = well.requests() - before;
        assert!(taken >= 450, "all requests flow to the other server: {taken} of 500");
        assert_steps(&descent(&governor, || {
            stuck.conduct(Conduct::default());
            Ok(())
        })?);
        load.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    })?;
    assert_none_lost(&outcome);
    let connection = governor.connection("stuck")?;
    assert_eq!(connection["pending"], 0, "{connection}");
    let held_back = connection.pointer("/counters/held_back/cpl/0").and_then(Value::as_u64);
    assert!(held_back > Some(450), "what went elsewhere is counted: {connection}");
    assert_eq!(in_the_kernel(&ns, 3869)?.1["cpl"], 0);
    assert!(stuck.trouble().is_empty(), "no frame was torn: {:?}", stuck.trouble());
    assert!(governor.stop()?.success());
    Ok(())
}

#[test]
fn requests_taken_for_a_connection_that_blocks_go_to_the_other_and_are_counted() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("blocking-burst")?);
    let stuck = Server::start(&ns, "10.0.0.2:3869", "stuck.example.net", Conduct::default())?;
    let well = Server::start(&ns, "10.0.0.3:3870", "well.example.net", Conduct::default())?;
    let governor = Governor::start(&ns, &scratch, &config("off"))?;
    governor.up(&["stuck", "well"])?;
    stuck.conduct(Conduct { reading: false, ..Conduct::default() });
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    // Small, and all there before the governor reads on, so that each of its reads and writes has many: more than the
    // buffers of the stuck server hold, and less than those of the other, which a busy machine may keep from reading too.
    governor.process.pause()?;
    let tally = std::thread::scope(|scope| -> Result<Tally> {
        let load = scope.spawn(|| client.offer(200_000, millis(15), PAYLOAD / 10, secs(12)));
        std::thread::sleep(millis(500));
        governor.process.resume()?;
        load.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    })?;
    assert_none_lost(&tally);
    let counters = &governor.connection("stuck")?["counters"];
    let count = |name: &str| counters[name].as_u64().unwrap_or_default();
    let rerouted = counters["discarded"]["requests_rerouted"].as_u64().unwrap_or_default();
    assert!(rerouted > 0, "{counters}");
    assert_eq!(counters["discarded"]["answers"], 0, "{counters}");
    // Those in the socket's buffer got their answers from the other server after the timeout.
    assert_eq!(well.requests(), tally.sent, "each went to the well server in the end");
    assert_eq!(well.retransmitted(), count("timeouts"), "with the T bit only where the first may have arrived");
    // A message counts as sent with its last byte: one has begun and waits for its turn.
    assert!((0..=1).contains(&(count("timeouts") - count("requests_sent"))), "{counters}");
    Ok(())
}

#[test]
fn without_the_kernel_programs_the_level_is_the_same() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("blocking-off")?);
    let stuck = Server::start(&ns, "10.0.0.2:3869", "stuck.example.net", Conduct::default())?;
    let _well = Server::start(&ns, "10.0.0.3:3870", "well.example.net", Conduct::default())?;
    let governor = Governor::start(&ns, &scratch, &config("off"))?;
    governor.up(&["stuck", "well"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let outcome = std::thread::scope(|scope| -> Result<Tally> {
        let load = scope.spawn(|| client.offer(500, secs(4), PAYLOAD, secs(15)));
        std::thread::sleep(millis(500));
        stuck.conduct(Conduct { reading: false, ..Conduct::default() });
        eventually("98", secs(5), || governor.cpl("stuck").is_ok_and(|cpl| cpl == 98).then_some(()))?;
        std::thread::sleep(millis(500));
        assert_steps(&descent(&governor, || {
            stuck.conduct(Conduct::default());
            Ok(())
        })?);
        load.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    })?;
    assert_none_lost(&outcome);
    Ok(())
}

#[test]
fn a_stopped_freediameter_server_blocks_and_recovers_and_nothing_is_lost() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("blocking-fd")?);
    ns.sysctl("net/ipv4/tcp_rmem", "4096 32768 65536")?;
    let stuck = freediameter::Node::server("stuck.example.net", "10.0.0.2", 3869, &freediameter::Conduct::default())
        .accept(HOST)
        .start(&ns, &scratch)?;
    let well = Server::start(&ns, "10.0.0.3:3870", "well.example.net", Conduct::default())?;
    let governor = Governor::start(&ns, &scratch, &config("off"))?;
    governor.up(&["stuck", "well"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let outcome = std::thread::scope(|scope| -> Result<Tally> {
        let load = scope.spawn(|| client.offer(500, secs(4), PAYLOAD, secs(15)));
        std::thread::sleep(millis(500));
        stuck.process.pause()?;
        eventually("98", secs(5), || governor.cpl("stuck").is_ok_and(|cpl| cpl == 98).then_some(()))?;
        let before = well.requests();
        std::thread::sleep(secs(1));
        assert!(well.requests() - before >= 450, "all requests flow to the other server");
        assert_steps(&descent(&governor, || stuck.process.resume())?);
        load.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    })?;
    assert_none_lost(&outcome);
    Ok(())
}

#[test]
fn a_client_that_stops_reading_loses_answers_that_are_counted_and_nobody_else_loses_any() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("blocking-client")?);
    ns.sysctl("net/ipv4/tcp_rmem", "4096 8192 8192")?;
    let server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", Conduct::default())?;
    let config = Config::new("off")
        .client_with("deaf.example.net", "send_buffer = 8192")
        .client("client.example.net")
        .server("server.example.net", "10.0.0.2:3869", "pending_limit = 20000")
        .route("example.net", &[&["server"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["server"])?;
    let mut deaf = Peer::open(&ns, ADDRESS, "deaf.example.net")?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let tally = std::thread::scope(|scope| -> Result<Tally> {
        let load = scope.spawn(|| client.offer(200, secs(3), 0, secs(5)));
        for _ in 0..REQUESTS {
            let request = deaf.request("example.net", 0);
            deaf.send(&request)?;
        }
        eventually("98", secs(5), || governor.cpl("deaf").is_ok_and(|cpl| cpl == 98).then_some(()))?;
        load.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    })?;
    assert_none_lost(&tally);
    let connection = governor.connection("deaf")?;
    let discarded = connection["counters"]["discarded"]["answers"].as_u64().context("no count of answers")?;
    assert!(discarded > 0, "{connection}");
    // It reads again: whole answers, as many as were not discarded, and the connection goes on.
    let mut received = 0;
    while let Received::Message(_) = deaf.receive(millis(500))? {
        received += 1;
    }
    assert_eq!(received + discarded, REQUESTS, "{connection}");
    assert_eq!(deaf.exchange("example.net")?, 2001, "answers pass level 3");
    assert_eq!(server.requests(), REQUESTS + tally.sent + 1);
    Ok(())
}
