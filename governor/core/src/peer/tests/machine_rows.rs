//! Every row of the table in RFC 6733 section 5.6, and what we do where it has none.

use super::{ADDRESS, Arc, Bytes, Duration, Event, Local, Machine, Side, Time, config, data, local, name, view};
use crate::peer::message::{self, Ids};
use crate::peer::watchdog::Status;
use crate::peer::{DisconnectCause, State, parse_cer};

/// Between the two peers' names.
const ME: &str = "m.example.net";
/// Loses the election against us.
const LOWER: &str = "a.example.net";
/// Wins it.
const HIGHER: &str = "z.example.net";
const IDS: Ids = Ids { hop_by_hop: 77, end_to_end: 78 };

/// One machine, its peer played by the test.
struct Solo {
    machine: Machine,
    peer: Arc<Local>,
    now: Time,
    /// The CER it has sent last.
    cer: Bytes,
    /// The last message it has sent.
    last: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    I,
    R,
    R2,
}

#[derive(Clone, Copy, Debug)]
enum Ev {
    Start,
    Stop,
    RConnCer,
    IRcvConnAck,
    IRcvConnNack,
    Timeout,
    RcvCea(On),
    RcvCeaOf(&'static str),
    RcvCeaResult(u32),
    RcvCeaOther,
    RcvCer(On),
    RcvDwr(On),
    RcvDwa(On),
    RcvDpr(On, DisconnectCause),
    RcvDpa(On),
    RcvMessage(On),
    PeerDisc(On),
}

impl On {
    fn side(self) -> Side {
        match self {
            Self::I => Side::Initiator,
            Self::R => Side::Responder,
            Self::R2 => Side::SecondResponder,
        }
    }
}

fn prefix(side: Side) -> &'static str {
    match side {
        Side::Initiator => "I",
        Side::Responder => "R",
        Side::SecondResponder => "R2",
    }
}

impl Solo {
    fn new(peer: &str) -> Self {
        let machine = Machine::new(Time::ZERO, config(peer, true), local(ME), 1);
        let cer = message::cer(&local(ME), &[ADDRESS], IDS);
        Self { machine, peer: local(peer), now: Time::ZERO, cer, last: Bytes::new() }
    }

    /// A machine that has come to `state` by the events of the table.
    fn at(state: State, peer: &str) -> Self {
        let mut solo = Self::new(peer);
        let way: &[Ev] = match state {
            State::Closed => &[],
            State::WaitConnAck => &[Ev::Start],
            State::WaitICea => &[Ev::Start, Ev::IRcvConnAck],
            State::WaitConnAckElect => &[Ev::Start, Ev::RConnCer],
            State::WaitReturns => &[Ev::Start, Ev::IRcvConnAck, Ev::RConnCer],
            State::ROpen => &[Ev::RConnCer],
            State::IOpen => &[Ev::Start, Ev::IRcvConnAck, Ev::RcvCea(On::I)],
            State::Closing => &[Ev::Start, Ev::IRcvConnAck, Ev::RcvCea(On::I), Ev::Stop],
        };
        for event in way {
            solo.apply(*event);
        }
        assert_eq!(solo.machine.state(), state, "the way there");
        solo
    }

    fn message(&mut self, on: On, bytes: &Bytes) {
        self.machine.handle_message(self.now, on.side(), &view(bytes));
    }

