//! Origin-State-Id (RFC 6733 section 8.16): the same for the life of the process, higher at each start.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// This start's identifier: the time in seconds, or one more than the last start's if the clock has been set back or has
/// not moved. `file` remembers it; where it cannot be kept (no privilege, read-only) the time alone has to do.
pub(super) fn next(file: Option<&Path>) -> u32 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let clock = u32::try_from(clock).unwrap_or(u32::MAX);
    let Some(file) = file else { return clock };
    let last = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let id = last.map_or(clock, |last| clock.max(last.saturating_add(1)));
    if let Err(error) = std::fs::write(file, format!("{id}\n")) {
        tracing::debug!(file = %file.display(), %error, "cannot remember Origin-State-Id");
    }
    id
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_start_has_a_higher_one_even_when_the_clock_stands_back() {
        let file = std::env::temp_dir().join(format!("governor-origin-state-{}", std::process::id()));
        let first = super::next(Some(&file));
        assert!(super::next(Some(&file)) > first);
        std::fs::write(&file, "4000000000\n").unwrap();
        assert_eq!(super::next(Some(&file)), 4_000_000_001);
        std::fs::remove_file(&file).unwrap();
        assert!(super::next(None) > 1_700_000_000);
    }
}
