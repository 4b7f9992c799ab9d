//! The relay's side of the kernel programs: which sockets they measure, what they tell, which levels they show.
//!
//! Where they do not measure it all, the relay measures its own sockets after each write. While a pressure level stands it
//! does so in any case: an event that found the ring full must not leave a level standing for ever.

use super::engine::{Engine, Shared};
use crate::config::{KernelAssist, Shell};
use crate::kernel::{
    Assist, ConnectionRecord, Error, EventKind, Events, LostEvents, Mode, Options, Registration, Report, occupancy,
};
use governor_core::agent::{LinkId, Slot};
use governor_core::congestion::LevelChange;
use governor_core::level::{Feature, Level};
use governor_core::settings::{ConnectionIndex, Pressure, Settings};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::sleep;
use tracing::{debug, warn};

/// How often a socket whose pressure level stands is measured by the relay itself.
const SAMPLE: Duration = Duration::from_millis(50);

/// The kernel programs, if there are any.
pub(super) struct Kernel {
    assist: Option<Assist>,
    report: Report,
}

// === impl Kernel ===

impl Kernel {
    /// Loads what is asked for.
    ///
    /// # Errors
    /// With `required`: what is missing.
    pub fn load(shell: &Shell, settings: &Settings) -> Result<(Self, Option<Events>), Error> {
        let mode = match shell.kernel_assist {
            KernelAssist::Auto => Mode::Auto,
            KernelAssist::Required => Mode::Required,
            KernelAssist::Off => Mode::Off,
        };
        let mut options = Options::new(mode);
        // Twice: a connection that ends and the one that follows it may both have a record for a moment.
        let room = u32::try_from(settings.connections.len().saturating_mul(2)).unwrap_or(u32::MAX);
        options.max_connections = options.max_connections.max(room);
        let (mut assist, report) = Assist::load_with(&options)?;
        let events = assist.as_mut().and_then(Assist::take_events);
        Ok((Self { assist, report }, events))
    }

    /// Is any program at work?
    pub const fn is_active(&self) -> bool {
        self.assist.is_some()
    }

    /// Do the programs measure the send buffers' pressure? Some may be at work and not these.
    fn measures_pressure(&self) -> bool {
        self.is_active() && self.report.measures_pressure()
    }

    /// What this kernel offers, what is missing, and what that costs.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// Forgets a socket.
    pub fn unregister(&self, cookie: u64) {
        if let Some(assist) = &self.assist
            && let Err(error) = assist.unregister(cookie)
        {
            debug!(%error, cookie, "kernel: unregister");
        }
    }

    /// Events that found the ring full; `None`: no programs.
    pub fn lost(&self) -> Option<LostEvents> {
        self.assist.as_ref()?.lost().ok()
    }

    /// What the programs know of a socket.
    pub fn record(&self, cookie: u64) -> Option<ConnectionRecord> {
        self.assist.as_ref()?.record(cookie).ok().flatten()
    }
}

// === impl Engine ===

impl Engine {
    /// A link serves a slot from now on: the programs measure its socket.
    pub fn bind(&mut self, link: LinkId, connection: ConnectionIndex) {
        let pressure = self.pressure(connection);
        let send_buffer = self.shell.connections.get(connection.get()).and_then(|shell| shell.send_buffer);
        let accepted = self.shell.connections.get(connection.get()).is_none_or(|shell| shell.address.is_none());
        let Some(socket) = self.socket(link) else { return };
        socket.connection = Some(connection);
        let writer = Rc::clone(&socket.writer);
        if accepted && send_buffer.is_some() {
            // The listener could not know yet whose connection it would be.
            writer.set_send_buffer(send_buffer);
        }
        let Some(assist) = &self.kernel.assist else { return };
        let registered = Registration::of(writer.as_fd(), pressure).map_err(anyhow::Error::from).and_then(|socket| {
            assist.register(&socket)?;
            Ok(socket.cookie)
        });
        match registered {
            Ok(cookie) => {
                if let Some(socket) = self.socket(link) {
                    socket.cookie = Some(cookie);
                }
                self.cookies.insert(cookie, link);
                self.publish(connection);
            }
            Err(error) => warn!(%error, "the kernel programs do not measure this connection"),
        }
    }

    /// The thresholds of a connection; `None`: it has none, or is in no configuration any more.
    fn pressure(&self, connection: ConnectionIndex) -> Option<Pressure> {
        self.agent.settings().connections.get(connection.get())?.transport.pressure
    }

