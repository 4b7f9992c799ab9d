//! Client and server against each other, over loopback.

use super::*;
use governor_core::diameter::codes::{avp, command};
use governor_core::diameter::{Builder, Header, Message};
use std::time::{Duration, Instant};

fn server(behaviour: Behaviour) -> Server {
    let identity = Identity::relay("server.example.net", "example.net");
    let mut options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), identity);
    options.behaviour = behaviour;
    Server::start(&options).unwrap()
}

fn options(server: &Server, pace: Pace) -> ClientOptions {
    let identity = Identity::relay("client{n}.example.net", "example.net");
    ClientOptions::new(server.address(), identity, "example.net", pace)
}

#[test]
fn both_ends_count_the_same() {
    let server = server(Behaviour { busy_every: Some(10), ..Behaviour::default() });
    let client = ClientOptions {
        connections: 3,
        threads: 2,
        count: Some(10_001),
        priorities: "0:2,1:1,2:1".parse().unwrap(),
        ..options(&server, Pace::Outstanding(100))
    };
    let client = Client::start(&client).unwrap().join();
    let server = server.stop();
    assert!(client.is_clean(), "{client}");
    assert_eq!((client.sent, client.answered), (10_001, 10_001));
    assert_eq!((server.requests, server.answers), (10_001, 10_001));
    assert_eq!(client.by_result["3004"], 1000);
    assert_eq!(server.by_result[&3004], 1000);
    assert_eq!(client.by_origin["server.example.net"], 10_001);
    assert_eq!(client.by_priority.values().map(|p| p.sent).sum::<u64>(), 10_001);
    assert!((4990..=5010).contains(&client.by_priority["0"].sent), "{:?}", client.by_priority);
    assert_eq!((server.connections, server.connections_lost, client.connections_lost), (3, 0, 0));
    assert_eq!(client.unexpected_answers, 0);
}

#[test]
fn a_schedule_keeps_its_rate_and_counts_a_stall_in_every_request_it_held_up() {
    let server = server(Behaviour::default());
    let options = ClientOptions { duration: Some(Duration::from_millis(1500)), ..options(&server, Pace::Rate(2000.0)) };
    let client = Client::start(&options).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    server.change(|b| b.stopped = true);
    std::thread::sleep(Duration::from_millis(600));
    server.change(|b| b.stopped = false);
    let report = client.join();
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.sent, 3000, "an open loop sends on, whatever is unanswered");
    assert!(report.latency.max > 500_000, "{report}");
    assert!(report.latency.p90 > 250_000, "a stall of 0.6 s in 1.5 s shows in more than a tenth: {report}");
}

#[test]
fn a_rate_can_be_changed() {
    let server = server(Behaviour::default());
    let options = ClientOptions { duration: Some(Duration::from_millis(800)), ..options(&server, Pace::Rate(100.0)) };
    let client = Client::start(&options).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    client.change_rate(2000.0);
    let report = client.join();
    assert!(report.is_clean(), "{report}");
    assert!((500..=1100).contains(&report.sent), "30 and then 1000: {report}");
}

