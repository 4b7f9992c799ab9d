//! `governor load`: Diameter load, one end or both, with a report that adds up.

use super::log;
use crate::load::{
    Behaviour, Client, ClientOptions, Endpoint, Identity, LoadError, Pace, PriorityMix, Server, ServerOptions,
};
use anyhow::Context as _;
use clap::{Args as ClapArgs, Subcommand};
use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Arguments of `governor load`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    end: End,
    /// Print the report as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Answer requests until stopped
    Server {
        /// Where to listen; port 0 takes a free one
        #[arg(long, value_name = "tcp://ADDRESS:PORT")]
        listen: Endpoint,
        /// How long to run; without it until ctrl-c or SIGTERM
        #[arg(long, value_parser = span, value_name = "TIME")]
        duration: Option<Duration>,
        /// Origin-Host of the server
        #[arg(long, default_value = "hss1.example.net", value_name = "HOST")]
        origin_host: String,
        /// Origin-Realm of the server
        #[arg(long, default_value = "example.net", value_name = "REALM")]
        origin_realm: String,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Send requests; exit 1 if one went unanswered or the counts do not add up
    Client {
        /// Where to connect
        #[arg(long, value_name = "tcp://ADDRESS:PORT")]
        connect: Endpoint,
        /// Origin-Host of the client; {n} becomes the connection's number
        #[arg(long, default_value = "client.example.net", value_name = "HOST")]
        origin_host: String,
        /// Origin-Realm of the client
        #[arg(long, default_value = "example.net", value_name = "REALM")]
        origin_realm: String,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// A client against a server of its own, on loopback
    Both {
        #[command(flatten)]
        client: ClientArgs,
        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, ClapArgs)]
struct ServerArgs {
    /// Application-Ids to advertise; 4294967295 is relay
    #[arg(long = "advertise", value_delimiter = ',', default_values_t = [u32::MAX], value_name = "ID")]
    applications: Vec<u32>,
    /// How long an answer takes
    #[arg(long, value_parser = span, default_value = "0s", value_name = "TIME")]
    delay: Duration,
    /// Result-Code of the answers
    #[arg(long, default_value_t = 2001, value_name = "CODE")]
    result: u32,
    /// Answer every Nth request with 3004
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    busy_every: Option<u32>,
    /// Answer requests over so many a second with 3004
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "RATE")]
    busy_after_rate: Option<u32>,
    /// Answer requests of this DRMP value and above, and those without one, with 3004
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..16), value_name = "N")]
    busy_from_drmp: Option<u8>,
    /// Put another Origin-Host into the answers, as of a node behind this one
    #[arg(long, value_name = "HOST")]
    behind: Option<String>,
    /// Answer no request (watchdogs are answered)
    #[arg(long)]
    silent: bool,
    /// Stop reading after so many requests
    #[arg(long, value_name = "N")]
    stop_reading_after: Option<u64>,
    /// Read again so long after stopping
    #[arg(long, value_parser = span, requires = "stop_reading_after", value_name = "TIME")]
    read_again_after: Option<Duration>,
    /// Socket receive buffer, bytes: a small one makes a server that stopped reading felt soon
    #[arg(long, value_name = "BYTES")]
    receive_buffer: Option<usize>,
    /// Connections at a time; one more is closed at once
    #[arg(long, value_name = "N")]
    max_connections: Option<usize>,
}

