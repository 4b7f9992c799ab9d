//! One agent with thousands of connections (rule 10): what a connection costs when idle, and how soon a cause is a level.
//!
//! Every connection has remote BUSY, transport congestion with pressure levels, and one of 50 throttle sets. Its server is
//! this process, on an address of its own, so that a level told for a connection is known to be that server's doing. The
//! cause is a 3004, the clock starts before it is written and stops when the agent's log line about the level is read.

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, BytesMut};
use clap::Parser;
use governor_core::diameter::codes::{avp, command};
use governor_core::diameter::{Builder, Flags, Message, frame};
use governor_tests::Scratch;
use governor_tests::governor::binary;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

/// What to measure.
#[derive(Parser)]
struct Args {
    /// Connections of the one agent
    #[arg(long, default_value_t = 2000)]
    connections: usize,
    /// How long to watch it idle, seconds
    #[arg(long, default_value_t = 20)]
    idle: u64,
    /// `kernel_assist` of the agent
    #[arg(long, default_value = "auto")]
    kernel_assist: String,
    /// First port of the servers
    #[arg(long, default_value_t = 21_000)]
    port: u16,
}

/// When each connection's server wrote its first 3004.
type Causes = Rc<RefCell<HashMap<usize, Instant>>>;

const REALM: &str = "example.net";
const HOST: &str = "hss.example.net";
const CLIENT: &str = "client.example.net";
/// Addresses a port is used on: connections to one address and port are dear to open by the ten thousand.
const ADDRESSES: usize = 200;

fn main() -> Result<()> {
    let args = Args::parse();
    governor::transport::limits::raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, measure(args))
}

async fn measure(args: Args) -> Result<()> {
    let scratch = Scratch::new("capacity")?;
    let causes = Causes::default();
    let servers = args.connections.min(2000);
    for server in 0..servers {
        let listener = TcpListener::bind(address(&args, server)).await.context("a server's address")?;
        spawn_local(serve(listener, server, Rc::clone(&causes)));
    }
    let none = start(&args, 0, &scratch).await?;
    let base = memory(none.pid)?;
    none.stop().await?;

    let begun = Instant::now();
    let mut agent = start(&args, args.connections, &scratch).await?;
    agent.wait_up(args.connections).await?;
    println!("{} connections up after {:.1} s", args.connections, begun.elapsed().as_secs_f64());
    let loaded = memory(agent.pid)?;
    let each = loaded.saturating_sub(base) / args.connections.max(1) as u64;
    println!("memory: {} KiB without connections, {} KiB with; {each} bytes a connection", base / 1024, loaded / 1024);

    let before = cpu(agent.pid)?;
    sleep(Duration::from_secs(args.idle)).await;
    let used = cpu(agent.pid)?.saturating_sub(before);
    let share = used.as_secs_f64() / Duration::from_secs(args.idle).as_secs_f64() * 100.0;
    println!("idle: {share:.2} % of a core over {} s, watchdogs included", args.idle);

    if servers == args.connections {
        let mut times = latencies(&mut agent, &args, &causes).await?;
        times.sort_unstable();
        let at = |percent: usize| {
            let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
            times.get(index).copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        let count = times.len();
        ensure!(count > 0, "no level changed");
        println!(
            "from a 3004 to the level: p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms of {count} connections",
            at(50),
            at(99),
            at(100)
        );
    }
    agent.stop().await
}

/// A request on each connection, paced, and how long after its 3004 the level stood.
async fn latencies(agent: &mut Agent, args: &Args, causes: &Causes) -> Result<Vec<Duration>> {
    let mut client = TcpStream::connect(listen(args)).await?;
    client.set_nodelay(true)?;
    client.write_all(&cer()).await?;
    let mut answer = [0; 4096];
    ensure!(client.read(&mut answer).await? > 0, "the agent refused the client");
    let (mut reader, mut writer) = client.into_split();
    spawn_local(async move { while reader.read(&mut answer).await.is_ok_and(|count| count > 0) {} });
    let count = args.connections;
    spawn_local(async move {
        for n in 0u32.. {
            if writer.write_all(&request(n)).await.is_err() {
                return;
            }
            // 1000 a second: the time to a level is asked for, not that of a queue.
            sleep(Duration::from_millis(1)).await;
        }
    });
    let mut times = Vec::new();
    let end = Instant::now() + Duration::from_millis(count as u64 * 2 + 10_000);
    while times.len() < count && Instant::now() < end {
        let line = tokio::time::timeout(Duration::from_secs(5), agent.line()).await;
        let Ok(line) = line else { break };
        let line = line?;
        let read = Instant::now();
        if line.contains("feature=remote_busy")
            && let Some(server) = connection_of(&line)
            && let Some(cause) = causes.borrow_mut().remove(&server)
        {
            times.push(read - cause);
        }
    }
    Ok(times)
}

/// `connection="c17"` in a log line.
fn connection_of(line: &str) -> Option<usize> {
    line.split_once("connection=\"c")?.1.split_once('"')?.0.parse().ok()
}

// === the agent ===

struct Agent {
    child: tokio::process::Child,
    pid: u32,
    lines: tokio::io::Lines<BufReader<tokio::process::ChildStderr>>,
}

impl Agent {
    async fn line(&mut self) -> Result<String> {
        self.lines.next_line().await?.context("the agent has ended")
    }

    async fn wait_up(&mut self, connections: usize) -> Result<()> {
        let mut up = 0;
        while up < connections {
            let line = tokio::time::timeout(Duration::from_secs(120), self.line()).await;
            let line = line.with_context(|| format!("{up} of {connections} connections are up"))??;
            up += usize::from(line.contains(": up ") && connection_of(&line).is_some());
        }
        Ok(())
    }

    async fn stop(mut self) -> Result<()> {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.pid)?);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM)?;
        let ended = async {
            while self.lines.next_line().await?.is_some() {}
            self.child.wait().await
        };
        let status = tokio::time::timeout(Duration::from_secs(30), ended).await.context("the agent does not end")??;
        ensure!(status.success(), "the agent ended with {status}");
        Ok(())
    }
}

