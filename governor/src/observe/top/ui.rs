//! What the user has asked to see: keys in, and which connections the list shows.

use super::column::Column;
use super::filter::Filter;
use super::model::Model;
use crate::terminal::is_ctrl_c;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What is shown and where the keys go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The list.
    #[default]
    List,
    /// The list, and letters go into the filter.
    Typing,
    /// The selected connection.
    Details,
}

/// What the user has asked to see.
#[derive(Clone, Debug)]
pub struct Ui {
    /// What is shown.
    pub mode: Mode,
    /// Sorted by which column.
    pub sort: Column,
    /// The other way round.
    pub reverse: bool,
    /// The filter as typed.
    pub filter: String,
    /// Nothing new is shown.
    pub paused: bool,
    /// Places in the model of the connections that pass the filter, sorted.
    pub order: Vec<usize>,
    /// The first of them on the screen.
    pub offset: usize,
    /// The connection that the user has gone to; until then it is whichever is first.
    selected: Option<String>,
    /// Its place in `order`.
    cursor: usize,
    /// Rows that the screen has room for.
    room: usize,
}

impl Default for Ui {
    fn default() -> Self {
        Self {
            mode: Mode::List,
            sort: Column::Cpl,
            reverse: false,
            filter: String::new(),
            paused: false,
            order: Vec::new(),
            offset: 0,
            selected: None,
            cursor: 0,
            room: 1,
        }
    }
}

// === impl Ui ===

impl Ui {
    /// With a filter from the start.
    pub fn new(filter: String) -> Self {
        Self { filter, ..Self::default() }
    }

