//! What makes a line bad, and what is said of it.

use crate::script::settings;
use governor_core::replay::Replay;

/// The message for a line after one at t = 5.
fn fault(line: &str) -> String {
    let mut replay = Replay::new(settings());
    replay.line(r#"{"t":5,"event":"up","connection":"a"}"#).unwrap();
    match replay.line(line) {
        Ok(answer) => panic!("{line} is answered {answer}"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn a_bad_line_is_refused_with_its_fault() {
    for (line, says) in [
        ("", "blank"),
        (" \t ", "blank"),
        ("\r", "blank"),
        ("up", "not a JSON object"),
        ("null", "not a JSON object"),
        (r#"[5,"up","a"]"#, "not a JSON object"),
        (r#""up""#, "not a JSON object"),
        ("{", "EOF"),
        (r#"{"t":5,"event":"up","connection":"a""#, "EOF"),
        (r#"{"t":5,"event":"up","connection":"a"},"#, "trailing"),
        (r#"{"t":5,"event":"up","connection":"a"}{}"#, "trailing"),
        (r#"{"t":5,"event":"up","connection":"a",}"#, "trailing comma"),
        (r#"{'t':5,"event":"up","connection":"a"}"#, "column 2"),
        (r#"{"t":5.,"event":"up","connection":"a"}"#, "invalid number"),
        (r#"{"t":05,"event":"up","connection":"a"}"#, "invalid number"),
        (r#"{"t":NaN,"event":"up","connection":"a"}"#, "column"),
        (r#"{"t":5,"t":5,"event":"up","connection":"a"}"#, "duplicate field `t`"),
        (r#"{"t":5,"event":"up","connection":"a","connection":"a"}"#, "duplicate field `connection`"),
        // t
        (r#"{"event":"up","connection":"a"}"#, "missing field `t`"),
        (r#"{"t":"5","event":"up","connection":"a"}"#, "`t` must be a number"),
        (r#"{"t":null,"event":"up","connection":"a"}"#, "`t` must be a number"),
        (r#"{"t":true,"event":"up","connection":"a"}"#, "`t` must be a number"),
        (r#"{"t":[5],"event":"up","connection":"a"}"#, "`t` must be a number"),
        (r#"{"t":-1,"event":"up","connection":"a"}"#, "`t` must be 0 to"),
        (r#"{"t":1e300,"event":"up","connection":"a"}"#, "`t` must be 0 to"),
        (r#"{"t":4.999999999,"event":"up","connection":"a"}"#, "falls to 4.999999999"),
        // event
        (r#"{"t":5,"connection":"a"}"#, "missing field `event`"),
        (r#"{"t":5,"event":"Up","connection":"a"}"#, "no event \"Up\""),
        (r#"{"t":5,"event":"","connection":"a"}"#, "no event \"\""),
        (r#"{"t":5,"event":7,"connection":"a"}"#, "invalid type"),
        // fields
        (r#"{"t":5,"event":"up","connection":"a","note":"x"}"#, "unknown field `note`"),
        (r#"{"t":5,"event":"up","connection":"a","Level":1}"#, "unknown field `Level`"),
        (r#"{"t":5,"event":"up","connection":"a","level":1}"#, "`up` has no field `level`"),
        (r#"{"t":5,"event":"up","route":"r"}"#, "`up` needs `connection`"),
        (r#"{"t":5,"event":"tick","route":"r"}"#, "`tick` has no field `route`"),
        (r#"{"t":5,"event":"send_answer","connection":"a","priority":1}"#, "`send_answer` has no field `priority`"),
        (r#"{"t":5,"event":"answer","connection":"a","result":2001,"destination_host":"x"}"#, "no field"),
        (r#"{"t":5,"event":"request","connection":"a","priority":1,"origin_host":"x"}"#, "no field"),
        (r#"{"t":5,"event":"up"}"#, "`up` needs `connection`"),
        (r#"{"t":5,"event":"down"}"#, "needs `connection`"),
        (r#"{"t":5,"event":"blocked"}"#, "needs `connection`"),
        (r#"{"t":5,"event":"unblocked"}"#, "needs `connection`"),
        (r#"{"t":5,"event":"send_answer"}"#, "needs `connection`"),
        (r#"{"t":5,"event":"up","connection":null}"#, "invalid type: null"),
        (r#"{"t":5,"event":"up","connection":1}"#, "invalid type"),
        // names
        (r#"{"t":5,"event":"up","connection":"e"}"#, "no connection \"e\""),
        (r#"{"t":5,"event":"up","connection":"A"}"#, "no connection \"A\""),
        (r#"{"t":5,"event":"up","connection":"r"}"#, "no connection \"r\""),
        (r#"{"t":5,"event":"tick","connection":"e"}"#, "no connection \"e\""),
        (r#"{"t":5,"event":"request","route":"a","priority":0}"#, "no route \"a\""),
        // degraded
        (r#"{"t":5,"event":"degraded","connection":"a"}"#, "`degraded` needs `level`"),
        (r#"{"t":5,"event":"degraded","connection":"a","level":0}"#, "`level` must be 1, 2, 3 or 98, is 0"),
        (r#"{"t":5,"event":"degraded","connection":"a","level":4}"#, "is 4"),
        (r#"{"t":5,"event":"degraded","connection":"a","level":99}"#, "is 99"),
        (r#"{"t":5,"event":"degraded","connection":"a","level":257}"#, "is 257"),
        (r#"{"t":5,"event":"degraded","connection":"a","level":-1}"#, "-1"),
        (r#"{"t":5,"event":"degraded","connection":"a","level":1.5}"#, "1.5"),
        (r#"{"t":5,"event":"degraded","connection":"a","level":"1"}"#, "invalid type"),
        // request
        (r#"{"t":5,"event":"request","connection":"a"}"#, "`request` needs `priority`"),
        (r#"{"t":5,"event":"request","priority":0}"#, "needs `connection` or `route`"),
        (r#"{"t":5,"event":"request","connection":"a","route":"r","priority":0}"#, "no field `route` beside"),
        (r#"{"t":5,"event":"request","connection":"a","priority":3}"#, "`priority` must be 0, 1 or 2, is 3"),
        (r#"{"t":5,"event":"request","connection":"a","priority":-1}"#, "-1"),
        (r#"{"t":5,"event":"request","connection":"a","priority":null}"#, "null"),
        (r#"{"t":5,"event":"request","connection":"a","priority":0,"destination_host":1}"#, "invalid type"),
        (r#"{"t":5,"event":"request","connection":"a","priority":0,"destination_host":null}"#, "null"),
        // answer
        (r#"{"t":5,"event":"answer","connection":"a"}"#, "`answer` needs `result`"),
        (r#"{"t":5,"event":"answer","connection":"a","result":"3004"}"#, "invalid type"),
        (r#"{"t":5,"event":"answer","connection":"a","result":-1}"#, "-1"),
        (r#"{"t":5,"event":"answer","connection":"a","result":4294967296}"#, "`result` must be"),
        (r#"{"t":5,"event":"answer","connection":"a","result":3004,"priority":3}"#, "`priority` must be"),
        (r#"{"t":5,"event":"answer","connection":"a","result":3004,"origin_host":7}"#, "invalid type"),
        // pressure
        (r#"{"t":5,"event":"pressure","connection":"a","limit":1}"#, "`pressure` needs `queued`"),
        (r#"{"t":5,"event":"pressure","connection":"a","queued":1}"#, "`pressure` needs `limit`"),
        (r#"{"t":5,"event":"pressure","connection":"a","queued":1,"limit":0}"#, "`limit` must be 1 byte or more"),
        (r#"{"t":5,"event":"pressure","connection":"a","queued":-1,"limit":1}"#, "-1"),
        (r#"{"t":5,"event":"pressure","connection":"a","queued":1,"limit":18446744073709551616}"#, "invalid"),
    ] {
        let message = fault(line);
        assert!(message.contains(says), "{line}\n  should say {says}\n  says       {message}");
    }
}

#[test]
fn a_bad_line_changes_nothing() {
    let mut replay = Replay::new(settings());
    replay.line(r#"{"t":5,"event":"up","connection":"a"}"#).unwrap();
    replay.line(r#"{"t":7,"event":"degraded","connection":"a","level":5}"#).unwrap_err();
    replay.line(r#"{"t":4,"event":"blocked","connection":"a"}"#).unwrap_err();
    let answer = replay.line(r#"{"t":5,"event":"tick","connection":"a"}"#).unwrap();
    assert!(answer.contains(r#""cpl":0"#), "{answer}");
}

#[test]
fn equal_times_do_not_fall() {
    let mut replay = Replay::new(settings());
    for t in ["0.3", "0.3", "3e-1", "0.30", "0.30000000000000004", "0.3"] {
        replay.line(&format!(r#"{{"t":{t},"event":"tick"}}"#)).unwrap();
    }
}
