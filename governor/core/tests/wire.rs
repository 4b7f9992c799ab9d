//! What broke other Diameter stacks on the wire, each with the right outcome here.

use bytes::BytesMut;
use governor_core::diameter::answer::{Verdict, answer};
use governor_core::diameter::avp::{MANDATORY, VENDOR};
use governor_core::diameter::codes::avp;
use governor_core::diameter::{AvpError, Avps, Builder, Flags, Header, Message, RoutingAvps, forward, frame};

const S6A: u32 = 16_777_251;
const UPDATE_LOCATION: u32 = 316;

fn request() -> Builder {
    Builder::request(UPDATE_LOCATION, S6A, Flags::PROXIABLE, 7, 8)
}

/// A request whose AVPs are just those bytes, with the length that they give.
fn request_of(avps: &[u8]) -> Vec<u8> {
    let mut bytes = request().finish().to_vec();
    bytes.extend_from_slice(avps);
    let length = u32::try_from(bytes.len()).expect("a short message").to_be_bytes();
    bytes[1..4].copy_from_slice(&length[1..]);
    bytes
}

/// The header of an AVP: code, flags and a length that need not be true.
fn avp_header(code: u32, flags: u8, length: u8) -> [u8; 8] {
    let code = code.to_be_bytes();
    [code[0], code[1], code[2], code[3], flags, 0, 0, length]
}

fn view(bytes: &[u8]) -> Message<'_> {
    assert_eq!(frame(bytes, 65_536), Ok(Some(bytes.len())), "the frame is sound");
    Message::new(bytes).expect("a header")
}

fn refuse(request: &Message<'_>, result_code: u32, failed_avp: Option<&[u8]>) -> Vec<u8> {
    let verdict = Verdict { result_code, error_message: "refused here", failed_avp };
    answer(request, "gov1.example.net", "example.net", &verdict).to_vec()
}

#[test]
fn a_vendor_avp_shorter_than_its_header_is_answered_with_5014() {
    for length in 8..12 {
        let bytes = request_of(&[&avp_header(1, VENDOR, length)[..], &[0, 0, 0x28, 0xaf]].concat());
        let message = view(&bytes);
        let error = RoutingAvps::scan(&message, "gov1").expect_err("a length that does not cover the Vendor-ID");
        assert_eq!(error, AvpError::TooShort { offset: 0, code: 1, length: length.into() });
        let failed = error.failed_avp(&bytes[Header::LEN..]);
        assert_eq!(failed, [&avp_header(1, VENDOR, 12)[..], &[0, 0, 0x28, 0xaf]].concat());
        let refusal = refuse(&message, 5014, Some(&failed));
        let group = view(&refusal).find(avp::FAILED_AVP).expect("Failed-AVP");
        assert_eq!(group.data, failed);
    }
}

#[test]
fn a_vendor_avp_with_no_room_for_its_vendor_is_zero_filled_in_failed_avp() {
    let bytes = request_of(&avp_header(1, VENDOR, 8));
    let error = RoutingAvps::scan(&view(&bytes), "gov1").expect_err("no Vendor-ID");
    assert_eq!(error.failed_avp(&bytes[Header::LEN..]), [&avp_header(1, VENDOR, 12)[..], &[0; 4]].concat());
}

#[test]
fn an_avp_shorter_than_its_header_ends_the_walk() {
    for length in 0..8 {
        let bytes = request_of(&[avp_header(263, MANDATORY, length), avp_header(264, MANDATORY, 8)].concat());
        let steps: Vec<_> = Avps::new(&bytes[Header::LEN..]).collect();
        assert_eq!(steps, [Err(AvpError::TooShort { offset: 0, code: 263, length: length.into() })]);
        assert_eq!(view(&bytes).find(avp::SESSION_ID), None);
        assert!(RoutingAvps::scan(&view(&bytes), "gov1").is_err());
    }
}

#[test]
fn an_avp_past_the_end_is_refused_and_not_read() {
    for length in [9, 12, 16, 255] {
        let bytes = request_of(&avp_header(263, MANDATORY, length));
        let error = RoutingAvps::scan(&view(&bytes), "gov1").expect_err("past the end");
        assert_eq!(error, AvpError::PastEnd { offset: 0, code: 263, length: length.into(), left: 8 });
    }
}

