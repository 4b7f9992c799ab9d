//! One walk over a message for all that routing and admission need of it.

use super::{AvpError, Message, codes::avp};

/// The top-level AVPs that decide where a message goes. Texts are raw bytes: identities compare without regard to case.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoutingAvps<'a> {
    /// Session-Id
    pub session_id: Option<&'a [u8]>,
    /// Origin-Host
    pub origin_host: Option<&'a [u8]>,
    /// Origin-Realm
    pub origin_realm: Option<&'a [u8]>,
    /// Destination-Host
    pub destination_host: Option<&'a [u8]>,
    /// Destination-Realm
    pub destination_realm: Option<&'a [u8]>,
    /// User-Name
    pub user_name: Option<&'a [u8]>,
    /// Result-Code; `None` also where its data has not 4 bytes. An Experimental-Result is not looked at.
    pub result_code: Option<u32>,
    /// DRMP, 0 to 15 (RFC 7944); a value past 15 counts as absent.
    pub drmp: Option<u8>,
    /// Our own identity stands in Origin-Host or in a Route-Record.
    pub looped: bool,
}

impl<'a> RoutingAvps<'a> {
    /// Walks every top-level AVP once. The first of a repeated AVP counts. `own` is our Origin-Host.
    pub fn scan(message: &Message<'a>, own: &str) -> Result<Self, AvpError> {
        let mut found = Self::default();
        for avp in message.avps() {
            let avp = avp?;
            if !avp.is_ietf() {
                continue;
            }
            match avp.code {
                avp::SESSION_ID => first(&mut found.session_id, avp.data),
                avp::ORIGIN_HOST => {
                    first(&mut found.origin_host, avp.data);
                    found.looped |= avp.data.eq_ignore_ascii_case(own.as_bytes());
                }
                avp::ORIGIN_REALM => first(&mut found.origin_realm, avp.data),
                avp::DESTINATION_HOST => first(&mut found.destination_host, avp.data),
                avp::DESTINATION_REALM => first(&mut found.destination_realm, avp.data),
                avp::USER_NAME => first(&mut found.user_name, avp.data),
                avp::ROUTE_RECORD => found.looped |= avp.data.eq_ignore_ascii_case(own.as_bytes()),
                avp::RESULT_CODE if found.result_code.is_none() => found.result_code = avp.u32(),
                avp::DRMP if found.drmp.is_none() => {
                    found.drmp = avp.u32().and_then(|v| u8::try_from(v).ok()).filter(|v| *v < 16);
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

fn first<'a>(slot: &mut Option<&'a [u8]>, data: &'a [u8]) {
    if slot.is_none() {
        *slot = Some(data);
    }
}