#[test]
fn a_server_that_goes_away_is_reported_and_not_waited_for() {
    let server = server(Behaviour { silent: true, ..Behaviour::default() });
    let options = ClientOptions {
        count: Some(1000),
        timeout: Duration::from_secs(60),
        ..options(&server, Pace::Outstanding(50))
    };
    let client = Client::start(&options).unwrap();
    let began = Instant::now();
    while server.snapshot().requests < 50 {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", server.snapshot());
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = server.abort();
    let report = client.join();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!((seen.requests, seen.silent, seen.answers), (50, 50, 0));
    assert_eq!((report.sent, report.lost, report.unsent, report.connections_lost), (50, 50, 950, 1));
    assert!(report.adds_up && !report.is_clean(), "{report}");
}

#[test]
fn what_is_not_answered_times_out_and_comes_late() {
    let server = server(Behaviour { delay: Duration::from_millis(600), ..Behaviour::default() });
    let options = ClientOptions {
        count: Some(20),
        timeout: Duration::from_millis(200),
        ..options(&server, Pace::Outstanding(5))
    };
    let report = Client::start(&options).unwrap().join();
    assert_eq!((report.sent, report.timed_out, report.answered), (20, 20, 0), "{report}");
    assert!(report.unexpected_answers > 0, "late answers come while the later requests wait: {report}");
    assert!(report.adds_up && !report.is_clean());
}

#[test]
fn a_delay_is_kept_for_each_answer() {
    let server = server(Behaviour { delay: Duration::from_millis(30), ..Behaviour::default() });
    let options = ClientOptions { count: Some(40), ..options(&server, Pace::Outstanding(4)) };
    let report = Client::start(&options).unwrap().join();
    assert!(report.is_clean(), "{report}");
    assert!(report.latency.p50 >= 30_000, "{report}");
    assert!(report.elapsed >= 0.3, "{report}");
}

#[test]
fn a_server_stops_reading_and_reads_again_by_itself() {
    let server = server(Behaviour {
        stop_after: Some(100),
        read_again_after: Some(Duration::from_millis(300)),
        ..Behaviour::default()
    });
    let options = ClientOptions { count: Some(500), ..options(&server, Pace::Outstanding(10)) };
    let report = Client::start(&options).unwrap().join();
    assert!(report.is_clean(), "{report}");
    assert!(report.latency.max >= 290_000, "{report}");
    assert!(report.latency.p50 < 200_000, "{report}");
}

#[test]
fn answers_name_the_node_behind() {
    let behind = "behind.example.net".to_owned();
    let server = server(Behaviour { behind: Some(behind.clone()), result: 3004, ..Behaviour::default() });
    let options = ClientOptions { count: Some(5), ..options(&server, Pace::Outstanding(1)) };
    let report = Client::start(&options).unwrap().join();
    assert_eq!((report.by_origin[&behind], report.by_result["3004"]), (5, 5));
}

#[test]
fn a_server_that_takes_leave_is_no_loss() {
    let server = server(Behaviour::default());
    let client = Client::start(&options(&server, Pace::Rate(500.0))).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let seen = server.stop();
    let report = client.join();
    assert!(report.adds_up, "{report}");
    assert_eq!((report.timed_out, report.answered), (0, seen.answers), "{report}");
}

#[test]
fn a_server_that_takes_no_more_is_given_up() {
    // The capabilities exchange needs a reader; what follows goes into buffers of some MB, and then nowhere.
    let server = server(Behaviour::default());
    let options = ClientOptions {
        size: Some(100_000),
        duration: Some(Duration::from_millis(500)),
        timeout: Duration::from_secs(1),
        ..options(&server, Pace::Rate(5000.0))
    };
    let client = Client::start(&options).unwrap();
    server.change(|b| b.stopped = true);
    let began = Instant::now();
    let report = client.join();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(report.adds_up && !report.is_clean(), "{report}");
    assert!(report.timed_out > 0 && report.sent < 2500, "{report}");
}

#[test]
fn a_peer_that_is_no_diameter_node_is_refused() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let identity = Identity::relay("client.example.net", "example.net");
    let options = ClientOptions::new(address, identity, "example.net", Pace::Outstanding(1));
    let error = Client::start(&options).err().unwrap();
    assert!(matches!(error, LoadError::NotDiameter { .. }), "{error}");
    peer.join().unwrap();
}

#[test]
fn options_out_of_range_are_refused() {
    let server = server(Behaviour::default());
    for bad in [
        options(&server, Pace::Rate(0.0)),
        ClientOptions { connections: 2, ..options(&server, Pace::Outstanding(1)) },
        ClientOptions { threads: 0, ..options(&server, Pace::Outstanding(1)) },
        ClientOptions { size: Some(1 << 20), ..options(&server, Pace::Outstanding(1)) },
    ] {
        assert!(matches!(Client::start(&bad).err(), Some(LoadError::Option(_))), "{bad:?}");
    }
}