#[derive(Debug, ClapArgs)]
struct ClientArgs {
    /// Destination-Realm of the requests
    #[arg(long, default_value = "example.net", value_name = "REALM")]
    destination_realm: String,
    /// Destination-Host of the requests
    #[arg(long, value_name = "HOST")]
    destination_host: Option<String>,
    /// Application-Id of the requests, and what the client advertises
    #[arg(long, default_value_t = 16_777_251, value_name = "ID")]
    application: u32,
    /// Command code of the requests
    #[arg(long, default_value_t = 316, value_name = "CODE")]
    command: u32,
    /// Requests/s on a fixed schedule (open loop): latency counts from the intended time of sending
    #[arg(long, conflicts_with = "outstanding", value_parser = rate, value_name = "N[/s]")]
    rate: Option<f64>,
    /// Requests kept unanswered at a time (closed loop); the default, with 256
    #[arg(long, value_name = "N")]
    outstanding: Option<usize>,
    /// Connections
    #[arg(long, default_value_t = 1, value_name = "N")]
    connections: usize,
    /// Threads; a connection stays on its thread
    #[arg(long, default_value_t = 1, value_name = "N")]
    threads: usize,
    /// How long to send; 10 s without --count
    #[arg(long, value_parser = span, value_name = "TIME")]
    duration: Option<Duration>,
    /// How many requests to send
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Pad requests to so many bytes
    #[arg(long, value_name = "BYTES")]
    size: Option<usize>,
    /// Priorities of the requests, as DRMP: 0 to 2, `mix`, weights as 0:5,1:3,2:2, or DRMP values as drmp7
    #[arg(long, default_value = "none", value_name = "MIX")]
    priority: PriorityMix,
    /// DRMP value of the requests, 0 (highest) to 15
    #[arg(long, conflicts_with = "priority", value_parser = clap::value_parser!(u8).range(0..16), value_name = "N")]
    drmp: Option<u8>,
    /// How long to wait for an answer
    #[arg(long, value_parser = span, default_value = "5s", value_name = "TIME")]
    timeout: Duration,
}

/// Runs the load; exit code 1 if a request went unanswered or the counts do not add up.
///
/// # Errors
/// An end that could not start.
pub fn run(Args { end, json }: Args) -> anyhow::Result<ExitCode> {
    log::init()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    match end {
        End::Server { listen, duration, origin_host, origin_realm, server } => {
            let server = Server::start(&server.options(listen, &origin_host, &origin_realm))?;
            eprintln!("listening on {}", Endpoint(server.address()));
            runtime.block_on(stopped_or(async {
                match duration {
                    Some(duration) => tokio::time::sleep(duration).await,
                    None => std::future::pending().await,
                }
            }))?;
            let report = server.stop();
            print(json, &report)?;
            Ok(ExitCode::SUCCESS)
        }
        End::Client { connect, origin_host, origin_realm, client } => {
            let options = client.options(connect, &origin_host, &origin_realm)?;
            let report = attend(&runtime, Client::start(&options)?)?;
            print(json, &report)?;
            Ok(exit(report.is_clean()))
        }
        End::Both { client, server } => {
            let loopback = Endpoint(([127, 0, 0, 1], 0).into());
            let server = Server::start(&server.options(loopback, "server.example.net", "example.net"))?;
            let client = client.options(Endpoint(server.address()), "client.example.net", "example.net")?;
            let asked = attend(&runtime, Client::start(&client)?)?;
            let answered = server.stop();
            if json {
                println!("{}", serde_json::json!({ "client": asked, "server": answered }));
            } else {
                println!("{asked}\n\nserver\n{answered}");
            }
            Ok(exit(asked.is_clean()))
        }
    }
}

/// Waits for the client's end; a signal ends the sending, and what is outstanding is still waited for.
fn attend(runtime: &tokio::runtime::Runtime, client: Client) -> anyhow::Result<crate::load::ClientReport> {
    runtime.block_on(stopped_or(async {
        while !client.is_finished() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }))?;
    if !client.is_finished() {
        client.stop();
    }
    Ok(client.join())
}

/// Until `done`, ctrl-c or SIGTERM.
async fn stopped_or(done: impl Future<Output = ()>) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    tokio::select! {
        () = done => {}
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted.context("listen for ctrl-c")?,
    }
    Ok(())
}