    /// Lets the event happen; what the machine did about it, in the RFC's words where it has some.
    fn apply(&mut self, event: Ev) -> Vec<String> {
        let mut done = Vec::new();
        let peer = Arc::clone(&self.peer);
        let cea = |solo: &Self, peer: &Local| message::cea(peer, &[ADDRESS], &view(&solo.cer).header);
        match event {
            Ev::Start => self.machine.handle_start(self.now),
            Ev::Stop => self.machine.handle_stop(self.now, DisconnectCause::Rebooting),
            Ev::RConnCer => {
                let cer = message::cer(&peer, &[ADDRESS], IDS);
                let remote = parse_cer(&view(&cer)).expect("a valid CER");
                if let Err(rejected) = self.machine.handle_incoming(self.now, &view(&cer), remote, &[ADDRESS]) {
                    assert_eq!(name(&rejected.answer), "CEA");
                    done.push("R-Reject".to_owned());
                }
            }
            Ev::IRcvConnAck => self.machine.handle_connected(self.now, &[ADDRESS]),
            Ev::IRcvConnNack => self.machine.handle_connect_failed(self.now),
            Ev::Timeout => {
                self.now = self.machine.poll_timeout().expect("a timer runs");
                self.machine.handle_timeout(self.now);
            }
            Ev::RcvCea(on) => self.message(on, &cea(self, &peer)),
            Ev::RcvCeaOf(host) => self.message(On::I, &cea(self, &local(host))),
            Ev::RcvCeaResult(code) => {
                let cer = self.cer.clone();
                let cea = message::refusing_cea(&peer, &view(&cer).header, code, "no", &[]);
                self.message(On::I, &cea);
            }
            Ev::RcvCeaOther => {
                let other = message::cer(&peer, &[ADDRESS], IDS);
                self.message(On::I, &message::cea(&peer, &[ADDRESS], &view(&other).header));
            }
            Ev::RcvCer(on) => self.message(on, &message::cer(&peer, &[ADDRESS], IDS)),
            Ev::RcvDwr(on) => self.message(on, &message::dwr(&peer, IDS)),
            Ev::RcvDwa(on) => self.message(on, &message::dwa(&peer, &view(&message::dwr(&peer, IDS)))),
            Ev::RcvDpr(on, cause) => self.message(on, &message::dpr(&peer, cause, IDS)),
            Ev::RcvDpa(on) => {
                let dpr = message::dpr(&peer, DisconnectCause::Busy, IDS);
                self.message(on, &message::dpa(&peer, &view(&dpr)));
            }
            Ev::RcvMessage(on) => self.machine.handle_traffic(self.now, on.side()),
            Ev::PeerDisc(on) => self.machine.handle_disconnected(self.now, on.side()),
        }
        while let Some((side, bytes)) = self.machine.poll_transmit() {
            done.push(format!("{}-Snd-{}", prefix(side), name(&bytes)));
            if name(&bytes) == "CER" {
                self.cer = bytes.clone();
            }
            self.last = bytes;
        }
        while let Some(event) = self.machine.poll_event() {
            done.push(match event {
                Event::Connect => "I-Snd-Conn-Req".to_owned(),
                Event::Disconnect { side, reason } => format!("{}-Disc {}", prefix(side), reason.label()),
                Event::Opened { side } => format!("{}-Opened", prefix(side)),
                Event::Up { .. } => "Up".to_owned(),
                Event::Suspect => "Suspect".to_owned(),
                Event::Recovered => "Recovered".to_owned(),
                Event::Draining => "Draining".to_owned(),
                Event::Down { reason } => format!("Down {}", reason.label()),
            });
        }
        done
    }

    fn result_code(&self) -> Option<u32> {
        view(&self.last).find(crate::diameter::codes::avp::RESULT_CODE)?.u32()
    }
}

const REBOOT: DisconnectCause = DisconnectCause::Rebooting;

