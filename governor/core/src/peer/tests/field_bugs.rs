//! What broke other Diameter nodes (field-bugs, section B), each with its own number.

use super::pair::Pair;
use super::{ADDRESS, Bytes, Duration, Event, Machine, Side, Time, config, local, name, view};
use crate::peer::message::{self, Ids};
use crate::peer::watchdog::Status;
use crate::peer::{CloseReason, DisconnectCause, State, parse_cer};
use std::sync::Arc;

const LOW: &str = "a.example.net";
const HIGH: &str = "b.example.net";
const IDS: Ids = Ids { hop_by_hop: 77, end_to_end: 78 };

fn connected(initiate: [bool; 2], tw: u64) -> Pair {
    let mut pair = Pair::with([LOW, HIGH], initiate, 3, |config| config.watchdog = Duration::from_secs(tw));
    pair.start(0);
    pair.start(1);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.nodes.iter().all(|node| node.machine.is_up()));
    pair
}

fn first(pair: &Pair, me: usize, after: Time, what: impl Fn(&Event) -> bool) -> Option<Time> {
    pair.nodes[me].events.iter().find(|(at, event)| *at >= after && what(event)).map(|(at, _)| *at)
}

fn is_connect(event: &Event) -> bool {
    matches!(event, Event::Connect)
}

fn is_up(event: &Event) -> bool {
    matches!(event, Event::Up { .. })
}

// --- 16 ---

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Dwr,
    Dwa,
    Data,
    Timeout,
}

/// A machine on an open connection, as far as 16 goes.
#[derive(Clone)]
struct Crossing {
    machine: Machine,
    now: Time,
    path: Vec<Step>,
    unanswered: usize,
    outputs: Vec<&'static str>,
}

impl Crossing {
    fn take(&mut self, step: Step) {
        let peer = local(HIGH);
        self.path.push(step);
        let mut asked = 0;
        match step {
            Step::Dwr => {
                self.now += Duration::from_secs(1);
                self.machine.handle_message(self.now, Side::Responder, &view(&message::dwr(&peer, IDS)));
                asked = 1;
            }
            Step::Dwa => {
                self.now += Duration::from_secs(1);
                let dwa = message::dwa(&peer, &view(&message::dwr(&peer, IDS)));
                self.machine.handle_message(self.now, Side::Responder, &view(&dwa));
                self.unanswered = 0;
            }
            Step::Data => {
                self.now += Duration::from_secs(1);
                self.machine.handle_traffic(self.now, Side::Responder);
            }
            // Silence until the watchdog does something: traffic since it was set only moves it.
            Step::Timeout => {
                let mut wakes = 0;
                while self.outputs.is_empty() {
                    self.now = self.machine.poll_timeout().expect("the watchdog runs");
                    self.machine.handle_timeout(self.now);
                    self.poll();
                    wakes += 1;
                    assert!(wakes < 9, "bounded: {:?}", self.path);
                }
            }
        }
        self.poll();
        let count = |what| self.outputs.iter().filter(|output| **output == what).count();
        self.unanswered += count("DWR");
        assert_eq!(count("DWA"), asked, "each DWR has its DWA: {:?}", self.path);
        self.outputs.clear();
        assert!(self.unanswered <= 1, "one DWR at a time: {:?}", self.path);
        if step != Step::Timeout {
            assert_ne!(self.machine.watchdog(), Status::Suspect, "a peer that speaks is not suspect: {:?}", self.path);
        }
    }

    fn poll(&mut self) {
        while let Some((_, bytes)) = self.machine.poll_transmit() {
            self.outputs.push(name(&bytes));
        }
        while self.machine.poll_event().is_some() {
            self.outputs.push("event");
        }
    }

    fn explore(&self, depth: usize, closed: &mut u32) {
        if depth == 0 {
            return;
        }
        for step in [Step::Dwr, Step::Dwa, Step::Data, Step::Timeout] {
            let mut next = self.clone();
            next.take(step);
            if next.machine.is_open() {
                next.explore(depth - 1, closed);
                continue;
            }
            *closed += 1;
            let silent = next.path.iter().rev().take_while(|step| **step == Step::Timeout).count();
            assert!(silent >= 2, "closed though the peer answers: {:?}", next.path);
            if next.path.contains(&Step::Dwa) && !next.path.contains(&Step::Data) && !next.path.contains(&Step::Dwr) {
                // Every DWR but the last was answered: three intervals of silence, no less.
                let at = next.path.iter().rposition(|step| *step == Step::Dwa).unwrap();
                assert!(next.path.len() - at > 3, "{:?}", next.path);
            }
        }
    }
}

