//! The control socket and `governor status`, with an agent that has a made-up state.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use governor::observe::control::{self, Agent, Answer, AskError, BindError, Connections, Listener, Refused, Request};
use governor::observe::event::{Event, What};
use governor::observe::snapshot::{Connection, Node, Snapshot};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// Events that a subscriber may be behind.
const BACKLOG: usize = 64;

/// A path that fits into a socket's address, in a directory of the test's own that goes with it.
struct Socket(PathBuf);

impl std::ops::Deref for Socket {
    type Target = PathBuf;
    fn deref(&self) -> &PathBuf {
        &self.0
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(directory) = self.0.parent() {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

fn socket(test: &str) -> Socket {
    let directory = std::env::temp_dir().join(format!("governor-control-{}-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    Socket(directory.join("control.sock"))
}

fn snapshot(pid: u32) -> Snapshot {
    Snapshot {
        node: Node { origin_host: "gov1.example.net".to_owned(), pid, ..Node::default() },
        connections: vec![Connection { name: "hss1-a".to_owned(), cpl: 98, ..Connection::default() }],
        ..Snapshot::default()
    }
}

/// Each snapshot's pid is how many there were before it. Each request for a list is an event, too.
#[derive(Clone)]
struct Fake {
    count: Rc<Cell<u32>>,
    events: broadcast::Sender<Arc<Event>>,
}

impl Agent for Fake {
    async fn answer(&self, request: Request) -> Result<Answer, Refused> {
        match request {
            Request::Status => match self.count.replace(self.count.get() + 1) {
                pid @ ..100 => Ok(Answer::Status(Box::new(snapshot(pid)))),
                _ => Err(Refused::new("the agent is ending")),
            },
            Request::List => {
                for _ in 0..BACKLOG {
                    let _ = self.events.send(Arc::new(event(self.count.replace(self.count.get() + 1))));
                }
                Ok(Answer::List(Connections { connections: Vec::new() }))
            }
            other => Err(Refused::new(format!("{other:?}"))),
        }
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }
}

fn event(pending: u32) -> Event {
    Event { t: 0.0, what: What::Stopping { pending } }
}

/// Serves on `path` while `client` runs on a thread of its own.
fn with_agent<T: Send + 'static>(path: &Path, client: impl FnOnce() -> T + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = Listener::bind(path).unwrap();
        let agent = Fake { count: Rc::default(), events: broadcast::Sender::new(BACKLOG) };
        let server = tokio::task::spawn_local(listener.serve(agent));
        let result = tokio::task::spawn_blocking(client).await.unwrap();
        assert!(!server.is_finished());
        server.abort();
        assert!(server.await.unwrap_err().is_cancelled());
        result
    })
}

fn status(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_governor")).arg("status").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_snapshot_comes_over_the_socket_and_its_file_goes_with_the_agent() {
    let path = socket("snapshot");
    let asked = path.0.clone();
    let answer = with_agent(&path, move || {
        let mode = std::fs::metadata(&asked).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        control::status(&asked).unwrap()
    });
    assert_eq!(answer, snapshot(0));
    assert!(!path.exists());
    assert!(path.parent().unwrap().exists());
    assert!(matches!(control::status(&path), Err(AskError::NotRunning { .. })));
}

#[test]
fn a_client_may_ask_again_and_what_is_no_request_is_told() {
    let path = socket("again");
    let asked = path.0.clone();
    let lines: Vec<String> = with_agent(&path, move || {
        let mut stream = UnixStream::connect(&asked).unwrap();
        stream.write_all(b"{\"cmd\":\"status\"}\n{\"cmd\":\"stop\"}\nnonsense\n{\"cmd\":\"status\"}\n").unwrap();
        BufReader::new(stream).lines().take(4).map(Result::unwrap).collect()
    });
    assert_eq!(serde_json::from_str::<Snapshot>(&lines[0]).unwrap().node.pid, 0);
    assert!(lines[1].starts_with("{\"error\":\"not a request: unknown variant `stop`"), "{}", lines[1]);
    assert!(lines[2].starts_with("{\"error\":\"not a request: "), "{}", lines[2]);
    assert_eq!(serde_json::from_str::<Snapshot>(&lines[3]).unwrap().node.pid, 1);
}

#[test]
fn a_subscriber_gets_every_event_in_order_and_goes_when_it_likes() {
    let path = socket("subscribe");
    let asked = path.0.clone();
    with_agent(&path, move || {
        let mut events = control::events(&asked).unwrap();
        drop(control::events(&asked).unwrap());
        control::ask::<Connections>(&asked, &Request::List).unwrap();
        control::ask::<Connections>(&asked, &Request::List).unwrap();
        for pending in 0..2 * u32::try_from(BACKLOG).unwrap() {
            let line = events.next().unwrap().unwrap();
            assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event(pending));
        }
    });
}

#[test]
fn a_subscriber_that_does_not_read_is_told_what_it_lost_and_left_while_others_are_served() {
    let path = socket("slow");
    let asked = path.0.clone();
    with_agent(&path, move || {
        let mut slow = control::events(&asked).unwrap();
        let start = Instant::now();
        // Until its socket is full and the backlog has run over: 64 events a round.
        for _ in 0..500 {
            control::ask::<Connections>(&asked, &Request::List).unwrap();
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        let (mut got, mut end) = (0, String::new());
        while let Some(line) = slow.next().transpose().unwrap() {
            got += 1;
            end = line;
        }
        let end: serde_json::Value = serde_json::from_str(&end).unwrap();
        assert_eq!(end["event"], "dropped", "{end}");
        let lost = end["lost"].as_u64().unwrap();
        assert!(lost > 0 && got > 1 && got + lost <= 500 * 64, "got {got}, lost {lost}");
    });
}

#[test]
fn a_request_without_end_is_cut_off() {
    let path = socket("endless");
    let asked = path.0.clone();
    let answer = with_agent(&path, move || {
        let mut stream = UnixStream::connect(&asked).unwrap();
        // The agent closes in the midst of it.
        let _ = stream.write_all(&vec![b'x'; 1_000_000]);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(control::status(&asked).unwrap().node.pid, 0, "others are served");
        answer.len()
    });
    assert!(answer < 1000, "{answer} bytes");
}

#[test]
fn a_silent_client_does_not_delay_another() {
    let path = socket("silent");
    let asked = path.0.clone();
    with_agent(&path, move || {
        let silent: Vec<_> = (0..50).map(|_| UnixStream::connect(&asked).unwrap()).collect();
        assert_eq!(control::status(&asked).unwrap().node.pid, 0);
        drop(silent);
    });
}

#[test]
fn a_living_agents_socket_is_not_taken() {
    let path = socket("living");
    let asked = path.0.clone();
    with_agent(&path, move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(async { Listener::bind(&asked).unwrap_err() });
        assert!(matches!(error, BindError::InUse { .. }), "{error}");
        assert_eq!(control::status(&asked).unwrap().node.pid, 0);
    });
}

#[test]
fn a_killed_agents_socket_is_replaced() {
    let path = socket("killed");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // As after kill -9: the file is there, nobody listens.
    drop(UnixListener::bind(&*path).unwrap());
    assert!(path.exists());
    assert!(matches!(control::status(&path), Err(AskError::NotRunning { .. })));
    let asked = path.0.clone();
    assert_eq!(with_agent(&path, move || control::status(&asked).unwrap()), snapshot(0));
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let path = socket("file");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&*path, "precious").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(async { Listener::bind(&path).unwrap_err() });
    assert!(matches!(error, BindError::NotASocket { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&*path).unwrap(), "precious");
}

#[test]
fn another_agents_socket_in_the_same_place_is_left_at_the_end() {
    let path = socket("replaced");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let first = Listener::bind(&path).unwrap();
        std::fs::remove_file(&*path).unwrap();
        let second = Listener::bind(&path).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    });
}

