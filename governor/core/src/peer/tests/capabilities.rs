//! CER and CEA: what is accepted, and what is answered to what is not.

use super::{ADDRESS, Bytes, local, view};
use crate::diameter::codes::{avp, command};
use crate::diameter::{Builder, Message};
use crate::peer::message::{self, Ids};
use crate::peer::{CapabilitiesError, Remote, parse_cer, unknown_peer_answer};
use proptest::prelude::*;

const IDS: Ids = Ids { hop_by_hop: 77, end_to_end: 78 };
const V4: [u8; 6] = [0, 1, 127, 0, 0, 1];

/// A CER with the mandatory AVPs but `without`, open for more.
fn cer_without(without: &[u32]) -> Builder {
    let mut b = Builder::request(command::CAPABILITIES_EXCHANGE, 0, 0, 1, 2);
    for (code, data) in [
        (avp::ORIGIN_HOST, &b"a.example.net"[..]),
        (avp::ORIGIN_REALM, b"example.net"),
        (avp::HOST_IP_ADDRESS, &V4),
        (avp::VENDOR_ID, &[0, 0, 0, 9]),
        (avp::PRODUCT_NAME, b"thing"),
    ] {
        if !without.contains(&code) {
            b = b.bytes(code, data);
        }
    }
    b
}

fn cer() -> Builder {
    cer_without(&[])
}

fn parse(cer: Builder) -> Result<Remote, CapabilitiesError> {
    parse_cer(&view(&cer.finish()))
}