#[test]
fn n16_no_interleaving_of_watchdogs_closes_while_the_peer_answers() {
    let mut machine = Machine::new(Time::ZERO, config(HIGH, false), local(LOW), 1);
    let cer = message::cer(&local(HIGH), &[ADDRESS], IDS);
    let remote = parse_cer(&view(&cer)).unwrap();
    machine.handle_incoming(Time::ZERO, &view(&cer), remote, &[ADDRESS]).unwrap();
    while machine.poll_transmit().is_some() {}
    while machine.poll_event().is_some() {}
    let mut closed = 0;
    Crossing { machine, now: Time::ZERO, path: vec![], unanswered: 0, outputs: vec![] }.explore(8, &mut closed);
    assert!(closed > 100, "silence does close: {closed}");
}

#[test]
fn n16_watchdogs_of_both_sides_that_cross_harm_nobody() {
    for seed in 0..50 {
        let mut pair = Pair::with([LOW, HIGH], [true, false], seed, |c| c.watchdog = Duration::from_secs(6));
        pair.start(0);
        pair.run_for(Duration::from_secs(3600));
        for me in 0..2 {
            assert!(pair.nodes[me].machine.is_up());
            assert!(!pair.events(me).iter().any(|e| matches!(e, Event::Suspect | Event::Down { .. })), "seed {seed}");
        }
    }
}

// --- 17 ---

#[test]
fn n17_a_peer_that_stops_is_suspect_within_16_s_and_closed_within_24_s() {
    for start in 0..40 {
        let mut pair = connected([true, false], 6);
        pair.run_for(Duration::from_millis(500 * start));
        pair.nodes[1].unreachable = true;
        pair.black_hole();
        let stopped = pair.now;
        pair.run_for(Duration::from_secs(30));
        let suspect = first(&pair, 0, stopped, |e| *e == Event::Suspect).expect("suspect").since(stopped);
        let down = first(&pair, 0, stopped, |e| matches!(e, Event::Down { .. })).expect("closed").since(stopped);
        assert!(suspect <= Duration::from_secs(16), "{suspect:?}");
        assert!(down <= Duration::from_secs(24), "{down:?}");
        // Not before it has been silent for two intervals (RFC 3539 section 3.4.1 [4]).
        let least = Duration::from_secs(4);
        assert!(suspect >= least && down >= suspect + least);
        assert_eq!(pair.reasons(0), ["watchdog_timeout"]);
    }
}

#[test]
fn n17_tw_below_6_s_counts_as_6_s_and_is_jittered_by_2_s_either_way() {
    let mut intervals: Vec<Duration> = vec![];
    let mut pair = connected([true, false], 1);
    pair.run_for(Duration::from_secs(3000));
    for me in 0..2 {
        let dwrs: Vec<Time> = pair.nodes[me].sent.iter().filter(|s| s.2 == "DWR").map(|s| s.0).collect();
        intervals.extend(dwrs.windows(2).map(|w| w[1].since(w[0])));
    }
    let (least, most) = (intervals.iter().min().unwrap(), intervals.iter().max().unwrap());
    assert!(*least >= Duration::from_secs(4), "{least:?}");
    // The other side's DWR moves ours; alone it is at most 8 s and a round trip.
    assert!(intervals.len() > 200 && *most > Duration::from_secs(6), "{most:?}");
}

#[test]
fn n17_a_suspect_peer_that_speaks_again_is_used_again() {
    let mut machine = Machine::new(Time::ZERO, config(HIGH, false), local(LOW), 1);
    let cer = message::cer(&local(HIGH), &[ADDRESS], IDS);
    machine.handle_incoming(Time::ZERO, &view(&cer), parse_cer(&view(&cer)).unwrap(), &[ADDRESS]).unwrap();
    let mut now = Time::ZERO;
    while machine.is_up() {
        now = machine.poll_timeout().unwrap();
        machine.handle_timeout(now);
    }
    machine.handle_traffic(now, Side::Responder);
    let events: Vec<Event> = std::iter::from_fn(|| machine.poll_event()).collect();
    assert!(events.ends_with(&[Event::Suspect, Event::Recovered]), "{events:?}");
    assert!(machine.is_up());
}

