//! The demo as lines of text: one a second, one a phase, one a change of level.

use super::pool::Site;
use super::state::{Noted, State, feature_name};
use crate::observe::words::set_by;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes the lines as they are due.
pub struct Lines<W> {
    out: W,
    seconds: u64,
    changes: usize,
    phases: usize,
}

impl<W: Write> Lines<W> {
    /// Writes the head.
    pub fn new(mut out: W, state: &State) -> io::Result<Self> {
        writeln!(out, "{}\n\n{}", state.kernel, head())?;
        Ok(Self { out, seconds: 0, changes: 0, phases: 0 })
    }

    /// Writes what is new.
    pub fn show(&mut self, state: &State) -> io::Result<()> {
        let phases = state.phases[self.phases..].iter();
        let phases = phases.map(|(at, text)| (*at, format!("{:5.1} s  >> {text}", at.as_secs_f64())));
        let changes = state.changes[self.changes..].iter().map(|noted| (noted.at, change(noted)));
        let mut news: Vec<_> = phases.chain(changes).collect();
        news.sort_by_key(|(at, _)| *at);
        for (_, line) in news {
            writeln!(self.out, "{line}")?;
        }
        let seconds = state.at.as_secs();
        if seconds > self.seconds {
            writeln!(self.out, "{}", second(state))?;
        }
        (self.seconds, self.changes, self.phases) = (seconds, state.changes.len(), state.phases.len());
        self.out.flush()
    }
}

/// Head of the lines that [`second`] gives.
fn head() -> String {
    let mut line = String::from("   time");
    for site in Site::ALL {
        let _ = write!(line, "  {:<29}", site.connection());
    }
    line
}

/// One second: of each connection the CPL with what sets it, its share of the traffic, requests/s, pending requests.
fn second(state: &State) -> String {
    let mut line = format!("{:5.1} s", state.at.as_secs_f64());
    for site in Site::ALL {
        let row = state.row(site);
        let level = format!("CPL {} {}", row.now.cpl, set_by(&row.now));
        let cell = format!("{level:<18}{:3.0}%{:4.0}/s", row.share * 100.0, row.sent_rate);
        let _ = write!(line, "  {cell:<29}");
    }
    line.truncate(line.trim_end().len());
    line
}

/// A change of level.
pub fn change(noted: &Noted) -> String {
    let change = &noted.change;
    format!(
        "{:6.2} s  {}  {} {} -> {}  CPL {} -> {}  {}",
        noted.at.as_secs_f64(),
        noted.site.connection(),
        feature_name(change.feature),
        change.from,
        change.to,
        change.cpl_from,
        change.cpl_to,
        change.cause
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::ClientReport;
    use crate::observe::snapshot::Connection;
    use std::time::Duration;

    #[test]
    fn each_second_and_each_phase_has_one_line() {
        let mut state = State::new(Duration::from_secs(3), "kernel".to_owned());
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, &state).unwrap();
        for tick in 0..=60u64 {
            if tick == 30 {
                state.phases.push((Duration::from_millis(1500), "half way"));
            }
            let mut connections: [Connection; 4] = Default::default();
            connections[2].cpl = 3;
            connections[2].set_by = Some("remote_busy".to_owned());
            state.look(Duration::from_millis(tick * 50), connections, ClientReport::default());
            lines.show(&state).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().skip(3).collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("  1.0 s") && lines[0].contains("CPL 3 remote busy"), "{text}");
        assert_eq!(lines[1], "  1.5 s  >> half way");
    }
}
