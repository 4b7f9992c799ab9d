use super::super::model::tests::snapshot;
use super::super::once;
use super::*;
use crate::observe::snapshot::{Connection, KernelConnection, LastRefusal, Levels, Snapshot};
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use std::time::Duration;

/// Three connections: well, busy, down; the busy one with everything that details can show.
fn agent() -> Snapshot {
    let mut snapshot = snapshot(75.0, &[("hss1-a", 0, 5000), ("hss2-a", 2, 700), ("client-a", 99, 0)]);
    snapshot.kernel_assist.report = vec!["kernel assist: on (Linux 6.18), 3 hooks attached".into()];
    (snapshot.node.version, snapshot.node.pending_limit) = ("0.1.0".into(), 200_000);
    let [_, busy, down] = snapshot.connections.as_mut_slice() else { unreachable!() };
    busy.levels.remote_busy = 2;
    busy.set_by = Some("remote_busy".into());
    busy.since = Some(12.0);
    (busy.state, busy.watchdog, busy.admin) = ("I-Open".into(), "OKAY".into(), "enabled".into());
    busy.address = Some("tcp://10.0.0.2:3868".into());
    busy.remote = Some("10.0.0.2:3868".into());
    busy.why =
        "the peer answered 3004 to a request of priority 1 (rule 2): requests of priority 0 and 1 are held back".into();
    (busy.throttle, busy.max_rate) = (Some("gold".into()), Some(1000));
    (busy.pending, busy.pending_limit) = (500, 1000);
    busy.kernel = Some(KernelConnection { queued: 30_000, limit: 120_000, sends: 42, ..KernelConnection::default() });
    busy.counters.held_back.cpl = [90, 7, 0];
    busy.counters.discarded.answers = 11;
    busy.counters.busy_own = 13;
    busy.last_refusal =
        Some(LastRefusal { ago: 0.2, priority: 1, rule: "rule 1: so".into(), ..LastRefusal::default() });
    busy.last_close = Some("watchdog_timeout".into());
    down.levels = Levels { status: 99, ..Levels::default() };
    down.state = "Closed".into();
    snapshot
}

/// A second later: hss1-a has sent 1000 more, hss2-a has held back 50 more.
fn model() -> Model {
    let mut model = Model::default();
    model.look(Duration::from_secs(1), agent());
    let mut later = agent();
    later.node.uptime += 1.0;
    later.connections[0].counters.requests_sent += 1000;
    later.connections[1].counters.held_back.cpl[0] += 50;
    model.look(Duration::from_secs(2), later);
    model
}

fn ui(model: &Model, keys: &[KeyCode]) -> Ui {
    let mut ui = Ui::default();
    ui.arrange(model);
    for key in keys {
        assert!(ui.key(&KeyEvent::from(*key), model));
    }
    ui
}

fn lines(width: u16, height: u16, model: &Model, ui: &mut Ui) -> Vec<String> {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(&mut buffer, area, model, ui);
    (0..height).map(|y| once::line(&buffer, y)).collect()
}

#[test]
fn the_screen_shows_the_agent_and_its_worst_connections_first() {
    let model = model();
    let screen = lines(160, 13, &model, &mut ui(&model, &[]));
    let expected = [
        "governor top  gov1.example.net  up 1m 16s  pending 0 of 200000  pid 7  version 0.1.0",
        "connections 3, 2 up   at CPL  0: 1  1: 0  2: 1  3: 0  98: 0  99: 1",
        "a second     requests in 0 out 1000   answers in 0 out 0",
        "             held back 50   refused 0   discarded 0   timeouts 0",
        "kernel assist: on (Linux 6.18), 3 hooks attached",
        "",
    ];
    assert_eq!(screen[..6], expected);
    assert!(screen[6].starts_with(" 3 of 3 connections ─"), "{}", screen[6]);
    let expected = [
        " connection  peer                 state         CPL▼ set by        since   rate/s last 60 s     pending  buffer  held/s  discarded  timeouts",
        "▶client-a    client-a.example.net Closed          99                            0            ·      0/0               0          0         0",
        " hss2-a      hss2-a.example.net   I-Open           2 remote busy     12s 700/1000            █ 500/1000    25 %      50         11         0",
        " hss1-a      hss1-a.example.net                    0                         5000            █      0/0               0          0         0",
    ];
    let got: Vec<&str> = screen[7..11].iter().map(String::as_str).collect();
    assert_eq!(got, expected, "{got:#?}");
    assert!(screen[12].starts_with("q quit  Enter details  / filter  ←→ sort by  r reverse  p pause"), "{screen:#?}");
}

