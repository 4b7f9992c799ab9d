//! Measuring a socket of ours without kernel programs.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

/// How full a socket's send buffer is (rule 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Bytes queued, overhead included (`sk_wmem_queued`).
    pub queued: u32,
    /// The buffer's size in bytes (`sk_sndbuf`).
    pub limit: u32,
}

/// Indices into what `SO_MEMINFO` returns (`enum` in `linux/sock_diag.h`), which `libc` lacks.
const SK_MEMINFO_SNDBUF: usize = 3;
const SK_MEMINFO_WMEM_QUEUED: usize = 5;
const SK_MEMINFO_VARS: usize = 9;

/// The occupancy of a socket's send buffer, by `SO_MEMINFO` (Linux 4.12 on). One system call.
///
/// # Errors
/// Those of getsockopt(2).
pub fn occupancy(socket: BorrowedFd<'_>) -> io::Result<Occupancy> {
    let values: [u32; SK_MEMINFO_VARS] = option(socket, libc::SO_MEMINFO)?;
    Ok(Occupancy { queued: values[SK_MEMINFO_WMEM_QUEUED], limit: values[SK_MEMINFO_SNDBUF] })
}

/// The socket's cookie: its key in every map (`SO_COOKIE`).
///
/// # Errors
/// Those of getsockopt(2).
pub fn socket_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    option(socket, libc::SO_COOKIE)
}

/// Marks types of which any bit pattern is a value.
trait Plain: Copy + Default {}
impl Plain for u64 {}
impl Plain for [u32; SK_MEMINFO_VARS] {}

/// A socket option of level `SOL_SOCKET`.
fn option<T: Plain>(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
    let mut value = T::default();
    let mut length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: `value` is writable for `length` bytes, and any bytes are a value of a `Plain` type.
    let outcome = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut length)
    };
    if outcome == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::{occupancy, socket_cookie};
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_full_send_buffer_is_at_its_limit() -> anyhow::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut writer = TcpStream::connect(listener.local_addr()?)?;
        let _reader = listener.accept()?;
        let idle = occupancy(writer.as_fd())?;
        assert_eq!(idle.queued, 0);
        assert!(idle.limit > 0);
        writer.set_nonblocking(true)?;
        while writer.write(&[0; 4096]).is_ok() {}
        let full = occupancy(writer.as_fd())?;
        assert!(full.queued >= full.limit, "{full:?}");
        Ok(())
    }

    #[test]
    fn cookies_are_unique() -> anyhow::Result<()> {
        let (a, b) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
        assert_ne!(socket_cookie(a.as_fd())?, socket_cookie(b.as_fd())?);
        assert_eq!(socket_cookie(a.as_fd())?, socket_cookie(a.as_fd())?);
        Ok(())
    }
}