/// An AVP as it lies on the wire, padded.
fn raw(code: u32, length: u32, data: &[u8]) -> Vec<u8> {
    let mut out = code.to_be_bytes().to_vec();
    out.extend((0x4000_0000 | length).to_be_bytes());
    out.extend(data);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn u32_avp(code: u32, value: u32) -> Vec<u8> {
    raw(code, 12, &value.to_be_bytes())
}

fn vendor_specific(vendors: &[u32], ids: &[(u32, u32)]) -> Vec<u8> {
    let vendors = vendors.iter().map(|v| u32_avp(avp::VENDOR_ID, *v));
    let ids = ids.iter().map(|(code, id)| u32_avp(*code, *id));
    vendors.chain(ids).flatten().collect()
}

/// A vendor's own AVP of that code.
fn vendors_own(code: u32) -> Vec<u8> {
    Builder::request(0, 0, 0, 0, 0).avp(code, Some(9), 0, b"x").finish().slice(20..).to_vec()
}

#[test]
fn our_own_cer_and_cea_are_read_back_whole() {
    let addresses = [ADDRESS, "2001:db8::1".parse().unwrap()];
    let us = local("gov1.example.net");
    let cer = message::cer(&us, &addresses, IDS);
    let cea = message::cea(&us, &addresses, &view(&cer).header);
    let remote = parse_cer(&view(&cer)).unwrap();
    assert_eq!(crate::peer::capabilities::parse_cea(&view(&cea)).unwrap(), remote);
    assert_eq!(remote.origin_host, "gov1.example.net");
    assert_eq!(remote.origin_realm, "example.net");
    assert_eq!(remote.product_name.as_deref(), Some("governor"));
    assert_eq!((remote.vendor_id, remote.firmware_revision), (Some(0), Some(1)));
    assert_eq!(remote.origin_state_id, Some(us.origin_state_id));
    assert_eq!(remote.addresses, addresses);
    // A relay says so and names no application of its own.
    assert!(remote.applications.relay && remote.applications.auth.is_empty() && remote.applications.acct.is_empty());

    let header = view(&cea).header;
    assert_eq!((header.hop_by_hop, header.end_to_end, header.flags.0), (77, 78, 0));
    assert_eq!(view(&cer).header.flags.0, 0x80);
    // RFC 6733 section 4.5: no M flag on these two.
    for code in [avp::PRODUCT_NAME, avp::FIRMWARE_REVISION] {
        assert_eq!(view(&cer).find(code).unwrap().flags, 0);
    }
    assert_eq!(view(&cer).find(avp::ORIGIN_HOST).unwrap().flags, 0x40);
    assert_eq!(view(&cer).find(avp::INBAND_SECURITY_ID).unwrap().u32(), Some(0));
}

#[test]
fn each_fault_has_its_result_code_and_failed_avp() {
    let whole = |code, data: &[u8]| raw(code, u32::try_from(8 + data.len()).unwrap(), data);
    let long = [b'x'; 256];
    // CER, Result-Code, what Failed-AVP starts with
    let cases: Vec<(&str, Builder, u32, Vec<u8>)> = vec![
        ("no Origin-Host", cer_without(&[264]), 5005, raw(264, 8, &[])),
        ("no Origin-Realm", cer_without(&[296]), 5005, raw(296, 8, &[])),
        ("no Host-IP-Address", cer_without(&[257]), 5005, raw(257, 14, &[0; 6])),
        ("no Vendor-Id", cer_without(&[266]), 5005, u32_avp(266, 0)),
        ("no Product-Name", cer_without(&[269]), 5005, raw(269, 8, &[])),
        ("nothing at all", cer_without(&[264, 296, 257, 266, 269]), 5005, raw(264, 8, &[])),
        // The first one over the bound, not the first of them and not the last.
        (
            "three Origin-Hosts",
            cer().bytes(264, b"second.example.net").bytes(264, b"third.example.net"),
            5009,
            whole(264, b"second.example.net"),
        ),
        ("two Origin-Realms", cer().bytes(296, b"other"), 5009, whole(296, b"other")),
        ("two Product-Names", cer().bytes(269, b"other"), 5009, whole(269, b"other")),
        ("two Vendor-Ids", cer().u32(266, 5), 5009, u32_avp(266, 5)),
        ("two Origin-State-Ids", cer().u32(278, 5).u32(278, 6), 5009, u32_avp(278, 6)),
        ("two Firmware-Revisions", cer().u32(267, 5).u32(267, 6), 5009, u32_avp(267, 6)),
        ("Vendor-Id of 3 bytes", cer_without(&[266]).bytes(266, &[0; 3]), 5014, u32_avp(266, 0)),
        ("Auth-Application-Id of 8 bytes", cer().bytes(258, &[0; 8]), 5014, u32_avp(258, 0)),
        ("IPv4 address of 5 bytes", cer().bytes(257, &[0, 1, 1, 2, 3]), 5014, raw(257, 14, &[0; 6])),
        ("IPv6 address of 4 bytes", cer().bytes(257, &[0, 2, 1, 2, 3, 4]), 5014, raw(257, 14, &[0; 6])),
        ("address without a family", cer().bytes(257, &[0]), 5014, raw(257, 14, &[0; 6])),
        ("AVP length 3", cer().copy(&raw(999, 3, &[])), 5014, raw(999, 8, &[])),
        ("AVP length 0", cer().copy(&raw(999, 0, &[])), 5014, raw(999, 8, &[])),
        ("AVP past the end", cer().copy(&raw(999, 4000, &[])), 5014, raw(999, 8, &[])),
        ("empty Origin-Host", cer_without(&[264]).bytes(264, b""), 5004, raw(264, 8, &[])),
        ("Origin-Host of 256", cer_without(&[264]).bytes(264, &long), 5004, whole(264, &long[..255])),
        ("Origin-Host not ASCII", cer_without(&[264]).bytes(264, &[0xff]), 5004, whole(264, &[0xff])),
        ("Origin-Host with a line feed", cer_without(&[264]).bytes(264, b"a\nb"), 5004, whole(264, b"a\nb")),
        ("TLS only", cer().u32(299, 1), 5017, vec![]),
        ("an empty group", cer().bytes(260, &[]), 5005, whole(260, &u32_avp(258, 0))),
        ("a group without an application", cer().bytes(260, &u32_avp(266, 9)), 5005, whole(260, &u32_avp(258, 0))),
        (
            "a group with two of a kind",
            cer().bytes(260, &vendor_specific(&[9], &[(258, 4), (258, 5)])),
            5009,
            whole(260, &u32_avp(258, 5)),
        ),
        ("a group that cannot be walked", cer().bytes(260, &raw(258, 2, &[])), 5014, whole(260, &u32_avp(258, 0))),
        ("an id of 2 bytes in a group", cer().bytes(260, &raw(258, 10, &[0; 2])), 5014, whole(260, &u32_avp(258, 0))),
        ("stray bytes in a group", cer().bytes(260, &[1, 2, 3, 4]), 5014, whole(260, &[1, 2, 3, 4, 0, 0, 0, 8])),
    ];
    let us = local("gov1.example.net");
    for (what, cer, code, failed) in cases {
        let cer = cer.finish();
        let cer = view(&cer);
        let error = parse_cer(&cer).expect_err(what);
        assert_eq!(error.result_code(), code, "{what}: {error}");
        assert_eq!(error.failed_avp(), failed, "{what}: {error}");
        let answer = error.answer(&cer, &us);
        let answer = view(&answer);
        assert!(answer.avps().all(|avp| avp.is_ok()), "{what}: the answer is well formed");
        assert_eq!(answer.find(avp::RESULT_CODE).unwrap().u32(), Some(code), "{what}");
        assert_eq!(answer.find(avp::FAILED_AVP).map(|avp| avp.data.to_vec()).unwrap_or_default(), failed, "{what}");
        assert_eq!(answer.find(avp::ORIGIN_HOST).unwrap().data, us.origin_host.as_bytes());
        assert_eq!(answer.find(avp::ERROR_MESSAGE).unwrap().str(), Some(&*error.to_string()));
        assert!(!answer.header.flags.is_error(), "{what}: no E bit on 5xxx");
        assert_eq!((answer.header.hop_by_hop, answer.header.end_to_end), (1, 2));
    }
}

#[test]
fn header_faults_have_their_codes() {
    let whole = cer().finish();
    let with = |at: usize, value: u8| {
        let mut bytes = whole.to_vec();
        bytes[at] = value;
        parse_cer(&view(&Bytes::from(bytes))).unwrap_err().result_code()
    };
    assert_eq!(with(0, 2), 5011);
    assert_eq!(with(4, 0xa0), 3008);
    // Neither an answer nor another command is a CER.
    assert_eq!(with(4, 0), 5012);
    assert_eq!(with(7, 0x18), 5012);
}

#[test]
fn sixty_four_origin_hosts_name_the_second() {
    let mut b = cer();
    for n in 1..64 {
        b = b.bytes(avp::ORIGIN_HOST, format!("host{n}").as_bytes());
    }
    let error = parse(b).unwrap_err();
    assert_eq!(error.result_code(), 5009);
    assert_eq!(&error.failed_avp()[8..13], b"host1");
    assert_eq!(error.to_string(), "AVP 264 (Origin-Host) occurs more than 1 times");
}

#[test]
fn an_absurdly_long_avp_is_not_sent_back_whole() {
    let error = parse(cer().bytes(avp::PRODUCT_NAME, &vec![b'x'; 60_000])).unwrap_err();
    assert_eq!(error.result_code(), 5009);
    assert_eq!(error.failed_avp().len(), 8 + 1024);
}

#[test]
fn an_unknown_peer_gets_3010_with_the_e_bit() {
    let us = local("gov1.example.net");
    let cer = cer().finish();
    let answer = unknown_peer_answer(&view(&cer), &us, "no peer a.example.net is configured");
    let answer = view(&answer);
    assert_eq!(answer.find(avp::RESULT_CODE).unwrap().u32(), Some(3010));
    assert!(answer.header.flags.is_error() && !answer.header.flags.is_request());
    assert_eq!(answer.find(avp::ERROR_MESSAGE).unwrap().str(), Some("no peer a.example.net is configured"));
}

#[test]
fn what_does_not_fit_the_configuration_is_named() {
    let remote = parse(cer()).unwrap();
    assert_eq!(remote.expect("A.Example.NET", Some("EXAMPLE.net")), Ok(()));
    assert_eq!(remote.expect("a.example.net", None), Ok(()));
    let host = remote.expect("b.example.net", None).unwrap_err();
    assert_eq!(host.to_string(), "Origin-Host is a.example.net, expected b.example.net");
    let realm = remote.expect("a.example.net", Some("example.org")).unwrap_err();
    assert_eq!(realm.to_string(), "Origin-Realm is example.net, expected example.org");
    assert_eq!((host.result_code(), realm.result_code()), (3010, 3010));
}

#[test]
fn one_application_under_several_vendors_is_legal() {
    let b = cer()
        .bytes(260, &vendor_specific(&[10_415], &[(258, 16_777_251)]))
        .bytes(260, &vendor_specific(&[9], &[(258, 16_777_251)]))
        .bytes(260, &vendor_specific(&[9, 10_415], &[(259, 3)]))
        .bytes(260, &vendor_specific(&[13_019], &[(258, 4), (259, 5)]))
        .bytes(260, &[u32_avp(258, 4), vendors_own(258)].concat())
        .u32(258, 4)
        .u32(259, 3);
    let applications = parse(b).unwrap().applications;
    assert!(!applications.relay);
    assert_eq!(applications.auth, [4, 16_777_251]);
    assert_eq!(applications.acct, [3, 5]);
    for (id, supported) in [(4, true), (3, true), (5, true), (16_777_251, true), (1, false), (0xffff_ffff, false)] {
        assert_eq!(applications.supports(id), supported, "{id}");
    }
}

#[test]
fn a_relay_supports_everything_however_it_says_so() {
    for relay in [
        cer().u32(258, 0xffff_ffff),
        cer().u32(259, 0xffff_ffff),
        cer().bytes(260, &vendor_specific(&[9], &[(258, 0xffff_ffff)])),
    ] {
        let applications = parse(relay).unwrap().applications;
        assert!(applications.relay && applications.supports(16_777_251));
    }
}

#[test]
fn no_application_at_all_is_no_reason_for_a_relay_to_refuse() {
    let applications = parse(cer()).unwrap().applications;
    assert!(!applications.supports(16_777_251));
}

#[test]
fn what_a_relay_does_not_know_is_no_reason_to_refuse() {
    let b = cer()
        .avp(9999, None, 0x40, b"mandatory and unknown")
        .avp(avp::ORIGIN_HOST, Some(10_415), 0x40, b"a vendor's AVP of the same code")
        .bytes(avp::HOST_IP_ADDRESS, &[0, 8, 1, 2, 3])
        .u32(avp::SUPPORTED_VENDOR_ID, 10_415)
        .u32(avp::INBAND_SECURITY_ID, 1)
        .u32(avp::INBAND_SECURITY_ID, 0)
        .u32(avp::INBAND_SECURITY_ID, 1);
    let remote = parse(b).unwrap();
    assert_eq!(remote.origin_host, "a.example.net");
    // An address of a family that is none of ours counts as one, and is not kept.
    assert_eq!(remote.addresses, [ADDRESS]);
    assert_eq!(remote.origin_state_id, None);
}

proptest! {
    #[test]
    fn no_cer_makes_us_panic_and_every_answer_is_well_formed(
        avps in prop::collection::vec(any::<u8>(), 0..400), flags in any::<u8>(),
    ) {
        let mut bytes = vec![1, 0, 0, 0, flags | 0x80, 0, 1, 1];
        bytes.extend([0; 12]);
        bytes.extend(&avps);
        judge(&bytes)?;
    }

    #[test]
    fn a_damaged_cer_is_accepted_or_answered(at in 0usize..200, value in any::<u8>()) {
        let base = cer().bytes(260, &vendor_specific(&[9], &[(258, 4)])).u32(278, 5).finish();
        let mut bytes = base.to_vec();
        let at = at % bytes.len();
        bytes[at] = value;
        judge(&bytes)?;
    }
}

fn judge(bytes: &[u8]) -> Result<(), TestCaseError> {
    let cer = Message::new(bytes).expect("20 bytes or more");
    if let Err(error) = parse_cer(&cer) {
        let answer = error.answer(&cer, &local("gov1.example.net"));
        let answer = view(&answer);
        prop_assert!(answer.avps().all(|avp| avp.is_ok()));
        prop_assert_eq!(answer.find(avp::RESULT_CODE).and_then(|avp| avp.u32()), Some(error.result_code()));
        prop_assert_eq!(answer.bytes().len() % 4, 0);
    }
    Ok(())
}
