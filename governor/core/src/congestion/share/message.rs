//! What an agent and the store of a shared group tell each other.

/// A figure of each of a group's two sums (rule 6); where a maximum is meant, 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Requests in a second.
    pub rate: u32,
    /// Pending records.
    pub pending: u32,
}

/// What an agent tells of itself and asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Counts the reports of this agent, so that one that was overtaken does no harm.
    pub number: u64,
    /// The store's time when it was made, by what is known of it, milliseconds: no later than that; 0: not known.
    pub made: u64,
    /// How long ago the report was made that was answered last, milliseconds; before the first answer, the start.
    pub age: u64,
    /// The maxima as this agent has them configured.
    pub max: Sums,
    /// What it keeps at least: its part, lowered already where it is to be lower, or what its requests of the last second
    /// and its pending records occupy of a part that was greater.
    pub held: Sums,
    /// What its part is to be, if there is room.
    pub want: Sums,
    /// What is asked of it: requests in the last second and pending records, those held back too.
    pub demand: Sums,
    /// Requests sent in the last second, and pending records.
    pub used: Sums,
    /// The group's level, 0 to 3, as this agent has found it.
    pub level: u8,
    /// Its part while it is away from the store, in millionths of the maximum; `None`: it has never been told one.
    pub fallback: Option<u32>,
    /// How many agents there are at least, by its configuration.
    pub agents: u32,
}

/// What the store answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The store's time, milliseconds.
    pub at: u64,
    /// The part that is this agent's from now on.
    pub part: Sums,
    /// Its part while it is away from the store, in millionths of the maximum.
    pub fallback: u32,
    /// The least of the members' maxima.
    pub max: Sums,
    /// Members not heard of lately that may be at work all the same.
    pub missing: u32,
    /// What is kept free for these.
    pub reserved: Sums,
    /// What the other members have used.
    pub used: Sums,
    /// The highest level that one of them has found.
    pub level: u8,
    /// The demand of each other member that is there.
    pub demands: Vec<Sums>,
    /// False: the store has just begun or lost what it knew, and gives nobody more than it holds.
    pub settled: bool,
}

// === impl Sums ===

impl Sums {
    pub(super) fn each(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Self { rate: f(self.rate, other.rate), pending: f(self.pending, other.pending) }
    }

    /// The smaller of each.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        self.each(other, u32::min)
    }

    /// The greater of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.each(other, u32::max)
    }

    /// So many millionths of each, rounded down.
    #[must_use]
    pub fn millionths(self, millionths: u32) -> Self {
        let of = |figure: u32| u32::try_from(u64::from(figure) * u64::from(millionths) / 1_000_000).unwrap_or(u32::MAX);
        Self { rate: of(self.rate), pending: of(self.pending) }
    }
}
