//! Rule 5.
use crate::script::case;
use governor_core::settings::{Settings, Throttle, Usage};
use std::time::Duration;

fn limit_10(s: &mut Settings) {
    s.connections[0].pending_limit = 10;
}

case!(
    at_the_limit_no_request_leaves,
    limit_10,
    "0 up a
     0 request a 0 x 10 -> admit pending=10
     0 request a 2      -> refuse:pending_limit:3004 pending=10 cpl=0
     0 send_answer a    -> admit pending=10"
);

case!(
    an_answer_of_any_result_frees_a_record,
    limit_10,
    "0 up a
     0 request a 0 x 10
     0 answer a 2001 0  -> pending=9
     0 answer a 5012 0  -> pending=8
     0 answer a 3002    -> pending=7
     0 request a 0 x 3  -> admit pending=10
     0 request a 0      -> refuse:pending_limit:3004"
);

case!(
    a_timeout_frees_its_record_before_the_event_at_its_time,
    limit_10,
    "0 up a
     0 request a 0 x 9
     1 request a 0
     2.999 request a 0 -> refuse:pending_limit:3004
     3 request a 0     -> admit pending=2
     3.999 tick a      -> pending=2
     4 tick a          -> pending=1
     6 tick a          -> pending=0"
);

case!(
    the_answer_timeout_is_configured,
    |s| s.node.answer_timeout = Duration::from_millis(200),
    "0 up a
     0 request a 0
     0.199 tick a -> pending=1
     0.2 tick a   -> pending=0"
);

case!(
    an_answer_frees_the_oldest_record_of_its_priority,
    "0 up a
     0 request a 0
     1 request a 1
     2 request a 0
     2.5 answer a 2001 1 -> pending=2
     3 tick a            -> pending=1
     4 tick a            -> pending=1
     5 tick a            -> pending=0"
);

case!(
    an_answer_of_another_priority_frees_the_oldest,
    "0 up a
     0 request a 1
     1 request a 0
     2 answer a 2001 2 -> pending=1
     3 tick a          -> pending=1
     4 tick a          -> pending=0"
);

case!(
    an_answer_without_priority_frees_the_oldest,
    "0 up a
     0 request a 2
     1 request a 0
     2 answer a 2001 -> pending=1
     3 tick a        -> pending=1
     4 tick a        -> pending=0"
);

case!(an_answer_without_a_record_frees_nothing, "0 up a\n 0 answer a 2001 0 -> pending=0");

case!(
    a_record_is_freed_once,
    "0 up a
     0 request a 0
     1 answer a 2001 0 -> pending=0
     2 request a 0     -> pending=1
     3 tick a          -> pending=1
     5 tick a          -> pending=0"
);

case!(
    records_of_a_closed_connection_do_not_come_back,
    "0 up a
     0 request a 0 x 3 -> pending=3
     1 down a          -> pending=0
     1 answer a 2001 0 -> pending=0 cpl=99
     1 up a            -> pending=0
     1.5 request a 0   -> pending=1
     3 tick a          -> pending=1
     4.5 tick a        -> pending=0"
);

case!(
    the_limit_of_the_whole_agent_counts_all_connections,
    |s| s.node.pending_limit = 3,
    "0 up a
     0 up c
     0 request a 0 x 2
     0 request c 0     -> admit pending=1
     0 request c 0     -> refuse:pending_limit:3004 pending=1
     0 request a 2     -> refuse:pending_limit:3004 pending=2
     0 answer a 2001   -> pending=1
     0 request c 0     -> admit pending=2"
);

case!(
    a_closed_connection_gives_its_records_back_to_the_agent,
    |s| s.node.pending_limit = 3,
    "0 up a
     0 up c
     0 request a 0 x 3
     1 request c 0 -> refuse:pending_limit:3004
     1 down a
     1 request c 0 x 3 -> admit pending=3
     1 request c 0 -> refuse:pending_limit:3004
     3.5 tick c    -> pending=3
     4 tick c      -> pending=0"
);

case!(
    timeouts_give_their_records_back_to_the_agent,
    |s| s.node.pending_limit = 2,
    "0 up a
     0 up c
     0 request a 0 x 2
     2.9 request c 0 -> refuse:pending_limit:3004
     3 request c 0 x 2 -> admit
     3 request a 0 -> refuse:pending_limit:3004 pending=0"
);

case!(
    the_cpl_is_told_before_the_pending_limit,
    limit_10,
    "0 degraded a 1
     0 request a 1 x 10
     0 request a 0 -> refuse:cpl:3004
     0 request a 1 -> refuse:pending_limit:3004"
);

case!(
    the_pending_limit_is_told_before_the_rate_limit,
    |s| {
        limit_10(s);
        s.connections[0].throttle = Some(Throttle::new("slow", 10));
    },
    "0 up a
     0 request a 0 x 10
     0 request a 0     -> refuse:pending_limit:3004
     0 answer a 2001
     0 request a 0     -> refuse:rate_limit:3004"
);

case!(
    the_agents_pending_limit_is_told_before_the_rate_limit,
    |s| {
        s.node.pending_limit = 10;
        s.connections[0].throttle = Some(Throttle::new("slow", 10));
    },
    "0 up a
     0 request a 0 x 10
     0 request a 0     -> refuse:pending_limit:3004"
);

// Off is absent, not 0: with every control off nothing is ever refused for congestion.
case!(
    with_every_control_off_nothing_is_refused,
    |s| {
        s.connections[0].remote_busy.usage = Usage::Off;
        s.connections[0].pending_limit = 3_000;
    },
    "0 up a
     0 request a 0 x 3000 -> admit pending=3000 cpl=0
     0 send_answer a x 3000 -> admit
     1 answer a 3004 0 x 3000 -> cpl=0 pending=0
     1 pressure a 1000/1     -> cpl=0
     1 request a 0 x 3000   -> admit pending=3000 cpl=0
     4 request a 0 x 3000   -> admit pending=3000 cpl=0"
);
