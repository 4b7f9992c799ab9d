//! A process that goes with its guard.

use crate::{NetNs, wait::eventually};
use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A running program with its output in a file; killed (by its own pid) when the guard goes.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    ended: Option<ExitStatus>,
}

/// CPU time a process has used.
#[derive(Clone, Copy, Debug)]
pub struct CpuTime {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl Process {
    /// Starts `command` in `ns`, both its outputs into `log`; `name` is for people.
    pub fn start(ns: &NetNs, name: &str, command: &Command, log: &Path) -> Result<Self> {
        let out = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        // setpriv becomes the program: the pid is the program's own.
        let mut bound = Command::new("setpriv");
        bound.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
        bound.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        bound.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        let child = ns.spawn(bound)?;
        Ok(Self { name: name.to_owned(), child, log: log.to_owned(), ended: None })
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until a line of its output holds `text`, and gives that line.
    pub fn wait_for_line(&mut self, text: &str, limit: Duration) -> Result<String> {
        let mut ended = None;
        let found = eventually(text, limit, || {
            ended = self.exited();
            let line = self.log().lines().find(|line| line.contains(text)).map(str::to_owned);
            line.map(Some).or_else(|| ended.is_some().then_some(None))
        });
        match found {
            Ok(Some(line)) => Ok(line),
            Ok(None) => bail!("{} ended ({ended:?}) before `{text}`:\n{}", self.name, self.tail()),
            Err(e) => Err(anyhow!("{}: {e}\n{}", self.name, self.tail())),
        }
    }

    /// Its exit status, if it has ended.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits for its end.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let name = self.name.clone();
        eventually(&format!("the end of {name}"), limit, || self.exited()).with_context(|| self.tail())
    }

    /// Asks it to end (SIGTERM) and waits.
    pub fn stop(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.signal(Signal::SIGTERM)?;
        self.wait(limit)
    }

    /// Ends it at once (SIGKILL).
    pub fn kill(&mut self) -> Result<()> {
        self.signal(Signal::SIGKILL)?;
        self.wait(Duration::from_secs(10)).map(drop)
    }

    /// Stops it from running (SIGSTOP): its sockets stay open and nobody reads them.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::SIGSTOP)
    }

    /// Lets it run again (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::SIGCONT)
    }

    /// CPU time used so far, from `/proc/PID/stat`.
    pub fn cpu_time(&self) -> Result<CpuTime> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()))?;
        // The second field, the name in parentheses, may hold blanks: count from behind it.
        let (_, rest) = stat.rsplit_once(')').context("unexpected /proc/PID/stat")?;
        let ticks = |at: usize| rest.split_whitespace().nth(at).and_then(|t| t.parse::<u64>().ok());
        let hertz = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?.and_then(|h| u64::try_from(h).ok());
        let (Some(user), Some(system), Some(hertz)) = (ticks(11), ticks(12), hertz) else {
            bail!("unexpected /proc/PID/stat: {stat}");
        };
        let time = |ticks: u64| Duration::from_millis(ticks * 1000 / hertz);
        Ok(CpuTime { user: time(user), system: time(system) })
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        if self.ended.is_some() {
            bail!("{} has ended: {:?}\n{}", self.name, self.ended, self.tail());
        }
        let pid = i32::try_from(self.pid()).context("pid out of range")?;
        kill(Pid::from_raw(pid), signal).with_context(|| format!("{signal} to {}", self.name))
    }

    fn tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        format!("--- {} ---\n{}", self.log.display(), lines[lines.len().saturating_sub(25)..].join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.tail());
        }
        if self.exited().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
