//! The configuration file, checked whole before anything starts.
//!
//! [`keys`] says what may stand in the file; [`parse`] reads it, collects every fault with its line, and gives a [`Config`]
//! only where there is none: what the core runs on ([`Settings`]) and what the shell needs besides ([`Shell`]).

pub mod address;
pub(crate) mod duration;
mod fault;
mod groups;
pub mod keys;
mod lines;
mod node;
mod peers;
mod reader;
mod routes;
mod share;
mod throttle;
mod words;

pub use address::{Address, Scheme};
pub use fault::{Fault, Faults};
pub use lines::Lines;

use governor_core::settings::Settings;
use reader::{Section, Sink};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where the control socket is unless `node.control` says otherwise.
pub const DEFAULT_CONTROL: &str = "/run/governor/control.sock";

/// A file without faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What the core runs on.
    pub settings: Settings,
    /// What only the shell needs.
    pub shell: Shell,
    /// How many throttle sets there are, used or not.
    pub throttle_sets: usize,
    /// What is allowed but hardly meant, for the operator's eyes.
    pub notes: Vec<Fault>,
    /// The file it was read from, to be read again; `None`: it was a text.
    pub file: Option<PathBuf>,
    /// Where its keys stand.
    pub lines: Lines,
}

/// Settings of sockets, files and kernel: none of the core's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Where peers may connect to us.
    pub listen: Vec<Address>,
    /// One for each of [`Settings::connections`], by the same index.
    pub connections: Vec<ConnectionShell>,
    /// Kernel programs.
    pub kernel_assist: KernelAssist,
    /// The control socket; `None`: none.
    pub control: Option<PathBuf>,
    /// Where metrics are served; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Where groups are shared; `None`: they are this agent's alone.
    pub share: Option<ShareServer>,
}

/// The server through which agents share groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareServer {
    /// Its URL, of a form that the client library takes.
    pub url: String,
    /// What the keys begin with.
    pub name: String,
}

/// What the shell knows of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionShell {
    /// Where we connect to; `None`: the peer connects to us.
    pub address: Option<Address>,
    /// `SO_SNDBUF`, bytes; `None`: [`crate::transport::tcp::SEND_BUFFER`].
    pub send_buffer: Option<u32>,
}

/// What is asked of the kernel programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelAssist {
    /// Run with what there is, and say what is missing.
    Auto,
    /// Refuse to start without.
    Required,
    /// Load nothing.
    Off,
}

impl std::fmt::Display for KernelAssist {
    /// As the file spells it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Required => "required",
            Self::Off => "off",
        })
    }
}

/// Reads and checks a file.
///
/// # Errors
/// Every fault found, or the one that it cannot be read.
pub fn load(path: &Path) -> Result<Config, Faults> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, &file).map(|config| Config { file: Some(path.to_owned()), ..config }),
        Err(error) => {
            let message = format!("cannot be read: {error}");
            Err(Faults { file, faults: vec![Fault { line: 0, key: String::new(), message }] })
        }
    }
}

/// Checks a file's text; `file` is its name for messages.
///
/// # Errors
/// Every fault found.
pub fn parse(text: &str, file: &str) -> Result<Config, Faults> {
    let mut sink = Sink::new(text);
    let (document, errors) = toml::de::DeTable::parse_recoverable(text);
    for error in &errors {
        // What follows a syntax error is guesswork: only such errors are told then.
        sink.fault(&error.span().unwrap_or(0..0), "", error.message().replace('\n', ", "));
    }
    let config = errors.is_empty().then(|| {
        let root = Section::new(&mut sink, String::new(), 0..0, document.get_ref(), keys::ROOT);
        read(&mut sink, &root)
    });
    let Sink { mut faults, mut notes, places, .. } = sink;
    notes.sort_by_key(|note| note.line);
    match config {
        Some(config) if faults.is_empty() => Ok(Config { notes, lines: places, ..config }),
        _ => {
            faults.sort_by_key(|fault| fault.line);
            Err(Faults { file: file.to_owned(), faults })
        }
    }
}

fn read(sink: &mut Sink, root: &Section<'_, '_>) -> Config {
    let node = node::read(sink, root);
    let sets = throttle::read(sink, root);
    let peers = peers::read(sink, root, &node, &sets);
    let priorities = routes::read_priorities(sink, root, &peers);
    let routes = routes::read_routes(sink, root, &peers);
    let share = share::read(sink, root);
    let groups = groups::read(sink, root, &peers, share.as_ref().map(|(_, share)| *share));
    let node::Read { node, listen, kernel_assist, control, metrics } = node;
    let peers::Directory { peers, connections, shells, .. } = peers;
    Config {
        settings: Settings { node, peers, connections, priorities, routes, groups },
        shell: Shell {
            listen,
            connections: shells,
            kernel_assist,
            control,
            metrics,
            share: share.map(|(server, _)| server),
        },
        throttle_sets: sets.len(),
        notes: Vec::new(),
        file: None,
        lines: Lines::default(),
    }
}
