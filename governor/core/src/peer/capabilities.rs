//! Capabilities exchange (RFC 6733 section 5.3): what a CER or CEA says, judged before it is believed.

use super::{Local, failed_avp, message};
use crate::diameter::codes::{application, avp};
use crate::diameter::{Avp, AvpError, Header, Message};
use crate::refusal::code;
use bytes::Bytes;
use std::net::IpAddr;
use thiserror::Error;

/// The applications that a peer advertised. The vendor that stood beside one is not kept: it takes no part in the
/// comparison (RFC 6733 section 5.3), and one application under several vendors is legal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applications {
    /// The peer is a relay: every application.
    pub relay: bool,
    /// Auth-Application-Ids, ascending, each once.
    pub auth: Vec<u32>,
    /// Acct-Application-Ids, ascending, each once.
    pub acct: Vec<u32>,
}

/// What a peer said of itself in its CER or CEA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Origin-Host, as it came; identities compare without regard to case.
    pub origin_host: String,
    /// Origin-Realm, as it came.
    pub origin_realm: String,
    /// Product-Name; what is not UTF-8 in it is replaced.
    pub product_name: Option<String>,
    /// Vendor-Id
    pub vendor_id: Option<u32>,
    /// Firmware-Revision
    pub firmware_revision: Option<u32>,
    /// What it can be sent.
    pub applications: Applications,
    /// Origin-State-Id, if it has one.
    pub origin_state_id: Option<u32>,
    /// Host-IP-Addresses of the families IPv4 and IPv6.
    pub addresses: Vec<IpAddr>,
}

/// Why a CER (or CEA) is not accepted. Holds no text of the peer's that is longer than an identity may be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CapabilitiesError {
    /// It is not a CER (a CEA, for the answer).
    #[error("command {command} is not the Capabilities-Exchange expected")]
    NotCapabilities {
        /// Its command code.
        command: u32,
    },
    /// Not version 1: 5011.
    #[error("unsupported Diameter version {0}, expected 1")]
    Version(u8),
    /// The E bit on a request: 3008.
    #[error("the E bit is set in a request")]
    HeaderBits,
    /// An AVP whose length cannot be right: 5014.
    #[error("AVP {code}: {reason}")]
    AvpLength {
        /// AVP code.
        code: u32,
        /// What is wrong.
        reason: String,
        /// For Failed-AVP.
        failed: Vec<u8>,
    },
    /// A mandatory AVP is missing: 5005.
    #[error("mandatory AVP {code} ({name}) is missing")]
    Missing {
        /// AVP code.
        code: u32,
        /// Its name.
        name: &'static str,
        /// For Failed-AVP.
        failed: Vec<u8>,
    },
    /// One more than may stand there: 5009, naming the first over the bound.
    #[error("AVP {code} ({name}) occurs more than {most} times")]
    TooMany {
        /// AVP code.
        code: u32,
        /// Its name.
        name: &'static str,
        /// The bound.
        most: usize,
        /// For Failed-AVP.
        failed: Vec<u8>,
    },
    /// A value that cannot be: 5004.
    #[error("AVP {code} ({name}) {reason}")]
    Value {
        /// AVP code.
        code: u32,
        /// Its name.
        name: &'static str,
        /// What is wrong.
        reason: &'static str,
        /// For Failed-AVP.
        failed: Vec<u8>,
    },
    /// It offers security mechanisms, and none of them is `NO_INBAND_SECURITY`: 5017.
    #[error("no Inband-Security-Id in common: only NO_INBAND_SECURITY (0) is offered here")]
    NoCommonSecurity,
    /// Its Origin-Host is not the configured one: 3010.
    #[error("Origin-Host is {found}, expected {expected}")]
    Host {
        /// The configured one.
        expected: String,
        /// What it said.
        found: String,
    },
    /// Its Origin-Realm is not the configured one: 3010.
    #[error("Origin-Realm is {found}, expected {expected}")]
    Realm {
        /// The configured one.
        expected: String,
        /// What it said.
        found: String,
    },
}

/// Longest identity, octets: a fully qualified domain name's.
const MAX_IDENTITY: usize = 255;

// === impl Applications ===

impl Applications {
    /// May a request of that application be sent to this peer (RFC 6733 section 5.3)?
    pub fn supports(&self, application: u32) -> bool {
        self.relay || self.auth.binary_search(&application).is_ok() || self.acct.binary_search(&application).is_ok()
    }

