//! One nonblocking TCP connection: big reads, framed messages, one write a batch.

use governor_core::diameter::{FrameError, frame};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::io::{self, Read, Write};
use thiserror::Error;

/// Longest message either end accepts, bytes.
pub(super) const MAX_MESSAGE: u32 = 128 * 1024;
/// One read's buffer, bytes: shared by all connections of a thread, so that thousands of them cost nothing.
pub(super) const SCRATCH: usize = 256 * 1024;

/// Why a connection ended, other than by agreement.
#[derive(Debug, Error)]
pub(super) enum Ended {
    #[error("closed by the peer")]
    Closed,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// A connection's socket with what waits on both sides of it.
pub(super) struct Stream {
    socket: TcpStream,
    /// The start of a message whose rest has not come.
    partial: Vec<u8>,
    /// Messages to write; those up to `written` are gone.
    pub(super) output: Vec<u8>,
    written: usize,
    /// An edge said that there may be more to read.
    pub(super) readable: bool,
    writable: bool,
}

impl Stream {
    pub(super) fn new(mut socket: TcpStream, registry: &Registry, token: Token) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        registry.register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self {
            socket,
            partial: Vec::new(),
            output: Vec::new(),
            written: 0,
            // What came before the registration gives no edge.
            readable: true,
            writable: true,
        })
    }

    /// Bytes read before the socket became ours.
    pub(super) fn preload(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
    }

    /// Takes an event's edges.
    pub(super) fn edges(&mut self, readable: bool, writable: bool) {
        self.readable |= readable;
        self.writable |= writable;
    }

    /// Bytes that wait for the socket.
    pub(super) fn backlog(&self) -> usize {
        self.output.len() - self.written
    }

    pub(super) fn local_ip(&self) -> io::Result<std::net::IpAddr> {
        Ok(self.socket.local_addr()?.ip())
    }

    /// Reads once, at most a scratch full, and hands over each whole message with the output to answer into.
    /// `readable` stays set while there may be more. An error ends the connection; messages before it were handed over.
    pub(super) fn read(
        &mut self,
        scratch: &mut [u8],
        mut message: impl FnMut(&[u8], &mut Vec<u8>),
    ) -> Result<(), Ended> {
        let kept = self.partial.len();
        scratch[..kept].copy_from_slice(&self.partial);
        let filled = match self.socket.read(&mut scratch[kept..]) {
            Ok(0) => return Err(Ended::Closed),
            Ok(n) => {
                // A read that did not fill its buffer has emptied a stream socket (epoll(7)): an end or an error gives a new edge.
                self.readable = kept + n == scratch.len();
                kept + n
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                kept
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        let mut rest = &scratch[..filled];
        while let Some(length) = frame(rest, MAX_MESSAGE)? {
            let (one, after) = rest.split_at(length);
            message(one, &mut self.output);
            rest = after;
        }
        self.partial.clear();
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// Writes what waits, as far as the socket takes it.
    pub(super) fn flush(&mut self) -> Result<(), Ended> {
        while self.writable && self.written < self.output.len() {
            match self.socket.write(&self.output[self.written..]) {
                Ok(0) => return Err(Ended::Closed),
                Ok(n) => self.written += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        } else if self.written > SCRATCH {
            self.output.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    /// Ends our side.
    pub(super) fn close(mut self, registry: &Registry) {
        // Best effort: the socket goes with this value in any case.
        let _ = registry.deregister(&mut self.socket);
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}
