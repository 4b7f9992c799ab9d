//! One slow peer must not slow the others (field report: freeDiameter #21, four clients of 50 requests/s each and a server
//! that answers after 5 s).

use anyhow::Result;
use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::raw::{Client, Conduct, Server, Tally};
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch};
use std::time::Duration;

const LENGTH: Duration = secs(6);
const PAYLOAD: usize = 4000;
/// A tenth is the goal. On a busy machine the scheduler alone moves a p99 of a millisecond by a few.
const NOISE: Duration = millis(5);

/// Two clients of 50 requests/s to each realm at one time; what became of those to the well one.
fn load(clients: &mut [Client]) -> Result<Vec<Tally>> {
    std::thread::scope(|scope| {
        let running: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(|| client.offer(50, LENGTH, PAYLOAD, secs(12)))).collect();
        running.into_iter().map(|load| load.join().map_err(|_| anyhow::anyhow!("a client panicked"))?).collect()
    })
}

fn p99(outcomes: &[Tally]) -> Duration {
    outcomes.iter().map(|outcome| outcome.quantile(0.99)).max().unwrap_or_default()
}

#[test]
fn a_healthy_peer_keeps_its_latency_while_another_answers_after_5_s_or_reads_nothing() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("slow-peer")?);
    let _well = Server::start(&ns, "10.0.0.2:3869", "well.well.net", Conduct::default())?;
    let slow = Server::start(&ns, "10.0.0.3:3870", "slow.slow.net", Conduct::default())?;
    let config = Config::new("off")
        .node("answer_timeout = \"8s\"")
        .client("c1.example.net")
        .client("c2.example.net")
        .client("c3.example.net")
        .client("c4.example.net")
        .server("well.well.net", "10.0.0.2:3869", "")
        .server("slow.slow.net", "10.0.0.3:3870", "send_buffer = 32768")
        .route("well.net", &[&["well"]])
        .route("slow.net", &[&["slow"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["well", "slow"])?;
    let mut clients = ["c1", "c2", "c3", "c4"]
        .into_iter()
        .zip(["well.net", "well.net", "slow.net", "slow.net"])
        .map(|(name, realm)| Client::open(&ns, ADDRESS, &format!("{name}.example.net"), realm))
        .collect::<Result<Vec<_>>>()?;

    let alone = load(&mut clients)?;
    let limit = p99(&alone[..2]).mul_f64(1.1).max(p99(&alone[..2]) + NOISE);
    assert!(alone.iter().all(|o| o.code(2001) == 300), "{alone:?}");

    slow.conduct(Conduct { delay: secs(5), ..Conduct::default() });
    let beside_slow = load(&mut clients)?;
    assert!(beside_slow.iter().all(|o| o.code(2001) == 300), "the slow answers come too");
    assert!(beside_slow[2].quantile(0.5) >= secs(5));
    assert!(p99(&beside_slow[..2]) <= limit, "{:?} over {limit:?}", p99(&beside_slow[..2]));

    slow.conduct(Conduct { reading: false, ..Conduct::default() });
    let beside_blocked = load(&mut clients)?;
    assert!(beside_blocked[..2].iter().all(|o| o.code(2001) == 300));
    assert!(p99(&beside_blocked[..2]) <= limit, "{:?} over {limit:?}", p99(&beside_blocked[..2]));
    for stuck in &beside_blocked[2..] {
        assert_eq!((stuck.unanswered, stuck.code(2001)), (0, 0), "each is answered by the governor: {:?}", stuck.codes);
        assert!(stuck.code(3004) > 0, "{:?}", stuck.codes);
    }
    Ok(())
}
