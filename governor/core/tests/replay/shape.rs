//! The very characters of the lines that come out.

use crate::script::settings;
use governor_core::replay::Replay;

fn lines(inputs: &[&str]) -> Vec<String> {
    let mut replay = Replay::new(settings());
    inputs.iter().map(|input| replay.line(input).unwrap()).collect()
}

#[test]
fn fields_come_in_a_fixed_order() {
    let answers = lines(&[
        r#"{"t":0,"event":"up","connection":"a"}"#,
        r#"{"event":"request","priority":1,"connection":"a","t":0.05}"#,
        r#"{"t":0.1,"event":"answer","connection":"a","result":3004}"#,
        r#"{"t":0.1,"event":"request","priority":0,"connection":"a"}"#,
        r#"{"t":0.2,"event":"send_answer","connection":"a"}"#,
        r#"{"t":0.2,"event":"send_answer","connection":"b"}"#,
        r#"{"t":0.2,"event":"request","priority":0,"route":"r"}"#,
        r#"{"t":0.2,"event":"tick","connection":"a"}"#,
        r#"{"t":0.2,"event":"tick"}"#,
    ]);
    assert_eq!(
        answers,
        [
            r#"{"t":0,"event":"up","connection":"a","cpl":0,"levels":{"status":0,"remote_busy":0,"transport":0,"throttle":0},"pending":0,"rate":0.0}"#,
            r#"{"t":0.05,"event":"request","connection":"a","cpl":0,"levels":{"status":0,"remote_busy":0,"transport":0,"throttle":0},"pending":1,"rate":0.0,"verdict":"admit"}"#,
            r#"{"t":0.1,"event":"answer","connection":"a","cpl":2,"levels":{"status":0,"remote_busy":2,"transport":0,"throttle":0},"pending":0,"rate":1.0}"#,
            r#"{"t":0.1,"event":"request","connection":"a","cpl":2,"levels":{"status":0,"remote_busy":2,"transport":0,"throttle":0},"pending":0,"rate":1.0,"verdict":"refuse","reason":"cpl","result_code":3004}"#,
            r#"{"t":0.2,"event":"send_answer","connection":"a","cpl":2,"levels":{"status":0,"remote_busy":2,"transport":0,"throttle":0},"pending":0,"rate":1.0,"verdict":"admit"}"#,
            r#"{"t":0.2,"event":"send_answer","connection":"b","cpl":99,"levels":{"status":99,"remote_busy":0,"transport":0,"throttle":0},"pending":0,"rate":0.0,"verdict":"refuse","reason":"no_connection"}"#,
            r#"{"t":0.2,"event":"request","connection":null,"cpl":2,"levels":{"status":0,"remote_busy":2,"transport":0,"throttle":0},"pending":0,"rate":1.0,"verdict":"refuse","reason":"cpl","result_code":3004}"#,
            r#"{"t":0.2,"event":"tick","connection":"a","cpl":2,"levels":{"status":0,"remote_busy":2,"transport":0,"throttle":0},"pending":0,"rate":1.0}"#,
            r#"{"t":0.2,"event":"tick","connection":null,"cpl":null,"levels":null,"pending":null,"rate":null}"#,
        ]
    );
}

#[test]
fn the_time_is_printed_as_it_came() {
    for t in ["0", "-0", "0.0", "1.50", "1e0", "1700000000.123456789", "0.30000000000000004", "2E+3"] {
        let input = format!(r#" {{ "t" : {t} , "event":"tick" }} "#);
        let answer = &lines(&[&input])[0];
        assert!(answer.starts_with(&format!(r#"{{"t":{t},"event":"tick","#)), "{answer}");
    }
}

#[test]
fn every_event_is_named_as_it_came() {
    for (event, fields) in [
        ("up", ""),
        ("down", ""),
        ("degraded", r#","level":98"#),
        ("request", r#","priority":0"#),
        ("request", r#","priority":0,"destination_host":"hss1.example.net""#),
        ("answer", r#","result":2001"#),
        ("answer", r#","result":3004,"origin_host":"hss1.example.net","priority":2"#),
        ("send_answer", ""),
        ("blocked", ""),
        ("unblocked", ""),
        ("pressure", r#","queued":0,"limit":1"#),
        ("tick", ""),
    ] {
        let input = format!(r#"{{"t":1,"event":"{event}","connection":"a"{fields}}}"#);
        let answer = &lines(&[&input])[0];
        assert!(answer.starts_with(&format!(r#"{{"t":1,"event":"{event}","connection":"a","cpl":"#)), "{answer}");
    }
}

#[test]
fn names_are_escaped_as_json_wants_it() {
    let mut settings = settings();
    settings.connections[0].name = "a \"b\"\\\u{1}é".to_owned();
    let mut replay = Replay::new(settings);
    let answer = replay.line(r#"{"t":0,"event":"up","connection":"a \"b\"\\\u0001\u00e9"}"#).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["connection"], "a \"b\"\\\u{1}é");
}