#[test]
fn stray_bytes_shorter_than_an_avp_header_are_refused() {
    let bytes = request_of(&[&avp_header(263, MANDATORY, 8)[..], &[0, 0, 1, 8]].concat());
    let error = RoutingAvps::scan(&view(&bytes), "gov1").expect_err("four stray bytes");
    assert_eq!(error, AvpError::Truncated { offset: 8, left: 4 });
    // Their four bytes are the code, the rest of the header is made up.
    assert_eq!(error.failed_avp(&bytes[Header::LEN..]), avp_header(264, 0, 8));
}

#[test]
fn a_failed_avp_of_a_known_type_has_data_of_its_size() {
    let bytes = request_of(&avp_header(avp::RESULT_CODE, MANDATORY, 6));
    let error = RoutingAvps::scan(&view(&bytes), "gov1").expect_err("too short");
    let failed = error.failed_avp(&bytes[Header::LEN..]);
    let avp = Avps::new(&failed).next().expect("an AVP").expect("a sound AVP");
    assert_eq!((avp.code, avp.flags, avp.u32()), (avp::RESULT_CODE, MANDATORY, Some(0)));
}

#[test]
fn avp_length_leaves_padding_out_and_the_walk_skips_it() {
    let bytes = request().bytes(1, b"abcde").bytes(2, b"fgh").bytes(3, b"").finish();
    assert_eq!(&bytes[20..36], b"\0\0\0\x01\x40\0\0\x0dabcde\0\0\0");
    let found: Vec<_> = view(&bytes).avps().map(|avp| avp.map(|avp| (avp.code, avp.data.to_vec()))).collect();
    assert_eq!(found, [Ok((1, b"abcde".to_vec())), Ok((2, b"fgh".to_vec())), Ok((3, Vec::new()))]);
}

#[test]
fn a_grouped_avps_last_member_may_come_without_its_padding() {
    let group = [&avp_header(1, 0, 12)[..], b"abcd", &avp_header(2, 0, 9)[..], b"e"].concat();
    let bytes = request().bytes(1400, &group).finish();
    let members: Result<Vec<_>, _> = view(&bytes).find(1400).expect("the group").grouped().collect();
    assert_eq!(members.expect("sound members").iter().map(|avp| avp.data).collect::<Vec<_>>(), [&b"abcd"[..], b"e"]);
}

#[test]
fn padding_we_write_is_zero_and_padding_of_others_is_forwarded_as_it_came() {
    // A buffer that was used before: what it held must not show in the padding.
    let mut out = BytesMut::from(&[0xff; 512][..]);
    out.clear();
    let route_record = forward::route_record("c.example.net");
    let dirty = request_of(&[&avp_header(1, 0, 9)[..], b"a\xaa\xbb\xcc"].concat());
    forward::request(&mut out, &dirty, 99, &route_record, false);
    assert_eq!(&out[20..32], &dirty[20..32], "non-zero padding of others is kept");
    assert!(out.ends_with(b"c.example.net\0\0\0"), "our own is zero");
    let copied = Builder::answer(&view(&dirty).header).copy(view(&dirty).find(1).expect("the AVP").bytes).finish();
    assert!(copied.ends_with(b"a\0\0\0"), "and so it is behind what we copy");
}

#[test]
fn unknown_commands_applications_and_avps_are_forwarded_byte_for_byte() {
    let message = Builder::request(0x00ff_fffe, 0x1234_5678, Flags::PROXIABLE, 1, 2)
        .avp(avp::DESTINATION_REALM, None, MANDATORY, b"example.org")
        .avp(0xdead_beef, Some(99), MANDATORY, b"no dictionary has it")
        .avp(0xfeed, None, MANDATORY | 0x1f, b"nor the reserved flag bits")
        .finish();
    let found = RoutingAvps::scan(&view(&message), "gov1.example.net").expect("no reason to refuse");
    assert_eq!(found.destination_realm, Some(&b"example.org"[..]));
    let mut out = BytesMut::new();
    forward::request(&mut out, &message, 0x0102_0304, &forward::route_record("c1.example.net"), false);
    assert_eq!(out[4..12], message[4..12]);
    assert_eq!(out[16..message.len()], message[16..]);
}

#[test]
fn a_route_record_added_by_another_relay_is_no_reason_to_refuse() {
    let message = request().bytes(avp::ROUTE_RECORD, b"r1.example.org").bytes(avp::ROUTE_RECORD, b"r2.example.org");
    let found = RoutingAvps::scan(&view(&message.finish()), "gov1.example.net").expect("sound").looped;
    assert!(!found);
}

