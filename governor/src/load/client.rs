//! The asking end: connects, starts its threads, and reports.

use super::report::Tally;
use super::sender::{Link, Sender};
use super::stream::MAX_MESSAGE;
use super::{ClientReport, Identity, LoadError, Pace, PriorityMix};
use governor_core::diameter::codes::{avp, command};
use governor_core::diameter::{Header, Message, frame};
use governor_core::refusal::code;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a client does.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientOptions {
    /// Where it connects.
    pub connect: SocketAddr,
    /// Who it is. `{n}` in the host becomes the connection's number, from 1.
    pub identity: Identity,
    /// Destination-Realm of its requests.
    pub destination_realm: String,
    /// Destination-Host of its requests.
    pub destination_host: Option<String>,
    /// Application-Id of its requests.
    pub application: u32,
    /// Command code of its requests.
    pub command: u32,
    /// When the next request goes.
    pub pace: Pace,
    /// Connections, 1 or more.
    pub connections: usize,
    /// Threads, 1 or more; a connection stays on its thread.
    pub threads: usize,
    /// How long it sends; `None`: until `count`, or until told to stop.
    pub duration: Option<Duration>,
    /// How many requests it sends.
    pub count: Option<u64>,
    /// Bytes a request is padded to; `None`: as long as it comes.
    pub size: Option<usize>,
    /// Priorities of its requests.
    pub priorities: PriorityMix,
    /// How long it waits for an answer.
    pub timeout: Duration,
}

impl ClientOptions {
    /// One connection on one thread, S6a Update-Location requests (316) without a priority, a timeout of 5 s, no end.
    pub fn new(connect: SocketAddr, identity: Identity, destination_realm: &str, pace: Pace) -> Self {
        Self {
            connect,
            identity,
            destination_realm: destination_realm.to_owned(),
            destination_host: None,
            application: 16_777_251,
            command: 316,
            pace,
            connections: 1,
            threads: 1,
            duration: None,
            count: None,
            size: None,
            priorities: PriorityMix::default(),
            timeout: Duration::from_secs(5),
        }
    }

    fn check(&self) -> Result<(), LoadError> {
        let fault = match self.pace {
            Pace::Rate(rate) if !(rate > 0.0 && rate <= 1e8) => "the rate is not more than 0 and at most 100000000",
            Pace::Outstanding(n) if n < self.connections => "fewer outstanding requests than connections",
            _ if self.connections == 0 => "no connection",
            _ if self.threads == 0 => "no thread",
            _ if self.size.is_some_and(|size| size > MAX_MESSAGE as usize) => "a message larger than 131072 bytes",
            _ if self.command >= 1 << 24 => "a command code of more than 24 bits",
            _ => return Ok(()),
        };
        Err(LoadError::Option(fault.to_owned()))
    }
}

/// What client and threads share.
pub(super) struct Shared {
    pub(super) stop: AtomicBool,
    /// Requests/s of an open loop, as the bits of an `f64`.
    pub(super) rate: AtomicU64,
    /// One tally a thread, as it was a moment ago.
    pub(super) tallies: Mutex<Vec<Tally>>,
}

/// A running client.
pub struct Client {
    options: ClientOptions,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Client {
    /// Connects, exchanges capabilities on every connection, then starts sending.
    pub fn start(options: &ClientOptions) -> Result<Self, LoadError> {
        options.check()?;
        let run = u32::from_ne_bytes(std::process::id().to_ne_bytes()).rotate_left(16) ^ subsecond();
        let threads = options.threads.min(options.connections);
        let mut links: Vec<Vec<Link>> = (0..threads).map(|_| Vec::new()).collect();
        for number in 1..=options.connections {
            links[number % threads].push(connect(options, number)?);
        }
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            rate: AtomicU64::new(match options.pace {
                Pace::Rate(rate) => rate.to_bits(),
                Pace::Outstanding(_) => 0,
            }),
            tallies: Mutex::new(vec![Tally::new(options.priorities.classes.len()); threads]),
        });
        let start = Instant::now();
        let mut handles = Vec::new();
        for (thread, links) in links.into_iter().enumerate() {
            let sender = Sender::new(options, links, thread, threads, start, run, Arc::clone(&shared))
                .map_err(LoadError::io("set up the client's event loop"))?;
            let handle = std::thread::Builder::new()
                .name(format!("load-client-{thread}"))
                .spawn(move || sender.run())
                .map_err(LoadError::io("start the client's thread"))?;
            handles.push(handle);
        }
        Ok(Self { options: options.clone(), shared, threads: handles })
    }

    /// Sends no more; what is outstanding is waited for.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Changes the rate of an open loop, requests/s, from the next request on. A rate that is not more than 0, and any
    /// for a closed loop, changes nothing.
    pub fn change_rate(&self, rate: f64) {
        if rate > 0.0 && rate.is_finite() {
            self.shared.rate.store(rate.to_bits(), Ordering::Relaxed);
        }
    }

    /// Has it ended?
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// The counts of a moment ago.
    pub fn snapshot(&self) -> ClientReport {
        self.report(None)
    }

    /// Waits for the end: until everything was sent, and answered or timed out.
    pub fn join(mut self) -> ClientReport {
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so; its last counts will not add up.
            let _ = thread.join();
        }
        // Told to stop, fewer than `count` is what was asked for.
        let stopped = self.shared.stop.load(Ordering::Relaxed);
        self.report(self.options.count.filter(|_| !stopped && self.options.duration.is_none()))
    }

    fn report(&self, count: Option<u64>) -> ClientReport {
        let tallies = self.shared.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        ClientReport::new(tallies.iter(), &self.options.priorities.classes, count)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stop();
    }
}

fn connect(options: &ClientOptions, number: usize) -> Result<Link, LoadError> {
    let address = options.connect;
    let doing = || LoadError::io(format!("exchange capabilities with {address}"));
    let mut socket = TcpStream::connect_timeout(&address, options.timeout)
        .map_err(LoadError::io(format!("connect to {address}")))?;
    let mut identity = options.identity.clone();
    identity.host = identity.host.replace("{n}", &number.to_string());
    let local = socket.local_addr().map_err(doing())?.ip();
    socket.set_read_timeout(Some(options.timeout)).map_err(doing())?;
    socket.write_all(&identity.cer(local, 1)).map_err(doing())?;

    let bad = |why: String| LoadError::NotDiameter { address, why };
    let mut received = Vec::new();
    let length = loop {
        if let Some(length) = frame(&received, MAX_MESSAGE).map_err(|e| bad(e.to_string()))? {
            break length;
        }
        let mut part = [0; 4096];
        match socket.read(&mut part) {
            Ok(0) => return Err(bad("it closed the connection".into())),
            Ok(n) => received.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(doing()(e)),
        }
    };
    let answer = Message::new(&received[..length]).ok_or_else(|| bad("a message without a header".into()))?;
    let Header { command, flags, .. } = answer.header;
    if command != command::CAPABILITIES_EXCHANGE || flags.is_request() {
        return Err(bad(format!("command {command} instead of a capabilities answer")));
    }
    let result_code = answer.find(avp::RESULT_CODE).and_then(|a| a.u32());
    if result_code != Some(code::SUCCESS) {
        return Err(LoadError::Capabilities { address, result_code });
    }
    socket.set_nonblocking(true).map_err(doing())?;
    Ok(Link { socket, identity, received: received.split_off(length) })
}

fn subsecond() -> u32 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.subsec_nanos())
}
