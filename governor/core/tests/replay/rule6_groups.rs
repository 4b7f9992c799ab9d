//! Rule 6, within one agent.
use crate::script::case;
use governor_core::settings::{ConnectionIndex, Group, GroupMode, Settings, Threshold, Throttle};

/// a, b and c share 100 requests/s; levels at 60/55, 80/70, 95/90.
fn rate(s: &mut Settings) {
    let pair = |onset, abatement| Threshold { onset, abatement };
    s.groups = vec![Group {
        connections: [0, 1, 2].map(ConnectionIndex).to_vec(),
        max_rate: Some(100),
        thresholds: vec![pair(60, 55), pair(80, 70), pair(95, 90)],
        ..Group::new("site")
    }];
}

/// a, b and c share 100 pending records; the default level alone, 60/55.
fn pending(s: &mut Settings) {
    s.groups = vec![Group {
        connections: [0, 1, 2].map(ConnectionIndex).to_vec(),
        max_pending: Some(100),
        ..Group::new("site")
    }];
}

case!(
    the_members_share_a_rate,
    rate,
    "0 up a
     0 up c
     0.05 request a 0 x 31 -> admit
     0.05 request c 0 x 30 -> admit
     0.1 request a 0       -> refuse:group:3004 cpl=0 rate=31.0
     0.1 request c 0       -> refuse:group:3004 cpl=0 rate=30.0
     0.1 request c 1       -> admit"
);

case!(
    a_group_at_a_level_holds_back_lower_priorities,
    rate,
    "0 up a
     0.05 request a 2 x 81 -> admit
     0.1 request a 1       -> refuse:group:3004
     0.1 request a 2 x 15  -> admit
     0.2 request a 2       -> refuse:group:3004
     0.2 send_answer a     -> admit"
);

case!(
    a_groups_level_falls_after_the_abatement_time,
    rate,
    "0 up a
     0.05 request a 2 x 61
     0.1 request a 0   -> refuse:group:3004
     1.599 request a 0 -> refuse:group:3004
     1.6 request a 0   -> admit"
);

case!(
    at_the_maximum_rate_no_request_goes_to_any_member,
    rate,
    "0 up a
     0 up b
     0.05 request a 2 x 60 -> admit
     0.06 request b 2 x 40 -> admit
     0.07 request a 2      -> refuse:group:3004
     0.07 request b 2      -> refuse:group:3004"
);

case!(
    mode_limit_has_no_levels,
    |s| {
        rate(s);
        s.groups[0].mode = GroupMode::Limit;
    },
    "0 up a
     0.05 request a 0 x 99 -> admit
     0.5 request a 0       -> admit
     0.5 request a 2       -> refuse:group:3004
     1.05 request a 0 x 99 -> admit
     1.05 request a 0      -> refuse:group:3004"
);

case!(
    answers_are_neither_counted_nor_held_back_by_a_group,
    rate,
    "0 up a
     0.05 send_answer a x 500 -> admit
     0.1 request a 0          -> admit
     0.15 request a 0 x 99    -> admit
     0.15 send_answer a       -> admit
     0.15 request a 0         -> refuse:group:3004"
);

case!(
    the_members_share_a_pending_limit,
    |s| {
        pending(s);
        s.groups[0].mode = GroupMode::Limit;
    },
    "0 up a
     0 up c
     0 request a 2 x 50 -> admit
     0 request c 2 x 50 -> admit
     0 request a 2      -> refuse:group:3004 pending=50
     0 answer c 2001    -> pending=49
     0 request a 2      -> admit pending=51
     0 request c 2      -> refuse:group:3004
     1 down a
     1 request c 2 x 51 -> admit pending=100
     1 request c 2      -> refuse:group:3004
     3 request c 2 x 49 -> admit pending=100
     3 request c 2      -> refuse:group:3004"
);

case!(
    pending_records_set_a_groups_level_at_a_sample,
    pending,
    "0 up a
     0.05 request a 0 x 61 -> admit
     0.09 request a 0      -> admit
     0.1 request a 0       -> refuse:group:3004
     0.1 request a 1       -> admit pending=63
     0.2 answer a 2001 x 8 -> pending=55
     2 request a 0         -> refuse:group:3004
     2.05 answer a 2001    -> pending=54
     2.599 request a 0     -> refuse:group:3004
     2.6 request a 0       -> admit"
);

case!(
    connections_outside_the_group_are_not_held_back,
    rate,
    "0 up a
     0 up d
     0.05 request a 2 x 100
     0.05 request a 2     -> refuse:group:3004
     0.05 request d 0     -> admit
     0.05 request route:r 0 -> admit on=d"
);

case!(
    the_group_is_told_after_the_other_causes,
    |s| {
        rate(s);
        s.connections[0].throttle = Some(Throttle { thresholds: vec![], ..Throttle::new("set", 100) });
        s.connections[1].pending_limit = 10;
    },
    "0 up a
     0 up b
     0 up c
     0.05 request b 0 x 10
     0.05 request a 0 x 90
     0.05 send_answer a x 10
     0.05 request a 0 -> refuse:rate_limit:3004
     0.05 request b 0 -> refuse:pending_limit:3004
     0.05 request c 0 -> refuse:group:3004
     0.05 degraded c 1
     0.05 request c 0 -> refuse:cpl:3004"
);
