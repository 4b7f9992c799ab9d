//! What holds for every byte string and every message.

use bytes::BytesMut;
use governor_core::diameter::answer::{Verdict, answer};
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Avps, Builder, Flags, Header, MAX_MESSAGE, Message, RoutingAvps, forward, frame};
use proptest::collection::vec;
use proptest::prelude::*;

/// An AVP to build: code, vendor, flags without V, data.
type Parts = (u32, Option<u32>, u8, Vec<u8>);

fn header() -> impl Strategy<Value = Header> {
    (any::<u8>(), 0u32..1 << 24, any::<u8>(), 0u32..1 << 24, any::<u32>(), any::<u32>(), any::<u32>()).prop_map(
        |(version, length, flags, command, application, hop_by_hop, end_to_end)| Header {
            version,
            length,
            flags: Flags(flags),
            command,
            application,
            hop_by_hop,
            end_to_end,
        },
    )
}

fn parts() -> impl Strategy<Value = Vec<Parts>> {
    let code = prop_oneof![
        Just(avp::SESSION_ID),
        Just(avp::ORIGIN_HOST),
        Just(avp::PROXY_INFO),
        Just(avp::ROUTE_RECORD),
        Just(avp::RESULT_CODE),
        any::<u32>()
    ];
    vec((code, proptest::option::of(any::<u32>()), 0u8..0x80, vec(any::<u8>(), 0..40)), 0..12)
}

fn build(header: &Header, parts: &[Parts]) -> Vec<u8> {
    let start = Builder::new(&Header { version: Header::VERSION, ..*header });
    let add = |b: Builder, (code, vendor, flags, data): &Parts| b.avp(*code, *vendor, *flags, data);
    parts.iter().fold(start, add).finish().to_vec()
}

/// A framed message whose AVPs are any bytes at all, lengths and flags among them likely enough to look right.
fn rubbish() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(0x40), Just(0x80), 0u8..16, any::<u8>()];
    (header(), vec(byte, 0..200)).prop_map(|(header, mut tail)| {
        tail.truncate(tail.len() / 4 * 4);
        let length = u32::try_from(20 + tail.len()).expect("short");
        let mut bytes = Header { version: Header::VERSION, length, ..header }.encode().to_vec();
        bytes.append(&mut tail);
        bytes
    })
}

