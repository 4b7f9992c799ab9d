//! tshark as the judge of what was on the wire: it knows Diameter and was not written here.

use crate::{NetNs, Process, Scratch};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Ports on which the tests speak Diameter.
const PORTS: std::ops::RangeInclusive<u16> = 3868..=3899;
/// Severity of an expert item that says "error" (`PI_ERROR`).
const ERROR: u32 = 0x0080_0000;

/// A running capture of everything on `lo` of a namespace.
#[derive(Debug)]
pub struct Capture {
    dumpcap: Process,
    file: PathBuf,
}

/// One Diameter message as tshark read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Number of the frame that ends it.
    pub frame: u64,
    /// Seconds since the capture's first frame.
    pub time: f64,
    /// TCP port it came from.
    pub from: u16,
    /// TCP port it went to.
    pub to: u16,
    /// Command code.
    pub command: u32,
    /// Command flags.
    pub flags: u8,
    /// Application-Id.
    pub application: u32,
}

/// A whole capture, without a malformed frame or an expert error in it.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    /// Every message, in order.
    pub messages: Vec<Seen>,
    /// Answers by Result-Code.
    pub result_codes: BTreeMap<u32, usize>,
}

// === impl Capture ===

impl Capture {
    /// Starts capturing, and waits until it does.
    pub fn start(ns: &NetNs, scratch: &Scratch) -> Result<Self> {
        let file = scratch.file("wire.pcapng");
        let mut command = Command::new("dumpcap");
        command.args(["-i", "lo", "-f", "tcp", "-B", "64", "-w"]).arg(&file);
        let mut dumpcap = Process::start(ns, "dumpcap", &command, &scratch.file("dumpcap.log"))?;
        dumpcap.wait_for_line("File:", Duration::from_secs(10))?;
        Ok(Self { dumpcap, file })
    }

    /// Ends the capture and judges it.
    pub fn judge(mut self) -> Result<Wire> {
        // What is on its way through the kernel's capture buffer comes within its read time-out.
        std::thread::sleep(Duration::from_millis(500));
        self.dumpcap.stop(Duration::from_secs(10))?;
        let log = self.dumpcap.log();
        ensure!(log.contains("0/") || !log.contains("dropped"), "the capture lost packets:\n{log}");
        judge(&self.file)
    }
}

// === impl Seen ===

impl Seen {
    /// Is the R bit set?
    pub const fn is_request(&self) -> bool {
        self.flags & 0x80 != 0
    }
}

// === impl Wire ===

impl Wire {
    /// How many requests of that command.
    pub fn requests(&self, command: u32) -> usize {
        self.messages.iter().filter(|m| m.command == command && m.is_request()).count()
    }

    /// How many answers of that command.
    pub fn answers(&self, command: u32) -> usize {
        self.messages.iter().filter(|m| m.command == command && !m.is_request()).count()
    }

    /// How many answers of that Result-Code.
    pub fn results(&self, code: u32) -> usize {
        self.result_codes.get(&code).copied().unwrap_or(0)
    }
}

/// Reads a capture: an error names the frames that are malformed, carry an expert error, or hold data on a Diameter port
/// that tshark does not take for Diameter.
pub fn judge(capture: &Path) -> Result<Wire> {
    const FIELDS: [&str; 12] = [
        "frame.number",
        "frame.time_relative",
        "tcp.len",
        "tcp.srcport",
        "tcp.dstport",
        "tcp.segment_data",
        "_ws.malformed",
        "_ws.expert.severity",
        "diameter.cmd.code",
        "diameter.flags",
        "diameter.applicationId",
        "diameter.Result-Code",
    ];
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(capture).args(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    command.args(["-d", &format!("tcp.port=={}-{},diameter", PORTS.start(), PORTS.end())]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let out = command.output().context("cannot run tshark: run `cargo xtask setup`")?;
    ensure!(out.status.success(), "tshark: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout)?;

    let mut wire = Wire::default();
    let mut faults = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[frame, time, length, from, to, segment, malformed, severity, codes, flags, applications, results] =
            cells.as_slice()
        else {
            bail!("unexpected line of tshark: {line}");
        };
        let (from, to): (u16, u16) = (from.parse()?, to.parse()?);
        if !malformed.is_empty() {
            faults.push(format!("frame {frame}: malformed"));
        }
        if numbers(severity)?.iter().any(|s| s & ERROR == ERROR) {
            faults.push(format!("frame {frame}: expert error"));
        }
        let diameter = PORTS.contains(&from) || PORTS.contains(&to);
        // A segment that only carries part of a message is dissected with the frame that ends the message.
        if diameter && length != "0" && codes.is_empty() && segment.is_empty() {
            faults.push(format!("frame {frame}: {length} bytes that are not Diameter"));
        }
        let (codes, flags, applications) = (numbers(codes)?, numbers(flags)?, numbers(applications)?);
        ensure!(codes.len() == flags.len(), "tshark lists {} codes and {} flags", codes.len(), flags.len());
        for (at, command) in codes.into_iter().enumerate() {
            wire.messages.push(Seen {
                frame: frame.parse()?,
                time: time.parse()?,
                from,
                to,
                command,
                flags: u8::try_from(flags[at])?,
                application: applications.get(at).copied().unwrap_or_default(),
            });
        }
        for code in numbers(results)? {
            *wire.result_codes.entry(code).or_default() += 1;
        }
    }
    if !faults.is_empty() {
        let first = faults[..faults.len().min(20)].join("\n");
        bail!("{} faults on the wire ({}):\n{first}", faults.len(), capture.display());
    }
    ensure!(!wire.messages.is_empty(), "no Diameter message in the capture");
    Ok(wire)
}

fn numbers(cell: &str) -> Result<Vec<u32>> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    cell.split(',')
        .filter(|text| !text.is_empty())
        .map(number)
        .collect::<Result<_, _>>()
        .context("a number of tshark's")
}
