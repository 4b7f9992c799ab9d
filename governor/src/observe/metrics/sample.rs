//! The numbers of one instant, copied on the relay's thread.

use crate::kernel::LostEvents;
use governor_core::agent::{Agent, Counters, RouteCounters, Slot, Totals};
use governor_core::congestion::{GroupCounters, Share, ShareState, Sums};
use governor_core::level::{Level, Levels};
use governor_core::settings::{self, Settings, Usage};
use governor_core::time::Time;
use std::sync::Arc;
use std::time::Duration;

/// All that the page tells of the relay.
#[derive(Debug)]
pub struct Sample {
    /// Names and limits; connections, routes and groups stand in the same order.
    pub settings: Arc<Settings>,
    /// Configured connections.
    pub connections: Vec<ConnectionSample>,
    /// Routes.
    pub routes: Vec<RouteSample>,
    /// Egress throttle groups.
    pub groups: Vec<GroupSample>,
    /// Counts that belong to no single connection.
    pub totals: Totals,
    /// Pending records of the whole agent.
    pub pending: u32,
    /// Records in the transaction table: as many (field experience: pending counts leak).
    pub transactions: usize,
    /// Is any kernel program at work?
    pub kernel_active: bool,
    /// Events that found the kernel's ring full; `None`: no programs.
    pub kernel_lost: Option<LostEvents>,
    /// What taking this sample has cost the relay's thread.
    pub cost: Duration,
}

/// A configured connection.
#[derive(Clone, Debug)]
pub struct ConnectionSample {
    /// Its name.
    pub name: Arc<str>,
    /// Its peer's host.
    pub peer: Arc<str>,
    /// Does the operator want it in service?
    pub in_service: bool,
    /// The four inputs of the CPL.
    pub levels: Levels,
    /// Time at each level, by [`Level::index`].
    pub level_times: [Duration; Level::ALL.len()],
    /// messages/s
    pub rate: f64,
    /// messages/s
    pub rate_peak: f64,
    /// Pending records.
    pub pending: u32,
    /// The highest of late.
    pub pending_peak: u32,
    /// The most allowed.
    pub pending_limit: u32,
    /// Requests from it that have not had their answer.
    pub awaited: u32,
    /// What was counted.
    pub counters: Counters,
    /// The socket's send buffer; `None`: there is no socket.
    pub buffer: Option<Buffer>,
    /// What the kernel programs count on the socket; `None`: they do not measure it.
    pub kernel: Option<KernelCounts>,
    /// Which levels and reasons the configuration allows.
    pub can: Can,
}

/// What the configuration of a connection makes possible; series of what it does not are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Can {
    /// Remote BUSY levels.
    pub be_busy: bool,
    /// Levels 1 to 3 by the send buffer's occupancy.
    pub feel_pressure: bool,
    /// The throttle set's maximum, messages/s.
    pub max_rate: Option<u32>,
    /// How many levels the throttle set has.
    pub throttle_levels: usize,
    /// It is in a group.
    pub be_grouped: bool,
}

/// A send buffer as the kernel has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes queued.
    pub queued: u32,
    /// Bytes that it may hold.
    pub limit: u32,
}

/// What the kernel programs count on one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Sends that succeeded.
    pub sends: u64,
    /// Sends refused for want of room.
    pub refusals: u64,
    /// How long sends have been refused; zero: they are not.
    pub blocked: Duration,
}

/// A route.
#[derive(Clone, Debug)]
pub struct RouteSample {
    /// What was counted.
    pub counters: RouteCounters,
    /// (up, all) members of each of its groups.
    pub members: Vec<(usize, usize)>,
}

/// An egress throttle group.
#[derive(Clone, Copy, Debug)]
pub struct GroupSample {
    /// 0 to 3.
    pub level: Level,
    /// requests/s
    pub rate: f64,
    /// requests/s
    pub rate_peak: f64,
    /// Pending records.
    pub pending: u32,
    /// The highest of late.
    pub pending_peak: u32,
    /// What was counted.
    pub counters: GroupCounters,
    /// Our part, if it is shared with other agents.
    pub share: Option<ShareSample>,
}

/// A group's part that is this agent's.
#[derive(Clone, Copy, Debug)]
pub struct ShareSample {
    /// Is it shared now, or is the server away?
    pub is_shared: bool,
    /// Agents that share it, as far as is known.
    pub members: u32,
    /// Our part.
    pub part: Sums,
}

// === impl Sample ===

impl Sample {
    /// Copies what the agent knows. [`Agent::refresh`] comes first, with the same `now`; sockets and kernel programs are the
    /// caller's to add.
    pub fn new(agent: &Agent, now: Time) -> Self {
        let settings = Arc::clone(agent.settings());
        // Behind the configured connections stand those that a reload took out of the file.
        let slots = settings.connections.iter().zip(agent.slots());
        let connections = slots.map(|(configured, slot)| ConnectionSample::new(configured, slot, now)).collect();
        let up = |slot: &Slot| slot.congestion().cpl() < Level::UNAVAILABLE;
        let members = |route: &settings::Route| {
            let of = |group: &settings::RouteGroup| {
                let up = group.members.iter().filter(|(member, _)| agent.slots().get(member.get()).is_some_and(up));
                (up.count(), group.members.len())
            };
            route.groups.iter().map(of).collect()
        };
        let routes = settings.routes.iter().zip(agent.routes());
        let routes = routes
            .map(|(route, counters)| RouteSample { counters: counters.clone(), members: members(route) })
            .collect();
        let group = |group: &governor_core::congestion::Group| GroupSample {
            level: group.level(),
            rate: group.rate(),
            rate_peak: group.rate_peak(now),
            pending: group.pending(),
            pending_peak: group.pending_peak(now),
            counters: *group.counters(),
            share: group.share().map(|share: &Share| ShareSample {
                is_shared: share.state() == ShareState::Shared,
                members: share.members(),
                part: share.part(),
            }),
        };
        Self {
            connections,
            routes,
            groups: agent.groups().iter().map(group).collect(),
            totals: agent.totals().clone(),
            pending: agent.pending(),
            transactions: agent.transactions(),
            kernel_active: false,
            kernel_lost: None,
            cost: Duration::ZERO,
            settings,
        }
    }
}

// === impl ConnectionSample ===

impl ConnectionSample {
    fn new(configured: &settings::Connection, slot: &Slot, now: Time) -> Self {
        let congestion = slot.congestion();
        let throttle = configured.throttle.as_ref();
        Self {
            name: Arc::clone(&slot.name),
            peer: Arc::clone(slot.peer_host()),
            in_service: slot.admin() == governor_core::agent::Admin::Enabled,
            levels: congestion.levels(),
            level_times: slot.level_times().until(now),
            rate: congestion.rate(),
            rate_peak: congestion.rate_peak(now),
            pending: congestion.pending(),
            pending_peak: congestion.pending_peak(now),
            pending_limit: congestion.pending_limit(),
            awaited: slot.awaited(),
            counters: slot.counters().clone(),
            buffer: None,
            kernel: None,
            can: Can {
                be_busy: configured.remote_busy.usage != Usage::Off,
                feel_pressure: configured.transport.pressure.is_some(),
                max_rate: throttle.map(|set| set.max_rate),
                throttle_levels: throttle.map_or(0, |set| set.thresholds.len()),
                be_grouped: slot.group().is_some(),
            },
        }
    }
}
