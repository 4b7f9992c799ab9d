//! What the page costs at 16000 connections.

use super::{metric, series};
use governor::config::parse;
use governor::relay;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

const CONNECTIONS: usize = 16_000;

/// A relay in this process with 16000 configured connections, all with throttle sets, in 50 groups and one route.
#[test]
fn a_scrape_at_16000_connections_takes_under_a_second() {
    let mut text = String::from(
        "[node]\norigin_host = \"gov.example.net\"\norigin_realm = \"example.net\"\nlisten = [\"tcp://127.0.0.1:0\"]\n\
         kernel_assist = \"off\"\ncontrol = \"off\"\nmetrics = \"127.0.0.1:0\"\n[throttle.gold]\nmax_rate = 1000\n",
    );
    let mut weights = String::new();
    for n in 0..CONNECTIONS {
        let _ = write!(text, "[[peer]]\nhost = \"mme{n:05}.example.net\"\nrealm = \"example.net\"\n");
        let _ = write!(text, "[[peer.connection]]\nname = \"mme{n:05}-a\"\nthrottle = \"gold\"\n");
        let _ = write!(weights, "mme{n:05}-a = 1, ");
    }
    let weights = weights.trim_end_matches(", ");
    let _ = write!(
        text,
        "[[route]]\nname = \"all\"\nrealm = \"example.net\"\ngroups = [{{ weights = {{ {weights} }} }}]\n"
    );
    for group in 0..50 {
        let members: Vec<String> = (group * 100..group * 100 + 100).map(|n| format!("\"mme{n:05}-a\"")).collect();
        let _ = write!(text, "[[group]]\nname = \"g{group}\"\nmembers = [{}]\nmax_rate = 1000\n", members.join(", "));
    }
    let config = parse(&text, "f").map_err(|faults| faults.to_string()).unwrap();

    let (started, at) = std::sync::mpsc::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = std::thread::spawn(move || {
        let until = async move {
            let _ = stopped.await;
        };
        relay::start(config, move |relay| started.send(relay.metrics).unwrap(), until)
    });
    let at = at.recv().unwrap().unwrap();
    let mut fastest = Duration::MAX;
    let mut page = String::new();
    for _ in 0..3 {
        let start = Instant::now();
        page = super::exchange(at, "GET /metrics HTTP/1.1\r\n\r\n");
        fastest = fastest.min(start.elapsed());
    }
    stop.send(()).unwrap();
    relay.join().unwrap().unwrap();

    let page = super::whole(page.split_once("\r\n\r\n").unwrap().1);
    let series = series(&page);
    let held = series["governor_sample_seconds"];
    println!(
        "{CONNECTIONS} connections: page of {:.1} MB with {} series in {:.3} s, of which the relay's thread {:.1} ms",
        page.len() as f64 / 1e6,
        series.len(),
        fastest.as_secs_f64(),
        held * 1e3
    );
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for name in series.keys() {
        *count.entry(metric(name)).or_default() += 1;
    }
    assert_eq!(count["governor_connection_cpl"], CONNECTIONS);
    assert_eq!(count["governor_connection_level_seconds_total"], 6 * CONNECTIONS);
    assert!((series["governor_connections{level=\"99\"}"] - CONNECTIONS as f64).abs() < 0.5);
    // Unoptimized code is some ten times slower, and the machine may be busy.
    let (scrape, thread) = if cfg!(debug_assertions) { (20.0, 1.0) } else { (1.0, 0.05) };
    assert!(fastest.as_secs_f64() < scrape, "{fastest:?}");
    assert!(held < thread, "the relay's thread was held for {held} s");
}
