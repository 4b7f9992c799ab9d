//! Egress message throttling (rule 4): a throttle set holds a connection to its rate, whatever is offered.

use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::raw::{Client, Conduct, Server};
use governor_tests::wait::secs;
use governor_tests::{NetNs, Outcome, Scratch};
use std::time::Instant;

const RATE: u64 = 1000;
const OFFERED: u32 = 2000;
const SET: &str = "[throttle.gold]\nmax_rate = 1000";

/// Requests that reached the server in the ten seconds that start one second after the first.
fn over_ten_seconds(arrivals: &[Instant]) -> u64 {
    let Some(first) = arrivals.first() else { return 0 };
    let (from, to) = (*first + secs(1), *first + secs(11));
    arrivals.iter().filter(|at| (from..to).contains(at)).count() as u64
}

fn within_two_percent(count: u64) -> bool {
    (RATE * 10 * 98 / 100..=RATE * 10 * 102 / 100).contains(&count)
}

#[test]
fn a_set_of_1000_under_2000_offered_holds_and_the_excess_goes_to_the_next_connection() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("throttle")?);
    let gold = Server::start(&ns, "10.0.0.2:3869", "gold.example.net", Conduct::default())?;
    let rest = Server::start(&ns, "10.0.0.3:3870", "rest.example.net", Conduct::default())?;
    let config = Config::new("off")
        .client("client.example.net")
        .server("gold.example.net", "10.0.0.2:3869", "throttle = \"gold\"")
        .server("rest.example.net", "10.0.0.3:3870", "")
        .route("example.net", &[&["gold"], &["rest"]])
        .lines(SET);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["gold", "rest"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let outcome = client.offer(OFFERED, secs(12), 0, secs(5))?;
    let held = over_ten_seconds(&gold.arrivals());
    assert!(within_two_percent(held), "{held} requests in 10 s at 1000/s: {}", governor.connection("gold")?);
    assert_eq!((outcome.code(2001), outcome.unanswered), (outcome.sent, 0), "{:?}", outcome.codes);
    assert_eq!(gold.requests() + rest.requests(), outcome.sent);
    Ok(())
}

#[test]
fn with_no_other_connection_the_excess_gets_3004() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("throttle-alone")?);
    let gold = Server::start(&ns, "10.0.0.2:3869", "gold.example.net", Conduct::default())?;
    let config = Config::new("off")
        .client("client.example.net")
        .server("gold.example.net", "10.0.0.2:3869", "throttle = \"gold\"")
        .route("example.net", &[&["gold"]])
        .lines(SET);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["gold"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    let outcome = client.offer(OFFERED, secs(12), 0, secs(5))?;
    let held = over_ten_seconds(&gold.arrivals());
    assert!(within_two_percent(held), "{held} requests in 10 s at 1000/s: {}", governor.connection("gold")?);
    assert_eq!(outcome.code(2001), gold.requests());
    assert_eq!((outcome.code(2001) + outcome.code(3004), outcome.unanswered), (outcome.sent, 0), "{:?}", outcome.codes);
    Ok(())
}