#[test]
fn every_row_of_the_peer_state_machine() {
    use Ev::{
        IRcvConnAck, IRcvConnNack, PeerDisc, RConnCer, RcvCea, RcvDpa, RcvDpr, RcvDwa, RcvDwr, RcvMessage, Start, Stop,
        Timeout,
    };
    use On::{I, R};
    use State::{Closed, Closing, IOpen, ROpen, WaitConnAck, WaitConnAckElect, WaitICea, WaitReturns};
    type Row = (State, &'static str, Ev, &'static [&'static str], State);
    let rows: &[Row] = &[
        (Closed, HIGHER, Start, &["I-Snd-Conn-Req"], WaitConnAck),
        (Closed, HIGHER, RConnCer, &["R-Snd-CEA", "R-Opened", "Up"], ROpen),
        (WaitConnAck, HIGHER, IRcvConnAck, &["I-Snd-CER"], WaitICea),
        (WaitConnAck, HIGHER, IRcvConnNack, &[], Closed),
        (WaitConnAck, HIGHER, RConnCer, &[], WaitConnAckElect),
        (WaitConnAck, HIGHER, Timeout, &["I-Disc connect_timeout"], Closed),
        (WaitICea, HIGHER, RcvCea(I), &["I-Opened", "Up"], IOpen),
        (WaitICea, HIGHER, RConnCer, &[], WaitReturns),
        (WaitICea, LOWER, RConnCer, &["R-Snd-CEA", "I-Disc election", "R-Opened", "Up"], ROpen),
        (WaitICea, HIGHER, PeerDisc(I), &["I-Disc peer_closed"], Closed),
        (WaitICea, HIGHER, RcvDwr(I), &["I-Disc unexpected_message"], Closed),
        (WaitICea, HIGHER, RcvMessage(I), &["I-Disc unexpected_message"], Closed),
        (WaitICea, HIGHER, Timeout, &["I-Disc connect_timeout"], Closed),
        (WaitConnAckElect, HIGHER, IRcvConnAck, &["I-Snd-CER"], WaitReturns),
        (WaitConnAckElect, LOWER, IRcvConnAck, &["I-Snd-CER", "R-Snd-CEA", "I-Disc election", "R-Opened", "Up"], ROpen),
        (WaitConnAckElect, HIGHER, IRcvConnNack, &["R-Snd-CEA", "R-Opened", "Up"], ROpen),
        (WaitConnAckElect, HIGHER, PeerDisc(R), &["R-Disc peer_closed"], WaitConnAck),
        (WaitConnAckElect, HIGHER, RConnCer, &["R-Reject"], WaitConnAckElect),
        // Ours: the peer's own connection is as good as any.
        (WaitConnAckElect, HIGHER, Timeout, &["R-Snd-CEA", "I-Disc connect_timeout", "R-Opened", "Up"], ROpen),
        (WaitReturns, HIGHER, PeerDisc(I), &["R-Snd-CEA", "I-Disc peer_closed", "R-Opened", "Up"], ROpen),
        (WaitReturns, HIGHER, RcvCea(I), &["R-Snd-CEA", "R-Disc election", "I-Opened", "Up"], IOpen),
        (WaitReturns, HIGHER, PeerDisc(R), &["R-Disc peer_closed"], WaitICea),
        (WaitReturns, HIGHER, RConnCer, &["R-Reject"], WaitReturns),
        (WaitReturns, HIGHER, Timeout, &["R-Snd-CEA", "R-Disc connect_timeout", "I-Disc connect_timeout"], Closed),
        (ROpen, HIGHER, RcvMessage(R), &[], ROpen),
        (ROpen, HIGHER, RcvDwr(R), &["R-Snd-DWA"], ROpen),
        (ROpen, HIGHER, RcvDwa(R), &[], ROpen),
        (ROpen, HIGHER, Stop, &["R-Snd-DPR", "Draining"], Closing),
        (ROpen, HIGHER, RcvDpr(R, REBOOT), &["R-Snd-DPA", "Draining"], Closing),
        (ROpen, HIGHER, PeerDisc(R), &["Down peer_closed", "R-Disc peer_closed"], Closed),
        (IOpen, HIGHER, RcvMessage(I), &[], IOpen),
        (IOpen, HIGHER, RcvDwr(I), &["I-Snd-DWA"], IOpen),
        (IOpen, HIGHER, RcvDwa(I), &[], IOpen),
        (IOpen, HIGHER, Stop, &["I-Snd-DPR", "Draining"], Closing),
        (IOpen, HIGHER, RcvDpr(I, REBOOT), &["I-Snd-DPA", "Draining"], Closing),
        (IOpen, HIGHER, PeerDisc(I), &["Down peer_closed", "I-Disc peer_closed"], Closed),
        (Closing, HIGHER, RcvDpa(I), &["Down stopped", "I-Disc stopped"], Closed),
        (Closing, HIGHER, Timeout, &["Down stopped", "I-Disc stopped"], Closed),
        (Closing, HIGHER, PeerDisc(I), &["Down stopped", "I-Disc stopped"], Closed),
    ];
    check(rows);
}

#[test]
fn what_has_no_row_does_what_we_say() {
    use Ev::{
        IRcvConnAck, IRcvConnNack, PeerDisc, RConnCer, RcvCea, RcvCeaOf, RcvCeaOther, RcvCeaResult, RcvCer, RcvDpa,
        RcvDpr, RcvDwa, RcvDwr, RcvMessage, Start, Stop,
    };
    use On::{I, R, R2};
    use State::{Closed, Closing, IOpen, ROpen, WaitConnAck, WaitConnAckElect, WaitICea, WaitReturns};
    let rows: &[(State, &'static str, Ev, &'static [&'static str], State)] = &[
        // A CEA that refuses, is another peer's, or answers another CER.
        (WaitICea, HIGHER, RcvCeaResult(3010), &["I-Disc refused"], Closed),
        (WaitICea, HIGHER, RcvCeaResult(4003), &["I-Disc election"], Closed),
        (WaitICea, HIGHER, RcvCeaOf("other.example.net"), &["I-Disc capabilities"], Closed),
        (WaitICea, HIGHER, RcvCeaOf("Z.EXAMPLE.NET"), &["I-Opened", "Up"], IOpen),
        (WaitICea, HIGHER, RcvCeaOther, &["I-Disc unexpected_message"], Closed),
        (WaitReturns, HIGHER, RcvCeaResult(4003), &["R-Snd-CEA", "I-Disc election", "R-Opened", "Up"], ROpen),
        (WaitReturns, HIGHER, RcvMessage(I), &["R-Snd-CEA", "I-Disc unexpected_message", "R-Opened", "Up"], ROpen),
        // Anything before the CEA on the connection that waits for it.
        (WaitConnAckElect, HIGHER, RcvMessage(R), &["R-Disc unexpected_message"], WaitConnAck),
        (WaitReturns, HIGHER, RcvDwr(R), &["R-Disc unexpected_message"], WaitICea),
        // The open connection is asked before a second one is refused.
        (ROpen, HIGHER, RConnCer, &["R-Snd-DWR"], ROpen),
        (IOpen, HIGHER, RConnCer, &["I-Snd-DWR"], IOpen),
        // A second CER.
        (ROpen, HIGHER, RcvCer(R), &["R-Snd-CEA", "Down second_cer", "R-Disc second_cer"], Closed),
        (IOpen, HIGHER, RcvCer(I), &["I-Snd-CEA", "Down second_cer", "I-Disc second_cer"], Closed),
        // Answers that nobody waits for.
        (IOpen, HIGHER, RcvCea(I), &[], IOpen),
        (IOpen, HIGHER, RcvDpa(I), &[], IOpen),
        // Watchdogs and data in Closing; DPRs that crossed; a peer that is back already.
        (Closing, HIGHER, RcvDwr(I), &["I-Snd-DWA"], Closing),
        (Closing, HIGHER, RcvDwa(I), &[], Closing),
        (Closing, HIGHER, RcvMessage(I), &[], Closing),
        (Closing, HIGHER, RcvDpr(I, REBOOT), &["I-Snd-DPA"], Closing),
        (Closing, HIGHER, RcvCer(I), &["I-Snd-CEA", "Down stopped", "I-Disc stopped"], Closed),
        (Closing, HIGHER, RConnCer, &["R-Reject"], Closing),
        (Closing, HIGHER, Start, &[], Closing),
        (Closing, HIGHER, Stop, &[], Closing),
        // A stop before anything is open.
        (Closed, HIGHER, Stop, &[], Closed),
        (WaitConnAck, HIGHER, Stop, &["I-Disc stopped"], Closed),
        (WaitICea, HIGHER, Stop, &["I-Disc stopped"], Closed),
        (WaitConnAckElect, HIGHER, Stop, &["R-Snd-CEA", "R-Disc stopped", "I-Disc stopped"], Closed),
        (WaitReturns, HIGHER, Stop, &["R-Snd-CEA", "R-Disc stopped", "I-Disc stopped"], Closed),
        // A start where there is nothing to start.
        (WaitConnAck, HIGHER, Start, &[], WaitConnAck),
        (IOpen, HIGHER, Start, &[], IOpen),
        // What is reported of connections that are not there.
        (Closed, HIGHER, IRcvConnAck, &[], Closed),
        (Closed, HIGHER, IRcvConnNack, &[], Closed),
        (Closed, HIGHER, PeerDisc(I), &[], Closed),
        (Closed, HIGHER, RcvMessage(R), &[], Closed),
        (Closed, HIGHER, RcvDwr(R2), &[], Closed),
        (WaitConnAck, HIGHER, RcvCea(R), &[], WaitConnAck),
        (WaitConnAck, HIGHER, RcvMessage(I), &[], WaitConnAck),
        (IOpen, HIGHER, RcvDpr(R, REBOOT), &[], IOpen),
        (IOpen, HIGHER, PeerDisc(R), &[], IOpen),
    ];
    check(rows);
}

fn check(rows: &[(State, &'static str, Ev, &'static [&'static str], State)]) {
    for (state, peer, event, done, next) in rows {
        let mut solo = Solo::at(*state, peer);
        assert_eq!(solo.apply(*event), *done, "{} {event:?}", state.name());
        assert_eq!(solo.machine.state(), *next, "{} {event:?}", state.name());
        // No state is left without a way out but the stable ones.
        let stable = matches!(next, State::Closed | State::IOpen | State::ROpen);
        assert!(stable || solo.machine.poll_timeout().is_some(), "{} waits for ever", next.name());
        let open = matches!(next, State::IOpen | State::ROpen);
        assert_eq!(solo.machine.is_open(), open);
        assert_eq!(solo.machine.remote().is_some(), open || *next == State::Closing);
    }
}

#[test]
fn send_message_goes_where_the_open_connection_is() {
    assert_eq!(Solo::at(State::ROpen, HIGHER).machine.side(), Some(Side::Responder));
    assert_eq!(Solo::at(State::IOpen, HIGHER).machine.side(), Some(Side::Initiator));
    assert_eq!(Solo::at(State::WaitReturns, HIGHER).machine.side(), None);
}

#[test]
fn the_loser_of_an_election_says_4003() {
    let mut solo = Solo::at(State::WaitReturns, HIGHER);
    solo.apply(Ev::RcvCea(On::I));
    assert_eq!((name(&solo.last), solo.result_code()), ("CEA", Some(4003)));
}

#[test]
fn an_open_connection_that_answers_the_probe_stays_and_the_second_gets_5012() {
    for sign in [Ev::RcvDwa(On::R), Ev::RcvMessage(On::R), Ev::RcvDwr(On::R)] {
        let mut solo = Solo::at(State::ROpen, HIGHER);
        solo.apply(Ev::RConnCer);
        let done = solo.apply(sign);
        assert!(done.contains(&"R2-Snd-CEA".to_owned()) && done.contains(&"R2-Disc duplicate".to_owned()), "{done:?}");
        assert_eq!(solo.result_code(), Some(5012));
        assert_eq!(solo.machine.side(), Some(Side::Responder));
        assert!(solo.machine.is_up());
        // And at the next one the open connection has to show life again.
        solo.apply(Ev::RConnCer);
        assert!(solo.apply(Ev::Timeout).contains(&"R-Disc replaced".to_owned()));
    }
}

#[test]
fn a_probe_that_was_answered_is_over() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::RConnCer);
    solo.apply(Ev::RcvDwa(On::R));
    solo.now += Duration::from_secs(10);
    solo.machine.handle_timeout(solo.now);
    assert!(solo.machine.is_up() && solo.machine.poll_event().is_none());
}

#[test]
fn a_second_connection_that_goes_away_ends_the_probe() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::RConnCer);
    assert_eq!(solo.apply(Ev::PeerDisc(On::R2)), ["R2-Disc peer_closed"]);
    solo.now += Duration::from_secs(10);
    solo.machine.handle_timeout(solo.now);
    assert!(solo.machine.is_up() && solo.machine.poll_event().is_none());
}

#[test]
fn a_probe_is_a_watchdog_request_like_any_other() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::RConnCer);
    solo.apply(Ev::RcvMessage(On::R));
    // Data saved the connection, but its DWA has not come for Tw.
    assert_eq!(solo.apply(Ev::Timeout), ["Suspect"]);
}

#[test]
fn a_good_bye_lets_the_next_connection_in_at_once() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::RConnCer);
    let done = solo.apply(Ev::RcvDpr(On::R, REBOOT));
    let label = "dpr_rebooting";
    let expected = [
        "R-Snd-DPA".to_owned(),
        "R2-Snd-CEA".to_owned(),
        "Draining".to_owned(),
        format!("Down {label}"),
        format!("R-Disc {label}"),
        "R2-Opened".to_owned(),
        "Up".to_owned(),
    ];
    assert_eq!(done, expected);
}