    fn add_auth(&mut self, id: u32) {
        if id == application::RELAY { self.relay = true } else { self.auth.push(id) }
    }

    fn add_acct(&mut self, id: u32) {
        if id == application::RELAY { self.relay = true } else { self.acct.push(id) }
    }

    fn finish(&mut self) {
        for ids in [&mut self.auth, &mut self.acct] {
            ids.sort_unstable();
            ids.dedup();
        }
    }
}

// === impl Remote ===

impl Remote {
    /// Is it the peer that is configured? Says which of host and realm is not.
    pub fn expect(&self, host: &str, realm: Option<&str>) -> Result<(), CapabilitiesError> {
        if !self.origin_host.eq_ignore_ascii_case(host) {
            return Err(CapabilitiesError::Host { expected: host.to_owned(), found: self.origin_host.clone() });
        }
        match realm {
            Some(realm) if !self.origin_realm.eq_ignore_ascii_case(realm) => {
                Err(CapabilitiesError::Realm { expected: realm.to_owned(), found: self.origin_realm.clone() })
            }
            _ => Ok(()),
        }
    }
}

// === impl CapabilitiesError ===

impl CapabilitiesError {
    /// The Result-Code it is answered with (RFC 6733 section 7.1).
    pub const fn result_code(&self) -> u32 {
        match self {
            Self::NotCapabilities { .. } => code::UNABLE_TO_COMPLY,
            Self::Version(_) => code::UNSUPPORTED_VERSION,
            Self::HeaderBits => code::INVALID_HDR_BITS,
            Self::AvpLength { .. } => code::INVALID_AVP_LENGTH,
            Self::Missing { .. } => code::MISSING_AVP,
            Self::TooMany { .. } => code::AVP_OCCURS_TOO_MANY_TIMES,
            Self::Value { .. } => code::INVALID_AVP_VALUE,
            Self::NoCommonSecurity => code::NO_COMMON_SECURITY,
            Self::Host { .. } | Self::Realm { .. } => code::UNKNOWN_PEER,
        }
    }

    /// What Failed-AVP holds; empty: there is none.
    pub fn failed_avp(&self) -> &[u8] {
        match self {
            Self::AvpLength { failed, .. }
            | Self::Missing { failed, .. }
            | Self::TooMany { failed, .. }
            | Self::Value { failed, .. } => failed,
            _ => &[],
        }
    }

    /// The CEA that says so; the connection is to be closed once it is written.
    pub fn answer(&self, cer: &Message<'_>, local: &Local) -> Bytes {
        message::refusing_cea(local, &cer.header, self.result_code(), &self.to_string(), self.failed_avp())
    }
}

/// The CEA to a peer that is in no configuration: 3010 with the E bit. `why` goes into Error-Message.
pub fn unknown_peer_answer(cer: &Message<'_>, local: &Local, why: &str) -> Bytes {
    message::refusing_cea(local, &cer.header, code::UNKNOWN_PEER, why, &[])
}

/// Judges a CER. 5010 is never among the answers: a relay has every application in common with everybody
/// (RFC 6733 section 5.3).
pub fn parse_cer(cer: &Message<'_>) -> Result<Remote, CapabilitiesError> {
    if cer.header.version != Header::VERSION {
        return Err(CapabilitiesError::Version(cer.header.version));
    }
    expect_command(cer, true)?;
    if cer.header.flags.is_error() {
        return Err(CapabilitiesError::HeaderBits);
    }
    read(cer)
}

/// Judges a CEA whose Result-Code said success.
pub(super) fn parse_cea(cea: &Message<'_>) -> Result<Remote, CapabilitiesError> {
    expect_command(cea, false)?;
    read(cea)
}

fn expect_command(message: &Message<'_>, request: bool) -> Result<(), CapabilitiesError> {
    let header = &message.header;
    if header.command == crate::diameter::codes::command::CAPABILITIES_EXCHANGE && header.flags.is_request() == request
    {
        return Ok(());
    }
    Err(CapabilitiesError::NotCapabilities { command: header.command })
}

/// An AVP of which one may stand there.
struct Once<T> {
    code: u32,
    name: &'static str,
    value: Option<T>,
}

