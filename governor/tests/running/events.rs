//! Whoever follows the relay sees what happens in its order.

use crate::relay::{File, PATIENCE, Relay, server};
use governor::load::Behaviour;
use governor::observe::control::{self, ManualLevel, Request, Summary};
use governor::observe::event::{Event, What};
use governor_core::level::Level;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// An event of `hss1` or of no connection, in short.
fn short(event: &Event) -> Option<String> {
    let own = |connection: &str, text: String| (connection == "hss1").then_some(text);
    match &event.what {
        What::Level { connection, feature, from, to, cpl, .. } => {
            own(connection, format!("{feature} {from}>{to} {cpl}"))
        }
        What::Up { connection, .. } => own(connection, "up".to_owned()),
        What::Down { connection, reason, .. } => own(connection, format!("down {reason}")),
        What::Closed { connection, reason, .. } => own(connection.as_deref()?, format!("closed {reason}")),
        What::Admin { connection, admin, .. } => own(connection, admin.clone()),
        What::ManualLevel { connection, level, .. } => {
            own(connection, format!("by hand {:?}", level.map(Level::number)))
        }
        What::Reloaded(reloaded) => Some(format!("reloaded {}", reloaded.kept)),
        What::ReloadRefused(faults) => Some(format!("refused {}", faults.faults[0].line)),
        What::Stopping { .. } => Some("stopping".to_owned()),
        What::Group { .. } | What::Share { .. } => None,
    }
}

#[test]
fn a_subscriber_sees_every_change_in_order_until_the_end() {
    let hss1 = server("hss1", Behaviour::default());
    let mut relay = Relay::start(File::new(&[("hss1", hss1.address())]));
    let events = control::events(&relay.socket()).unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_governor"))
        .args(["events", "--control"])
        .arg(relay.socket())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let connection = || "hss1".to_owned();
    for level in [ManualLevel::At(Level::CL2), ManualLevel::Auto] {
        relay.ask::<Summary>(&Request::Level { connection: connection(), level });
    }
    relay.ask::<Summary>(&Request::Disable { connection: connection() });
    relay.wait("closed", |now| crate::relay::connection(now, "hss1").state == "Closed");
    relay.ask::<Summary>(&Request::Enable { connection: connection() });
    relay.wait_up();
    let file = relay.file.clone().with("hss1", "pending_limit = 50");
    relay.reload(file).unwrap();
    relay.reload_text(|text| text.replace("[node]", "[nod]")).unwrap_err();
    relay.signal("TERM");
    assert!(relay.wait_end().success());

    let events: Vec<Event> = events.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let told: Vec<String> = events.iter().filter_map(short).collect();
    let expected = [
        "by hand Some(2)",
        "status 0>2 2",
        "by hand None",
        "status 2>0 0",
        "draining",
        "disabled",
        "down stopped",
        "closed stopped",
        "status 0>99 99",
        "enabled",
        "up",
        "status 99>0 0",
        "reloaded 3",
        "refused 1",
        "stopping",
        "disabled",
        "down stopped",
        "closed stopped",
        "status 0>99 99",
    ];
    assert_eq!(told, expected);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(events.iter().all(|event| (now - event.t).abs() < 2.0 * PATIENCE.as_secs_f64()), "{events:?}");
    let out = command.wait_with_output().unwrap();
    let lines = String::from_utf8(out.stdout).unwrap();
    let printed: Vec<Event> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(out.status.success() && !printed.is_empty() && events.ends_with(&printed), "{lines}");
}
