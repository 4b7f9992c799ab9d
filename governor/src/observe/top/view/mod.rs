//! Drawing. What is drawn is in the model and the user's wishes; nothing is kept here.

mod details;
pub mod list;

use super::column::per_second;
use super::model::Model;
use super::ui::{Mode, Ui};
use crate::observe::words::span;
use crate::terminal::style;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget as _};

/// Lines above the list.
pub const HEAD: u16 = 6;

/// Draws everything into `area`, and tells `ui` how many rows of the list there is room for.
pub fn draw(buffer: &mut Buffer, area: Rect, model: &Model, ui: &mut Ui) {
    let [top, body, help] =
        Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    ui.fit(list::room(body));
    head(buffer, top, model, ui);
    match ui.mode {
        Mode::List | Mode::Typing => {
            let columns = list::columns(model, ui, ui.visible(), body.width);
            list::draw(buffer, body, model, ui, &columns, true);
        }
        Mode::Details => details::draw(buffer, body, model, ui),
    }
    help_line(ui).render(help, buffer);
}

/// The agent, its connections by level, what all of them do a second, and what the kernel programs do.
pub fn head(buffer: &mut Buffer, area: Rect, model: &Model, ui: &Ui) {
    let node = &model.node;
    let mut first = vec![
        "governor top  ".dim(),
        node.origin_host.as_str().bold(),
        format!("  up {}", span(node.uptime)).into(),
        format!("  pending {} of {}", node.pending, node.pending_limit).into(),
        format!("  pid {}  version {}", node.pid, node.version).dim(),
    ];
    if ui.paused {
        first.push("  PAUSED".bold().yellow());
    }
    let down = model.rows.iter().filter(|row| row.now.levels.status == 99).count();
    let mut levels =
        vec![format!("connections {}, {} up", model.rows.len(), model.rows.len() - down).into(), "   at CPL".dim()];
    for (level, count) in model.levels() {
        let style = if count == 0 { Style::new().dim() } else { style(level) };
        levels.push(Span::styled(format!("  {level}: {count}"), style));
    }
    let all = &model.per_second;
    let traffic = vec![
        "a second     ".dim(),
        format!("requests in {:.0} out {:.0}", all.requests_received, all.requests_sent).into(),
        format!("   answers in {:.0} out {:.0}", all.answers_received, all.answers_sent).into(),
    ];
    let losses = vec![
        "             ".into(),
        trouble("held back ", all.held_back),
        trouble("   refused ", model.refused),
        trouble("   discarded ", all.discarded),
        trouble("   timeouts ", all.timeouts),
    ];
    let kernel = model.kernel_assist.report.first().map_or("kernel assist: not reported", String::as_str).dim();
    let last = model.away.as_ref().map_or_else(Line::default, |away| {
        let ago = span(model.at.saturating_sub(away.since).as_secs_f64());
        Line::from(format!("no answer for {ago}, asking again: {}", away.why)).red().bold()
    });
    Paragraph::new(vec![first.into(), levels.into(), traffic.into(), losses.into(), kernel.into(), last])
        .render(area, buffer);
}

/// A rate of something that should not happen.
fn trouble(what: &str, rate: f64) -> Span<'static> {
    let text = format!("{what}{}", per_second(rate));
    if rate > 0.0 { text.yellow() } else { text.into() }
}

fn help_line(ui: &Ui) -> Line<'static> {
    let keys: &[(&str, &str)] = match ui.mode {
        Mode::List => &[
            ("q", "quit"),
            ("Enter", "details"),
            ("/", "filter"),
            ("←→", "sort by"),
            ("r", "reverse"),
            ("p", "pause"),
            ("↑↓ PgUp PgDn Home End", "move"),
        ],
        Mode::Typing => {
            &[("Enter", "keep"), ("Esc", "show all"), ("", "a part of name, peer, state or input; cpl>=2, cpl=0")]
        }
        Mode::Details => &[("q", "quit"), ("Esc", "list"), ("↑↓", "next connection"), ("p", "pause")],
    };
    let spans = keys.iter().flat_map(|(key, what)| [key.bold(), format!(" {what}  ").dim()]);
    Line::from(spans.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
