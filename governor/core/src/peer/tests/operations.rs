//! Sequences of operations that nobody thought of.

use super::pair::{Life, Pair};
use super::{ADDRESS, Bytes, Duration, Event, Machine, Side, Time, config, data, local, view};
use crate::peer::message::{self, Ids};
use crate::peer::{CloseReason, DisconnectCause, parse_cer};
use proptest::prelude::*;

const LOW: &str = "a.example.net";
const HIGH: &str = "b.example.net";

#[derive(Clone, Debug)]
enum Operation {
    Start(usize),
    Stop(usize, DisconnectCause),
    /// Every connection breaks, and both ends are told.
    Reset,
    /// Every connection goes silent.
    BlackHole,
    /// The node forgets everything, and nobody is told.
    Crash(usize, u64),
    Reachable(usize, bool),
    Data(usize),
    Run(u64),
}

fn cause() -> impl Strategy<Value = DisconnectCause> {
    (0u32..3).prop_map(DisconnectCause::from_u32)
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::{BlackHole, Crash, Data, Reachable, Reset, Run, Start, Stop};
    prop_oneof![
        3 => (0usize..2).prop_map(Start),
        1 => (0usize..2, cause()).prop_map(|(me, cause)| Stop(me, cause)),
        1 => Just(Reset),
        1 => Just(BlackHole),
        1 => (0usize..2, any::<u64>()).prop_map(|(me, seed)| Crash(me, seed)),
        2 => (0usize..2, any::<bool>()).prop_map(|(me, yes)| Reachable(me, yes)),
        1 => (0usize..2).prop_map(Data),
        3 => (0u64..40).prop_map(Run),
        3 => (0u64..40_000).prop_map(Run),
    ]
}

proptest! {
    #[test]
    fn whatever_happened_two_nodes_end_with_one_connection_or_at_rest(
        initiate in any::<[bool; 2]>(), swap in any::<bool>(), seed in any::<u32>(),
        operations in prop::collection::vec(operation(), 0..30),
    ) {
        let hosts = if swap { [HIGH, LOW] } else { [LOW, HIGH] };
        let mut pair = Pair::new(hosts, initiate, u64::from(seed));
        for operation in operations {
            match operation {
                Operation::Start(me) => pair.start(me),
                Operation::Stop(me, cause) => pair.act(me, |machine, now| machine.handle_stop(now, cause)),
                Operation::Reset => pair.reset(),
                Operation::BlackHole => pair.black_hole(),
                Operation::Crash(me, seed) => pair.crash(me, seed),
                Operation::Reachable(me, yes) => pair.nodes[me].unreachable = !yes,
                Operation::Data(me) => pair.send_data(me),
                Operation::Run(millis) => pair.run_for(Duration::from_millis(millis)),
            }
        }
        // All is well again, good-byes under way have arrived, and both are told to work.
        for me in 0..2 {
            pair.nodes[me].unreachable = false;
        }
        pair.run_for(Duration::from_secs(60));
        for me in 0..2 {
            pair.start(me);
        }
        pair.run_for(Duration::from_secs(30 * 60));
        let up = [pair.nodes[0].machine.is_up(), pair.nodes[1].machine.is_up()];
        if initiate == [false; 2] {
            prop_assert_eq!((pair.open_connections(), pair.next_wake()), (0, None));
        } else {
            prop_assert_eq!(up, [true; 2], "{:?} {:?}", pair.events(0), pair.events(1));
            prop_assert_eq!(pair.open_connections(), 1);
        }
        // And stopped, they rest for ever.
        for me in 0..2 {
            pair.act(me, |machine, now| machine.handle_stop(now, DisconnectCause::Rebooting));
        }
        pair.run_for(Duration::from_secs(60));
        prop_assert_eq!((pair.open_connections(), pair.next_wake()), (0, None));
    }
}

/// Anything that a caller, or a peer through it, can do to one machine; much of it out of place.
#[derive(Clone, Debug)]
enum Call {
    Start,
    Stop(DisconnectCause),
    Connected,
    ConnectFailed,
    Incoming,
    Message(Side, usize),
    /// A CEA that fits our last CER, with a Result-Code.
    Cea(u32),
    Traffic(Side),
    Disconnected(Side),
    Unusable(Side),
    /// Advance by so many milliseconds without running timers.
    Sleep(u64),
    Timeout,
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Initiator), Just(Side::Responder), Just(Side::SecondResponder)]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        2 => Just(Call::Start),
        1 => cause().prop_map(Call::Stop),
        3 => Just(Call::Connected),
        1 => Just(Call::ConnectFailed),
        3 => Just(Call::Incoming),
        4 => (side(), 0usize..8).prop_map(|(side, which)| Call::Message(side, which)),
        3 => prop_oneof![Just(2001u32), Just(4003), Just(3010), any::<u32>()].prop_map(Call::Cea),
        2 => side().prop_map(Call::Traffic),
        1 => side().prop_map(Call::Disconnected),
        1 => side().prop_map(Call::Unusable),
        1 => (0u64..40_000).prop_map(Call::Sleep),
        3 => Just(Call::Timeout),
    ]
}

/// What the caller knows: which names are in use, and whether the attempt to connect is one still.
#[derive(Default)]
struct Names {
    in_use: [bool; Side::COUNT],
    connected: bool,
}

