//! Any bytes as a stream: framed, walked to the end and down into every group, scanned, forwarded or refused.
#![no_main]

use bytes::BytesMut;
use governor_core::diameter::answer::{Verdict, answer};
use governor_core::diameter::{Avps, Message, RoutingAvps, forward, frame};
use libfuzzer_sys::fuzz_target;

const MAX: u32 = 65_536;
const OWN: &str = "gov1.example.net";

fn walk(mut avps: Avps<'_>, depth: u8) {
    let mut before = avps.offset();
    while let Some(step) = avps.next() {
        assert!(avps.offset() > before, "every step advances");
        before = avps.offset();
        if let Ok(avp) = step {
            assert!(avp.bytes.len() >= 8 && avp.bytes.ends_with(avp.data));
            if depth > 0 {
                walk(avp.grouped(), depth - 1);
            }
        }
    }
}

fuzz_target!(|stream: &[u8]| {
    let mut rest = stream;
    let record = forward::route_record("client1.example.net");
    while let Ok(Some(length)) = frame(rest, MAX) {
        let (bytes, tail) = rest.split_at(length);
        rest = tail;
        let Some(message) = Message::new(bytes) else { panic!("a framed message has a header") };
        walk(message.avps(), 4);
        let mut out = BytesMut::new();
        match RoutingAvps::scan(&message, OWN) {
            Ok(_) if message.header.flags.is_request() => {
                forward::request(&mut out, bytes, 1, &record, false);
                assert_eq!(out[20..length], bytes[20..]);
            }
            Ok(_) => {
                forward::answer(&mut out, bytes, 1);
                assert_eq!(out[16..], bytes[16..]);
            }
            Err(error) => {
                let failed = error.failed_avp(&bytes[20..]);
                let verdict =
                    Verdict { result_code: 5014, error_message: &error.to_string(), failed_avp: Some(&failed) };
                out.extend_from_slice(&answer(&message, OWN, "example.net", &verdict));
                let sent = Message::new(&out).expect("a header");
                assert!(sent.avps().all(|avp| avp.is_ok()), "what we build can be walked");
            }
        }
        assert_eq!(frame(&out, u32::MAX), Ok(Some(out.len())));
    }
});
