//! A snapshot's figures as people read them.

use super::snapshot::Connection;

/// The input that sets a connection's CPL; empty at level 0.
pub fn set_by(connection: &Connection) -> String {
    connection.set_by.as_deref().unwrap_or_default().replace('_', " ")
}

/// Priorities that may leave at a level (rule 1).
pub const fn may_leave(level: u8) -> &'static str {
    match level {
        0 => "all",
        1 => "1 2",
        2 => "2",
        3 => "answers",
        _ => "nothing",
    }
}

/// A span of seconds in its two largest units.
pub fn span(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1}s");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "10 or more, and casts saturate")]
    let whole = seconds.round() as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{whole}s"),
        (0, 0, minutes) => format!("{minutes}m {}s", whole % 60),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, _) => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units() {
        for (seconds, text) in [
            (0.04, "0.0s"),
            (9.94, "9.9s"),
            (59.4, "59s"),
            (60.0, "1m 0s"),
            (3661.0, "1h 1m"),
            (90_000.0, "1d 1h"),
            (f64::INFINITY, "213503982334601d 7h"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn what_may_leave_follows_rule_1() {
        assert_eq!([0, 1, 2, 3, 98, 99].map(may_leave), ["all", "1 2", "2", "answers", "nothing", "nothing"]);
    }
}
