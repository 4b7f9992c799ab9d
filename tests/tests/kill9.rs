//! kill -9 in the middle of traffic, then a new start.

use governor_tests::freediameter::{Conduct, Load, Node, number};
use governor_tests::governor::{Config, Governor, HOST};
use governor_tests::kernel::pins;
use governor_tests::wait::secs;
use governor_tests::{NetNs, Outcome, Scratch, eventually};

#[test]
fn after_kill_9_a_new_start_finds_port_and_pins_free_and_the_peers_come_back_by_themselves() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("kill9")?);
    let server =
        Node::server("server.example.net", "10.0.0.2", 3869, &Conduct::default()).accept(HOST).start(&ns, &scratch)?;
    let config = Config::new("required")
        .client("client.example.net")
        .server("server.example.net", "10.0.0.2:3869", "")
        .route("example.net", &[&["server"]]);
    let mut killed = Governor::start(&ns, &scratch, &config)?;
    killed.up(&["server"])?;
    let while_running = pins(&ns)?;
    assert!(!while_running.is_empty(), "no pins");
    let load = Load { count: 6000, rate: 300, concurrency: 100, timeout: secs(3), ..Load::default() };
    let client = Node::client("client.example.net", "10.0.0.3", 3870, &load)
        .connect(HOST, "10.0.0.1", 3868)
        .start(&ns, &scratch)?;
    eventually("traffic", secs(10), || (number(&client.report(), "/codes/2001") > 300).then_some(()))?;
    killed.process.kill()?;

    let mut governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["server"])?;
    assert_eq!(pins(&ns)?, while_running, "the same set, nothing left over");
    // freeDiameter takes a peer that was lost back into service after three watchdog exchanges only.
    let before = number(&client.report(), "/codes/2001");
    eventually("traffic again", secs(25), || (number(&client.report(), "/codes/2001") > before + 300).then_some(()))?;
    assert!(number(&server.report(), "/received") > 0);
    assert!(governor.stop()?.success());
    assert_eq!(pins(&ns)?, Vec::<String>::new(), "no pin after the exit");
    Ok(())
}
