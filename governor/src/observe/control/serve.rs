//! Answering clients.

use super::listener::Listener;
use super::protocol::{Answer, Refused, Request};
use crate::observe::event::Event;
use serde::Serialize;
use serde_json::json;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use tracing::{debug, warn};

/// Longest request, bytes.
const LONGEST_REQUEST: u64 = 4096;
/// How long a client may be silent or refuse to read before it is left.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the clients talk to.
pub trait Agent: Clone + 'static {
    /// Does what is asked; `Subscribe` never comes here.
    fn answer(&self, request: Request) -> impl Future<Output = Result<Answer, Refused>>;

    /// Every event from now on.
    fn subscribe(&self) -> broadcast::Receiver<Arc<Event>>;
}

// === impl Listener ===

impl Listener {
    /// Answers clients for ever. Runs on a `tokio::task::LocalSet`, a task a client: a slow client delays nobody.
    pub async fn serve(self, agent: impl Agent) {
        loop {
            match self.accept().await {
                Ok(stream) => {
                    let agent = agent.clone();
                    tokio::task::spawn_local(async move {
                        if let Err(error) = talk(stream, agent).await {
                            debug!(%error, "control client");
                        }
                    });
                }
                Err(error) => {
                    // Out of descriptors, mostly: whoever waits is served later.
                    warn!(%error, "control socket: accept");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Answers one client until it goes.
async fn talk(mut stream: UnixStream, agent: impl Agent) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = tokio::io::BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = timeout(PATIENCE, (&mut reader).take(LONGEST_REQUEST).read_until(b'\n', &mut line)).await??;
        if count == 0 {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        match serde_json::from_slice(&line) {
            Ok(Request::Subscribe) => return stream_events(reader, writer, agent.subscribe()).await,
            Ok(request) => match agent.answer(request).await {
                Ok(answer) => write(&mut writer, &answer).await?,
                Err(refused) => write(&mut writer, &refused).await?,
            },
            Err(error) => write(&mut writer, &Refused::new(format!("not a request: {error}"))).await?,
        }
        if !whole {
            // Too long, or the client's last: what follows is not the beginning of a request.
            return Ok(());
        }
    }
}

/// Events until the client goes, or is too slow: the backlog is bounded, and it is told how many it would have lost.
async fn stream_events(
    mut reader: tokio::io::BufReader<ReadHalf<'_>>,
    mut writer: WriteHalf<'_>,
    mut events: broadcast::Receiver<Arc<Event>>,
) -> io::Result<()> {
    write(&mut writer, &json!({ "event": "subscribed" })).await?;
    let mut ignored = [0; 256];
    loop {
        let next = tokio::select! {
            next = events.recv() => next,
            // What it says is not heard any more; its end is.
            read = reader.read(&mut ignored) => match read {
                Ok(1..) => continue,
                Ok(0) | Err(_) => return Ok(()),
            },
        };
        match next {
            Ok(event) => write(&mut writer, &*event).await?,
            Err(RecvError::Lagged(lost)) => {
                warn!(lost, "a subscriber of events is too slow and is left");
                return write(&mut writer, &json!({ "event": "dropped", "lost": lost })).await;
            }
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

async fn write(writer: &mut WriteHalf<'_>, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    timeout(PATIENCE, writer.write_all(&line)).await?
}
