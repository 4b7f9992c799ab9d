//! The agent with its sockets.

use super::handle::{Change, Events};
use super::listeners::Listening;
use crate::config::Shell;
use crate::transport::{Reader, Writer};
use governor_core::agent::{Agent, LinkId};
use governor_core::settings::ConnectionIndex;
use governor_core::time::Time;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;
use tokio::io::ReadBuf;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

/// One read takes at most this much, bytes: some hundred messages of common size, and it stays in the cache.
const READ: usize = 64 * 1024;
/// How much a partly received message's buffer grows at a time, bytes.
const GROW: usize = 16 * 1024;

/// The engine, shared by the tasks of its thread.
#[derive(Clone)]
pub(super) struct Shared(Rc<RefCell<Engine>>);

pub(super) struct Engine {
    pub agent: Agent,
    pub shell: Shell,
    pub kernel: super::kernel::Kernel,
    /// Where it listens.
    pub listeners: Vec<Listening>,
    /// The configuration file, to be read again.
    pub file: Option<PathBuf>,
    /// Held by a reload.
    pub reloading: Rc<tokio::sync::Mutex<()>>,
    /// The end has begun.
    pub ending: bool,
    /// A task measures sockets in place of the kernel programs.
    pub sampling: bool,
    /// Who wants to hear of changes of level.
    pub followers: Vec<UnboundedSender<Change>>,
    /// Who wants to hear of everything that happens.
    pub events: Events,
    origin: Instant,
    /// By [`LinkId::index`].
    sockets: Vec<Option<Socket>>,
    /// By [`LinkId::index`]: the last socket that is gone. The agent tells of its end later.
    gone: Vec<Option<Gone>>,
    /// Attempts under way, by connection.
    attempts: Vec<Option<Attempt>>,
    /// Links by their sockets' cookies.
    pub cookies: HashMap<u64, LinkId>,
    /// Links whose X3 was raised, and may still be.
    pub raised: HashSet<LinkId>,
    scratch: Box<[u8]>,
    driver: Option<Waker>,
}

/// An attempt to connect.
struct Attempt {
    /// Whose; its task looks here, for a reload changes it.
    connection: Rc<Cell<ConnectionIndex>>,
    task: AbortHandle,
}

pub(super) struct Socket {
    pub link: LinkId,
    pub writer: Rc<Writer>,
    pub remote: SocketAddr,
    /// The beginning of a message whose rest has not come.
    partial: Vec<u8>,
    /// A task waits for room in the send buffer.
    pub waits: bool,
    pub reader: Option<AbortHandle>,
    /// The slot it serves, once it is known.
    pub connection: Option<ConnectionIndex>,
    /// Its key in the kernel's maps.
    pub cookie: Option<u64>,
}

/// Whose a socket was.
#[derive(Clone, Copy)]
pub(super) struct Gone {
    pub link: LinkId,
    pub remote: SocketAddr,
    pub connection: Option<ConnectionIndex>,
}

/// What became of one read.
pub(super) enum Input {
    /// Something was read.
    Some,
    /// The stream has ended; why, if it was not the peer's own doing.
    End(Option<std::io::Error>),
}

// === impl Shared ===

impl Shared {
    pub fn new(engine: Engine) -> Self {
        Self(Rc::new(RefCell::new(engine)))
    }

    /// The engine. Never held across an await: every borrow ends within one poll of one task.
    pub fn borrow(&self) -> RefMut<'_, Engine> {
        self.0.borrow_mut()
    }
}

// === impl Engine ===

impl Engine {
    pub fn new(agent: Agent, shell: Shell, kernel: super::kernel::Kernel, file: Option<PathBuf>) -> Self {
        Self {
            agent,
            shell,
            kernel,
            listeners: Vec::new(),
            file,
            reloading: Rc::default(),
            ending: false,
            sampling: false,
            followers: Vec::new(),
            events: Events::new(super::tell::BACKLOG),
            origin: Instant::now(),
            sockets: Vec::new(),
            gone: Vec::new(),
            attempts: Vec::new(),
            cookies: HashMap::new(),
            raised: HashSet::new(),
            scratch: vec![0; READ].into_boxed_slice(),
            driver: None,
        }
    }

