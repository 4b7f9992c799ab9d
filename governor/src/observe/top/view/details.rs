//! Everything about one connection.

use crate::observe::snapshot::KernelConnection;
use crate::observe::top::column::{per_second, queued};
use crate::observe::top::history::SECONDS;
use crate::observe::top::model::{Model, Row, discarded};
use crate::observe::top::ui::Ui;
use crate::observe::words::{may_leave, set_by, span};
use crate::terminal::{bar, style};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Widget as _, Wrap};

/// Rows of the chart of the rate, where there is room.
const CHART: u16 = 4;
/// Rows of the counters.
const COUNTERS: u16 = 6;
/// Cells of the rate's line where there is no chart.
const LINE: usize = 20;
/// Cells of the bars.
const BAR: usize = 30;

/// Draws the selected connection.
pub fn draw(buffer: &mut Buffer, area: Rect, model: &Model, ui: &Ui) {
    let name = ui.selected().unwrap_or_default();
    let block = Block::new().borders(Borders::TOP).title(Line::from(vec![" ".into(), name.bold(), " ".into()]));
    let inner = block.inner(area);
    block.render(area, buffer);
    let Some(row) = model.row(name) else {
        Line::from("The agent has no connection of this name any more.").yellow().render(inner, buffer);
        return;
    };
    let first = first(row);
    let first_height = first.iter().map(|line| wrapped(line, inner.width)).sum();
    let rest = rest(row);
    let rest_height = rest.iter().map(|line| wrapped(line, inner.width)).sum::<u16>();
    // The chart takes what is left over; in a terminal that is too low, the counters are cut off.
    let chart_height = inner.height.saturating_sub(first_height + 1 + rest_height + COUNTERS).min(CHART);
    let mut below = inner;
    let mut take = |height: u16| {
        let area = Rect { height: height.min(below.height), ..below };
        (below.y, below.height) = (below.y + area.height, below.height - area.height);
        area
    };
    let modifier = if model.away.is_some() { Modifier::DIM } else { Modifier::empty() };
    let text = |lines: Vec<Line<'static>>| Paragraph::new(lines).wrap(Wrap { trim: false }).style(modifier);
    text(first).render(take(first_height), buffer);
    text(history(row, chart_height)).render(take(chart_height + 1), buffer);
    text(rest).render(take(rest_height), buffer);
    let [left, right] = Layout::horizontal([Constraint::Length(44), Constraint::Min(0)]).areas(take(COUNTERS));
    text(counters(row)).render(left, buffer);
    text(held_back(row)).render(right, buffer);
}

/// Lines that a line takes: words are not split, so a little less fits than the width.
fn wrapped(line: &Line, width: u16) -> u16 {
    let width = usize::from(width).saturating_sub(if line.width() > width.into() { 12 } else { 0 }).max(1);
    line.width().div_ceil(width).max(1).try_into().unwrap_or(u16::MAX)
}

fn label(text: &str) -> Span<'static> {
    format!("{text:<13}").dim()
}

/// Who it is, its level, and why.
fn first(row: &Row) -> Vec<Line<'static>> {
    let now = &row.now;
    let mut who = vec![label("peer"), now.peer.clone().into()];
    who.push(now.address.as_ref().map_or("  connects to us".into(), |address| format!("  at {address}").into()));
    if let Some(remote) = &now.remote {
        who.push(format!("  now {remote}").into());
    }
    let mut state = vec![label("state"), now.state.clone().into(), format!("  watchdog {}", now.watchdog).into()];
    state.push(format!("  {}", now.admin).into());
    if let Some(level) = now.manual_level {
        state.push(format!("  level {level} by hand").yellow());
    }
    let mut cpl = vec![label("CPL"), Span::styled(now.cpl.to_string(), style(now.cpl).add_modifier(Modifier::BOLD))];
    if now.set_by.is_some() {
        cpl.push(format!("  set by {}", set_by(now)).into());
    }
    if let Some(since) = now.since {
        cpl.push(format!("  for {}", span(since)).into());
    }
    cpl.push(format!("  may leave: {}", may_leave(now.cpl)).into());
    let mut inputs = vec![label("inputs")];
    let levels = now.levels;
    for (input, level) in [
        ("status", levels.status),
        ("remote busy", levels.remote_busy),
        ("transport", levels.transport),
        ("throttle", levels.throttle),
    ] {
        inputs.push(format!("{input} ").into());
        inputs.push(Span::styled(format!("{level}   "), style(level)));
    }
    vec![who.into(), state.into(), cpl.into(), inputs.into(), Line::from(vec![label("why"), now.why.clone().into()])]
}

