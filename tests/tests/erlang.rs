//! Erlang/OTP's diameter from Debian as client and as server.

use governor_tests::erlang::Node;
use governor_tests::freediameter::{self, Conduct, Load, number};
use governor_tests::governor::{ADDRESS, Config, Governor, HOST};
use governor_tests::tshark::Capture;
use governor_tests::wait::secs;
use governor_tests::{NetNs, Outcome, Scratch};

fn governed() -> Config {
    Config::new("off")
        .client("client.example.net")
        .server("server.example.net", "10.0.0.2:3869", "")
        .route("example.net", &[&["server"]])
}

#[test]
fn erlang_to_governor_to_erlang_with_watchdogs_and_a_goodbye() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("erlang")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut server = Node::server(&ns, &scratch, "server.example.net", "10.0.0.2:3869", &["delay_ms=1"])?;
    let mut governor = Governor::start(&ns, &scratch, &governed())?;
    governor.up(&["server"])?;
    let mut client = Node::client(&ns, &scratch, "client.example.net", ADDRESS, 500, &["concurrency=20"])?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 500, "{report}");
    assert_eq!(number(&report, "/origins/server.example.net"), 500, "{report}");
    // The client has said goodbye; the server's connection idles for more than Tw.
    std::thread::sleep(secs(9));
    assert!(governor.stop()?.success(), "exit 0 after SIGTERM:\n{}", governor.process.log());
    server.process.wait_for_line(r#""event":"down""#, secs(5))?;
    assert_eq!(number(&server.stop()?, "/received"), 500);
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (1000, 1000));
    assert_eq!((wire.requests(257), wire.answers(257)), (2, 2));
    assert!(wire.requests(280) >= 1, "a DWR");
    assert_eq!(wire.requests(280), wire.answers(280), "each DWR has its DWA");
    assert_eq!((wire.requests(282), wire.answers(282)), (2, 2), "the client's goodbye, and the governor's");
    Ok(())
}

#[test]
fn erlang_to_governor_to_freediameter_and_the_other_way_round() -> Outcome {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("erlang-mixed")?);
    let capture = Capture::start(&ns, &scratch)?;
    let mut erlang = Node::server(&ns, &scratch, "hss1.erlang.net", "10.0.0.2:3869", &["result_code=5012"])?;
    let mut free = freediameter::Node::server("hss2.example.net", "10.0.0.3", 3870, &Conduct::default())
        .accept(HOST)
        .start(&ns, &scratch)?;
    let config = Config::new("off")
        .client("client.example.net")
        .client("other.example.net")
        .server("hss1.erlang.net", "10.0.0.2:3869", "")
        .server("hss2.example.net", "10.0.0.3:3870", "")
        .route("erlang.net", &[&["hss1"]])
        .route("example.net", &[&["hss2"]]);
    let mut governor = Governor::start(&ns, &scratch, &config)?;
    governor.up(&["hss1", "hss2"])?;
    let mut client = Node::client(&ns, &scratch, "client.example.net", ADDRESS, 100, &["concurrency=5"])?;
    let report = client.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/2001"), 100, "{report}");
    assert_eq!(number(&report, "/origins/hss2.example.net"), 100, "{report}");
    // freeDiameter routes by realm: a relay in another one needs the score of rt_default.
    let load = Load { realm: "erlang.net", count: 100, concurrency: 5, ..Load::default() };
    let mut other = freediameter::Node::client("other.example.net", "10.0.0.4", 3871, &load)
        .connect(HOST, "10.0.0.1", 3868)
        .default_route(HOST)
        .start(&ns, &scratch)?;
    let report = other.finished(secs(20))?;
    assert_eq!(number(&report, "/codes/5012"), 100, "{report}");
    assert_eq!(number(&report, "/origins/hss1.erlang.net"), 100, "{report}");
    other.stop()?;
    assert!(governor.stop()?.success());
    free.stop()?;
    assert_eq!(number(&erlang.stop()?, "/received"), 100);
    let wire = capture.judge()?;
    assert_eq!((wire.requests(316), wire.answers(316)), (400, 400));
    assert_eq!((wire.results(2001) >= 200, wire.results(5012)), (true, 200));
    Ok(())
}
