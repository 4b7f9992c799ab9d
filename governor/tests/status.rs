//! `governor status` of a running relay with traffic through it, after kill -9, and after SIGTERM.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

use governor::observe::control;
use governor::observe::snapshot::{Connection, Snapshot};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn governor(arguments: &[&str], log: &Path) -> Program {
    let log = std::fs::File::create(log).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_governor"));
    command.args(arguments).stdout(Stdio::null()).stderr(log);
    Program(command.spawn().unwrap())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The agent's state once it is as wanted.
#[track_caller]
fn wait_for(socket: &Path, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let start = Instant::now();
    loop {
        let asked = control::status(socket);
        match asked {
            Ok(snapshot) if wanted(&snapshot) => return snapshot,
            other if start.elapsed() > PATIENCE => panic!("never as wanted: {other:#?}"),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn connection<'s>(snapshot: &'s Snapshot, name: &str) -> &'s Connection {
    snapshot.connections.iter().find(|connection| connection.name == name).unwrap()
}

#[test]
fn a_running_relay_tells_its_state_and_one_that_was_killed_leaves_nothing_in_the_way() {
    let scratch = Scratch(std::env::temp_dir().join(format!("governor-status-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).unwrap();
    let at = |name: &str| scratch.0.join(name);
    let socket = at("run/control.sock");
    let server_port = free_port();
    let config = at("relay.toml");
    let text = format!(
        r#"
        [node]
        origin_host = "gov1.example.net"
        origin_realm = "example.net"
        listen = ["tcp://127.0.0.1:0"]
        kernel_assist = "off"
        reconnect = "200ms"
        control = "{}"

        [[peer]]
        host = "hss1.example.net"
        realm = "example.net"
        [[peer.connection]]
        name = "hss1-a"
        address = "tcp://127.0.0.1:{server_port}"

        [[peer]]
        host = "client.example.net"
        realm = "example.net"
        [[peer.connection]]
        name = "client-a"

        [[route]]
        name = "hss"
        realm = "example.net"
        groups = [{{ weights = {{ "hss1-a" = 1 }} }}]
        "#,
        socket.display()
    );
    std::fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();

    let server = format!("tcp://127.0.0.1:{server_port}");
    let _server = governor(&["load", "server", "--listen", &server], &at("server.log"));
    let mut relay = governor(&["run", "--config", config], &at("relay.log"));
    let up = wait_for(&socket, |snapshot| connection(snapshot, "hss1-a").cpl == 0);
    let hss = connection(&up, "hss1-a");
    assert_eq!((hss.state.as_str(), hss.watchdog.as_str(), hss.set_by.as_ref()), ("I-Open", "OKAY", None));
    assert_eq!(hss.remote, Some(format!("127.0.0.1:{server_port}")));
    assert_eq!(hss.counters.requests_sent, 0);
    assert_eq!(up.node.pid, relay.0.id());
    assert_eq!((up.kernel_assist.mode.as_str(), up.kernel_assist.active), ("off", false));
    let ups: Vec<u32> = up.peers.iter().map(|peer| peer.up).collect();
    assert_eq!(ups, [1, 0]);
    let listening = up.listeners[0].clone();
    assert!(listening.starts_with("tcp://127.0.0.1:") && !listening.ends_with(":0"), "{listening}");

    let client = Command::new(env!("CARGO_BIN_EXE_governor"))
        .args(["load", "client", "--connect", &listening, "--count", "500", "--outstanding", "20"])
        .output()
        .unwrap();
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stderr));
    let after = wait_for(&socket, |snapshot| connection(snapshot, "client-a").cpl == 99);
    let hss = &connection(&after, "hss1-a").counters;
    assert_eq!((hss.requests_sent, hss.answers_received, hss.timeouts, hss.held_back.total()), (500, 500, 0, 0));
    let client = connection(&after, "client-a");
    assert_eq!((client.counters.requests_received, client.counters.answers_sent), (500, 500));
    assert_eq!(client.set_by.as_deref(), Some("status"));
    assert!(client.last_close.is_some(), "{client:?}");
    assert_eq!((after.node.pending, connection(&after, "hss1-a").pending), (0, 0));
    assert!(after.node.uptime > up.node.uptime);

    // kill -9: the socket's file stays, and the next agent takes its place.
    relay.0.kill().unwrap();
    relay.0.wait().unwrap();
    assert!(socket.exists());
    let mut relay = governor(&["run", "--config", config], &at("relay2.log"));
    let again = wait_for(&socket, |snapshot| connection(snapshot, "hss1-a").cpl == 0);
    assert_eq!(again.node.pid, relay.0.id());
    assert_eq!(connection(&again, "hss1-a").counters.requests_sent, 0);

    // SIGTERM: exit 0, and nothing is left.
    let kill = Command::new("kill").args(["-TERM", &relay.0.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(relay.0.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
}
