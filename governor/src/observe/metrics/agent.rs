//! Metrics of routes, groups and the agent as a whole.

use super::sample::{GroupSample, RouteSample};
use super::{Kind, LEVELS, Metric, PRIORITIES, Page, Series};
use governor_core::level::Level;
use governor_core::peer::CloseReason;
use governor_core::refusal::Refusal;
use governor_core::settings::Group;

const GROUP: &[&str] = &["group"];

/// The table.
pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "governor_route_requests_total",
        kind: Kind::Counter,
        labels: &["route", "priority"],
        help: "Requests that took the route, by priority",
        known_as: "RxMsgPri0PeerRule to RxMsgPri2PeerRule",
        write: |page, out| {
            routes(page, out, |name, route, out| {
                for (priority, count) in PRIORITIES.into_iter().zip(route.counters.requests) {
                    out.put(&[("route", name), ("priority", priority)], count);
                }
            });
        },
    },
    Metric {
        name: "governor_route_requests_placed_total",
        kind: Kind::Counter,
        labels: &["route", "group"],
        help: "Requests let out on a connection of each group of the route, 1 being the preferred; one that is sent again \
               counts again",
        known_as: "22055 Non-Preferred Route Group in Use (group above 1)",
        write: |page, out| {
            routes(page, out, |name, route, out| {
                for (number, count) in (1u32..).zip(&route.counters.by_group) {
                    out.put(&[("route", name), ("group", &number.to_string())], *count);
                }
            });
        },
    },
    Metric {
        name: "governor_route_requests_refused_total",
        kind: Kind::Counter,
        labels: &["route", "reason"],
        help: "Requests that took the route and were answered with an error by the agent",
        known_as: "RxRejectedConnCongestion (cpl), RxNoRoutesFound (no_connection), RxTransactionTimeout (attempts_exhausted)",
        write: |page, out| {
            routes(page, out, |name, route, out| {
                for (reason, count) in Refusal::LABELS.into_iter().zip(route.counters.refused) {
                    // The other reasons come before there is a route.
                    if count > 0 || !matches!(reason, "no_route" | "realm_not_served" | "loop") {
                        out.put(&[("route", name), ("reason", reason)], count);
                    }
                }
            });
        },
    },
    Metric {
        name: "governor_route_members",
        kind: Kind::Gauge,
        labels: &["route", "group"],
        help: "Connections in each group of the route",
        known_as: "",
        write: |page, out| {
            routes(page, out, |name, route, out| {
                for (number, (_, all)) in (1u32..).zip(&route.members) {
                    out.put(&[("route", name), ("group", &number.to_string())], *all);
                }
            });
        },
    },
    Metric {
        name: "governor_route_members_up",
        kind: Kind::Gauge,
        labels: &["route", "group"],
        help: "Connections in each group of the route that are up",
        known_as: "22053, 22054 route list Unavailable, Degraded",
        write: |page, out| {
            routes(page, out, |name, route, out| {
                for (number, (up, _)) in (1u32..).zip(&route.members) {
                    out.put(&[("route", name), ("group", &number.to_string())], *up);
                }
            });
        },
    },
    Metric {
        name: "governor_group_level",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Level of the egress throttle group, 0 to 3",
        known_as: "22057, 22058 ETG rate, pending degraded; 22059, 22060 ETG level changed",
        write: |page, out| groups(page, out, |name, _, group, out| out.put(name, u32::from(group.level.number()))),
    },
    Metric {
        name: "governor_group_onsets_total",
        kind: Kind::Counter,
        labels: &["group", "limit", "level"],
        help: "How often the group entered a higher level by its rate or by its pending requests",
        known_as: "EvEtgRateCongestionOnset (rate), EvEtgPendingTransOnset (pending)",
        write: |page, out| {
            groups(page, out, |name, configured, group, out| {
                let counters = &group.counters;
                for (limit, onsets) in [("rate", counters.rate_onsets), ("pending", counters.pending_onsets)] {
                    for (level, count) in LEVELS[1..].iter().zip(onsets).take(configured.thresholds.len()) {
                        out.put(&[name[0], ("limit", limit), ("level", level)], count);
                    }
                }
            });
        },
    },
    Metric {
        name: "governor_group_requests_per_second",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Request rate over all members of the group",
        known_as: "TxEtgMsgRateAvg (avg_over_time)",
        write: |page, out| groups(page, out, |name, _, group, out| out.put(name, group.rate)),
    },
    Metric {
        name: "governor_group_requests_per_second_peak",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Highest request rate of the group in the last one to two minutes",
        known_as: "TxEtgMsgRatePeak (max_over_time)",
        write: |page, out| groups(page, out, |name, _, group, out| out.put(name, group.rate_peak)),
    },
    Metric {
        name: "governor_group_requests_per_second_limit",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Maximum of the group's request rate; absent without one",
        known_as: "",
        write: |page, out| {
            groups(page, out, |name, configured, _, out| {
                if let Some(max_rate) = configured.max_rate {
                    out.put(name, max_rate);
                }
            });
        },
    },
    Metric {
        name: "governor_group_pending",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Pending requests over all members of the group",
        known_as: "EvEtgPendingTransAvg (avg_over_time)",
        write: |page, out| groups(page, out, |name, _, group, out| out.put(name, group.pending)),
    },
    Metric {
        name: "governor_group_pending_peak",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Highest number of pending requests of the group in the last one to two minutes",
        known_as: "EvEtgPendingTransPeak (max_over_time)",
        write: |page, out| groups(page, out, |name, _, group, out| out.put(name, group.pending_peak)),
    },
    Metric {
        name: "governor_group_pending_limit",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Maximum of the group's pending requests; absent without one",
        known_as: "",
        write: |page, out| {
            groups(page, out, |name, configured, _, out| {
                if let Some(max_pending) = configured.max_pending {
                    out.put(name, max_pending);
                }
            });
        },
    },
    Metric {
        name: "governor_group_shared",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "1: the group is shared with other agents; 0: it should be, and the server cannot be reached; absent for a \
               group of this agent alone",
        known_as: "22061 ETG monitoring stopped",
        write: |page, out| {
            groups(page, out, |name, _, group, out| {
                if let Some(share) = group.share {
                    out.put(name, u32::from(share.is_shared));
                }
            });
        },
    },
    Metric {
        name: "governor_group_agents",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "Agents that share the group, as far as is known",
        known_as: "",
        write: |page, out| {
            groups(page, out, |name, _, group, out| {
                if let Some(share) = group.share {
                    out.put(name, share.members);
                }
            });
        },
    },
    Metric {
        name: "governor_group_requests_per_second_part",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "This agent's part of the maximum of a shared group's request rate",
        known_as: "",
        write: |page, out| {
            groups(page, out, |name, configured, group, out| {
                if let (Some(share), Some(_)) = (group.share, configured.max_rate) {
                    out.put(name, share.part.rate);
                }
            });
        },
    },
    Metric {
        name: "governor_group_pending_part",
        kind: Kind::Gauge,
        labels: GROUP,
        help: "This agent's part of the maximum of a shared group's pending requests",
        known_as: "",
        write: |page, out| {
            groups(page, out, |name, configured, group, out| {
                if let (Some(share), Some(_)) = (group.share, configured.max_pending) {
                    out.put(name, share.part.pending);
                }
            });
        },
    },
    Metric {
        name: "governor_group_requests_total",
        kind: Kind::Counter,
        labels: GROUP,
        help: "Requests let out on a member of the group; one that is sent again counts again",
        known_as: "TxEtgMsgsLocal",
        write: |page, out| groups(page, out, |name, _, group, out| out.put(name, group.counters.requests)),
    },
    Metric {
        name: "governor_group_requests_held_back_total",
        kind: Kind::Counter,
        labels: &["group", "priority"],
        help: "Requests for which a member was passed over because of the group, by priority",
        known_as: "EvEtgRateDiscardPri0 to EvEtgRateDiscardPri2",
        write: |page, out| {
            groups(page, out, |name, _, group, out| {
                for (priority, count) in PRIORITIES.into_iter().zip(group.counters.held_back) {
                    out.put(&[name[0], ("priority", priority)], count);
                }
            });
        },
    },
    Metric {
        name: "governor_connections",
        kind: Kind::Gauge,
        labels: &["level"],
        help: "Configured connections by their CPL",
        known_as: "",
        write: |page, out| {
            let mut count = [0u64; Level::ALL.len()];
            page.sample.connections.iter().for_each(|c| count[c.levels.cpl().index()] += 1);
            for (level, count) in LEVELS.into_iter().zip(count) {
                out.put(&[("level", level)], count);
            }
        },
    },
    Metric {
        name: "governor_requests_refused_total",
        kind: Kind::Counter,
        labels: &["reason"],
        help: "Requests answered with an error by the agent because no connection took them",
        known_as: "RxRejectedAll, RxRejectedConnCongestion (cpl), RxNoRulesFailure and 22005 (no_route), RxNoRoutesFound \
                   (no_connection), RxMessageLooping and 22006 (loop), 22003 (application_unsupported)",
        write: |page, out| {
            for reason in Refusal::LABELS {
                let count = page.sample.totals.refused.get(reason).copied().unwrap_or_default();
                out.put(&[("reason", reason)], count);
            }
        },
    },
    Metric {
        name: "governor_requests_rejected_total",
        kind: Kind::Counter,
        labels: &["code"],
        help: "Requests answered with an error by the agent because they cannot be handled, by Result-Code",
        known_as: "RxRejectedAll, RxRejectedOther, RxDecodeFailure (5014, 5015)",
        write: |page, out| {
            for (code, count) in &page.sample.totals.rejected {
                out.put(&[("code", &code.to_string())], *count);
            }
        },
    },
    Metric {
        name: "governor_answers_orphaned_total",
        kind: Kind::Counter,
        labels: &[],
        help: "Answers dropped because the connection that their request came from has gone",
        known_as: "",
        write: |page, out| out.put(&[], page.sample.totals.answers_orphaned),
    },
    Metric {
        name: "governor_closes_total",
        kind: Kind::Counter,
        labels: &["reason"],
        help: "Transport connections closed",
        known_as: "",
        write: |page, out| {
            for reason in CloseReason::LABELS {
                let count = page.sample.totals.closed.get(reason).copied().unwrap_or_default();
                out.put(&[("reason", reason)], count);
            }
        },
    },
    Metric {
        name: "governor_unknown_peers_total",
        kind: Kind::Counter,
        labels: &[],
        help: "Capabilities-Exchange-Requests from nodes that are not configured",
        known_as: "",
        write: |page, out| out.put(&[], page.sample.totals.unknown_peers),
    },
    Metric {
        name: "governor_pending",
        kind: Kind::Gauge,
        labels: &[],
        help: "Pending requests of the whole agent; always equal to governor_transactions",
        known_as: "",
        write: |page, out| out.put(&[], page.sample.pending),
    },
    Metric {
        name: "governor_pending_limit",
        kind: Kind::Gauge,
        labels: &[],
        help: "The most pending requests allowed to the whole agent",
        known_as: "",
        write: |page, out| out.put(&[], page.sample.settings.node.pending_limit),
    },
    Metric {
        name: "governor_transactions",
        kind: Kind::Gauge,
        labels: &[],
        help: "Records in the transaction table; one that differs from governor_pending is a leak",
        known_as: "",
        write: |page, out| out.put(&[], page.sample.transactions),
    },
    Metric {
        name: "governor_kernel_active",
        kind: Kind::Gauge,
        labels: &[],
        help: "1 if kernel programs measure the send buffers, 0 if the agent does",
        known_as: "",
        write: |page, out| out.put(&[], u32::from(page.sample.kernel_active)),
    },
    Metric {
        name: "governor_kernel_events_lost_total",
        kind: Kind::Counter,
        labels: &["program"],
        help: "Events of the kernel programs that found the ring full; absent without kernel programs",
        known_as: "",
        write: |page, out| {
            if let Some(lost) = &page.sample.kernel_lost {
                for (program, count) in lost.by_program() {
                    out.put(&[("program", program)], count);
                }
            }
        },
    },
    Metric {
        name: "governor_sample_seconds",
        kind: Kind::Gauge,
        labels: &[],
        help: "Time that the relay's thread took to copy the numbers of this page",
        known_as: "",
        write: |page, out| out.put(&[], page.sample.cost.as_secs_f64()),
    },
    Metric {
        name: "governor_build_info",
        kind: Kind::Gauge,
        labels: &["version", "origin_host"],
        help: "1; the program's version and the agent's identity are in the labels",
        known_as: "",
        write: |page, out| {
            let host = &page.sample.settings.node.origin_host;
            out.put(&[("version", env!("CARGO_PKG_VERSION")), ("origin_host", host)], 1u32);
        },
    },
];

fn routes(page: &Page, out: &mut Series<'_>, write: impl Fn(&str, &RouteSample, &mut Series<'_>)) {
    for (configured, route) in page.sample.settings.routes.iter().zip(&page.sample.routes) {
        write(&configured.name, route, out);
    }
}

fn groups(
    page: &Page,
    out: &mut Series<'_>,
    write: impl Fn(&[(&str, &str); 1], &Group, &GroupSample, &mut Series<'_>),
) {
    for (configured, group) in page.sample.settings.groups.iter().zip(&page.sample.groups) {
        write(&[("group", &configured.name)], configured, group, out);
    }
}
