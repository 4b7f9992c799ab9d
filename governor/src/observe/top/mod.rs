//! `governor top`: the running agent, live, on the other side of its control socket.
//!
//! A thread asks the agent, another reads keys; what they bring goes into the model (what is known) and the user's wishes
//! (what is to be seen), and after each the screen is drawn from both.

mod column;
mod filter;
mod history;
mod model;
mod once;
mod poller;
mod ui;
mod view;

use crate::observe::control;
use crate::terminal::{Ending, Screen};
use anyhow::Context as _;
use model::Model;
use poller::{Heard, Poller};
use ratatui::crossterm::event::{self, Event};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use ui::Ui;

/// What is to be shown.
#[derive(Clone, Debug)]
pub struct Options {
    /// The agent's control socket.
    pub socket: PathBuf,
    /// From one look at the agent to the next.
    pub interval: Duration,
    /// The filter at first.
    pub filter: String,
}

/// Two looks at the agent, and one frame as text, at most `width` cells wide.
///
/// # Errors
/// The agent cannot be asked.
pub fn once(options: Options, width: u16) -> anyhow::Result<String> {
    let (mut model, mut ui) = (Model::default(), Ui::new(options.filter));
    model.look(Duration::ZERO, control::status(&options.socket)?);
    std::thread::sleep(options.interval);
    model.look(options.interval, control::status(&options.socket)?);
    ui.arrange(&model);
    Ok(once::frame(&model, &mut ui, width))
}

/// Shows the agent until the user has seen enough.
///
/// # Errors
/// The agent cannot be asked at first (later it is waited for), or the terminal fails.
pub async fn live(options: Options) -> anyhow::Result<()> {
    let start = Instant::now();
    let (mut model, mut ui) = (Model::default(), Ui::new(options.filter));
    model.look(Duration::ZERO, control::status(&options.socket)?);
    let mut ending = Ending::new()?;
    let mut screen = Screen::new().context("take over the terminal")?;
    let (mut poller, mut keys) = (Poller::start(options.socket, options.interval), keys());
    ui.arrange(&model);
    loop {
        screen.draw(|frame| {
            let area = frame.area();
            view::draw(frame.buffer_mut(), area, &model, &mut ui);
        })?;
        tokio::select! {
            heard = poller.heard() => {
                match heard.context("the thread that asks the agent has ended")? {
                    // Asked before the pause.
                    _ if ui.paused => continue,
                    Heard::Look(snapshot) => model.look(start.elapsed(), *snapshot),
                    Heard::Miss(why) => model.miss(start.elapsed(), why),
                }
                ui.arrange(&model);
            }
            event = keys.recv() => {
                // Of a new size nothing more is to be told than that it is time to draw.
                if let Event::Key(key) = event.context("the thread that reads keys has ended")?? {
                    if !ui.key(&key, &model) {
                        return Ok(());
                    }
                    if ui.paused {
                        model.pause();
                    }
                    poller.pause(ui.paused);
                }
            }
            () = ending.asked() => return Ok(()),
        }
    }
}

/// What happens at the terminal, read by a thread: there is no waiting for both a key and the agent without one. It ends with
/// the program.
fn keys() -> mpsc::Receiver<io::Result<Event>> {
    let (sender, receiver) = mpsc::channel(64);
    std::thread::spawn(move || {
        loop {
            let event = event::read();
            let failed = event.is_err();
            if sender.blocking_send(event).is_err() || failed {
                return;
            }
        }
    });
    receiver
}
