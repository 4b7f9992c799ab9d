//! Rule 4.
use crate::script::case;
use governor_core::settings::{Settings, Threshold, Throttle};
use std::time::Duration;

/// 100 messages/s, three levels (60/50, 80/70, 100/90), a window of 1 s, 500 ms to abate.
fn set() -> Throttle {
    let pair = |onset, abatement| Threshold { onset, abatement };
    Throttle { thresholds: vec![pair(60, 50), pair(80, 70), pair(100, 90)], ..Throttle::new("gold", 100) }
}

fn throttled(s: &mut Settings) {
    s.connections[0].throttle = Some(set());
}

/// 10 messages/s, level 1 alone (100/80).
fn slow(s: &mut Settings) {
    s.connections[0].throttle = Some(Throttle::new("slow", 10));
}

fn convergence(s: &mut Settings, millis: u64) {
    s.connections[0].throttle = Some(Throttle { convergence: Duration::from_millis(millis), ..set() });
}

case!(
    the_rate_is_sampled_each_100_ms_from_coming_up,
    throttled,
    "0.03 up a        -> rate=0.0
     0.04 request a 0 -> rate=0.0
     0.129 tick a     -> rate=0.0
     0.13 tick a      -> rate=1.0
     0.14 request a 0 -> rate=1.0
     0.23 tick a      -> rate=2.0"
);

case!(
    a_sample_due_at_an_event_is_taken_before_it,
    throttled,
    "0 up a
     0.1 request a 0 -> rate=0.0
     0.2 request a 0 -> rate=1.0
     0.3 tick a      -> rate=2.0"
);

case!(
    a_window_not_yet_full_is_divided_by_the_whole_convergence,
    throttled,
    "0 up a
     0.05 request a 0 x 10 -> admit
     0.1 tick a            -> rate=10.0 cpl=0"
);

case!(
    the_oldest_sample_of_the_window_is_one_convergence_old,
    throttled,
    "0 up a
     0.05 request a 0 x 5
     1 tick a   -> rate=5.0
     1.1 tick a -> rate=0.0"
);

case!(
    a_convergence_of_250_ms_reaches_back_two_samples,
    |s| convergence(s, 250),
    "0 up a
     0.05 request a 0 x 10
     0.1 tick a -> rate=40.0
     0.2 tick a -> rate=40.0
     0.3 tick a -> rate=0.0"
);

case!(
    a_convergence_of_4_s_gives_fractions,
    |s| convergence(s, 4000),
    "0 up a
     0.05 request a 0
     0.1 tick a      -> rate=0.2
     0.15 request a 0
     0.2 tick a      -> rate=0.5
     0.25 request a 0
     0.3 tick a      -> rate=0.8
     4.1 tick a      -> rate=0.5
     4.3 tick a      -> rate=0.0"
);

case!(
    a_rate_above_the_threshold_sets_the_level_at_the_sample,
    throttled,
    "0 up a
     0.05 request a 0 x 61 -> admit cpl=0
     0.099 tick a          -> cpl=0
     0.1 request a 0       -> refuse:cpl:3004 cpl=1 x=0,0,0,1 rate=61.0
     0.1 request a 1       -> admit"
);

case!(
    a_rate_at_the_threshold_does_not,
    throttled,
    "0 up a
     0.05 request a 0 x 60
     0.1 tick a -> cpl=0 rate=60.0"
);

case!(
    the_rate_rises_over_several_levels_at_once,
    throttled,
    "0 up a
     0.05 request a 0 x 81 -> admit
     0.1 tick a            -> cpl=2 x=0,0,0,2
     0.15 request a 2 x 19 -> admit
     0.15 send_answer a    -> admit
     0.2 tick a            -> cpl=3 rate=101.0"
);

case!(
    a_level_that_stands_is_not_lowered_by_a_lower_onset,
    throttled,
    "0 up a
     0.05 request a 2 x 85
     0.1 tick a -> cpl=2
     0.9 tick a -> cpl=2"
);

case!(
    below_the_abatement_for_its_time_the_level_drops,
    throttled,
    "0 up a
     0.05 request a 2 x 70
     0.1 tick a   -> cpl=1
     1.1 tick a   -> cpl=1 rate=0.0
     1.599 tick a -> cpl=1
     1.6 tick a   -> cpl=0"
);

case!(
    each_level_is_counted_afresh,
    throttled,
    "0 up a
     0.05 send_answer a x 101
     0.1 tick a   -> cpl=3
     1.599 tick a -> cpl=3
     1.6 tick a   -> cpl=2
     2.099 tick a -> cpl=2
     2.1 tick a   -> cpl=1
     2.599 tick a -> cpl=1
     2.6 tick a   -> cpl=0"
);

