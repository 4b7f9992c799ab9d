//! The directory of pins: one agent's at a time, and only names that are ours are ever removed.

use super::hooks::HOOKS;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Every map that is pinned, by its name there and in the object.
pub(super) const MAPS: [&str; 6] = ["connections", "levels", "events", "lost", "meta", "ports"];

/// Why the directory cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClaimError {
    #[error("another governor is running with the pins in {}", .0.display())]
    InUse(PathBuf),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl ClaimError {
    /// Another agent has it.
    pub(super) fn in_use(&self) -> bool {
        matches!(self, Self::InUse(_))
    }
}

/// A claimed directory. Dropping it removes our pins, and the directory if nothing of others is in it.
#[derive(Debug)]
pub(super) struct Pins {
    root: PathBuf,
    /// The directory itself, locked. The kernel frees the lock of a killed agent, and there is no lock file to go stale.
    _lock: File,
}

impl Pins {
    /// Makes and locks the directory, and removes what a killed agent left in it.
    pub(super) fn claim(root: &Path) -> Result<Self, ClaimError> {
        let failed = |source| ClaimError::Io { path: root.to_path_buf(), source };
        loop {
            match fs::create_dir(root) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
                _ => {}
            }
            let directory = match File::open(root) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                outcome => outcome.map_err(failed)?,
            };
            // SAFETY: a valid file descriptor.
            if unsafe { libc::flock(directory.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                let error = io::Error::last_os_error();
                return Err(match error.kind() {
                    io::ErrorKind::WouldBlock => ClaimError::InUse(root.to_path_buf()),
                    _ => failed(error),
                });
            }
            // An agent that ended between our open and our lock has removed the directory: then we hold one without a name.
            if same(&directory, root) {
                let pins = Self { root: root.to_path_buf(), _lock: directory };
                pins.sweep();
                fs::create_dir(pins.links()).map_err(failed)?;
                return Ok(pins);
            }
        }
    }

    /// Where a map is pinned.
    pub(super) fn map(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Where a hook's link is pinned.
    pub(super) fn link(&self, hook: &str) -> PathBuf {
        self.links().join(hook)
    }

    fn links(&self) -> PathBuf {
        self.root.join("links")
    }

    /// Removes every name that is ours. Failures leave the name where it is, and show when it is to be made anew.
    fn sweep(&self) {
        for hook in HOOKS {
            let _ = fs::remove_file(self.link(hook.name));
        }
        let _ = fs::remove_dir(self.links());
        for map in MAPS {
            let _ = fs::remove_file(self.map(map));
        }
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        self.sweep();
        // Fails, and should, when another program has put something into it.
        let _ = fs::remove_dir(&self.root);
    }
}

/// Is the open directory the one that has the name?
fn same(directory: &File, path: &Path) -> bool {
    match (directory.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => open.ino() == named.ino() && open.dev() == named.dev(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{ClaimError, Pins};
    use std::fs;

    // The directory's rules hold on any file system.

    #[test]
    fn a_claim_is_exclusive_and_leaves_nothing() -> anyhow::Result<()> {
        let root = std::env::temp_dir().join(format!("governor-pins-{}", std::process::id()));
        let pins = Pins::claim(&root)?;
        assert!(matches!(Pins::claim(&root), Err(ClaimError::InUse(_))));
        drop(pins);
        assert!(!root.exists());
        Ok(())
    }

    #[test]
    fn leftovers_of_ours_go_and_names_of_others_stay() -> anyhow::Result<()> {
        let root = std::env::temp_dir().join(format!("governor-leftovers-{}", std::process::id()));
        fs::create_dir_all(root.join("links"))?;
        for name in ["connections", "levels", "links/tcp_probe", "somebody", "links/somebody"] {
            fs::write(root.join(name), "")?;
        }
        // Something of others in `links` keeps that directory, which is then in the way: said, not forced.
        assert!(matches!(Pins::claim(&root), Err(ClaimError::Io { .. })));
        assert!(!root.join("connections").exists());
        assert!(root.join("links/somebody").exists());
        fs::remove_file(root.join("links/somebody"))?;
        drop(Pins::claim(&root)?);
        assert!(root.join("somebody").exists(), "a name of others was removed");
        assert!(!root.join("links").exists());
        fs::remove_dir_all(&root)?;
        Ok(())
    }
}