impl<T> Once<T> {
    const fn new(code: u32, name: &'static str) -> Self {
        Self { code, name, value: None }
    }

    fn set(&mut self, avp: &Avp<'_>, value: T) -> Result<(), CapabilitiesError> {
        if self.value.replace(value).is_none() {
            return Ok(());
        }
        Err(CapabilitiesError::TooMany {
            code: self.code,
            name: self.name,
            most: 1,
            failed: failed_avp::as_it_came(avp),
        })
    }

    /// The value, or 5005; `zeros` is the shortest data its type allows.
    fn required(self, zeros: usize) -> Result<T, CapabilitiesError> {
        self.value.ok_or_else(|| missing(self.code, self.name, zeros))
    }
}

fn missing(code: u32, name: &'static str, zeros: usize) -> CapabilitiesError {
    CapabilitiesError::Missing { code, name, failed: failed_avp::zeroed(code, zeros) }
}

fn read(message: &Message<'_>) -> Result<Remote, CapabilitiesError> {
    let bytes = message.bytes().get(Header::LEN..).unwrap_or_default();
    let mut host = Once::new(avp::ORIGIN_HOST, "Origin-Host");
    let mut realm = Once::new(avp::ORIGIN_REALM, "Origin-Realm");
    let mut vendor = Once::new(avp::VENDOR_ID, "Vendor-Id");
    let mut product = Once::new(avp::PRODUCT_NAME, "Product-Name");
    let mut state = Once::new(avp::ORIGIN_STATE_ID, "Origin-State-Id");
    let mut firmware = Once::new(avp::FIRMWARE_REVISION, "Firmware-Revision");
    let mut has_address = false;
    let mut addresses = Vec::new();
    let mut applications = Applications::default();
    let mut security = None;

    for avp in message.avps() {
        let avp = avp.map_err(|e| malformed(&e, e.failed_avp(bytes)))?;
        if !avp.is_ietf() {
            continue;
        }
        match avp.code {
            avp::ORIGIN_HOST => host.set(&avp, identity(&avp, "Origin-Host")?)?,
            avp::ORIGIN_REALM => realm.set(&avp, identity(&avp, "Origin-Realm")?)?,
            avp::VENDOR_ID => vendor.set(&avp, unsigned32(&avp)?)?,
            avp::PRODUCT_NAME => product.set(&avp, String::from_utf8_lossy(avp.data).into_owned())?,
            avp::ORIGIN_STATE_ID => state.set(&avp, unsigned32(&avp)?)?,
            avp::FIRMWARE_REVISION => firmware.set(&avp, unsigned32(&avp)?)?,
            avp::HOST_IP_ADDRESS => {
                has_address = true;
                addresses.extend(address(&avp)?);
            }
            avp::AUTH_APPLICATION_ID => applications.add_auth(unsigned32(&avp)?),
            avp::ACCT_APPLICATION_ID => applications.add_acct(unsigned32(&avp)?),
            avp::VENDOR_SPECIFIC_APPLICATION_ID => vendor_specific(&avp, &mut applications)?,
            avp::INBAND_SECURITY_ID => {
                let none = unsigned32(&avp)? == 0;
                security = Some(security.unwrap_or(false) || none);
            }
            // Unknown AVPs, the M flag set or not, are no reason to refuse a peer.
            _ => {}
        }
    }
    // In the order of the RFC's grammar, so that the first that is missing is the one named.
    let origin_host = host.required(0)?;
    let origin_realm = realm.required(0)?;
    if !has_address {
        return Err(missing(avp::HOST_IP_ADDRESS, "Host-IP-Address", 6));
    }
    let vendor_id = Some(vendor.required(4)?);
    let product_name = Some(product.required(0)?);
    if security == Some(false) {
        return Err(CapabilitiesError::NoCommonSecurity);
    }
    applications.finish();
    Ok(Remote {
        origin_host,
        origin_realm,
        vendor_id,
        product_name,
        firmware_revision: firmware.value,
        applications,
        origin_state_id: state.value,
        addresses,
    })
}

fn malformed(error: &AvpError, failed: Vec<u8>) -> CapabilitiesError {
    let code = match *error {
        AvpError::Truncated { .. } => 0,
        AvpError::TooShort { code, .. } | AvpError::PastEnd { code, .. } => code,
    };
    CapabilitiesError::AvpLength { code, reason: error.to_string(), failed }
}