async fn start(args: &Args, connections: usize, scratch: &Scratch) -> Result<Agent> {
    let file = scratch.write("governor.toml", &config(args, connections, scratch)?)?;
    let mut child = tokio::process::Command::new(binary()?)
        .args(["run", "--config"])
        .arg(&file)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the governor")?;
    let pid = child.id().context("the governor has ended")?;
    let stderr = child.stderr.take().context("no standard error")?;
    let mut agent = Agent { child, pid, lines: BufReader::new(stderr).lines() };
    let mut last = String::new();
    loop {
        match tokio::time::timeout(Duration::from_secs(30), agent.line()).await.context("it does not listen")? {
            Ok(line) if line.contains("listening address=") => return Ok(agent),
            Ok(line) => last = line,
            Err(error) => bail!("the governor does not start: {error:#}: {last}"),
        }
    }
}

fn config(args: &Args, connections: usize, scratch: &Scratch) -> Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "[node]\norigin_host = \"gov.example.net\"\norigin_realm = \"{REALM}\"\nlisten = [\"tcp://{}\"]\nkernel_assist = \"{}\"\n\
         max_attempts = 1\ncontrol = \"{}\"\n",
        listen(args),
        args.kernel_assist,
        scratch.file("control.sock").display(),
    )?;
    writeln!(text, "[[peer]]\nhost = \"{CLIENT}\"\nrealm = \"{REALM}\"\n[[peer.connection]]\nname = \"client\"\n")?;
    for set in 0..50 {
        writeln!(
            text,
            "[throttle.t{set}]\nmax_rate = {}\nthrottle = [60, 80, 100]\nabatement = [50, 70, 90]",
            100 + set
        )?;
    }
    if connections > 0 {
        writeln!(text, "[[peer]]\nhost = \"{HOST}\"\nrealm = \"{REALM}\"")?;
    }
    let mut weights = String::new();
    for n in 0..connections {
        writeln!(
            text,
            "[[peer.connection]]\nname = \"c{n}\"\naddress = \"tcp://{}\"\nthrottle = \"t{}\"\n\
             remote_busy = {{ abatement = \"60s\" }}\ntransport_congestion = {{ pressure = {{}} }}",
            address(args, n % 2000),
            n % 50
        )?;
        write!(weights, "{}\"c{n}\" = 1", if n == 0 { "" } else { ", " })?;
    }
    if connections > 0 {
        writeln!(text, "[[route]]\nname = \"r\"\nrealm = \"{REALM}\"\ngroups = [ {{ weights = {{ {weights} }} }} ]")?;
    }
    Ok(text)
}

