//! The loaded kernel half, as the agent uses it.

use super::events::{Event, Events};
use super::load;
use super::maps::{Wire, failed, optional};
use super::occupancy::socket_cookie;
use super::pins::Pins;
use super::{Error, Mode, Options, Report};
use aya::Ebpf;
use aya::maps::{Array, HashMap, Map, MapData, MapError, RingBuf};
use aya::programs::links::{FdLink, PinnedLink};
use governor_common::{ConnectionRecord, FAMILY_IPV4, FAMILY_IPV6, LevelRecord, LostEvents, Thresholds, state};
use governor_core::level::Levels;
use governor_core::settings::Pressure;
use socket2::SockRef;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Table<K, V> = Mutex<HashMap<MapData, K, V>>;

/// Kernel programs at work. Dropping it detaches them and removes the pins.
pub struct Assist {
    /// Before the links: a name goes first, then what it names.
    _pins: Option<Pins>,
    _links: Vec<Link>,
    connections: Table<u64, Wire<ConnectionRecord>>,
    levels: Table<u64, Wire<LevelRecord>>,
    ports: Table<u16, u8>,
    lost: Array<MapData, Wire<LostEvents>>,
    events: Option<Events>,
}

/// A program's attachment, kept for its drop.
#[expect(dead_code, reason = "held, not read: dropping it detaches the program")]
pub(super) enum Link {
    Pinned(PinnedLink),
    Loose(FdLink),
}

/// A connection of the agent's own, to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The socket's cookie.
    pub cookie: u64,
    /// Our end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// `IPPROTO_TCP` or `IPPROTO_SCTP`.
    pub protocol: u16,
    /// Where the pressure levels lie (rule 3); `None`: none.
    pub pressure: Option<Pressure>,
}

impl Registration {
    /// Of a connected socket.
    ///
    /// # Errors
    /// Those of getsockname(2), getpeername(2), getsockopt(2); `Unsupported` for a socket without IP addresses.
    pub fn of(socket: BorrowedFd<'_>, pressure: Option<Pressure>) -> io::Result<Self> {
        let cookie = socket_cookie(socket)?;
        let socket = SockRef::from(&socket);
        let ip = |address: socket2::SockAddr| address.as_socket().ok_or(io::ErrorKind::Unsupported);
        let protocol = socket.protocol()?.map_or(libc::IPPROTO_TCP, i32::from);
        Ok(Self {
            cookie,
            local: ip(socket.local_addr()?)?,
            remote: ip(socket.peer_addr()?)?,
            protocol: u16::try_from(protocol).map_err(io::Error::other)?,
            pressure,
        })
    }

    fn record(&self) -> ConnectionRecord {
        let address = |end: SocketAddr| match end {
            SocketAddr::V4(end) => end.ip().to_ipv6_mapped().octets(),
            SocketAddr::V6(end) => end.ip().octets(),
        };
        ConnectionRecord {
            local_address: address(self.local),
            remote_address: address(self.remote),
            local_port: self.local.port(),
            remote_port: self.remote.port(),
            family: if self.local.is_ipv4() { FAMILY_IPV4 } else { FAMILY_IPV6 },
            protocol: self.protocol,
            state: state::ESTABLISHED,
            thresholds: thresholds(self.pressure),
            ..ConnectionRecord::default()
        }
    }
}

impl Assist {
    /// Loads what this kernel offers, with every option but the mode at its default. The report says what that is.
    ///
    /// # Errors
    /// [`Error::Required`] with [`Mode::Required`]; otherwise what is missing stands in the report.
    pub fn load(mode: Mode) -> Result<(Option<Self>, Report), Error> {
        Self::load_with(&Options::new(mode))
    }

    /// As [`Assist::load`], with these options.
    ///
    /// # Errors
    /// As [`Assist::load`].
    pub fn load_with(options: &Options) -> Result<(Option<Self>, Report), Error> {
        load::load(options)
    }

    pub(super) fn assemble(mut ebpf: Ebpf, pins: Option<Pins>, links: Vec<Link>) -> Result<Self, Error> {
        let ring = RingBuf::try_from(take(&mut ebpf, "events")?).map_err(failed("events", "open"))?;
        Ok(Self {
            connections: table(&mut ebpf, "connections")?,
            levels: table(&mut ebpf, "levels")?,
            ports: table(&mut ebpf, "ports")?,
            lost: Array::try_from(take(&mut ebpf, "lost")?).map_err(failed("lost", "open"))?,
            events: Some(Events::new(ring, &mut ebpf)),
            _pins: pins,
            _links: links,
        })
    }

    /// Has a connection of ours measured from now on, counters at zero.
    ///
    /// # Errors
    /// [`Error::Map`]: the map is full ([`Options::max_connections`]).
    pub fn register(&self, registration: &Registration) -> Result<(), Error> {
        lock(&self.connections)
            .insert(registration.cookie, Wire(registration.record()), 0)
            .map_err(failed("connections", "insert"))
    }

