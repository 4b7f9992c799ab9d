//! The demo's servers and the configuration of the relay in front of them.

use crate::load::{Identity, LoadError, Server, ServerOptions};
use std::net::{Ipv4Addr, SocketAddr};

/// The servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Always well.
    A,
    /// Slows down, stops reading, reads again.
    B,
    /// Answers 3004 for a while.
    C,
    /// Has a throttle set.
    D,
}

impl Site {
    /// All of them, in the order of the configuration.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    /// The connection's name in the configuration.
    pub const fn connection(self) -> &'static str {
        match self {
            Self::A => "server-a",
            Self::B => "server-b",
            Self::C => "server-c",
            Self::D => "server-d",
        }
    }

    /// Origin-Host.
    pub fn host(self) -> String {
        format!("{}.example.net", self.connection())
    }

    /// What the view says of it.
    pub const fn about(self) -> &'static str {
        match self {
            Self::A => "well throughout",
            Self::B => "slows down, then stops reading",
            Self::C => "answers 3004 for a while",
            Self::D => "at most 500 messages/s",
        }
    }
}

/// Origin-Host of the demo's client.
pub const CLIENT: &str = "client.example.net";
/// Realm of all of it.
pub const REALM: &str = "example.net";

/// The running servers, in the order of [`Site::ALL`].
pub struct Pool {
    servers: Vec<Server>,
}

impl Pool {
    /// Starts each server on a free port of loopback.
    pub fn start() -> Result<Self, LoadError> {
        let servers = Site::ALL.iter().map(|site| {
            let mut options = ServerOptions::new(any_port(), Identity::relay(&site.host(), REALM));
            // Small, like the relay's send buffer for B: otherwise megabytes fit in between before a stop is felt.
            options.receive_buffer = (*site == Site::B).then_some(4096);
            Server::start(&options)
        });
        Ok(Self { servers: servers.collect::<Result<_, _>>()? })
    }

    /// One of them.
    pub fn server(&self, site: Site) -> &Server {
        &self.servers[site as usize]
    }

    /// Stops all, and gives what each saw.
    pub fn stop(self) -> Vec<crate::load::ServerReport> {
        self.servers.into_iter().map(Server::stop).collect()
    }

    /// Where each listens.
    pub fn addresses(&self) -> [SocketAddr; 4] {
        Site::ALL.map(|site| self.server(site).address())
    }
}

/// A free port of loopback.
fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// The relay's configuration, as an operator would write it: abatement times at their shortest, so that the whole way up
/// and down is seen in 20 s.
pub fn configuration(listen: SocketAddr, servers: [SocketAddr; 4], kernel: bool) -> String {
    let [a, b, c, d] = servers;
    let kernel = if kernel { "auto" } else { "off" };
    format!(
        r#"[node]
origin_host = "governor.example.net"
origin_realm = "example.net"
listen = ["tcp://{listen}"]
control = "off"                          # the demo has its own view
kernel_assist = "{kernel}"
answer_timeout = "1s"                    # then the request goes to another server, with the T flag
max_attempts = 4                         # connections a request is tried on

[throttle.silver]                        # for D: levels 1, 2, 3 at 300, 375, 450 messages/s
max_rate = 500
throttle = [60, 75, 90]
abatement = [55, 70, 85]

[[peer]]
host = "client.example.net"
realm = "example.net"

[[peer.connection]]                      # no address: the client connects to us
name = "client"

[[peer]]
host = "server-a.example.net"
realm = "example.net"

[[peer.connection]]
name = "server-a"
address = "tcp://{a}"

[[peer]]
host = "server-b.example.net"
realm = "example.net"

[[peer.connection]]
name = "server-b"
address = "tcp://{b}"
send_buffer = 16384                      # small, so that a server that stops reading is felt at once
transport_congestion = {{ abatement = "3s" }}

[[peer]]
host = "server-c.example.net"
realm = "example.net"

[[peer.connection]]
name = "server-c"
address = "tcp://{c}"
remote_busy = {{ usage = "on", abatement = "1s" }}

[[peer]]
host = "server-d.example.net"
realm = "example.net"

[[peer.connection]]
name = "server-d"
address = "tcp://{d}"
throttle = "silver"

[[route]]
name = "servers"
realm = "example.net"
groups = [ {{ weights = {{ "server-a" = 25, "server-b" = 25, "server-c" = 25, "server-d" = 25 }} }} ]
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_has_no_fault() {
        let address: SocketAddr = "127.0.0.1:3868".parse().unwrap();
        let servers = [3871, 3872, 3873, 3874].map(|port| (Ipv4Addr::LOCALHOST, port).into());
        let text = configuration(address, servers, false);
        let config = crate::config::parse(&text, "demo").unwrap_or_else(|faults| panic!("{faults}"));
        assert!(config.notes.is_empty(), "{:?}", config.notes);
        assert_eq!(config.settings.connections.len(), 5);
        for site in Site::ALL {
            let at = config.settings.connection(site.connection()).unwrap();
            assert_eq!(config.settings.peer_of(at).host, site.host());
        }
    }
}