// --- 18 ---

#[test]
fn n18_a_half_open_connection_ends_in_a_new_one_not_in_a_final_state() {
    let mut pair = connected([true, false], 6);
    pair.black_hole();
    let broken = pair.now;
    pair.run_for(Duration::from_secs(60));
    assert!(pair.nodes.iter().all(|node| node.machine.is_up()));
    assert_eq!(pair.open_connections(), 1);
    let up = first(&pair, 0, broken, is_up).unwrap();
    assert!(up.since(broken) <= Duration::from_secs(24 + 2), "{:?}", up.since(broken));
}

#[test]
fn n18_attempts_go_on_for_ever_growing_apart_up_to_tc() {
    let mut pair = Pair::new([LOW, HIGH], [true, false], 3);
    pair.nodes[1].unreachable = true;
    pair.start(0);
    pair.run_for(Duration::from_secs(24 * 3600));
    let tries: Vec<Time> = pair.nodes[0].events.iter().filter(|(_, e)| is_connect(e)).map(|(at, _)| *at).collect();
    let waits: Vec<Duration> = tries.windows(2).map(|w| w[1].since(w[0])).collect();
    let tc = Duration::from_secs(30);
    assert!(waits[0] >= Duration::from_millis(375) && waits[0] <= Duration::from_millis(510), "{:?}", waits[0]);
    assert!(waits.iter().all(|wait| *wait <= tc + Duration::from_millis(10)), "never more than Tc");
    assert!(waits[10..].iter().all(|wait| *wait >= tc * 3 / 4), "then about Tc");
    let distinct = waits[10..].iter().collect::<std::collections::HashSet<_>>().len();
    assert!(distinct > 100, "jittered: {distinct}");
    pair.nodes[1].unreachable = false;
    pair.run_for(Duration::from_secs(31));
    assert!(pair.nodes[0].machine.is_up());
}

// --- 19 ---

#[test]
fn n19_each_disconnect_cause_has_its_way_back() {
    let tc = Duration::from_secs(30);
    for (cause, least, most) in [
        (DisconnectCause::Rebooting, Some(tc * 3 / 4), tc),
        (DisconnectCause::Busy, Some(tc * 30 / 4), tc * 10),
        (DisconnectCause::DoNotWantToTalkToYou, None, tc),
    ] {
        let mut pair = connected([true, false], 30);
        pair.act(1, |machine, now| machine.handle_stop(now, cause));
        pair.start(1);
        let told = pair.now;
        pair.run_for(Duration::from_secs(24 * 3600));
        let down = CloseReason::PeerDisconnect(cause);
        assert!(pair.events(0).contains(&&Event::Down { reason: down.clone() }), "the cause is reported");
        let again = first(&pair, 0, told, is_connect).map(|at| at.since(told));
        match (again, least) {
            (Some(again), Some(least)) => {
                assert!(again >= least && again <= most + Duration::from_millis(50), "{cause:?}: {again:?}");
                assert!(pair.nodes[0].machine.is_up());
            }
            (None, None) => {
                assert_eq!(pair.nodes[0].machine.poll_timeout(), None);
                // The operator asks.
                pair.start(0);
                pair.run_for(Duration::from_secs(1));
                assert!(pair.nodes[0].machine.is_up());
            }
            other => panic!("{cause:?}: {other:?}"),
        }
    }
}

#[test]
fn n19_a_new_cer_from_the_peer_lifts_whatever_it_said() {
    for cause in [DisconnectCause::Busy, DisconnectCause::DoNotWantToTalkToYou] {
        let mut pair = connected([true, true], 30);
        pair.act(1, |machine, now| machine.handle_stop(now, cause));
        pair.run_for(Duration::from_secs(60));
        assert!(!pair.nodes[0].machine.is_open());
        pair.start(1);
        pair.run_for(Duration::from_secs(1));
        assert!(pair.nodes[0].machine.is_up(), "{cause:?}");
        // And what it said does not count at the next failure.
        pair.reset();
        let broken = pair.now;
        pair.run_for(Duration::from_secs(5));
        assert!(first(&pair, 0, broken, is_up).is_some());
    }
}

