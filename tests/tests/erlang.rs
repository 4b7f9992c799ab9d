//! Erlang/OTP's diameter from Debian as client and as server.

use anyhow::Result;
use governor_tests::erlang::Node;
use governor_tests::freediameter::{self, number};
use governor_tests::tshark::Capture;
use governor_tests::wait::secs;
use governor_tests::{NetNs, Scratch};

#[test]
fn the_harness_itself_erlang_to_a_freediameter_relay_to_erlang() -> Result<()> {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("erlang-fd")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut server = Node::server(&ns, &scratch, "server.example.net", "10.0.0.2:3869", &[])?;
    let mut relay = freediameter::Node::relay("relay.example.net", "10.0.0.1", 3868)
        .connect("server.example.net", "10.0.0.2", 3869)
        .accept("client.example.net")
        .start(&ns, &scratch)?;
    relay.open("server.example.net", secs(10))?;
    let mut client = Node::client(&ns, &scratch, "client.example.net", "10.0.0.1:3868", 200, &["concurrency=10"])?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 200, "{report}");
    assert_eq!(number(&report, "/origins/server.example.net"), 200, "{report}");
    assert_eq!(number(&server.stop()?, "/received"), 200);
    relay.stop()?;
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (400, 400));
    assert!(wire.requests(282) >= 2, "DPR at the end");
    Ok(())
}