#[test]
fn no_other_timer_than_the_watchdog_runs_on_an_open_connection() {
    let least = Duration::from_secs(28);
    for state in [State::ROpen, State::IOpen] {
        let solo = Solo::at(state, HIGHER);
        assert!(solo.machine.poll_timeout().unwrap().since(solo.now) >= least);
    }
    // Nor one that was left by an attempt before.
    let mut solo = Solo::at(State::WaitConnAck, HIGHER);
    solo.apply(Ev::IRcvConnNack);
    solo.apply(Ev::RConnCer);
    assert!(solo.machine.poll_timeout().unwrap().since(solo.now) >= least);
}

#[test]
fn no_watchdog_runs_while_closing() {
    for leave in [Ev::Stop, Ev::RcvDpr(On::I, REBOOT)] {
        let mut solo = Solo::at(State::IOpen, HIGHER);
        solo.now = solo.machine.poll_timeout().unwrap().saturating_sub(Duration::from_millis(1));
        solo.apply(leave);
        let done = solo.apply(Ev::Timeout);
        assert!(done[0].starts_with("Down"), "{done:?}");
    }
}

#[test]
fn what_comes_while_closing_changes_nothing_more() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::Timeout);
    assert_eq!(solo.apply(Ev::Timeout), ["Suspect"]);
    solo.apply(Ev::RcvDpr(On::R, DisconnectCause::Busy));
    // Neither Recovered, nor a new reason.
    for event in [Ev::RcvMessage(On::R), Ev::RcvDwa(On::R), Ev::Stop] {
        assert_eq!(solo.apply(event), [""; 0], "{event:?}");
    }
    assert_eq!(solo.apply(Ev::PeerDisc(On::R)), ["Down dpr_busy", "R-Disc dpr_busy"]);
    assert_eq!(solo.machine.poll_timeout(), None, "stopped since");
}

