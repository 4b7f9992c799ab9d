//! The demo in a terminal.

use super::pool::Site;
use super::state::{Row, State};
use crate::observe::snapshot::Connection;
use crate::observe::words::{may_leave, set_by};
use crate::terminal::{bar, style};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row as TableRow, Table};

/// Draws the state as it is.
pub fn draw(frame: &mut Frame, state: &State) {
    let [head, phase, connections, traffic, changes, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(7),
        Constraint::Length(6),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, state, head);
    draw_phase(frame, state, phase);
    draw_connections(frame, state, connections);
    draw_traffic(frame, state, traffic);
    draw_changes(frame, state, changes);
    frame.render_widget(Paragraph::new(state.kernel.as_str()).dim(), foot);
}

fn draw_head(frame: &mut Frame, state: &State, area: Rect) {
    let client = &state.client;
    let unanswered = client.timed_out + client.lost;
    let line = Line::from(vec![
        "governor demo".bold(),
        format!("  {:4.1} of {:.0} s", state.at.as_secs_f64(), state.whole.as_secs_f64()).into(),
        format!("   requests {}  answered {}", client.sent, client.answered).into(),
        Span::styled(
            format!("  lost {unanswered}"),
            if unanswered == 0 { Style::new().green() } else { Style::new().red().bold() },
        ),
        format!("  p99 {:.1} ms", client.latency.p99 as f64 / 1000.0).into(),
        "   q ends".dim(),
    ]);
    frame.render_widget(line, area);
}

fn draw_phase(frame: &mut Frame, state: &State, area: Rect) {
    if let Some((at, text)) = state.phases.last() {
        let line = Line::from(vec![format!("{:4.1} s  ", at.as_secs_f64()).dim(), (*text).bold().yellow()]);
        frame.render_widget(line, area);
    }
}

fn draw_connections(frame: &mut Frame, state: &State, area: Rect) {
    let kernel = state.rows.iter().any(|row| row.now.kernel.is_some());
    let head = [
        "connection",
        "state",
        "CPL",
        "set by",
        "may leave",
        "X1",
        "X2",
        "X3",
        "X98",
        "msg/s",
        "pending",
        "held back/s",
    ];
    let mut widths: Vec<Constraint> =
        [10, 5, 3, 11, 9, 2, 2, 2, 3, 5, 7, 11].into_iter().map(Constraint::Length).collect();
    let mut head: Vec<&str> = head.to_vec();
    if kernel {
        head.push("kernel: queued/limit");
        widths.push(Constraint::Length(20));
    }
    let rows = Site::ALL.into_iter().map(|site| connection(site, state.row(site), kernel));
    let table = Table::new(rows, widths)
        .header(TableRow::new(head).style(Style::new().dim()))
        .block(Block::new().borders(Borders::TOP).title(" connections "));
    frame.render_widget(table, area);
}

fn connection(site: Site, row: &Row, kernel: bool) -> TableRow<'static> {
    let Connection { cpl, levels, rate, pending, .. } = row.now;
    let mut cells = vec![
        Cell::from(site.connection()),
        if levels.status == 99 { Cell::from("down".red()) } else { Cell::from("up".green()) },
        Cell::from(cpl.to_string()).style(style(cpl).add_modifier(Modifier::BOLD)),
        Cell::from(set_by(&row.now)),
        Cell::from(may_leave(cpl)),
    ];
    for level in [levels.status, levels.remote_busy, levels.transport, levels.throttle] {
        cells.push(Cell::from(level.to_string()).style(style(level)));
    }
    cells.push(Cell::from(format!("{rate:5.0}")));
    cells.push(Cell::from(format!("{pending:7}")));
    cells.push(Cell::from(format!("{:11.0}", row.held_back_rate)));
    if kernel {
        let text =
            row.now.kernel.as_ref().map_or_else(String::new, |kernel| format!("{}/{}", kernel.queued, kernel.limit));
        cells.push(Cell::from(text));
    }
    TableRow::new(cells)
}

