//! The list of connections: only the rows on the screen are made.

use crate::observe::top::column::Column;
use crate::observe::top::model::{Model, Row};
use crate::observe::top::ui::{Mode, Ui};
use crate::terminal::style;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Borders, Cell, HighlightSpacing, Row as TableRow, StatefulWidget, Table, TableState};

/// Lines of the list that are no rows: the title and the columns' heads.
pub const OVERHEAD: u16 = 2;

/// Rows that `area` has room for.
pub fn room(area: Rect) -> usize {
    area.height.saturating_sub(OVERHEAD).into()
}

/// A column and its width.
pub type Shown = (Column, u16);

/// Draws the rows that `ui` has on the screen, in these columns; the selected one with a mark where `marked`.
pub fn draw(buffer: &mut Buffer, area: Rect, model: &Model, ui: &Ui, columns: &[Shown], marked: bool) {
    let rows = ui.visible().iter().filter_map(|at| model.rows.get(*at));
    let lines = rows.map(|row| TableRow::new(columns.iter().map(|(column, _)| cell(*column, row))));
    let widths = columns.iter().map(|(_, width)| Constraint::Length(*width));
    let table = Table::new(lines, widths)
        .header(TableRow::new(columns.iter().map(|(column, _)| head(*column, ui))))
        .block(Block::new().borders(Borders::TOP).title(title(model, ui)))
        .row_highlight_style(Modifier::BOLD)
        .highlight_symbol("▶")
        .highlight_spacing(if marked { HighlightSpacing::Always } else { HighlightSpacing::Never });
    let table = if model.away.is_some() { table.style(Modifier::DIM) } else { table };
    let mut state = TableState::new().with_selected(marked.then(|| ui.cursor()));
    StatefulWidget::render(table, area, buffer, &mut state);
}

/// How many are listed, and by what filter.
fn title<'a>(model: &Model, ui: &'a Ui) -> Line<'a> {
    let mut title = vec![format!(" {} of {} connections ", ui.order.len(), model.rows.len()).into()];
    if ui.mode == Mode::Typing || !ui.filter.is_empty() {
        title.push("filter: ".dim());
        title.push(ui.filter.as_str().bold());
        title.push(if ui.mode == Mode::Typing { "▏".slow_blink() } else { " ".into() });
    }
    title.into()
}

/// The columns that there is room for in `width` cells, and a mark: those of names wide enough for all that are listed, the
/// others for the rows in `shown`.
pub fn columns(model: &Model, ui: &Ui, shown: &[usize], width: u16) -> Vec<Shown> {
    let rows = |places: &[usize]| places.iter().filter_map(|at| model.rows.get(*at)).collect::<Vec<_>>();
    let (listed, shown) = (rows(&ui.order), rows(shown));
    let wanted = |column: Column| {
        let (least, greatest) = column.widths();
        let widest = match column {
            Column::Connection => listed.iter().map(|row| row.now.name.chars().count()).max(),
            Column::Peer => listed.iter().map(|row| row.now.peer.chars().count()).max(),
            _ => shown.iter().map(|row| column.text(row).chars().count()).max(),
        };
        u16::try_from(widest.unwrap_or(0)).unwrap_or(greatest).clamp(least, greatest)
    };
    let measured = shown.iter().any(|row| row.now.kernel.is_some());
    let all = Column::ALL.into_iter().filter(|column| *column != Column::Queued || measured);
    let mut columns: Vec<Shown> = all.map(|column| (column, wanted(column))).collect();
    let mut dispensable = Column::DISPENSABLE.into_iter();
    // Each has a cell to its left: a gap, or the first one's the mark.
    while columns.iter().map(|(_, width)| width + 1).sum::<u16>() > width {
        let Some(next) = dispensable.next() else { break };
        columns.retain(|(column, _)| *column != next);
    }
    columns
}

fn head(column: Column, ui: &Ui) -> Cell<'static> {
    let text = if column == ui.sort {
        // The way the figures go down the list.
        let rising = column.rises() != ui.reverse;
        Line::from(format!("{}{}", column.title(), if rising { '▲' } else { '▼' })).bold().reversed()
    } else {
        Line::from(column.title()).dim()
    };
    aligned(column, text)
}

fn cell(column: Column, row: &Row) -> Cell<'static> {
    let text = Line::from(column.text(row));
    let cpl = style(row.now.cpl);
    let style = match column {
        Column::Cpl => cpl.add_modifier(Modifier::BOLD),
        Column::SetBy | Column::History => cpl,
        Column::State if row.now.levels.status == 99 => style(99),
        Column::HeldBack if row.per_second.held_back > 0.0 => Style::new().yellow(),
        Column::Discarded if row.per_second.discarded > 0.0 => Style::new().yellow(),
        Column::Timeouts if row.per_second.timeouts > 0.0 => Style::new().yellow(),
        _ => Style::new(),
    };
    aligned(column, text).style(style)
}

fn aligned(column: Column, line: Line<'static>) -> Cell<'static> {
    Cell::from(Text::from(if column.is_text() { line } else { line.right_aligned() }))
}
