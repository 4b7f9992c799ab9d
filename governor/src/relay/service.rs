//! What the control socket's clients ask of the relay.

use super::engine::{Engine, Shared};
use super::reload;
use crate::observe::collect;
use crate::observe::control::{Agent, Answer, Connections, ManualLevel, Refused, Request, Summary};
use crate::observe::event::{Event, What};
use governor_core::settings::ConnectionIndex;
use std::sync::Arc;
use tokio::sync::broadcast;

impl Agent for Shared {
    async fn answer(&self, request: Request) -> Result<Answer, Refused> {
        match request {
            Request::Status => Ok(Answer::Status(Box::new(super::status::status(&mut self.borrow())))),
            Request::List => Ok(Answer::List(list(&mut self.borrow()))),
            Request::Show { connection } => {
                let mut engine = self.borrow();
                let at = find(&engine, &connection)?;
                let now = engine.now();
                engine.agent.refresh(now);
                engine.wake_driver();
                let shown = super::status::connection(&engine, at).ok_or_else(|| unknown(&connection))?;
                Ok(Answer::Connection(Box::new(shown)))
            }
            Request::Disable { connection } => self.change(&connection, |engine, at| {
                let now = engine.now();
                engine.agent.handle_disable(now, at);
            }),
            Request::Enable { connection } => self.change(&connection, |engine, at| {
                let now = engine.now();
                engine.agent.handle_enable(now, at);
            }),
            Request::Level { connection, level } => self.change(&connection, |engine, at| set_level(engine, at, level)),
            Request::Reload => reload::reload(self).await.map(Answer::Reloaded).map_err(Refused::from),
            // Never asked: the socket's own part.
            Request::Subscribe => Err(Refused::new("events are subscribed to on the control socket")),
        }
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.borrow().events.subscribe()
    }
}

// === impl Shared ===

impl Shared {
    /// Does something to a connection and tells how it stands then.
    fn change(&self, name: &str, change: impl FnOnce(&mut Engine, ConnectionIndex)) -> Result<Answer, Refused> {
        let mut engine = self.borrow();
        if engine.ending {
            return Err(Refused::new("the agent is ending"));
        }
        let at = find(&engine, name)?;
        change(&mut engine, at);
        engine.wake_driver();
        Ok(Answer::Summary(summary(&engine, at)))
    }
}

fn find(engine: &Engine, name: &str) -> Result<ConnectionIndex, Refused> {
    let found = engine.agent.settings().connection(name);
    found.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Refused {
    Refused::new(format!("there is no connection \"{name}\""))
}

fn set_level(engine: &mut Engine, connection: ConnectionIndex, level: ManualLevel) {
    let now = engine.now();
    if engine.agent.slot(connection).is_some_and(|slot| slot.manual_level() != level.level()) {
        let (name, peer) = engine.names(connection);
        engine.tell_now(What::ManualLevel { connection: name, peer, level: level.level() });
    }
    engine.agent.handle_manual_level(now, connection, level.level());
}

fn list(engine: &mut Engine) -> Connections {
    let now = engine.now();
    engine.agent.refresh(now);
    engine.wake_driver();
    let indices = engine.agent.slots().iter().map(|slot| slot.index);
    Connections { connections: indices.map(|at| summary(engine, at)).collect() }
}

fn summary(engine: &Engine, connection: ConnectionIndex) -> Summary {
    let now = engine.now();
    engine
        .agent
        .slots()
        .get(connection.get())
        .map_or_else(Summary::default, |slot| collect::connection(slot, &engine.agent, &engine.shell, now).into())
}