    /// The time since the start, as the core counts it.
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    pub fn set_driver(&mut self, waker: &Waker) {
        if !self.driver.as_ref().is_some_and(|old| old.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    /// Something was given to the agent: the driver has work.
    pub fn wake_driver(&self) {
        if let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }

    pub fn insert(&mut self, link: LinkId, writer: Writer, remote: SocketAddr, reader: AbortHandle) {
        let at = link.index();
        if self.sockets.len() <= at {
            self.sockets.resize_with(at + 1, || None);
        }
        self.sockets[at] = Some(Socket {
            link,
            writer: Rc::new(writer),
            remote,
            partial: Vec::new(),
            waits: false,
            reader: Some(reader),
            connection: None,
            cookie: None,
        });
    }

    /// Remembers the attempt to connect, in place of an older one.
    pub fn attempt(&mut self, connection: Rc<Cell<ConnectionIndex>>, task: AbortHandle) {
        let at = connection.get().get();
        if self.attempts.len() <= at {
            self.attempts.resize_with(at + 1, || None);
        }
        if let Some(old) = self.attempts[at].replace(Attempt { connection, task }) {
            old.task.abort();
        }
    }

    /// Ends the attempt to connect, if it has not ended.
    pub fn give_up(&mut self, connection: ConnectionIndex) {
        if let Some(attempt) = self.attempts.get_mut(connection.get()).and_then(Option::take) {
            attempt.task.abort();
        }
    }

    /// Other settings have given the connections other indices; `moved` has the new one of each old one.
    pub fn renumber(&mut self, moved: &[Option<ConnectionIndex>]) {
        let to = |was: ConnectionIndex| moved.get(was.get()).copied().flatten();
        for socket in self.sockets.iter_mut().flatten() {
            socket.connection = socket.connection.and_then(to);
        }
        for gone in self.gone.iter_mut().flatten() {
            gone.connection = gone.connection.and_then(to);
        }
        for Attempt { connection, task } in std::mem::take(&mut self.attempts).into_iter().flatten() {
            match to(connection.get()) {
                Some(is) => {
                    connection.set(is);
                    self.attempt(connection, task);
                }
                None => task.abort(),
            }
        }
    }

    pub fn socket(&mut self, link: LinkId) -> Option<&mut Socket> {
        self.sockets.get_mut(link.index())?.as_mut().filter(|socket| socket.link == link)
    }

    /// Whose the link's socket is, or was.
    pub fn whose(&self, link: LinkId) -> Option<Gone> {
        let socket = self.sockets.get(link.index())?.as_ref().filter(|socket| socket.link == link);
        match socket {
            Some(socket) => Some(Gone { link, remote: socket.remote, connection: socket.connection }),
            None => self.gone.get(link.index()).copied()?.filter(|gone| gone.link == link),
        }
    }

    /// The link whose socket has that cookie.
    pub fn link_of(&self, cookie: u64) -> Option<LinkId> {
        self.cookies.get(&cookie).copied()
    }

    /// The sockets in use.
    pub fn sockets(&self) -> impl Iterator<Item = &Socket> {
        self.sockets.iter().flatten()
    }

    /// The sockets in use among `count` places from `first` on.
    pub fn sockets_at(&self, first: usize, count: usize) -> impl Iterator<Item = &Socket> {
        self.sockets.iter().skip(first).take(count).flatten()
    }

    /// Are there sockets at that place or behind it?
    pub fn has_sockets_behind(&self, place: usize) -> bool {
        self.sockets.len() > place
    }

    /// The socket's end: the agent hears of it, the reader stops.
    pub fn remove(&mut self, link: LinkId) {
        if self.socket(link).is_none() {
            return;
        }
        if let Some(socket) = self.sockets.get_mut(link.index()).and_then(Option::take) {
            if self.gone.len() <= link.index() {
                self.gone.resize(link.index() + 1, None);
            }
            self.gone[link.index()] = Some(Gone { link, remote: socket.remote, connection: socket.connection });
            if let Some(reader) = socket.reader {
                reader.abort();
            }
            if let Some(cookie) = socket.cookie {
                self.cookies.remove(&cookie);
                self.kernel.unregister(cookie);
            }
        }
        self.agent.handle_disconnected(self.now(), link);
        self.wake_driver();
    }

    /// Reads once and gives what came to the agent.
    pub fn poll_input(&mut self, cx: &mut Context<'_>, link: LinkId, reader: &mut Reader) -> Poll<Input> {
        let Some(socket) = self.sockets.get_mut(link.index()).and_then(Option::as_mut) else {
            return Poll::Ready(Input::End(None));
        };
        let partial = std::mem::take(&mut socket.partial);
        let outcome = if partial.is_empty() {
            self.read_whole(cx, link, reader)
        } else {
            self.read_on(cx, link, reader, partial)
        };
        match ready!(outcome) {
            Ok(0) => Poll::Ready(Input::End(None)),
            Ok(_) => {
                self.wake_driver();
                Poll::Ready(Input::Some)
            }
            Err(error) => Poll::Ready(Input::End(Some(error))),
        }
    }

    /// The common case: nothing is left over, the shared buffer serves.
    fn read_whole(&mut self, cx: &mut Context<'_>, link: LinkId, reader: &mut Reader) -> Poll<std::io::Result<usize>> {
        let mut buffer = ReadBuf::new(&mut self.scratch);
        let count = ready!(reader.poll_read(cx, &mut buffer))?;
        let now = self.now();
        let taken = self.agent.handle_input(now, link, &self.scratch[..count]);
        let rest = self.scratch[taken..count].to_vec();
        self.keep(link, rest);
        Poll::Ready(Ok(count))
    }

    /// The rest of a message that has begun is read behind its beginning; the buffer grows with what has come, never
    /// with what a header announces.
    fn read_on(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
        reader: &mut Reader,
        mut partial: Vec<u8>,
    ) -> Poll<std::io::Result<usize>> {
        let before = partial.len();
        partial.resize(before + GROW.max(before.min(READ)), 0);
        let mut buffer = ReadBuf::new(&mut partial[before..]);
        let count = match reader.poll_read(cx, &mut buffer) {
            Poll::Ready(Ok(count)) => count,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => {
                partial.truncate(before);
                self.keep(link, partial);
                return Poll::Pending;
            }
        };
        partial.truncate(before + count);
        let now = self.now();
        let taken = self.agent.handle_input(now, link, &partial);
        if taken > 0 {
            // A fresh buffer of the rest's size: one large message must not hold its memory for the connection's life.
            partial = partial[taken..].to_vec();
        }
        self.keep(link, partial);
        Poll::Ready(Ok(count))
    }

    fn keep(&mut self, link: LinkId, rest: Vec<u8>) {
        if let Some(socket) = self.socket(link) {
            socket.partial = rest;
        }
    }
}