#[test]
fn status_prints_tables_or_json() {
    let path = socket("command");
    let asked = path.0.clone();
    let (tables, json) = with_agent(&path, move || {
        let asked = asked.to_str().unwrap();
        (status(&["--control", asked]), status(&["--json", "--control", asked]))
    });
    assert_eq!(tables.status.code(), Some(0), "{}", text(&tables.stderr));
    let tables = text(&tables.stdout);
    assert!(tables.lines().any(|line| line.starts_with("hss1-a ") && line.contains(" 98 ")), "{tables}");
    assert_eq!(json.status.code(), Some(0), "{}", text(&json.stderr));
    assert_eq!(serde_json::from_slice::<Snapshot>(&json.stdout).unwrap(), snapshot(1));
}

#[test]
fn status_asks_the_socket_of_a_configuration_file() {
    let path = socket("config");
    let asked = path.0.clone();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("status.toml");
    let node = "[node]\norigin_host = \"g\"\norigin_realm = \"r\"\n";
    std::fs::write(&file, format!("{node}control = \"{}\"\n", path.display())).unwrap();
    let output = with_agent(&path, move || status(&["--json", "--config", file.to_str().unwrap()]));
    assert_eq!(serde_json::from_slice::<Snapshot>(&output.stdout).unwrap(), snapshot(0));
    assert!(!asked.exists());

    let off = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("off.toml");
    std::fs::write(&off, format!("{node}control = \"off\"\n")).unwrap();
    let output = status(&["--config", off.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("`node.control` is off"));
}

#[test]
fn status_without_an_agent_says_so_with_exit_code_1() {
    let path = socket("none");
    let output = status(&["--json", "--control", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let expected = format!(
        "governor: no agent is running: nothing answers on {} (an agent with another `node.control`: --config or --control)\n",
        path.display()
    );
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn an_agent_that_is_ending_says_so() {
    let path = socket("ending");
    let asked = path.0.clone();
    let error = with_agent(&path, move || {
        (0..101).map(|_| control::status(&asked)).find_map(Result::err).map(|error| error.to_string())
    });
    assert_eq!(error.unwrap(), format!("the agent on {} answers: the agent is ending", path.display()));
}
