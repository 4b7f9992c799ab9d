//! The clock of the kernel programs.

/// `CLOCK_MONOTONIC` in nanoseconds: what `bpf_ktime_get_ns` gives, and so the times in the maps' records.
pub fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec that outlives the call, and the call does nothing but fill it. It cannot fail for
    // this clock; if it did, the zeros would stand.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_goes_on() {
        let before = super::monotonic();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let passed = super::monotonic() - before;
        assert!(passed >= 2_000_000, "{passed} ns");
    }
}
