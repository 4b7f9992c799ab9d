//! The answering end: listens, starts its thread, takes changes of behaviour, and reports.

use super::responder::Responder;
use super::{Behaviour, Identity, LoadError, ServerReport};
use mio::{Poll, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub(super) const WAKER: Token = Token(usize::MAX);

/// What a server does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// Where it listens; port 0: any free one.
    pub listen: SocketAddr,
    /// Who it is.
    pub identity: Identity,
    /// How it behaves at first.
    pub behaviour: Behaviour,
    /// `SO_RCVBUF` of its connections, bytes; `None`: the system's own. A small one makes a server that has stopped reading felt soon.
    pub receive_buffer: Option<usize>,
    /// Connections at a time; one more is closed at once. `None`: no limit.
    pub max_connections: Option<usize>,
}

impl ServerOptions {
    /// A server that answers everything at once.
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self { listen, identity, behaviour: Behaviour::default(), receive_buffer: None, max_connections: None }
    }
}

/// What server and thread share.
pub(super) struct Shared {
    pub(super) behaviour: Mutex<Behaviour>,
    /// Changes with the behaviour.
    pub(super) version: AtomicU32,
    pub(super) stop: AtomicU8,
    /// The counts of a moment ago.
    pub(super) report: Mutex<ServerReport>,
}

impl Shared {
    /// Runs on.
    pub(super) const RUN: u8 = 0;
    /// Sends a DPR on each connection, then ends.
    pub(super) const PART: u8 = 1;
    /// Ends as a killed process would.
    pub(super) const ABORT: u8 = 2;
}

/// A running server.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens and starts answering.
    pub fn start(options: &ServerOptions) -> Result<Self, LoadError> {
        let doing = || LoadError::io(format!("listen on {}", options.listen));
        let socket = Socket::new(Domain::for_address(options.listen), Type::STREAM, Some(Protocol::TCP));
        let socket = socket.map_err(doing())?;
        socket.set_reuse_address(true).map_err(doing())?;
        if let Some(bytes) = options.receive_buffer {
            // Before listening: accepted sockets inherit it, and the window is agreed on as they open.
            socket.set_recv_buffer_size(bytes).map_err(doing())?;
        }
        socket.bind(&options.listen.into()).map_err(doing())?;
        socket.listen(1024).map_err(doing())?;
        socket.set_nonblocking(true).map_err(doing())?;
        let listener = std::net::TcpListener::from(socket);
        let address = listener.local_addr().map_err(doing())?;

        let poll = Poll::new().map_err(LoadError::io("set up the server's event loop"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(LoadError::io("set up the server's event loop"))?;
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(options.behaviour.clone()),
            version: AtomicU32::new(0),
            stop: AtomicU8::new(Shared::RUN),
            report: Mutex::new(ServerReport { reading: true, ..ServerReport::default() }),
        });
        let responder = Responder::new(poll, mio::net::TcpListener::from_std(listener), options, Arc::clone(&shared))
            .map_err(doing())?;
        let thread = std::thread::Builder::new()
            .name("load-server".into())
            .spawn(move || responder.run())
            .map_err(LoadError::io("start the server's thread"))?;
        Ok(Self { address, shared, waker, thread: Some(thread) })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes how it behaves, from the next batch on.
    pub fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.behaviour.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.version.fetch_add(1, Ordering::Release);
        self.wake();
    }

    /// The counts of a moment ago.
    pub fn snapshot(&self) -> ServerReport {
        self.shared.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes leave of its peers with a DPR, and ends.
    pub fn stop(mut self) -> ServerReport {
        self.end(Shared::PART)
    }

    /// Ends as a killed process would: every connection closes at once.
    pub fn abort(mut self) -> ServerReport {
        self.end(Shared::ABORT)
    }

    fn end(&mut self, how: u8) -> ServerReport {
        self.shared.stop.store(how, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        self.snapshot()
    }

    fn wake(&self) {
        // The loop looks by itself within a tick.
        let _ = self.waker.wake();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.end(Shared::ABORT);
        }
    }
}
