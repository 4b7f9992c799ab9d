//! Pending transaction records against their limit (rule 5): of one connection, of a group, or of the whole agent.

use crate::refusal::Refusal;

/// A limit and a count of pending records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    limit: u32,
    used: u32,
}

impl Pending {
    /// No record, and at most `limit`.
    pub const fn new(limit: u32) -> Self {
        Self { limit, used: 0 }
    }

    /// Is there room for one more? [`Refusal::PendingLimit`] if not. Takes nothing.
    pub const fn admit(&self) -> Result<(), Refusal> {
        if self.used < self.limit { Ok(()) } else { Err(Refusal::PendingLimit) }
    }

    /// One record more: a request was sent.
    pub const fn take(&mut self) {
        self.used = self.used.saturating_add(1);
    }

    /// One record less: answered, timed out, or sent elsewhere.
    pub const fn release(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    /// `count` records less.
    pub const fn release_many(&mut self, count: u32) {
        self.used = self.used.saturating_sub(count);
    }

    /// No record is left.
    pub const fn clear(&mut self) {
        self.used = 0;
    }

    /// Another limit. One below the records in use drops none of them: nothing is admitted until they are fewer.
    pub const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// The most records admitted.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The count is this from now on.
    pub(super) const fn set_used(&mut self, count: u32) {
        self.used = count;
    }

    /// Records in use.
    pub const fn used(&self) -> u32 {
        self.used
    }
}
