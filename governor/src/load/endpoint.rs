//! Addresses as the command line spells them: `tcp://host:port`.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// A TCP endpoint, `tcp://address:port`; a host name is looked up once, here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint(pub SocketAddr);

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("tcp", text));
        if scheme != "tcp" {
            return Err(format!("the load speaks tcp:// only, not {scheme}://"));
        }
        if let Ok(address) = rest.parse() {
            return Ok(Self(address));
        }
        let mut found = rest.to_socket_addrs().map_err(|e| format!("{rest}: {e}"))?;
        found.next().map(Self).ok_or_else(|| format!("{rest} has no address"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tcp://{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_tcp_with_a_port() {
        assert_eq!("tcp://127.0.0.1:3869".parse::<Endpoint>().unwrap().0, "127.0.0.1:3869".parse().unwrap());
        assert_eq!("tcp://[::1]:3869".parse::<Endpoint>().unwrap().0, "[::1]:3869".parse().unwrap());
        assert!("sctp://127.0.0.1:3869".parse::<Endpoint>().unwrap_err().contains("tcp://"));
        assert!("tcp://127.0.0.1".parse::<Endpoint>().is_err());
    }
}
