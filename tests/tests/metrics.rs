//! The page of metrics of a relay whose sockets the kernel programs measure.

use anyhow::{Context, Result};
use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::kernel::dump;
use governor_tests::raw::{Client, Conduct, Server};
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};
use std::io::{Read, Write};
use std::net::TcpStream;

const METRICS: &str = "10.0.0.1:9868";

/// The page, without the chunks' lengths.
fn scrape(ns: &NetNs) -> Result<String> {
    let mut stream = ns.enter(|| Ok(TcpStream::connect(METRICS)?))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, page) = answer.split_once("\r\n\r\n").context("no body")?;
    Ok(page.to_owned())
}

/// A metric of the connection `stuck`, with these labels more.
fn stuck(page: &str, metric: &str, more: &str) -> Result<f64> {
    let series = format!("governor_connection_{metric}{{connection=\"stuck\",peer=\"stuck.example.net\"{more}}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&series)).with_context(|| format!("no {series}"))?;
    Ok(line.parse()?)
}

#[test]
fn the_page_shows_what_the_kernel_measures_on_a_socket_that_blocks() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("metrics")?);
    let server = Server::start(&ns, "10.0.0.2:3869", "stuck.example.net", Conduct::default())?;
    let _well = Server::start(&ns, "10.0.0.3:3870", "well.example.net", Conduct::default())?;
    let config = Config::new("required")
        .node(&format!("metrics = \"{METRICS}\""))
        .client("client.example.net")
        .server("stuck.example.net", "10.0.0.2:3869", "send_buffer = 65536")
        .server("well.example.net", "10.0.0.3:3870", "pending_limit = 20000")
        .route("example.net", &[&["stuck", "well"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["stuck", "well"])?;
    let page = scrape(&ns)?;
    assert!(page.contains("\ngovernor_kernel_active 1\n"), "{page}");
    assert!(page.contains("\ngovernor_kernel_events_lost_total{program=\"tcp_probe\"} 0\n"));
    assert!(stuck(&page, "blocked_seconds", "")?.abs() < f64::EPSILON);

    server.conduct(Conduct { reading: false, ..Conduct::default() });
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    client.offer(1000, secs(2), 4000, millis(100))?;
    let page = eventually("98 on the page", secs(10), || {
        let page = scrape(&ns).ok()?;
        (stuck(&page, "cpl", "").ok()? > 97.0).then_some(page)
    })?;
    assert!(stuck(&page, "onsets_total", ",feature=\"transport\",level=\"98\"")? >= 1.0);
    assert!(stuck(&page, "kernel_refusals_total", "")? >= 1.0);
    std::thread::sleep(millis(300));
    // Nothing moves on the blocked socket: the page, the status and the map say the same.
    let page = scrape(&ns)?;
    let status = governor.connection("stuck")?;
    let maps = dump(&ns, "connections")?;
    let record = maps
        .iter()
        .map(|entry| &entry["formatted"]["value"])
        .find(|record| record["remote_port"] == 3869)
        .context("its record")?;
    for (metric, field) in [
        ("send_queue_bytes", "queued"),
        ("send_queue_limit_bytes", "limit"),
        ("kernel_sends_total", "sends"),
        ("kernel_refusals_total", "refusals"),
    ] {
        let shown = stuck(&page, metric, "")?;
        assert_eq!(Some(shown), status["kernel"][field].as_f64(), "{metric} and the status: {status}");
        assert_eq!(Some(shown), record[field].as_f64(), "{metric} and the map: {record}");
    }
    assert!(stuck(&page, "send_queue_bytes", "")? > 30_000.0);
    let blocked = stuck(&page, "blocked_seconds", "")?;
    assert!((0.3..30.0).contains(&blocked), "{blocked}");
    assert!(stuck(&page, "level_seconds_total", ",level=\"98\"")? >= 0.3);
    Ok(())
}