#[test]
fn n19_an_unknown_or_missing_cause_counts_as_rebooting() {
    assert_eq!(DisconnectCause::from_u32(17), DisconnectCause::Rebooting);
    for cause in [DisconnectCause::Rebooting, DisconnectCause::Busy, DisconnectCause::DoNotWantToTalkToYou] {
        assert_eq!(DisconnectCause::from_u32(cause.number()), cause);
    }
    let mut machine = Machine::new(Time::ZERO, config(HIGH, false), local(LOW), 1);
    let cer = message::cer(&local(HIGH), &[ADDRESS], IDS);
    machine.handle_incoming(Time::ZERO, &view(&cer), parse_cer(&view(&cer)).unwrap(), &[ADDRESS]).unwrap();
    let dpr = crate::diameter::Builder::request(282, 0, 0, 1, 2).finish();
    machine.handle_message(Time::ZERO, Side::Responder, &view(&dpr));
    machine.handle_disconnected(Time::ZERO, Side::Responder);
    let events: Vec<Event> = std::iter::from_fn(|| machine.poll_event()).collect();
    let reason = CloseReason::PeerDisconnect(DisconnectCause::Rebooting);
    assert!(events.contains(&Event::Down { reason }), "{events:?}");
}

// --- 21 ---

#[test]
fn n21_every_close_has_one_reason_with_a_label_of_its_own() {
    let error = crate::peer::CapabilitiesError::HeaderBits;
    let cause = DisconnectCause::Busy;
    let reasons = [
        CloseReason::ConnectTimeout,
        CloseReason::PeerClosed,
        CloseReason::TransportError,
        CloseReason::Malformed,
        CloseReason::MessageTimeout,
        CloseReason::WatchdogTimeout,
        CloseReason::PeerDisconnect(DisconnectCause::Rebooting),
        CloseReason::PeerDisconnect(DisconnectCause::Busy),
        CloseReason::PeerDisconnect(DisconnectCause::DoNotWantToTalkToYou),
        CloseReason::Stopped(cause),
        CloseReason::Election,
        CloseReason::Duplicate,
        CloseReason::Replaced,
        CloseReason::Refused(3010),
        CloseReason::Capabilities(error),
        CloseReason::UnknownPeer("address 192.0.2.1".to_owned()),
        CloseReason::SecondCer,
        CloseReason::UnexpectedMessage,
    ];
    assert_eq!(reasons.each_ref().map(CloseReason::label), CloseReason::LABELS);
    assert_eq!(CloseReason::Refused(3010).to_string(), "refused: the CEA has Result-Code 3010");
}

#[test]
fn n21_a_configured_peer_is_not_dropped_for_being_idle() {
    let mut pair = connected([true, false], 30);
    pair.run_for(Duration::from_secs(7 * 24 * 3600));
    assert!(pair.reasons(0).is_empty() && pair.reasons(1).is_empty());
    assert!(pair.nodes.iter().all(|node| node.machine.is_up()));
}

// --- 22, 23 ---

#[test]
fn n22_a_peer_that_crashed_and_came_back_is_not_shut_out() {
    for initiate in [[false, true], [true, true]] {
        let mut pair = connected(initiate, 30);
        pair.crash(1, 99);
        let back = pair.now;
        pair.start(1);
        pair.run_for(Duration::from_secs(10));
        let up = first(&pair, 0, back, is_up).expect("up again").since(back);
        assert!(up <= Duration::from_secs(4), "{up:?}, not minutes");
        assert!(pair.nodes.iter().all(|node| node.machine.is_up()));
        assert_eq!(pair.reasons(0).iter().filter(|r| **r == "replaced").count(), 1);
    }
}

