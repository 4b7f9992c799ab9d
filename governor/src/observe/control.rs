//! The control socket: a Unix socket on which the running agent answers questions, one JSON object a line.
//!
//! | request | answer |
//! |---|---|
//! | `{"cmd":"status"}` | the [`Snapshot`] |
//! | anything else | `{"error":"..."}` |
//!
//! A client may ask again on the same connection.

use super::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::fs;
use std::future::Future;
use std::io::{self, BufRead, BufReader, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tracing::{debug, warn};

/// Longest request, bytes.
const LONGEST_REQUEST: u64 = 4096;
/// How long a client may be silent or refuse to read before it is left.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a client waits for its answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    Status,
}

#[derive(Debug, Serialize, Deserialize)]
struct Refused {
    error: String,
}

/// Why there is no control socket.
#[derive(Debug, Error)]
pub enum BindError {
    /// An agent answers there.
    #[error("another agent is running with the control socket {}; give this one another `node.control`", path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// What is there is no socket, and not ours to remove.
    #[error("{} is there and is not a socket", path.display())]
    NotASocket {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("control socket {}: {call}", path.display())]
    Io {
        /// What was being done.
        call: &'static str,
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

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
    /// The agent refused, or what it said is no snapshot.
    #[error("the agent on {} answers: {answer}", path.display())]
    Answer {
        /// The socket.
        path: PathBuf,
        /// What it said or what is wrong with it.
        answer: String,
    },
}

/// The agent's end of the control socket. Its file goes when this is dropped.
#[derive(Debug)]
pub struct Listener {
    inner: UnixListener,
    path: PathBuf,
    /// Device and inode of the file: another agent's in its place is left alone.
    file: (u64, u64),
}

// === impl Listener ===

impl Listener {
    /// Listens on `path`, in the context of a tokio runtime. The directory is made if only itself is missing; the socket
    /// file that a killed agent left is replaced, a living agent's is not. The socket is for the agent's user and group.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let failed = |call| move |source| BindError::Io { call, path: path.to_owned(), source };
        match fs::symlink_metadata(path) {
            Ok(there) if !there.file_type().is_socket() => {
                return Err(BindError::NotASocket { path: path.to_owned() });
            }
            Ok(_) => match StdStream::connect(path) {
                Ok(_) => return Err(BindError::InUse { path: path.to_owned() }),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(failed("removing what a killed agent left"))?;
                }
                Err(error) => return Err(failed("asking whether an agent is alive")(error)),
            },
            Err(_) => {
                if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
                    fs::create_dir(directory).map_err(failed("making its directory"))?;
                }
            }
        }
        let inner = UnixListener::bind(path).map_err(failed("bind"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(failed("chmod"))?;
        let file = fs::symlink_metadata(path).map_err(failed("stat"))?;
        Ok(Self { inner, path: path.to_owned(), file: (file.dev(), file.ino()) })
    }

    /// The socket's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers clients for ever; `status` makes a snapshot, or `None` when the agent is ending. Runs on a
    /// `tokio::task::LocalSet`, a task a client: a slow client delays nobody.
    pub async fn serve<F, Fut>(self, status: F)
    where
        F: Fn() -> Fut + Clone + 'static,
        Fut: Future<Output = Option<Snapshot>>,
    {
        loop {
            match self.inner.accept().await {
                Ok((stream, _)) => {
                    let status = status.clone();
                    tokio::task::spawn_local(async move {
                        if let Err(error) = talk(stream, status).await {
                            debug!(%error, "control client");
                        }
                    });
                }
                Err(error) => {
                    // Out of descriptors, mostly: whoever waits is served later.
                    warn!(%error, "control socket: accept");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.file) {
            // Nobody is left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Answers one client until it goes.
async fn talk<F, Fut>(mut stream: UnixStream, status: F) -> io::Result<()>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Option<Snapshot>>,
{
    let (reader, mut writer) = stream.split();
    let mut reader = tokio::io::BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = timeout(PATIENCE, (&mut reader).take(LONGEST_REQUEST).read_until(b'\n', &mut line)).await??;
        if count == 0 {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        let refused = |error: String| serde_json::to_vec(&Refused { error });
        let mut answer = match serde_json::from_slice(&line) {
            Ok(Request::Status) => match status().await {
                Some(snapshot) => serde_json::to_vec(&snapshot),
                None => refused("the agent is ending".to_owned()),
            },
            Err(error) => refused(format!("not a request: {error}")),
        }?;
        answer.push(b'\n');
        timeout(PATIENCE, writer.write_all(&answer)).await??;
        if !whole {
            // Too long, or the client's last: what follows is not the beginning of a request.
            return Ok(());
        }
    }
}

/// Asks the agent behind `path` for its state; waits at most 5 s.
///
/// # Errors
/// See [`AskError`].
pub fn status(path: &Path) -> Result<Snapshot, AskError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning { path: path.to_owned() },
        io::ErrorKind::PermissionDenied => AskError::Denied { path: path.to_owned() },
        _ => AskError::Io { path: path.to_owned(), source },
    };
    let mut stream = StdStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(CLIENT_PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(CLIENT_PATIENCE)).map_err(failed)?;
    let answered = |answer: String| AskError::Answer { path: path.to_owned(), answer };
    let mut request = serde_json::to_vec(&Request::Status).map_err(|error| answered(error.to_string()))?;
    request.push(b'\n');
    stream.write_all(&request).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(failed)?;
    if let Ok(Refused { error }) = serde_json::from_str(&line) {
        return Err(answered(error));
    }
    serde_json::from_str(&line).map_err(|error| answered(error.to_string()))
}
