//! The relay's events, as whoever follows it gets them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

use governor::config::parse;
use governor::observe::event::{Event, What};
use governor::relay;
use governor_core::congestion::Cause;
use governor_core::level::{Feature, Level};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::broadcast::{Receiver, error::TryRecvError};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn governor(arguments: &str) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_governor"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Program(command.spawn().unwrap())
}

/// The events up to and with the one that is wanted.
#[track_caller]
fn until(events: &mut Receiver<Arc<Event>>, wanted: impl Fn(&What) -> bool) -> Vec<Arc<Event>> {
    let start = Instant::now();
    let mut seen = Vec::new();
    loop {
        match events.try_recv() {
            Ok(event) => {
                seen.push(Arc::clone(&event));
                if wanted(&event.what) {
                    return seen;
                }
            }
            Err(TryRecvError::Empty) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("{error}: {seen:#?}"),
        }
    }
}

#[test]
fn a_follower_hears_of_connections_and_levels_with_their_causes() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = format!(
        r#"
        [node]
        origin_host = "gov1.example.net"
        origin_realm = "example.net"
        listen = ["tcp://127.0.0.1:0"]
        kernel_assist = "off"
        reconnect = "100ms"
        control = "off"
        [[peer]]
        host = "hss1.example.net"
        realm = "example.net"
        [[peer.connection]]
        name = "hss1-a"
        address = "tcp://127.0.0.1:{port}"
        [[peer]]
        host = "client.example.net"
        realm = "example.net"
        [[peer.connection]]
        name = "client-a"
        [[route]]
        name = "hss"
        realm = "example.net"
        groups = [{{ weights = {{ "hss1-a" = 1 }} }}]
        "#
    );
    let config = parse(&text, "f").unwrap();
    let (tell, started) = std::sync::mpsc::channel();
    let relay = std::thread::spawn(move || {
        relay::start(config, move |started| tell.send(started).unwrap(), std::future::pending())
    });
    let started = started.recv().unwrap();
    let mut events = started.handle.events().unwrap();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();

    let server = governor(&format!("load server --listen tcp://127.0.0.1:{port} --result 3004"));
    until(&mut events, |what| {
        *what == What::Up { connection: "hss1-a".to_owned(), peer: "hss1.example.net".to_owned() }
    });
    let at = started.listening[0];
    let mut client = governor(&format!("load client --connect tcp://{at} --count 1"));
    let seen = until(&mut events, |what| matches!(what, What::Level { feature: Feature::RemoteBusy, .. }));
    let What::Level { connection, from, to, cpl_from, cpl, cause, .. } = &seen.last().unwrap().what else { panic!() };
    assert_eq!(connection, "hss1-a");
    assert_eq!((*from, *to, *cpl_from, *cpl), (Level::CL0, Level::CL1, Level::CL0, Level::CL1));
    assert!(matches!(cause, Cause::Busy { priority } if priority.number() == 0), "{cause:?}");
    client.0.wait().unwrap();

    drop(server);
    let seen = until(&mut events, |what| matches!(what, What::Down { connection, .. } if connection == "hss1-a"));
    let What::Down { reason, .. } = &seen.last().unwrap().what else { panic!() };
    assert_eq!(reason, "peer_closed");
    let closed = |what: &What| matches!(what, What::Closed { connection: Some(c), .. } if c == "hss1-a");
    let mut all = seen;
    if !all.iter().any(|event| closed(&event.what)) {
        all.extend(until(&mut events, closed));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    for event in all {
        assert!((since - 60.0..=now + 1.0).contains(&event.t), "{event:?}");
    }
    started.handle.stop();
    relay.join().unwrap().unwrap();
    assert!(started.handle.events().is_none());
    // What is left is told, then the end.
    loop {
        match events.try_recv() {
            Ok(_) => {}
            Err(error) => break assert_eq!(error, TryRecvError::Closed),
        }
    }
}
