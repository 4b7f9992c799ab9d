//! TCP: one writer and one reader a connection, both nonblocking.

use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// `SO_SNDBUF` where the configuration names none, bytes. The kernel starts a connection with a few segments' worth and
/// grows it with the congestion window, so that a burst to a peer that is well would read as a blocked one. This holds
/// a thousand pending requests of common size; the kernel doubles it for its own bookkeeping.
pub const SEND_BUFFER: u32 = 1 << 20;

/// How sockets are set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// `SO_SNDBUF`, bytes; `None`: [`SEND_BUFFER`].
    pub send_buffer: Option<u32>,
}

/// The half that reads.
#[derive(Debug)]
pub struct Reader(OwnedReadHalf);

/// The half that writes. Dropping it ends the stream (FIN).
#[derive(Debug)]
pub struct Writer(OwnedWriteHalf);

/// A listening socket.
#[derive(Debug)]
pub struct Listener(TcpListener);

/// A connection, both halves, and where it goes.
#[derive(Debug)]
pub struct Connected {
    /// Reads.
    pub reader: Reader,
    /// Writes.
    pub writer: Writer,
    /// Our end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
}

/// Opens a connection. Cancel safe: dropping it gives up.
///
/// # Errors
/// What the system says: refused, unreachable, no descriptor left.
pub async fn connect(to: SocketAddr, options: Options) -> io::Result<Connected> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Before connecting: the window scale is agreed on in the handshake.
    set_send_buffer(socket.as_fd(), options);
    Connected::new(socket.connect(to).await?)
}

// === impl Connected ===

impl Connected {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        // A peer that vanished without a word is the watchdog's to find; this only helps while nothing is sent at all.
        SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(Duration::from_secs(60)))?;
        let (local, remote) = (stream.local_addr()?, stream.peer_addr()?);
        let (reader, writer) = stream.into_split();
        Ok(Self { reader: Reader(reader), writer: Writer(writer), local, remote })
    }

    /// The address of our end.
    pub const fn local_ip(&self) -> IpAddr {
        self.local.ip()
    }
}

// === impl Listener ===

impl Listener {
    /// Listens on an address. The options are inherited by what it accepts.
    ///
    /// # Errors
    /// What the system says: in use, not ours, not permitted.
    pub fn bind(on: SocketAddr, options: Options) -> io::Result<Self> {
        let socket = if on.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A restart must not wait for connections of the former life to leave TIME_WAIT.
        socket.set_reuseaddr(true)?;
        set_send_buffer(socket.as_fd(), options);
        socket.bind(on)?;
        Ok(Self(socket.listen(1024)?))
    }

    /// The address it listens on, with the port that the system chose for 0.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Waits for a connection. Cancel safe.
    ///
    /// # Errors
    /// What the system says; the listener can be used on.
    pub async fn accept(&self) -> io::Result<Connected> {
        let (stream, _) = self.0.accept().await?;
        Connected::new(stream)
    }
}

// === impl Reader ===

impl Reader {
    /// Reads what there is into `buffer`. Gives 0 at the end of the stream.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.0).poll_read(cx, buffer))?;
        Poll::Ready(Ok(buffer.filled().len() - before))
    }
}

// === impl Writer ===

impl Writer {
    /// Writes what fits. [`io::ErrorKind::WouldBlock`] when nothing does.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    /// Waits until there is room again. Cancel safe.
    pub async fn writable(&self) -> io::Result<()> {
        self.0.writable().await
    }

    /// Says that nothing more will be written (FIN); reading goes on.
    pub fn shutdown(&self) {
        // On a connection that is gone there is nobody to tell.
        let _ = SockRef::from(self.0.as_ref()).shutdown(std::net::Shutdown::Write);
    }

    /// `SO_SNDBUF`, bytes; `None`: [`SEND_BUFFER`].
    pub fn set_send_buffer(&self, send_buffer: Option<u32>) {
        set_send_buffer(self.as_fd(), Options { send_buffer });
    }
}

impl AsFd for Writer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().as_fd()
    }
}

/// Sets the send buffer, past the system's maximum where we may.
fn set_send_buffer(socket: BorrowedFd<'_>, options: Options) {
    let size = options.send_buffer.unwrap_or(SEND_BUFFER);
    let fd = socket.as_raw_fd();
    let value = libc::c_int::try_from(size).unwrap_or(libc::c_int::MAX);
    let set = |option| {
        let length = libc::socklen_t::try_from(size_of_val(&value)).unwrap_or_default();
        // SAFETY: the descriptor is borrowed and open, and the pointer and length describe a c_int that outlives the call.
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const value).cast(), length) == 0 }
    };
    // FORCE needs CAP_NET_ADMIN; without it the size is capped at net.core.wmem_max, which is still a size we know.
    if !set(libc::SO_SNDBUFFORCE) {
        set(libc::SO_SNDBUF);
    }
}
