//! One client thread: its connections, its share of the schedule, its event loop.

use super::base::Kind;
use super::client::Shared;
use super::outstanding::{Outstanding, Sent};
use super::report::{Tally, thread_cpu};
use super::schedule::Schedule;
use super::stream::{Ended, SCRATCH, Stream};
use super::template::Template;
use super::timer::Timer;
use super::{ClientOptions, Identity, Pace};
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Header, Message};
use mio::{Events, Poll, Token};
use std::io;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait, so that a stop is seen and the counts are published.
const TICK: Duration = Duration::from_millis(50);
/// An open-loop schedule wakes the thread no more often than this: each wake costs three system calls.
const QUANTUM: u64 = 50_000;
/// How long a DPR is waited on.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes waiting on one connection from which an open-loop schedule holds further requests back; they stay due.
const BACKLOG: usize = 4 << 20;
const TIMER: Token = Token(usize::MAX);

/// A connection that has exchanged capabilities.
pub(super) struct Link {
    pub(super) socket: TcpStream,
    pub(super) identity: Identity,
    /// What came behind the CEA.
    pub(super) received: Vec<u8>,
}

struct Connection {
    stream: Stream,
    identity: Identity,
    template: Template,
    outstanding: Outstanding,
    /// Closed loop: how many requests may be outstanding.
    window: usize,
    /// The peer sent a DPR: nothing is sent any more, its answers are awaited until it closes.
    leaving: bool,
    /// Our DPR was answered.
    parted: bool,
}

pub(super) struct Sender {
    poll: Poll,
    timer: Timer,
    /// `None`: ended.
    connections: Vec<Option<Connection>>,
    schedule: Option<Schedule>,
    /// Where the open-loop schedule's turn is.
    turn: usize,
    /// Requests this thread still has to send.
    remaining: u64,
    traffic: Traffic,
    start: Instant,
    duration: Option<Duration>,
    timeout: Duration,
    thread: usize,
    shared: Arc<Shared>,
    published: u64,
}

/// What a connection needs of the thread to send and to count.
struct Traffic {
    tally: Tally,
    turns: Vec<u8>,
    run: u32,
    serial: u32,
    /// Between the serials of one thread: the threads share one row of numbers.
    step: u32,
}

