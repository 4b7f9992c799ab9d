//! freeDiameter from Debian as client, server and relay.

use anyhow::Result;
use governor_tests::freediameter::{Conduct, Load, Node, number};
use governor_tests::tshark::Capture;
use governor_tests::wait::secs;
use governor_tests::{NetNs, Scratch};

#[test]
fn the_harness_itself_client_to_a_freediameter_relay_to_server() -> Result<()> {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("fd-relay")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut server = Node::server("server.example.net", "10.0.0.2", 3869, &Conduct::default())
        .accept("relay.example.net")
        .start(&ns, &scratch)?;
    let mut relay = Node::relay("relay.example.net", "10.0.0.1", 3868)
        .connect("server.example.net", "10.0.0.2", 3869)
        .accept("client.example.net")
        .start(&ns, &scratch)?;
    relay.open("server.example.net", secs(10))?;
    let load = Load { count: 500, concurrency: 20, payload: 100, ..Load::default() };
    let mut client = Node::client("client.example.net", "10.0.0.3", 3870, &load)
        .connect("relay.example.net", "10.0.0.1", 3868)
        .start(&ns, &scratch)?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 500, "{report}");
    assert_eq!(number(&report, "/origins/server.example.net"), 500, "{report}");
    client.stop()?;
    relay.stop()?;
    assert_eq!(number(&server.stop()?, "/answered"), 500);
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (1000, 1000));
    assert_eq!((wire.requests(257), wire.answers(257)), (2, 2));
    assert!(wire.requests(282) >= 2 && wire.answers(282) >= 2, "DPR and DPA at the end");
    Ok(())
}
