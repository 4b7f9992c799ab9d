//! The server's thread: reads a batch, answers it in one write.

use super::base::Kind;
use super::behaviour::Judge;
use super::report::thread_cpu;
use super::server::{Shared, WAKER};
use super::stream::{Ended, SCRATCH, Stream};
use super::{Behaviour, Identity, ServerOptions, ServerReport};
use bytes::BytesMut;
use governor_core::diameter::avp::MANDATORY;
use governor_core::diameter::build::put_avp;
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Flags, Header, Message};
use governor_core::refusal::is_protocol_error;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait, so that the counts are published.
const TICK: Duration = Duration::from_millis(50);
/// How long a DPR is waited on.
const FAREWELL: Duration = Duration::from_millis(500);
const LISTENER: Token = Token(usize::MAX - 1);

struct Connection {
    stream: Stream,
    local: IpAddr,
    /// A DPR went either way.
    leaving: bool,
    held: Held,
}

/// Answers that wait for their delay, in the order they will go.
#[derive(Default)]
struct Held {
    bytes: VecDeque<u8>,
    /// When, nanoseconds, and how many bytes.
    due: VecDeque<(u64, usize)>,
}

pub(super) struct Responder {
    poll: Poll,
    listener: TcpListener,
    /// `None`: free.
    connections: Vec<Option<Connection>>,
    max_connections: usize,
    identity: Identity,
    desk: Desk,
    start: Instant,
    shared: Arc<Shared>,
    version: u32,
    /// Nanoseconds; reads again by itself.
    read_again: Option<u64>,
    published: u64,
}

/// What judges and answers requests.
struct Desk {
    behaviour: Behaviour,
    judge: Judge,
    /// Result-Code, Origin-Host and Origin-Realm, by Result-Code.
    tails: Vec<(u32, Vec<u8>)>,
    realm: String,
    host: String,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    answers: Vec<(u32, u64)>,
    silent: u64,
    dropped: u64,
    accepted: u64,
    lost: u64,
    malformed: u64,
}