impl Sender {
    pub(super) fn new(
        options: &ClientOptions,
        links: Vec<Link>,
        thread: usize,
        threads: usize,
        start: Instant,
        run: u32,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let mut connections = Vec::with_capacity(links.len());
        for (at, link) in links.into_iter().enumerate() {
            let mut stream = Stream::new(mio::net::TcpStream::from_std(link.socket), poll.registry(), Token(at))?;
            stream.preload(&link.received);
            let window = match options.pace {
                // The first connections of all threads take what an even share leaves over.
                Pace::Outstanding(n) => {
                    n / options.connections + usize::from(at * threads + thread < n % options.connections)
                }
                Pace::Rate(_) => 0,
            };
            connections.push(Some(Connection {
                stream,
                template: Template::new(options, &link.identity.host),
                identity: link.identity,
                outstanding: Outstanding::with_capacity(window.max(1024)),
                window: window.min(Outstanding::MAX),
                leaving: false,
                parted: false,
            }));
        }
        let share = |count: u64| {
            let (thread, threads) = (thread as u64, threads as u64);
            count / threads + u64::from(thread < count % threads)
        };
        let (step, serial) = (u32::try_from(threads).unwrap_or(1), u32::try_from(thread).unwrap_or(0));
        Ok(Self {
            poll,
            timer,
            connections,
            schedule: match options.pace {
                Pace::Rate(rate) => Some(Schedule::new(rate, thread, threads)),
                Pace::Outstanding(_) => None,
            },
            turn: 0,
            remaining: options.count.map_or(u64::MAX, share),
            traffic: Traffic {
                tally: Tally::new(options.priorities.classes.len()),
                turns: options.priorities.turns.clone(),
                run,
                serial,
                step,
            },
            start,
            duration: options.duration,
            timeout: options.timeout,
            thread,
            shared,
            published: 0,
        })
    }

    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; SCRATCH];
        loop {
            let now = self.now();
            self.expire(now);
            let sending = self.sending(now);
            if sending {
                self.send(now);
            }
            self.flush();
            self.publish(now);
            if self.open() == 0 || !sending && self.outstanding() == 0 {
                break;
            }
            if self.wait(&mut events, sending).is_err() {
                break;
            }
            self.receive(&mut scratch);
        }
        self.part(&mut events, &mut scratch);
        self.publish(u64::MAX);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Is there more to send? An open loop owes every request that was due before the duration's end, however late it
    /// is, unless the connections have taken nothing for a timeout after that.
    fn sending(&self, now: u64) -> bool {
        let next = self.schedule.as_ref().map_or(now, Schedule::due);
        let before = |at: u64, end: Duration| u128::from(at) < end.as_nanos();
        self.remaining > 0
            && self.duration.is_none_or(|d| before(next, d) && before(now, d.saturating_add(self.timeout)))
            && self.connections.iter().flatten().any(|c| !c.leaving)
            && !self.shared.stop.load(Ordering::Relaxed)
    }

    fn open(&self) -> usize {
        self.connections.iter().flatten().count()
    }

    fn outstanding(&self) -> usize {
        self.connections.iter().flatten().map(|c| c.outstanding.len()).sum()
    }

    fn expire(&mut self, now: u64) {
        for connection in self.connections.iter_mut().flatten() {
            while connection.outstanding.expire(now, self.timeout).is_some() {
                self.traffic.tally.timed_out += 1;
            }
        }
    }

    fn send(&mut self, now: u64) {
        if self.schedule.is_some() {
            self.send_due(now);
        } else {
            for connection in self.connections.iter_mut().flatten() {
                while self.remaining > 0
                    && !connection.leaving
                    && connection.outstanding.len() < connection.window
                    && self.traffic.send(connection, now, now)
                {
                    self.remaining -= 1;
                }
            }
        }
    }

    /// Open loop: everything due goes, connections taking turns. With no connection able to take it, it stays due.
    fn send_due(&mut self, now: u64) {
        let Some(schedule) = &mut self.schedule else { return };
        schedule.change(f64::from_bits(self.shared.rate.load(Ordering::Relaxed)));
        let end = self.duration.and_then(|d| u64::try_from(d.as_nanos()).ok()).unwrap_or(u64::MAX);
        'due: while self.remaining > 0 && schedule.due() <= now && schedule.due() < end {
            for _ in 0..self.connections.len() {
                self.turn = (self.turn + 1) % self.connections.len();
                if let Some(Some(connection)) = self.connections.get_mut(self.turn)
                    && !connection.leaving
                    && connection.stream.backlog() < BACKLOG
                    && self.traffic.send(connection, schedule.due(), now)
                {
                    schedule.advance();
                    self.remaining -= 1;
                    continue 'due;
                }
            }
            break;
        }
    }

    fn flush(&mut self) {
        for at in 0..self.connections.len() {
            if let Some(connection) = &mut self.connections[at]
                && let Err(ended) = connection.stream.flush()
            {
                self.lose(at, &ended);
            }
        }
    }

    fn wait(&mut self, events: &mut Events, sending: bool) -> io::Result<()> {
        let more_to_read = self.connections.iter().flatten().any(|c| c.stream.readable);
        let mut wait = if more_to_read { Duration::ZERO } else { TICK };
        if let Some(schedule) = self.schedule.as_ref().filter(|_| sending && !more_to_read) {
            let now = self.now();
            let next = schedule.due().saturating_sub(now).max(QUANTUM);
            if u128::from(next) < TICK.as_nanos() {
                self.timer.set(Duration::from_nanos(next))?;
            }
        }
        if let Some(oldest) = self.connections.iter().flatten().filter_map(|c| c.outstanding.oldest_sent()).min() {
            let left = Duration::from_nanos(oldest)
                .saturating_add(self.timeout)
                .saturating_sub(Duration::from_nanos(self.now()));
            wait = wait.min(left);
        }
        match self.poll.poll(events, Some(wait)) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        for event in events.iter() {
            if let Some(Some(connection)) = self.connections.get_mut(event.token().0) {
                connection.stream.edges(
                    event.is_readable() || event.is_read_closed() || event.is_error(),
                    event.is_writable() || event.is_write_closed(),
                );
            }
        }
        Ok(())
    }

    fn receive(&mut self, scratch: &mut [u8]) {
        let now = self.now();
        for at in 0..self.connections.len() {
            let Some(connection) = self.connections[at].as_mut().filter(|c| c.stream.readable) else { continue };
            let Connection { stream, identity, outstanding, leaving, parted, .. } = connection;
            let traffic = &mut self.traffic;
            let result = stream.read(scratch, |message, out| {
                traffic.receive(message, out, identity, outstanding, leaving, parted, now);
            });
            if let Err(ended) = result {
                self.lose(at, &ended);
            }
        }
    }

    /// Ends a connection; what was outstanding on it is lost.
    fn lose(&mut self, at: usize, ended: &Ended) {
        let Some(mut connection) = self.connections[at].take() else { return };
        let mut lost = 0;
        while connection.outstanding.expire(u64::MAX, Duration::ZERO).is_some() {
            lost += 1;
        }
        self.traffic.tally.lost += lost;
        if lost > 0 || !(connection.leaving || connection.parted) {
            self.traffic.tally.connections_lost += 1;
            tracing::warn!(connection = at, lost, "load client: connection ended: {ended}");
        }
        connection.stream.close(self.poll.registry());
    }

    /// Sends a DPR on every connection left, and waits a while for the answers.
    fn part(&mut self, events: &mut Events, scratch: &mut [u8]) {
        for connection in self.connections.iter_mut().flatten() {
            connection.stream.output.extend_from_slice(&connection.identity.dpr(u32::MAX));
        }
        let until = Instant::now() + FAREWELL;
        // A peer may close instead of answering: from here on that is no loss.
        for connection in self.connections.iter_mut().flatten() {
            connection.leaving = true;
        }
        loop {
            self.flush();
            let waiting = self.connections.iter().flatten().any(|c| !c.parted);
            if !waiting || Instant::now() >= until || self.wait(events, false).is_err() {
                break;
            }
            self.receive(scratch);
        }
        for connection in self.connections.iter_mut().filter_map(Option::take) {
            connection.stream.close(self.poll.registry());
        }
    }

    fn publish(&mut self, now: u64) {
        if u128::from(now.saturating_sub(self.published)) < TICK.as_nanos() {
            return;
        }
        self.published = now;
        self.traffic.tally.pending = self.outstanding() as u64;
        self.traffic.tally.cpu = thread_cpu();
        let mut tallies = self.shared.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies[self.thread].clone_from(&self.traffic.tally);
    }
}

