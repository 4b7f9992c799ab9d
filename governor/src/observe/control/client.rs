//! Asking a running agent.

use super::protocol::{Refused, Request};
use crate::config::Faults;
use crate::observe::snapshot::Snapshot;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Lines, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// How long a client waits for its answer; a reload reads and checks a file first.
const PATIENCE: Duration = Duration::from_secs(5);
const RELOAD_PATIENCE: Duration = Duration::from_secs(60);

/// Why a running agent could not be asked.
#[derive(Debug, Error)]
pub enum AskError {
    /// Nothing listens.
    #[error("no agent is running: nothing answers on {} (an agent with another `node.control`: --config or --control)", path.display())]
    NotRunning {
        /// The socket.
        path: PathBuf,
    },
    /// The socket is another user's.
    #[error("not allowed to use the control socket {}: ask as the user that the agent runs as", path.display())]
    Denied {
        /// The socket.
        path: PathBuf,
    },
    /// Something else went wrong on the way.
    #[error("the agent on {} does not answer", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The agent refused, or what it said is no answer.
    #[error("the agent on {} answers: {answer}", path.display())]
    Answer {
        /// The socket.
        path: PathBuf,
        /// What it said or what is wrong with it.
        answer: String,
    },
    /// A reload was refused.
    #[error("{}\n{faults}", .error)]
    Faults {
        /// In a sentence.
        error: String,
        /// What is wrong with the file.
        faults: Faults,
    },
}

/// The stream of events: a line each, as docs/control.md has them.
#[derive(Debug)]
pub struct Events {
    lines: Lines<BufReader<UnixStream>>,
    path: PathBuf,
}

/// Asks the agent behind `path` for its state; waits at most 5 s.
///
/// # Errors
/// See [`AskError`].
pub fn status(path: &Path) -> Result<Snapshot, AskError> {
    ask(path, &Request::Status)
}

/// Asks the agent behind `path`; waits at most 5 s, for a reload 60 s. `T` is what [`Request`] says of its answer.
///
/// # Errors
/// See [`AskError`].
pub fn ask<T: DeserializeOwned>(path: &Path, request: &Request) -> Result<T, AskError> {
    let patience = if *request == Request::Reload { RELOAD_PATIENCE } else { PATIENCE };
    let mut line = String::new();
    let mut reader = BufReader::new(send(path, request, patience)?);
    reader.read_line(&mut line).map_err(|source| failed(path, source))?;
    answer(path, &line)
}

/// Every event of the agent behind `path` from now on.
///
/// # Errors
/// See [`AskError`].
pub fn events(path: &Path) -> Result<Events, AskError> {
    let stream = send(path, &Request::Subscribe, PATIENCE)?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).map_err(|source| failed(path, source))?;
    answer::<serde_json::Value>(path, &line)?;
    // Nothing may happen for a long time.
    reader.get_ref().set_read_timeout(None).map_err(|source| failed(path, source))?;
    Ok(Events { lines: reader.lines(), path: path.to_owned() })
}

// === impl Events ===

impl Iterator for Events {
    type Item = Result<String, AskError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        Some(line.map_err(|source| failed(&self.path, source)))
    }
}

fn send(path: &Path, request: &Request, patience: Duration) -> Result<UnixStream, AskError> {
    let failed = |source| failed(path, source);
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    let mut line = serde_json::to_vec(request).map_err(|error| failed(error.into()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(failed)?;
    Ok(stream)
}

fn answer<T: DeserializeOwned>(path: &Path, line: &str) -> Result<T, AskError> {
    match serde_json::from_str(line) {
        Ok(Refused { error, faults: Some(faults) }) => return Err(AskError::Faults { error, faults }),
        Ok(Refused { error, faults: None }) => return Err(AskError::Answer { path: path.to_owned(), answer: error }),
        Err(_) => {}
    }
    serde_json::from_str(line).map_err(|error| AskError::Answer { path: path.to_owned(), answer: error.to_string() })
}

fn failed(path: &Path, source: io::Error) -> AskError {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning { path: path.to_owned() },
        io::ErrorKind::PermissionDenied => AskError::Denied { path: path.to_owned() },
        // What a read with a timeout says when it has run out.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            AskError::Io { path: path.to_owned(), source: io::Error::new(io::ErrorKind::TimedOut, "no answer in time") }
        }
        _ => AskError::Io { path: path.to_owned(), source },
    }
}