#[test]
fn sixty_four_origin_hosts_are_walked_and_the_first_counts() {
    let mut message = request();
    for host in 0..64 {
        message = message.bytes(avp::ORIGIN_HOST, format!("h{host}.example.net").as_bytes());
    }
    let message = message.finish();
    let found = RoutingAvps::scan(&view(&message), "gov1.example.net").expect("sound");
    assert_eq!(found.origin_host, Some(&b"h0.example.net"[..]));
}

#[test]
fn a_loop_is_found_whatever_the_case_and_wherever_it_stands() {
    for code in [avp::ORIGIN_HOST, avp::ROUTE_RECORD] {
        let message = request().bytes(code, b"other").bytes(code, b"GOV1.example.NET").finish();
        assert!(RoutingAvps::scan(&view(&message), "gov1.example.net").expect("sound").looped);
    }
    let elsewhere = request().bytes(avp::DESTINATION_HOST, b"gov1.example.net").finish();
    assert!(!RoutingAvps::scan(&view(&elsewhere), "gov1.example.net").expect("sound").looped);
}

#[test]
fn an_avp_of_another_vendor_is_not_taken_for_the_ietfs() {
    let message = request()
        .avp(avp::DESTINATION_HOST, Some(10_415), MANDATORY, b"trap.example.net")
        .avp(avp::DESTINATION_HOST, Some(0), MANDATORY, b"hss.example.net")
        .finish();
    let found = RoutingAvps::scan(&view(&message), "gov1").expect("sound");
    assert_eq!(found.destination_host, Some(&b"hss.example.net"[..]), "vendor 0 is the IETF");
}

#[test]
fn a_result_code_counts_at_top_level_only_and_may_be_missing() {
    let code = |message: Builder| RoutingAvps::scan(&view(&message.finish()), "gov1").expect("sound").result_code;
    let answer = || Builder::answer(&Header { command: UPDATE_LOCATION, application: S6A, ..Header::default() });
    let busy = [&avp_header(avp::RESULT_CODE, MANDATORY, 12)[..], &3004u32.to_be_bytes()].concat();
    assert_eq!(code(answer().u32(avp::RESULT_CODE, 3004)), Some(3004));
    assert_eq!(code(answer().bytes(avp::EXPERIMENTAL_RESULT, &busy)), None, "not from inside a group");
    assert_eq!(code(answer().bytes(avp::EXPERIMENTAL_RESULT, b"\0\0\0\x01rubbish")), None, "nobody looks in there");
    assert_eq!(code(answer().bytes(avp::RESULT_CODE, b"\x0b\xbc")), None, "two bytes are no code");
    assert_eq!(code(answer()), None);
}

#[test]
fn a_drmp_past_15_counts_as_absent() {
    let drmp = |value: &[u8]| {
        RoutingAvps::scan(&view(&request().bytes(avp::DRMP, value).finish()), "gov1").expect("sound").drmp
    };
    assert_eq!(drmp(&[0, 0, 0, 0]), Some(0));
    assert_eq!(drmp(&[0, 0, 0, 15]), Some(15));
    assert_eq!(drmp(&[0, 0, 0, 16]), None);
    assert_eq!(drmp(&[0, 0, 1, 0]), None);
    assert_eq!(drmp(&[3]), None);
}

#[test]
fn forwarding_changes_nothing_but_what_a_relay_has_to() {
    let group =
        [&avp_header(1, 0, 9)[..], b"a\xaa\xbb\xcc", &avp_header(2, VENDOR, 12)[..], &[0, 0, 0x28, 0xaf]].concat();
    let message = request().bytes(avp::SESSION_ID, b"s;1;2").bytes(1400, &group).finish();
    let route_record = forward::route_record("client1.example.net");
    let mut out = BytesMut::from(&b"before"[..]);
    forward::request(&mut out, &message, 0xfeed_beef, &route_record, true);
    assert_eq!(&out[..6], b"before");
    let sent = view(&out[6..]);
    assert_eq!(sent.header.hop_by_hop, 0xfeed_beef);
    assert_eq!(sent.header.end_to_end, 8);
    assert!(sent.header.flags.is_retransmitted());
    assert_eq!(sent.header.length as usize, message.len() + route_record.len());
    assert_eq!(sent.bytes()[20..message.len()], message[20..]);
    assert_eq!(sent.bytes()[message.len()..], route_record);
    let last = sent.avps().last().expect("an AVP").expect("a sound one");
    assert_eq!((last.code, last.data), (avp::ROUTE_RECORD, &b"client1.example.net"[..]));
}

