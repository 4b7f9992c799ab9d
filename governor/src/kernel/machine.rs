//! What this machine offers: kernel version, privilege, BTF, mounts. Read once at start; parsing is apart from reading.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;
/// Inode of the initial user namespace (`PROC_USER_INIT_INO`).
const INITIAL_USER_NAMESPACE: &str = "user:[4026531837]";
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;
const BPFFS: &str = "/sys/fs/bpf";
const VMLINUX_BTF: &str = "/sys/kernel/btf/vmlinux";

/// Effective capabilities of this process, as far as they matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// From `/proc/self/status`; none if the line is missing.
    pub fn parse(status: &str) -> Self {
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        Self(line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0))
    }

    fn has(self, capability: u32) -> bool {
        self.0 & (1 << capability) != 0
    }

    /// The capabilities missing to load programs on a kernel of that version, as a sentence's object; `None`: enough.
    pub fn missing(self, version: (u32, u32)) -> Option<&'static str> {
        if self.has(CAP_SYS_ADMIN) {
            return None;
        }
        // CAP_BPF and CAP_PERFMON were split from CAP_SYS_ADMIN in 5.8.
        if version < (5, 8) {
            return Some("CAP_SYS_ADMIN");
        }
        match (self.has(CAP_BPF), self.has(CAP_PERFMON)) {
            (true, true) => None,
            (true, false) => Some("CAP_PERFMON (to trace kernel functions)"),
            (false, true) => Some("CAP_BPF (to load programs)"),
            (false, false) => Some("CAP_BPF and CAP_PERFMON"),
        }
    }
}

/// What this machine offers.
#[derive(Clone, Debug)]
pub struct Machine {
    /// `uname -r`
    pub release: String,
    /// Its first two numbers; (0, 0) if they cannot be read.
    pub version: (u32, u32),
    /// Of this process.
    pub capabilities: Capabilities,
    /// In the initial user namespace; elsewhere capabilities do not count for BPF.
    pub initial_user_namespace: bool,
    /// Lockdown mode, if any: `integrity` or `confidentiality`.
    pub lockdown: Option<String>,
    /// The kernel offers its BTF.
    pub btf: bool,
    /// Where cgroup v2 is mounted.
    pub cgroup2: Option<PathBuf>,
}

