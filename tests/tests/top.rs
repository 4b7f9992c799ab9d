//! `governor top` in a terminal, with a relay under load: what it shows, what its keys do, and that it gives the terminal back.

use anyhow::{Context, Result};
use governor_tests::governor::{ADDRESS, Config, Governor, binary};
use governor_tests::raw::{Conduct, Server};
use governor_tests::tmux::Terminal;
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Process, Scratch, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Command;

/// How long anything may take to be on the screen.
const SOON: std::time::Duration = secs(20);

/// A relay with a busy server, a throttled one, one without a limit, one that is not there, and 500 requests/s.
struct Scene {
    scratch: Scratch,
    ns: NetNs,
    config: Config,
    governor: Governor,
    _servers: [Server; 3],
    _load: Process,
}

impl Scene {
    fn new(name: &str) -> Result<Self> {
        let (ns, scratch) = (NetNs::new()?, Scratch::new(name)?);
        let too_busy = Conduct { result_code: 3004, ..Conduct::default() };
        let busy = Server::start(&ns, "10.0.0.2:3872", "busy.example.net", too_busy)?;
        let gold = Server::start(&ns, "10.0.0.2:3869", "gold.example.net", Conduct::default())?;
        let rest = Server::start(&ns, "10.0.0.3:3870", "rest.example.net", Conduct::default())?;
        let config = Config::new("off")
            .client("client.example.net")
            .server("busy.example.net", "10.0.0.2:3872", "")
            .server("gold.example.net", "10.0.0.2:3869", "throttle = \"set\"")
            .server("rest.example.net", "10.0.0.3:3870", "")
            .server("absent.example.net", "10.0.0.4:3871", "")
            .route("example.net", &[&["busy"], &["gold"], &["rest"]])
            .lines("[throttle.set]\nmax_rate = 200");
        let governor = Governor::start(&ns, &scratch, &config)?;
        governor.up(&["busy", "gold", "rest"])?;
        let mut load = Command::new(binary()?);
        load.args([
            "load",
            "client",
            "--connect",
            &format!("tcp://{ADDRESS}"),
            "--rate",
            "500/s",
            "--duration",
            "300s",
        ]);
        let load = Process::start(&ns, "load", &load, &scratch.file("load.log"))?;
        Ok(Self { scratch, ns, config, governor, _servers: [busy, gold, rest], _load: load })
    }

    fn command(&self) -> Result<String> {
        let socket = self.scratch.file("control.sock");
        Ok(format!("{} top --interval 200ms --control {}", binary()?.display(), socket.display()))
    }
}

/// Names of the listed connections, from the top.
fn listed(screen: &str) -> Vec<&str> {
    let rows = screen.lines().skip_while(|line| !line.contains("connection ")).skip(1);
    let names = rows.map_while(|line| line.trim_start_matches(['▶', ' ']).split_whitespace().next());
    names.collect()
}

/// The line of a connection.
fn row<'s>(screen: &'s str, name: &str) -> &'s str {
    screen.lines().find(|line| line.trim_start_matches(['▶', ' ']).starts_with(name)).unwrap_or_default()
}

