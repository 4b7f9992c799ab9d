//! The peer messages we build (RFC 6733 sections 5.3 to 5.5).

use super::{DisconnectCause, Local};
use crate::diameter::answer::{Verdict, answer};
use crate::diameter::codes::{application, avp, command};
use crate::diameter::{Builder, Header, Message};
use crate::refusal::code;
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr};

/// Hop-by-Hop and End-to-End Identifier of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) hop_by_hop: u32,
    pub(super) end_to_end: u32,
}

pub(super) fn cer(local: &Local, addresses: &[IpAddr], ids: Ids) -> Bytes {
    let b = capabilities(origin(request(command::CAPABILITIES_EXCHANGE, ids), local), local, addresses);
    // NO_INBAND_SECURITY: where there is TLS it was there before the CER.
    b.u32(avp::INBAND_SECURITY_ID, 0).finish()
}

/// The CEA to the request of that header.
pub(super) fn cea(local: &Local, addresses: &[IpAddr], request: &Header) -> Bytes {
    let b = Builder::answer(request).u32(avp::RESULT_CODE, code::SUCCESS);
    capabilities(origin(b, local), local, addresses).finish()
}

/// A CEA that refuses, without a list of addresses: nobody is to send there.
pub(super) fn refusing_cea(local: &Local, request: &Header, result_code: u32, why: &str, failed_avp: &[u8]) -> Bytes {
    let mut b = Builder::answer(request);
    if crate::refusal::is_protocol_error(result_code) {
        b = b.error();
    }
    b = origin(b.u32(avp::RESULT_CODE, result_code), local);
    b = b.u32(avp::VENDOR_ID, local.vendor_id).avp(avp::PRODUCT_NAME, None, 0, local.product_name.as_bytes());
    b = b.avp(avp::ERROR_MESSAGE, None, 0, why.as_bytes());
    if !failed_avp.is_empty() {
        b = b.bytes(avp::FAILED_AVP, failed_avp);
    }
    b.finish()
}

pub(super) fn dwr(local: &Local, ids: Ids) -> Bytes {
    origin(request(command::DEVICE_WATCHDOG, ids), local).u32(avp::ORIGIN_STATE_ID, local.origin_state_id).finish()
}

pub(super) fn dwa(local: &Local, request: &Message<'_>) -> Bytes {
    answer_of(local, request, |b| b.u32(avp::ORIGIN_STATE_ID, local.origin_state_id))
}

pub(super) fn dpr(local: &Local, cause: DisconnectCause, ids: Ids) -> Bytes {
    origin(request(command::DISCONNECT_PEER, ids), local).u32(avp::DISCONNECT_CAUSE, cause.number()).finish()
}

pub(super) fn dpa(local: &Local, request: &Message<'_>) -> Bytes {
    answer_of(local, request, |b| b)
}

fn request(command: u32, ids: Ids) -> Builder {
    Builder::request(command, application::BASE, 0, ids.hop_by_hop, ids.end_to_end)
}

fn origin(b: Builder, local: &Local) -> Builder {
    b.bytes(avp::ORIGIN_HOST, local.origin_host.as_bytes()).bytes(avp::ORIGIN_REALM, local.origin_realm.as_bytes())
}

/// 2001, or 5014 for a request whose AVPs cannot be walked: it is answered all the same, since it shows life.
fn answer_of(local: &Local, request: &Message<'_>, more: impl FnOnce(Builder) -> Builder) -> Bytes {
    let Some(error) = request.avps().find_map(Result::err) else {
        let b = Builder::answer(&request.header).u32(avp::RESULT_CODE, code::SUCCESS);
        return more(origin(b, local)).finish();
    };
    let failed_avp = error.failed_avp(request.bytes().get(Header::LEN..).unwrap_or_default());
    let verdict = Verdict {
        result_code: code::INVALID_AVP_LENGTH,
        error_message: &error.to_string(),
        failed_avp: Some(&failed_avp),
    };
    answer(request, &local.origin_host, &local.origin_realm, &verdict)
}

/// What CER and CEA say beyond the origin. A relay advertises itself and nothing else (RFC 6733 section 2.4).
fn capabilities(mut b: Builder, local: &Local, addresses: &[IpAddr]) -> Builder {
    if addresses.is_empty() {
        // One at least is mandatory.
        b = host_ip_address(b, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    }
    for &address in addresses {
        b = host_ip_address(b, address);
    }
    b.u32(avp::VENDOR_ID, local.vendor_id)
        .avp(avp::PRODUCT_NAME, None, 0, local.product_name.as_bytes())
        .u32(avp::ORIGIN_STATE_ID, local.origin_state_id)
        .u32(avp::AUTH_APPLICATION_ID, application::RELAY)
        .avp(avp::FIRMWARE_REVISION, None, 0, &local.firmware_revision.to_be_bytes())
}

/// Address family 1 (IPv4) or 2 (IPv6), then the address (RFC 6733 section 4.3.1).
fn host_ip_address(b: Builder, address: IpAddr) -> Builder {
    let mut data = [0; 18];
    match address {
        IpAddr::V4(v4) => {
            data[1] = 1;
            data[2..6].copy_from_slice(&v4.octets());
            b.bytes(avp::HOST_IP_ADDRESS, &data[..6])
        }
        IpAddr::V6(v6) => {
            data[1] = 2;
            data[2..].copy_from_slice(&v6.octets());
            b.bytes(avp::HOST_IP_ADDRESS, &data)
        }
    }
}
