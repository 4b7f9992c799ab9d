//! Why a connection is where it is, and which rule refused a request, in sentences.

use crate::config::Address;
use governor_core::agent::{Admin, Agent, Slot};
use governor_core::congestion::Cause;
use governor_core::level::{Feature, Level, Priority};
use governor_core::peer::{State, watchdog};
use governor_core::refusal::Refusal;
use governor_core::settings::{Connection, GroupMode};
use governor_core::time::Time;
use std::fmt::Write as _;

/// Why a connection has its level and takes, or does not take, requests.
pub fn why(slot: &Slot, agent: &Agent, address: Option<&Address>, now: Time) -> String {
    let levels = slot.congestion().levels();
    let mut sentence = match levels.cpl() {
        Level::UNAVAILABLE => down(slot, address),
        Level::CL0 => "up: its level holds nothing back".to_owned(),
        cpl => {
            let feature =
                Feature::ALL.into_iter().find(|feature| levels.of(*feature) == cpl).unwrap_or(Feature::Status);
            format!("{}: {}", cause(slot, agent, feature), held_back(cpl))
        }
    };
    match slot.admin() {
        Admin::Enabled => {}
        Admin::Draining { until } => {
            let (pending, left) = (slot.congestion().pending() + slot.awaited(), (until - now).as_secs_f64());
            sentence = format!(
                "draining: takes no new requests, {pending} pending, then a goodbye, in {left:.1} s at the latest; {sentence}"
            );
        }
        Admin::Disabled => sentence = format!("taken out of service by hand; {sentence}"),
    }
    let settings = agent.settings();
    if let Some((group, configured)) = slot.group().and_then(|at| agent.groups().get(at).zip(settings.groups.get(at)))
        && configured.mode == GroupMode::Threshold
        && group.level() > Level::CL0
    {
        let _ = write!(sentence, "; its group {} is at level {} (rule 6)", configured.name, group.level());
    }
    sentence
}

fn down(slot: &Slot, address: Option<&Address>) -> String {
    let to = || address.map_or_else(|| "the peer".to_owned(), ToString::to_string);
    let doing = match slot.machine().state() {
        State::WaitConnAck => format!("connecting to {}", to()),
        State::WaitICea => format!("exchanging capabilities with {}", to()),
        State::WaitConnAckElect | State::WaitReturns => "both ends connect: one connection is chosen".to_owned(),
        State::Closing => "saying goodbye".to_owned(),
        State::IOpen | State::ROpen => "open, and not yet taking requests".to_owned(),
        State::Closed if slot.admin() == Admin::Disabled => "closed".to_owned(),
        State::Closed if address.is_some() => format!("waits before it connects to {} again", to()),
        State::Closed => "waits for the peer to connect".to_owned(),
    };
    match slot.last_close() {
        Some(reason) => format!("down: {doing}; last closed: {reason}"),
        None => format!("down: {doing}"),
    }
}

/// Why a feature of a connection that is up is not at 0.
fn cause(slot: &Slot, agent: &Agent, feature: Feature) -> String {
    let cause = slot.cause(feature);
    let configured = agent.settings().connections.get(slot.index.get());
    let abatement = |of: fn(&Connection) -> std::time::Duration| configured.map_or(0.0, |c| of(c).as_secs_f64());
    match (feature, cause) {
        (Feature::Status, _) => status(slot),
        (Feature::RemoteBusy, Some(Cause::Busy { priority })) => {
            format!("the peer answered 3004 to a request of priority {priority} (rule 2)")
        }
        (Feature::RemoteBusy, _) => {
            let step = abatement(|c| c.remote_busy.abatement);
            format!("the peer was busy; one level less each {step} s without another 3004 (rule 2)")
        }
        (Feature::Transport, Some(Cause::Blocked)) => "the send buffer is full (rule 3)".to_owned(),
        (Feature::Transport, Some(Cause::Pressure { queued, limit })) => {
            let percent = queued.saturating_mul(100).checked_div(limit).unwrap_or_default();
            format!("{queued} of {limit} bytes queued in the send buffer, {percent} % (rule 3)")
        }
        (Feature::Transport, _) => {
            let step = abatement(|c| c.transport.abatement);
            format!("the send buffer was full and has room again; one level less each {step} s (rule 3)")
        }
        (Feature::Throttle, _) => {
            let congestion = slot.congestion();
            let set = configured.and_then(|c| c.throttle.as_ref());
            let of = set.map(|set| format!(" of {} messages/s of the throttle set {}", set.max_rate, set.name));
            format!("{:.1}{} (rule 4)", congestion.rate(), of.unwrap_or_default())
        }
    }
}

fn status(slot: &Slot) -> String {
    let watchdog = match slot.machine().watchdog() {
        watchdog::Status::Suspect => "suspect, no sign of life since the last DWR (RFC 3539)",
        watchdog::Status::Reopen => "back after a failure, on trial until three DWAs have come (RFC 3539)",
        _ => "",
    };
    match (slot.manual_level(), watchdog) {
        (Some(level), "") => format!("set to {level} by hand"),
        (Some(level), watchdog) => format!("{watchdog}, and set to {level} by hand"),
        (None, watchdog) => watchdog.to_owned(),
    }
}

fn held_back(cpl: Level) -> &'static str {
    match cpl.number() {
        1 => "requests of priority 0 are held back",
        2 => "requests of priority 0 and 1 are held back",
        3 => "every request is held back",
        _ => "nothing leaves",
    }
}

/// Which rule refused a request of that priority on a connection.
pub fn rule(priority: Priority, refusal: Refusal, connection: &Connection, group: Option<&str>) -> String {
    match refusal {
        Refusal::Cpl(level) => format!("rule 1: priority {priority} is below the level {level}"),
        Refusal::PendingLimit => format!(
            "rule 5: as many requests wait for answers as may, {} here (pending_limit) or the whole agent's limit",
            connection.pending_limit
        ),
        Refusal::RateLimit => match &connection.throttle {
            Some(set) => format!("rule 4: {} messages in the last second (max_rate of {})", set.max_rate, set.name),
            None => "rule 4: max_rate of a former throttle set".to_owned(),
        },
        Refusal::Group => format!("rule 6: the level or a maximum of the group {}", group.unwrap_or("it was in")),
        other => format!("rule 8: {}", other.error_message()),
    }
}
