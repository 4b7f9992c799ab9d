//! Priority of a request (rule 7): DRMP, then the rules, then 0; and that it decides what passes a level.

use anyhow::{Context, Result};
use bytes::Bytes;
use governor_core::diameter::Message;
use governor_core::diameter::build::put_avp;
use governor_core::diameter::codes::avp;
use governor_tests::governor::{ADDRESS, Config, Governor};
use governor_tests::raw::{Client, Conduct, Server};
use governor_tests::{NetNs, Outcome, Scratch};

/// A request with DRMP where `drmp` is one.
fn request(client: &mut Client, drmp: Option<u32>) -> Bytes {
    let plain = client.peer().request("example.net", 0);
    let mut bytes = bytes::BytesMut::from(&plain[..]);
    if let Some(value) = drmp {
        put_avp(&mut bytes, avp::DRMP, None, 0, &value.to_be_bytes());
    }
    let length = u32::try_from(bytes.len()).unwrap_or_default().to_be_bytes();
    bytes[1..4].copy_from_slice(&length[1..]);
    bytes.freeze()
}

/// Sends it; gives the Origin-Host of its answer.
fn answered_by(client: &mut Client, drmp: Option<u32>) -> Result<String> {
    let request = request(client, drmp);
    client.peer().send(&request)?;
    let answer = client.peer().message()?;
    let message = Message::new(&answer).context("a message shorter than a header")?;
    Ok(message.find(avp::ORIGIN_HOST).and_then(|a| a.str()).context("no Origin-Host")?.to_owned())
}

#[test]
fn drmp_then_the_rules_then_0_decide_what_passes_a_level() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("priority")?);
    let busy = Server::start(&ns, "10.0.0.2:3869", "busy.example.net", Conduct::default())?;
    let _spare = Server::start(&ns, "10.0.0.3:3870", "spare.example.net", Conduct::default())?;
    let config = Config::new("off")
        .client("plain.example.net")
        .client("important.example.net")
        .server("busy.example.net", "10.0.0.2:3869", "remote_busy = { abatement = \"60s\" }")
        .server("spare.example.net", "10.0.0.3:3870", "")
        .route("example.net", &[&["busy"], &["spare"]])
        .lines("[[priority]]\ningress_peer = \"important.example.net\"\npriority = 1");
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["busy", "spare"])?;
    let mut plain = Client::open(&ns, ADDRESS, "plain.example.net", "example.net")?;
    let mut important = Client::open(&ns, ADDRESS, "important.example.net", "example.net")?;

    // One refused request of priority 0 makes level 1: 0 is held back, 1 and 2 pass.
    busy.conduct(Conduct { result_code: 3004, ..Conduct::default() });
    assert_eq!(answered_by(&mut plain, None)?, "spare.example.net");
    busy.conduct(Conduct::default());
    assert_eq!(governor.cpl("busy")?, 1);
    let table = [
        (None, "spare.example.net"),
        (Some(15), "spare.example.net"),
        (Some(10), "spare.example.net"),
        (Some(9), "busy.example.net"),
        (Some(5), "busy.example.net"),
        (Some(0), "busy.example.net"),
    ];
    for (drmp, server) in table {
        assert_eq!(answered_by(&mut plain, drmp)?, server, "DRMP {drmp:?}");
    }
    // The rule gives priority 1, and DRMP goes before the rule.
    assert_eq!(answered_by(&mut important, None)?, "busy.example.net");
    assert_eq!(answered_by(&mut important, Some(15))?, "spare.example.net");

    // A refused request of priority 1 makes level 2: only 2 passes.
    busy.conduct(Conduct { result_code: 3004, ..Conduct::default() });
    assert_eq!(answered_by(&mut important, None)?, "spare.example.net");
    busy.conduct(Conduct::default());
    assert_eq!(governor.cpl("busy")?, 2);
    assert_eq!(answered_by(&mut important, None)?, "spare.example.net");
    assert_eq!(answered_by(&mut plain, Some(4))?, "busy.example.net");
    Ok(())
}
