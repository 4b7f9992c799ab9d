//! Egress throttle groups (rule 6): what two connections may take together.

use anyhow::Result;
use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::raw::{Client, Conduct, Server};
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};
use std::time::Instant;

fn servers(ns: &NetNs, conduct: &Conduct) -> Result<[Server; 2]> {
    Ok([
        Server::start(ns, "10.0.0.2:3869", "a.example.net", conduct.clone())?,
        Server::start(ns, "10.0.0.3:3870", "b.example.net", conduct.clone())?,
    ])
}

fn governor(ns: &NetNs, scratch: &Scratch, group: &str) -> Result<Governor> {
    let config = Config::new("off")
        .node("answer_timeout = \"1s\"\nmax_attempts = 1")
        .client("client.example.net")
        .server("a.example.net", "10.0.0.2:3869", "")
        .server("b.example.net", "10.0.0.3:3870", "")
        .route("example.net", &[&["a", "b"]])
        .lines(&format!("[[group]]\nname = \"site\"\nmembers = [\"a.example.net\", \"b\"]\n{group}"));
    let governor = Governor::start(ns, scratch, &config)?;
    governor.up(&["a", "b"])?;
    Ok(governor)
}

#[test]
fn at_the_shared_pending_limit_neither_member_takes_more() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("groups-pending")?);
    let both = servers(&ns, &Conduct { silent: true, ..Conduct::default() })?;
    let governor = governor(&ns, &scratch, "mode = \"limit\"\nmax_pending = 100")?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let outcome = client.offer(1000, millis(130), 0, secs(8))?;
    assert_eq!((outcome.code(3004), outcome.code(3002), outcome.unanswered), (30, 100, 0), "{outcome:?}");
    assert_eq!(both.each_ref().map(Server::requests), [50, 50]);
    let held: u64 = ["a", "b"].map(|name| governor.connection(name)).into_iter().try_fold(0, |sum, connection| {
        let group = &connection?["counters"]["held_back"]["group"][0];
        anyhow::Ok(sum + group.as_u64().unwrap_or(0))
    })?;
    assert_eq!(held, 60, "each of the thirty was held back on both members");
    let pending = eventually("the records to be free", secs(2), || {
        let group = governor.status().ok()?["groups"][0]["pending"].as_u64()?;
        (group == 0).then_some(group)
    })?;
    assert_eq!(pending, 0);
    Ok(())
}

#[test]
fn the_shared_rate_holds_over_both_members_together() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("groups-rate")?);
    let both = servers(&ns, &Conduct::default())?;
    let governor = governor(&ns, &scratch, "mode = \"limit\"\nmax_rate = 200")?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let outcome = client.offer(800, secs(5), 0, secs(5))?;
    assert_eq!((outcome.code(2001) + outcome.code(3004), outcome.unanswered), (outcome.sent, 0), "{outcome:?}");
    let mut arrivals: Vec<Instant> = both.iter().flat_map(Server::arrivals).collect();
    arrivals.sort_unstable();
    let first = *arrivals.first().ok_or_else(|| anyhow::anyhow!("nothing arrived"))?;
    let in_four = arrivals.iter().filter(|at| **at < first + secs(4)).count();
    assert!((784..=816).contains(&in_four), "{in_four} requests in 4 s at 200/s: {}", governor.status()?["groups"]);
    Ok(())
}