const fn listen(args: &Args) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), args.port - 1)
}

/// The address of a server: one loopback address for each of [`ADDRESSES`], then the next port.
fn address(args: &Args, server: usize) -> SocketAddr {
    let last = u8::try_from(server % ADDRESSES + 1).unwrap_or(u8::MAX);
    let port = args.port + u16::try_from(server / ADDRESSES).unwrap_or_default();
    SocketAddr::from((Ipv4Addr::new(127, 0, 1, last), port))
}

/// Resident memory of a process, bytes.
fn memory(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? * 1024)
}

/// CPU time of a process so far.
fn cpu(pid: u32) -> Result<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let nanos = text.split(' ').next().context("schedstat")?.parse()?;
    Ok(Duration::from_nanos(nanos))
}

// === the peers ===

async fn serve(listener: TcpListener, server: usize, causes: Causes) {
    while let Ok((stream, _)) = listener.accept().await {
        spawn_local(answer_all(stream, server, Rc::clone(&causes)));
    }
}

/// Answers peer messages with success and every request with 3004.
async fn answer_all(mut stream: TcpStream, server: usize, causes: Causes) {
    let _ = stream.set_nodelay(true);
    let mut buffer = BytesMut::new();
    // Small: there are thousands of these.
    while stream.read_buf(&mut buffer).await.is_ok_and(|count| count > 0) {
        while let Ok(Some(length)) = frame(&buffer, 65_536) {
            let Some(message) = Message::new(&buffer[..length]) else { return };
            if message.header.flags.is_request() {
                let answer = answer(&message);
                if message.header.application != 0 {
                    causes.borrow_mut().entry(server).or_insert_with(Instant::now);
                }
                if stream.write_all(&answer).await.is_err() {
                    return;
                }
            }
            buffer.advance(length);
        }
    }
}

fn answer(request: &Message<'_>) -> bytes::Bytes {
    let builder = Builder::answer(&request.header);
    let names = |builder: Builder, code| {
        builder
            .u32(avp::RESULT_CODE, code)
            .bytes(avp::ORIGIN_HOST, HOST.as_bytes())
            .bytes(avp::ORIGIN_REALM, REALM.as_bytes())
    };
    match request.header.command {
        command::CAPABILITIES_EXCHANGE => capabilities(names(builder, 2001)),
        command::DEVICE_WATCHDOG | command::DISCONNECT_PEER => names(builder, 2001).finish(),
        _ => names(builder.error(), 3004).finish(),
    }
}

fn capabilities(builder: Builder) -> bytes::Bytes {
    builder
        .bytes(avp::HOST_IP_ADDRESS, &[0, 1, 127, 0, 0, 1])
        .u32(avp::VENDOR_ID, 0)
        .avp(avp::PRODUCT_NAME, None, 0, b"capacity")
        .u32(avp::AUTH_APPLICATION_ID, 0xffff_ffff)
        .finish()
}

fn cer() -> bytes::Bytes {
    let builder = Builder::request(command::CAPABILITIES_EXCHANGE, 0, 0, 1, 1);
    let builder = builder.bytes(avp::ORIGIN_HOST, CLIENT.as_bytes()).bytes(avp::ORIGIN_REALM, REALM.as_bytes());
    capabilities(builder)
}

fn request(n: u32) -> bytes::Bytes {
    Builder::request(316, 16_777_251, Flags::PROXIABLE, n, n)
        .bytes(avp::SESSION_ID, format!("client.example.net;1;{n}").as_bytes())
        .bytes(avp::ORIGIN_HOST, CLIENT.as_bytes())
        .bytes(avp::ORIGIN_REALM, REALM.as_bytes())
        .bytes(avp::DESTINATION_REALM, REALM.as_bytes())
        .finish()
}
