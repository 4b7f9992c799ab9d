//! `governor replay`: events through the core in simulated time.

use crate::config;
use anyhow::Context;
use governor_core::replay::Replay;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Large enough that a long file costs few calls.
const BUFFER: usize = 1 << 16;

/// Arguments of `governor replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The configuration whose settings are tried
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The events, one JSON object a line; - is standard input
    #[arg(long, value_name = "FILE|-")]
    events: PathBuf,
}

/// How the events ended.
#[derive(Debug)]
enum End {
    /// Every line is answered, or nobody reads the answers any more.
    Done,
    /// This line, counted from 1, is bad; those before it are answered.
    Bad(u64, String),
}

/// Exit code 0 when every line is answered; 2 at a bad line, with its number on standard error, for a faulty configuration
/// and for files that cannot be read.
///
/// # Errors
/// None.
pub fn run(Args { config: file, events }: Args) -> anyhow::Result<ExitCode> {
    let settings = match config::load(&file) {
        Ok(config) => config.settings,
        Err(faults) => {
            eprintln!("{faults}");
            return Ok(ExitCode::from(2));
        }
    };
    let (name, ended) = if events == Path::new("-") {
        ("standard input".to_owned(), answer_all(io::stdin(), Replay::new(settings)))
    } else {
        let name = events.display().to_string();
        let events = File::open(events).context("cannot be opened");
        (name, events.and_then(|events| answer_all(events, Replay::new(settings))))
    };
    match ended {
        Ok(End::Done) => return Ok(ExitCode::SUCCESS),
        Ok(End::Bad(line, fault)) => eprintln!("{name}: line {line}: {fault}"),
        Err(error) => eprintln!("{name}: {error:#}"),
    }
    Ok(ExitCode::from(2))
}

fn answer_all(events: impl Read, replay: Replay) -> anyhow::Result<End> {
    let mut answers = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    match answer(BufReader::with_capacity(BUFFER, events), &mut answers, replay) {
        Err(Failure::Answers(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(End::Done),
        Err(Failure::Answers(error)) => Err(error).context("the answers cannot be written"),
        Err(Failure::Events(error)) => Err(error).context("cannot be read"),
        Ok(end) => Ok(end),
    }
}

/// Which side failed.
#[derive(Debug)]
enum Failure {
    Events(io::Error),
    Answers(io::Error),
}

fn answer<R: Read>(mut events: BufReader<R>, answers: &mut impl Write, mut replay: Replay) -> Result<End, Failure> {
    let mut line = Vec::new();
    for number in 1.. {
        if !events.buffer().contains(&b'\n') {
            // The next read may wait for a person or a program that wants to see the answers so far.
            answers.flush().map_err(Failure::Answers)?;
        }
        line.clear();
        if events.read_until(b'\n', &mut line).map_err(Failure::Events)? == 0 {
            break;
        }
        let answer = match std::str::from_utf8(&line) {
            Ok(text) => replay.line(text).map_err(|fault| fault.to_string()),
            Err(fault) => Err(format!("not UTF-8, and so not JSON: {fault}")),
        };
        match answer {
            Ok(answer) => writeln!(answers, "{answer}").map_err(Failure::Answers)?,
            Err(fault) => {
                answers.flush().map_err(Failure::Answers)?;
                return Ok(End::Bad(number, fault));
            }
        }
    }
    answers.flush().map_err(Failure::Answers)?;
    Ok(End::Done)
}
