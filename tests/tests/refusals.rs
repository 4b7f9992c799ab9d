//! Error answers (rule 8), on real sockets: each case its Result-Code, with what an answer has to carry back.

use anyhow::{Context, Result};
use bytes::Bytes;
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Builder, Message};
use governor_tests::governor::{ADDRESS, Config, Governor, HOST};
use governor_tests::raw::{Client, Conduct, Server};
use governor_tests::{NetNs, Outcome, Scratch};

/// One request and what its refusal has to say.
struct Case {
    name: &'static str,
    application: u32,
    realm: &'static str,
    route_record: Option<&'static str>,
    result_code: u32,
}

const PROXY_INFO: &[u8] = &[0, 0, 1, 24, 0x40, 0, 0, 9, b'p', 0, 0, 0, 0, 0, 0, 33, 0x40, 0, 0, 9, b's', 0, 0, 0];

fn request(client: &mut Client, case: &Case) -> Bytes {
    let id = client.peer().id();
    let mut b = Builder::request(316, case.application, 0x40, id, id)
        .bytes(avp::SESSION_ID, b"client;1;1")
        .bytes(avp::ORIGIN_HOST, b"client.example.net")
        .bytes(avp::ORIGIN_REALM, b"example.net")
        .bytes(avp::DESTINATION_REALM, case.realm.as_bytes());
    if let Some(node) = case.route_record {
        b = b.bytes(avp::ROUTE_RECORD, node.as_bytes());
    }
    b.bytes(avp::PROXY_INFO, PROXY_INFO).finish()
}

fn check(client: &mut Client, case: &Case) -> Result<()> {
    let request = request(client, case);
    client.peer().send(&request)?;
    let bytes = client.peer().message()?;
    let answer = Message::new(&bytes).context("a message shorter than a header")?;
    let sent = Message::new(&request).context("a message shorter than a header")?;
    let text = |code| answer.find(code).and_then(|a| a.str()).unwrap_or_default();
    let name = case.name;
    assert_eq!(answer.find(avp::RESULT_CODE).and_then(|a| a.u32()), Some(case.result_code), "{name}");
    assert_eq!(answer.header.flags.0, 0x60, "{name}: P as it came, E for 3xxx");
    assert_eq!(answer.header.hop_by_hop, sent.header.hop_by_hop, "{name}");
    assert_eq!(answer.header.end_to_end, sent.header.end_to_end, "{name}");
    assert_eq!(text(avp::SESSION_ID), "client;1;1", "{name}");
    assert_eq!(text(avp::ORIGIN_HOST), HOST, "{name}");
    assert_eq!(answer.find(avp::PROXY_INFO).map(|a| a.data), Some(PROXY_INFO), "{name}");
    assert!(!text(avp::ERROR_MESSAGE).is_empty(), "{name}: Error-Message says why");
    Ok(())
}

#[test]
fn each_refusal_has_its_code_and_carries_back_what_it_must() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("refusals")?);
    // The scripted server has one application; that of the tests.
    let server = Server::start(&ns, "10.0.0.2:3869", "server.example.net", Conduct::default())?;
    let config = Config::new("off")
        .client("client.example.net")
        .server("server.example.net", "10.0.0.2:3869", "pending_limit = 10")
        .server("down.example.net", "10.0.0.9:3870", "")
        .route("example.net", &[&["server"]])
        .route("down.net", &[&["down"]]);
    let governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["server"])?;
    let mut client = Client::open(&ns, ADDRESS, "client.example.net", "example.net")?;
    assert_eq!(client.peer().exchange("example.net")?, 2001);

    let own = governor_tests::raw::APPLICATION;
    let cases = [
        Case { name: "no connection up", application: own, realm: "down.net", route_record: None, result_code: 3002 },
        Case { name: "realm unknown", application: own, realm: "nowhere.net", route_record: None, result_code: 3003 },
        Case { name: "loop", application: own, realm: "example.net", route_record: Some(HOST), result_code: 3005 },
        Case { name: "application", application: 4, realm: "example.net", route_record: None, result_code: 3007 },
    ];
    for case in &cases {
        check(&mut client, case)?;
    }
    // All ten records in use: 3004.
    server.conduct(Conduct { silent: true, ..Conduct::default() });
    for _ in 0..10 {
        let request = client.peer().request("example.net", 0);
        client.peer().send(&request)?;
    }
    check(
        &mut client,
        &Case { name: "held back", application: own, realm: "example.net", route_record: None, result_code: 3004 },
    )?;
    assert_eq!(server.requests(), 11, "no refused request has reached the server");
    let refused = governor.status()?["totals"]["refused"].clone();
    for reason in ["no_connection", "realm_not_served", "loop", "application_unsupported", "pending_limit"] {
        assert_eq!(refused[reason], 1, "{reason}: {refused}");
    }
    Ok(())
}
