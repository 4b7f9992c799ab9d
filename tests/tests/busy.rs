//! Remote BUSY (rule 2): 3004 from the peer itself, and from a node behind it.

use anyhow::Result;
use governor_tests::freediameter::{Conduct, Node, Running, number};
use governor_tests::governor::{ADDRESS, Config, Governor, HOST};
use governor_tests::raw::Client;
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};

/// Two freeDiameter servers, the first preferred; the first refuses everything as `conduct` says.
fn scene(ns: &NetNs, scratch: &Scratch, conduct: &Conduct) -> Result<(Running, Running, Governor, Client)> {
    let busy = Node::server("busy.example.net", "10.0.0.2", 3869, conduct).accept(HOST).start(ns, scratch)?;
    let spare =
        Node::server("spare.example.net", "10.0.0.3", 3870, &Conduct::default()).accept(HOST).start(ns, scratch)?;
    let config = Config::new("off")
        .client("client.example.net")
        .server("busy.example.net", "10.0.0.2:3869", "remote_busy = { abatement = \"2s\" }")
        .server("spare.example.net", "10.0.0.3:3870", "")
        .route("example.net", &[&["busy"], &["spare"]]);
    let governor = Governor::start(ns, scratch, &config)?;
    governor.up(&["busy", "spare"])?;
    let client = Client::open(ns, ADDRESS, "client.example.net", "example.net")?;
    Ok((busy, spare, governor, client))
}

#[test]
fn a_3004_of_the_peer_itself_raises_its_level_and_requests_go_elsewhere_until_it_abates() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("busy")?);
    let (busy, spare, governor, mut client) =
        scene(&ns, &scratch, &Conduct { result_code: 3004, ..Conduct::default() })?;
    // The first request is refused and tried again on the spare: the client never sees the 3004.
    assert_eq!(client.peer().exchange("example.net")?, 2001);
    assert_eq!(governor.cpl("busy")?, 1, "a refused request of priority 0 makes level 1");
    for _ in 0..20 {
        assert_eq!(client.peer().exchange("example.net")?, 2001);
    }
    eventually("the report of the spare", secs(2), || (number(&spare.report(), "/received") == 21).then_some(()))?;
    eventually("the report of the busy one", secs(2), || (number(&busy.report(), "/received") > 0).then_some(()))?;
    assert_eq!(number(&busy.report(), "/received"), 1, "priority 0 does not pass level 1");
    assert_eq!(governor.cpl("spare")?, 0, "another connection is not affected");

    busy.conduct(&Conduct::default())?;
    eventually("level 0 after the abatement", secs(4), || governor.cpl("busy").is_ok_and(|l| l == 0).then_some(()))?;
    assert_eq!(client.peer().exchange("example.net")?, 2001);
    eventually("the second request", secs(2), || (number(&busy.report(), "/received") == 2).then_some(()))?;
    Ok(())
}

#[test]
fn a_3004_of_a_node_behind_the_peer_is_forwarded_and_changes_nothing() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("busy-behind")?);
    let behind = Conduct { result_code: 3004, origin_host: Some("hss9.example.net".to_owned()), ..Conduct::default() };
    let (busy, spare, governor, mut client) = scene(&ns, &scratch, &behind)?;
    let outcome = client.offer(50, secs(1), 0, secs(5))?;
    assert_eq!((outcome.code(3004), outcome.from("hss9.example.net")), (50, 50), "{outcome:?}");
    assert_eq!(governor.cpl("busy")?, 0);
    std::thread::sleep(millis(300));
    assert_eq!((number(&busy.report(), "/received"), number(&spare.report(), "/received")), (50, 0));
    Ok(())
}
