//! What the kernel programs have to say in words reaches `tracing`.

use anyhow::{Context, Result};
use governor::kernel::{Mode, Options};
use governor_tests::assist::{load_with, options};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// One thread: the subscriber is the thread's.
#[tokio::test]
async fn a_connection_without_room_is_a_warning() -> Result<()> {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    // Before the programs are loaded: they log as much as is let through then.
    let _guard = tracing::subscriber::set_default(subscriber);
    let (mut assist, _report) = load_with(&Options { max_connections: 1, ..options(Mode::Auto, "log") })?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    assist.watch_port(listener.local_addr()?.port())?;
    // Both of its ends are of the port.
    let _stream = TcpStream::connect(listener.local_addr()?)?;
    let _other = listener.accept()?;
    let mut events = assist.take_events().context("not taken yet")?;
    let warned = || String::from_utf8_lossy(&lines.0.lock().expect("no writer panics")).into_owned();
    for _ in 0..50 {
        let _ = timeout(Duration::from_millis(100), events.next()).await;
        if warned().contains("connections is full") {
            break;
        }
    }
    let text = warned();
    assert!(text.contains("WARN governor::kernel: connections is full: port "), "{text:?}");
    assert_eq!(assist.records()?.len(), 1);
    Ok(())
}
