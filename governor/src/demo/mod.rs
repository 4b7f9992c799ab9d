//! `governor demo`: a relay with four servers behind it, one that stops reading, one that answers 3004, one over its rate,
//! and a client whose every request is to be answered. In one process, on loopback, without a file and without root.

mod agent;
mod plain;
mod pool;
mod script;
mod state;
mod summary;
mod view;

use crate::config;
use crate::load::{Client, ClientOptions, Identity, Pace};
use crate::terminal::{Ending, Screen, is_ctrl_c};
use agent::Relay;
use anyhow::Context as _;
use plain::Lines;
use pool::{CLIENT, Pool, REALM};
use ratatui::crossterm::event::{self, Event, KeyCode};
use script::{Act, Script};
use state::State;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval};

/// How often the relay is looked at and shown.
const TICK: Duration = Duration::from_millis(100);

/// How the demo is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long the traffic lasts.
    pub whole: Duration,
    /// Lines instead of a screen.
    pub plain: bool,
    /// Use the kernel programs, if this kernel and our privileges allow.
    pub kernel: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { whole: script::WHOLE, plain: false, kernel: true }
    }
}

/// The relay's configuration, with ports as they could be.
pub fn example_configuration() -> String {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    pool::configuration(at(3868), [3871, 3872, 3873, 3874].map(at), true)
}

/// Runs the demo on a tokio runtime; `true` if every request was answered. The summary, and the lines of a plain demo, go to
/// `out`.
pub async fn run(options: Options, mut out: impl Write) -> anyhow::Result<bool> {
    let pool = Pool::start()?;
    let text = pool::configuration((Ipv4Addr::LOCALHOST, 0).into(), pool.addresses(), options.kernel);
    let mut relay = Relay::start(config::parse(&text, "demo")?)?;
    let shown = show(options, &pool, &mut relay, &mut out).await;
    relay.stop();
    let servers = pool.stop();
    let state = shown?;
    // A plain demo has told the changes already.
    out.write_all(summary::text(&state, &servers, !options.plain).as_bytes())?;
    Ok(state.client.is_clean())
}

/// From the first request to the last answer.
async fn show(options: Options, pool: &Pool, relay: &mut Relay, out: &mut impl Write) -> anyhow::Result<State> {
    relay.ready().await?;
    let mut state = State::new(options.whole, relay.kernel.clone());
    let mut display = if options.plain {
        Display::Lines(Lines::new(out, &state)?)
    } else {
        Display::Screen(Screen::new().context("take over the terminal")?)
    };
    let client = Client::start(&ClientOptions {
        size: Some(400),
        priorities: "0:5,1:3,2:2".parse().map_err(anyhow::Error::msg)?,
        timeout: Duration::from_secs(10),
        ..ClientOptions::new(relay.address, Identity::relay(CLIENT, REALM), REALM, Pace::Rate(script::RATE))
    })?;
    let start = Instant::now();
    let mut script = Script::default();
    let mut ending = Ending::new()?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while !client.is_finished() {
        let ended = tokio::select! {
            _ = ticks.tick() => display.wants_to_end()?,
            () = ending.asked() => true,
        };
        let at = start.elapsed();
        if ended || at >= options.whole {
            client.stop();
        } else {
            for phase in script.due(at) {
                match phase.act {
                    Act::Nothing => {}
                    Act::Server(site, change) => pool.server(site).change(change),
                    Act::Rate(rate) => client.change_rate(rate),
                }
                state.phases.push((phase.at, phase.text));
            }
        }
        let (connections, changes) = relay.look(at).await?;
        state.look(at, connections, client.snapshot());
        state.changes.extend(changes);
        display.show(&state)?;
    }
    let (connections, changes) = relay.look(start.elapsed()).await?;
    state.changes.extend(changes);
    state.look(start.elapsed(), connections, client.join());
    Ok(state)
}

/// Where the demo is shown.
enum Display<W> {
    Screen(Screen),
    Lines(Lines<W>),
}

impl<W: Write> Display<W> {
    fn show(&mut self, state: &State) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.draw(|frame| view::draw(frame, state)),
            Self::Lines(lines) => lines.show(state),
        }
    }

    fn wants_to_end(&self) -> io::Result<bool> {
        match self {
            Self::Screen(_) => wants_to_end(),
            Self::Lines(_) => Ok(false),
        }
    }
}

/// Was `q`, Esc or ctrl-c typed?
fn wants_to_end() -> io::Result<bool> {
    while event::poll(Duration::ZERO)? {
        if let Event::Key(key) = event::read()?
            && (is_ctrl_c(&key) || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
