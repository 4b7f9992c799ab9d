//! The ring of events: what is lost is counted, and the records stay right.

use anyhow::{Context, Result};
use governor::kernel::{EventKind, Mode, Options};
use governor_tests::assist::{Pipe, load_with, options};

/// One page holds about a hundred events. Each turn makes two: blocked, unblocked.
#[tokio::test]
async fn a_full_ring_counts_what_it_loses_and_the_records_stay_right() -> Result<()> {
    const TURNS: u64 = 200;
    let (mut assist, _report) = load_with(&Options {
        ring_bytes: 4096,
        without: vec!["tcp_probe".to_owned()],
        ..options(Mode::Auto, "one-page")
    })?;
    let mut pipe = Pipe::new("127.0.0.1:0", None)?;
    assist.register(&pipe.registration)?;
    let (mut sends, mut bytes) = (0, 0);
    for _ in 0..TURNS {
        // A send that takes bytes unblocks, the one that is refused blocks.
        let (more, taken) = pipe.fill()?;
        sends += more;
        bytes += taken;
        pipe.drain(taken)?;
    }
    let record = pipe.record(&assist)?;
    assert_eq!((record.sends, record.bytes, record.refusals), (sends, bytes, TURNS));
    assert_ne!(record.blocked_since, 0, "the last send was refused");

    let lost = assist.lost()?;
    let senders = lost.sock_send_length + lost.inet_sendmsg;
    assert_eq!(lost.total(), senders, "another program lost some: {lost:?}");
    let mut events = assist.take_events().context("not taken yet")?;
    let mut kept = 0;
    while let Some(event) = events.try_next() {
        let expected = if kept % 2 == 0 { EventKind::Blocked } else { EventKind::Unblocked };
        assert_eq!(event.kind, expected, "event {kept}");
        kept += 1;
    }
    assert!(lost.total() > 0);
    assert_eq!(kept + lost.total(), 2 * TURNS - 1);
    Ok(())
}
