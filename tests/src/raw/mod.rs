//! A scripted peer on blocking sockets: says exactly what a test tells it to, right or wrong.

mod client;
mod server;

pub use client::{Client, Tally};
pub use server::{Conduct, Server};

use crate::NetNs;
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use governor_core::diameter::codes::{application, avp, command};
use governor_core::diameter::{Builder, Header, Message, frame};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Application of the tests' requests (3GPP S6a), the same as the other peers'.
pub const APPLICATION: u32 = 16_777_251;
/// Command of the tests' requests.
pub const COMMAND: u32 = 316;
/// Longest message these peers take.
const MAX: u32 = 1 << 20;
/// How long a step of a script may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// AVP Class, which carries the payload.
const CLASS: u32 = 25;

/// One connection.
#[derive(Debug)]
pub struct Peer {
    stream: TcpStream,
    buffer: Vec<u8>,
    identity: String,
    next: u32,
}

/// What [`Peer::receive`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A message.
    Message(Bytes),
    /// The other side has closed or reset the connection.
    Closed,
    /// Nothing, in the time given.
    Nothing,
}

impl Peer {
    /// Connects, and says nothing yet.
    pub fn connect(ns: &NetNs, address: &str, identity: &str) -> Result<Self> {
        let address: SocketAddr = address.parse()?;
        let stream = ns.enter(|| {
            TcpStream::connect_timeout(&address, PATIENCE).with_context(|| format!("cannot connect to {address}"))
        })?;
        Self::new(stream, identity)
    }

    /// Takes one connection, and says nothing yet.
    pub fn accept(listener: &TcpListener, identity: &str) -> Result<Self> {
        Self::new(listener.accept()?.0, identity)
    }

