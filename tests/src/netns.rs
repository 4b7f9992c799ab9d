//! A network namespace of a test's own.

use anyhow::{Context, Result, anyhow, ensure};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::net::SocketAddrV4;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Sender, channel};

/// A namespace without a name: it goes when the guard and the last process in it are gone. `lo` is up and has
/// 127.0.0.0/8 and, since freeDiameter overlooks that range, [`NetNs::ADDRESSES`]. Programs started in it have a BPF file
/// system of their own too.
#[derive(Debug)]
pub struct NetNs {
    file: File,
    starter: Sender<(Command, Sender<io::Result<Child>>)>,
}

impl NetNs {
    /// What nodes may listen on, besides 127.0.0.0/8.
    pub const ADDRESSES: [&'static str; 4] = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"];

    /// Makes a namespace; needs root.
    pub fn new() -> Result<Self> {
        // A namespace is a thread's: the calling thread stays in its own.
        let file = on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .context("cannot make a network namespace: the tests against real peers need root")?;
            let file = File::open("/proc/thread-self/ns/net")?;
            ip(&["link", "set", "lo", "up"])?;
            for address in Self::ADDRESSES {
                ip(&["address", "add", &format!("{address}/32"), "dev", "lo"])?;
            }
            Ok(file)
        })?;
        // One thread in the namespace starts every program, and lives as long as the guard: the programs ask the kernel to
        // be killed with their parent, which is the thread, so that not even a killed test leaves one behind.
        let (starter, jobs) = channel::<(Command, Sender<io::Result<Child>>)>();
        let inside = file.try_clone()?;
        std::thread::spawn(move || {
            let entered = setns(&inside, CloneFlags::CLONE_NEWNET).and_then(|()| own_bpffs()).map_err(io::Error::from);
            for (mut command, reply) in jobs {
                let child =
                    entered.as_ref().map_err(|e| io::Error::other(e.to_string())).and_then(|()| command.spawn());
                let _ = reply.send(child);
            }
        });
        Ok(Self { file, starter })
    }

    /// Runs `body` on a thread in the namespace. Sockets it makes stay in the namespace and work from everywhere.
    pub fn enter<T: Send>(&self, body: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_a_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET).context("cannot enter the test's network namespace")?;
            body()
        })
    }

    /// Sets a kernel parameter of the namespace, `net/ipv4/tcp_rmem` for one.
    pub fn sysctl(&self, name: &str, value: &str) -> Result<()> {
        self.enter(|| {
            std::fs::write(format!("/proc/sys/{name}"), value).with_context(|| format!("cannot set {name} to {value}"))
        })
    }

    /// Does anything listen on that TCP address (IPv4)? Found without connecting, which a capture would show.
    pub fn listens(&self, address: &str) -> Result<bool> {
        let address: SocketAddrV4 = address.parse()?;
        let text = self.enter(|| Ok(std::fs::read_to_string("/proc/thread-self/net/tcp")?))?;
        let (ip, port) = (u32::from_ne_bytes(address.ip().octets()), address.port());
        Ok(text.lines().any(|line| {
            let mut cells = line.split_whitespace().skip(1);
            let local = cells.next().unwrap_or_default();
            let state = cells.nth(1).unwrap_or_default();
            state == "0A" && (local == format!("{ip:08X}:{port:04X}") || local == format!("00000000:{port:04X}"))
        }))
    }

    /// Runs a program in the namespace to its end.
    pub fn output(&self, mut command: Command) -> Result<Output> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(self.spawn(command)?.wait_with_output()?)
    }

    /// Starts a program in the namespace; it is killed at the latest when the guard goes.
    pub fn spawn(&self, command: Command) -> Result<Child> {
        let program = command.get_program().to_string_lossy().into_owned();
        let (reply, answer) = channel();
        self.starter.send((command, reply)).map_err(|_| anyhow!("the namespace's thread has ended"))?;
        let child = answer.recv().map_err(|_| anyhow!("the namespace's thread has ended"))?;
        child.with_context(|| format!("cannot start {program}: run `cargo xtask setup`"))
    }
}

/// Gives the calling thread a BPF file system of its own: pins have one place on a machine, and a governor that runs there,
/// or another test's, is none of this test's business.
fn own_bpffs() -> nix::Result<()> {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), NONE)
}

fn on_a_thread<T: Send>(body: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|s| s.spawn(body).join()).map_err(|_| anyhow!("a thread of the harness panicked"))?
}

fn ip(arguments: &[&str]) -> Result<()> {
    let out = Command::new("ip").args(arguments).output().context("cannot run ip: run `cargo xtask setup`")?;
    ensure!(out.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    Ok(())
}
