//! Rule 2.
use crate::script::case;
use governor_core::settings::Usage;
use std::time::Duration;

case!(a_refused_request_of_priority_0_sets_level_1, "0 up a\n 0 answer a 3004 0 -> cpl=1 x=0,1,0,0");
case!(a_refused_request_of_priority_1_sets_level_2, "0 up a\n 0 answer a 3004 1 -> cpl=2 x=0,2,0,0");
case!(a_refused_request_of_priority_2_sets_level_3, "0 up a\n 0 answer a 3004 2 -> cpl=3 x=0,3,0,0");

case!(
    a_level_above_the_refused_priority_is_kept_and_its_timer_runs_on,
    "0 up a
     0 answer a 3004 1  -> cpl=2
     4 answer a 3004 0  -> cpl=2
     4 answer a 3004 1  -> cpl=2
     4.999 tick a       -> cpl=2
     5 tick a           -> cpl=1"
);

case!(
    a_level_equal_to_the_refused_priority_rises_and_abates_afresh,
    "0 up a
     0 answer a 3004 0 -> cpl=1
     4 answer a 3004 1 -> cpl=2
     8.999 tick a      -> cpl=2
     9 tick a          -> cpl=1
     13.999 tick a     -> cpl=1
     14 tick a         -> cpl=0"
);

case!(
    the_level_drops_by_one_each_abatement,
    "0 up a
     1 answer a 3004 2 -> cpl=3
     5.999999999 tick a -> cpl=3
     6 tick a  -> cpl=2
     10.9 tick a -> cpl=2
     11 tick a -> cpl=1
     15.9 tick a -> cpl=1
     16 tick a -> cpl=0
     99 tick a -> cpl=0"
);

case!(
    timers_missed_for_long_are_run_one_after_the_other,
    "0 up a
     0 answer a 3004 2
     12 tick a -> cpl=1
     1000 tick a -> cpl=0"
);

case!(
    a_timer_due_at_the_event_runs_before_it,
    "0 up a
     0 answer a 3004 0 -> cpl=1
     5 answer a 3004 0 -> cpl=1
     9.999 tick a      -> cpl=1
     10 tick a         -> cpl=0"
);

case!(
    a_refusal_in_abatement_raises_the_level_again,
    "0 up a
     0 answer a 3004 2  -> cpl=3
     5 tick a           -> cpl=2
     7 answer a 3004 2  -> cpl=3
     11.9 tick a        -> cpl=3
     12 tick a          -> cpl=2"
);

case!(
    the_abatement_time_is_configured,
    |s| s.connections[0].remote_busy.abatement = Duration::from_millis(500),
    "0 up a
     0 answer a 3004 1 -> cpl=2
     0.499 tick a -> cpl=2
     0.5 tick a   -> cpl=1
     1 tick a     -> cpl=0"
);

case!(
    usage_off_leaves_the_level_at_0,
    |s| s.connections[0].remote_busy.usage = Usage::Off,
    "0 up a
     0 request a 2
     0 answer a 3004 2 -> cpl=0 pending=0
     0 request a 0     -> admit"
);

case!(
    host_override_lets_requests_to_the_peer_itself_pass,
    |s| s.connections[0].remote_busy.usage = Usage::HostOverride,
    "0 up a
     0 answer a 3004 2 -> cpl=3
     0 request a 0 to hss1.example.net -> admit cpl=3
     0 request a 0 to HSS1.Example.NET -> admit
     0 request a 0 to hss2.example.net -> refuse:cpl:3004
     0 request a 0                     -> refuse:cpl:3004"
);

case!(
    host_override_ignores_remote_busy_alone,
    |s| s.connections[0].remote_busy.usage = Usage::HostOverride,
    "0 degraded a 1
     0 answer a 3004 2 -> cpl=3
     0 request a 0 to hss1.example.net -> refuse:cpl:3004
     0 request a 1 to hss1.example.net -> admit
     0 blocked a
     0 request a 2 to hss1.example.net -> refuse:cpl:3004 cpl=98"
);

case!(
    usage_on_ignores_the_destination_host,
    "0 up a
     0 answer a 3004 0
     0 request a 0 to hss1.example.net -> refuse:cpl:3004"
);

case!(
    a_3004_that_another_node_originated_is_ignored,
    "0 up a
     0 request a 2
     0 answer a 3004 2 from hss9.example.net -> cpl=0 pending=0"
);

case!(the_origin_is_compared_without_regard_to_case, "0 up a\n 0 answer a 3004 0 from HSS1.EXAMPLE.NET -> cpl=1");

case!(
    no_other_result_means_busy,
    "0 up a
     0 answer a 2001 2 -> cpl=0
     0 answer a 3002 2 -> cpl=0
     0 answer a 5012 2 -> cpl=0"
);

case!(
    the_other_connections_of_the_peer_keep_their_level,
    "0 up a
     0 up b
     0 answer a 3004 2 -> cpl=3
     0 tick b          -> cpl=0
     0 request b 0     -> admit"
);

case!(a_3004_counts_without_a_record_and_without_a_priority, "0 up a\n 0 answer a 3004 -> cpl=1 pending=0");

case!(
    the_priority_left_out_is_that_of_the_freed_record,
    "0 up a
     0 request a 1
     0 request a 2
     0 answer a 3004 -> cpl=2 pending=1
     0 answer a 3004 -> cpl=3 pending=0"
);

case!(
    the_priority_given_counts_even_if_another_record_is_freed,
    "0 up a
     0 request a 2
     0 answer a 3004 0 -> cpl=1 pending=0"
);

case!(
    a_3004_on_a_connection_that_is_down_changes_nothing,
    "0 answer a 3004 2 -> cpl=99 x=99,0,0,0
     0 up a            -> cpl=0"
);

case!(
    a_3004_counts_while_the_connection_is_degraded,
    "0 degraded a 98
     0 answer a 3004 1 -> cpl=98 x=98,2,0,0
     0 up a            -> cpl=2"
);
