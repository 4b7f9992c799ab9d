//! What the tests of the kernel programs share: a loaded kernel half with pins of its own, and a connection to press on.
//!
//! Tests need root and an object made by `cargo xtask build`. One that misses something fails and says so.

use anyhow::{Context, Result, bail};
use governor::kernel::{Assist, ConnectionRecord, Event, EventKind, Mode, Options, Registration, Report};
use governor_core::settings::Pressure;
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The pins of tests lie beside each other, so that test programs can run at once.
pub fn pin_root(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(format!("/sys/fs/bpf/governor-test-{}-{n}-{name}", std::process::id()))
}

/// Options with pins of the test's own.
pub fn options(mode: Mode, name: &str) -> Options {
    Options { pin_root: pin_root(name), ..Options::new(mode) }
}

/// Loads with these options, or says why not.
pub fn load_with(options: &Options) -> Result<(Assist, Report)> {
    let (assist, report) = Assist::load_with(options)?;
    let assist = assist.with_context(|| format!("this test needs the kernel programs:\n{report}"))?;
    Ok((assist, report))
}

/// Loads with pins of the test's own.
pub fn load(name: &str) -> Result<(Assist, Report)> {
    load_with(&options(Mode::Auto, name))
}

/// Is a program attached that sees the outcome of sends?
pub fn measures_sends(report: &Report) -> bool {
    report.attached("sock_send_length") || (report.attached("inet_sendmsg") && report.attached("inet6_sendmsg"))
}

/// A TCP connection over loopback: a nonblocking writer of ours, and a reader that reads when told to.
#[derive(Debug)]
pub struct Pipe {
    /// Our end.
    pub writer: TcpStream,
    /// The other end, nonblocking.
    pub reader: TcpStream,
    /// Of our end.
    pub registration: Registration,
}

impl Pipe {
    /// Connects over `address` (`127.0.0.1:0`, `[::1]:0`), with a small send buffer: pressure comes quickly.
    pub fn new(address: &str, pressure: Option<Pressure>) -> Result<Self> {
        let listener = TcpListener::bind(address)?;
        SockRef::from(&listener).set_recv_buffer_size(32 * 1024)?;
        let writer = TcpStream::connect(listener.local_addr()?)?;
        let (reader, _) = listener.accept()?;
        SockRef::from(&writer).set_send_buffer_size(256 * 1024)?;
        writer.set_nonblocking(true)?;
        reader.set_nonblocking(true)?;
        let registration = Registration::of(writer.as_fd(), pressure)?;
        Ok(Self { writer, reader, registration })
    }

    /// The cookie of our end.
    pub fn cookie(&self) -> u64 {
        self.registration.cookie
    }

    /// Writes until the socket refuses. Returns (writes that took bytes, bytes taken).
    pub fn fill(&mut self) -> Result<(u64, u64)> {
        let (mut sends, mut bytes) = (0, 0);
        loop {
            match self.writer.write(&[0x5a; 1000]) {
                Ok(n) => {
                    sends += 1;
                    bytes += n as u64;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok((sends, bytes)),
                Err(e) => bail!("write: {e}"),
            }
        }
    }

    /// Reads `bytes`, waiting for them.
    pub fn drain(&mut self, bytes: u64) -> Result<()> {
        self.reader.set_nonblocking(false)?;
        self.reader.set_read_timeout(Some(Duration::from_secs(5)))?;
        let read = std::io::copy(&mut Read::by_ref(&mut self.reader).take(bytes), &mut std::io::sink())?;
        self.reader.set_nonblocking(true)?;
        if read != bytes {
            bail!("only {read} of {bytes} bytes came");
        }
        Ok(())
    }

    /// What the kernel programs know of our end.
    pub fn record(&self, assist: &Assist) -> Result<ConnectionRecord> {
        assist.record(self.cookie())?.context("the connection has no record")
    }
}

/// Waits for an event of that kind about that connection; others about it may come before it and are returned too.
pub async fn event(assist: &mut Assist, cookie: u64, kind: EventKind) -> Result<Vec<Event>> {
    let mut seen = Vec::new();
    let wait = async {
        loop {
            let event = assist.next_event().await?;
            if event.cookie == cookie {
                seen.push(event);
                if event.kind == kind {
                    return Ok(());
                }
            }
        }
    };
    match tokio::time::timeout(Duration::from_secs(5), wait).await {
        Ok(outcome) => outcome.map(|()| seen),
        Err(_) => bail!("no {kind:?} event within 5 s; seen {seen:?}"),
    }
}