proptest! {
    #[test]
    fn a_header_survives_encoding_and_decoding(header in header()) {
        prop_assert_eq!(Header::parse(&header.encode()), Some(header));
    }

    #[test]
    fn twenty_bytes_survive_decoding_and_encoding(bytes in any::<[u8; 20]>()) {
        prop_assert_eq!(Header::parse(&bytes).expect("20 bytes").encode(), bytes);
    }

    #[test]
    fn framing_gives_a_length_in_hand_or_nothing(bytes in vec(any::<u8>(), 0..64), max in any::<u32>()) {
        if let Ok(Some(length)) = frame(&bytes, max) {
            prop_assert!((20..=bytes.len()).contains(&length) && length % 4 == 0);
            prop_assert!(length <= max.min(MAX_MESSAGE) as usize);
        }
    }

    #[test]
    fn the_walks_cursor_strictly_grows(bytes in rubbish()) {
        let avps = &bytes[20..];
        let mut walk = Avps::new(avps);
        let mut steps = 0;
        loop {
            let before = walk.offset();
            let Some(step) = walk.next() else { break };
            prop_assert!(walk.offset() > before && walk.offset() <= avps.len());
            if let Ok(avp) = step {
                prop_assert!(avp.bytes.len() >= 8 && walk.offset() - before >= avp.bytes.len());
                prop_assert!(walk.offset() - before < avp.bytes.len() + 4);
            } else {
                prop_assert!(walk.next().is_none(), "nothing is read after an error");
            }
            steps += 1;
        }
        prop_assert!(steps <= avps.len() / 8 + 1);
    }

    #[test]
    fn what_is_built_is_what_is_walked(header in header(), parts in parts()) {
        let bytes = build(&header, &parts);
        prop_assert_eq!(frame(&bytes, MAX_MESSAGE), Ok(Some(bytes.len())));
        let message = Message::new(&bytes).expect("a header");
        prop_assert_eq!(message.header.flags, header.flags);
        let walked: Result<Vec<Parts>, _> =
            message.avps().map(|avp| avp.map(|avp| (avp.code, avp.vendor, avp.flags & 0x7f, avp.data.to_vec()))).collect();
        prop_assert_eq!(walked, Ok(parts));
    }

    #[test]
    fn forwarding_keeps_every_byte_but_a_relays_own(
        bytes in rubbish(), id in any::<u32>(), peer in "[a-z0-9.]{1,60}", again in any::<bool>()
    ) {
        let record = forward::route_record(&peer);
        let mut out = BytesMut::from(&[0xee; 7][..]);
        forward::request(&mut out, &bytes, id, &record, again);
        let sent = &out[7..];
        prop_assert_eq!(frame(sent, MAX_MESSAGE), Ok(Some(bytes.len() + record.len())));
        let (before, after) = (Header::parse(&bytes).expect("a header"), Header::parse(sent).expect("a header"));
        let t = if again { Flags::RETRANSMITTED } else { 0 };
        let wanted = Header { length: after.length, hop_by_hop: id, flags: Flags(before.flags.0 | t), ..before };
        prop_assert_eq!(after, wanted);
        prop_assert_eq!(&sent[20..bytes.len()], &bytes[20..]);
        prop_assert_eq!(&sent[bytes.len()..], &record[..]);
        prop_assert_eq!(record.len() % 4, 0);

        out.clear();
        forward::answer(&mut out, &bytes, id);
        prop_assert_eq!(Header::parse(&out), Some(Header { hop_by_hop: id, ..before }));
        prop_assert_eq!(&out[20..], &bytes[20..]);
    }

    #[test]
    fn our_answer_to_anything_is_sound(bytes in rubbish(), result_code in 3000u32..5020, text in ".{0,40}") {
        let request = Message::new(&bytes).expect("a header");
        let failed = RoutingAvps::scan(&request, "gov1.example.net").err().map(|error| error.failed_avp(&bytes[20..]));
        let verdict = Verdict { result_code, error_message: &text, failed_avp: failed.as_deref() };
        let bytes = answer(&request, "gov1.example.net", "example.net", &verdict);
        prop_assert_eq!(frame(&bytes, MAX_MESSAGE), Ok(Some(bytes.len())));
        let message = Message::new(&bytes).expect("a header");
        let found = RoutingAvps::scan(&message, "nobody");
        prop_assert_eq!(found.map(|found| found.result_code), Ok(Some(result_code)));
        prop_assert!(!message.header.flags.is_request());
        prop_assert_eq!(message.header.hop_by_hop, request.header.hop_by_hop);
        prop_assert_eq!(message.header.end_to_end, request.header.end_to_end);
        if let Some(group) = message.find(avp::FAILED_AVP) {
            prop_assert!(group.grouped().all(|avp| avp.is_ok()));
        }
    }

    #[test]
    fn our_answer_to_a_sound_request_has_all_it_carried_for_us(header in header(), parts in parts()) {
        let bytes = build(&header, &parts);
        let request = Message::new(&bytes).expect("a header");
        let verdict = Verdict { result_code: 3004, error_message: "", failed_avp: None };
        let answer = answer(&request, "gov1.example.net", "example.net", &verdict);
        let of = |message: &Message<'_>, code, most| -> Vec<Vec<u8>> {
            message.avps().flatten().filter(|avp| avp.is(code)).take(most).map(|avp| avp.data.to_vec()).collect()
        };
        let answer = Message::new(&answer).expect("a header");
        prop_assert_eq!(of(&answer, avp::PROXY_INFO, 99), of(&request, avp::PROXY_INFO, 99));
        prop_assert_eq!(of(&answer, avp::SESSION_ID, 99), of(&request, avp::SESSION_ID, 1));
        prop_assert_eq!(answer.header.flags.0, Flags::ERROR | header.flags.0 & Flags::PROXIABLE);
    }
}