#[test]
fn levels_have_their_colours() {
    let model = model();
    let area = Rect::new(0, 0, 160, 13);
    let mut buffer = Buffer::empty(area);
    draw(&mut buffer, area, &model, &mut ui(&model, &[]));
    let row = |y| once::line(&buffer, y);
    let colour = |y, level: &str| {
        // The level ends at the right edge of its column.
        let at = row(7).chars().take_while(|c| *c != '▼').count();
        let cell = buffer.cell((u16::try_from(at).unwrap(), y)).unwrap();
        assert_eq!(cell.symbol(), level, "{}", row(y));
        cell.fg
    };
    assert_eq!(Some(colour(8, "9")), style(99).fg);
    assert_eq!(Some(colour(9, "2")), style(2).fg);
    assert_eq!(Some(colour(10, "0")), style(0).fg);
}

#[test]
fn a_narrow_terminal_keeps_what_matters() {
    let model = model();
    let screen = lines(80, 13, &model, &mut ui(&model, &[]));
    for kept in ["connection", "CPL▼", "set by", "rate/s", "pending", "held/s"] {
        assert!(screen[7].contains(kept), "{kept}: {}", screen[7]);
    }
    assert!(
        !screen[7].contains("buffer") && !screen[7].contains("since") && !screen[7].contains("peer"),
        "{}",
        screen[7]
    );
    let screen = lines(40, 13, &model, &mut ui(&model, &[]));
    assert!(
        screen[9].starts_with(" hss2-a") && screen[9].contains(" 2 ") && screen[9].contains("500/1000"),
        "{screen:#?}"
    );
}

#[test]
fn no_size_is_a_reason_to_panic() {
    let mut model = model();
    for keys in [&[][..], &[KeyCode::Enter], &[KeyCode::Char('/'), KeyCode::Char('h')]] {
        for (width, height) in [(0, 0), (1, 1), (5, 3), (20, 5), (40, 9), (80, 24), (500, 200)] {
            lines(width, height, &model, &mut ui(&model, keys));
        }
    }
    model.rows.clear();
    lines(80, 24, &model, &mut ui(&model, &[]));
}

#[test]
fn details_tell_why() {
    let model = model();
    let screen = lines(120, 34, &model, &mut ui(&model, &[KeyCode::Down, KeyCode::Enter])).join("\n");
    for told in [
        "─\npeer         hss2-a.example.net  at tcp://10.0.0.2:3868  now 10.0.0.2:3868",
        "state        I-Open  watchdog OKAY  enabled",
        "CPL          2  set by remote busy  for 12s  may leave: 2\n",
        "inputs       status 0   remote busy 2   transport 0   throttle 0",
        "the peer answered 3004 to a request of priority 1 (rule 2)",
        "rate         700.0 messages/s of 1000 (throttle set gold), peak 700 in 60 s",
        "requests out               700       0/s",
        "held back      50/s      priority 0         1         2",
        "by the level                     140         7         0",
        "3004 own 13 behind 0",
        "discarded                   11",
        "pending      ███████████████···············  500 of 1000",
        "send buffer  ███████▌······················  30000 of 120000 bytes  42 sends, 0 refused",
        "last refused 0.2s ago, priority 1, rule 1: so",
        "last closed  watchdog_timeout",
        "\nq quit  Esc list",
    ] {
        assert!(screen.contains(told), "{told:?} is missing:\n{screen}");
    }
    // All of it in the smallest usual terminal too, but for the chart.
    let mut model = model;
    model.rows[1].now.why = "short".into();
    let small = lines(100, 24, &model, &mut ui(&model, &[KeyCode::Down, KeyCode::Enter])).join("\n");
    for told in ["why          short", "peak 700 in 60 s  ", "last closed  watchdog_timeout", "timeouts", "3004 own 13"]
    {
        assert!(small.contains(told), "{told:?} is missing:\n{small}");
    }
    // The long sentence goes on in a second line.
    assert!(screen.contains("held back\n") || screen.contains("are held back"), "{screen}");
}

