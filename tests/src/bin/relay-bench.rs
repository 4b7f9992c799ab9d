//! The same load through a freeDiameter relay and through the governor, in one run: `cargo xtask bench relay`.
//!
//! Relay on one core, client and server (`governor load`) on another, all in a network namespace of the bench's own.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use governor_tests::freediameter::Node;
use governor_tests::governor::{self, Config, Governor};
use governor_tests::process::CpuTime;
use governor_tests::{NetNs, Process, Scratch, eventually};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

const CLIENT: &str = "client.example.org";
const SERVER: &str = "hss1.example.net";
const SERVER_ADDRESS: (&str, u16) = ("10.0.0.3", 3869);
/// The core that the relay has to itself, and the one for the load.
const RELAY_CORE: &str = "1";
const LOAD_CORE: &str = "0";

/// Requests/s, CPU time a request and latency of a freeDiameter relay and of the governor under the same load.
#[derive(Parser)]
struct Options {
    /// How long each run sends, seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Runs of each relay, in turn; the medians are shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Requests kept unanswered at a time
    #[arg(long, default_value_t = 256)]
    outstanding: u32,
    /// Bytes a request
    #[arg(long, default_value_t = 248)]
    size: u32,
    /// Requests/s on a fixed schedule instead: both relays do the same work, and latency is compared at that rate
    #[arg(long, conflicts_with = "outstanding")]
    rate: Option<u32>,
    /// Show the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy)]
enum Relay {
    FreeDiameter,
    /// With `kernel_assist` set so.
    Governor(&'static str),
}

/// What one run showed.
#[derive(Clone, Copy)]
struct Figures {
    rate: f64,
    /// CPU microseconds a request.
    user: f64,
    system: f64,
    /// Milliseconds.
    p50: f64,
    p99: f64,
    /// Part of the relay's core that it used.
    busy: f64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let relays = [Relay::FreeDiameter, Relay::Governor("off"), Relay::Governor("auto")];
    let mut runs = relays.map(|_| Vec::new());
    for round in 1..=options.rounds {
        for (relay, runs) in relays.iter().zip(&mut runs) {
            eprintln!("round {round} of {}: {}", options.rounds, relay.name());
            let context = || format!("{} in round {round}", relay.name());
            runs.push(measure(*relay, &options).with_context(context)?);
        }
    }
    let medians = runs.map(|runs| Figures::median(&runs));
    if options.json {
        let rows = relays.iter().zip(&medians).map(|(relay, figures)| (relay.name(), figures.json())).collect();
        println!("{}", Value::Object(rows));
    } else {
        print(&options, &relays, &medians);
    }
    Ok(())
}

fn print(options: &Options, relays: &[Relay], medians: &[Figures]) {
    let pace = match options.rate {
        Some(rate) => format!("{rate} requests/s on a schedule"),
        None => format!("{} outstanding", options.outstanding),
    };
    println!(
        "\nOne client, one server, {pace}, {} bytes a request, TCP; median of {} runs of {} s.",
        options.size, options.rounds, options.seconds
    );
    println!("Relay on core {RELAY_CORE}, client and server on core {LOAD_CORE}.\n");
    println!(
        "{:<26}{:>11}{:>13}{:>9}{:>9}{:>11}{:>11}{:>11}",
        "", "requests/s", "us/request", "user", "system", "p50 ms", "p99 ms", "core busy"
    );
    for (relay, f) in relays.iter().zip(medians) {
        println!(
            "{:<26}{:>11.0}{:>13.2}{:>9.2}{:>9.2}{:>11.3}{:>11.3}{:>10.0}%",
            relay.name(),
            f.rate,
            f.cpu(),
            f.user,
            f.system,
            f.p50,
            f.p99,
            f.busy * 100.0
        );
    }
    let base = &medians[0];
    println!("\n{:<26}{:>11}{:>13}{:>29}{:>11}", "by freeDiameter's", "requests/s", "us/request", "p50", "p99");
    for (relay, f) in relays.iter().zip(medians).skip(1) {
        println!(
            "{:<26}{:>10.2}x{:>12.3}x{:>28.3}x{:>10.3}x",
            relay.name(),
            f.rate / base.rate,
            f.cpu() / base.cpu(),
            f.p50 / base.p50,
            f.p99 / base.p99,
        );
    }
}

fn measure(relay: Relay, options: &Options) -> Result<Figures> {
    let (ns, scratch) = (NetNs::new()?, Scratch::new("relay-bench")?);
    let address = format!("{}:{}", SERVER_ADDRESS.0, SERVER_ADDRESS.1);
    let mut server = Command::new("taskset");
    server.args(["-c", LOAD_CORE]).arg(governor::binary()?).args(["load", "server", "--origin-host", SERVER]);
    server.arg("--listen").arg(format!("tcp://{address}"));
    let mut server = Process::start(&ns, "server", &server, &scratch.file("server.log"))?;
    eventually("the server's listening", Duration::from_secs(10), || {
        ns.listens(&address).is_ok_and(|listens| listens).then_some(())
    })?;
    match relay {
        Relay::FreeDiameter => {
            let core = RELAY_CORE.parse().context("a core's number")?;
            let node = Node::relay(governor::HOST, "10.0.0.1", 3868).watchdog(30).pinned(core);
            let mut node = node.accept(CLIENT).connect(SERVER, SERVER_ADDRESS.0, SERVER_ADDRESS.1);
            node = node.accept(SERVER);
            let mut running = node.start(&ns, &scratch)?;
            running.open(SERVER, Duration::from_secs(20))?;
            run(&ns, &scratch, &running.process, options)
        }
        Relay::Governor(assist) => {
            let limit = "pending_limit = 20000";
            let config = Config::new(assist).client(CLIENT).server(SERVER, &address, limit);
            let config = config.route("example.net", &[&["hss1"]]);
            let file = config.write(&scratch)?;
            let mut command = Command::new("taskset");
            command.args(["-c", RELAY_CORE]).arg(governor::binary()?).arg("run").arg("--config").arg(&file);
            let governor = Governor::start_as(&ns, &scratch, &file, &mut command)?;
            governor.up(&["hss1"])?;
            run(&ns, &scratch, &governor.process, options)
        }
    }
    .and_then(|figures| {
        server.stop(Duration::from_secs(10))?;
        Ok(figures)
    })
}

/// Sends the load through the relay that is up.
fn run(ns: &NetNs, scratch: &Scratch, relay: &Process, options: &Options) -> Result<Figures> {
    let mut client = Command::new("taskset");
    client.args(["-c", LOAD_CORE]).arg(governor::binary()?).args(["load", "client", "--json"]);
    client.args(["--connect", &format!("tcp://{}", governor::ADDRESS), "--origin-host", CLIENT]);
    client.args(["--origin-realm", "example.org", "--destination-realm", "example.net"]);
    client.arg("--duration").arg(format!("{}s", options.seconds)).arg("--size").arg(options.size.to_string());
    match options.rate {
        Some(rate) => client.arg("--rate").arg(rate.to_string()),
        None => client.arg("--outstanding").arg(options.outstanding.to_string()),
    };
    let before = relay.cpu_time()?;
    let mut client = Process::start(ns, "client", &client, &scratch.file("client.log"))?;
    let status = client.wait(Duration::from_secs(options.seconds + 30))?;
    let after = relay.cpu_time()?;
    let log = client.log();
    let report = log.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let report = report.with_context(|| format!("no report from the client ({status}):\n{log}"))?;
    // A relay that refuses or loses requests has not done the work that is measured here.
    ensure!(
        report["adds_up"] == true && report["by_result"]["2001"] == report["sent"] && report["sent"] != 0,
        "not every request was answered with 2001: {report}"
    );
    Figures::of(&report, before, after)
}

impl Relay {
    fn name(self) -> String {
        match self {
            Self::FreeDiameter => "freeDiameter".to_owned(),
            Self::Governor("off") => "governor".to_owned(),
            Self::Governor(_) => "governor, kernel assist".to_owned(),
        }
    }
}

impl Figures {
    fn of(report: &Value, before: CpuTime, after: CpuTime) -> Result<Self> {
        let number = |pointer: &str| {
            report.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no {pointer} in {report}"))
        };
        let requests = number("/answered")?;
        let user = after.user.saturating_sub(before.user).as_secs_f64();
        let system = after.system.saturating_sub(before.system).as_secs_f64();
        Ok(Self {
            rate: number("/rate")?,
            user: user * 1e6 / requests,
            system: system * 1e6 / requests,
            p50: number("/latency/p50")? / 1000.0,
            p99: number("/latency/p99")? / 1000.0,
            busy: (user + system) / number("/elapsed")?,
        })
    }

    fn cpu(&self) -> f64 {
        self.user + self.system
    }

    /// The run in the middle by CPU time a request: its figures belong together.
    fn median(runs: &[Self]) -> Self {
        let mut runs = runs.to_vec();
        runs.sort_by(|a, b| a.cpu().total_cmp(&b.cpu()));
        runs[runs.len() / 2]
    }

    fn json(&self) -> Value {
        serde_json::json!({
            "requests_per_second": self.rate, "cpu_us": self.cpu(), "user_us": self.user, "system_us": self.system,
            "p50_ms": self.p50, "p99_ms": self.p99, "core_busy": self.busy,
        })
    }
}
