//! A well-formed request, forwarded and answered: what is built is what is read, at every station.
#![no_main]

use arbitrary::Arbitrary;
use bytes::BytesMut;
use governor_core::diameter::answer::{Verdict, answer};
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Builder, Flags, Header, MAX_MESSAGE, Message, RoutingAvps, forward, frame};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Exchange {
    command: u32,
    application: u32,
    flags: u8,
    ids: (u32, u32, u32),
    avps: Vec<(Code, Option<u32>, u8, Vec<u8>)>,
    result_code: u32,
    error_message: String,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Code {
    SessionId,
    OriginHost,
    DestinationRealm,
    RouteRecord,
    ProxyInfo,
    ResultCode,
    Other(u32),
}

impl Code {
    fn number(self) -> u32 {
        match self {
            Self::SessionId => avp::SESSION_ID,
            Self::OriginHost => avp::ORIGIN_HOST,
            Self::DestinationRealm => avp::DESTINATION_REALM,
            Self::RouteRecord => avp::ROUTE_RECORD,
            Self::ProxyInfo => avp::PROXY_INFO,
            Self::ResultCode => avp::RESULT_CODE,
            Self::Other(code) => code,
        }
    }
}

fn infos(message: &Message<'_>) -> Vec<Vec<u8>> {
    message.avps().flatten().filter(|avp| avp.is(avp::PROXY_INFO)).map(|avp| avp.data.to_vec()).collect()
}

fuzz_target!(|exchange: Exchange| {
    let (ours, theirs, end_to_end) = exchange.ids;
    let mut request = Builder::request(exchange.command, exchange.application, exchange.flags, theirs, end_to_end);
    for (code, vendor, flags, data) in &exchange.avps {
        request = request.avp(code.number(), *vendor, *flags, data);
    }
    let request = request.finish();
    assert_eq!(frame(&request, MAX_MESSAGE), Ok(Some(request.len())));
    let came = Message::new(&request).expect("a header");
    RoutingAvps::scan(&came, "gov1.example.net").expect("what is built can be scanned");

    let mut wire = BytesMut::new();
    forward::request(&mut wire, &request, ours, &forward::route_record("client1.example.net"), false);
    let sent = Message::new(&wire).expect("a header");
    assert_eq!((sent.header.hop_by_hop, sent.header.end_to_end), (ours, end_to_end));
    assert_eq!(sent.avps().count(), exchange.avps.len() + 1);

    let error_message = exchange.error_message.as_str();
    let verdict = Verdict { result_code: exchange.result_code, error_message, failed_avp: None };
    let reply = answer(&sent, "hss1.example.net", "example.net", &verdict);
    assert_eq!(infos(&Message::new(&reply).expect("a header")), infos(&came));

    let mut back = BytesMut::new();
    forward::answer(&mut back, &reply, theirs);
    let back = Message::new(&back).expect("a header");
    assert_eq!(back.header.hop_by_hop, theirs);
    assert_eq!(back.header.command, came.header.command);
    assert_eq!(back.header.flags.0 & (Flags::REQUEST | Flags::PROXIABLE), came.header.flags.0 & Flags::PROXIABLE);
    assert_eq!(back.bytes().len() % 4, 0);
    assert!(back.bytes().len() >= Header::LEN);
});