#[test]
fn it_shows_the_running_agent_and_obeys_its_keys() -> Outcome {
    let mut scene = Scene::new("top")?;
    let terminal = Terminal::start(&scene.scratch, (150, 24), &scene.command()?)?;

    // The head, and the connections: the highest level first.
    let screen = terminal.wait_for("the level of the busy connection", SOON, |screen| {
        row(screen, "busy").contains(" 1 remote busy ") && row(screen, "rest").contains(" I-Open ")
    })?;
    assert!(screen.starts_with("governor top  gov.example.net  up "), "{screen}");
    assert!(screen.contains("connections 5, 4 up   at CPL  0: 3  1: 1  2: 0  3: 0  98: 0  99: 1"), "{screen}");
    assert!(screen.contains("kernel assist: off"), "{screen}");
    assert!(screen.contains(" 5 of 5 connections ─"), "{screen}");
    for head in ["connection ", " peer ", " state ", " CPL▼", " set by ", " rate/s ", " pending ", " held/s "] {
        assert!(screen.lines().nth(7).is_some_and(|heads| heads.contains(head)), "{head}: {screen}");
    }
    assert_eq!(listed(&screen), ["absent", "busy", "client", "gold", "rest"], "{screen}");
    assert!(row(&screen, "absent").contains(" 99 status "), "{screen}");
    terminal.wait_for("rates", SOON, |screen| {
        // Held back, discarded, timeouts are the last.
        let held_back = |name| row(screen, name).split_whitespace().rev().nth(2)?.parse::<f64>().ok();
        held_back("busy").is_some_and(|rate| rate > 300.0)
            && held_back("gold").is_some_and(|rate| rate > 100.0)
            && row(screen, "gold").contains(" 200/200 ")
            && row(screen, "gold").contains(['▅', '▆', '▇', '█'])
            && !screen.contains("held back 0 ")
    })?;

    // Sorted by the rate: the client's answers are the most, then what gold does not take.
    terminal.press(&["Right", "Right", "Right"])?;
    terminal.wait_for("the order by rate", SOON, |screen| {
        screen.contains("rate/s▼") && listed(screen)[..3] == ["client", "rest", "gold"]
    })?;
    terminal.press(&["r"])?;
    terminal.wait_for("the order reversed", SOON, |screen| {
        screen.contains("rate/s▲") && listed(screen)[2..] == ["gold", "rest", "client"]
    })?;

    // The filter, as it is typed.
    terminal.type_in("/GO")?;
    let screen = terminal.wait_for("the filter", SOON, |screen| screen.contains(" 1 of 5 connections filter: GO"))?;
    assert!(listed(&screen) == ["gold"], "{screen}");

    // Details, and back.
    terminal.press(&["Enter", "Enter"])?;
    let screen = terminal.wait_for("details", SOON, |screen| screen.contains("by the maximum rate"))?;
    for told in [
        "gold.example.net  at tcp://10.0.0.2:3869",
        "of 200 (throttle set set)",
        "why",
        "rule 4: 200 messages",
        "requests out",
    ] {
        assert!(screen.contains(told), "{told:?} is missing:\n{screen}");
    }
    terminal.press(&["Escape"])?;
    terminal.wait_for("the list", SOON, |screen| screen.contains(" 1 of 5 connections"))?;
    terminal.press(&["Escape"])?;
    terminal.wait_for("all of them", SOON, |screen| screen.contains(" 5 of 5 connections "))?;

    // Paused, nothing moves.
    terminal.press(&["p"])?;
    let held = terminal.wait_for("the pause", SOON, |screen| screen.contains("PAUSED"))?;
    std::thread::sleep(millis(1500));
    assert_eq!(terminal.screen()?, held);
    terminal.press(&["p"])?;
    terminal.wait_for("the end of the pause", SOON, |screen| !screen.contains("PAUSED") && screen != held)?;

    // Smaller and larger.
    for (width, height) in [(60, 12), (12, 3), (150, 24)] {
        terminal.resize(width, height)?;
        terminal.wait_for("the new size", SOON, |screen| {
            let lines: Vec<&str> = screen.lines().collect();
            lines.first().is_some_and(|line| line.starts_with("governor to"))
                && (height < 9
                    || row(screen, "gold").contains("/200") && lines[usize::from(height) - 1].starts_with("q quit"))
        })?;
    }

    // The agent goes, and another comes.
    let code = scene.governor.stop()?;
    assert!(code.success(), "{code}");
    let screen = terminal.wait_for("that the agent is gone", SOON, |screen| screen.contains("no answer for "))?;
    assert!(screen.contains("no agent is running") && screen.contains("gold"), "{screen}");
    scene.governor = Governor::start(&scene.ns, &scene.scratch, &scene.config)?;
    let pid = format!("  pid {}  ", scene.governor.process.pid());
    terminal.wait_for("the new agent", SOON, |screen| screen.contains(&pid) && !screen.contains("no answer for"))?;

    terminal.press(&["q"])?;
    assert_eq!(terminal.exit_code(SOON)?, 0);
    assert!(!terminal.is_alternate()?, "the terminal is not given back");
    Ok(())
}

