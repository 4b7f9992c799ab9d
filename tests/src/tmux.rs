//! A terminal for programs with a screen: tmux shows what a user would see, and types.

use crate::{Scratch, eventually};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A terminal of a tmux server of its own, both gone with the guard. When its command has ended, the pane still shows what
/// that left.
#[derive(Debug)]
pub struct Terminal {
    socket: PathBuf,
}

// === impl Terminal ===

impl Terminal {
    /// Runs `command` of a shell in a terminal of that size.
    pub fn start(scratch: &Scratch, (width, height): (u16, u16), command: &str) -> Result<Self> {
        // Not that of a server that is still ending.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let terminal = Self { socket: scratch.file(&format!("tmux-{number}.sock")) };
        let (width, height) = (width.to_string(), height.to_string());
        let start = ["new-session", "-d", "-x", &width, "-y", &height, command];
        terminal.tmux(&[&start[..], &[";", "set-option", "remain-on-exit", "on"]].concat())?;
        Ok(terminal)
    }

    /// What it shows, line by line, without blanks at the lines' ends.
    pub fn screen(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Presses keys, by tmux's names: `Enter`, `Up`, `C-c`, `q`.
    pub fn press(&self, keys: &[&str]) -> Result<()> {
        self.tmux(&[&["send-keys"], keys].concat()).map(drop)
    }

    /// Types a text.
    pub fn type_in(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", text]).map(drop)
    }

    /// Gives it another size.
    pub fn resize(&self, width: u16, height: u16) -> Result<()> {
        self.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]).map(drop)
    }

    /// Waits until the screen is as wanted, and gives it.
    pub fn wait_for(&self, what: &str, limit: Duration, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let found = eventually(what, limit, || self.screen().ok().filter(|screen| wanted(screen)));
        found.with_context(|| format!("--- screen ---\n{}", self.screen().unwrap_or_default()))
    }

    /// Waits for the command's end and gives its exit code. A signal's is none.
    pub fn exit_code(&self, limit: Duration) -> Result<i32> {
        let status = || self.tmux(&["display-message", "-p", "#{pane_dead} #{pane_dead_status}"]).ok();
        let ended = eventually("the end of the command in the terminal", limit, || {
            status()?.trim().strip_prefix("1 ").map(str::to_owned)
        });
        let ended = ended.with_context(|| format!("--- screen ---\n{}", self.screen().unwrap_or_default()))?;
        ended.parse().context("ended by a signal")
    }

    /// Is the program on the terminal's alternate screen?
    pub fn is_alternate(&self) -> Result<bool> {
        Ok(self.tmux(&["display-message", "-p", "#{alternate_on}"])?.trim() == "1")
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        // No configuration of the user's; UTF-8 whatever the locale.
        let out = Command::new("tmux").args(["-f", "/dev/null", "-u", "-S"]).arg(&self.socket).args(arguments).output();
        let out = out.context("cannot run tmux: run `cargo xtask setup`")?;
        ensure!(out.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        Ok(String::from_utf8(out.stdout)?)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Gone already if nothing was started.
        let _ = self.tmux(&["kill-server"]);
    }
}
