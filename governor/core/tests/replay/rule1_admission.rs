//! Rule 1, and X1.
use crate::script::case;

case!(every_connection_starts_down, "0 tick a -> cpl=99 x=99,0,0,0 pending=0 rate=0.0 on=a");

case!(
    nothing_leaves_on_a_connection_that_is_down,
    "0 request a 2   -> refuse:no_connection:3002 cpl=99 on=a
     0 send_answer a -> refuse:no_connection cpl=99"
);

case!(
    at_level_0_everything_leaves,
    "0 up a          -> cpl=0 x=0,0,0,0
     0 request a 0   -> admit
     0 request a 1   -> admit
     0 request a 2   -> admit
     0 send_answer a -> admit"
);

case!(
    at_level_1_priority_0_is_held_back,
    "0 degraded a 1  -> cpl=1
     0 request a 0   -> refuse:cpl:3004
     0 request a 1   -> admit
     0 request a 2   -> admit
     0 send_answer a -> admit"
);

case!(
    at_level_2_only_priority_2_and_answers_leave,
    "0 degraded a 2  -> cpl=2
     0 request a 0   -> refuse:cpl:3004
     0 request a 1   -> refuse:cpl:3004
     0 request a 2   -> admit
     0 send_answer a -> admit"
);

case!(
    at_level_3_only_answers_leave,
    "0 degraded a 3  -> cpl=3
     0 request a 2   -> refuse:cpl:3004
     0 send_answer a -> admit"
);

case!(
    at_level_98_nothing_leaves,
    "0 degraded a 98 -> cpl=98
     0 request a 2   -> refuse:cpl:3004 pending=0
     0 send_answer a -> refuse:cpl"
);

case!(
    the_cpl_is_the_highest_of_the_inputs,
    "0 degraded a 2    -> cpl=2
     0 answer a 3004 0 -> cpl=2 x=2,1,0,0
     0 answer a 3004 2 -> cpl=3 x=2,3,0,0
     0 blocked a       -> cpl=98 x=2,3,98,0"
);

case!(
    degraded_opens_a_connection_that_is_down,
    "0 degraded a 1   -> cpl=1 x=1,0,0,0
     0.05 request a 1 -> admit
     0.1 tick a       -> rate=1.0"
);

case!(
    degraded_takes_another_level_at_once,
    "0 up a
     0 degraded a 3 -> cpl=3
     0 degraded a 1 -> cpl=1
     0 up a         -> cpl=0"
);

case!(
    up_clears_degraded_and_keeps_the_rest,
    "0 up a
     0.05 request a 1
     0.2 answer a 3004 1 from hss1.example.net -> cpl=2 pending=0
     0.2 request a 2  -> admit pending=1
     0.2 degraded a 3 -> cpl=3 x=3,2,0,0
     0.2 up a         -> cpl=2 x=0,2,0,0 pending=1 rate=1.0"
);

case!(
    down_clears_every_feature_the_rate_and_the_records,
    |s| s.connections[0].transport.pressure = Some(governor_core::settings::Pressure::default()),
    "0 up a
     0.05 request a 2
     0.1 answer a 3004 1  -> x=0,2,0,0
     0.1 request a 2
     0.2 pressure a 70/100 -> x=0,2,2,0 rate=2.0 pending=1
     0.2 blocked a         -> x=0,2,98,0
     0.3 down a            -> cpl=99 x=99,0,0,0 pending=0 rate=0.0
     0.4 up a              -> cpl=0 x=0,0,0,0 pending=0 rate=0.0
     9 tick a              -> cpl=0 x=0,0,0,0"
);

case!(
    a_second_down_changes_nothing,
    "0 down a -> cpl=99
     1 down a -> cpl=99
     1 up a   -> cpl=0"
);

case!(
    a_second_up_does_not_restart_the_samples,
    "0 up a
     0.05 request a 0
     0.07 up a  -> rate=0.0
     0.1 tick a -> rate=1.0 pending=1"
);

case!(
    connections_have_levels_of_their_own,
    "0 up a
     0 degraded b 3
     0 request a 0 -> admit
     0 request b 0 -> refuse:cpl:3004
     0 request c 0 -> refuse:no_connection:3002"
);

case!(
    the_code_of_a_busy_route_can_be_configured,
    |s| s.node.busy_result_code = 5012,
    "0 degraded a 1
     0 request a 0 -> refuse:cpl:5012
     0 request b 0 -> refuse:no_connection:3002"
);