/// The rate and a minute of it: a chart of that height, or a line.
fn history(row: &Row, height: u16) -> Vec<Line<'static>> {
    let now = &row.now;
    let limit = match (&now.throttle, now.max_rate) {
        (Some(set), Some(max)) => format!(" of {max} (throttle set {set})"),
        _ => String::new(),
    };
    let rate = format!("{:.1} messages/s{limit}, peak {:.0} in 60 s", now.rate, row.history.peak());
    let mut first = vec![label("rate"), rate.into()];
    if height == 0 {
        first.push(Span::styled(format!("  {}", row.history.line(LINE)), style(now.cpl)));
    }
    let mut lines = vec![first.into()];
    let chart = row.history.rows(SECONDS, height.into());
    lines.extend(chart.into_iter().map(|cells| Line::from(vec![label(""), Span::styled(cells, style(now.cpl))])));
    lines
}

/// What was counted since the start, and a second.
fn counters(row: &Row) -> Vec<Line<'static>> {
    let (counters, rates) = (&row.now.counters, &row.per_second);
    let line = |what: &str, count: u64, rate: f64| {
        Line::from(vec![format!("{what:<18}").dim(), format!("{count:>12}{:>8}/s", per_second(rate)).into()])
    };
    vec![
        line("requests out", counters.requests_sent, rates.requests_sent),
        line("answers in", counters.answers_received, rates.answers_received),
        line("requests in", counters.requests_received, rates.requests_received),
        line("answers out", counters.answers_sent, rates.answers_sent),
        line("discarded", discarded(counters), rates.discarded),
        line("timeouts", counters.timeouts, rates.timeouts),
    ]
}

/// Requests held back, by reason and priority, and the rarer counts.
fn held_back(row: &Row) -> Vec<Line<'static>> {
    let counters = &row.now.counters;
    let held_back = &counters.held_back;
    let rate = per_second(row.per_second.held_back);
    let mut lines = vec![Line::from(format!("held back {rate:>7}/s      priority 0         1         2")).dim()];
    for (reason, [p0, p1, p2]) in [
        ("by the level", held_back.cpl),
        ("by the pending limit", held_back.pending_limit),
        ("by the maximum rate", held_back.rate_limit),
        ("by the group", held_back.group),
    ] {
        lines.push(Line::from(vec![format!("{reason:<24}").dim(), format!("{p0:>12}{p1:>10}{p2:>10}").into()]));
    }
    lines.push(Line::from(format!(
        "3004 own {} behind {}  retried {}  late {}  T bit {}",
        counters.busy_own, counters.busy_behind, counters.retried, counters.answers_late, counters.retransmitted
    )));
    lines
}

/// Pending requests, the socket, the last refusal and the last end.
fn rest(row: &Row) -> Vec<Line<'static>> {
    let now = &row.now;
    let share = f64::from(now.pending) / f64::from(now.pending_limit.max(1));
    let pending = format!("  {} of {}", now.pending, now.pending_limit);
    let mut lines = vec![Line::from(vec![label("pending"), bar(share, BAR).into(), pending.into()])];
    lines.push(match &now.kernel {
        Some(kernel) => {
            let KernelConnection { queued: bytes, limit, sends, refusals, .. } = kernel;
            let blocked = kernel.blocked_for.map(|blocked| format!("  blocked for {}", span(blocked)).red().bold());
            let figures = format!("  {bytes} of {limit} bytes  {sends} sends, {refusals} refused");
            let mut line = vec![label("send buffer"), bar(queued(row).unwrap_or(0.0), BAR).into(), figures.into()];
            line.extend(blocked);
            line.into()
        }
        None => Line::from(vec![label("send buffer"), "not measured by kernel programs".dim()]),
    });
    let none = || Span::styled("none", Style::new().dim());
    let refusal = now.last_refusal.as_ref().map_or_else(none, |refusal| {
        format!("{} ago, priority {}, {}", span(refusal.ago), refusal.priority, refusal.rule).into()
    });
    lines.push(Line::from(vec![label("last refused"), refusal]));
    lines.push(Line::from(vec![label("last closed"), now.last_close.clone().map_or_else(none, Span::from)]));
    lines
}