#[test]
fn silence_counts_from_the_last_message() {
    for seconds in 1..28 {
        let mut solo = Solo::at(State::ROpen, HIGHER);
        solo.now += Duration::from_secs(seconds);
        solo.apply(Ev::RcvMessage(On::R));
        assert_eq!(solo.machine.heard(), solo.now);
        let heard = solo.now;
        while solo.apply(Ev::Timeout).is_empty() {}
        let silence = solo.now.since(heard);
        assert!(silence >= Duration::from_secs(28) && silence <= Duration::from_secs(32), "{silence:?}");
    }
}

#[test]
fn tw_is_jittered_by_2_s_either_way() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    let mut intervals = vec![];
    for _ in 0..200 {
        let before = solo.now;
        assert_eq!(solo.apply(Ev::Timeout), ["R-Snd-DWR"]);
        intervals.push(solo.now.since(before));
        solo.apply(Ev::RcvDwa(On::R));
    }
    let within = |least, most| intervals.iter().all(|i| (least..=most).contains(&i.as_millis()));
    assert!(within(28_000, 32_000));
    assert!(!within(28_500, 32_000) && !within(28_000, 31_500), "all of it is used");
}

#[test]
fn a_start_makes_the_next_failure_a_first_one() {
    let mut solo = Solo::at(State::WaitConnAck, HIGHER);
    let wait = |solo: &mut Solo| {
        solo.apply(Ev::IRcvConnNack);
        solo.machine.poll_timeout().unwrap().since(solo.now)
    };
    for _ in 0..10 {
        wait(&mut solo);
        assert_eq!(solo.apply(Ev::Timeout), ["I-Snd-Conn-Req"]);
    }
    assert!(wait(&mut solo) > Duration::from_secs(20));
    solo.apply(Ev::Start);
    assert!(wait(&mut solo) <= Duration::from_millis(500));
}

