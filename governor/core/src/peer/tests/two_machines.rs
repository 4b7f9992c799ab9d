//! What two machines do with each other.

use super::pair::Pair;
use super::{CloseReason, Duration, Event, Side, Time, is_relay};
use crate::peer::watchdog::Status;
use crate::peer::{DisconnectCause, State};

const LOW: &str = "a.example.net";
const HIGH: &str = "b.example.net";

fn sent(pair: &Pair, me: usize) -> Vec<&'static str> {
    pair.nodes[me].sent.iter().map(|(_, _, name)| *name).collect()
}

fn states(pair: &Pair) -> [State; 2] {
    [pair.nodes[0].machine.state(), pair.nodes[1].machine.state()]
}

/// One opens, the other waits; both are open.
fn connected() -> Pair {
    let mut pair = Pair::new([LOW, HIGH], [true, false], 7);
    pair.start(0);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(states(&pair), [State::IOpen, State::ROpen]);
    pair
}

#[test]
fn a_capabilities_exchange_opens_both_ends() {
    let pair = connected();
    assert_eq!(sent(&pair, 0), ["CER"]);
    assert_eq!(sent(&pair, 1), ["CEA"]);
    let (i, r) = (Side::Initiator, Side::Responder);
    assert_eq!(pair.events(0), [&Event::Connect, &Event::Opened { side: i }, &Event::Up { side: i }]);
    assert_eq!(pair.events(1), [&Event::Opened { side: r }, &Event::Up { side: r }]);
    for (me, peer) in [(0, HIGH), (1, LOW)] {
        let remote = pair.nodes[me].machine.remote().expect("open");
        assert_eq!(remote.origin_host, peer);
        assert_eq!(remote.product_name.as_deref(), Some("governor"));
        assert_eq!(remote.origin_state_id, Some(1_700_000_000));
        assert_eq!(remote.addresses, [super::ADDRESS]);
        assert!(is_relay(remote));
        assert!(pair.nodes[me].machine.is_up());
    }
}

#[test]
fn an_idle_connection_lives_on_watchdogs() {
    let mut pair = connected();
    pair.run_for(Duration::from_secs(3600));
    assert_eq!(states(&pair), [State::IOpen, State::ROpen]);
    let count = |me, what| sent(&pair, me).iter().filter(|name| **name == what).count();
    assert!(count(0, "DWR") + count(1, "DWR") > 100, "a DWR about each Tw");
    assert_eq!(count(0, "DWR"), count(1, "DWA"));
    assert_eq!(count(1, "DWR"), count(0, "DWA"));
    assert_eq!(pair.reasons(0).len() + pair.reasons(1).len(), 0);
}

#[test]
fn traffic_makes_watchdogs_needless() {
    let mut pair = connected();
    for _ in 0..1000 {
        pair.send_data(0);
        pair.send_data(1);
        pair.run_for(Duration::from_secs(1));
    }
    assert_eq!(sent(&pair, 0), ["CER"]);
    assert_eq!(sent(&pair, 1), ["CEA"]);
}

#[test]
fn a_stop_says_good_bye_and_stays_closed_until_the_next_start() {
    let mut pair = connected();
    pair.act(0, |machine, now| machine.handle_stop(now, DisconnectCause::Rebooting));
    pair.run_for(Duration::from_secs(600));
    assert_eq!(sent(&pair, 0), ["CER", "DPR"]);
    assert_eq!(sent(&pair, 1), ["CEA", "DPA"]);
    assert_eq!(states(&pair), [State::Closed; 2]);
    assert_eq!(pair.reasons(0), ["stopped"]);
    assert_eq!(pair.reasons(1), ["dpr_rebooting"]);
    let down = CloseReason::PeerDisconnect(DisconnectCause::Rebooting);
    assert!(pair.events(1).ends_with(&[
        &Event::Draining,
        &Event::Down { reason: down.clone() },
        &Event::Disconnect { side: Side::Responder, reason: down }
    ]));
    pair.start(0);
    pair.run_for(Duration::from_secs(1));
    // In order: no REOPEN, so no DWRs.
    assert_eq!(sent(&pair, 0), ["CER", "DPR", "CER"]);
    assert_eq!(sent(&pair, 1), ["CEA", "DPA", "CEA"]);
    assert!(pair.nodes[0].machine.is_up() && pair.nodes[1].machine.is_up());
}

#[test]
fn a_broken_connection_comes_back_and_proves_itself() {
    let mut pair = connected();
    pair.reset();
    pair.run_for(Duration::from_secs(2));
    assert_eq!(states(&pair), [State::IOpen, State::ROpen]);
    for me in 0..2 {
        // REOPEN: three DWRs answered, then Up.
        assert_eq!(sent(&pair, me).iter().filter(|name| **name == "DWR").count(), 3);
        assert_eq!(pair.nodes[me].machine.watchdog(), Status::Okay);
        let ups = pair.events(me).iter().filter(|e| matches!(e, Event::Up { .. })).count();
        assert_eq!(ups, 2);
    }
    assert_eq!(pair.open_connections(), 1);
}

#[test]
fn of_two_connections_that_cross_one_is_kept() {
    for (hosts, won) in [([LOW, HIGH], 1), ([HIGH, LOW], 0)] {
        for head_start in 0..20 {
            let mut pair = Pair::new(hosts, [true, true], 7);
            pair.start(0);
            pair.run_until(Time::from_millis(head_start));
            pair.start(1);
            pair.run_for(Duration::from_secs(5));
            assert_eq!(pair.open_connections(), 1, "head start {head_start} ms");
            assert!(pair.nodes.iter().all(|n| n.machine.is_up()), "head start {head_start} ms");
            if head_start == 0 {
                // The winner keeps the connection that the other opened.
                assert_eq!(pair.nodes[won].machine.state(), State::ROpen);
                assert_eq!(pair.nodes[1 - won].machine.state(), State::IOpen);
            }
        }
    }
}
