//! Early levels from the send buffer's occupancy (rule 3): the connection is relieved before it blocks.

use anyhow::{Context, Result};
use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::raw::{Client, Conduct, Server, Tally};
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};

/// A server that stops reading under requests of all three priorities: how it goes with this `kernel_assist`.
fn relieved_before_it_blocks(kernel_assist: &str) -> Result<()> {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("pressure")?);
    let stuck = Server::start(&ns, "10.0.0.2:3869", "stuck.example.net", Conduct::default())?;
    let _well = Server::start(&ns, "10.0.0.3:3870", "well.example.net", Conduct::default())?;
    let priority = |n: u8| format!("[[priority]]\ningress_peer = \"c{n}.example.net\"\npriority = {n}\n");
    let config = Config::new(kernel_assist)
        .node("answer_timeout = \"8s\"")
        .client("c0.example.net")
        .client("c1.example.net")
        .client("c2.example.net")
        .server(
            "stuck.example.net",
            "10.0.0.2:3869",
            "pending_limit = 20000\nsend_buffer = 524288\ntransport_congestion = { pressure = {} }",
        )
        .server("well.example.net", "10.0.0.3:3870", "pending_limit = 20000")
        .route("example.net", &[&["stuck"], &["well"]])
        .lines(&(priority(0) + &priority(1) + &priority(2)));
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["stuck", "well"])?;
    let mut clients = (0..3)
        .map(|n| Client::open(&ns, ADDRESS, &format!("c{n}.example.net"), "example.net"))
        .collect::<Result<Vec<_>>>()?;

    let mut seen = Vec::new();
    let tallies = std::thread::scope(|scope| -> Result<Vec<Tally>> {
        let load: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(|| client.offer(100, secs(6), 4000, secs(12)))).collect();
        std::thread::sleep(millis(500));
        stuck.conduct(Conduct { reading: false, ..Conduct::default() });
        eventually("level 3", secs(6), || {
            let cpl = governor.cpl("stuck").ok()?;
            if seen.last() != Some(&cpl) {
                seen.push(cpl);
            }
            (cpl == 3).then_some(())
        })?;
        // Nothing but answers may leave: it stays there, and never blocks.
        std::thread::sleep(secs(1));
        assert_eq!(governor.cpl("stuck")?, 3);
        stuck.conduct(Conduct::default());
        eventually("level 0", secs(8), || governor.cpl("stuck").is_ok_and(|cpl| cpl == 0).then_some(()))?;
        load.into_iter().map(|load| load.join().map_err(|_| anyhow::anyhow!("a client panicked"))?).collect()
    })?;
    assert_eq!(seen, [0, 1, 2, 3], "level by level, as less and less may leave");
    for tally in &tallies {
        assert_eq!((tally.code(2001), tally.unanswered), (tally.sent, 0), "{:?}", tally.codes);
    }
    let connection = governor.connection("stuck")?;
    let counted = |pointer: &str| connection.pointer(pointer).and_then(serde_json::Value::as_u64).unwrap_or_default();
    assert_eq!(counted("/counters/discarded/requests_rerouted"), 0, "{connection}");
    let held: Vec<u64> = (0..3).map(|n| counted(&format!("/counters/held_back/cpl/{n}"))).collect();
    assert!(held[0] > held[1] && held[1] > held[2] && held[2] > 0, "the lower the priority, the more: {held:?}");
    if kernel_assist == "required" {
        let refusals = connection.pointer("/kernel/refusals").context("nothing of the kernel's")?;
        assert_eq!(refusals, 0, "{connection}");
    }
    Ok(())
}

#[test]
fn pressure_measured_by_the_kernel_programs_relieves_a_connection_before_it_blocks() -> Outcome {
    relieved_before_it_blocks("required")?;
    Ok(())
}

#[test]
fn pressure_measured_by_the_agent_itself_does_too() -> Outcome {
    relieved_before_it_blocks("off")?;
    Ok(())
}
