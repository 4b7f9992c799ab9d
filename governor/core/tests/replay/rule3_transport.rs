//! Rule 3.
use crate::script::case;
use governor_core::settings::{Pressure, Settings};
use std::time::Duration;

fn with_pressure(s: &mut Settings) {
    s.connections[0].transport.pressure = Some(Pressure::default());
}

case!(
    a_blocked_connection_is_at_98_at_once,
    "0 up a
     0 blocked a     -> cpl=98 x=0,0,98,0
     0 request a 2   -> refuse:cpl:3004
     0 send_answer a -> refuse:cpl
     9 tick a        -> cpl=98"
);

case!(
    unblocked_goes_to_3_at_once_and_down_by_one_each_abatement,
    "0 up a
     1 blocked a
     2 unblocked a -> cpl=3 x=0,0,3,0
     6.999 tick a  -> cpl=3
     7 tick a      -> cpl=2
     11.999 tick a -> cpl=2
     12 tick a     -> cpl=1
     16.999 tick a -> cpl=1
     17 tick a     -> cpl=0"
);

case!(
    the_abatement_time_is_configured,
    |s| s.connections[0].transport.abatement = Duration::from_secs(3),
    "0 up a
     0 blocked a
     0 unblocked a -> cpl=3
     3 tick a      -> cpl=2
     6 tick a      -> cpl=1
     9 tick a      -> cpl=0"
);

case!(
    blocking_again_stops_the_abatement,
    "0 up a
     0 blocked a
     0 unblocked a -> cpl=3
     5 tick a      -> cpl=2
     6 blocked a   -> cpl=98
     99 tick a     -> cpl=98
     100 unblocked a -> cpl=3
     104.9 tick a  -> cpl=3
     105 tick a    -> cpl=2"
);

case!(
    unblocked_without_blocked_changes_nothing,
    "0 up a
     0 unblocked a -> cpl=0
     0 blocked a
     0 unblocked a -> cpl=3
     5 unblocked a -> cpl=2
     10 tick a     -> cpl=1"
);

case!(
    blocked_twice_is_blocked_once,
    "0 up a
     0 blocked a   -> cpl=98
     1 blocked a   -> cpl=98
     2 unblocked a -> cpl=3"
);

case!(
    blocked_frees_no_record,
    "0 up a
     0 request a 0
     0 blocked a -> pending=1
     2.9 tick a  -> pending=1
     3 tick a    -> pending=0"
);

case!(
    socket_events_on_a_connection_that_is_down_change_nothing,
    with_pressure,
    "0 blocked a           -> cpl=99 x=99,0,0,0
     0 pressure a 100/100  -> cpl=99 x=99,0,0,0
     0 up a                -> cpl=0 x=0,0,0,0
     0 down a
     0 unblocked a         -> cpl=99 x=99,0,0,0"
);

case!(
    pressure_at_an_onset_sets_its_level,
    with_pressure,
    "0 up a
     0 pressure a 49/100 -> cpl=0
     0 pressure a 50/100 -> cpl=1 x=0,0,1,0
     0 pressure a 69/100 -> cpl=1
     0 pressure a 70/100 -> cpl=2
     0 pressure a 84/100 -> cpl=2
     0 pressure a 85/100 -> cpl=3
     0 pressure a 400/100 -> cpl=3"
);

case!(
    pressure_rises_over_several_levels_at_once,
    with_pressure,
    "0 up a
     0 pressure a 90/100 -> cpl=3"
);

case!(
    pressure_below_an_abatement_drops_at_once,
    with_pressure,
    "0 up a
     0 pressure a 90/100 -> cpl=3
     0 pressure a 75/100 -> cpl=3
     0 pressure a 74/100 -> cpl=2
     0 pressure a 60/100 -> cpl=2
     0 pressure a 59/100 -> cpl=1
     0 pressure a 40/100 -> cpl=1
     0 pressure a 39/100 -> cpl=0"
);

case!(
    pressure_drops_over_several_levels_at_once,
    with_pressure,
    "0 up a
     0 pressure a 90/100 -> cpl=3
     0 pressure a 50/100 -> cpl=1
     0 pressure a 90/100 -> cpl=3
     0 pressure a 0/100  -> cpl=0"
);

case!(
    pressure_is_exact_to_the_byte,
    with_pressure,
    "0 up a
     0 pressure a 106495/212992 -> cpl=0
     0 pressure a 106496/212992 -> cpl=1
     0 pressure a 9223372036854775807/18446744073709551615 -> cpl=1
     0 pressure a 85197/212992 -> cpl=1
     0 pressure a 85196/212992 -> cpl=0"
);

case!(
    pressure_has_no_timer,
    with_pressure,
    "0 up a
     0 pressure a 50/100 -> cpl=1
     99 tick a           -> cpl=1"
);

case!(
    the_level_is_the_higher_of_step_and_pressure,
    with_pressure,
    "0 up a
     0 blocked a           -> cpl=98
     0 pressure a 70/100   -> cpl=98
     1 unblocked a         -> cpl=3
     6 tick a              -> cpl=2
     11 tick a             -> cpl=2
     12 pressure a 45/100  -> cpl=1
     16 tick a             -> cpl=1
     17 pressure a 10/100  -> cpl=0"
);

case!(
    pressure_below_the_step_level_does_not_hasten_it,
    with_pressure,
    "0 up a
     0 blocked a
     0 unblocked a        -> cpl=3
     1 pressure a 0/100   -> cpl=3
     5 tick a             -> cpl=2"
);

case!(without_thresholds_pressure_says_nothing, "0 up a\n 0 pressure a 100/100 -> cpl=0 x=0,0,0,0");
