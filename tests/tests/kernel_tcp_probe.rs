//! `tp_btf` `tcp_probe`: pressure falling as the peer acknowledges.

use anyhow::Result;
use governor::kernel::{EventKind, Mode, occupancy};
use governor_core::settings::Pressure;
use governor_tests::assist::{Pipe, event, load, load_with, options};
use governor_tests::eventually;
use governor_tests::wait::secs;
use std::os::fd::AsFd;

#[tokio::test]
async fn a_reader_that_reads_again_unblocks_its_connection() -> Result<()> {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (mut assist, report) = load("unblocks")?;
        assert!(report.attached("tcp_probe"), "{report}");
        let mut pipe = Pipe::new(address, Some(Pressure::default()))?;
        assist.register(&pipe.registration)?;
        let (_, bytes) = pipe.fill()?;
        event(&mut assist, pipe.cookie(), EventKind::Blocked).await?;

        // Nothing is written from here on: what falls is seen by the acknowledgements alone.
        let before = pipe.record(&assist)?;
        pipe.drain(bytes)?;
        let events = event(&mut assist, pipe.cookie(), EventKind::Unblocked).await?;
        let unblocked = events[events.len() - 1];
        assert!(unblocked.timestamp > before.blocked_since);
        assert!(unblocked.queued <= unblocked.limit / 3 * 2 + 2, "told only once writable: {unblocked:?}");
        // The last acknowledgement counts too, though the hook runs before it takes effect.
        let record = eventually("everything acknowledged", secs(5), || {
            pipe.record(&assist).ok().filter(|record| record.queued == 0)
        })?;
        assert_eq!((record.blocked_since, record.pressure), (0, 0));
        assert_eq!(occupancy(pipe.writer.as_fd())?.queued, 0);
        assert_eq!((record.sends, record.bytes), (before.sends, before.bytes));
    }
    Ok(())
}

#[tokio::test]
async fn falling_pressure_is_told_level_by_level() -> Result<()> {
    let (mut assist, _report) = load("falls")?;
    let mut pipe = Pipe::new("127.0.0.1:0", Some(Pressure::default()))?;
    assist.register(&pipe.registration)?;
    let (_, bytes) = pipe.fill()?;
    event(&mut assist, pipe.cookie(), EventKind::Blocked).await?;
    let mut left = bytes;
    let mut levels = Vec::new();
    // Small steps, so that no level is jumped over.
    while left > 0 {
        let step = left.min(4096);
        pipe.drain(step)?;
        left -= step;
        tokio::task::yield_now().await;
    }
    eventually("no pressure", secs(5), || pipe.record(&assist).ok().filter(|record| record.pressure == 0))?;
    let mut events = assist.take_events().expect("not taken yet");
    while let Some(event) = events.try_next() {
        if event.kind == EventKind::Pressure {
            levels.push(event.pressure);
        }
    }
    assert!(levels.is_sorted_by(|a, b| a > b), "only falling: {levels:?}");
    assert_eq!(levels.last(), Some(&0));
    Ok(())
}

#[tokio::test]
async fn without_the_hook_the_next_write_shows_the_fall() -> Result<()> {
    let (mut assist, report) = load_with(&governor::kernel::Options {
        without: vec!["tcp_probe".to_owned()],
        ..options(Mode::Auto, "no-drain")
    })?;
    assert!(!report.measures_pressure());
    let text = report.to_string();
    assert!(
        text.contains("tcp_probe            missing: left out, as configured; so falling pressure is seen"),
        "{text}"
    );
    let mut pipe = Pipe::new("127.0.0.1:0", None)?;
    assist.register(&pipe.registration)?;
    let (_, bytes) = pipe.fill()?;
    pipe.drain(bytes)?;
    assert_ne!(pipe.record(&assist)?.blocked_since, 0, "nothing told of the fall");
    pipe.fill()?;
    let events = event(&mut assist, pipe.cookie(), EventKind::Unblocked).await?;
    assert_eq!(events.iter().map(|e| e.kind).collect::<Vec<_>>(), [EventKind::Blocked, EventKind::Unblocked]);
    Ok(())
}
