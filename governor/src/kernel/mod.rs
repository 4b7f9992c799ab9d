//! The kernel half: find what this kernel offers, load, attach, pin, read, and say what is missing.
//!
//! # Use
//!
//! ```no_run
//! # use std::os::fd::AsFd;
//! # async fn f(
//! #     stream: tokio::net::TcpStream,
//! #     pressure: Option<governor_core::settings::Pressure>,
//! #     levels: governor_core::level::Levels,
//! # ) -> anyhow::Result<()> {
//! use governor::kernel::{Assist, Mode, Registration};
//!
//! // In a tokio runtime. `Err` only for `Mode::Required`; the report is to be printed either way.
//! let (assist, report) = Assist::load(Mode::Auto)?;
//! println!("{report}");
//! if let Some(mut assist) = assist {
//!     // A connection of ours came up: the programs measure it from now on. `pressure` is the connection's setting.
//!     let registration = Registration::of(stream.as_fd(), pressure)?;
//!     let cookie = registration.cookie;
//!     assist.register(&registration)?;
//!     // Its levels, for `bpftool map dump pinned /sys/fs/bpf/governor/levels`.
//!     assist.publish_level(cookie, levels)?;
//!     // Edges as they happen: blocked, unblocked, another pressure level, opened, closed. Cancel safe.
//!     let event = assist.next_event().await?;
//!     // Measures at any time.
//!     let record = assist.record(event.cookie)?;
//!     // The connection went.
//!     assist.unregister(cookie)?;
//! } // dropped: programs detached, pins gone
//! # Ok(()) }
//! ```
//!
//! Map operations take `&self` and cost one system call. [`Assist::take_events`] moves the stream of events into a task of
//! its own, so that the rest can be shared. Without kernel programs [`occupancy`] measures a socket of ours.
//!
//! # What is left behind
//!
//! Maps and links are pinned in a directory of their own ([`Options::pin_root`]), which is locked while an agent uses it.
//! Dropping the [`Assist`] detaches the programs and removes the pins. A killed agent's pins, and with them its programs,
//! stay until the next start, which removes the names that are ours and no others.

mod assist;
mod clock;
mod events;
mod hooks;
mod load;
mod machine;
mod maps;
mod object;
mod occupancy;
mod offsets;
mod pins;
mod report;

pub use assist::{Assist, Registration};
pub use clock::monotonic;
pub use events::{Event, Events};
pub use machine::{Capabilities, Machine};
pub use occupancy::{Occupancy, occupancy, socket_cookie};
pub use report::{Finding, Hook, Report};

pub use governor_common::{ConnectionRecord, EventKind, LevelRecord, LostEvents, Thresholds};

use std::path::PathBuf;
use std::str::FromStr;

/// `kernel_assist`: how much the agent relies on kernel programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Run with what this kernel offers, and say what is missing and what that costs.
    #[default]
    Auto,
    /// Refuse to start if anything is missing.
    Required,
    /// Load nothing.
    Off,
}

impl FromStr for Mode {
    type Err = UnknownMode;
    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word {
            "auto" => Ok(Self::Auto),
            "required" => Ok(Self::Required),
            "off" => Ok(Self::Off),
            _ => Err(UnknownMode),
        }
    }
}

/// Not one of `auto`, `required`, `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel_assist is auto, required or off")]
pub struct UnknownMode;

/// How to load. [`Options::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// `kernel_assist`
    pub mode: Mode,
    /// Directory of the pins, on a bpffs; default `/sys/fs/bpf/governor`. Its parent must exist.
    pub pin_root: PathBuf,
    /// Kernel BTF from a file instead of `/sys/kernel/btf/vmlinux` (`--btf-file`).
    pub btf_file: Option<PathBuf>,
    /// Room for connections in the maps; default 8192.
    pub max_connections: u32,
    /// Size of the ring of events in bytes, a power of two of pages; default 256 KiB (6500 events).
    pub ring_bytes: u32,
    /// Hooks to do without, by name: one that a kernel has and that does harm there.
    pub without: Vec<String>,
}

impl Options {
    /// Everything but the mode at its default.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            pin_root: PathBuf::from("/sys/fs/bpf/governor"),
            btf_file: None,
            max_connections: 8192,
            ring_bytes: 256 * 1024,
            without: Vec::new(),
        }
    }
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `kernel_assist = "required"`, and something is missing.
    #[error("kernel_assist = \"required\", but {reason}")]
    Required {
        /// The first thing that is missing, with the way out where there is one.
        reason: String,
        /// All of it.
        report: Box<Report>,
    },
    /// An operation on a map failed.
    #[error("map `{map}`: {operation} failed")]
    Map {
        /// Its name.
        map: &'static str,
        /// What was asked of it.
        operation: &'static str,
        /// Why.
        #[source]
        source: Box<aya::maps::MapError>,
    },
    /// The events could not be waited for (no tokio runtime with I/O, or no file descriptors left).
    #[error("cannot wait for kernel events")]
    Events(#[source] std::io::Error),
    /// The events were moved out by [`Assist::take_events`].
    #[error("the events were taken by another task")]
    EventsTaken,
}
