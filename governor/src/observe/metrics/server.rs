//! HTTP for Prometheus: `GET /metrics`, and nothing else. A thread of its own, so that a page of any size and a scraper
//! of any slowness take nothing from the relay but the copying of its numbers.
//!
//! One request a connection. The page is written while it is sent, in chunks, so that it never stands in memory whole.

use super::{Page, Process, Sample};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, warn};

/// Longest request head, bytes.
const LONGEST_HEAD: usize = 8192;
/// Most header fields of a request.
const MOST_FIELDS: usize = 64;
/// How long a client may take for its request, a page wait for its turn and for its numbers, a client not read.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the last bytes may take to be read by the client.
const LINGER: Duration = Duration::from_secs(1);
/// Clients at one time; more are turned away unheard.
const CLIENTS: usize = 64;
/// Pages written at one time; more wait.
const PAGES: usize = 4;
/// A page is sent in pieces of about this many bytes.
const CHUNK: usize = 64 * 1024;
/// Pieces that may wait for a slow client.
const AHEAD: usize = 4;

/// Asks the relay for its numbers.
pub type Ask = mpsc::Sender<oneshot::Sender<Sample>>;

/// The server; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    _running: oneshot::Sender<()>,
}

/// What a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The page; in pieces with their lengths, if the client knows that (HTTP/1.1), and without its body for HEAD.
    Page { chunked: bool, body: bool },
    /// Something else.
    Refusal { status: &'static str, text: &'static str },
}

// === impl Server ===

impl Server {
    /// Listens on `address` and answers from a thread of its own.
    ///
    /// # Errors
    /// The address is taken or not ours, or no thread can be had.
    pub fn start(address: SocketAddr, ask: Ask) -> io::Result<Self> {
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (running, stopped) = oneshot::channel();
        std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    // An error is the server's drop.
                    _ = stopped => {}
                    error = accept(listener, ask) => warn!(%error, "no more metrics"),
                }
            });
            // A page that nobody reads must not keep the thread.
            runtime.shutdown_background();
        })?;
        Ok(Self { address, _running: running })
    }

    /// Where it listens, with the port that the system chose for 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Accepts until it cannot.
async fn accept(listener: StdListener, ask: Ask) -> io::Error {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return error,
    };
    let (clients, pages) = (Arc::new(Semaphore::new(CLIENTS)), Arc::new(Semaphore::new(PAGES)));
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => {
                let Ok(client) = Arc::clone(&clients).try_acquire_owned() else {
                    debug!(%remote, "metrics: too many clients");
                    continue;
                };
                let (ask, pages) = (ask.clone(), Arc::clone(&pages));
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, &ask, &pages).await {
                        debug!(%remote, %error, "metrics");
                    }
                    drop(client);
                });
            }
            Err(error) => {
                // Out of descriptors, mostly.
                debug!(%error, "metrics: accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One request and its answer.
async fn serve(mut stream: TcpStream, ask: &Ask, pages: &Semaphore) -> io::Result<()> {
    let answer = timeout(PATIENCE, read(&mut stream)).await??;
    match answer {
        Answer::Page { chunked, body } => page(&mut stream, ask, pages, chunked, body).await?,
        Answer::Refusal { status, text } => refuse(&mut stream, status, text).await?,
    }
    // Closing with something unread would reset the connection and could take the answer with it.
    stream.shutdown().await?;
    let _ = timeout(LINGER, tokio::io::copy(&mut stream, &mut tokio::io::sink())).await;
    Ok(())
}

/// Reads one request's head.
async fn read(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut head = Vec::with_capacity(1024);
    loop {
        if stream.read_buf(&mut head).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(&head) {
            Ok(httparse::Status::Complete(_)) => return Ok(judge(&request)),
            Ok(httparse::Status::Partial) if head.len() < LONGEST_HEAD => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                let text = "the request's head is too long";
                return Ok(Answer::Refusal { status: "431 Request Header Fields Too Large", text });
            }
            Err(_) => return Ok(Answer::Refusal { status: "400 Bad Request", text: "not an HTTP/1 request" }),
        }
    }
}

/// What a whole request gets.
fn judge(request: &httparse::Request<'_, '_>) -> Answer {
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    match (request.method.unwrap_or_default(), path) {
        (method @ ("GET" | "HEAD"), "/metrics") => {
            Answer::Page { chunked: request.version == Some(1), body: method == "GET" }
        }
        ("GET" | "HEAD", _) => Answer::Refusal { status: "404 Not Found", text: "the metrics are at /metrics" },
        _ => Answer::Refusal { status: "405 Method Not Allowed\r\nAllow: GET, HEAD", text: "only GET and HEAD" },
    }
}

async fn refuse(stream: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}\n"
    );
    timeout(PATIENCE, stream.write_all(answer.as_bytes())).await?
}

async fn page(stream: &mut TcpStream, ask: &Ask, pages: &Semaphore, chunked: bool, body: bool) -> io::Result<()> {
    let encoding = if chunked { "Transfer-Encoding: chunked\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n{encoding}Connection: close\r\n\r\n"
    );
    if !body {
        return timeout(PATIENCE, stream.write_all(head.as_bytes())).await?;
    }
    let numbers = async {
        let turn = pages.acquire().await.ok()?;
        let (reply, answer) = oneshot::channel();
        ask.send(reply).await.ok()?;
        Some((turn, answer.await.ok()?))
    };
    let Ok(Some((_turn, sample))) = timeout(PATIENCE, numbers).await else {
        return refuse(stream, "503 Service Unavailable", "the relay gives no numbers now").await;
    };
    timeout(PATIENCE, stream.write_all(head.as_bytes())).await??;
    let (pieces, mut written) = mpsc::channel(AHEAD);
    spawn_blocking(move || {
        let page = Page { sample: Arc::new(sample), process: Process::read() };
        let mut out = Pieces { piece: String::with_capacity(CHUNK + 4096), to: pieces };
        // An error is the client's going.
        let _ = page.write(&mut out).and_then(|()| out.send(true));
    });
    let mut framed = Vec::with_capacity(CHUNK + 4096);
    while let Some((piece, last)) = written.recv().await {
        framed.clear();
        if chunked {
            framed.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            framed.extend_from_slice(piece.as_bytes());
            framed.extend_from_slice(if last { b"\r\n0\r\n\r\n" } else { b"\r\n" });
        } else {
            framed.extend_from_slice(piece.as_bytes());
        }
        timeout(PATIENCE, stream.write_all(&framed)).await??;
    }
    Ok(())
}

/// Collects what is written into pieces and hands them on; waits where the client is slow.
struct Pieces {
    piece: String,
    /// A piece, and whether it is the last.
    to: mpsc::Sender<(String, bool)>,
}

// === impl Pieces ===

impl Pieces {
    fn send(&mut self, last: bool) -> fmt::Result {
        let piece = std::mem::replace(&mut self.piece, String::with_capacity(CHUNK + 4096));
        self.to.blocking_send((piece, last)).map_err(|_| fmt::Error)
    }
}

impl fmt::Write for Pieces {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.piece.push_str(text);
        if self.piece.len() >= CHUNK { self.send(false) } else { Ok(()) }
    }
}
