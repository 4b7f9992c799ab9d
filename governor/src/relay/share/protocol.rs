//! The store's side of the core's reports and grants: the script that keeps a shared group, and its arguments and answer.

use governor_core::congestion::{Grant, Report, Sums};
use governor_core::settings;
use std::time::Duration;

/// What the server runs for each report.
pub const SCRIPT: &str = include_str!("store.lua");
/// How long an agent that has vanished without a goodbye keeps its equal part reserved: it may be at work, cut off from the
/// server.
const FORGET: Duration = Duration::from_secs(60);

/// Who reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The agent's Origin-Host, which no other has.
    pub host: String,
    /// Another one at each start.
    pub instance: u64,
}

/// The script's arguments (`ARGV`).
pub fn arguments(member: &Member, settings: settings::Share, report: &Report) -> Vec<String> {
    write(member, settings, report, settings.lease())
}

/// The arguments that say goodbye: the part is given back, but for what the requests of the last second occupy.
pub fn goodbye(member: &Member, settings: settings::Share, report: &Report) -> Vec<String> {
    let report = Report { held: report.used, want: Sums::default(), demand: Sums::default(), ..*report };
    write(member, settings, &report, Duration::ZERO)
}

fn write(member: &Member, settings: settings::Share, report: &Report, lease: Duration) -> Vec<String> {
    // Every agent that is alive reports again within two leases of the server's coming back.
    let grace = settings.lease() * 3;
    let mut arguments = vec![member.host.clone(), member.instance.to_string(), report.number.to_string()];
    arguments.extend([report.made, report.age].map(|time| time.to_string()));
    arguments.extend([lease, grace, FORGET].map(|time| time.as_millis().to_string()));
    arguments.push(report.agents.to_string());
    arguments.push(report.fallback.map_or_else(|| "-1".to_owned(), |fallback| fallback.to_string()));
    let sums = [report.max, report.held, report.want, report.demand, report.used];
    arguments.extend(sums.into_iter().flat_map(|sums| [sums.rate, sums.pending]).map(|figure| figure.to_string()));
    arguments.push(report.level.to_string());
    arguments
}

/// The script's answer; `None`: the report was overtaken by a later one, or this is no answer of the script's.
pub fn grant(answer: &[i64]) -> Option<Grant> {
    let (head, demands) = answer.split_first_chunk::<13>()?;
    // A figure below 0 there is none; a greater one than fits is no limit of ours.
    let figure = |figure: i64| u32::try_from(figure.max(0)).unwrap_or(u32::MAX);
    let sums = |rate, pending| Sums { rate: figure(rate), pending: figure(pending) };
    let &[
        at,
        settled,
        part,
        part_pending,
        fallback,
        max,
        max_pending,
        missing,
        reserved,
        reserved_pending,
        used,
        used_pending,
        level,
    ] = head;
    Some(Grant {
        at: u64::try_from(at).unwrap_or_default(),
        part: sums(part, part_pending),
        fallback: figure(fallback),
        max: sums(max, max_pending),
        missing: figure(missing),
        reserved: sums(reserved, reserved_pending),
        used: sums(used, used_pending),
        level: u8::try_from(level).unwrap_or_default(),
        demands: demands.as_chunks::<2>().0.iter().map(|&[rate, pending]| sums(rate, pending)).collect(),
        settled: settled != 0,
    })
}