#[test]
fn a_connection_that_was_open_for_tc_makes_the_next_failure_a_first_one() {
    for (open_for, first) in [(29, false), (30, true)] {
        let mut solo = Solo::at(State::WaitConnAck, HIGHER);
        for _ in 0..10 {
            solo.apply(Ev::IRcvConnNack);
            solo.apply(Ev::Timeout);
        }
        solo.apply(Ev::IRcvConnAck);
        solo.apply(Ev::RcvCea(On::I));
        solo.now += Duration::from_secs(open_for);
        solo.apply(Ev::PeerDisc(On::I));
        let wait = solo.machine.poll_timeout().unwrap().since(solo.now);
        assert_eq!(wait <= Duration::from_millis(500), first, "open for {open_for} s: {wait:?}");
    }
}

#[test]
fn an_open_connection_that_is_dead_is_replaced() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::RConnCer);
    // A third one while the second waits.
    assert_eq!(solo.apply(Ev::RConnCer), ["R-Reject"]);
    let asked = solo.now;
    // The old one failed, so the new one has to prove itself.
    let done = solo.apply(Ev::Timeout);
    assert_eq!(done, ["R2-Snd-CEA", "R2-Snd-DWR", "Down replaced", "R-Disc replaced", "R2-Opened"]);
    assert_eq!(solo.now.since(asked), Duration::from_secs(3));
    assert_eq!(solo.machine.watchdog(), Status::Reopen);
    assert!(solo.machine.is_open() && !solo.machine.is_up());
    solo.apply(Ev::RcvDwa(On::R2));
    solo.apply(Ev::RcvDwa(On::R2));
    assert_eq!(solo.apply(Ev::RcvDwa(On::R2)), ["Up"]);
    // The name of the old one is free.
    assert_eq!(solo.apply(Ev::RConnCer), ["R2-Snd-DWR"]);
    assert_eq!(solo.apply(Ev::PeerDisc(On::R)), ["R-Disc peer_closed"]);
    assert!(solo.machine.is_up());
}

