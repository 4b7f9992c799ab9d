//! The terminal: taken over while the demo runs, given back however it ends.

use super::state::State;
use super::view;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use std::io;
use std::time::Duration;

/// The terminal in raw mode on its alternate screen. Dropping it gives the terminal back; so does a panic.
pub struct Screen(DefaultTerminal);

impl Screen {
    /// Takes the terminal over.
    pub fn new() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }

    /// Shows the state.
    pub fn draw(&mut self, state: &State) -> io::Result<()> {
        self.0.draw(|frame| view::draw(frame, state)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Was `q`, Esc or ctrl-c typed? In raw mode ctrl-c is a key like others.
pub fn wants_to_end() -> io::Result<bool> {
    while event::poll(Duration::ZERO)? {
        if let Event::Key(key) = event::read()? {
            let ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
