//! The messages that the scripted peers send, and how they read what they get.

use bytes::Bytes;
use governor_core::diameter::codes::{application, avp, command};
use governor_core::diameter::{Builder, Flags, Header, Message};
use governor_core::peer::DisconnectCause;
use governor_core::time::Time;

pub const S6A: u32 = 16_777_251;
pub const GX: u32 = 16_777_238;
pub const UPDATE_LOCATION: u32 = 316;
pub const CREDIT_CONTROL: u32 = 272;

/// A request to be sent. The default: an Update-Location-Request to the realm that the servers are in.
#[derive(Clone, Debug)]
pub struct Request {
    pub application: u32,
    pub command: u32,
    /// Beside R.
    pub flags: u8,
    pub realm: Option<String>,
    pub host: Option<String>,
    pub drmp: Option<u32>,
    /// In place of the sender's own.
    pub origin_host: Option<String>,
    pub route_records: Vec<String>,
    pub proxy_infos: Vec<&'static [u8]>,
    /// Bytes of an AVP that nobody knows, to make it longer.
    pub filler: usize,
    /// Appended as they are: AVPs, or what only looks like them.
    pub tail: Vec<u8>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            application: S6A,
            command: UPDATE_LOCATION,
            flags: Flags::PROXIABLE,
            realm: Some("example.net".into()),
            host: None,
            drmp: None,
            origin_host: None,
            route_records: Vec::new(),
            proxy_infos: Vec::new(),
            filler: 0,
            tail: Vec::new(),
        }
    }
}

impl Request {
    pub fn to_host(host: &str) -> Self {
        Self { host: Some(host.into()), ..Self::default() }
    }

    /// Of that priority, said by DRMP.
    pub fn of_priority(priority: u8) -> Self {
        let drmp = [12, 7, 2][usize::from(priority)];
        Self { drmp: Some(drmp), ..Self::default() }
    }

    pub fn build(&self, origin_host: &str, hop_by_hop: u32, end_to_end: u32) -> Bytes {
        let session = format!("{origin_host};1;{end_to_end}");
        let mut b = Builder::request(self.command, self.application, self.flags, hop_by_hop, end_to_end)
            .bytes(avp::SESSION_ID, session.as_bytes())
            .bytes(avp::ORIGIN_HOST, self.origin_host.as_deref().unwrap_or(origin_host).as_bytes())
            .bytes(avp::ORIGIN_REALM, b"example.net");
        if let Some(realm) = &self.realm {
            b = b.bytes(avp::DESTINATION_REALM, realm.as_bytes());
        }
        if let Some(host) = &self.host {
            b = b.bytes(avp::DESTINATION_HOST, host.as_bytes());
        }
        if let Some(drmp) = self.drmp {
            b = b.u32(avp::DRMP, drmp);
        }
        for info in &self.proxy_infos {
            b = b.bytes(avp::PROXY_INFO, info);
        }
        for record in &self.route_records {
            b = b.bytes(avp::ROUTE_RECORD, record.as_bytes());
        }
        if self.filler > 0 {
            b = b.avp(1, None, 0, &vec![b'x'; self.filler]);
        }
        let mut bytes = b.finish().to_vec();
        bytes.extend_from_slice(&self.tail);
        with_length(bytes)
    }
}

/// The message with the length that it has.
pub fn with_length(mut bytes: Vec<u8>) -> Bytes {
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    bytes[1..4].copy_from_slice(&length[1..]);
    bytes.into()
}

/// An answer of `origin` to that request; `None`: without a Result-Code.
pub fn answer(request: &Message<'_>, origin: &str, result_code: Option<u32>) -> Bytes {
    let mut b = Builder::answer(&request.header);
    if matches!(result_code, Some(3000..=3999)) {
        b = b.error();
    }
    b = b.session_of(request);
    if let Some(code) = result_code {
        b = b.u32(avp::RESULT_CODE, code);
    }
    b.bytes(avp::ORIGIN_HOST, origin.as_bytes())
        .bytes(avp::ORIGIN_REALM, b"example.net")
        .proxy_info_of(request)
        .finish()
}

pub fn cer(origin: &str, realm: &str, applications: &[u32], hop_by_hop: u32) -> Bytes {
    let b = Builder::request(command::CAPABILITIES_EXCHANGE, application::BASE, 0, hop_by_hop, hop_by_hop);
    capabilities(b, origin, realm, applications)
}

pub fn cea(request: &Header, origin: &str, realm: &str, applications: &[u32], result_code: u32) -> Bytes {
    capabilities(Builder::answer(request).u32(avp::RESULT_CODE, result_code), origin, realm, applications)
}

fn capabilities(b: Builder, origin: &str, realm: &str, applications: &[u32]) -> Bytes {
    let b = b
        .bytes(avp::ORIGIN_HOST, origin.as_bytes())
        .bytes(avp::ORIGIN_REALM, realm.as_bytes())
        .bytes(avp::HOST_IP_ADDRESS, &[0, 1, 127, 0, 0, 1])
        .u32(avp::VENDOR_ID, 0)
        .avp(avp::PRODUCT_NAME, None, 0, b"script");
    applications.iter().fold(b, |b, &id| b.u32(avp::AUTH_APPLICATION_ID, id)).finish()
}

pub fn dwr(origin: &str, hop_by_hop: u32) -> Bytes {
    Builder::request(command::DEVICE_WATCHDOG, application::BASE, 0, hop_by_hop, hop_by_hop)
        .bytes(avp::ORIGIN_HOST, origin.as_bytes())
        .bytes(avp::ORIGIN_REALM, b"example.net")
        .finish()
}

pub fn dpr(origin: &str, cause: DisconnectCause, hop_by_hop: u32) -> Bytes {
    Builder::request(command::DISCONNECT_PEER, application::BASE, 0, hop_by_hop, hop_by_hop)
        .bytes(avp::ORIGIN_HOST, origin.as_bytes())
        .bytes(avp::ORIGIN_REALM, b"example.net")
        .u32(avp::DISCONNECT_CAUSE, cause.number())
        .finish()
}

/// A message that a scripted peer got.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Time,
    pub bytes: Bytes,
}

impl Seen {
    pub fn message(&self) -> Message<'_> {
        Message::new(&self.bytes).unwrap()
    }

    pub fn header(&self) -> Header {
        self.message().header
    }

    pub fn is_retransmitted(&self) -> bool {
        self.header().flags.is_retransmitted()
    }

    pub fn code(&self) -> Option<u32> {
        self.message().find(avp::RESULT_CODE).and_then(|avp| avp.u32())
    }

    pub fn text(&self, code: u32) -> Option<&str> {
        self.message().find(code).and_then(|avp| avp.str())
    }

    pub fn origin(&self) -> &str {
        self.text(avp::ORIGIN_HOST).unwrap_or_default()
    }

    /// Each AVP of that code, header included.
    pub fn all(&self, code: u32) -> Vec<&[u8]> {
        self.message().avps().map(Result::unwrap).filter(|avp| avp.is(code)).map(|avp| avp.bytes).collect()
    }

    /// The data of each AVP of that code, as text.
    pub fn texts(&self, code: u32) -> Vec<&str> {
        self.message().avps().map(Result::unwrap).filter(|avp| avp.is(code)).filter_map(|avp| avp.str()).collect()
    }
}

/// Is it a message between neighbours (CER, DWR, DPR and their answers)?
pub fn is_peer_message(header: &Header) -> bool {
    header.application == application::BASE
        && matches!(
            header.command,
            command::CAPABILITIES_EXCHANGE | command::DEVICE_WATCHDOG | command::DISCONNECT_PEER
        )
}