impl Responder {
    pub(super) fn new(
        poll: Poll,
        mut listener: TcpListener,
        options: &ServerOptions,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            poll,
            listener,
            connections: Vec::new(),
            max_connections: options.max_connections.unwrap_or(usize::MAX),
            identity: options.identity.clone(),
            desk: Desk {
                behaviour: options.behaviour.clone(),
                judge: Judge::default(),
                tails: Vec::new(),
                realm: options.identity.realm.clone(),
                host: options.identity.host.clone(),
                counts: Counts::default(),
            },
            start: Instant::now(),
            shared,
            version: 0,
            read_again: None,
            published: 0,
        })
    }

    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; SCRATCH];
        let how = loop {
            let how = self.shared.stop.load(Ordering::Acquire);
            if how != Shared::RUN || self.turn(&mut events, &mut scratch).is_err() {
                break how;
            }
        };
        if how == Shared::PART {
            self.part(&mut events, &mut scratch);
        }
        for at in 0..self.connections.len() {
            self.end(at, None);
        }
        self.publish(u64::MAX);
    }

    /// One round of the event loop.
    fn turn(&mut self, events: &mut Events, scratch: &mut [u8]) -> io::Result<()> {
        self.wait(events)?;
        let now = self.now();
        self.change(now);
        if !self.desk.behaviour.stopped {
            self.receive(scratch, now);
        }
        self.release(now);
        self.flush();
        self.publish(now);
        Ok(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let more = |c: &Connection| c.stream.readable && !self.desk.behaviour.stopped;
        let mut wait = TICK;
        if self.connections.iter().flatten().any(more) {
            wait = Duration::ZERO;
        } else {
            let due = self.connections.iter().flatten().filter_map(|c| c.held.due.front()).map(|(due, _)| *due);
            if let Some(due) = due.chain(self.read_again).min() {
                wait = wait.min(Duration::from_nanos(due.saturating_sub(self.now())));
            }
        }
        match self.poll.poll(events, Some(wait)) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        let mut accept = false;
        for event in events.iter() {
            match event.token() {
                LISTENER => accept = true,
                WAKER => {}
                Token(at) => {
                    if let Some(Some(connection)) = self.connections.get_mut(at) {
                        connection.stream.edges(
                            event.is_readable() || event.is_read_closed() || event.is_error(),
                            event.is_writable() || event.is_write_closed(),
                        );
                    }
                }
            }
        }
        if accept {
            self.accept();
        }
        Ok(())
    }

    fn accept(&mut self) {
        loop {
            let (socket, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) => {
                    // A connection that was given up before it was accepted, or no descriptor left: the next edge tries again.
                    tracing::warn!("load server: accept: {e}");
                    return;
                }
            };
            if self.connections.iter().flatten().count() >= self.max_connections {
                tracing::warn!(%from, "load server: one connection too many, closed");
                continue;
            }
            let at = self.connections.iter().position(Option::is_none).unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            match Stream::new(socket, self.poll.registry(), Token(at)) {
                Ok(stream) => {
                    let local = stream.local_ip().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
                    let connection = Connection { stream, local, leaving: false, held: Held::default() };
                    self.connections[at] = Some(connection);
                    self.desk.counts.accepted += 1;
                }
                Err(e) => tracing::warn!(%from, "load server: {e}"),
            }
        }
    }

    /// Takes a change of behaviour, and reads again when it is time.
    fn change(&mut self, now: u64) {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            let behaviour = self.shared.behaviour.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.desk.behave(behaviour);
        }
        if self.read_again.is_some_and(|at| at <= now) {
            self.read_again = None;
            self.desk.behaviour.stopped = false;
        }
    }

    fn receive(&mut self, scratch: &mut [u8], now: u64) {
        for at in 0..self.connections.len() {
            let Some(connection) = self.connections[at].as_mut().filter(|c| c.stream.readable) else { continue };
            let Connection { stream, local, leaving, held } = connection;
            let (desk, identity) = (&mut self.desk, &self.identity);
            let result = stream.read(scratch, |message, out| {
                let Some(header) = Header::parse(message) else { return };
                match Kind::of(&header) {
                    Kind::Request => desk.serve(message, &header, out, held, now),
                    Kind::CapabilitiesRequest => out.extend_from_slice(&identity.cea(&header, *local)),
                    Kind::WatchdogRequest => out.extend_from_slice(&identity.dwa(&header)),
                    Kind::DisconnectRequest => {
                        *leaving = true;
                        out.extend_from_slice(&identity.dpa(&header));
                    }
                    Kind::DisconnectAnswer => *leaving = true,
                    Kind::Answer | Kind::BaseAnswer => {}
                }
            });
            if let Err(ended) = result {
                self.end(at, Some(&ended));
            }
        }
        let behaviour = &mut self.desk.behaviour;
        if behaviour.stop_after.is_some_and(|n| self.desk.judge.requests() >= n) {
            behaviour.stop_after = None;
            behaviour.stopped = true;
            let wait = behaviour.read_again_after.and_then(|d| u64::try_from(d.as_nanos()).ok());
            self.read_again = wait.map(|wait| now.saturating_add(wait));
        }
    }

    /// Puts answers whose delay is over into the output.
    fn release(&mut self, now: u64) {
        for Connection { stream, held, .. } in self.connections.iter_mut().flatten() {
            while let Some((_, length)) = held.due.front().copied().filter(|(due, _)| *due <= now) {
                held.due.pop_front();
                stream.output.extend(held.bytes.drain(..length));
            }
        }
    }

    fn flush(&mut self) {
        for at in 0..self.connections.len() {
            if let Some(connection) = &mut self.connections[at]
                && let Err(ended) = connection.stream.flush()
            {
                self.end(at, Some(&ended));
            }
        }
    }

    fn end(&mut self, at: usize, ended: Option<&Ended>) {
        let Some(connection) = self.connections[at].take() else { return };
        let counts = &mut self.desk.counts;
        counts.dropped += connection.held.due.len() as u64;
        counts.malformed += u64::from(matches!(ended, Some(Ended::Frame(_))));
        if let Some(ended) = ended.filter(|_| !connection.leaving) {
            counts.lost += 1;
            tracing::debug!(connection = at, "load server: connection ended: {ended}");
        }
        connection.stream.close(self.poll.registry());
    }

    /// Sends a DPR on every connection, and waits a while for the peers to close.
    fn part(&mut self, events: &mut Events, scratch: &mut [u8]) {
        self.desk.behaviour.stopped = false;
        for connection in self.connections.iter_mut().flatten() {
            connection.stream.output.extend_from_slice(&self.identity.dpr(u32::MAX));
        }
        self.flush();
        let until = Instant::now() + FAREWELL;
        while self.connections.iter().flatten().any(|c| !c.leaving) && Instant::now() < until {
            if self.turn(events, scratch).is_err() {
                break;
            }
        }
    }

    fn publish(&mut self, now: u64) {
        if u128::from(now.saturating_sub(self.published)) < TICK.as_nanos() {
            return;
        }
        self.published = now;
        let counts = &self.desk.counts;
        let by_result: BTreeMap<u32, u64> = counts.answers.iter().copied().collect();
        let requests = self.desk.judge.requests();
        let held = self.connections.iter().flatten().map(|c| c.held.due.len() as u64).sum();
        let answers: u64 = by_result.values().sum::<u64>() - held - counts.dropped;
        *self.shared.report.lock().unwrap_or_else(PoisonError::into_inner) = ServerReport {
            requests,
            answers,
            by_result,
            silent: counts.silent,
            dropped: counts.dropped,
            held,
            connections: counts.accepted,
            open: self.connections.iter().flatten().count() as u64,
            connections_lost: counts.lost,
            malformed: counts.malformed,
            reading: !self.desk.behaviour.stopped,
            cpu_us: if requests == 0 { 0.0 } else { thread_cpu().as_secs_f64() * 1e6 / requests as f64 },
        };
    }
}