#[test]
fn a_t_bit_that_came_with_the_request_stays() {
    let message = Builder::request(UPDATE_LOCATION, S6A, Flags::PROXIABLE | Flags::RETRANSMITTED, 1, 2).finish();
    let mut out = BytesMut::new();
    forward::request(&mut out, &message, 3, &[], false);
    assert!(view(&out).header.flags.is_retransmitted());
}

#[test]
fn an_answer_goes_back_with_its_requests_identifier_and_not_a_byte_else_changed() {
    let message = Builder::answer(&view(&request().finish()).header).error().u32(avp::RESULT_CODE, 3002).finish();
    let mut out = BytesMut::new();
    forward::answer(&mut out, &message, 0x0a0b_0c0d);
    assert_eq!(out[12..16], [0x0a, 0x0b, 0x0c, 0x0d]);
    assert_eq!((&out[..12], &out[16..]), (&message[..12], &message[16..]));
}

#[test]
fn our_answer_carries_session_and_every_proxy_info_in_order() {
    let state = |n: u8| [&avp_header(33, MANDATORY, 9)[..], &[n, 0, 0, 0]].concat();
    let message = request()
        .bytes(avp::SESSION_ID, b"c;1;2")
        .bytes(avp::PROXY_INFO, &state(1))
        .bytes(avp::ORIGIN_HOST, b"c.example.net")
        .bytes(avp::PROXY_INFO, &state(2))
        .finish();
    let refusal = refuse(&view(&message), 3004, None);
    let sent = view(&refusal);
    let codes: Vec<u32> = sent.avps().map(|avp| avp.expect("sound").code).collect();
    let wanted = [
        avp::SESSION_ID,
        avp::RESULT_CODE,
        avp::ORIGIN_HOST,
        avp::ORIGIN_REALM,
        avp::ERROR_MESSAGE,
        avp::PROXY_INFO,
        avp::PROXY_INFO,
    ];
    assert_eq!(codes, wanted);
    let infos: Vec<_> = sent.avps().flatten().filter(|avp| avp.is(avp::PROXY_INFO)).map(|avp| avp.data).collect();
    assert_eq!(infos, [&state(1)[..], &state(2)[..]]);
    assert_eq!(sent.find(avp::ORIGIN_HOST).expect("ours").data, b"gov1.example.net");
    assert_eq!((sent.header.hop_by_hop, sent.header.end_to_end), (7, 8));
    assert_eq!(sent.header.flags, Flags(Flags::PROXIABLE | Flags::ERROR));
}

#[test]
fn the_e_bit_goes_with_3xxx_only() {
    let message = request().finish();
    for (code, error) in [(3002, true), (3999, true), (4003, false), (5012, false), (5014, false)] {
        let refusal = refuse(&view(&message), code, None);
        assert_eq!(view(&refusal).header.flags.is_error(), error, "{code}");
    }
}

#[test]
fn the_p_bit_is_the_requests_and_the_t_bit_is_not() {
    for (flags, wanted) in [(0, Flags::ERROR), (Flags::RETRANSMITTED, Flags::ERROR)] {
        let message = Builder::request(UPDATE_LOCATION, S6A, flags, 1, 2).finish();
        assert_eq!(view(&refuse(&view(&message), 3004, None)).header.flags, Flags(wanted));
    }
}

#[test]
fn a_request_whose_avps_cannot_be_walked_is_answered_from_its_header() {
    let bytes = request_of(&[&avp_header(avp::SESSION_ID, MANDATORY, 0)[..], b"more rubbish"].concat());
    let refusal = refuse(&view(&bytes), 5014, None);
    let sent = view(&refusal);
    assert_eq!(sent.find(avp::SESSION_ID), None);
    assert_eq!(sent.find(avp::RESULT_CODE).and_then(|avp| avp.u32()), Some(5014));
    assert_eq!((sent.header.command, sent.header.hop_by_hop), (UPDATE_LOCATION, 7));
}

#[test]
fn the_answer_to_another_version_is_of_ours() {
    let mut bytes = request().finish().to_vec();
    bytes[0] = 2;
    let refusal = refuse(&Message::new(&bytes).expect("a header"), 5011, None);
    assert_eq!(view(&refusal).header.version, 1);
}