fn draw_traffic(frame: &mut Frame, state: &State, area: Rect) {
    let block = Block::new().borders(Borders::TOP).title(" where the traffic goes ");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    // Name, figures and the remark beside the bar.
    let room = usize::from(inner.width).saturating_sub(10 + 16 + 33).clamp(10, 60);
    let lines: Vec<Line> = Site::ALL
        .into_iter()
        .map(|site| {
            let row = state.row(site);
            let bar = bar(row.share, room);
            Line::from(vec![
                format!("{:<10} ", site.connection()).into(),
                Span::styled(bar, style(row.now.cpl)),
                format!(" {:3.0} % {:5.0}/s  ", row.share * 100.0, row.sent_rate).into(),
                site.about().dim(),
            ])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

fn draw_changes(frame: &mut Frame, state: &State, area: Rect) {
    let block = Block::new().borders(Borders::TOP).title(" changes of level ");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let first = state.changes.len().saturating_sub(usize::from(inner.height));
    let lines: Vec<Line> = state.changes[first..]
        .iter()
        .map(|noted| Line::styled(super::plain::change(noted), style(noted.change.to.number())))
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

#[cfg(test)]
mod tests {
    use super::super::state::Noted;
    use super::*;
    use crate::load::ClientReport;
    use crate::observe::snapshot::KernelConnection;
    use governor_core::congestion::{Cause, LevelChange};
    use governor_core::level::{Feature, Level};
    use governor_core::time::Time;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::Duration;

    fn screen(state: &State) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 26)).unwrap();
        terminal.draw(|frame| draw(frame, state)).unwrap();
        terminal.backend().to_string()
    }

    fn blocked() -> State {
        let mut connections: [Connection; 4] = Default::default();
        connections[1].cpl = 98;
        connections[1].levels.transport = 98;
        connections[1].set_by = Some("transport".to_owned());
        connections[1].pending = 77;
        let mut state = State::default();
        state.whole = Duration::from_secs(20);
        state.look(Duration::ZERO, connections.clone(), ClientReport::default());
        connections[0].counters.requests_sent = 750;
        connections[3].counters.requests_sent = 250;
        state.look(Duration::from_secs(1), connections, ClientReport::default());
        state.phases.push((Duration::from_secs(4), "server B stops reading"));
        state.kernel = "kernel programs: off".to_owned();
        let change = LevelChange {
            feature: Feature::Transport,
            from: Level::CL0,
            to: Level::CL98,
            cpl_from: Level::CL0,
            cpl_to: Level::CL98,
            cause: Cause::Blocked,
            at: Time::ZERO,
        };
        state.changes.push(Noted { at: Duration::from_millis(4321), site: Site::B, change });
        state
    }

    #[test]
    fn the_screen_shows_who_is_blocked_and_where_the_traffic_goes() {
        let screen = screen(&blocked());
        let line =
            |start: &str| screen.lines().filter(|l| l.trim_start_matches('"').starts_with(start)).collect::<Vec<_>>();
        let [table, bar] = line("server-b")[..] else { panic!("{screen}") };
        assert!(table.contains("98") && table.contains("transport") && table.contains("nothing"), "{table}");
        assert!(table.contains("77"), "{table}");
        assert!(bar.contains(" 0 %"), "{bar}");
        assert!(line("server-a")[1].contains("75 %"), "{screen}");
        assert!(screen.contains("server B stops reading"));
        assert!(screen.contains("4.32 s  server-b  transport 0 -> 98"));
        assert!(screen.contains("kernel programs: off"));
        assert!(!screen.contains("queued/limit"), "no kernel programs, no column of theirs");
    }

    #[test]
    fn the_kernel_s_view_has_a_column_when_there_is_one() {
        let mut state = blocked();
        state.rows[1].now.kernel =
            Some(KernelConnection { queued: 30_000, limit: 32_768, ..KernelConnection::default() });
        assert!(screen(&state).contains("30000/32768"));
    }

    #[test]
    fn a_small_terminal_is_no_reason_to_panic() {
        for (width, height) in [(1, 1), (20, 5), (40, 10)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, &blocked())).unwrap();
        }
    }
}