fn print(json: bool, report: &(impl serde::Serialize + std::fmt::Display)) -> anyhow::Result<()> {
    if json {
        println!("{}", serde_json::to_string(report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}

const fn exit(clean: bool) -> ExitCode {
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl ServerArgs {
    fn options(self, Endpoint(listen): Endpoint, host: &str, realm: &str) -> ServerOptions {
        ServerOptions {
            listen,
            identity: Identity { applications: self.applications, ..Identity::relay(host, realm) },
            behaviour: Behaviour {
                delay: self.delay,
                result: self.result,
                busy_every: self.busy_every,
                busy_above_rate: self.busy_after_rate,
                busy_from_drmp: self.busy_from_drmp,
                behind: self.behind,
                silent: self.silent,
                stopped: false,
                stop_after: self.stop_reading_after,
                read_again_after: self.read_again_after,
            },
            receive_buffer: self.receive_buffer,
            max_connections: self.max_connections,
        }
    }
}

impl ClientArgs {
    fn options(self, Endpoint(connect): Endpoint, host: &str, realm: &str) -> Result<ClientOptions, LoadError> {
        let priorities = match self.drmp {
            Some(drmp) => format!("drmp{drmp}").parse().map_err(LoadError::Option)?,
            None => self.priority,
        };
        Ok(ClientOptions {
            connect,
            identity: Identity { applications: vec![self.application], ..Identity::relay(host, realm) },
            destination_realm: self.destination_realm,
            destination_host: self.destination_host,
            application: self.application,
            command: self.command,
            pace: self.rate.map_or_else(
                || Pace::Outstanding(self.outstanding.unwrap_or_else(|| self.connections.max(256))),
                Pace::Rate,
            ),
            connections: self.connections,
            threads: self.threads,
            duration: self.duration.or_else(|| self.count.is_none().then_some(Duration::from_secs(10))),
            count: self.count,
            size: self.size,
            priorities,
            timeout: self.timeout,
        })
    }
}

/// `500us`, `5ms`, `1.5s`, `2m`.
fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        unit => return Err(format!("{unit:?} is not us, ms, s or m")),
    };
    let number: f64 = digits.parse().map_err(|e| format!("{digits:?}: {e}"))?;
    Duration::try_from_secs_f64(number * unit).map_err(|e| e.to_string())
}

/// `2000`, or `2000/s`.
fn rate(text: &str) -> Result<f64, String> {
    text.strip_suffix("/s").unwrap_or(text).parse().map_err(|e| format!("{text:?}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(line.split(' ')).map(|line| line.args)
    }

    #[test]
    fn a_client_line_becomes_its_options() {
        let line =
            "load client --connect tcp://127.0.0.1:9 --origin-host c --rate 2000/s --drmp 7 --timeout 250ms --json";
        let Args { end: End::Client { connect, origin_host, client, .. }, json: true } = parse(line).unwrap() else {
            panic!("{line}");
        };
        let options = client.options(connect, &origin_host, "r").unwrap();
        assert_eq!((options.pace, options.timeout), (Pace::Rate(2000.0), Duration::from_millis(250)));
        assert_eq!((options.identity.host.as_str(), options.duration), ("c", Some(Duration::from_secs(10))));
        assert_eq!(options.priorities, "drmp7".parse().unwrap());
    }

    #[test]
    fn a_server_line_becomes_its_options() {
        let line = "load server --listen tcp://127.0.0.1:0 --origin-host s --delay 5ms --busy-every 3 --behind b";
        let Args { end: End::Server { listen, origin_host, server, .. }, .. } = parse(line).unwrap() else {
            panic!("{line}");
        };
        let options = server.options(listen, &origin_host, "r");
        assert_eq!(options.identity.host, "s");
        let expected = Behaviour {
            delay: Duration::from_millis(5),
            busy_every: Some(3),
            behind: Some("b".into()),
            ..Behaviour::default()
        };
        assert_eq!(options.behaviour, expected);
    }

    #[test]
    fn both_ends_take_their_options_in_one_line() {
        Line::command().debug_assert();
        let line = "load both --outstanding 8 --count 10 --delay 1ms --json";
        assert!(matches!(parse(line).unwrap().end, End::Both { .. }));
    }

    #[test]
    fn lines_that_contradict_themselves_are_refused() {
        for line in [
            "load client --connect tcp://127.0.0.1:9 --rate 1 --outstanding 1",
            "load client --connect udp://127.0.0.1:9",
            "load client --connect tcp://127.0.0.1:9 --timeout 5",
            "load client --connect tcp://127.0.0.1:9 --drmp 16",
            "load server --listen tcp://127.0.0.1:9 --busy-every 0",
            "load server --listen tcp://127.0.0.1:9 --read-again-after 1s",
            "load",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