#[test]
fn an_open_connection_that_breaks_on_the_probe_is_replaced_at_once() {
    let mut solo = Solo::at(State::IOpen, HIGHER);
    solo.apply(Ev::RConnCer);
    let done = solo.apply(Ev::PeerDisc(On::I));
    assert_eq!(done, ["R-Snd-CEA", "R-Snd-DWR", "Down peer_closed", "I-Disc peer_closed", "R-Opened"]);
    assert_eq!(solo.machine.state(), State::ROpen);
}

#[test]
fn a_suspect_connection_is_replaced_without_a_probe() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::Timeout);
    assert_eq!(solo.apply(Ev::Timeout), ["Suspect"]);
    let done = solo.apply(Ev::RConnCer);
    assert_eq!(done, ["R2-Snd-CEA", "R2-Snd-DWR", "Down replaced", "R-Disc replaced", "R2-Opened"]);
}

#[test]
fn a_probe_does_not_add_a_second_dwr_to_a_pending_one() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    assert_eq!(solo.apply(Ev::Timeout), ["R-Snd-DWR"]);
    assert_eq!(solo.apply(Ev::RConnCer), [""; 0]);
    let done = solo.apply(Ev::Timeout);
    assert!(done.contains(&"R-Disc replaced".to_owned()), "{done:?}");
}

