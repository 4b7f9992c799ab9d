//! What a message costs on its way through the codec: `cargo bench -p governor-core`.

use bytes::BytesMut;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use governor_core::diameter::answer::{Verdict, answer};
use governor_core::diameter::codes::avp;
use governor_core::diameter::{Builder, Flags, Message, RoutingAvps, forward, frame};

const MAX: u32 = 65_536;
/// As many messages as a read brings at load.
const BATCH: usize = 64;

fn main() {
    divan::main();
}

/// An Update-Location-Request of the usual size.
fn request(hop_by_hop: u32) -> bytes::Bytes {
    Builder::request(316, 16_777_251, Flags::PROXIABLE, hop_by_hop, hop_by_hop)
        .bytes(avp::SESSION_ID, b"client1.example.net;1733000000;42;governor")
        .bytes(avp::ORIGIN_HOST, b"client1.example.net")
        .bytes(avp::ORIGIN_REALM, b"example.net")
        .bytes(avp::DESTINATION_REALM, b"hss.example.net")
        .bytes(1, b"001010000000001")
        .avp(1407, Some(10_415), 0x40, &[0x00, 0xf1, 0x10])
        .avp(1032, Some(10_415), 0x40, &[0, 0, 3, 0xec])
        .finish()
}

fn stream() -> Vec<u8> {
    (0u32..).take(BATCH).flat_map(request).collect()
}

#[divan::bench]
fn frame_a_batch(bencher: Bencher) {
    let stream = stream();
    bencher.counter(ItemsCount::new(BATCH)).bench(|| {
        let (mut rest, mut count) = (&stream[..], 0);
        while let Ok(Some(length)) = frame(black_box(rest), MAX) {
            rest = &rest[length..];
            count += 1;
        }
        assert_eq!(count, BATCH);
    });
}

#[divan::bench]
fn frame_scan_and_forward_a_batch(bencher: Bencher) {
    let stream = stream();
    let record = forward::route_record("client1.example.net");
    bencher.counter(ItemsCount::new(BATCH)).with_inputs(|| BytesMut::with_capacity(64 * 1024)).bench_refs(|out| {
        let (mut rest, mut id) = (&stream[..], 0);
        while let Ok(Some(length)) = frame(black_box(rest), MAX) {
            let (bytes, tail) = rest.split_at(length);
            rest = tail;
            let Some(message) = Message::new(bytes) else { break };
            if let Ok(found) = RoutingAvps::scan(&message, "gov1.example.net") {
                black_box(found);
            }
            forward::request(out, bytes, id, &record, false);
            id += 1;
        }
        assert_eq!(id as usize, BATCH);
    });
}

#[divan::bench]
fn scan_one(bencher: Bencher) {
    let bytes = request(1);
    bencher.bench(|| {
        Message::new(black_box(&bytes)).and_then(|message| RoutingAvps::scan(&message, "gov1.example.net").ok())
    });
}

#[divan::bench]
fn refuse_one(bencher: Bencher) {
    let bytes = request(1);
    let verdict = Verdict { result_code: 3004, error_message: "hss1-a at CPL 2", failed_avp: None };
    bencher.bench(|| {
        Message::new(black_box(&bytes)).map(|message| answer(&message, "gov1.example.net", "example.net", &verdict))
    });
}