case!(
    samples_missed_for_long_give_the_same_levels,
    throttled,
    "0 up a
     0.05 send_answer a x 101
     2.35 tick a  -> cpl=1 rate=0.0
     9999 tick a -> cpl=0"
);

case!(
    a_sample_at_the_abatement_starts_the_time_again,
    throttled,
    "0 up a
     0.05 request a 2 x 70
     1.35 request a 2 x 50 -> cpl=1 admit
     1.4 tick a   -> cpl=1 rate=50.0
     2.3 tick a   -> cpl=1 rate=50.0
     2.4 tick a   -> cpl=1 rate=0.0
     2.899 tick a -> cpl=1
     2.9 tick a   -> cpl=0"
);

case!(
    between_abatement_and_onset_the_level_stands,
    throttled,
    "0 up a
     0.05 request a 2 x 61
     1.05 request a 2 x 55 -> admit cpl=1
     1.1 tick a   -> cpl=1 rate=55.0
     2 tick a     -> cpl=1 rate=55.0
     2.1 tick a   -> cpl=1 rate=0.0
     2.599 tick a -> cpl=1
     2.6 tick a   -> cpl=0"
);

case!(
    the_abatement_time_is_judged_at_samples,
    |s| s.connections[0].throttle = Some(Throttle { abatement_time: Duration::from_millis(250), ..set() }),
    "0 up a
     0.05 request a 2 x 70
     1.1 tick a   -> cpl=1
     1.399 tick a -> cpl=1
     1.4 tick a   -> cpl=0"
);

case!(
    answers_count_and_are_not_held_back,
    throttled,
    "0 up a
     0.05 send_answer a x 150 -> admit
     0.1 send_answer a        -> admit cpl=3 rate=150.0
     0.1 request a 2          -> refuse:cpl:3004"
);

case!(
    at_the_maximum_no_request_leaves_within_the_second,
    slow,
    "0 up a
     0.05 request a 0 x 10 -> admit
     0.05 request a 2      -> refuse:rate_limit:3004 cpl=0
     1.049999999 request a 2 -> refuse:rate_limit:3004
     1.05 request a 2 x 10 -> admit
     1.05 request a 2      -> refuse:rate_limit:3004"
);

case!(
    the_second_slides_message_by_message,
    slow,
    "0 up a
     0 request a 0 x 5   -> admit
     0.5 request a 0 x 5 -> admit
     0.9 request a 0     -> refuse:rate_limit:3004
     1 request a 0 x 5   -> admit
     1 request a 0       -> refuse:rate_limit:3004
     1.5 request a 0 x 5 -> admit
     1.5 request a 0     -> refuse:rate_limit:3004"
);

case!(
    answers_use_up_the_maximum_and_pass_it,
    slow,
    "0 up a
     0.05 send_answer a x 10 -> admit
     0.05 request a 2        -> refuse:rate_limit:3004
     0.05 send_answer a x 10 -> admit
     1.04 request a 0        -> refuse:cpl:3004 cpl=1
     1.04 request a 2        -> refuse:rate_limit:3004"
);

case!(
    refused_requests_do_not_count,
    slow,
    "0 up a
     0.05 request a 0 x 10 -> admit
     0.06 request a 0 x 50 -> refuse:rate_limit:3004
     0.1 tick a            -> rate=10.0 cpl=0 pending=10
     1.05 request a 0      -> admit"
);

case!(
    arriving_answers_do_not_count,
    throttled,
    "0 up a
     0.05 request a 0
     0.06 answer a 2001 0
     0.1 tick a -> rate=1.0"
);

case!(
    coming_up_again_starts_the_rate_and_the_maximum_afresh,
    slow,
    "0 up a
     0.05 request a 0 x 10
     0.12 tick a    -> rate=10.0
     0.15 down a    -> rate=0.0
     0.17 up a      -> rate=0.0
     0.17 request a 0 x 10 -> admit
     0.26 tick a    -> rate=0.0
     0.27 tick a    -> rate=10.0"
);

case!(
    without_a_set_the_rate_is_that_of_1_s_and_sets_no_level,
    "0 up a
     0.05 request a 0 x 1000 -> admit
     0.05 send_answer a x 5000 -> admit
     0.1 tick a -> rate=6000.0 cpl=0
     1 tick a   -> rate=6000.0
     1.1 tick a -> rate=0.0"
);

case!(
    connections_that_share_a_set_count_apart,
    |s| {
        slow(s);
        s.connections[1].throttle = s.connections[0].throttle.clone();
    },
    "0 up a
     0 up b
     0.05 request a 0 x 10 -> admit
     0.05 request a 0      -> refuse:rate_limit:3004
     0.05 request b 0 x 10 -> admit"
);
