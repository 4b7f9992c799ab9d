//! The agent's end of the control socket.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};

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

    /// The next client. Cancel safe.
    ///
    /// # Errors
    /// What the system says; the listener can be used on.
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.inner.accept().await.map(|(stream, _)| stream)
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
