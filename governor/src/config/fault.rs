//! What is wrong with a configuration file, and where.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Line, counted from 1; 0 where the fault is the file's as a whole (it cannot be read).
    pub line: usize,
    /// Path of the key (`peer[2].connection[1].pending_limit`, elements counted from 1); empty where there is none.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// Every fault of a file, in the order of lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub struct Faults {
    /// The file's name as it was given.
    pub file: String,
    /// The faults.
    pub faults: Vec<Fault>,
}

impl fmt::Display for Faults {
    /// One a line: `file:line: key: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Fault { line, key, message }) in self.faults.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{}:", self.file)?;
            if *line > 0 {
                write!(f, "{line}:")?;
            }
            if !key.is_empty() {
                write!(f, " {key}:")?;
            }
            write!(f, " {message}")?;
        }
        Ok(())
    }
}
