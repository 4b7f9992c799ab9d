//! Where the keys of a file stand, for messages about a file that has no fault by itself.

use std::collections::BTreeMap;

/// Lines of the keys of single tables (`node.listen`, `node.listen[2]`, not `peer[1].host`: those would be many).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(BTreeMap<String, usize>);

// === impl Lines ===

impl Lines {
    /// Notes where a key stands, unless it is in an array of tables.
    pub(super) fn note(&mut self, path: String, line: usize) {
        self.0.insert(path, line);
    }

    /// The line of a key, counted from 1; where it is not given, that of the table that it would be in; 0: neither is.
    pub fn of(&self, path: &str) -> usize {
        let parent = || path.rfind(['.', '[']).map_or(0, |end| self.of(&path[..end]));
        self.0.get(path).copied().unwrap_or_else(parent)
    }
}