impl Machine {
    /// Looks at the machine. What cannot be read counts as not there.
    pub fn examine() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let release = read("/proc/sys/kernel/osrelease").trim().to_owned();
        let namespace = fs::read_link("/proc/self/ns/user").unwrap_or_default();
        Self {
            version: version(&release),
            release,
            capabilities: Capabilities::parse(&read("/proc/self/status")),
            initial_user_namespace: namespace.as_os_str().is_empty() || namespace == Path::new(INITIAL_USER_NAMESPACE),
            lockdown: lockdown(&read("/sys/kernel/security/lockdown")),
            btf: Path::new(VMLINUX_BTF).exists(),
            cgroup2: cgroup2(&read("/proc/self/mounts")),
        }
    }

    /// Why programs cannot be loaded by this process, and the way out; `None`: nothing speaks against it.
    pub fn lacks_privilege(&self) -> Option<String> {
        if let Some(missing) = self.capabilities.missing(self.version) {
            return Some(format!("this process lacks {missing}; run it as root or give it the capabilities"));
        }
        if !self.initial_user_namespace {
            return Some("this process is in a user namespace, where its capabilities do not count for BPF".to_owned());
        }
        None
    }

    /// What else may stand behind an EPERM of a process with the capabilities.
    pub fn explain_eperm(&self) -> String {
        if let Some(reason) = self.lacks_privilege() {
            return reason;
        }
        match &self.lockdown {
            Some(mode) => format!("the kernel is locked down ({mode}), which forbids reading kernel memory"),
            None => {
                "the capabilities are there, so the kernel does not support this hook or a security module forbids it"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Linux {}", self.release)
    }
}

/// Lifts the limit on locked memory, against which kernels before 5.11 charge maps.
pub(super) fn raise_memlock(version: (u32, u32)) -> io::Result<()> {
    if version >= (5, 11) {
        return Ok(());
    }
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is a valid rlimit.
    if unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Sees to it that `directory` is on a bpffs: mounts one on `/sys/fs/bpf` if that is where it should be.
pub(super) fn ensure_bpffs(directory: &Path) -> Result<(), String> {
    if on_bpffs(directory) {
        return Ok(());
    }
    if !directory.starts_with(BPFFS) || on_bpffs(Path::new(BPFFS)) {
        return Err(format!("{} is not on a bpffs", directory.display()));
    }
    // SAFETY: three C strings, no flags, no data.
    let outcome = unsafe {
        libc::mount(
            c"bpf".as_ptr(),
            c"/sys/fs/bpf".as_ptr(),
            c"bpf".as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV,
            std::ptr::null(),
        )
    };
    match outcome {
        0 => Ok(()),
        _ => Err(format!("no bpffs is mounted on {BPFFS}, and mounting one failed: {}", io::Error::last_os_error())),
    }
}

fn on_bpffs(directory: &Path) -> bool {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else { return false };
    // SAFETY: `statfs` is plain integers, for which zero is a value.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, and room for the answer.
    unsafe { libc::statfs(path.as_ptr(), &raw mut found) == 0 && found.f_type == BPF_FS_MAGIC }
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// `none [integrity] confidentiality`: the one in brackets.
fn lockdown(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (mode, _) = rest.split_once(']')?;
    (mode != "none").then(|| mode.to_owned())
}

/// The first mount of cgroup v2 in a mount table. Hybrid set-ups have it beside the v1 hierarchies.
fn cgroup2(mounts: &str) -> Option<PathBuf> {
    let mut fields = mounts.lines().map(|line| line.split(' '));
    fields.find_map(|mut line| {
        let (point, kind) = (line.nth(1)?, line.next()?);
        // Spaces in a path are written as \040.
        (kind == "cgroup2").then(|| PathBuf::from(point.replace("\\040", " ")))
    })
}

#[cfg(test)]
mod tests {
    use super::{Capabilities, cgroup2, lockdown, version};
    use std::path::Path;

    #[test]
    fn the_missing_capability_is_named() {
        let of = |mask: &str| Capabilities::parse(&format!("Name:\tx\nCapEff:\t{mask}\n"));
        assert_eq!(of("000001ffffffffff").missing((6, 1)), None);
        assert_eq!(of("0000000000200000").missing((6, 1)), None, "CAP_SYS_ADMIN covers both");
        assert_eq!(of("000000c000000000").missing((6, 1)), None);
        assert_eq!(of("0000008000000000").missing((6, 1)), Some("CAP_PERFMON (to trace kernel functions)"));
        assert_eq!(of("0000004000000000").missing((6, 1)), Some("CAP_BPF (to load programs)"));
        assert_eq!(of("0000000000000000").missing((6, 1)), Some("CAP_BPF and CAP_PERFMON"));
        assert_eq!(of("000000c000000000").missing((5, 4)), Some("CAP_SYS_ADMIN"));
        assert_eq!(Capabilities::parse("").missing((6, 1)), Some("CAP_BPF and CAP_PERFMON"));
    }

    #[test]
    fn releases_of_all_kinds_are_read() {
        assert_eq!(version("6.12.95+deb12-cloud-amd64"), (6, 12));
        assert_eq!(version("5.10-rc1"), (5, 10));
        assert_eq!(version("strange"), (0, 0));
    }

    #[test]
    fn the_unified_mount_is_found_beside_v1() {
        let hybrid = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(cgroup2(hybrid).as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(cgroup2("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"), None);
        assert_eq!(cgroup2("c /mnt/a\\040b cgroup2 rw 0 0").as_deref(), Some(Path::new("/mnt/a b")));
    }

    #[test]
    fn lockdown_is_the_word_in_brackets() {
        assert_eq!(lockdown("[none] integrity confidentiality\n"), None);
        assert_eq!(lockdown("none integrity [confidentiality]\n").as_deref(), Some("confidentiality"));
        assert_eq!(lockdown(""), None);
    }
}
