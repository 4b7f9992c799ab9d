//! Metrics of each configured connection.

use super::sample::{Can, ConnectionSample};
use super::{Kind, LEVELS, Metric, PRIORITIES, Page, Series};
use governor_core::agent::HELD_BACK_REASONS;
use governor_core::level::{Feature, Level};

const LABELS: &[&str] = &["connection", "peer"];

/// The table.
pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "governor_connection_cpl",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Overall congestion level (CPL): 0, 1, 2, 3, 98 (blocked) or 99 (down)",
        known_as: "22101 ConnUnavailable (99); 22051, 22052 peer Unavailable, Degraded; 22105 transmit congestion (98)",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], u32::from(c.levels.cpl().number()))),
    },
    Metric {
        name: "governor_connection_level",
        kind: Kind::Gauge,
        labels: &["connection", "peer", "feature"],
        help: "The four inputs that the CPL is the maximum of",
        known_as: "8011 EcRate (throttle); 22070-003 static rate limit; 8009-101 transmit queue congested (transport)",
        write: |page, out| {
            each(page, out, |c, out| {
                let levels = [c.levels.status, c.levels.remote_busy, c.levels.transport, c.levels.throttle];
                for (feature, level) in Feature::ALL.into_iter().zip(levels) {
                    out.connection(c, &[("feature", feature.name())], u32::from(level.number()));
                }
            });
        },
    },
    Metric {
        name: "governor_connection_level_seconds_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "level"],
        help: "Time that the CPL has been at each level; the levels add up to the connection's age in the configuration",
        known_as: "TmConnInCL1 to TmConnInCL4 (98)",
        write: |page, out| {
            each(page, out, |c, out| {
                for (level, time) in LEVELS.into_iter().zip(c.level_times) {
                    out.connection(c, &[("level", level)], time.as_secs_f64());
                }
            });
        },
    },
    Metric {
        name: "governor_connection_onsets_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "feature", "level"],
        help: "How often a feature entered a higher level",
        known_as: "ConnOnsetCL1 to ConnOnsetCL4 (98), EvEmrCongestionOnset (throttle), EvRemoteBusyCongested (remote_busy), \
                   8009-001 ConnUnavailable (status, 99)",
        write: |page, out| {
            each(page, out, |c, out| {
                for (feature, onsets) in Feature::ALL.into_iter().zip(c.counters.onsets) {
                    for (level, onsets) in Level::ALL.into_iter().zip(onsets) {
                        if onsets > 0 || can_enter(&c.can, feature, level) {
                            let labels = [("feature", feature.name()), ("level", LEVELS[level.index()])];
                            out.connection(c, &labels, onsets);
                        }
                    }
                }
            });
        },
    },
    Metric {
        name: "governor_connection_in_service",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "1 if the operator wants the connection in service, 0 if it is disabled or being drained",
        known_as: "admin state",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], u32::from(c.in_service))),
    },
    Metric {
        name: "governor_connection_messages_per_second",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Egress message rate over the convergence time, requests and answers",
        known_as: "EvSmoothedEmrAvg (avg_over_time)",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.rate)),
    },
    Metric {
        name: "governor_connection_messages_per_second_peak",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Highest egress message rate of the last one to two minutes",
        known_as: "EvSmoothedEmrPeak (max_over_time)",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.rate_peak)),
    },
    Metric {
        name: "governor_connection_messages_per_second_limit",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Maximum of the connection's throttle set; absent without one",
        known_as: "Max EMR",
        write: |page, out| {
            each(page, out, |c, out| {
                if let Some(max_rate) = c.can.max_rate {
                    out.connection(c, &[], max_rate);
                }
            });
        },
    },
    Metric {
        name: "governor_connection_pending",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Requests sent on the connection that wait for their answers",
        known_as: "EvPerConnPtrQueueAvg (avg_over_time)",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.pending)),
    },
    Metric {
        name: "governor_connection_pending_peak",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Highest number of pending requests of the last one to two minutes",
        known_as: "EvPerConnPtrQueuePeak (max_over_time)",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.pending_peak)),
    },
    Metric {
        name: "governor_connection_pending_limit",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "The most pending requests allowed",
        known_as: "Pending Transactions Per Connection",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.pending_limit)),
    },
    Metric {
        name: "governor_connection_unanswered",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Requests that came in on the connection and have not had their answer",
        known_as: "",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.awaited)),
    },
    Metric {
        name: "governor_connection_messages_received_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "kind"],
        help: "Requests that came in, and answers that belonged to a pending request",
        known_as: "RxAnswerExpectedAll (answer)",
        write: |page, out| {
            each(page, out, |c, out| {
                out.connection(c, &[("kind", "request")], c.counters.requests_received);
                out.connection(c, &[("kind", "answer")], c.counters.answers_received);
            });
        },
    },
    Metric {
        name: "governor_connection_messages_sent_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "kind"],
        help: "Messages written to the connection, to their last byte",
        known_as: "TxConnRequestMsgs, TxConnAnswerMsgs",
        write: |page, out| {
            each(page, out, |c, out| {
                out.connection(c, &[("kind", "request")], c.counters.requests_sent);
                out.connection(c, &[("kind", "answer")], c.counters.answers_sent);
            });
        },
    },
    Metric {
        name: "governor_connection_requests_admitted_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "priority"],
        help: "Requests let out on the connection, by priority; one taken back before it was written stays counted",
        known_as: "TxRequestSuccessAllConn",
        write: |page, out| {
            each(page, out, |c, out| {
                for (priority, count) in PRIORITIES.into_iter().zip(c.counters.requests_admitted) {
                    out.connection(c, &[("priority", priority)], count);
                }
            });
        },
    },
    Metric {
        name: "governor_connection_requests_held_back_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "priority", "reason"],
        help: "Requests for which the connection was passed over while up",
        known_as: "RxRejectedConnCongestion (cpl), TxReqMsgPerConnPtrMax and 22004 (pending_limit), EvEtgRateDiscardPri0 to \
                   Pri2 (group)",
        write: |page, out| {
            each(page, out, |c, out| {
                for (priority, row) in PRIORITIES.into_iter().zip(c.counters.held_back) {
                    for (reason, count) in HELD_BACK_REASONS.into_iter().zip(row) {
                        if count > 0 || can_be_reason(&c.can, reason) {
                            out.connection(c, &[("priority", priority), ("reason", reason)], count);
                        }
                    }
                }
            });
        },
    },
    Metric {
        name: "governor_connection_messages_discarded_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "kind"],
        help: "Messages taken for the connection that could not leave: answers are gone, requests went to another connection \
               or were answered",
        known_as: "TxConnectionFailed (request)",
        write: |page, out| {
            each(page, out, |c, out| {
                out.connection(c, &[("kind", "answer")], c.counters.answers_discarded);
                out.connection(c, &[("kind", "request")], c.counters.requests_withdrawn);
            });
        },
    },
    Metric {
        name: "governor_connection_timeouts_total",
        kind: Kind::Counter,
        labels: LABELS,
        help: "Requests that got no answer in time",
        known_as: "TxAnswerTimeout, RxTransactionTimeout",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.counters.timeouts)),
    },
    Metric {
        name: "governor_connection_requests_retransmitted_total",
        kind: Kind::Counter,
        labels: LABELS,
        help: "Requests let out with the T bit, after another connection was lost or gave no answer in time",
        known_as: "",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.counters.retransmitted)),
    },
    Metric {
        name: "governor_connection_requests_retried_total",
        kind: Kind::Counter,
        labels: LABELS,
        help: "Requests let out after another peer refused them with an answer of its own (Reroute on Answer)",
        known_as: "",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.counters.retried)),
    },
    Metric {
        name: "governor_connection_answers_unmatched_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "cause"],
        help: "Answers dropped because no pending request has them: after the timeout, a second time, or to nothing sent",
        known_as: "22008 Orphan Answer Response Received",
        write: |page, out| {
            each(page, out, |c, out| {
                out.connection(c, &[("cause", "late")], c.counters.answers_late);
                out.connection(c, &[("cause", "duplicate")], c.counters.answers_duplicate);
                out.connection(c, &[("cause", "unknown")], c.counters.answers_unknown);
            });
        },
    },
    Metric {
        name: "governor_connection_busy_answers_total",
        kind: Kind::Counter,
        labels: &["connection", "peer", "origin"],
        help: "DIAMETER_TOO_BUSY (3004) answers, from the peer itself or from a node behind it",
        known_as: "",
        write: |page, out| {
            each(page, out, |c, out| {
                out.connection(c, &[("origin", "peer")], c.counters.busy_own);
                out.connection(c, &[("origin", "behind")], c.counters.busy_behind);
            });
        },
    },
    Metric {
        name: "governor_connection_malformed_total",
        kind: Kind::Counter,
        labels: LABELS,
        help: "Messages that came in and whose AVPs cannot be walked",
        known_as: "RxDecodeFailure, 22001",
        write: |page, out| each(page, out, |c, out| out.connection(c, &[], c.counters.malformed)),
    },
    Metric {
        name: "governor_connection_send_queue_bytes",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Bytes in the socket's send buffer, as the kernel counts them; absent without a socket",
        known_as: "8009-101, 22105 transmit queue",
        write: |page, out| {
            each(page, out, |c, out| {
                if let Some(buffer) = c.buffer {
                    out.connection(c, &[], buffer.queued);
                }
            });
        },
    },
    Metric {
        name: "governor_connection_send_queue_limit_bytes",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "Bytes that the socket's send buffer may hold; absent without a socket",
        known_as: "",
        write: |page, out| {
            each(page, out, |c, out| {
                if let Some(buffer) = c.buffer {
                    out.connection(c, &[], buffer.limit);
                }
            });
        },
    },
    Metric {
        name: "governor_connection_blocked_seconds",
        kind: Kind::Gauge,
        labels: LABELS,
        help: "How long the kernel has refused sends on the socket, 0 if it does not; absent without kernel programs",
        known_as: "",
        write: |page, out| {
            each(page, out, |c, out| {
                if let Some(kernel) = c.kernel {
                    out.connection(c, &[], kernel.blocked.as_secs_f64());
                }
            });
        },
    },
    Metric {
        name: "governor_connection_kernel_sends_total",
        kind: Kind::Counter,
        labels: LABELS,
        help: "Sends that the kernel took, on the present socket; absent without kernel programs",
        known_as: "",
        write: |page, out| {
            each(page, out, |c, out| {
                if let Some(kernel) = c.kernel {
                    out.connection(c, &[], kernel.sends);
                }
            });
        },
    },
    Metric {
        name: "governor_connection_kernel_refusals_total",
        kind: Kind::Counter,
        labels: LABELS,
        help: "Sends that the kernel refused for want of room, on the present socket; absent without kernel programs",
        known_as: "",
        write: |page, out| {
            each(page, out, |c, out| {
                if let Some(kernel) = c.kernel {
                    out.connection(c, &[], kernel.refusals);
                }
            });
        },
    },
];

fn each(page: &Page, out: &mut Series<'_>, write: impl Fn(&ConnectionSample, &mut Series<'_>)) {
    page.sample.connections.iter().for_each(|connection| write(connection, out));
}

/// May this feature enter this level? Series of what may happen stand from the start, so that the first time is seen as
/// one more.
fn can_enter(can: &Can, feature: Feature, level: Level) -> bool {
    let step = matches!(level, Level::CL1 | Level::CL2 | Level::CL3);
    match feature {
        Feature::Status => level != Level::CL0,
        Feature::RemoteBusy => can.be_busy && step,
        Feature::Transport => level == Level::CL98 || can.feel_pressure && step,
        Feature::Throttle => step && usize::from(level.number()) <= can.throttle_levels,
    }
}

/// May this reason hold back a request?
fn can_be_reason(can: &Can, reason: &str) -> bool {
    match reason {
        "rate_limit" => can.max_rate.is_some(),
        "group" => can.be_grouped,
        _ => true,
    }
}