#[test]
fn one_frame_as_text_has_it_all_and_without_an_agent_there_is_none() -> Outcome {
    let mut scene = Scene::new("top-once")?;
    let once =
        |scene: &Scene| Command::new("sh").args(["-c", &format!("{} --once", scene.command()?)]).output().context("sh");
    let out = once(&scene)?;
    let text = String::from_utf8(out.stdout)?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut names = listed(&text);
    names.sort_unstable();
    assert!(names == ["absent", "busy", "client", "gold", "rest"] && !text.contains('\x1b'), "{text}");
    assert!(text.lines().all(|line| line.trim_end() == line), "{text}");

    let live = Command::new("sh").args(["-c", &scene.command()?]).output()?;
    let complaint = String::from_utf8_lossy(&live.stderr);
    assert!(live.status.code() == Some(1) && complaint.contains("--once"), "into a pipe: {complaint}");
    scene.governor.stop()?;
    let out = once(&scene)?;
    let complaint = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && complaint.contains("no agent is running"), "{complaint}");
    Ok(())
}

/// Runs a command with a screen, ends it, and gives what it left: its exit code and what is on the terminal then.
fn left_by(scratch: &Scratch, command: &str, end: impl FnOnce(&Terminal, Pid) -> Result<()>) -> Result<(i32, String)> {
    let [before, after, pid] = ["before", "after", "pid"].map(|name| scratch.file(name));
    for file in [&before, &after, &pid] {
        // What an earlier run left.
        let _ = std::fs::remove_file(file);
    }
    // The shell stays, so that the terminal does.
    let script = format!(
        "stty -g >{}; RUST_BACKTRACE=0 sh -c 'echo $$ >{}; exec {command}'; code=$?; stty -g >{}; echo \"ended with $code.\"; read _",
        before.display(),
        pid.display(),
        after.display()
    );
    let terminal = Terminal::start(scratch, (100, 20), &script)?;
    let pid = eventually("the program's pid", SOON, || std::fs::read_to_string(&pid).ok()?.trim().parse::<i32>().ok())?;
    end(&terminal, Pid::from_raw(pid))?;
    let screen = terminal.wait_for("the end", SOON, |screen| screen.contains("ended with "))?;
    assert!(!terminal.is_alternate()?, "still on the alternate screen: {screen}");
    assert_eq!(std::fs::read_to_string(before)?, std::fs::read_to_string(after)?, "the line settings");
    let (_, code) = screen.split_once("ended with ").context("no end")?;
    let code = code.split('.').next().and_then(|code| code.parse().ok()).context("no exit code")?;
    Ok((code, screen))
}

#[test]
fn the_terminal_is_given_back_after_ctrl_c_and_signals() -> Outcome {
    let scene = Scene::new("top-end")?;
    let shown = |terminal: &Terminal| terminal.wait_for("top", SOON, |screen| screen.contains("q quit")).map(drop);
    let signal = |signal| move |terminal: &Terminal, pid| shown(terminal).and_then(|()| Ok(kill(pid, signal)?));
    let command = scene.command()?;
    let ctrl_c = |terminal: &Terminal, _| shown(terminal).and_then(|()| terminal.press(&["C-c"]));
    let left = left_by(&scene.scratch, &command, ctrl_c)?;
    assert!(left.0 == 0 && !left.1.contains("connections"), "{left:?}");
    for number in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let left = left_by(&scene.scratch, &command, signal(number))?;
        assert!(left.0 == 0 && !left.1.contains("connections"), "{number}: {left:?}");
    }
    Ok(())
}

#[test]
fn the_terminal_is_given_back_by_a_panic_and_its_message_is_readable() -> Outcome {
    let scratch = Scratch::new("top-panic")?;
    let (code, screen) = left_by(&scratch, env!("CARGO_BIN_EXE_panicking_screen"), |_, _| Ok(()))?;
    assert!(code == 101 && screen.contains("on purpose"), "{code}: {screen}");
    assert!(!screen.contains("taken over"), "{screen}");
    Ok(())
}
