//! The relay as a program, its file, its peers.

use governor::load::{Behaviour, Client, ClientOptions, Identity, Pace, Server, ServerOptions};
use governor::observe::control::{self, AskError, Reloaded, Request};
use governor::observe::snapshot::{Connection, Snapshot};
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A configuration in the making. The client `client-a` connects to us, each server has one connection of its name.
#[derive(Clone, Debug)]
pub struct File {
    /// Lines of `[node]` besides the usual.
    pub node: String,
    pub listen: Vec<SocketAddr>,
    /// Name, address, lines more.
    pub servers: Vec<(String, SocketAddr, String)>,
    /// Sections more.
    pub rest: String,
}

impl File {
    pub fn new(servers: &[(&str, SocketAddr)]) -> Self {
        let servers = servers.iter().map(|(name, address)| ((*name).to_owned(), *address, String::new())).collect();
        Self { node: String::new(), listen: vec![any_address()], servers, rest: String::new() }
    }

    /// Lines more for a server's connection.
    pub fn with(mut self, name: &str, lines: &str) -> Self {
        let server = self.servers.iter_mut().find(|(server, ..)| server == name).unwrap();
        server.2 = format!("{lines}\n");
        self
    }

    fn text(&self, control: &Path) -> String {
        let listen: Vec<String> = self.listen.iter().map(|address| format!("\"tcp://{address}\"")).collect();
        let mut text = format!(
            "[node]\norigin_host = \"gov1.example.net\"\norigin_realm = \"example.net\"\nlisten = [{}]\n\
             kernel_assist = \"off\"\nreconnect = \"200ms\"\ncontrol = \"{}\"\n{}\n",
            listen.join(", "),
            control.display(),
            self.node
        );
        let mut peer = |host: &str, name: &str, lines: &str| {
            let head = format!("[[peer]]\nhost = \"{host}\"\nrealm = \"example.net\"\n[[peer.connection]]\n");
            let _ = write!(text, "{head}name = \"{name}\"\n{lines}\n");
        };
        for (name, address, lines) in &self.servers {
            peer(&host(name), name, &format!("address = \"tcp://{address}\"\n{lines}"));
        }
        peer("client.example.net", "client-a", "pending_limit = 20000");
        peer("probe.example.net", "probe", "");
        let weights: Vec<String> = self.servers.iter().map(|(name, ..)| format!("\"{name}\" = 1")).collect();
        let group = format!("{{ weights = {{ {} }} }}", weights.join(", "));
        text + &format!("[[route]]\nname = \"hss\"\nrealm = \"example.net\"\ngroups = [{group}]\n{}", self.rest)
    }
}

/// The host of a server.
pub fn host(name: &str) -> String {
    format!("{name}.example.net")
}

/// Any port that is free then.
pub fn any_address() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A port that is free now.
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A server of the load.
pub fn server(name: &str, behaviour: Behaviour) -> Server {
    let listen = any_address();
    let identity = Identity::relay(&host(name), "example.net");
    Server::start(&ServerOptions { behaviour, ..ServerOptions::new(listen, identity) }).unwrap()
}

/// Options of a client with so many requests unanswered at any time.
pub fn client_options(connect: SocketAddr, outstanding: usize) -> ClientOptions {
    let identity = Identity::relay("client.example.net", "example.net");
    ClientOptions {
        timeout: PATIENCE,
        ..ClientOptions::new(connect, identity, "example.net", Pace::Outstanding(outstanding))
    }
}

pub fn client(connect: SocketAddr, outstanding: usize) -> Client {
    Client::start(&client_options(connect, outstanding)).unwrap()
}

/// A running relay; killed with the test, its directory goes with it.
pub struct Relay {
    child: Child,
    directory: PathBuf,
    pub file: File,
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Relay {
    /// Starts it and waits until every server's connection is up.
    pub fn start(file: File) -> Self {
        let relay = Self::start_with(file, |_| {});
        relay.wait_up();
        relay
    }

    /// Starts it with a command that may be changed.
    pub fn start_with(file: File, change: impl FnOnce(&mut Command)) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("governor-running-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let log = std::fs::File::create(directory.join("log")).unwrap();
        std::fs::write(directory.join("relay.toml"), file.text(&directory.join("control.sock"))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_governor"));
        command.arg("run").arg("--config").arg(directory.join("relay.toml")).stdout(Stdio::null()).stderr(log);
        change(&mut command);
        Self { child: command.spawn().unwrap(), directory, file }
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.join("control.sock")
    }

    pub fn config(&self) -> PathBuf {
        self.directory.join("relay.toml")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join("log")).unwrap()
    }

    /// Where it listens first.
    pub fn address(&self) -> SocketAddr {
        self.status().listeners[0].strip_prefix("tcp://").unwrap().parse().unwrap()
    }

    #[track_caller]
    pub fn wait_up(&self) {
        self.wait("every server up", |snapshot| {
            self.file.servers.iter().all(|(name, ..)| connection(snapshot, name).cpl == 0)
        });
    }

    /// Its state once it is as wanted.
    #[track_caller]
    pub fn wait(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let start = Instant::now();
        loop {
            match control::status(&self.socket()) {
                Ok(snapshot) if wanted(&snapshot) => return snapshot,
                other if start.elapsed() > PATIENCE => panic!("{what}: never: {other:#?}\n{}", self.log()),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    pub fn status(&self) -> Snapshot {
        control::status(&self.socket()).unwrap()
    }

    /// Asks it something that it does.
    #[track_caller]
    pub fn ask<T: serde::de::DeserializeOwned>(&self, request: &Request) -> T {
        control::ask(&self.socket(), request).unwrap()
    }

    /// Writes its file anew and has it read.
    pub fn reload(&mut self, file: File) -> Result<Reloaded, AskError> {
        self.write(&file.text(&self.socket()));
        let reloaded = control::ask(&self.socket(), &Request::Reload);
        if reloaded.is_ok() {
            self.file = file;
        }
        reloaded
    }

    /// The same with a text of the caller's, for faults.
    pub fn reload_text(&self, change: impl FnOnce(String) -> String) -> Result<Reloaded, AskError> {
        self.write(&change(self.file.text(&self.socket())));
        control::ask(&self.socket(), &Request::Reload)
    }

    fn write(&self, text: &str) {
        std::fs::write(self.config(), text).unwrap();
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait_end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status,
                None if start.elapsed() > PATIENCE => panic!("it does not end:\n{}", self.log()),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

#[track_caller]
pub fn connection<'s>(snapshot: &'s Snapshot, name: &str) -> &'s Connection {
    let found = snapshot.connections.iter().find(|connection| connection.name == name);
    found.unwrap_or_else(|| panic!("no connection {name}"))
}

/// Waits until something is so.
#[track_caller]
pub fn eventually(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "{what}: never");
        std::thread::sleep(Duration::from_millis(5));
    }
}
