//! One frame as text, for pipes: the head and every connection of the list.

use super::model::Model;
use super::ui::Ui;
use super::view::{self, list};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use std::fmt::Write as _;

/// Rows that are drawn at a time: a screen with all of them could be large.
const PAGE: usize = 200;

/// The frame, `width` cells wide.
pub fn frame(model: &Model, ui: &mut Ui, width: u16) -> String {
    let mut out = String::new();
    let area = Rect::new(0, 0, width, view::HEAD);
    let mut buffer = Buffer::empty(area);
    view::head(&mut buffer, area, model, ui);
    // The line for bad news is empty.
    write(&mut out, &buffer, 0..view::HEAD - 1);

    let columns = list::columns(model, ui, &ui.order, width);
    let all = std::mem::take(&mut ui.order);
    for page in 0..all.len().div_ceil(PAGE).max(1) {
        ui.order = all.iter().skip(page * PAGE).take(PAGE).copied().collect();
        let area = Rect::new(0, 0, width, list::OVERHEAD + u16::try_from(ui.order.len()).unwrap_or(u16::MAX));
        ui.fit(list::room(area));
        let mut buffer = Buffer::empty(area);
        list::draw(&mut buffer, area, model, ui, &columns, false);
        // The columns' heads once.
        let first = if page == 0 { list::OVERHEAD - 1 } else { list::OVERHEAD };
        write(&mut out, &buffer, first..area.height);
    }
    ui.order = all;
    out
}

/// A line of a buffer as text.
pub fn line(buffer: &Buffer, y: u16) -> String {
    let cells = (0..buffer.area.width).filter_map(|x| buffer.cell((x, y)));
    cells.map(Cell::symbol).collect::<String>().trim_end().to_owned()
}

fn write(out: &mut String, buffer: &Buffer, lines: std::ops::Range<u16>) {
    for y in lines {
        let _ = writeln!(out, "{}", line(buffer, y));
    }
}
