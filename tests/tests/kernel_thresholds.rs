//! Thresholds that change while a connection is measured.

use anyhow::Result;
use governor::kernel::EventKind;
use governor_core::settings::Pressure;
use governor_tests::assist::{Pipe, event, load};

#[tokio::test]
async fn other_thresholds_hold_from_the_next_send_on_and_no_counter_is_lost() -> Result<()> {
    let (mut assist, _report) = load("thresholds")?;
    let mut pipe = Pipe::new("127.0.0.1:0", None)?;
    assist.register(&pipe.registration)?;
    let (_, bytes) = pipe.fill()?;
    let without = event(&mut assist, pipe.cookie(), EventKind::Blocked).await?;
    assert!(without.iter().all(|event| event.kind != EventKind::Pressure), "none is configured: {without:?}");
    pipe.drain(bytes)?;
    event(&mut assist, pipe.cookie(), EventKind::Unblocked).await?;

    let before = pipe.record(&assist)?;
    assist.set_pressure(pipe.cookie(), Some(Pressure::default()))?;
    let after = pipe.record(&assist)?;
    assert!(before.sends > 0 && before.refusals > 0);
    assert_eq!((after.sends, after.refusals, after.bytes), (before.sends, before.refusals, before.bytes));
    pipe.fill()?;
    let with = event(&mut assist, pipe.cookie(), EventKind::Blocked).await?;
    assert!(with.iter().any(|event| event.kind == EventKind::Pressure), "{with:?}");

    assist.set_pressure(pipe.cookie(), None)?;
    assert_eq!(pipe.record(&assist)?.thresholds, governor_common::Thresholds::OFF);
    assist.unregister(pipe.cookie())?;
    assist.set_pressure(pipe.cookie(), None)?;
    assert!(assist.record(pipe.cookie())?.is_none(), "one that is gone stays gone");
    Ok(())
}
