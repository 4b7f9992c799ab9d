//! `docs/configuration.md` says what the code says.

use super::root;
use governor::config::keys::{Missing, TABLES, Table};
use std::fmt::Write as _;

const BEGIN: &str = "<!-- keys -->\n";
const END: &str = "<!-- end of keys -->\n";

fn rendered(table: &Table) -> String {
    let mut out = String::new();
    let heading =
        if table.heading.contains(['[', '=']) { format!("`{}`", table.heading) } else { table.heading.to_owned() };
    let _ = writeln!(out, "### {heading}\n");
    if !table.about.is_empty() {
        let _ = writeln!(out, "{}\n", table.about);
    }
    out.push_str("| key | value | default | from | meaning |\n|---|---|---|---|---|\n");
    for key in table.keys {
        let default = match key.missing {
            Missing::Fault => "required".to_owned(),
            Missing::Value(value) => format!("`{value}`"),
            Missing::Means(words) => words.to_owned(),
        };
        let _ = writeln!(out, "| `{}` | {} | {default} | {} | {} |", key.name, key.kind, key.source, key.about);
    }
    out
}

#[test]
fn the_reference_page_agrees_with_the_code() {
    let path = root().join("docs/configuration.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let tables: Vec<String> = TABLES.iter().map(rendered).collect();
    let expected = format!("{head}{BEGIN}{}{END}{tail}", tables.join("\n"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(
        page == expected,
        "docs/configuration.md is out of date: UPDATE_DOCS=1 cargo test -p governor --test config page"
    );
}

/// The page shows messages of the program: they must be its own.
#[test]
fn the_faults_shown_on_the_page_are_real_ones() {
    let page = std::fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let shown: Vec<&str> = page.lines().filter(|line| line.starts_with("gov.toml:")).collect();
    assert_eq!(shown.len(), 3);
    let text = super::EVERYTHING
        .replace("answer_timeout = \"2s\"", "answer_timeout = \"2h\"")
        .replace("name = \"client-a\"", "name = \"client-a\"\nthrottle = \"glod\"")
        .replace("\"hss1-a\" = 50", "\"hss3-a\" = 50");
    let faults = governor::config::parse(&text, "gov.toml").unwrap_err().to_string();
    let without_line = |line: &str| line.splitn(3, ':').nth(2).unwrap().to_owned();
    let real: Vec<String> = faults.lines().map(without_line).collect();
    for line in shown {
        assert!(real.contains(&without_line(line)), "{line}\n{real:?}");
    }
}