    /// Gives a registered connection other thresholds and keeps its counters, but for what is counted at this very moment.
    /// One that is not there is no error.
    ///
    /// # Errors
    /// [`Error::Map`].
    pub fn set_pressure(&self, cookie: u64, pressure: Option<Pressure>) -> Result<(), Error> {
        let mut connections = lock(&self.connections);
        let found = optional(connections.get(&cookie, 0)).map_err(failed("connections", "look-up"))?;
        let Some(Wire(record)) = found else { return Ok(()) };
        let record = ConnectionRecord { thresholds: thresholds(pressure), ..record };
        connections.insert(cookie, Wire(record), 0).map_err(failed("connections", "insert"))
    }

    /// Forgets a connection and its levels. One that is not there is no error.
    ///
    /// # Errors
    /// [`Error::Map`].
    pub fn unregister(&self, cookie: u64) -> Result<(), Error> {
        removed(lock(&self.connections).remove(&cookie)).map_err(failed("connections", "remove"))?;
        removed(lock(&self.levels).remove(&cookie)).map_err(failed("levels", "remove"))
    }

    /// What the programs know of a connection; `None`: nothing.
    ///
    /// # Errors
    /// [`Error::Map`].
    pub fn record(&self, cookie: u64) -> Result<Option<ConnectionRecord>, Error> {
        let found = optional(lock(&self.connections).get(&cookie, 0)).map_err(failed("connections", "look-up"))?;
        Ok(found.map(|Wire(record)| record))
    }

    /// Every connection the programs know of, with its cookie, in no order.
    ///
    /// # Errors
    /// [`Error::Map`].
    pub fn records(&self) -> Result<Vec<(u64, ConnectionRecord)>, Error> {
        let connections = lock(&self.connections);
        let each = connections.iter().map(|entry| entry.map(|(cookie, Wire(record))| (cookie, record)));
        each.collect::<Result<_, _>>().map_err(failed("connections", "walk"))
    }

    /// Publishes a connection's levels in the map `levels`.
    ///
    /// # Errors
    /// [`Error::Map`]: the map is full.
    pub fn publish_level(&self, cookie: u64, levels: Levels) -> Result<(), Error> {
        let record = LevelRecord {
            cpl: levels.cpl().number(),
            status: levels.status.number(),
            remote_busy: levels.remote_busy.number(),
            transport: levels.transport.number(),
            throttle: levels.throttle.number(),
        };
        lock(&self.levels).insert(cookie, Wire(record), 0).map_err(failed("levels", "insert"))
    }

    /// Has every connection with that port at either end measured, from its establishment on, whoever's it is.
    ///
    /// # Errors
    /// [`Error::Map`]: more than 64 ports.
    pub fn watch_port(&self, port: u16) -> Result<(), Error> {
        lock(&self.ports).insert(port, 1, 0).map_err(failed("ports", "insert"))
    }

    /// Events that found the ring full, by program. Records and counters are right all the same: read them again.
    ///
    /// # Errors
    /// [`Error::Map`].
    pub fn lost(&self) -> Result<LostEvents, Error> {
        let Wire(lost) = self.lost.get(&0, 0).map_err(failed("lost", "look-up"))?;
        Ok(lost)
    }

    /// The next event. Cancel safe. Must be called in a tokio runtime with I/O.
    ///
    /// # Errors
    /// [`Error::Events`]; [`Error::EventsTaken`] after [`Assist::take_events`].
    pub async fn next_event(&mut self) -> Result<Event, Error> {
        self.events.as_mut().ok_or(Error::EventsTaken)?.next().await
    }

    /// Moves the stream of events out; `None` the second time.
    pub fn take_events(&mut self) -> Option<Events> {
        self.events.take()
    }
}

fn thresholds(pressure: Option<Pressure>) -> Thresholds {
    pressure.map_or(Thresholds::OFF, |Pressure { onset, abatement }| Thresholds { onset, abatement })
}

fn take(ebpf: &mut Ebpf, name: &'static str) -> Result<Map, Error> {
    ebpf.take_map(name).ok_or(MapError::InvalidName { name: name.to_owned() }).map_err(failed(name, "open"))
}

fn table<K: aya::Pod, V: aya::Pod>(ebpf: &mut Ebpf, name: &'static str) -> Result<Table<K, V>, Error> {
    HashMap::try_from(take(ebpf, name)?).map(Mutex::new).map_err(failed(name, "open"))
}

/// A map is no less usable because another thread panicked while it held it.
fn lock<K, V>(table: &Table<K, V>) -> MutexGuard<'_, HashMap<MapData, K, V>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removing what is not there is no error.
fn removed(outcome: Result<(), MapError>) -> Result<(), MapError> {
    match outcome {
        Err(MapError::SyscallError(error)) if error.io_error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        outcome => outcome,
    }
}
