//! The base protocol's messages of both ends (RFC 6733 sections 5.3 to 5.5).

use bytes::Bytes;
use governor_core::diameter::avp::MANDATORY;
use governor_core::diameter::build::put_avp;
use governor_core::diameter::codes::{application, avp, command};
use governor_core::diameter::{Builder, Flags, Header, Message};
use governor_core::refusal::code;
use std::net::IpAddr;

/// 3GPP: owner of the vendor-specific applications that are advertised.
const VENDOR_3GPP: u32 = 10415;
/// Applications from here on are vendor-specific (RFC 6733 section 11.3).
const FIRST_VENDOR_APPLICATION: u32 = 0x0100_0000;
/// Result-Code `DIAMETER_COMMAND_UNSUPPORTED`.
const COMMAND_UNSUPPORTED: u32 = 3001;
/// Disconnect-Cause REBOOTING: the peer may connect again as usual.
const REBOOTING: u32 = 0;

/// Who an end of the load says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Origin-Host.
    pub host: String,
    /// Origin-Realm.
    pub realm: String,
    /// Application-Ids it advertises; 0xffffffff is relay.
    pub applications: Vec<u32>,
    /// Origin-State-Id, the same for the whole run.
    pub state_id: u32,
}

impl Identity {
    /// An end of that name that advertises relay.
    pub fn relay(host: &str, realm: &str) -> Self {
        Self { host: host.to_owned(), realm: realm.to_owned(), applications: vec![application::RELAY], state_id: 1 }
    }

    /// Capabilities-Exchange-Request. Inband-Security-Id 0 is in it since a peer may insist on knowing that no TLS follows.
    pub fn cer(&self, local: IpAddr, hop_by_hop: u32) -> Bytes {
        let b = Builder::request(command::CAPABILITIES_EXCHANGE, application::BASE, 0, hop_by_hop, hop_by_hop);
        self.capabilities(self.origin(b), local).u32(avp::INBAND_SECURITY_ID, 0).finish()
    }

    /// Capabilities-Exchange-Answer, success.
    pub fn cea(&self, request: &Header, local: IpAddr) -> Bytes {
        let b = Builder::answer(request).u32(avp::RESULT_CODE, code::SUCCESS);
        self.capabilities(self.origin(b), local).finish()
    }

    /// Device-Watchdog-Answer, success.
    pub fn dwa(&self, request: &Header) -> Bytes {
        let b = Builder::answer(request).u32(avp::RESULT_CODE, code::SUCCESS);
        self.origin(b).u32(avp::ORIGIN_STATE_ID, self.state_id).finish()
    }

    /// Disconnect-Peer-Request.
    pub fn dpr(&self, hop_by_hop: u32) -> Bytes {
        let b = Builder::request(command::DISCONNECT_PEER, application::BASE, 0, hop_by_hop, hop_by_hop);
        self.origin(b).u32(avp::DISCONNECT_CAUSE, REBOOTING).finish()
    }

    /// Disconnect-Peer-Answer, success.
    pub fn dpa(&self, request: &Header) -> Bytes {
        self.origin(Builder::answer(request).u32(avp::RESULT_CODE, code::SUCCESS)).finish()
    }

    /// The answer to a request that this end does not serve.
    pub fn unsupported(&self, request: &Message<'_>) -> Bytes {
        let b = Builder::answer(&request.header).error().session_of(request);
        self.origin(b.u32(avp::RESULT_CODE, COMMAND_UNSUPPORTED)).proxy_info_of(request).finish()
    }

    fn origin(&self, b: Builder) -> Builder {
        b.bytes(avp::ORIGIN_HOST, self.host.as_bytes()).bytes(avp::ORIGIN_REALM, self.realm.as_bytes())
    }

    fn capabilities(&self, b: Builder, local: IpAddr) -> Builder {
        let mut b = b
            .bytes(avp::HOST_IP_ADDRESS, &address(local))
            .u32(avp::VENDOR_ID, 0)
            .avp(avp::PRODUCT_NAME, None, 0, b"governor load")
            .u32(avp::ORIGIN_STATE_ID, self.state_id);
        let vendor_specific = |id: u32| (FIRST_VENDOR_APPLICATION..application::RELAY).contains(&id);
        if self.applications.iter().any(|id| vendor_specific(*id)) {
            b = b.u32(avp::SUPPORTED_VENDOR_ID, VENDOR_3GPP);
        }
        for id in &self.applications {
            b = if vendor_specific(*id) {
                let mut group = bytes::BytesMut::new();
                put_avp(&mut group, avp::VENDOR_ID, None, MANDATORY, &VENDOR_3GPP.to_be_bytes());
                put_avp(&mut group, avp::AUTH_APPLICATION_ID, None, MANDATORY, &id.to_be_bytes());
                b.bytes(avp::VENDOR_SPECIFIC_APPLICATION_ID, &group)
            } else {
                b.u32(avp::AUTH_APPLICATION_ID, *id)
            };
        }
        b
    }
}

/// What a message of the base protocol asks of an end, seen from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// CER
    CapabilitiesRequest,
    /// DWR
    WatchdogRequest,
    /// DPR
    DisconnectRequest,
    /// DPA
    DisconnectAnswer,
    /// A request of an application.
    Request,
    /// An answer of an application.
    Answer,
    /// Any other answer of the base protocol.
    BaseAnswer,
}

impl Kind {
    pub(super) const fn of(header: &Header) -> Self {
        match (header.command, header.flags.0 & Flags::REQUEST != 0) {
            (command::CAPABILITIES_EXCHANGE, true) => Self::CapabilitiesRequest,
            (command::DEVICE_WATCHDOG, true) => Self::WatchdogRequest,
            (command::DISCONNECT_PEER, true) => Self::DisconnectRequest,
            (command::DISCONNECT_PEER, false) => Self::DisconnectAnswer,
            (command::CAPABILITIES_EXCHANGE | command::DEVICE_WATCHDOG, false) => Self::BaseAnswer,
            (_, true) => Self::Request,
            (_, false) => Self::Answer,
        }
    }
}

/// Data of an Address AVP: family 1 or 2, then the address (RFC 6733 section 4.3.1).
fn address(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => [&[0, 1][..], &ip.octets()].concat(),
        IpAddr::V6(ip) => [&[0, 2][..], &ip.octets()].concat(),
    }
}
