//! What systemd wants to hear of a service of `Type=notify` or `notify-reload` (`sd_notify(3)`): one datagram a message to the
//! socket in `NOTIFY_SOCKET`. Without that variable nothing is said.

use crate::kernel::monotonic;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;
use tokio::time::sleep;
use tracing::debug;

/// How long a message waits for a service manager that is behind: a lost `READY=1` would have it end us, and traffic waits
/// meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);

/// It has started, or a reload has ended.
pub(super) fn ready() {
    say("READY=1");
}

/// A reload has begun; [`ready`] ends it.
pub(super) fn reloading() {
    say(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic() / 1000));
}

/// The end has begun; it may take this long.
pub(super) fn stopping(at_most: Duration) {
    say(&format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={}", at_most.as_micros()));
}

/// Says at half the time that `WatchdogSec=` sets that the task's thread is alive, for ever.
pub(super) async fn watchdog() {
    let Some(limit) = watchdog_limit(std::env::var_os("WATCHDOG_USEC"), std::env::var_os("WATCHDOG_PID")) else {
        return;
    };
    loop {
        // The next one is soon enough, should its queue be full.
        say_within("WATCHDOG=1", None);
        sleep(limit / 2).await;
    }
}

/// The limit, unless it is another process's.
fn watchdog_limit(limit: Option<impl AsRef<OsStr>>, pid: Option<impl AsRef<OsStr>>) -> Option<Duration> {
    let number = |text: &OsStr| text.to_str()?.parse::<u64>().ok();
    if pid.is_some_and(|pid| number(pid.as_ref()) != Some(u64::from(std::process::id()))) {
        return None;
    }
    number(limit?.as_ref()).filter(|limit| *limit > 0).map(Duration::from_micros)
}

fn say(message: &str) {
    say_within(message, Some(PATIENCE));
}

fn say_within(message: &str, patience: Option<Duration>) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&socket, message, patience) {
        debug!(%error, message, "NOTIFY_SOCKET");
    }
}

/// Waits as long for room in the receiver's queue. A name that begins with `@` is an abstract one.
fn send(socket: &OsStr, message: &str, patience: Option<Duration>) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let datagram = UnixDatagram::unbound()?;
    match patience {
        Some(_) => datagram.set_write_timeout(patience)?,
        None => datagram.set_nonblocking(true)?,
    }
    datagram.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_datagram_on_a_named_or_an_abstract_socket() {
        let name = format!("governor-notify-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let named = UnixDatagram::bind(&path).unwrap();
        let unnamed = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(path.as_os_str(), "READY=1", Some(PATIENCE)).unwrap();
        send(OsStr::new(&format!("@{name}")), "STOPPING=1", None).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut buffer = [0; 64];
        let length = named.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1");
        let length = unnamed.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"STOPPING=1");
        assert!(send(path.as_os_str(), "READY=1", Some(PATIENCE)).is_err(), "nobody listens");
    }

    #[test]
    fn the_watchdogs_limit_is_this_processs_or_none() {
        let own = std::process::id().to_string();
        assert_eq!(watchdog_limit(Some("3000000"), Some(own.as_str())), Some(Duration::from_secs(3)));
        assert_eq!(watchdog_limit(Some("3000000"), None::<&str>), Some(Duration::from_secs(3)));
        assert_eq!(watchdog_limit(Some("3000000"), Some("1")), None);
        assert_eq!(watchdog_limit(Some("0"), None::<&str>), None);
        assert_eq!(watchdog_limit(Some("often"), None::<&str>), None);
        assert_eq!(watchdog_limit(None::<&str>, None::<&str>), None);
    }
}
