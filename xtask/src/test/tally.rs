//! Counting what libtest prints.

use std::fmt;

/// Tests that passed, failed and were skipped, over every suite.
#[derive(Debug, Default)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    skipped: Vec<String>,
    failures: Vec<String>,
}

impl Tally {
    /// Counts one line of a suite's output.
    pub fn line(&mut self, suite: &str, line: &str) {
        if let Some((passed, failed)) = result(line) {
            self.passed += passed;
            self.failed += failed;
        } else if let Some((name, reason)) = ignored(line) {
            self.skipped.push(format!("{suite}: {name}: {reason}"));
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failures.push(format!("{suite}: {name}"));
        }
    }

    /// A suite ended badly without naming a failed test.
    pub fn died(&mut self, suite: &str, status: &str) {
        self.failed += 1;
        self.failures.push(format!("{suite}: {status}"));
    }

    /// Tests that found at run time that this machine cannot run them, one a line: libtest counted them as passed.
    pub fn skipped_at_run_time(&mut self, lines: &str) {
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            self.passed = self.passed.saturating_sub(1);
            self.skipped.push(line.to_owned());
        }
    }

    /// Did tests run, and none fail?
    pub const fn good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for skipped in &self.skipped {
            writeln!(f, "skipped: {skipped}")?;
        }
        for failure in &self.failures {
            writeln!(f, "FAILED: {failure}")?;
        }
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped.len())
    }
}

/// Passed and failed of a line `test result: ok. 5 passed; 0 failed; 1 ignored; ...`.
fn result(line: &str) -> Option<(usize, usize)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| counts.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse().ok());
    Some((count("passed")?, count("failed")?))
}

/// Name and reason of a line `test NAME ... ignored, REASON`.
fn ignored(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    Some((name, rest.strip_prefix(", ").unwrap_or("no reason given")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Tally {
        let mut tally = Tally::default();
        text.lines().for_each(|line| tally.line("s", line));
        tally
    }

    #[test]
    fn results_of_several_suites_add_up() {
        let tally = of("running 3 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ignored, no SCTP here\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n");
        assert!(!tally.good());
        assert_eq!(tally.to_string(), "skipped: s: c: no SCTP here\nFAILED: s: b\n6 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn no_test_at_all_is_no_success() {
        assert!(!of("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n").good());
        assert!(!of("").good());
    }

    #[test]
    fn a_suite_that_dies_is_a_failure() {
        let mut tally = of("test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
        assert!(tally.good());
        tally.died("s", "signal: 11 (SIGSEGV)");
        assert!(!tally.good());
    }

    #[test]
    fn a_test_that_skips_itself_does_not_count_as_passed() {
        let mut tally = of("test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
        tally.skipped_at_run_time("sctp_reads: no SCTP here\n");
        assert_eq!(tally.to_string(), "skipped: sctp_reads: no SCTP here\n4 passed, 0 failed, 1 skipped");
    }
}
