//! The control socket: a Unix socket on which the running agent answers, one JSON object a line. docs/control.md is its
//! page for other programs.

mod client;
mod listener;
mod protocol;
mod serve;

pub use client::{AskError, Events, ask, events, status};
pub use listener::{BindError, Listener};
pub use protocol::{Answer, Connections, ManualLevel, Refused, Reloaded, Request, Summary};
pub use serve::Agent;
