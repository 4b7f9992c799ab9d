//! The terminal: taken over while a view runs, given back however that ends. And what the views have in common.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Style};
use ratatui::{DefaultTerminal, Frame};
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The terminal in raw mode on its alternate screen. Dropping it gives the terminal back; so does a panic.
pub struct Screen(DefaultTerminal);

// === impl Screen ===

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// There is none, or it refuses.
    pub fn new() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }

    /// Draws a frame, of the size that the terminal has now.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.0.draw(view).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Signals that end a view as `q` does, so that the terminal is given back.
#[derive(Debug)]
pub struct Ending {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

// === impl Ending ===

impl Ending {
    /// From now on, in the context of a tokio runtime.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them. Cancel safe.
    pub async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// In raw mode ctrl-c is a key like others.
pub fn is_ctrl_c(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// How a level is coloured.
pub const fn style(level: u8) -> Style {
    let color = match level {
        0 => Color::Green,
        1 => Color::Yellow,
        2 => Color::LightRed,
        3 => Color::Red,
        98 => Color::Magenta,
        _ => Color::DarkGray,
    };
    Style::new().fg(color)
}

/// A bar of `width` cells, filled to `share` (0 to 1), in eighths of a cell.
pub fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round();
    let mut bar = String::new();
    for cell in 0..width {
        let fill = eighths - (cell * 8) as f64;
        bar.push(match fill {
            f if f >= 8.0 => '█',
            f if f >= 7.0 => '▉',
            f if f >= 6.0 => '▊',
            f if f >= 5.0 => '▋',
            f if f >= 4.0 => '▌',
            f if f >= 3.0 => '▍',
            f if f >= 2.0 => '▎',
            f if f >= 1.0 => '▏',
            _ => '·',
        });
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_in_eighths() {
        assert_eq!(bar(0.0, 4), "····");
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██··");
        assert_eq!(bar(1.0 / 32.0, 4), "▏···");
        assert_eq!(bar(f64::NAN, 4), "····");
    }
}
