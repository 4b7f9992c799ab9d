//! Requests to a route: which connection takes them, and what a refusal tells.
use crate::script::case;
use governor_core::settings::Usage;

case!(
    equal_weights_alternate_from_the_first,
    "0 up a
     0 up c
     0 request route:r 0 -> admit on=a
     0 request route:r 0 -> admit on=c
     0 request route:r 0 -> admit on=a pending=2
     0 request route:r 0 -> admit on=c pending=2"
);

case!(
    unequal_weights_are_spread_smoothly,
    "0 up a
     0 up b
     0 up c
     0 request route:w 0 -> on=a
     0 request route:w 0 -> on=a
     0 request route:w 0 -> on=b
     0 request route:w 0 -> on=a
     0 request route:w 0 -> on=c
     0 request route:w 0 -> on=a
     0 request route:w 0 -> on=a
     0 request route:w 0 -> on=a"
);

case!(
    a_connection_that_is_down_takes_no_turn,
    "0 up c
     0 request route:r 0 x 3 -> admit on=c
     0 up a
     0 request route:r 0 -> on=a
     0 request route:r 0 -> on=c"
);

case!(
    the_next_group_takes_what_the_first_cannot,
    "0 up d
     0 request route:r 0 -> admit on=d
     0 degraded a 98
     0 request route:r 0 -> admit on=d
     0 degraded c 1
     0 request route:r 0 -> admit on=d
     0 request route:r 1 -> admit on=c"
);

case!(
    the_rest_of_the_group_comes_before_the_next_group,
    "0 up a
     0 up c
     0 up d
     0 blocked a
     0 request route:r 0 x 4 -> admit on=c"
);

case!(
    a_pending_limit_passes_the_request_on,
    |s| s.connections[0].pending_limit = 10,
    "0 up a
     0 up d
     0 request route:r 0 x 10 -> admit on=a
     0 request route:r 0      -> admit on=d pending=1
     3 request route:r 0      -> admit on=a pending=1"
);

case!(
    a_refusal_tells_of_the_last_connection_tried,
    |s| s.connections[3].pending_limit = 10,
    "0 up a
     0 up d
     0 request d 0 x 10
     0 answer a 3004 2   -> cpl=3
     0 request route:r 0 -> refuse:pending_limit:3004 on=null cpl=0 x=0,0,0,0 pending=10
     0 answer d 3004 1
     0 degraded d 2
     0 request route:r 0 -> refuse:cpl:3004 on=null cpl=2 x=2,2,0,0 pending=9"
);

case!(
    with_none_up_the_last_of_the_route_is_shown,
    "0 request route:r 2 -> refuse:no_connection:3002 on=null cpl=99 x=99,0,0,0 pending=0 rate=0.0
     0 up b
     0 request route:r 2 -> refuse:no_connection:3002 on=null cpl=99"
);

case!(
    a_blocked_connection_is_up,
    "0 degraded c 98
     0 request route:r 2 -> refuse:cpl:3004 on=null cpl=98 x=98,0,0,0"
);

case!(
    weight_0_is_for_when_no_other_is_left,
    "0 up a
     0 up c
     0 request route:z 0 x 5 -> admit on=c
     0 blocked c
     0 request route:z 0     -> admit on=a
     0 down c
     0 request route:z 0     -> admit on=a"
);

case!(
    host_override_applies_to_the_peer_of_each_connection_tried,
    |s| {
        for connection in &mut s.connections {
            connection.remote_busy.usage = Usage::HostOverride;
        }
    },
    "0 up a
     0 up c
     0 answer a 3004 2
     0 answer c 3004 2
     0 request route:r 0                     -> refuse:cpl:3004 on=null cpl=3
     0 request route:r 0 to hss2.example.net -> admit on=c cpl=3
     0 request route:r 0 to hss1.example.net -> admit on=a cpl=3"
);

case!(
    a_routed_request_counts_where_it_went,
    "0 up a
     0 up c
     0.05 request route:r 0 x 3
     0.1 tick a -> rate=2.0 pending=2
     0.1 tick c -> rate=1.0 pending=1"
);

case!(
    the_agents_limit_refuses_on_every_connection,
    |s| s.node.pending_limit = 2,
    "0 up a
     0 up c
     0 up d
     0 request route:r 0 x 2 -> admit
     0 request route:r 0     -> refuse:pending_limit:3004 on=null pending=0"
);