    /// The thresholds of a link's connection are others now.
    pub fn measure_anew(&mut self, link: LinkId) {
        let socket = self.socket(link).map(|socket| (socket.connection, socket.cookie));
        if let Some((Some(connection), Some(cookie))) = socket
            && let Some(assist) = &self.kernel.assist
            && let Err(error) = assist.set_pressure(cookie, self.pressure(connection))
        {
            warn!(%error, "the kernel programs keep the former thresholds of this connection");
        }
        self.measure(link);
    }

    /// Shows a slot's levels in the map `levels`.
    pub fn publish(&mut self, connection: ConnectionIndex) {
        let Some(slot) = self.agent.slot(connection) else { return };
        let levels = slot.congestion().levels();
        let Some(link) = slot.link() else { return };
        let Some(cookie) = self.socket(link).and_then(|socket| socket.cookie) else { return };
        if let Some(assist) = &self.kernel.assist
            && let Err(error) = assist.publish_level(cookie, levels)
        {
            debug!(%error, cookie, "kernel: publish");
        }
    }

    /// A socket was written to: measures it, unless kernel programs did.
    pub fn measure_written(&mut self, link: LinkId) {
        if !self.kernel.measures_pressure() {
            self.measure(link);
        }
    }

    /// Measures a socket that has pressure levels.
    fn measure(&mut self, link: LinkId) {
        let Some(socket) = self.socket(link) else { return };
        let Some(connection) = socket.connection else { return };
        let writer = Rc::clone(&socket.writer);
        if self.pressure(connection).is_none() {
            return;
        }
        match occupancy(writer.as_fd()) {
            Ok(measured) => {
                let now = self.now();
                self.agent.handle_pressure(now, link, u64::from(measured.queued), u64::from(measured.limit));
            }
            Err(error) => debug!(%error, "SO_MEMINFO"),
        }
    }

    /// A level changed: a raised X3 is one that another measure may have to lower.
    pub fn mind_pressure(&mut self, connection: ConnectionIndex, change: &LevelChange) {
        if change.feature == Feature::Transport
            && change.to > Level::CL0
            && let Some(link) = self.agent.slot(connection).and_then(Slot::link)
        {
            self.raised.insert(link);
        }
    }

    /// The sockets where a pressure level stands that only another measure can lower. Few, mostly none: thousands of
    /// idle connections cost nothing here.
    fn measured_links(&mut self) -> Vec<LinkId> {
        let mut raised = std::mem::take(&mut self.raised);
        raised.retain(|&link| {
            let slot = self.agent.slot_of(link).and_then(|connection| self.agent.slot(connection));
            slot.is_some_and(|slot| slot.congestion().levels().transport > Level::CL0)
        });
        let links = raised.iter().copied().collect();
        self.raised = raised;
        links
    }
}

/// Takes what the programs tell, for ever.
pub(super) async fn listen(shared: Shared, mut events: Events) {
    loop {
        let event = match events.next().await {
            Ok(event) => event,
            Err(error) => {
                warn!(%error, "no more kernel events; pressure is read no more");
                return;
            }
        };
        let mut engine = shared.borrow();
        let mut next = Some(event);
        while let Some(event) = next {
            // Opened and closed are the relay's own doing, blocked and unblocked it hears from its own writes at once;
            // all four carry the buffer's occupancy.
            if !matches!(event.kind, EventKind::Opened | EventKind::Closed)
                && let Some(link) = engine.link_of(event.cookie)
            {
                let now = engine.now();
                engine.agent.handle_pressure(now, link, u64::from(event.queued), u64::from(event.limit));
            }
            next = events.try_next();
        }
        engine.wake_driver();
    }
}

/// Starts [`sample`] where it is needed and does not run.
pub(super) fn sample_if_needed(shared: &Shared, engine: &mut Engine) {
    let pressure = || engine.agent.settings().connections.iter().any(|c| c.transport.pressure.is_some());
    if !engine.sampling && pressure() {
        engine.sampling = true;
        spawn_local(sample(shared.clone()));
    }
}

/// Measures the sockets whose level waits for it, for ever.
async fn sample(shared: Shared) {
    loop {
        sleep(SAMPLE).await;
        let mut engine = shared.borrow();
        let links = engine.measured_links();
        for &link in &links {
            engine.measure(link);
        }
        if !links.is_empty() {
            engine.wake_driver();
        }
    }
}
