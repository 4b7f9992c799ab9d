//! `tp_btf` `sock_send_length`, or what stands in for it: the outcome of sends and the send buffer's pressure.

use anyhow::Result;
use governor::kernel::{EventKind, occupancy};
use governor_core::settings::Pressure;
use governor_tests::assist::{Pipe, event, load, measures_sends};
use std::os::fd::AsFd;

#[tokio::test]
async fn a_reader_that_never_reads_blocks_its_connection() -> Result<()> {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (mut assist, report) = load("blocks")?;
        assert!(measures_sends(&report), "{report}");
        let mut pipe = Pipe::new(address, None)?;
        assist.register(&pipe.registration)?;
        let (sends, bytes) = pipe.fill()?;

        let events = event(&mut assist, pipe.cookie(), EventKind::Blocked).await?;
        assert_eq!(events.len(), 1, "nothing but the edge is told: {events:?}");
        let record = pipe.record(&assist)?;
        assert_eq!((record.sends, record.bytes, record.refusals), (sends, bytes, 1));
        assert_eq!(record.blocked_since, events[0].timestamp);
        assert_eq!((record.queued, record.limit), (events[0].queued, events[0].limit));
        // What the kernel programs measure is what the socket says of itself.
        let own = occupancy(pipe.writer.as_fd())?;
        assert_eq!((record.queued, record.limit), (own.queued, own.limit));
        assert!(record.queued * 10 > record.limit * 9, "{record:?}");

        // Refused again: counted, not told.
        pipe.fill()?;
        let again = pipe.record(&assist)?;
        assert_eq!((again.refusals, again.blocked_since), (2, record.blocked_since));
    }
    Ok(())
}

#[tokio::test]
async fn rising_pressure_is_told_once_a_level() -> Result<()> {
    let (mut assist, _report) = load("pressure")?;
    let mut pipe = Pipe::new("127.0.0.1:0", Some(Pressure::default()))?;
    assist.register(&pipe.registration)?;
    let (sends, _) = pipe.fill()?;
    let events = event(&mut assist, pipe.cookie(), EventKind::Blocked).await?;
    let levels: Vec<_> = events.iter().filter(|e| e.kind == EventKind::Pressure).map(|e| e.pressure).collect();
    assert_eq!(levels, [1, 2, 3], "{sends} sends: {events:?}");
    for event in &events[..3] {
        let onset = [50, 70, 85][usize::from(event.pressure) - 1];
        assert!(u64::from(event.queued) * 100 >= onset * u64::from(event.limit), "{event:?}");
    }
    Ok(())
}