    /// Does what a key asks; false: to end.
    pub fn key(&mut self, key: &KeyEvent, model: &Model) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        if is_ctrl_c(key) {
            return false;
        }
        match (self.mode, key.code) {
            (Mode::Typing, code) => self.typed(code, key.modifiers.contains(KeyModifiers::CONTROL)),
            (_, KeyCode::Char('q')) => return false,
            (_, KeyCode::Char('p' | ' ')) => self.paused = !self.paused,
            (Mode::Details, KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace) => self.mode = Mode::List,
            (Mode::List, KeyCode::Enter) => {
                if let Some(row) = self.order.get(self.cursor).and_then(|at| model.rows.get(*at)) {
                    self.selected = Some(row.now.name.clone());
                    self.mode = Mode::Details;
                }
            }
            (Mode::List, KeyCode::Char('/')) => self.mode = Mode::Typing,
            (Mode::List, KeyCode::Esc) => self.filter.clear(),
            (Mode::List, KeyCode::Left | KeyCode::Char('<')) => self.sort_by(Column::ALL.iter().rev()),
            (Mode::List, KeyCode::Right | KeyCode::Char('>')) => self.sort_by(Column::ALL.iter()),
            (Mode::List, KeyCode::Char('r')) => self.reverse = !self.reverse,
            (_, KeyCode::Char('k')) => self.go(KeyCode::Up, model),
            (_, KeyCode::Char('j')) => self.go(KeyCode::Down, model),
            (_, KeyCode::Char('g')) => self.go(KeyCode::Home, model),
            (_, KeyCode::Char('G')) => self.go(KeyCode::End, model),
            (_, code) => self.go(code, model),
        }
        self.arrange(model);
        true
    }

    /// Sorts, filters and scrolls anew; the selected connection stays the selected one and on the screen.
    pub fn arrange(&mut self, model: &Model) {
        let filter = Filter::new(&self.filter);
        self.order.clear();
        self.order.extend((0..model.rows.len()).filter(|at| filter.holds(&model.rows[*at])));
        let (sort, reverse) = (self.sort, self.reverse);
        self.order.sort_by(|a, b| {
            let order = sort.compare(&model.rows[*a], &model.rows[*b]);
            if reverse { order.reverse() } else { order }
        });
        let place = |name: &String| self.order.iter().position(|at| model.rows[*at].now.name == *name);
        self.cursor = match &self.selected {
            None => 0,
            // Gone or filtered out: what has its place now.
            Some(name) => place(name).unwrap_or(self.cursor).min(self.order.len().saturating_sub(1)),
        };
        self.scroll();
    }

    /// The screen has room for so many rows.
    pub fn fit(&mut self, room: usize) {
        self.room = room.max(1);
        self.scroll();
    }

    /// Places in the model of the rows on the screen.
    pub fn visible(&self) -> &[usize] {
        let end = self.order.len().min(self.offset + self.room);
        self.order.get(self.offset..end).unwrap_or_default()
    }

    /// Which of the visible rows is the selected one.
    pub fn cursor(&self) -> usize {
        self.cursor - self.offset
    }

    /// The connection whose details are shown.
    pub fn selected(&self) -> Option<&str> {
        self.selected.as_deref()
    }

    fn typed(&mut self, code: KeyCode, control: bool) {
        match code {
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::List;
            }
            KeyCode::Enter => self.mode = Mode::List,
            KeyCode::Char('u') if control => self.filter.clear(),
            KeyCode::Char(_) if control => {}
            KeyCode::Char(letter) => self.filter.push(letter),
            KeyCode::Backspace if self.filter.pop().is_none() => self.mode = Mode::List,
            _ => {}
        }
    }

    /// The next column in that order that the list can be sorted by.
    fn sort_by<'c>(&mut self, columns: impl Iterator<Item = &'c Column> + Clone) {
        let mut after = columns.clone().chain(columns).skip_while(|column| **column != self.sort).skip(1);
        if let Some(column) = after.find(|column| column.sorts()) {
            (self.sort, self.reverse) = (*column, false);
        }
    }

    fn go(&mut self, code: KeyCode, model: &Model) {
        let last = self.order.len().saturating_sub(1);
        self.cursor = match code {
            KeyCode::Up => self.cursor.saturating_sub(1),
            KeyCode::Down => (self.cursor + 1).min(last),
            KeyCode::PageUp => self.cursor.saturating_sub(self.room),
            KeyCode::PageDown => (self.cursor + self.room).min(last),
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => return,
        };
        let name = self.order.get(self.cursor).and_then(|at| model.rows.get(*at)).map(|row| row.now.name.clone());
        // Back at the top of the list is where the first is looked at, whichever it is.
        self.selected = name.filter(|_| code != KeyCode::Home || self.mode == Mode::Details);
    }

    fn scroll(&mut self) {
        let lowest = self.order.len().saturating_sub(self.room);
        self.offset = self.offset.clamp((self.cursor + 1).saturating_sub(self.room), self.cursor).min(lowest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::snapshot;
    use super::*;
    use std::time::Duration;

    fn model(connections: &[(&str, u8, u64)]) -> Model {
        let mut model = Model::default();
        model.look(Duration::ZERO, snapshot(1.0, connections));
        model
    }

    fn press(ui: &mut Ui, model: &Model, codes: &[KeyCode]) {
        for code in codes {
            assert!(ui.key(&KeyEvent::from(*code), model));
        }
    }

    fn type_in(ui: &mut Ui, model: &Model, text: &str) {
        press(ui, model, &text.chars().map(KeyCode::Char).collect::<Vec<_>>());
    }

    fn listed<'m>(ui: &Ui, model: &'m Model) -> Vec<&'m str> {
        ui.visible().iter().map(|at| model.rows[*at].now.name.as_str()).collect()
    }

    fn started(model: &Model, room: usize) -> Ui {
        let mut ui = Ui::default();
        ui.fit(room);
        ui.arrange(model);
        ui
    }

    #[test]
    fn the_highest_levels_come_first_and_equals_in_file_order() {
        let model = model(&[("d", 0, 4), ("c", 99, 0), ("b", 2, 7), ("a", 0, 9)]);
        let mut ui = started(&model, 10);
        assert_eq!(listed(&ui, &model), ["c", "b", "d", "a"]);
        press(&mut ui, &model, &[KeyCode::Char('r')]);
        assert_eq!(listed(&ui, &model), ["d", "a", "b", "c"]);
        // CPL, set by, since, rate.
        press(&mut ui, &model, &[KeyCode::Right, KeyCode::Right, KeyCode::Right]);
        assert_eq!((ui.sort, ui.reverse), (Column::Rate, false));
        assert_eq!(listed(&ui, &model), ["a", "b", "d", "c"]);
        press(&mut ui, &model, &[KeyCode::Right]);
        assert_eq!(ui.sort, Column::Pending, "the history does not sort");
        press(&mut ui, &model, &[KeyCode::Left; 8]);
        assert_eq!(ui.sort, Column::Timeouts, "past the first comes the last");
        press(&mut ui, &model, &[KeyCode::Char('>')]);
        assert_eq!(ui.sort, Column::Connection);
        assert_eq!(listed(&ui, &model), ["a", "b", "c", "d"]);
    }

    #[test]
    fn the_filter_is_typed_and_q_is_a_letter_in_it() {
        let model = model(&[("hss-1", 0, 0), ("hss-2", 3, 0), ("pcrf-q", 1, 0)]);
        let mut ui = started(&model, 10);
        type_in(&mut ui, &model, "/q");
        assert_eq!((listed(&ui, &model), ui.mode), (vec!["pcrf-q"], Mode::Typing));
        press(&mut ui, &model, &[KeyCode::Backspace]);
        type_in(&mut ui, &model, "HSS cpl>0");
        press(&mut ui, &model, &[KeyCode::Enter]);
        assert_eq!((listed(&ui, &model), ui.mode), (vec!["hss-2"], Mode::List));
        press(&mut ui, &model, &[KeyCode::Esc]);
        assert_eq!((listed(&ui, &model).len(), ui.filter.as_str()), (3, ""));
        type_in(&mut ui, &model, "/nobody");
        assert!(listed(&ui, &model).is_empty());
        press(&mut ui, &model, &[KeyCode::Enter, KeyCode::Enter, KeyCode::Down, KeyCode::End]);
        assert_eq!(ui.mode, Mode::List, "nothing to show details of");
        type_in(&mut ui, &model, "/x");
        press(&mut ui, &model, &[KeyCode::Esc]);
        assert_eq!((listed(&ui, &model).len(), ui.mode), (3, Mode::List));
    }

    #[test]
    fn the_selected_connection_stays_on_the_screen_wherever_sorting_puts_it() {
        let names: Vec<String> = (0..16_000).map(|n| format!("c{n:05}")).collect();
        let at = |worst: usize| {
            let level = |n: usize| if n == worst { 98 } else { 0 };
            model(&names.iter().enumerate().map(|(n, name)| (name.as_str(), level(n), 0)).collect::<Vec<_>>())
        };
        let model = at(9000);
        let mut ui = started(&model, 20);
        assert_eq!(listed(&ui, &model)[..2], ["c09000", "c00000"]);
        press(&mut ui, &model, &[KeyCode::PageDown, KeyCode::Down]);
        assert_eq!((ui.offset, ui.cursor(), listed(&ui, &model).len()), (2, 19, 20));
        assert_eq!(listed(&ui, &model)[19], "c00020");
        press(&mut ui, &model, &[KeyCode::Up]);
        assert_eq!((ui.offset, ui.cursor()), (2, 18), "the list stands still while the cursor can move");
        press(&mut ui, &model, &[KeyCode::End]);
        assert_eq!((ui.offset, listed(&ui, &model)[19]), (15_980, "c15999"));

        // It gets the highest level: the first place, and the screen goes there.
        let later = at(15_999);
        ui.arrange(&later);
        assert_eq!((ui.offset, ui.cursor(), listed(&ui, &later)[0]), (0, 0, "c15999"));
        ui.arrange(&model);
        assert_eq!((listed(&ui, &model)[ui.cursor()], ui.selected()), ("c15999", Some("c15999")));

        // At the top the first is looked at, whichever it is.
        press(&mut ui, &model, &[KeyCode::Home]);
        ui.arrange(&later);
        assert_eq!((ui.offset, listed(&ui, &later)[ui.cursor()], ui.selected()), (0, "c15999", None));
    }

    #[test]
    fn any_size_and_any_number_of_rows_will_do() {
        let model = model(&[("a", 0, 0), ("b", 0, 0), ("c", 0, 0)]);
        let mut ui = started(&model, 3);
        press(&mut ui, &model, &[KeyCode::End]);
        for room in [0, 1, 2, 50, 0] {
            ui.fit(room);
            assert_eq!(listed(&ui, &model)[ui.cursor()], "c", "{room}");
            assert_eq!(listed(&ui, &model).len(), room.clamp(1, 3));
        }
        let none = Model::default();
        ui.arrange(&none);
        press(&mut ui, &none, &[KeyCode::Up, KeyCode::Down, KeyCode::PageUp, KeyCode::PageDown, KeyCode::Enter]);
        assert!(listed(&ui, &none).is_empty());
    }

    #[test]
    fn details_are_of_a_connection_and_the_arrows_go_to_its_neighbours() {
        let model = model(&[("a", 0, 0), ("b", 3, 0)]);
        let mut ui = started(&model, 5);
        press(&mut ui, &model, &[KeyCode::Enter]);
        assert_eq!((ui.mode, ui.selected()), (Mode::Details, Some("b")));
        press(&mut ui, &model, &[KeyCode::Down, KeyCode::Down]);
        assert_eq!(ui.selected(), Some("a"));
        press(&mut ui, &model, &[KeyCode::Home]);
        assert_eq!(ui.selected(), Some("b"));
        press(&mut ui, &model, &[KeyCode::Esc]);
        assert_eq!(ui.mode, Mode::List);
    }

    #[test]
    fn q_and_ctrl_c_end_it_and_p_holds_it() {
        let model = Model::default();
        let mut ui = Ui::default();
        press(&mut ui, &model, &[KeyCode::Char('p')]);
        assert!(ui.paused);
        press(&mut ui, &model, &[KeyCode::Char(' ')]);
        assert!(!ui.paused);
        assert!(!ui.key(&KeyEvent::from(KeyCode::Char('q')), &model));
        type_in(&mut ui, &model, "/");
        assert!(ui.key(&KeyEvent::from(KeyCode::Char('q')), &model));
        assert!(!ui.key(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), &model), "while typing too");
    }
}
