//! A scripted server: takes connections, answers as told, and can stop reading.

use super::{Peer, Received};
use crate::NetNs;
use anyhow::{Context, Result};
use bytes::Bytes;
use governor_core::diameter::Message;
use governor_core::diameter::codes::command;
use socket2::{Domain, Socket, Type};
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How a server treats requests; may change while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// Result-Code.
    pub result_code: u32,
    /// Origin-Host of the answers, where it is not the server's own.
    pub origin_host: Option<String>,
    /// From the request to the answer.
    pub delay: Duration,
    /// Take requests and never answer.
    pub silent: bool,
    /// Read the socket at all?
    pub reading: bool,
}

impl Default for Conduct {
    fn default() -> Self {
        Self { result_code: 2001, origin_host: None, delay: Duration::ZERO, silent: false, reading: true }
    }
}

/// A running server; its threads end with the guard.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    identity: String,
    conduct: Mutex<Conduct>,
    ended: AtomicBool,
    connections: AtomicU64,
    requests: AtomicU64,
    retransmitted: AtomicU64,
    trouble: Mutex<Vec<String>>,
    /// When each request came, for rates.
    arrivals: Mutex<Vec<Instant>>,
}

impl Server {
    /// Listens on `address` in `ns`, with a small receive buffer so that a server which stops reading is felt soon.
    pub fn start(ns: &NetNs, address: &str, identity: &str, conduct: Conduct) -> Result<Self> {
        let address: SocketAddr = address.parse()?;
        let listener: TcpListener = ns.enter(|| {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            socket.set_reuse_address(true)?;
            socket.set_recv_buffer_size(32 * 1024)?;
            socket.bind(&address.into()).with_context(|| format!("cannot listen on {address}"))?;
            socket.listen(128)?;
            Ok(socket.into())
        })?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            identity: identity.to_owned(),
            conduct: Mutex::new(conduct),
            ended: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            retransmitted: AtomicU64::new(0),
            trouble: Mutex::new(Vec::new()),
            arrivals: Mutex::new(Vec::new()),
        });
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&shared, &listener)
        });
        Ok(Self { shared, acceptor: Some(acceptor) })
    }

    /// Changes how it treats requests from now on.
    pub fn conduct(&self, conduct: Conduct) {
        *lock(&self.shared.conduct) = conduct;
    }

    /// Connections open now.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Relaxed)
    }

    /// Requests received so far (base protocol's own not counted).
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Relaxed)
    }

    /// Of these, with the T bit.
    pub fn retransmitted(&self) -> u64 {
        self.shared.retransmitted.load(Relaxed)
    }

    /// When each request came.
    pub fn arrivals(&self) -> Vec<Instant> {
        lock(&self.shared.arrivals).clone()
    }

    /// Whatever went wrong on its side.
    pub fn trouble(&self) -> Vec<String> {
        lock(&self.shared.trouble).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Relaxed);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    let mut serving = Vec::new();
    while !shared.ended.load(Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let shared = Arc::clone(shared);
        serving.push(std::thread::spawn(move || {
            let peer =
                stream.set_nonblocking(false).map_err(Into::into).and_then(|()| Peer::new(stream, &shared.identity));
            shared.connections.fetch_add(1, Relaxed);
            if let Err(e) = peer.and_then(|peer| serve(&shared, peer)) {
                lock(&shared.trouble).push(format!("{}: {e:#}", shared.identity));
            }
            shared.connections.fetch_sub(1, Relaxed);
        }));
    }
    for thread in serving {
        let _ = thread.join();
    }
}

fn serve(shared: &Shared, mut peer: Peer) -> Result<()> {
    peer.answer_cer()?;
    let mut delayed: VecDeque<(Instant, Bytes)> = VecDeque::new();
    let mut out = Vec::new();
    while !shared.ended.load(Relaxed) {
        let now = Instant::now();
        while delayed.front().is_some_and(|(due, _)| *due <= now) {
            out.extend(delayed.pop_front().into_iter().flat_map(|(_, answer)| answer));
        }
        if !lock(&shared.conduct).reading {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        // Everything in hand is treated before the answers go out in one write.
        let next = if peer.has_message() { now } else { now + Duration::from_millis(5) };
        if !out.is_empty() && !peer.has_message() {
            peer.send(&out)?;
            out.clear();
        }
        match peer.receive_any(next.max(now + Duration::from_micros(1)))? {
            Received::Nothing => {}
            Received::Closed => return Ok(()),
            Received::Message(bytes) => {
                let message = Message::new(&bytes).context("a message shorter than a header")?;
                match message.header.command {
                    _ if !message.header.flags.is_request() => {}
                    command::DEVICE_WATCHDOG => out.extend_from_slice(&peer.answer(&message, 2001, None)),
                    command::DISCONNECT_PEER => {
                        out.extend_from_slice(&peer.answer(&message, 2001, None));
                        peer.send(&out)?;
                        return Ok(());
                    }
                    _ => {
                        shared.requests.fetch_add(1, Relaxed);
                        shared.retransmitted.fetch_add(u64::from(message.header.flags.is_retransmitted()), Relaxed);
                        lock(&shared.arrivals).push(now);
                        // As it is to be now, not as it was when the wait for this request began.
                        let conduct = lock(&shared.conduct).clone();
                        if !conduct.silent {
                            let answer = peer.answer(&message, conduct.result_code, conduct.origin_host.as_deref());
                            delayed.push_back((now + conduct.delay, answer));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
