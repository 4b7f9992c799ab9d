//! The graceful end: what is pending is answered, every peer is told goodbye.

use super::engine::Shared;
use super::handle::Outcome;
use super::systemd;
use crate::observe::event::What;
use governor_core::peer::DisconnectCause;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long peers may take to say goodbye at the end.
const GOODBYE: Duration = Duration::from_secs(5);
/// How often it is looked at whether everything has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Takes no new connections and requests, waits for what is pending at most `answer_timeout`, then DPR to every peer and
/// a while for their answers.
pub(super) async fn stop(shared: &Shared) -> Outcome {
    let answers = {
        let mut engine = shared.borrow();
        let answers = engine.agent.settings().node.answer_timeout;
        systemd::stopping(answers + GOODBYE + Duration::from_secs(1));
        engine.ending = true;
        engine.listeners.clear();
        engine.tell_now(What::Stopping { pending: engine.agent.pending() });
        let now = engine.now();
        engine.agent.handle_drain(now);
        engine.wake_driver();
        answers
    };
    // A slot whose drain has ended says goodbye by itself; the deadline is the rest's.
    let answered = timeout(answers, until(|| shared.borrow().agent.transactions() == 0)).await;
    {
        let mut engine = shared.borrow();
        let now = engine.now();
        engine.agent.handle_stop(now, DisconnectCause::Rebooting);
        engine.wake_driver();
    }
    let quiet = timeout(GOODBYE, until(|| shared.borrow().agent.is_quiet())).await;
    if answered.is_ok() && quiet.is_ok() { Outcome::Quiet } else { Outcome::Deadline }
}

async fn until(done: impl Fn() -> bool) {
    while !done() {
        sleep(LOOK).await;
    }
}
