//! The plain statement at start: what this kernel offers, what is missing, and what that costs.

use super::hooks::{DRAIN, SEND, SEND_4, SEND_6};
use super::{Machine, Mode};
use std::fmt;
use std::path::PathBuf;

/// A hook: what it is and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The kernel's name of it, and the program's.
    pub name: &'static str,
    /// What the agent gets from it.
    pub offers: &'static str,
    /// What the agent does without it.
    pub cost: &'static str,
}

/// What became of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The program is attached.
    Attached,
    /// Another hook does its work.
    NotNeeded {
        /// That one.
        because: &'static str,
    },
    /// The program is not attached.
    Missing {
        /// Why, one line.
        reason: String,
        /// What the kernel's verifier said, whole; empty if it said nothing.
        verifier_log: String,
    },
}

/// What became of `kernel_assist`.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was asked for.
    pub mode: Mode,
    /// What the machine offers.
    pub machine: Machine,
    /// Why nothing was loaded; `None`: something was.
    pub unavailable: Option<String>,
    /// Each hook that was tried.
    pub hooks: Vec<(Hook, Finding)>,
    /// Where the maps and links are pinned; `None`: nowhere, see `notes`.
    pub pins: Option<PathBuf>,
    /// What else should be known.
    pub notes: Vec<String>,
}

/// What the agent does without any kernel program.
const WITHOUT: &str = "send-buffer pressure is measured from the agent's own sockets, when it writes to them; other programs' \
                       connections cannot be watched";

impl Report {
    pub(super) fn new(mode: Mode, machine: Machine) -> Self {
        Self { mode, machine, unavailable: None, hooks: Vec::new(), pins: None, notes: Vec::new() }
    }

    /// The first thing that is missing; `None`: all is there.
    pub fn missing(&self) -> Option<String> {
        if let Some(reason) = &self.unavailable {
            return Some(reason.clone());
        }
        let hook = self.hooks.iter().find_map(|(hook, finding)| match finding {
            Finding::Missing { reason, .. } => Some(format!("hook {} is missing: {reason}", hook.name)),
            _ => None,
        });
        hook.or_else(|| match self.pins {
            Some(_) => None,
            None => Some(self.notes.first().cloned().unwrap_or_else(|| "nothing is pinned".to_owned())),
        })
    }

    /// Do the programs measure the send buffer's pressure, rising and falling? If not, the agent has to measure its own sockets
    /// even though some program is at work.
    pub fn measures_pressure(&self) -> bool {
        let sends = self.attached(SEND.name) || (self.attached(SEND_4.name) && self.attached(SEND_6.name));
        sends && self.attached(DRAIN.name)
    }

    /// Is a program attached to that hook?
    pub fn attached(&self, hook: &str) -> bool {
        self.hooks.iter().any(|(of, finding)| of.name == hook && *finding == Finding::Attached)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mode == Mode::Off {
            return write!(f, "kernel assist: off, as configured; {WITHOUT}");
        }
        if let Some(reason) = &self.unavailable {
            return write!(f, "kernel assist: none ({}), because {reason}\n  without it {WITHOUT}", self.machine);
        }
        let attached = self.hooks.iter().filter(|(_, finding)| *finding == Finding::Attached).count();
        write!(f, "kernel assist: on ({}), {attached} hooks attached", self.machine)?;
        for (hook, finding) in &self.hooks {
            write!(f, "\n  {:<20} ", hook.name)?;
            match finding {
                Finding::Attached => write!(f, "attached: {}", hook.offers)?,
                Finding::NotNeeded { because } => write!(f, "not needed: {because} does its work")?,
                Finding::Missing { reason, .. } => write!(f, "missing: {reason}; so {}", hook.cost)?,
            }
        }
        match &self.machine.cgroup2 {
            Some(path) => write!(f, "\n  {:<20} {}", "cgroup v2", path.display())?,
            None => write!(f, "\n  {:<20} not mounted", "cgroup v2")?,
        }
        match &self.pins {
            Some(path) => write!(f, "\n  {:<20} {}", "pins", path.display())?,
            None => write!(f, "\n  {:<20} none", "pins")?,
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))
    }
}
