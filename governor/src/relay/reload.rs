//! Other settings while it runs: the file is read and checked whole first, then applied at once, between two messages.
//! One with a fault changes nothing.

use super::engine::{Engine, Shared};
use super::listeners::{Bound, Listening};
use super::{driver, kernel, start, systemd};
use crate::config::{self, Address, Config, Fault, Faults};
use crate::observe::control::Reloaded;
use crate::observe::event::What;
use governor_core::agent::LinkId;
use governor_core::settings::ConnectionIndex;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Reads the file that the relay was started with once more, and runs on what it says.
///
/// # Errors
/// What is wrong with it, or with its being applied, each with its line; everything is as before then.
pub(super) async fn reload(shared: &Shared) -> Result<Reloaded, Faults> {
    let (file, turn) = {
        let engine = shared.borrow();
        (engine.file.clone(), Rc::clone(&engine.reloading))
    };
    // Two at a time could apply the older of two readings last.
    let turn = turn.lock().await;
    systemd::reloading();
    let outcome = match file {
        Some(file) => match read(file).await {
            Ok(config) => apply(shared, config),
            Err(faults) => Err(faults),
        },
        None => Err(refused("", "the relay was not started with a file")),
    };
    let engine = shared.borrow();
    match &outcome {
        Ok(reloaded) => engine.tell_now(What::Reloaded(reloaded.clone())),
        Err(faults) => engine.tell_now(What::ReloadRefused(faults.clone())),
    }
    if !engine.ending {
        systemd::ready();
    }
    drop(turn);
    outcome
}

/// Off the relay's thread: a large file takes a while, and traffic goes on.
async fn read(file: PathBuf) -> Result<Config, Faults> {
    let name = file.display().to_string();
    let read = tokio::task::spawn_blocking(move || config::load(&file)).await;
    read.unwrap_or_else(|error| Err(refused(&name, &format!("cannot be read: {error}"))))
}

/// A refusal that no line of the file is to blame for.
fn refused(file: &str, message: &str) -> Faults {
    Faults { file: file.to_owned(), faults: vec![Fault { line: 0, key: String::new(), message: message.to_owned() }] }
}

fn apply(shared: &Shared, config: Config) -> Result<Reloaded, Faults> {
    let Config { settings, shell, notes, file, lines, .. } = config;
    let name = file.map(|file| file.display().to_string()).unwrap_or_default();
    let opened = {
        let engine = shared.borrow();
        if engine.ending {
            return Err(refused(&name, "the agent is ending"));
        }
        let fault = |key: &str, message: String| Fault { line: lines.of(key), key: key.to_owned(), message };
        let mut faults = fixed(&engine, &settings, &shell, fault);
        let opened = open(&engine.listeners, &shell.listen, fault).unwrap_or_else(|failed| {
            faults.extend(failed);
            Vec::new()
        });
        if !faults.is_empty() {
            faults.sort_by_key(|fault| fault.line);
            return Err(Faults { file: name, faults });
        }
        opened
    };

    start::check_open_files(settings.connections.len());
    // What has happened so far names the connections by their old indices.
    driver::work(shared);
    let mut engine = shared.borrow();
    let before = Arc::clone(engine.agent.settings());
    let old = std::mem::replace(&mut engine.shell, shell);
    let now = engine.now();
    let changes = {
        let Engine { agent, shell: new, .. } = &mut *engine;
        agent.handle_settings(now, Arc::new(settings), start::seed(), |was, is| {
            old.connections.get(was.get()) == new.connections.get(is.get())
        })
    };
    let measured = other_thresholds(&engine, &before, &changes.moved);
    engine.renumber(&changes.moved);
    for link in measured {
        engine.measure_anew(link);
    }
    let (listening, closed) = exchange_listeners(shared, &mut engine, opened);
    kernel::sample_if_needed(shared, &mut engine);
    engine.wake_driver();
    Ok(Reloaded { added: changes.added, removed: changes.removed, kept: changes.kept, listening, closed, notes })
}

