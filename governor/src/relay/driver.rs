//! The driver: writes what the agent has to send, does what its events ask for, and keeps its timers.

use super::connector;
use super::engine::{Engine, Shared};
use governor_core::agent::{Event, LinkId};
use governor_core::time::Time;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

/// How long the last bytes of a closing connection may take.
const LINGER: Duration = Duration::from_secs(1);

/// Runs for ever.
pub(super) async fn drive(shared: Shared) {
    let mut timer = pin!(sleep(Duration::from_secs(3600)));
    let mut armed: Option<Time> = None;
    poll_fn(|cx| {
        shared.borrow().set_driver(cx.waker());
        loop {
            work(&shared);
            let mut engine = shared.borrow();
            let now = engine.now();
            // A timer that fires early is harmless; one that is later than the agent's next deadline is not.
            match engine.agent.poll_timeout() {
                Some(at) if armed.is_none_or(|old| at < old) => {
                    armed = Some(at);
                    timer.as_mut().reset(Instant::now() + at.since(now));
                }
                Some(_) => {}
                None => armed = None,
            }
            if armed.is_none() || timer.as_mut().poll(cx).is_pending() {
                return Poll::<()>::Pending;
            }
            armed = None;
            let now = engine.now();
            engine.agent.handle_timeout(now);
            drop(engine);
        }
    })
    .await;
}

/// Writes and does until nothing is left to do.
pub(super) fn work(shared: &Shared) {
    loop {
        let mut engine = shared.borrow();
        if let Some(link) = engine.agent.poll_dirty() {
            flush(shared, &mut engine, link);
        } else if let Some(event) = engine.agent.poll_event() {
            handle(shared, &mut engine, event);
        } else {
            break;
        }
    }
}

/// Writes a link's output: one call for all of its messages.
fn flush(shared: &Shared, engine: &mut Engine, link: LinkId) {
    let Some(writer) = engine.socket(link).filter(|socket| !socket.waits).map(|socket| Rc::clone(&socket.writer))
    else {
        return;
    };
    loop {
        let output = engine.agent.output(link);
        if output.is_empty() {
            break;
        }
        match writer.try_write(output) {
            Ok(count) => engine.agent.handle_written(link, count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let now = engine.now();
                engine.agent.handle_blocked(now, link);
                wait_for_room(shared, engine, link);
                break;
            }
            Err(error) => {
                debug!(%error, "write failed");
                engine.remove(link);
                return;
            }
        }
    }
    engine.measure_written(link);
}

fn wait_for_room(shared: &Shared, engine: &mut Engine, link: LinkId) {
    let Some(socket) = engine.socket(link) else { return };
    socket.waits = true;
    let writer = Rc::clone(&socket.writer);
    let shared = shared.clone();
    spawn_local(async move {
        let outcome = writer.writable().await;
        let mut engine = shared.borrow();
        let Some(socket) = engine.socket(link) else { return };
        socket.waits = false;
        if outcome.is_err() {
            engine.remove(link);
            return;
        }
        let now = engine.now();
        engine.agent.handle_unblocked(now, link);
        engine.wake_driver();
    });
}

fn handle(shared: &Shared, engine: &mut Engine, event: Event) {
    match event {
        Event::Connect(connection) => connector::connect(shared, engine, connection),
        Event::GiveUp(connection) => engine.give_up(connection),
        Event::Bound { link, connection } => engine.bind(link, connection),
        Event::Close { link, reason } => {
            engine.tell_closed(link, &reason);
            close(shared, engine, link);
        }
        Event::Up(connection) => {
            engine.tell_up(connection);
            engine.publish(connection);
        }
        Event::Down(connection, reason) => {
            engine.tell_down(connection, &reason);
            engine.publish(connection);
        }
        Event::Level(connection, change) => {
            engine.tell_level(connection, &change);
            engine.mind_pressure(connection, &change);
            engine.publish(connection);
            engine.followers.retain(|follower| follower.send((connection, change)).is_ok());
        }
        Event::Group(group, change) => engine.tell_group(group, &change),
        Event::Admin(connection, admin) => engine.tell_admin(connection, admin),
        Event::Share(group, change) => engine.tell_share(group, &change),
    }
}

/// Writes what is left, says that no more comes, and reads until the peer's end: closing with unread input in hand
/// would reset the connection and could take the last answer with it.
fn close(shared: &Shared, engine: &mut Engine, link: LinkId) {
    flush(shared, engine, link);
    let Some(writer) = engine.socket(link).map(|socket| Rc::clone(&socket.writer)) else { return };
    let done = engine.agent.output(link).is_empty();
    if done {
        writer.shutdown();
    }
    let shared = shared.clone();
    spawn_local(async move {
        let last = async {
            // The writable task of a blocked link goes on writing; look again until it is done.
            while !shared.borrow().agent.output(link).is_empty() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        if !done && timeout(LINGER, last).await.is_ok() {
            writer.shutdown();
        }
        sleep(LINGER).await;
        shared.borrow().remove(link);
    });
}