    fn new(stream: TcpStream, identity: &str) -> Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new(), identity: identity.to_owned(), next: 1 })
    }

    /// Connects and opens: CER out, CEA 2001 in.
    pub fn open(ns: &NetNs, address: &str, identity: &str) -> Result<Self> {
        let mut peer = Self::connect(ns, address, identity)?;
        let cer = peer.cer();
        peer.send(&cer)?;
        let answer = peer.message()?;
        let cea = Message::new(&answer).context("an answer shorter than a header")?;
        let code = cea.find(avp::RESULT_CODE).and_then(|a| a.u32());
        ensure!(cea.header.command == command::CAPABILITIES_EXCHANGE && code == Some(2001), "CEA: {code:?}");
        Ok(peer)
    }

    /// Opens an accepted connection: CER in, CEA 2001 out.
    pub fn answer_cer(&mut self) -> Result<()> {
        let request = self.message()?;
        let cer = Message::new(&request).context("a request shorter than a header")?;
        ensure!(cer.header.command == command::CAPABILITIES_EXCHANGE, "expected a CER, got {}", cer.header.command);
        let cea = self.capabilities(Builder::answer(&cer.header).u32(avp::RESULT_CODE, 2001));
        self.send(&cea)
    }

    /// A right CER of this peer.
    pub fn cer(&mut self) -> Bytes {
        let id = self.id();
        self.capabilities(Builder::request(command::CAPABILITIES_EXCHANGE, application::BASE, 0, id, id))
    }

    fn capabilities(&self, start: Builder) -> Bytes {
        let ip = self.stream.local_addr().map_or(IpAddr::from([127, 0, 0, 1]), |a| a.ip());
        let address: Vec<u8> = match ip {
            IpAddr::V4(ip) => [&[0, 1][..], &ip.octets()].concat(),
            IpAddr::V6(ip) => [&[0, 2][..], &ip.octets()].concat(),
        };
        self.origin(start)
            .bytes(avp::HOST_IP_ADDRESS, &address)
            .u32(avp::VENDOR_ID, 0)
            .avp(avp::PRODUCT_NAME, None, 0, b"script")
            .u32(avp::AUTH_APPLICATION_ID, APPLICATION)
            .finish()
    }

    fn origin(&self, start: Builder) -> Builder {
        start
            .bytes(avp::ORIGIN_HOST, self.identity.as_bytes())
            .bytes(avp::ORIGIN_REALM, realm_of(&self.identity).as_bytes())
    }

    /// A request of the tests' application.
    pub fn request(&mut self, realm: &str, payload: usize) -> Bytes {
        let id = self.id();
        self.request_with(id, realm, payload)
    }

    /// The same with a hop-by-hop and end-to-end id of the caller's.
    pub fn request_with(&self, id: u32, realm: &str, payload: usize) -> Bytes {
        let session = format!("{};{id}", self.identity);
        let start = Builder::request(COMMAND, APPLICATION, 0x40, id, id).bytes(avp::SESSION_ID, session.as_bytes());
        let built = self.origin(start).bytes(avp::DESTINATION_REALM, realm.as_bytes());
        if payload == 0 { built.finish() } else { built.bytes(CLASS, &vec![b'p'; payload]).finish() }
    }

    /// An answer to `request`, from this peer unless `origin` says otherwise.
    pub fn answer(&self, request: &Message<'_>, result_code: u32, origin: Option<&str>) -> Bytes {
        let host = origin.unwrap_or(&self.identity);
        let mut b = Builder::answer(&request.header);
        if (3000..4000).contains(&result_code) {
            b = b.error();
        }
        b.session_of(request)
            .u32(avp::RESULT_CODE, result_code)
            .bytes(avp::ORIGIN_HOST, host.as_bytes())
            .bytes(avp::ORIGIN_REALM, realm_of(host).as_bytes())
            .proxy_info_of(request)
            .finish()
    }

    /// A fresh identifier.
    pub fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Sends bytes, whatever they are.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("the connection takes no more")
    }

    /// The next message, or what came in its place within `limit`. Watchdogs are answered on the way.
    pub fn receive(&mut self, limit: Duration) -> Result<Received> {
        let end = Instant::now() + limit;
        loop {
            match self.receive_any(end)? {
                Received::Message(bytes) => {
                    let message = Message::new(&bytes).context("a message shorter than a header")?;
                    if message.header.command != command::DEVICE_WATCHDOG || !message.header.flags.is_request() {
                        return Ok(Received::Message(bytes));
                    }
                    let dwa = self.answer(&message, 2001, None);
                    self.send(&dwa)?;
                }
                other => return Ok(other),
            }
        }
    }

    /// The next message, watchdogs too; what is in hand already costs no system call.
    pub fn receive_any(&mut self, end: Instant) -> Result<Received> {
        loop {
            if let Some(length) = frame(&self.buffer, MAX)? {
                let rest = self.buffer.split_off(length);
                let whole = std::mem::replace(&mut self.buffer, rest);
                return Ok(Received::Message(whole.into()));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Received::Nothing);
            }
            self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            let mut chunk = [0; 16384];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(Received::Closed),
                Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(Received::Nothing);
                }
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return Ok(Received::Closed);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Is a whole message in hand?
    fn has_message(&self) -> bool {
        matches!(frame(&self.buffer, MAX), Ok(Some(_)))
    }

    /// The next message, which has to come.
    pub fn message(&mut self) -> Result<Bytes> {
        match self.receive(PATIENCE)? {
            Received::Message(bytes) => Ok(bytes),
            other => bail!("expected a message, got {other:?}"),
        }
    }

    /// The next message's header and Result-Code, which has to come.
    pub fn result(&mut self) -> Result<(Header, Option<u32>)> {
        let bytes = self.message()?;
        let message = Message::new(&bytes).context("a message shorter than a header")?;
        Ok((message.header, message.find(avp::RESULT_CODE).and_then(|a| a.u32())))
    }

    /// Waits until the other side has closed; messages before that are passed over.
    pub fn closed(&mut self, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        loop {
            match self.receive_any(end)? {
                Received::Closed => return Ok(()),
                Received::Nothing => bail!("still open after {limit:?}"),
                Received::Message(_) => {}
            }
        }
    }

    /// Sends a request of its own and expects that answer to it: is this connection alive and well?
    pub fn exchange(&mut self, realm: &str) -> Result<u32> {
        let request = self.request(realm, 0);
        self.send(&request)?;
        let (header, code) = self.result()?;
        let sent = Header::parse(&request).context("a request shorter than a header")?;
        ensure!(header.hop_by_hop == sent.hop_by_hop, "an answer to something else");
        code.context("an answer without Result-Code")
    }

    /// Says good-bye: DPR (REBOOTING) out, DPA in.
    pub fn disconnect(&mut self) -> Result<()> {
        let id = self.id();
        let dpr = self
            .origin(Builder::request(command::DISCONNECT_PEER, application::BASE, 0, id, id))
            .u32(avp::DISCONNECT_CAUSE, 0)
            .finish();
        self.send(&dpr)?;
        let (header, code) = self.result()?;
        ensure!(header.command == command::DISCONNECT_PEER && code == Some(2001), "DPA: {code:?}");
        Ok(())
    }

    /// The socket.
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

/// What follows the first dot.
pub fn realm_of(identity: &str) -> &str {
    identity.split_once('.').map_or(identity, |(_, realm)| realm)
}
