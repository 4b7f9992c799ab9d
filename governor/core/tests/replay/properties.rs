//! Properties over random events: nothing leaks, nothing panics, and the shape holds.

use crate::script::settings;
use governor_core::replay::Replay;
use governor_core::settings::{ConnectionIndex, Group, Throttle};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

fn event() -> impl Strategy<Value = Value> {
    let connection = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let offered = prop_oneof![
        connection().prop_map(|name| ("connection", name)),
        prop::sample::select(vec!["r", "w", "z"]).prop_map(|name| ("route", name)),
    ];
    prop_oneof![
        3 => connection().prop_map(|c| json!({"event": "up", "connection": c})),
        1 => connection().prop_map(|c| json!({"event": "down", "connection": c})),
        1 => (connection(), prop::sample::select(vec![1, 2, 3, 98])).prop_map(|(c, level)| json!({"event": "degraded", "connection": c, "level": level})),
        20 => (offered, 0..3u8).prop_map(|((key, name), p)| json!({"event": "request", key: name, "priority": p})),
        8 => (connection(), 0..3u8, prop::sample::select(vec![2001, 3004])).prop_map(|(c, p, r)| json!({"event": "answer", "connection": c, "result": r, "priority": p})),
        3 => connection().prop_map(|c| json!({"event": "send_answer", "connection": c})),
        1 => connection().prop_map(|c| json!({"event": "blocked", "connection": c})),
        1 => connection().prop_map(|c| json!({"event": "unblocked", "connection": c})),
        1 => Just(json!({"event": "tick"})),
    ]
}

fn history() -> impl Strategy<Value = Vec<Value>> {
    let wait = prop_oneof![5 => Just(0), 5 => 1..200u64, 1 => 200..4000u64];
    prop::collection::vec((wait, event()), 1..300).prop_map(|steps| {
        let mut t = 0;
        let at = |(wait, mut event): (u64, Value)| {
            t += wait;
            event["t"] = json!(t as f64 / 1000.0);
            event
        };
        steps.into_iter().map(at).collect()
    })
}

/// Every limit low enough to bind.
fn replay() -> Replay {
    let mut settings = settings();
    settings.node.pending_limit = 25;
    settings.node.answer_timeout = Duration::from_secs(1);
    for connection in &mut settings.connections {
        connection.pending_limit = 10;
        connection.throttle = Some(Throttle::new("slow", 12));
    }
    settings.groups = vec![Group {
        connections: [0, 1].map(ConnectionIndex).to_vec(),
        max_pending: Some(15),
        max_rate: Some(20),
        ..Group::new("site")
    }];
    Replay::new(settings)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Records are counted by hand: sent, answered, timed out after a second, cleared by `down`.
    #[test]
    fn pending_records_never_leak_nor_pass_a_limit(history in history()) {
        let mut replay = replay();
        let mut records: HashMap<String, Vec<(f64, u64)>> = HashMap::new();
        let mut t = 0.0;
        for event in &history {
            let answer: Value = serde_json::from_str(&replay.line(&event.to_string()).unwrap()).unwrap();
            t = event["t"].as_f64().unwrap();
            for list in records.values_mut() {
                list.retain(|&(sent, _)| t - sent < 1.0 - 1e-9);
            }
            let shown = answer["connection"].as_str().map(str::to_owned);
            match (event["event"].as_str().unwrap(), shown.clone()) {
                ("request", Some(c)) if answer["verdict"] == "admit" => {
                    records.entry(c).or_default().push((t, event["priority"].as_u64().unwrap()));
                }
                ("answer", Some(c)) if answer["cpl"] != 99 => {
                    let list = records.entry(c).or_default();
                    let of_priority = list.iter().position(|&(_, p)| Some(p) == event["priority"].as_u64());
                    if !list.is_empty() {
                        list.remove(of_priority.unwrap_or(0));
                    }
                }
                ("down", Some(c)) => records.entry(c).or_default().clear(),
                _ => {}
            }
            if let Some(c) = shown {
                let expected = records.get(&c).map_or(0, Vec::len);
                prop_assert_eq!(answer["pending"].as_u64(), Some(expected as u64), "{}", answer);
                prop_assert!(expected <= 10);
            }
            let held = |c| records.get(c).map_or(0, Vec::len);
            prop_assert!(held("a") + held("b") <= 15, "the group's limit");
            prop_assert!(records.values().map(Vec::len).sum::<usize>() <= 25, "the agent's limit");
        }
        // When all is over every record can be had again.
        let mut play = |line: Value| -> Value { serde_json::from_str(&replay.line(&line.to_string()).unwrap()).unwrap() };
        let mut admitted = Vec::new();
        for c in ["c", "d", "a"] {
            play(json!({"t": t + 100.0, "event": "down", "connection": c}));
            play(json!({"t": t + 100.0, "event": "up", "connection": c}));
            let verdicts = (0..11).map(|_| play(json!({"t": t + 100.0, "event": "request", "connection": c, "priority": 2})));
            admitted.push(verdicts.filter(|answer| answer["verdict"] == "admit").count());
        }
        prop_assert_eq!(admitted, [10, 10, 5]);
    }

    #[test]
    fn every_answer_has_its_shape(history in history()) {
        let mut replay = replay();
        for event in &history {
            let answer: Value = serde_json::from_str(&replay.line(&event.to_string()).unwrap()).unwrap();
            prop_assert_eq!(&answer["event"], &event["event"]);
            prop_assert_eq!(&answer["t"], &event["t"]);
            let has_verdict = matches!(event["event"].as_str(), Some("request" | "send_answer"));
            prop_assert_eq!(answer.get("verdict").is_some(), has_verdict);
            let is_refused = answer["verdict"] == "refuse";
            prop_assert_eq!(answer.get("reason").is_some(), is_refused);
            prop_assert_eq!(answer.get("result_code").is_some(), is_refused && event["event"] == "request");
            if answer["levels"].is_object() {
                let max = answer["levels"].as_object().unwrap().values().filter_map(Value::as_u64).max();
                prop_assert_eq!(answer["cpl"].as_u64(), max, "the CPL is the maximum");
            }
            if answer["verdict"] == "admit" && event["event"] == "request" {
                prop_assert!(event["priority"].as_u64() >= answer["cpl"].as_u64());
            }
        }
    }

    #[test]
    fn no_line_whatever_panics(line in r#"[ -~]{0,40}|\{("(t|event|connection|level|priority|route|result|queued|limit)":(-?[0-9]{1,25}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,22})?|"(a|r|up|request|pressure|degraded|answer|tick)"),){1,5}"event":"tick"\}"#) {
        if let Ok(answer) = replay().line(&line) {
            prop_assert!(serde_json::from_str::<Value>(&answer).is_ok(), "{}", answer);
        }
    }
}