struct Caller {
    machine: Machine,
    now: Time,
    names: Names,
    life: Life,
    cer: Bytes,
}

impl Caller {
    fn call(&mut self, call: &Call) {
        let ids = Ids { hop_by_hop: 5, end_to_end: 6 };
        let peer = local(HIGH);
        let (machine, now) = (&mut self.machine, self.now);
        match *call {
            Call::Start => machine.handle_start(now),
            Call::Stop(cause) => machine.handle_stop(now, cause),
            Call::Connected => {
                self.names.connected |= self.names.in_use[0];
                machine.handle_connected(now, &[ADDRESS]);
            }
            Call::ConnectFailed if self.names.in_use[0] && !self.names.connected => {
                self.names.in_use[0] = false;
                machine.handle_connect_failed(now);
            }
            Call::ConnectFailed => machine.handle_connect_failed(Time::ZERO.max(now)),
            Call::Incoming => {
                let cer = message::cer(&peer, &[ADDRESS], ids);
                let remote = parse_cer(&view(&cer)).expect("a valid CER");
                if let Ok(side) = machine.handle_incoming(now, &view(&cer), remote, &[ADDRESS]) {
                    assert_ne!(side, Side::Initiator);
                    let used = std::mem::replace(&mut self.names.in_use[side.index()], true);
                    assert!(!used, "{side:?} names two connections");
                }
            }
            Call::Message(side, which) => {
                let cer = message::cer(&peer, &[ADDRESS], ids);
                let dwr = message::dwr(&peer, ids);
                let dpr = message::dpr(&peer, DisconnectCause::from_u32(ids.hop_by_hop % 3), ids);
                let bytes = match which {
                    0 => cer,
                    1 => message::cea(&peer, &[ADDRESS], &view(&cer).header),
                    2 => dwr,
                    3 => message::dwa(&peer, &view(&dwr)),
                    4 => dpr,
                    5 => message::dpa(&peer, &view(&dpr)),
                    6 => crate::diameter::Builder::request(282, 0, 0, 1, 2).bytes(273, b"x").finish(),
                    _ => data(),
                };
                machine.handle_message(now, side, &view(&bytes));
            }
            Call::Cea(code) if code == 2001 && !self.cer.is_empty() => {
                let cea = message::cea(&peer, &[ADDRESS], &view(&self.cer).header);
                machine.handle_message(now, Side::Initiator, &view(&cea));
            }
            Call::Cea(code) if !self.cer.is_empty() => {
                let cea = message::refusing_cea(&peer, &view(&self.cer).header, code, "", &[]);
                machine.handle_message(now, Side::Initiator, &view(&cea));
            }
            Call::Cea(_) => {}
            Call::Traffic(side) => machine.handle_traffic(now, side),
            Call::Disconnected(side) => machine.handle_disconnected(now, side),
            Call::Unusable(side) => machine.handle_unusable(now, side, CloseReason::Malformed),
            Call::Sleep(millis) => self.now += Duration::from_millis(millis),
            Call::Timeout => {
                self.now = machine.poll_timeout().unwrap_or(now).max(now);
                machine.handle_timeout(self.now);
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        let mut polls = 0;
        while let Some((side, bytes)) = self.machine.poll_transmit() {
            assert!(self.names.in_use[side.index()], "{} to {side:?}, which is nobody", super::name(&bytes));
            assert!(side != Side::Initiator || self.names.connected, "before there is a connection");
            if super::name(&bytes) == "CER" {
                self.cer = bytes;
            }
            polls += 1;
        }
        while let Some(event) = self.machine.poll_event() {
            self.life.take(&event);
            match event {
                Event::Connect => {
                    assert!(!std::mem::replace(&mut self.names.in_use[0], true), "one attempt at a time");
                    self.names.connected = false;
                }
                Event::Disconnect { side, .. } => {
                    assert!(std::mem::take(&mut self.names.in_use[side.index()]), "{side:?} is closed twice");
                }
                _ => {}
            }
            polls += 1;
        }
        assert!(polls < 16, "{polls} polls after one call");
        assert_eq!(self.machine.side().is_some(), self.life.open);
        if let Some(side) = self.machine.side() {
            assert!(self.names.in_use[side.index()]);
        }
    }
}

proptest! {
    #[test]
    fn no_sequence_of_calls_confuses_a_machine(
        initiate in any::<bool>(), higher in any::<bool>(), seed in any::<u64>(),
        calls in prop::collection::vec(call(), 0..60),
    ) {
        let me = if higher { "c.example.net" } else { LOW };
        let machine = Machine::new(Time::ZERO, config(HIGH, initiate), local(me), seed);
        let mut caller = Caller {
            machine, now: Time::ZERO, names: Names::default(), life: Life::default(), cer: Bytes::new(),
        };
        for call in &calls {
            caller.call(call);
        }
        // Stopped, and with nobody at the other end, it comes to rest with nothing left open.
        caller.call(&Call::Stop(DisconnectCause::Rebooting));
        for _ in 0..8 {
            if caller.machine.poll_timeout().is_some() {
                caller.call(&Call::Timeout);
            }
        }
        prop_assert_eq!(caller.machine.poll_timeout(), None);
        prop_assert_eq!(caller.names.in_use, [false; Side::COUNT]);
        prop_assert!(!caller.machine.is_open());
    }
}