#[test]
fn a_peer_that_is_back_before_its_old_connection_ended_is_let_in() {
    let mut solo = Solo::at(State::ROpen, HIGHER);
    solo.apply(Ev::RcvDpr(On::R, DisconnectCause::DoNotWantToTalkToYou));
    let done = solo.apply(Ev::RConnCer);
    let label = "dpr_do_not_want_to_talk_to_you";
    assert_eq!(
        done,
        ["R2-Snd-CEA".to_owned(), format!("Down {label}"), format!("R-Disc {label}"), "R2-Opened".into(), "Up".into()]
    );
}

#[test]
fn a_start_while_closing_opens_again_at_once() {
    let mut solo = Solo::at(State::Closing, HIGHER);
    solo.apply(Ev::Start);
    assert_eq!(solo.apply(Ev::RcvDpa(On::I)), ["Down stopped", "I-Disc stopped", "I-Snd-Conn-Req"]);
}

#[test]
fn a_stopped_connection_takes_nobody_until_it_is_started() {
    let mut solo = Solo::at(State::Closed, HIGHER);
    solo.apply(Ev::Stop);
    assert_eq!(solo.apply(Ev::RConnCer), ["R-Reject"]);
    assert_eq!(solo.machine.poll_timeout(), None);
    solo.apply(Ev::Start);
    assert_eq!(solo.machine.state(), State::WaitConnAck);
}

#[test]
fn a_dwr_whose_avps_cannot_be_walked_is_answered_with_5014() {
    let mut solo = Solo::at(State::IOpen, HIGHER);
    let mut bad = message::dwr(&solo.peer, IDS).to_vec();
    bad[25..28].copy_from_slice(&[0, 0, 3]);
    solo.machine.handle_message(solo.now, Side::Initiator, &view(&Bytes::from(bad)));
    let (side, dwa) = solo.machine.poll_transmit().expect("an answer");
    assert_eq!((side, name(&dwa)), (Side::Initiator, "DWA"));
    assert_eq!(view(&dwa).find(268).and_then(|avp| avp.u32()), Some(5014));
    assert_eq!(view(&dwa).find(279).expect("Failed-AVP").data[..4], 264u32.to_be_bytes());
    assert!(solo.machine.is_up());
}

#[test]
fn what_is_sent_has_our_name_and_the_requests_ids() {
    let mut solo = Solo::at(State::IOpen, HIGHER);
    solo.apply(Ev::RcvDwr(On::I));
    let dwa = view(&solo.last);
    assert_eq!((dwa.header.hop_by_hop, dwa.header.end_to_end), (IDS.hop_by_hop, IDS.end_to_end));
    assert_eq!(dwa.find(264).unwrap().data, ME.as_bytes());
    assert_eq!(dwa.find(296).unwrap().data, b"example.net");
    assert_eq!(solo.result_code(), Some(2001));
    assert!(dwa.avps().all(|avp| avp.is_ok()));
    assert_eq!(data().len(), 20);
}
