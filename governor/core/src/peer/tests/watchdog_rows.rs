//! Every row of RFC 3539 appendix A.

use crate::peer::watchdog::Action::{
    self, AttemptOpen, CloseConnection, Failback, Failover, SendWatchdog, SetWatchdog,
};
use crate::peer::watchdog::Input::{self, ConnectionDown, ConnectionUp, ReceiveDwa, ReceiveNonDwa, TimerExpires};
use crate::peer::watchdog::Status::{self, Down, Initial, Okay, Reopen, Suspect};
use crate::peer::watchdog::Watchdog;

/// How to get to each (status, pending, `NumDWA`) that a row starts from.
fn path(status: Status, pending: bool, num_dwa: i8) -> Vec<Input> {
    let to_down = [ConnectionUp, ConnectionDown];
    let reopen = |rest: &[Input]| [&to_down[..], &[ConnectionUp], rest].concat();
    match (status, pending, num_dwa) {
        (Initial, ..) => vec![],
        (Okay, false, _) => vec![ConnectionUp],
        (Okay, true, _) => vec![ConnectionUp, TimerExpires],
        (Suspect, ..) => vec![ConnectionUp, TimerExpires, TimerExpires],
        (Down, ..) => to_down.to_vec(),
        (Reopen, true, -1) => reopen(&[TimerExpires]),
        (Reopen, _, n) => reopen(&vec![ReceiveDwa; usize::try_from(n).unwrap()]),
    }
}

#[test]
fn every_row_of_the_watchdog_table() {
    // (state, pending, NumDWA), event, actions, (new state, pending)
    type Row = ((Status, bool, i8), Input, &'static [Action], (Status, bool));
    let rows: &[Row] = &[
        ((Okay, false, 0), ReceiveDwa, &[SetWatchdog], (Okay, false)),
        ((Okay, true, 0), ReceiveDwa, &[SetWatchdog], (Okay, false)),
        ((Okay, false, 0), ReceiveNonDwa, &[SetWatchdog], (Okay, false)),
        ((Okay, true, 0), ReceiveNonDwa, &[SetWatchdog], (Okay, true)),
        ((Suspect, true, 0), ReceiveDwa, &[Failback, SetWatchdog], (Okay, false)),
        ((Suspect, true, 0), ReceiveNonDwa, &[Failback, SetWatchdog], (Okay, true)),
        ((Reopen, true, 2), ReceiveDwa, &[Failback, SetWatchdog], (Okay, false)),
        ((Reopen, true, 1), ReceiveDwa, &[SendWatchdog, SetWatchdog], (Reopen, true)),
        ((Reopen, true, 0), ReceiveDwa, &[SendWatchdog, SetWatchdog], (Reopen, true)),
        ((Reopen, true, -1), ReceiveDwa, &[SendWatchdog, SetWatchdog], (Reopen, true)),
        ((Reopen, true, 1), ReceiveNonDwa, &[], (Reopen, true)),
        ((Initial, false, 0), ReceiveDwa, &[], (Initial, false)),
        ((Initial, false, 0), ReceiveNonDwa, &[], (Initial, false)),
        ((Down, false, 0), ReceiveDwa, &[], (Down, false)),
        ((Down, false, 0), ReceiveNonDwa, &[], (Down, false)),
        ((Okay, false, 0), TimerExpires, &[SendWatchdog, SetWatchdog], (Okay, true)),
        ((Okay, true, 0), TimerExpires, &[Failover, SetWatchdog], (Suspect, true)),
        ((Suspect, true, 0), TimerExpires, &[CloseConnection], (Down, false)),
        ((Initial, false, 0), TimerExpires, &[AttemptOpen], (Initial, false)),
        ((Down, false, 0), TimerExpires, &[AttemptOpen], (Down, false)),
        ((Reopen, true, 0), TimerExpires, &[SetWatchdog], (Reopen, true)),
        ((Reopen, true, 2), TimerExpires, &[SetWatchdog], (Reopen, true)),
        ((Reopen, true, -1), TimerExpires, &[CloseConnection], (Down, false)),
        ((Initial, false, 0), ConnectionUp, &[SetWatchdog], (Okay, false)),
        ((Down, false, 0), ConnectionUp, &[SendWatchdog, SetWatchdog], (Reopen, true)),
        ((Okay, true, 0), ConnectionDown, &[], (Down, false)),
        ((Suspect, true, 0), ConnectionDown, &[], (Down, false)),
        ((Reopen, true, 1), ConnectionDown, &[], (Down, false)),
        // No rows of the RFC's: an attempt that came to nothing, and an error.
        ((Initial, false, 0), ConnectionDown, &[], (Initial, false)),
        ((Down, false, 0), ConnectionDown, &[], (Down, false)),
        ((Okay, false, 0), ConnectionUp, &[], (Okay, false)),
    ];
    for (from, input, actions, (status, pending)) in rows {
        let mut watchdog = Watchdog::default();
        for input in path(from.0, from.1, from.2) {
            watchdog.step(input);
        }
        assert_eq!((watchdog.status(), watchdog.pending()), (from.0, from.1), "the way to {from:?}");
        assert_eq!(watchdog.step(*input), *actions, "{from:?}, {input:?}");
        assert_eq!((watchdog.status(), watchdog.pending()), (*status, *pending), "{from:?}, {input:?}");
    }
}

#[test]
fn reopen_counts_three_answers_and_forgets_them_when_one_is_late() {
    let mut watchdog = Watchdog::default();
    for input in [ConnectionUp, ConnectionDown, ConnectionUp, ReceiveDwa, ReceiveDwa, TimerExpires] {
        watchdog.step(input);
    }
    // NumDWA is -1: the late answer makes it 0, then three more are needed.
    for left in (0..4).rev() {
        assert_eq!(watchdog.status(), Reopen, "{left} more");
        watchdog.step(ReceiveDwa);
    }
    assert_eq!(watchdog.status(), Okay);
}

#[test]
fn reopen_counts_afresh_on_each_connection() {
    let mut watchdog = Watchdog::default();
    for input in [ConnectionUp, ConnectionDown, ConnectionUp, ReceiveDwa, ReceiveDwa, ConnectionDown, ConnectionUp] {
        watchdog.step(input);
    }
    watchdog.step(ReceiveDwa);
    watchdog.step(ReceiveDwa);
    assert_eq!(watchdog.status(), Reopen);
    watchdog.step(ReceiveDwa);
    assert_eq!(watchdog.status(), Okay);
}

#[test]
fn a_connection_closed_in_order_starts_from_initial() {
    let mut watchdog = Watchdog::default();
    watchdog.step(ConnectionUp);
    watchdog.closed_in_order();
    assert_eq!(watchdog, Watchdog::default());
    watchdog.step(ConnectionUp);
    assert_eq!(watchdog.status(), Okay);
}
