//! Slots: the configured connections, each with its peer machine, its levels and its identifiers.

use super::{Admin, Counters, LinkId};
use crate::congestion::{Cause, Connection};
use crate::diameter::forward;
use crate::level::{Feature, Level, Priority};
use crate::level_times::LevelTimes;
use crate::peer::{self, CloseReason, Local, Machine, Side};
use crate::refusal::Refusal;
use crate::routing::HopByHop;
use crate::settings::{ConnectionIndex, PeerIndex, Settings};
use crate::time::Time;
use bytes::Bytes;
use std::sync::Arc;

/// One configured connection.
#[derive(Debug)]
pub struct Slot {
    /// Which one.
    pub index: ConnectionIndex,
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Its peer; `None`: in no configuration any more.
    pub(super) peer: Option<PeerIndex>,
    /// Its peer's Diameter identity.
    pub(super) peer_host: Arc<str>,
    /// Whether the operator wants it in service.
    pub(super) admin: Admin,
    /// X1 as the operator has set it.
    pub(super) manual: Option<Level>,
    /// Its turn to begin connecting, when many begin together.
    pub(super) start_at: Option<Time>,
    /// Its peer machine.
    pub(super) machine: Machine,
    /// Its levels.
    pub(super) congestion: Connection,
    pub(super) hop_by_hop: HopByHop,
    /// The links that serve it, by [`Side::index`]: more than one only while the machine chooses between them.
    pub(super) links: [Option<LinkId>; Side::COUNT],
    /// The side that carries everything, from the capabilities exchange's end until the connection is down.
    pub(super) open: Option<Side>,
    /// A DPR was sent or came: no new requests, answers still flow.
    pub(super) draining: bool,
    /// The Route-Record AVP that names its peer.
    pub(super) route_record: Bytes,
    /// The group it is a member of.
    pub(super) group: Option<u16>,
    /// Requests that came in on it and have not had their answer: records of which it is the ingress.
    pub(super) awaited: u32,
    pub(super) counters: Counters,
    /// How long its CPL has been what.
    pub(super) times: LevelTimes,
    /// The last change of each feature, by [`Feature::index`].
    pub(super) causes: [Option<Cause>; Feature::ALL.len()],
    pub(super) last_refusal: Option<(Time, Priority, Refusal)>,
    pub(super) last_close: Option<CloseReason>,
    pub(super) touched: bool,
}

// === impl Slot ===

impl Slot {
    pub(super) fn new(now: Time, settings: &Settings, local: &Arc<Local>, index: ConnectionIndex, seed: u64) -> Self {
        let connection = &settings.connections[index.get()];
        let peer = settings.peer_of(index);
        let seed = spread(seed ^ u64::from(index.0));
        let config = peer::Config::new(settings, index);
        Self {
            index,
            name: connection.name.as_str().into(),
            peer: Some(connection.peer),
            peer_host: peer.host.as_str().into(),
            admin: Admin::Enabled,
            manual: None,
            start_at: None,
            machine: Machine::new(now, config, Arc::clone(local), seed),
            congestion: Connection::new(connection),
            hop_by_hop: HopByHop::new(u32::try_from(spread(seed) >> 32).unwrap_or_default()),
            links: [None; Side::COUNT],
            open: None,
            draining: false,
            route_record: forward::route_record(&peer.host),
            group: None,
            awaited: 0,
            counters: Counters::default(),
            times: LevelTimes::new(now, Level::UNAVAILABLE),
            causes: [None; Feature::ALL.len()],
            last_refusal: None,
            last_close: None,
            touched: false,
        }
    }

    /// Its levels.
    pub const fn congestion(&self) -> &Connection {
        &self.congestion
    }

    /// When its CPL became what it is.
    pub const fn level_since(&self) -> Time {
        self.times.since()
    }

    /// How long its CPL has been what.
    pub const fn level_times(&self) -> &LevelTimes {
        &self.times
    }

    /// Its peer's Diameter identity.
    pub const fn peer_host(&self) -> &Arc<str> {
        &self.peer_host
    }

    /// The group it is a member of, an index into [`Settings::groups`].
    pub fn group(&self) -> Option<usize> {
        self.group.map(usize::from)
    }

    /// Its peer machine.
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its counters.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether the operator wants it in service.
    pub const fn admin(&self) -> Admin {
        self.admin
    }

    /// Requests that came in on it and have not had their answer.
    pub const fn awaited(&self) -> u32 {
        self.awaited
    }

    /// X1 as the operator has set it.
    pub const fn manual_level(&self) -> Option<Level> {
        self.manual
    }

    /// Has it ended: nothing open, nothing pending, nothing to come?
    pub(super) fn is_over(&self) -> bool {
        self.machine.state() == peer::State::Closed
            && self.links.iter().all(Option::is_none)
            && self.hop_by_hop.is_empty()
    }

    /// Why a feature's level is what it is: its last change. `None`: it has never changed.
    pub const fn cause(&self, feature: Feature) -> Option<Cause> {
        self.causes[feature.index()]
    }

    /// The link over which it is open.
    pub fn link(&self) -> Option<LinkId> {
        self.open.and_then(|side| self.links[side.index()])
    }

    /// When it was last passed over while up, for which priority, and why.
    pub const fn last_refusal(&self) -> Option<(Time, Priority, Refusal)> {
        self.last_refusal
    }

    /// Why it was last closed.
    pub const fn last_close(&self) -> Option<&CloseReason> {
        self.last_close.as_ref()
    }

    /// Does it take requests, if its level lets them out?
    pub(super) fn is_up(&self) -> bool {
        !self.congestion.is_down() && !self.draining && self.admin == Admin::Enabled
    }

    /// Does its peer take this application?
    pub(super) fn supports(&self, application: u32) -> bool {
        self.machine.remote().is_some_and(|remote| remote.applications.supports(application))
    }
}

/// One step of splitmix64: neighbouring numbers become unrelated ones.
fn spread(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
