//! What the kernel programs cost: nanoseconds a run of each, by the kernel's own statistics, for sends and acknowledgements
//! of a connection that is measured and of one that is not. Needs root.

use anyhow::{Context, Result, ensure};
use governor::kernel::Mode;
use governor_tests::assist::{Pipe, load_with, options};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
const SENDS: u32 = 200_000;

fn main() -> Result<()> {
    let before = fs::read_to_string(STATISTICS).context("the kernel's BPF statistics")?;
    fs::write(STATISTICS, "1").context("the kernel's BPF statistics need root")?;
    let outcome = measure();
    fs::write(STATISTICS, before.trim())?;
    outcome
}

fn measure() -> Result<()> {
    println!("{:<10} {:<22} {:>9} {:>12}", "connection", "program", "runs", "ns a run");
    for measured in [false, true] {
        let started = Instant::now();
        let options = options(Mode::Auto, "cost");
        let (assist, report) = load_with(&options)?;
        let loaded = started.elapsed();
        let mut pipe = Pipe::new("127.0.0.1:0", None)?;
        if measured {
            assist.register(&pipe.registration)?;
        }
        let before = runs(&options.pin_root)?;
        let mut buffer = [0; 1000];
        let started = Instant::now();
        for _ in 0..SENDS {
            pipe.writer.write_all(&[0x5a; 500])?;
            let _ = pipe.reader.read(&mut buffer)?;
        }
        let each = started.elapsed() / SENDS;
        for (program, (runs, nanoseconds)) in runs(&options.pin_root)? {
            let (first_runs, first_nanoseconds) = before.get(&program).copied().unwrap_or_default();
            let (runs, nanoseconds) = (runs - first_runs, nanoseconds - first_nanoseconds);
            let whose = if measured { "measured" } else { "foreign" };
            if runs > 0 {
                println!("{whose:<10} {program:<22} {runs:>9} {:>12.0}", nanoseconds as f64 / runs as f64);
            }
        }
        println!("{:<10} {each:?} a send of 500 bytes and its read; loaded in {loaded:?}; {}", "", report.machine);
    }
    Ok(())
}

/// (runs, nanoseconds) of each program that uses the maps pinned there, by name.
fn runs(pins: &Path) -> Result<BTreeMap<String, (u64, u64)>> {
    let map = bpftool(&["map", "show", "pinned", &pins.join("connections").display().to_string()])?["id"].clone();
    let all = bpftool(&["prog", "show"])?;
    let uses = |program: &&Value| program["map_ids"].as_array().is_some_and(|ids| ids.contains(&map));
    let counts = |program: &Value| {
        let of = |field: &str| program[field].as_u64().unwrap_or(0);
        (program["name"].as_str().unwrap_or_default().to_owned(), (of("run_cnt"), of("run_time_ns")))
    };
    Ok(all.as_array().context("no list")?.iter().filter(uses).map(counts).collect())
}

fn bpftool(arguments: &[&str]) -> Result<Value> {
    let out = Command::new("bpftool").arg("--json").args(arguments).output().context("this needs bpftool")?;
    ensure!(out.status.success(), "bpftool {arguments:?}: {}", String::from_utf8_lossy(&out.stdout));
    Ok(serde_json::from_slice(&out.stdout)?)
}
