//! The columns of the list: what each shows, how wide, and how it sorts.

use super::model::{Row, discarded};
use crate::observe::words::{set_by, span};
use std::cmp::Ordering;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Name of the connection.
    Connection,
    /// Its peer's host.
    Peer,
    /// State of its peer machine, or what the operator wants of it.
    State,
    /// Its level.
    Cpl,
    /// The input that sets it.
    SetBy,
    /// How long it has been there.
    Since,
    /// Egress messages/s, and the maximum.
    Rate,
    /// A minute of it.
    History,
    /// Requests without an answer, and their limit.
    Pending,
    /// How full the send buffer is, by the kernel's measure.
    Queued,
    /// Requests held back, a second.
    HeldBack,
    /// Messages discarded since the start.
    Discarded,
    /// Requests without an answer in time since the start.
    Timeouts,
}

// === impl Column ===

impl Column {
    /// From left to right.
    pub const ALL: [Self; 13] = [
        Self::Connection,
        Self::Peer,
        Self::State,
        Self::Cpl,
        Self::SetBy,
        Self::Since,
        Self::Rate,
        Self::History,
        Self::Pending,
        Self::Queued,
        Self::HeldBack,
        Self::Discarded,
        Self::Timeouts,
    ];

    /// In a terminal that is not wide enough for all, these go first to last; the others stay.
    pub const DISPENSABLE: [Self; 9] = [
        Self::Queued,
        Self::Since,
        Self::Peer,
        Self::Discarded,
        Self::Timeouts,
        Self::History,
        Self::State,
        Self::HeldBack,
        Self::SetBy,
    ];

    /// Its head.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Peer => "peer",
            Self::State => "state",
            Self::Cpl => "CPL",
            Self::SetBy => "set by",
            Self::Since => "since",
            Self::Rate => "rate/s",
            Self::History => "last 60 s",
            Self::Pending => "pending",
            Self::Queued => "buffer",
            Self::HeldBack => "held/s",
            Self::Discarded => "discarded",
            Self::Timeouts => "timeouts",
        }
    }

    /// Least and greatest width, in cells. With room for the mark of sorting beside the head.
    pub const fn widths(self) -> (u16, u16) {
        match self {
            Self::Connection => (11, 28),
            Self::Peer => (6, 30),
            Self::State => (13, 13),
            Self::Cpl => (4, 4),
            Self::SetBy => (11, 11),
            Self::Rate => (7, 13),
            Self::History => (12, 12),
            Self::Pending => (8, 15),
            Self::Since | Self::Queued | Self::HeldBack => (7, 7),
            Self::Discarded => (10, 12),
            Self::Timeouts => (9, 12),
        }
    }

    /// Do its cells begin on the left? Those of figures end on the right.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Connection | Self::Peer | Self::State | Self::SetBy | Self::History)
    }

    /// Can the list be sorted by it?
    pub fn sorts(self) -> bool {
        self != Self::History
    }

    /// Does [`Self::compare`] put the lowest first?
    pub const fn rises(self) -> bool {
        matches!(self, Self::Connection | Self::Peer | Self::State | Self::SetBy | Self::Since)
    }

    /// The cell of a row; that of the history as wide as the column.
    pub fn text(self, row: &Row) -> String {
        let now = &row.now;
        match self {
            Self::Connection => now.name.clone(),
            Self::Peer => now.peer.clone(),
            Self::State => state(row).to_owned(),
            Self::Cpl => now.cpl.to_string(),
            Self::SetBy => set_by(now),
            Self::Since => now.since.map(span).unwrap_or_default(),
            Self::Rate => match now.max_rate {
                Some(max) => format!("{:.0}/{max}", now.rate),
                None => format!("{:.0}", now.rate),
            },
            Self::History => row.history.line(usize::from(self.widths().0)),
            Self::Pending => format!("{}/{}", now.pending, now.pending_limit),
            Self::Queued => queued(row).map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
            Self::HeldBack => per_second(row.per_second.held_back),
            Self::Discarded => discarded(&now.counters).to_string(),
            Self::Timeouts => now.counters.timeouts.to_string(),
        }
    }

    /// The order in which the list is of use: of names the first, of figures the highest first. Equals stay in file order.
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        let highest = |figure: fn(&Row) -> f64| figure(b).total_cmp(&figure(a));
        match self {
            Self::Connection => a.now.name.cmp(&b.now.name),
            Self::Peer => a.now.peer.cmp(&b.now.peer),
            Self::State => state(a).cmp(state(b)),
            Self::Cpl => b.now.cpl.cmp(&a.now.cpl),
            Self::SetBy => a.now.set_by.cmp(&b.now.set_by),
            // The latest change first.
            Self::Since => {
                let since = |row: &Row| row.now.since.unwrap_or(f64::INFINITY);
                since(a).total_cmp(&since(b))
            }
            Self::Rate => highest(|row| row.now.rate),
            Self::History => Ordering::Equal,
            Self::Pending => b.now.pending.cmp(&a.now.pending),
            Self::Queued => highest(|row| queued(row).unwrap_or(-1.0)),
            Self::HeldBack => highest(|row| row.per_second.held_back),
            Self::Discarded => discarded(&b.now.counters).cmp(&discarded(&a.now.counters)),
            Self::Timeouts => b.now.counters.timeouts.cmp(&a.now.counters.timeouts),
        }
    }
}

/// The state of a connection's machine; `draining` or `disabled` where the operator wants that.
pub fn state(row: &Row) -> &str {
    match row.now.admin.as_str() {
        out @ ("draining" | "disabled") => out,
        _ => &row.now.state,
    }
}

/// How full the send buffer is, 0 to 1, where the kernel's measure is known.
pub fn queued(row: &Row) -> Option<f64> {
    let kernel = row.now.kernel.as_ref().filter(|kernel| kernel.limit > 0)?;
    Some(kernel.queued as f64 / kernel.limit as f64)
}

/// Few a second with a decimal: one every ten seconds is not nothing.
pub fn per_second(rate: f64) -> String {
    if rate > 0.0 && rate < 9.95 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::snapshot::KernelConnection;

    #[test]
    fn heads_with_the_mark_of_sorting_fit() {
        for column in Column::ALL {
            let (least, greatest) = column.widths();
            assert!(column.title().len() < usize::from(least) && least <= greatest, "{column:?}");
        }
    }

    #[test]
    fn cells_tell_limits_and_small_rates() {
        let mut row = Row::default();
        (row.now.rate, row.now.pending, row.now.pending_limit) = (812.4, 7, 1000);
        row.per_second.held_back = 0.1;
        assert_eq!([Column::Rate, Column::Pending, Column::Queued].map(|c| c.text(&row)), ["812", "7/1000", ""]);
        row.now.max_rate = Some(1000);
        row.now.kernel = Some(KernelConnection { queued: 30, limit: 120, ..KernelConnection::default() });
        assert_eq!([Column::Rate, Column::Queued, Column::HeldBack].map(|c| c.text(&row)), ["812/1000", "25 %", "0.1"]);
        assert_eq!([0.0, 9.94, 9.96, 1234.5].map(per_second), ["0", "9.9", "10", "1234"]);
        row.now.state = "I-Open".to_owned();
        for (admin, shown) in [("enabled", "I-Open"), ("draining", "draining"), ("disabled", "disabled")] {
            row.now.admin = admin.to_owned();
            assert_eq!(Column::State.text(&row), shown);
        }
    }
}