fn unsigned32(avp: &Avp<'_>) -> Result<u32, CapabilitiesError> {
    avp.u32().ok_or_else(|| CapabilitiesError::AvpLength {
        code: avp.code,
        reason: format!("{} bytes of data, expected 4", avp.data.len()),
        failed: failed_avp::zeroed(avp.code, 4),
    })
}

/// An identity (`DiameterIdentity`): what can stand in a domain name (or in a name of one's own making), and be put into a log line.
fn identity(avp: &Avp<'_>, name: &'static str) -> Result<String, CapabilitiesError> {
    let value = |reason| CapabilitiesError::Value {
        code: avp.code,
        name,
        reason,
        // The start of it is enough: a CEA is not the place to send 64 KiB back.
        failed: failed_avp::group(avp.code, &avp.data[..avp.data.len().min(MAX_IDENTITY)]),
    };
    if avp.data.is_empty() {
        return Err(value("is empty"));
    }
    if avp.data.len() > MAX_IDENTITY {
        return Err(value("is longer than 255 octets"));
    }
    if !avp.data.iter().all(u8::is_ascii_graphic) {
        return Err(value("is not printable ASCII without blanks"));
    }
    avp.str().map(str::to_owned).ok_or_else(|| value("is not ASCII"))
}

/// An Address (RFC 6733 section 4.3.1); `None` for a family other than IPv4 and IPv6.
fn address(avp: &Avp<'_>) -> Result<Option<IpAddr>, CapabilitiesError> {
    let fault = || CapabilitiesError::AvpLength {
        code: avp.code,
        reason: format!("{} bytes of data do not fit the address family", avp.data.len()),
        failed: failed_avp::zeroed(avp.code, 6),
    };
    let (family, octets) = avp.data.split_first_chunk::<2>().ok_or_else(fault)?;
    Ok(match u16::from_be_bytes(*family) {
        1 => Some(IpAddr::from(<[u8; 4]>::try_from(octets).map_err(|_| fault())?)),
        2 => Some(IpAddr::from(<[u8; 16]>::try_from(octets).map_err(|_| fault())?)),
        _ => None,
    })
}

/// Vendor-Specific-Application-Id (RFC 6733 section 6.11). Ours: several Vendor-Ids, or both kinds of Application-Id, are
/// taken as they are (RFC 3588 allowed the first, and peers send the second); a kind twice is 5009, none of them 5005.
fn vendor_specific(group: &Avp<'_>, applications: &mut Applications) -> Result<(), CapabilitiesError> {
    let mut auth = Once::new(avp::AUTH_APPLICATION_ID, "Auth-Application-Id");
    let mut acct = Once::new(avp::ACCT_APPLICATION_ID, "Acct-Application-Id");
    let within = |error: CapabilitiesError| error.within(group.code);
    for inner in group.grouped() {
        let inner = inner.map_err(|e| within(malformed(&e, e.failed_avp(group.data))))?;
        if !inner.is_ietf() {
            continue;
        }
        match inner.code {
            avp::AUTH_APPLICATION_ID => {
                let id = unsigned32(&inner).map_err(within)?;
                auth.set(&inner, id).map_err(within)?;
            }
            avp::ACCT_APPLICATION_ID => {
                let id = unsigned32(&inner).map_err(within)?;
                acct.set(&inner, id).map_err(within)?;
            }
            _ => {}
        }
    }
    if auth.value.is_none() && acct.value.is_none() {
        return Err(within(missing(avp::AUTH_APPLICATION_ID, "Auth-Application-Id", 4)));
    }
    auth.value.into_iter().for_each(|id| applications.add_auth(id));
    acct.value.into_iter().for_each(|id| applications.add_acct(id));
    Ok(())
}

impl CapabilitiesError {
    /// The same, of an AVP inside a Grouped one: Failed-AVP shows where it stood (RFC 6733 section 7.5).
    fn within(mut self, group: u32) -> Self {
        if let Self::AvpLength { failed, .. }
        | Self::Missing { failed, .. }
        | Self::TooMany { failed, .. }
        | Self::Value { failed, .. } = &mut self
        {
            *failed = failed_avp::group(group, failed);
        }
        self
    }
}