#[test]
fn a_connection_that_a_reload_has_removed_is_told_of() {
    let mut model = model();
    let mut ui = ui(&model, &[KeyCode::Down, KeyCode::Enter]);
    model.look(Duration::from_secs(3), snapshot(77.0, &[("hss1-a", 0, 0)]));
    ui.arrange(&model);
    assert!(lines(100, 20, &model, &mut ui).join("\n").contains("no connection of this name any more"));
}

#[test]
fn an_agent_that_has_gone_is_told_of_and_a_pause_too() {
    let mut model = model();
    let mut ui = ui(&model, &[KeyCode::Char('p')]);
    model.miss(Duration::from_secs(10), "no agent is running".into());
    model.miss(Duration::from_secs(13), "no agent is running".into());
    let screen = lines(120, 13, &model, &mut ui);
    assert!(screen[0].ends_with("PAUSED"), "{screen:#?}");
    assert_eq!(screen[5], "no answer for 3.0s, asking again: no agent is running");
    assert!(screen[9].contains("hss2-a"), "what was known is shown on");
}

#[test]
fn the_filter_stands_above_the_list() {
    let model = model();
    let keys: Vec<KeyCode> = "/hss cpl>0".chars().map(KeyCode::Char).collect();
    let screen = lines(160, 13, &model, &mut ui(&model, &keys));
    assert!(screen[6].starts_with(" 1 of 3 connections filter: hss cpl>0▏─"), "{}", screen[6]);
    assert!(screen[8].starts_with("▶hss2-a") && screen[9].is_empty(), "{screen:#?}");
    assert!(screen[12].starts_with("Enter keep  Esc show all"), "{}", screen[12]);
}

#[test]
fn a_frame_as_text_has_every_connection_once_and_in_columns() {
    let names: Vec<String> = (0..1001).map(|n| format!("c{n}")).collect();
    let mut model = Model::default();
    let mut all = snapshot(1.0, &names.iter().map(|name| (name.as_str(), 0, 0)).collect::<Vec<_>>());
    all.connections.push(Connection { name: "of a long name indeed".into(), rate: 1e9, ..Connection::default() });
    model.look(Duration::ZERO, all);
    let mut ui = ui(&model, &[]);
    let frame = once::frame(&model, &mut ui, 200);
    let lines: Vec<&str> = frame.lines().collect();
    assert_eq!(lines.len(), 5 + 1 + 1002, "{frame}");
    assert!(lines[5].starts_with("connection"), "{}", lines[5]);
    let at = lines[5].find("CPL▼").unwrap() + 3;
    for (line, name) in lines[6..].iter().zip(&names) {
        assert!(line.starts_with(&format!("{name} ")) && line.as_bytes()[at] == b'0', "{line}");
    }
    assert_eq!(ui.order.len(), 1002);
}

/// A frame is as quick with 16000 connections as with few: only what is on the screen is made.
#[test]
fn sixteen_thousand_connections_are_drawn_in_time() {
    let names: Vec<String> = (0..16_000).map(|n| format!("peer{n:05}-a")).collect();
    let all = snapshot(1.0, &names.iter().map(|name| (name.as_str(), 0, 0)).collect::<Vec<_>>());
    let mut model = Model::default();
    model.look(Duration::ZERO, all.clone());
    model.look(Duration::from_secs(1), all);
    let mut ui = ui(&model, &[KeyCode::End]);
    let start = std::time::Instant::now();
    for _ in 0..20 {
        ui.key(&KeyEvent::from(KeyCode::Up), &model);
        let screen = lines(120, 40, &model, &mut ui);
        assert!(screen[38].contains("peer15"), "{screen:#?}");
    }
    let a_frame = start.elapsed() / 20;
    println!("a key and its frame with 16000 connections: {a_frame:?}");
    assert!(a_frame < Duration::from_millis(500), "{a_frame:?}");
}