/// Reads one message.
fn message(socket: &mut std::net::TcpStream) -> Vec<u8> {
    use std::io::Read;
    let mut message = vec![0; Header::LEN];
    socket.read_exact(&mut message).unwrap();
    let length = Header::parse(&message).unwrap().length as usize;
    message.resize(length, 0);
    socket.read_exact(&mut message[Header::LEN..]).unwrap();
    message
}

fn result_code(message: &[u8]) -> Option<u32> {
    Message::new(message)?.find(avp::RESULT_CODE)?.u32()
}

#[test]
fn a_server_answers_the_base_protocol() {
    use std::io::Write;
    let server = server(Behaviour { silent: true, ..Behaviour::default() });
    let mut socket = std::net::TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let identity = Identity { applications: vec![4, 16_777_251], ..Identity::relay("c.example.net", "example.net") };
    let dwr = Builder::request(command::DEVICE_WATCHDOG, 0, 0, 2, 2).finish();
    socket.write_all(&[&identity.cer([127, 0, 0, 1].into(), 1)[..], &dwr, &identity.dpr(3)].concat()).unwrap();
    for (command, hop_by_hop) in
        [(command::CAPABILITIES_EXCHANGE, 1), (command::DEVICE_WATCHDOG, 2), (command::DISCONNECT_PEER, 3)]
    {
        let answer = message(&mut socket);
        let header = Header::parse(&answer).unwrap();
        assert_eq!((header.command, header.hop_by_hop, header.flags.0), (command, hop_by_hop, 0));
        assert_eq!(result_code(&answer), Some(2001));
    }
    drop(socket);
    assert_eq!(server.stop().connections_lost, 0, "it said goodbye");
}

#[test]
fn a_client_answers_watchdogs_and_refuses_requests() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let identity = Identity::relay("server.example.net", "example.net");
        let (mut socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let cer = Header::parse(&message(&mut socket)).unwrap();
        let dwr = Builder::request(command::DEVICE_WATCHDOG, 0, 0, 7, 7).finish();
        let other = Builder::request(999, 4, 0, 8, 8).finish();
        // The watchdog comes in one piece with the CEA.
        socket.write_all(&[&identity.cea(&cer, [127, 0, 0, 1].into())[..], &dwr, &other].concat()).unwrap();
        let mut seen = Vec::new();
        loop {
            let message = message(&mut socket);
            let header = Header::parse(&message).unwrap();
            if header.flags.is_request() && header.command == command::DISCONNECT_PEER {
                socket.write_all(&identity.dpa(&header)).unwrap();
                return seen;
            }
            if header.flags.is_request() {
                // An answer nobody asked for, and the one that was.
                let mut stray = header;
                stray.hop_by_hop ^= 1 << 19;
                for header in [stray, header] {
                    let answer = Builder::answer(&header).u32(avp::RESULT_CODE, 2001).finish();
                    socket.write_all(&answer).unwrap();
                }
            } else {
                seen.push((header.command, header.hop_by_hop, result_code(&message)));
            }
        }
    });
    let identity = Identity::relay("client.example.net", "example.net");
    let options =
        ClientOptions { count: Some(3), ..ClientOptions::new(address, identity, "example.net", Pace::Outstanding(1)) };
    let report = Client::start(&options).unwrap().join();
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.unexpected_answers, report.unexpected_requests), (3, 1), "{report}");
    assert_eq!(report.by_origin[""], 3, "an answer without Origin-Host counts all the same");
    assert_eq!(peer.join().unwrap(), [(280, 7, Some(2001)), (999, 8, Some(3001))]);
}

#[test]
fn a_connection_too_many_is_closed() {
    let identity = Identity::relay("server.example.net", "example.net");
    let mut options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), identity);
    options.max_connections = Some(1);
    let server = Server::start(&options).unwrap();
    let two = ClientOptions {
        connections: 2,
        count: Some(1),
        ..ClientOptions::new(
            server.address(),
            Identity::relay("client{n}.example.net", "example.net"),
            "example.net",
            Pace::Outstanding(2),
        )
    };
    assert!(Client::start(&two).is_err());
    assert_eq!(server.stop().connections, 1);
}
