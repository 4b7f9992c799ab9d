//! Which running agent a command asks.

use crate::config::{self, DEFAULT_CONTROL};
use anyhow::bail;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

/// The running agent.
#[derive(Clone, Debug, clap::Args)]
pub struct Agent {
    /// The running agent's control socket
    #[arg(long, global = true, value_name = "SOCKET", default_value = DEFAULT_CONTROL, conflicts_with = "config")]
    control: PathBuf,
    /// The running agent's configuration file: its control socket is asked
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

// === impl Agent ===

impl Agent {
    /// Its control socket.
    ///
    /// # Errors
    /// [`config::Faults`] of a faulty file; a file that says that there is no control socket.
    pub fn socket(self) -> anyhow::Result<PathBuf> {
        let Some(file) = self.config else { return Ok(self.control) };
        match config::load(&file)?.shell.control {
            Some(socket) => Ok(socket),
            None => bail!("{}: `node.control` is off, so the agent cannot be asked", file.display()),
        }
    }
}

/// Prints to standard output. Gives false when the reader has seen enough (`| head`).
///
/// # Errors
/// It cannot be written to.
pub fn print(text: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        outcome => Ok(outcome.map(|()| true)?),
    }
}
