//! Requests from a template: built once, then copied with identifiers, session and priority patched in.

use super::ClientOptions;
use super::schedule::Class;
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Builder, Flags, Header};

/// User-Name (RFC 6733 section 8.14): what tells subscribers apart.
const USER_NAME: u32 = 1;
/// Class (RFC 6733 section 8.20): opaque to all but its maker, so it takes the padding to a wanted size.
const CLASS: u32 = 25;
/// Auth-Session-State, and its value `NO_STATE_MAINTAINED`.
const AUTH_SESSION_STATE: (u32, u32) = (277, 1);
/// Digits of a Session-Id that change: two times eight, hexadecimal.
const DIGITS: usize = 16;

/// One message for each priority of the mix.
pub(super) struct Template {
    messages: Vec<Vec<u8>>,
    /// Where the Session-Id's digits start: the same in each.
    session: usize,
}

impl Template {
    pub(super) fn new(options: &ClientOptions, origin_host: &str) -> Self {
        let messages = options.priorities.classes.iter().map(|class| build(options, origin_host, class)).collect();
        // Header, the Session-Id's AVP header, host and semicolon.
        Self { messages, session: Header::LEN + 8 + origin_host.len() + 1 }
    }

    /// Appends a request. `serial` makes session and end-to-end id unique within the run, `run` among runs.
    pub(super) fn append(&self, out: &mut Vec<u8>, class: u8, hop_by_hop: u32, run: u32, serial: u32) {
        let at = out.len();
        out.extend_from_slice(&self.messages[class as usize]);
        let message = &mut out[at..];
        message[12..16].copy_from_slice(&hop_by_hop.to_be_bytes());
        message[16..20].copy_from_slice(&(run ^ serial).to_be_bytes());
        let digits = &mut message[self.session..=self.session + DIGITS];
        hex(&mut digits[..8], run);
        hex(&mut digits[9..], serial);
    }
}

fn build(options: &ClientOptions, origin_host: &str, class: &Class) -> Vec<u8> {
    let mut b = Builder::request(options.command, options.application, Flags::PROXIABLE, 0, 0)
        .bytes(avp::SESSION_ID, format!("{origin_host};{:08x};{:08x}", 0, 0).as_bytes())
        .u32(AUTH_SESSION_STATE.0, AUTH_SESSION_STATE.1)
        .bytes(avp::ORIGIN_HOST, origin_host.as_bytes())
        .bytes(avp::ORIGIN_REALM, options.identity.realm.as_bytes());
    if let Some(host) = &options.destination_host {
        b = b.bytes(avp::DESTINATION_HOST, host.as_bytes());
    }
    b = b.bytes(avp::DESTINATION_REALM, options.destination_realm.as_bytes());
    if let Some(drmp) = class.drmp {
        // The M flag stays clear: RFC 7944 section 9.1.
        b = b.avp(avp::DRMP, None, 0, &u32::from(drmp).to_be_bytes());
    }
    b = b.bytes(USER_NAME, b"001011234567895");
    let mut message = b.finish().to_vec();
    let room = options.size.unwrap_or(0).saturating_sub(message.len());
    if room >= 8 {
        let padding = vec![b'x'; (room - 8) / 4 * 4];
        let header = Header::parse(&message).unwrap_or_default();
        let padded = Builder::new(&header).copy(&message[Header::LEN..]).bytes(CLASS, &padding);
        message = padded.finish().to_vec();
    }
    message
}

fn hex(out: &mut [u8], mut value: u32) {
    for digit in out.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(value & 15) as usize];
        value >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Identity, Pace};
    use governor_core::diameter::{Message, RoutingAvps, frame};

    fn options() -> ClientOptions {
        let identity = Identity::relay("client.example.net", "example.net");
        ClientOptions::new("127.0.0.1:1".parse().unwrap(), identity, "example.com", Pace::Outstanding(1))
    }

    #[test]
    fn a_request_is_a_whole_message_with_its_own_identifiers() {
        let mut options = options();
        options.priorities = "0,2".parse().unwrap();
        options.size = Some(500);
        let template = Template::new(&options, "client.example.net");
        let mut out = Vec::new();
        template.append(&mut out, 0, 7, 0xabcd_0000, 0x12);
        let first = out.len();
        assert_eq!(frame(&out, 4096), Ok(Some(first)));
        assert_eq!(first, 500);
        template.append(&mut out, 1, 8, 0xabcd_0000, 0x13);
        let (one, two) = out.split_at(first);
        for (bytes, hop_by_hop, end_to_end, session, drmp) in [
            (one, 7, 0xabcd_0012, "client.example.net;abcd0000;00000012", 10),
            (two, 8, 0xabcd_0013, "client.example.net;abcd0000;00000013", 0),
        ] {
            let message = Message::new(bytes).unwrap();
            assert!(message.header.flags.is_request() && message.header.flags.is_proxiable());
            assert_eq!((message.header.hop_by_hop, message.header.end_to_end), (hop_by_hop, end_to_end));
            let avps = RoutingAvps::scan(&message, "gov").unwrap();
            assert_eq!(avps.session_id, Some(session.as_bytes()));
            assert_eq!(avps.destination_realm, Some(&b"example.com"[..]));
            assert_eq!(avps.drmp, Some(drmp));
        }
    }

    #[test]
    fn a_size_below_the_natural_one_changes_nothing() {
        let natural = Template::new(&options(), "client.example.net").messages;
        let small = ClientOptions { size: Some(10), ..options() };
        assert_eq!(Template::new(&small, "client.example.net").messages, natural);
    }
}
