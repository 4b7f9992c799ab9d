//! What the documents say of the code, checked.

use crate::host;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// The names of the functions under `folder` that stand behind a `#[test]`, or in a `proptest!`.
fn tests_under(folder: &Path, found: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace").flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            tests_under(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                if let Some(name) = line.strip_prefix("fn ").filter(|_| is_test) {
                    found.extend(name.split('(').next().map(str::to_owned));
                }
                is_test = line == "#[test]" || is_test && line.starts_with("#[");
            }
        }
    }
}

#[test]
fn every_test_that_the_rfc_page_names_is_there() {
    let mut tests = HashSet::new();
    for folder in ["governor", "governor-common", "tests", "xtask"] {
        tests_under(&host::workspace().join(folder), &mut tests);
    }
    let page = fs::read_to_string(host::workspace().join("docs/rfc.md")).expect("docs/rfc.md");
    // Code spans alternate with text; those that look like names of tests have to be names of tests.
    let named: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|span| span.contains('_') && !span.contains(' '))
        .collect();
    assert!(named.len() > 50, "{} tests are named", named.len());
    let missing: Vec<&&str> = named.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "docs/rfc.md names tests that are not there: {missing:#?}");
}
