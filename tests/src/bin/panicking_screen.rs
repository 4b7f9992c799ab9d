//! Takes the terminal over as the program's views do, and panics.

#![expect(clippy::panic, reason = "what is tested")]

use governor::terminal::Screen;

fn main() -> std::io::Result<()> {
    let mut screen = Screen::new()?;
    screen.draw(|frame| frame.render_widget("taken over", frame.area()))?;
    panic!("on purpose")
}