impl Desk {
    fn behave(&mut self, behaviour: Behaviour) {
        // Answers that wait were built; those to come name the new host.
        self.tails.clear();
        self.behaviour = behaviour;
    }

    /// Answers a request into the output, or holds the answer for its delay.
    fn serve(&mut self, message: &[u8], header: &Header, out: &mut Vec<u8>, held: &mut Held, now: u64) {
        let Some(result) = self.judge.next(&self.behaviour, now, || drmp(message)) else {
            self.counts.silent += 1;
            return;
        };
        match self.counts.answers.iter_mut().find(|(code, _)| *code == result) {
            Some((_, count)) => *count += 1,
            None => self.counts.answers.push((result, 1)),
        }
        let at = out.len();
        self.answer(message, header, out, result);
        let delay = u64::try_from(self.behaviour.delay.as_nanos()).unwrap_or(u64::MAX);
        if delay > 0 || !held.due.is_empty() {
            // In order, also when the delay has become shorter.
            let due = now.saturating_add(delay).max(held.due.back().map_or(0, |(due, _)| *due));
            held.due.push_back((due, out.len() - at));
            held.bytes.extend(out.drain(at..));
        }
    }

    /// Header, Session-Id, Result-Code, Origin-Host, Origin-Realm, and every Proxy-Info (RFC 6733 section 6.2).
    fn answer(&mut self, message: &[u8], header: &Header, out: &mut Vec<u8>, result: u32) {
        let at = out.len();
        out.extend_from_slice(&message[..Header::LEN]);
        let error = if is_protocol_error(result) { Flags::ERROR } else { 0 };
        out[at + 4] = header.flags.0 & Flags::PROXIABLE | error;
        let avps = Message::new(message).map(|m| m.avps());
        let mut tail = Some(self.tail(result));
        let mut malformed = false;
        for avp in avps.into_iter().flatten() {
            let Ok(avp) = avp else {
                malformed = true;
                break;
            };
            // The Session-Id stands first where there is one.
            if tail.is_some() && avp.is(avp::SESSION_ID) {
                copy(out, avp.bytes);
            }
            if let Some(tail) = tail.take() {
                out.extend_from_slice(&self.tails[tail].1);
            }
            if avp.is(avp::PROXY_INFO) {
                copy(out, avp.bytes);
            }
        }
        if let Some(tail) = tail {
            out.extend_from_slice(&self.tails[tail].1);
        }
        self.counts.malformed += u64::from(malformed);
        let length = u32::try_from(out.len() - at).unwrap_or_default().to_be_bytes();
        out[at + 1..at + 4].copy_from_slice(&length[1..]);
    }

    /// Index of the tail for a Result-Code.
    fn tail(&mut self, result: u32) -> usize {
        if let Some(at) = self.tails.iter().position(|(code, _)| *code == result) {
            return at;
        }
        let mut tail = BytesMut::new();
        let host = self.behaviour.behind.as_deref().unwrap_or(&self.host);
        put_avp(&mut tail, avp::RESULT_CODE, None, MANDATORY, &result.to_be_bytes());
        put_avp(&mut tail, avp::ORIGIN_HOST, None, MANDATORY, host.as_bytes());
        put_avp(&mut tail, avp::ORIGIN_REALM, None, MANDATORY, self.realm.as_bytes());
        self.tails.push((result, tail.to_vec()));
        self.tails.len() - 1
    }
}

/// The request's DRMP value (RFC 7944).
fn drmp(message: &[u8]) -> Option<u8> {
    u8::try_from(Message::new(message)?.find(avp::DRMP)?.u32()?).ok()
}

/// Appends an AVP, zero-padded.
fn copy(out: &mut Vec<u8>, avp: &[u8]) {
    out.extend_from_slice(avp);
    out.resize(out.len().next_multiple_of(4), 0);
}
