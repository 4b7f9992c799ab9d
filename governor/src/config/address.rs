//! Transport addresses as the file spells them: `scheme://ip+ip:port`.
//!
//! IP addresses only, no host names: the addresses of peers are part of what is checked, and a name server that does not
//! answer must not decide when a connection comes back.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// How the bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// TCP
    Tcp,
    /// SCTP
    Sctp,
    /// TLS over TCP
    Tls,
}

/// One endpoint: a scheme, one or more IP addresses, one port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// How the bytes travel.
    pub scheme: Scheme,
    /// Its addresses, all with the same port; never empty, and more than one only for SCTP.
    pub endpoints: Vec<SocketAddr>,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// There is no `://`, or what stands before it is unknown.
    #[error("must begin with `tcp://`, `sctp://` or `tls://`")]
    Scheme,
    /// This build lacks the transport.
    #[error("`{0}://` is not supported by this build")]
    Unsupported(Scheme),
    /// A part is no IP address.
    #[error("`{0}` is not an IP address (IPv6 in brackets; host names are not resolved)")]
    Ip(String),
    /// A port is no number of 0 to 65535.
    #[error("`{0}` is not a port (0 to 65535)")]
    Port(String),
    /// Two parts name different ports.
    #[error("all addresses of one endpoint share one port, here are {0} and {1}")]
    Ports(u16, u16),
    /// The same address twice.
    #[error("`{0}` stands twice")]
    Twice(IpAddr),
    /// `+` where it has no meaning.
    #[error("several addresses joined by `+` are for `sctp://` only")]
    Several,
}

// === impl Scheme ===

impl Scheme {
    /// Can this build open and accept such connections?
    pub const fn is_supported(self) -> bool {
        matches!(self, Self::Tcp)
    }

    /// The port that Diameter has by default (RFC 6733 section 11.4).
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Tcp | Self::Sctp => 3868,
            Self::Tls => 5868,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Sctp => "sctp",
            Self::Tls => "tls",
        })
    }
}

// === impl Address ===

impl Address {
    /// The first (for TCP and TLS the only) address.
    pub fn primary(&self) -> Option<SocketAddr> {
        self.endpoints.first().copied()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.endpoints.first().map_or(0, SocketAddr::port)
    }
}

impl std::str::FromStr for Address {
    type Err = AddressError;

    /// Parses any scheme; whether this build has it is [`Scheme::is_supported`]'s to say.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = match text.split_once("://") {
            Some(("tcp", rest)) => (Scheme::Tcp, rest),
            Some(("sctp", rest)) => (Scheme::Sctp, rest),
            Some(("tls", rest)) => (Scheme::Tls, rest),
            _ => return Err(AddressError::Scheme),
        };
        let parts = rest.split('+').map(part).collect::<Result<Vec<_>, _>>()?;
        if parts.len() > 1 && scheme != Scheme::Sctp {
            return Err(AddressError::Several);
        }
        let mut port = None;
        for given in parts.iter().filter_map(|(_, port)| *port) {
            match port {
                Some(first) if first != given => return Err(AddressError::Ports(first, given)),
                _ => port = Some(given),
            }
        }
        let port = port.unwrap_or(scheme.default_port());
        let mut endpoints = Vec::with_capacity(parts.len());
        for (ip, _) in parts {
            let endpoint = SocketAddr::new(ip, port);
            if endpoints.contains(&endpoint) {
                return Err(AddressError::Twice(ip));
            }
            endpoints.push(endpoint);
        }
        Ok(Self { scheme, endpoints })
    }
}

/// `ip`, `ip:port`, `[ip]` or `[ip]:port`.
fn part(text: &str) -> Result<(IpAddr, Option<u16>), AddressError> {
    let no_ip = || AddressError::Ip(text.to_owned());
    let (ip, rest) = if let Some(inner) = text.strip_prefix('[') {
        let (ip, rest) = inner.split_once(']').ok_or_else(no_ip)?;
        (IpAddr::V6(ip.parse::<Ipv6Addr>().map_err(|_| no_ip())?), rest)
    } else {
        let end = text.find(':').unwrap_or(text.len());
        let (ip, rest) = text.split_at(end);
        (IpAddr::V4(ip.parse().map_err(|_| no_ip())?), rest)
    };
    if rest.is_empty() {
        return Ok((ip, None));
    }
    let digits = rest.strip_prefix(':').ok_or_else(no_ip)?;
    // `parse` alone would take "+1".
    let port = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    match port {
        Some(port) => Ok((ip, Some(port))),
        None => Err(AddressError::Port(digits.to_owned())),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        for (at, endpoint) in self.endpoints.iter().enumerate() {
            match (at, endpoint.ip()) {
                (0, IpAddr::V4(ip)) => write!(f, "{ip}")?,
                (0, IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
                (_, IpAddr::V4(ip)) => write!(f, "+{ip}")?,
                (_, IpAddr::V6(ip)) => write!(f, "+[{ip}]")?,
            }
        }
        write!(f, ":{}", self.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        text.parse::<Address>().unwrap_err().to_string()
    }

    #[test]
    fn every_form_is_read_and_printed_in_full() {
        for (text, printed) in [
            ("tcp://127.0.0.1:3868", "tcp://127.0.0.1:3868"),
            ("tcp://127.0.0.1", "tcp://127.0.0.1:3868"),
            ("tls://[::1]", "tls://[::1]:5868"),
            ("tcp://[2001:db8::1]:1", "tcp://[2001:db8::1]:1"),
            ("tcp://0.0.0.0:0", "tcp://0.0.0.0:0"),
            ("sctp://10.0.0.1+10.0.1.1:3868", "sctp://10.0.0.1+10.0.1.1:3868"),
            ("sctp://10.0.0.1:5+[::1]:5", "sctp://10.0.0.1+[::1]:5"),
            ("sctp://10.0.0.1:7+10.0.1.1", "sctp://10.0.0.1+10.0.1.1:7"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<Address>().unwrap(), address);
        }
    }

    #[test]
    fn what_is_no_address_is_told_why() {
        assert_eq!(fault("127.0.0.1:3868"), "must begin with `tcp://`, `sctp://` or `tls://`");
        assert_eq!(fault("udp://127.0.0.1:3868"), "must begin with `tcp://`, `sctp://` or `tls://`");
        let no_ip = "is not an IP address (IPv6 in brackets; host names are not resolved)";
        for text in ["hss.example.net:3868", "::1", "[::1", "[::1]x", "[127.0.0.1]:1", "1.2.3:1", "", " 127.0.0.1:1"] {
            assert_eq!(fault(&format!("tcp://{text}")), format!("`{text}` {no_ip}"));
        }
        assert_eq!(fault("sctp://127.0.0.1+:1"), format!("`:1` {no_ip}"));
        for port in ["", "65536", "-1", "+1", "3868/"] {
            let text = format!("tls://127.0.0.1:{port}");
            // A `+` parts two addresses.
            if !port.contains('+') {
                assert_eq!(fault(&text), format!("`{port}` is not a port (0 to 65535)"));
            }
        }
        assert_eq!(
            fault("sctp://1.1.1.1:1+2.2.2.2:2"),
            "all addresses of one endpoint share one port, here are 1 and 2"
        );
        assert_eq!(fault("sctp://1.1.1.1+1.1.1.1"), "`1.1.1.1` stands twice");
        assert_eq!(fault("tcp://1.1.1.1+2.2.2.2:1"), "several addresses joined by `+` are for `sctp://` only");
    }
}