impl Traffic {
    /// Puts a request into the connection's output; `false` if it can have no more outstanding.
    fn send(&mut self, connection: &mut Connection, intended: u64, now: u64) -> bool {
        let class = self.turns[self.serial as usize % self.turns.len()];
        let Some(hop_by_hop) = connection.outstanding.insert(Sent { intended, at: now, class }) else {
            return false;
        };
        connection.template.append(&mut connection.stream.output, class, hop_by_hop, self.run, self.serial);
        self.serial = self.serial.wrapping_add(self.step);
        self.tally.by_class[class as usize].sent += 1;
        true
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a connection but its stream, which is being read")]
    fn receive(
        &mut self,
        message: &[u8],
        out: &mut Vec<u8>,
        identity: &Identity,
        outstanding: &mut Outstanding,
        leaving: &mut bool,
        parted: &mut bool,
        now: u64,
    ) {
        let Some(header) = Header::parse(message) else { return };
        match Kind::of(&header) {
            Kind::Answer => {
                let Some(sent) = outstanding.remove(header.hop_by_hop) else {
                    self.tally.unexpected_answers += 1;
                    return;
                };
                let (result, origin) = verdict(message);
                self.tally.answered(sent.class, result, origin, now.saturating_sub(sent.intended), now);
            }
            Kind::WatchdogRequest => out.extend_from_slice(&identity.dwa(&header)),
            Kind::DisconnectRequest => {
                *leaving = true;
                out.extend_from_slice(&identity.dpa(&header));
            }
            Kind::DisconnectAnswer => *parted = true,
            Kind::BaseAnswer => {}
            Kind::Request | Kind::CapabilitiesRequest => {
                self.tally.unexpected_requests += 1;
                if let Some(request) = Message::new(message) {
                    out.extend_from_slice(&identity.unsupported(&request));
                }
            }
        }
    }
}

/// Result-Code and Origin-Host of an answer, walking no further than both.
fn verdict(message: &[u8]) -> (Option<u32>, &[u8]) {
    let (mut result, mut origin) = (None, None);
    let avps = Message::new(message).map(|m| m.avps());
    for avp in avps.into_iter().flatten().map_while(Result::ok) {
        if avp.is(avp::RESULT_CODE) {
            result = result.or_else(|| avp.u32());
        } else if avp.is(avp::ORIGIN_HOST) {
            origin = origin.or(Some(avp.data));
        }
        if result.is_some() && origin.is_some() {
            break;
        }
    }
    (result, origin.unwrap_or_default())
}
