//! What the demo showed, in figures.

use super::plain;
use super::pool::Site;
use super::state::State;
use crate::load::ServerReport;
use std::fmt::Write as _;

/// The closing lines: who answered what, is every request accounted for; with `changes` each change of level and its cause
/// before that.
pub fn text(state: &State, servers: &[ServerReport], changes: bool) -> String {
    let client = &state.client;
    let mut out = String::new();
    if changes {
        let _ = writeln!(out, "changes of level");
        for noted in &state.changes {
            let _ = writeln!(out, "  {}", plain::change(noted));
        }
    }
    let _ = writeln!(out, "\nconnection   requests  held back  server answered");
    for (site, server) in Site::ALL.iter().zip(servers) {
        let counters = &state.row(*site).now.counters;
        let by_result: Vec<String> = server.by_result.iter().map(|(code, count)| format!("{code}: {count}")).collect();
        let _ = writeln!(
            out,
            "{:<12} {:>8}  {:>9}  {}",
            site.connection(),
            counters.requests_sent,
            counters.held_back.total(),
            by_result.join(", ")
        );
    }
    let _ = writeln!(out, "\nclient\n{client}\n");
    if client.is_clean() {
        let _ = writeln!(out, "every request was answered, none was lost");
    } else {
        let _ = writeln!(out, "{} requests went unanswered", client.sent - client.answered + client.unsent);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::ClientReport;
    use std::collections::BTreeMap;

    #[test]
    fn a_lost_request_is_said() {
        let mut state = State::default();
        let servers = std::array::from_fn::<_, 4, _>(|_| ServerReport::default());
        state.client = ClientReport { sent: 10, answered: 10, adds_up: true, ..ClientReport::default() };
        assert!(text(&state, &servers, false).ends_with("every request was answered, none was lost\n"));
        state.client = ClientReport { sent: 10, answered: 9, timed_out: 1, adds_up: true, ..ClientReport::default() };
        assert!(text(&state, &servers, false).ends_with("1 requests went unanswered\n"));
    }

    #[test]
    fn each_server_s_answers_are_listed() {
        let mut servers = std::array::from_fn::<_, 4, _>(|_| ServerReport::default());
        servers[2].by_result = BTreeMap::from([(2001, 7), (3004, 5)]);
        let text = text(&State::default(), &servers, true);
        let line = text.lines().find(|line| line.starts_with("server-c")).unwrap();
        assert!(line.ends_with("2001: 7, 3004: 5"), "{line}");
    }
}