#[test]
fn n22_a_live_connection_is_not_replaced_by_a_second_one() {
    let mut pair = connected([true, false], 30);
    let cer = message::cer(&local(HIGH), &[ADDRESS], IDS);
    let remote = parse_cer(&view(&cer)).unwrap();
    let (machine, now) = (&mut pair.nodes[0].machine, pair.now);
    assert_eq!(machine.handle_incoming(now, &view(&cer), remote, &[ADDRESS]), Ok(Side::Responder));
    // The DWR goes to the peer, whose DWA decides.
    let (side, dwr) = machine.poll_transmit().unwrap();
    assert_eq!((side, name(&dwr)), (Side::Initiator, "DWR"));
    let dwa = message::dwa(&local(HIGH), &view(&dwr));
    machine.handle_message(now, Side::Initiator, &view(&dwa));
    let (side, cea) = machine.poll_transmit().unwrap();
    assert_eq!((side, view(&cea).find(268).and_then(|a| a.u32())), (Side::Responder, Some(5012)));
    let refused = Event::Disconnect { side: Side::Responder, reason: CloseReason::Duplicate };
    assert_eq!(machine.poll_event(), Some(refused));
    assert_eq!((machine.state(), machine.poll_event()), (State::IOpen, None));
}

#[test]
fn n23_the_identity_is_free_at_the_moment_of_the_close() {
    let mut machine = Machine::new(Time::ZERO, config(HIGH, false), local(LOW), 1);
    let cer = message::cer(&local(HIGH), &[ADDRESS], IDS);
    for _ in 0..1000 {
        let remote = parse_cer(&view(&cer)).unwrap();
        let side = machine.handle_incoming(Time::ZERO, &view(&cer), remote, &[ADDRESS]);
        assert_eq!(side, Ok(Side::Responder));
        assert!(machine.is_open() && machine.remote().is_some());
        machine.handle_disconnected(Time::ZERO, Side::Responder);
        assert!(machine.remote().is_none());
        while machine.poll_transmit().is_some() {}
        while machine.poll_event().is_some() {}
    }
    assert_eq!(machine.poll_timeout(), None, "nothing is left behind");
}

#[test]
fn n23_a_lost_connection_is_back_within_tc() {
    for initiate in [[true, false], [false, true], [true, true]] {
        let mut pair = connected(initiate, 30);
        pair.reset();
        let broken = pair.now;
        pair.run_for(Duration::from_secs(30));
        let up = first(&pair, 1, broken, is_up).expect("up again").since(broken);
        assert!(up < Duration::from_secs(2), "{initiate:?}: {up:?}");
        assert!(pair.nodes.iter().all(|node| node.machine.is_up()));
        assert_eq!(pair.open_connections(), 1);
    }
}

// --- 25 ---

#[test]
fn n25_origin_state_id_is_the_same_in_every_message() {
    let us = local(LOW);
    let cer = message::cer(&us, &[ADDRESS], IDS);
    let dwr = message::dwr(&us, IDS);
    let messages =
        [cer.clone(), message::cea(&us, &[ADDRESS], &view(&cer).header), dwr.clone(), message::dwa(&us, &view(&dwr))];
    for bytes in &messages {
        let id = view(bytes).find(278).and_then(|avp| avp.u32());
        assert_eq!(id, Some(us.origin_state_id), "{}", name(bytes));
    }
}

#[test]
fn n25_a_peers_changed_or_missing_origin_state_id_harms_nothing() {
    let mut machine = Machine::new(Time::ZERO, config(HIGH, false), local(LOW), 1);
    let cer = message::cer(&local(HIGH), &[ADDRESS], IDS);
    machine.handle_incoming(Time::ZERO, &view(&cer), parse_cer(&view(&cer)).unwrap(), &[ADDRESS]).unwrap();
    let mut rebooted = local(HIGH);
    Arc::make_mut(&mut rebooted).origin_state_id += 1;
    let without = crate::diameter::Builder::request(280, 0, 0, 1, 2)
        .bytes(264, HIGH.as_bytes())
        .bytes(296, b"example.net")
        .finish();
    for dwr in [message::dwr(&rebooted, IDS), without] {
        let dwr: Bytes = dwr;
        machine.handle_message(Time::ZERO, Side::Responder, &view(&dwr));
    }
    let sent: Vec<&str> = std::iter::from_fn(|| machine.poll_transmit()).map(|(_, b)| name(&b)).collect();
    assert_eq!(sent, ["CEA", "DWA", "DWA"]);
    assert!(machine.is_up());
}
