//! Scripts: a line is `t event -> expectations`, where the event is short for the JSON line and the expectations
//! name fields of the answer.
//!
//! | event | JSON |
//! |---|---|
//! | `up a`, `down a`, `blocked a`, `unblocked a`, `send_answer a`, `tick a`, `tick` | the same |
//! | `degraded a 2` | level |
//! | `request a 1`, `request a 1 to HOST`, `request route:r 1` | priority, `destination_host` |
//! | `answer a 3004`, `answer a 3004 1`, `answer a 3004 1 from HOST` | result, priority, `origin_host` |
//! | `pressure a 50/100` | queued, limit |
//!
//! An event followed by `x 10` is sent ten times; the verdict is expected of each, the rest of the last.
//! Expectations: `cpl=1`, `x=0,1,0,0` (status, remote busy, transport, throttle), `pending=1`, `rate=1.0`, `on=a`
//! (the connection; `on=null`), `admit`, `refuse:REASON:CODE`, `refuse:REASON` (no code).

use governor_core::replay::Replay;
use governor_core::settings::{Connection, ConnectionIndex, Node, Peer, PeerIndex, Route, RouteGroup, Settings};
use serde_json::{Map, Value, json};

/// Connections `a` and `b` of hss1, `c` of hss2, `d` of hss3, all at their defaults.
/// Routes `r` (a and c, then d), `w` (a 5, b 1, c 1), `z` (a with weight 0, c).
pub fn settings() -> Settings {
    let peer = |host: &str, connections: &[u32]| Peer {
        host: host.to_owned(),
        realm: "example.net".to_owned(),
        addresses: Vec::new(),
        connections: connections.iter().copied().map(ConnectionIndex).collect(),
    };
    let route = |name: &str, groups: &[&[(u32, u32)]]| Route {
        name: name.to_owned(),
        groups: groups
            .iter()
            .map(|members| RouteGroup { members: members.iter().map(|&(at, w)| (ConnectionIndex(at), w)).collect() })
            .collect(),
        ..Route::default()
    };
    Settings {
        node: Node::new("gov1.example.net", "example.net"),
        peers: vec![peer("hss1.example.net", &[0, 1]), peer("hss2.example.net", &[2]), peer("hss3.example.net", &[3])],
        connections: [("a", 0), ("b", 0), ("c", 1), ("d", 2)]
            .map(|(name, peer)| Connection::new(name, PeerIndex(peer)))
            .to_vec(),
        priorities: vec![],
        routes: vec![
            route("r", &[&[(0, 50), (2, 50)], &[(3, 100)]]),
            route("w", &[&[(0, 5), (1, 1), (2, 1)]]),
            route("z", &[&[(0, 0), (2, 100)]]),
        ],
        groups: vec![],
    }
}

/// Plays a script, and checks every expectation in it.
pub fn play(change: impl FnOnce(&mut Settings), script: &str) {
    let mut settings = settings();
    change(&mut settings);
    let mut replay = Replay::new(settings);
    let mut expectations = 0;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (input, expected) = line.split_once("->").map_or((line, ""), |(input, expected)| (input, expected));
        let (input, times) = input.split_once(" x ").map_or((input, 1), |(i, n)| (i, n.trim().parse().unwrap()));
        let input = json_line(input);
        for time in 1..=times {
            let answer = replay.line(&input).unwrap_or_else(|error| panic!("{line}: {error}"));
            let answer: Value = serde_json::from_str(&answer).unwrap();
            for expectation in expected.split_whitespace() {
                if time == times || expectation == "admit" || expectation.starts_with("refuse") {
                    check(&answer, expectation, line);
                    expectations += 1;
                }
            }
        }
    }
    assert!(expectations > 0, "a script that expects nothing");
}

fn json_line(input: &str) -> String {
    let words: Vec<&str> = input.split_whitespace().collect();
    let mut fields = Map::new();
    let number = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    fields.insert("t".into(), number(words[0]));
    fields.insert("event".into(), words[1].into());
    if let Some(name) = words.get(2) {
        match name.split_once("route:") {
            Some((_, route)) => fields.insert("route".into(), route.into()),
            None => fields.insert("connection".into(), (*name).into()),
        };
    }
    match (words[1], words.get(3..).unwrap_or_default()) {
        ("degraded", [level]) => {
            fields.insert("level".into(), number(level));
        }
        ("request", [priority, rest @ ..]) => {
            fields.insert("priority".into(), number(priority));
            if let ["to", host] = rest {
                fields.insert("destination_host".into(), (*host).into());
            }
        }
        ("answer", [result, rest @ ..]) => {
            fields.insert("result".into(), number(result));
            let rest = match rest {
                [rest @ .., "from", host] => {
                    fields.insert("origin_host".into(), (*host).into());
                    rest
                }
                rest => rest,
            };
            if let [priority] = rest {
                fields.insert("priority".into(), number(priority));
            }
        }
        ("pressure", [occupancy]) => {
            let (queued, limit) = occupancy.split_once('/').unwrap();
            fields.insert("queued".into(), number(queued));
            fields.insert("limit".into(), number(limit));
        }
        (_, []) => {}
        (_, rest) => panic!("{rest:?} in {input}"),
    }
    Value::Object(fields).to_string()
}

fn check(answer: &Value, expectation: &str, line: &str) {
    let (key, value) = expectation.split_once(['=', ':']).unwrap_or((expectation, ""));
    let is_met = match key {
        // Compared as printed: 1 is not 1.0.
        "cpl" | "pending" | "rate" => answer.get(key).map(Value::to_string).as_deref() == Some(value),
        "on" => answer["connection"] == if value == "null" { Value::Null } else { json!(value) },
        "x" => {
            let levels = &answer["levels"];
            ["status", "remote_busy", "transport", "throttle"].map(|name| levels[name].to_string()).join(",") == value
        }
        "admit" => answer["verdict"] == "admit" && answer.get("reason").is_none(),
        "refuse" => {
            let (reason, code) = value.split_once(':').map_or((value, None), |(reason, code)| (reason, Some(code)));
            answer["verdict"] == "refuse"
                && answer["reason"] == reason
                && answer.get("result_code").map(Value::to_string).as_deref() == code
        }
        _ => panic!("expectation {expectation}"),
    };
    assert!(is_met, "{line}\n  expected {expectation}\n  got      {answer}");
}

/// A test that plays one script: `case!(name, |settings| change, "script")`.
macro_rules! case {
    ($name:ident, $script:expr) => {
        case!($name, |_| {}, $script);
    };
    ($name:ident, $change:expr, $script:expr) => {
        #[test]
        fn $name() {
            crate::script::play($change, $script);
        }
    };
}
pub(crate) use case;