/// What stays as it is until the next start.
fn fixed(
    engine: &Engine,
    settings: &governor_core::settings::Settings,
    shell: &config::Shell,
    fault: impl Fn(&str, String) -> Fault,
) -> Vec<Fault> {
    let (now, new) = (&engine.agent.settings().node, &settings.node);
    let metrics = |at: Option<SocketAddr>| at.map_or("off".to_owned(), |address| address.to_string());
    let control = |path: &Option<PathBuf>| path.as_ref().map_or("off".to_owned(), |path| path.display().to_string());
    [
        ("node.origin_host", now.origin_host.clone(), new.origin_host.clone()),
        ("node.origin_realm", now.origin_realm.clone(), new.origin_realm.clone()),
        ("node.kernel_assist", engine.shell.kernel_assist.to_string(), shell.kernel_assist.to_string()),
        ("node.control", control(&engine.shell.control), control(&shell.control)),
        ("node.metrics", metrics(engine.shell.metrics), metrics(shell.metrics)),
    ]
    .into_iter()
    .filter(|(_, now, new)| now != new)
    .map(|(key, now, new)| {
        fault(key, format!("cannot change while the agent runs; it runs with \"{now}\", here is \"{new}\": restart it"))
    })
    .collect()
}

/// Binds the addresses that are new; all of them or none.
fn open(
    listeners: &[Listening],
    wanted: &[Address],
    fault: impl Fn(&str, String) -> Fault,
) -> Result<Vec<Bound>, Vec<Fault>> {
    let mut there: Vec<&Address> = listeners.iter().map(|listening| &listening.address).collect();
    let (mut opened, mut faults) = (Vec::new(), Vec::new());
    for (at, address) in wanted.iter().enumerate() {
        if let Some(kept) = there.iter().position(|there| *there == address) {
            there.swap_remove(kept);
            continue;
        }
        match Bound::new(address) {
            Ok(bound) => opened.push(bound),
            Err(error) => {
                faults.push(fault(&format!("node.listen[{}]", at + 1), format!("cannot listen on {address}: {error}")));
            }
        }
    }
    if faults.is_empty() { Ok(opened) } else { Err(faults) }
}

/// Closes the listeners that are wanted no more and puts the new ones to work. Gives the new and the closed addresses.
fn exchange_listeners(shared: &Shared, engine: &mut Engine, opened: Vec<Bound>) -> (Vec<String>, Vec<String>) {
    let mut wanted = engine.shell.listen.clone();
    let (mut kept, mut closed) = (Vec::new(), Vec::new());
    for listening in std::mem::take(&mut engine.listeners) {
        match wanted.iter().position(|address| *address == listening.address) {
            Some(at) => {
                wanted.swap_remove(at);
                kept.push(listening);
            }
            None => closed.extend(listening.addresses()),
        }
    }
    let opened: Vec<_> = opened.into_iter().map(|bound| bound.serve(shared)).collect();
    let listening = opened.iter().flat_map(Listening::addresses).collect();
    engine.listeners = kept;
    engine.listeners.extend(opened);
    (listening, closed)
}

/// The links whose connections have other pressure thresholds now. `moved`: the new index of each old one.
fn other_thresholds(
    engine: &Engine,
    before: &governor_core::settings::Settings,
    moved: &[Option<ConnectionIndex>],
) -> Vec<LinkId> {
    let after = engine.agent.settings();
    let pressure = |settings: &governor_core::settings::Settings, at: ConnectionIndex| {
        settings.connections.get(at.get()).and_then(|connection| connection.transport.pressure)
    };
    let differs = |was: ConnectionIndex| {
        let is = moved.get(was.get()).copied().flatten();
        is.is_some_and(|is| pressure(before, was) != pressure(after, is))
    };
    engine.sockets().filter(|socket| socket.connection.is_some_and(differs)).map(|socket| socket.link).collect()
}
