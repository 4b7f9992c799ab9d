//! Metrics of this process, under the names that Prometheus' own client libraries use.

use super::{Kind, Metric};
use std::fs;

/// What the kernel says of this process; what it does not say is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// User and system time, seconds.
    pub cpu: Option<f64>,
    /// Resident memory, bytes.
    pub resident: Option<u64>,
    /// Address space, bytes.
    pub virtual_size: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
    /// Start, in seconds since 1970 (UTC).
    pub start: Option<f64>,
    /// Open file descriptors.
    pub open_fds: Option<u64>,
    /// The most that may be open.
    pub max_fds: Option<u64>,
}

/// The table.
pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "process_cpu_seconds_total",
        kind: Kind::Counter,
        labels: &[],
        help: "User and system time of the process",
        known_as: "",
        write: |page, out| page.process.cpu.into_iter().for_each(|value| out.put(&[], value)),
    },
    Metric {
        name: "process_resident_memory_bytes",
        kind: Kind::Gauge,
        labels: &[],
        help: "Resident memory of the process",
        known_as: "",
        write: |page, out| page.process.resident.into_iter().for_each(|value| out.put(&[], value)),
    },
    Metric {
        name: "process_virtual_memory_bytes",
        kind: Kind::Gauge,
        labels: &[],
        help: "Address space of the process",
        known_as: "",
        write: |page, out| page.process.virtual_size.into_iter().for_each(|value| out.put(&[], value)),
    },
    Metric {
        name: "process_threads",
        kind: Kind::Gauge,
        labels: &[],
        help: "Threads of the process",
        known_as: "",
        write: |page, out| page.process.threads.into_iter().for_each(|value| out.put(&[], value)),
    },
    Metric {
        name: "process_open_fds",
        kind: Kind::Gauge,
        labels: &[],
        help: "Open file descriptors of the process",
        known_as: "",
        write: |page, out| page.process.open_fds.into_iter().for_each(|value| out.put(&[], value)),
    },
    Metric {
        name: "process_max_fds",
        kind: Kind::Gauge,
        labels: &[],
        help: "The most file descriptors that the process may have open",
        known_as: "",
        write: |page, out| page.process.max_fds.into_iter().for_each(|value| out.put(&[], value)),
    },
    Metric {
        name: "process_start_time_seconds",
        kind: Kind::Gauge,
        labels: &[],
        help: "When the process was started, in seconds since 1970",
        known_as: "",
        write: |page, out| page.process.start.into_iter().for_each(|value| out.put(&[], value)),
    },
];

// === impl Process ===

impl Process {
    /// Reads /proc (proc(5)). Some 10 ms where 16000 descriptors are open.
    pub fn read() -> Self {
        let mut process = fs::read_to_string("/proc/self/stat").ok().and_then(|stat| Self::parse(&stat));
        let process = process.get_or_insert_default();
        process.start = process.start.zip(boot_time()).map(|(since_boot, boot)| since_boot + boot);
        process.open_fds = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64);
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        process.max_fds = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok());
        *process
    }

    /// Of the line in /proc/PID/stat; `start` is still counted from the machine's start.
    fn parse(stat: &str) -> Option<Self> {
        // The program's name, in brackets, may hold anything; field 3 follows it.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let seconds = |number| field(number).map(|value| value as f64 / ticks);
        Some(Self {
            cpu: seconds(14).zip(seconds(15)).map(|(user, system)| user + system),
            threads: field(20),
            start: seconds(22),
            virtual_size: field(23),
            resident: field(24).map(|pages| pages * rustix::param::page_size() as u64),
            ..Self::default()
        })
    }
}

/// The machine's start, in seconds since 1970.
fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn this_process_is_read_whole() {
        let spin = std::time::Instant::now();
        while spin.elapsed() < Duration::from_millis(30) {}
        let process = Process::read();
        assert!(process.cpu.unwrap() > 0.0);
        assert!(process.resident.unwrap() > 100_000);
        assert!(process.virtual_size.unwrap() > process.resident.unwrap());
        assert!(process.threads.unwrap() >= 1);
        assert!(process.open_fds.unwrap() >= 3);
        assert!(process.max_fds.unwrap() >= process.open_fds.unwrap());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - process.start.unwrap()).abs() < 3600.0);
    }

    #[test]
    fn a_name_with_brackets_and_spaces_moves_no_field() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 3 0 1000 8192000 250 18446744073709551615";
        let process = Process::parse(line).unwrap();
        assert_eq!(process.threads, Some(3));
        assert_eq!(process.virtual_size, Some(8_192_000));
        assert_eq!(process.cpu, Some(200.0 / rustix::param::clock_ticks_per_second() as f64));
    }
}
