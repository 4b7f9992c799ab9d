//! Names, labels and words of the page, the operator's document, and the dashboard.

use super::{EVERYTHING, metric, promtool, root, sample, series};
use governor::observe::metrics::{Buffer, KernelCounts, Kind, METRICS, Metric, Page, Process};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

const BEGIN: &str = "<!-- metrics -->\n";
const END: &str = "<!-- end of metrics -->\n";

fn metrics() -> impl Iterator<Item = &'static Metric> {
    METRICS.into_iter().flatten()
}

/// A page on which every metric has a series.
fn page() -> String {
    let mut sample = sample(EVERYTHING);
    sample.kernel_lost = Some(governor::kernel::LostEvents::default());
    sample.totals.rejected.insert(5014, 2);
    for connection in &mut sample.connections {
        connection.buffer = Some(Buffer { queued: 1, limit: 2 });
        connection.kernel = Some(KernelCounts::default());
    }
    let mut page = String::new();
    Page { sample: Arc::new(sample), process: Process::read() }.write(&mut page).unwrap();
    page
}

/// The names of a series' labels.
fn labels(series: &str) -> Vec<&str> {
    let inside = series.split_once('{').map_or("", |(_, rest)| rest.strip_suffix('}').unwrap());
    inside.split("\",").filter(|label| !label.is_empty()).map(|label| label.split_once('=').unwrap().0).collect()
}

#[test]
fn every_metric_has_series_with_the_labels_that_it_says() {
    let page = page();
    let series = series(&page);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for name in series.keys() {
        let metric = metrics().find(|m| m.name == metric(name)).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(labels(name), metric.labels, "{name}");
        *seen.entry(metric.name).or_default() += 1;
    }
    for metric in metrics() {
        assert!(seen.contains_key(metric.name), "{} has no series", metric.name);
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        assert!(page.contains(&format!("# HELP {} {}\n# TYPE {0} {kind}\n", metric.name, metric.help)));
    }
}

#[test]
fn names_follow_the_conventions() {
    let mut names = BTreeSet::new();
    for metric in metrics() {
        assert!(names.insert(metric.name), "{} stands twice", metric.name);
        assert!(metric.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", metric.name);
        assert!(metric.name.starts_with("governor_") || metric.name.starts_with("process_"), "{}", metric.name);
        assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
        assert!(!metric.help.ends_with('.') && metric.help.len() > 10, "{}", metric.name);
        for table in [metric.help, metric.known_as] {
            assert!(!table.contains(['|', '\n', '\\']), "{}", metric.name);
        }
    }
    // Base units only (https://prometheus.io/docs/practices/naming).
    let units = ["_ms", "_milliseconds", "_minutes", "_kilobytes", "_percent"];
    assert!(names.iter().all(|name| units.iter().all(|unit| !name.contains(unit))));
}

#[test]
fn promtool_accepts_the_page() {
    let (accepted, words) = promtool(&["check", "metrics"], &page());
    assert!(accepted && words.is_empty(), "{words}");
    let (accepted, words) = promtool(&["check", "metrics"], "governor_x_total 1\ngovernor_x_total 1\n");
    assert!(!accepted, "it would not accept anything: {words}");
}

/// Series that the configuration makes impossible are left out; the others are there from the start, at 0.
#[test]
fn what_can_happen_stands_from_the_start() {
    let series = series(&page());
    let of = |start: &str, connection: &str| -> Vec<String> {
        let mark = format!("connection=\"{connection}\"");
        series
            .iter()
            .filter(|(name, value)| name.starts_with(start) && name.contains(&mark) && **value == 0.0)
            .map(|(name, _)| {
                let labels = name.split("\",").skip(2).map(|label| label.split_once("=\"").unwrap().1);
                labels.collect::<Vec<_>>().join(" ").trim_end_matches("\"}").to_owned()
            })
            .collect()
    };
    let steps = |feature: &str, levels: &[u8]| levels.iter().map(|l| format!("{feature} {l}")).collect::<Vec<_>>();
    let all = [
        steps("remote_busy", &[1, 2, 3]),
        steps("status", &[1, 2, 3, 98, 99]),
        steps("throttle", &[1, 2, 3]),
        steps("transport", &[1, 2, 3, 98]),
    ];
    assert_eq!(of("governor_connection_onsets_total", "hss1-a"), all.concat());
    let plain = [steps("remote_busy", &[1, 2, 3]), steps("status", &[1, 2, 3, 98, 99]), steps("transport", &[98])];
    assert_eq!(of("governor_connection_onsets_total", "hss2-a"), plain.concat());
    let off = [steps("status", &[1, 2, 3, 98, 99]), steps("transport", &[98])];
    assert_eq!(of("governor_connection_onsets_total", "client-a"), off.concat());
    let held_back = |connection: &str| of("governor_connection_requests_held_back_total{", connection).len();
    assert_eq!([held_back("hss1-a"), held_back("hss2-a"), held_back("client-a")], [12, 9, 6]);
}

#[test]
fn the_time_at_each_level_adds_up_to_the_age() {
    let series = series(&page());
    let spent = series
        .iter()
        .filter(|(name, _)| name.starts_with("governor_connection_level_seconds_total{connection=\"hss1-a\""));
    let spent: Vec<f64> = spent.map(|(_, seconds)| *seconds).collect();
    assert_eq!(spent, [0.0, 0.0, 0.0, 0.0, 0.0, 1.5]);
}

#[test]
fn a_name_with_quotes_and_backslashes_is_a_label_all_the_same() {
    let text = EVERYTHING.replace("name = \"hss\"", r#"name = 'h"s\s'"#);
    let mut page = String::new();
    Page { sample: Arc::new(sample(&text)), process: Process::default() }.write(&mut page).unwrap();
    assert!(page.contains(r#"governor_route_requests_total{route="h\"s\\s",priority="0"} 0"#), "{page}");
    let (accepted, words) = promtool(&["check", "metrics"], &page);
    assert!(accepted && words.is_empty(), "{words}");
}

/// The measurements and alarms of other routers that have a counterpart here.
const KNOWN: [&str; 44] = [
    "22001",
    "22003",
    "22004",
    "22005",
    "22006",
    "22008",
    "22051",
    "22052",
    "22053",
    "22054",
    "22055",
    "22057",
    "22058",
    "22059",
    "22060",
    "22105",
    "8009-001",
    "8009-101",
    "22070-003",
    "ConnOnsetCL1",
    "ConnOnsetCL4",
    "TmConnInCL1",
    "TmConnInCL4",
    "EvEmrCongestionOnset",
    "EvRemoteBusyCongested",
    "EvSmoothedEmrPeak",
    "EvSmoothedEmrAvg",
    "RxRejectedConnCongestion",
    "RxRejectedAll",
    "RxDecodeFailure",
    "RxMessageLooping",
    "RxNoRulesFailure",
    "RxNoRoutesFound",
    "RxTransactionTimeout",
    "RxRejectedOther",
    "TxEtgMsgsLocal",
    "TxEtgMsgRatePeak",
    "EvEtgRateCongestionOnset",
    "EvEtgRateDiscardPri0",
    "EvEtgPendingTransPeak",
    "EvPerConnPtrQueuePeak",
    "TxReqMsgPerConnPtrMax",
    "TxAnswerTimeout",
    "RxMsgPri0PeerRule",
];

#[test]
fn the_counters_that_operators_know_have_a_counterpart() {
    let words: BTreeSet<&str> =
        metrics().flat_map(|m| m.known_as.split([' ', ',', ';', '(', ')'])).filter(|word| !word.is_empty()).collect();
    let missing: Vec<_> = KNOWN.into_iter().filter(|known| !words.contains(known)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_operators_page_agrees_with_the_code() {
    let path = root().join("docs/metrics.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let mut table = String::from("| metric | type | labels | meaning | elsewhere known as |\n|---|---|---|---|---|\n");
    for metric in metrics() {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = labels.join(", ");
        let _ = writeln!(table, "| `{}` | {kind} | {labels} | {} | {} |", metric.name, metric.help, metric.known_as);
    }
    let expected = format!("{head}{BEGIN}{table}{END}{tail}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    } else {
        assert!(page == expected, "out of date: UPDATE_DOCS=1 cargo test -p governor --test metrics operators_page");
    }
    for word in words(&format!("{head}{tail}")) {
        assert!(metrics().any(|m| m.name == word), "docs/metrics.md: no metric {word}");
    }
}

/// The names of metrics in a text.
pub fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("governor_") || word.starts_with("process_"))
        .collect()
}

/// The queries of the dashboard.
pub fn queries() -> Vec<String> {
    fn collect(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| match value {
                serde_json::Value::String(text) if key == "expr" || key == "query" && text.contains("governor_") => {
                    found.push(text.clone());
                }
                value => collect(value, found),
            }),
            serde_json::Value::Array(array) => array.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let text = std::fs::read_to_string(root().join("docs/grafana.json")).unwrap();
    let mut found = Vec::new();
    collect(&serde_json::from_str(&text).unwrap(), &mut found);
    found
}

#[test]
fn the_dashboard_asks_only_for_what_is_on_the_page() {
    let queries = queries();
    assert!(queries.len() > 30, "{}", queries.len());
    let mut used = BTreeSet::new();
    for query in &queries {
        let names = words(query);
        assert!(!names.is_empty(), "{query}");
        for name in names {
            let metric = metrics().find(|m| m.name == name).unwrap_or_else(|| panic!("no metric {name}: {query}"));
            // What stands in `by (...)` and in front of a matcher must be a label of the metric.
            let by =
                query.split("by (").skip(1).filter_map(|rest| rest.split_once(')')).flat_map(|(l, _)| l.split(','));
            let matched = query.split(['{', ',']).filter_map(|part| part.split_once("=~")).map(|(label, _)| label);
            for label in by.chain(matched).map(str::trim) {
                assert!(metric.labels.contains(&label), "{name} has no label {label}: {query}");
            }
            let counted = ["rate(", "increase("].iter().any(|function| query.contains(&format!("{function}{name}")));
            assert_eq!(counted, metric.kind == Kind::Counter, "{name}: {query}");
            used.insert(name.to_owned());
        }
    }
    let unused: Vec<_> = metrics().map(|m| m.name).filter(|name| !used.contains(*name)).collect();
    assert!(unused.len() < 10, "{unused:?}");
}

/// As recording rules, for promtool to read.
#[test]
fn promtool_can_read_the_dashboards_queries() {
    let mut rules = String::from("groups:\n- name: dashboard\n  rules:\n");
    let mut count = 0;
    for query in queries().iter().filter(|query| !query.starts_with("label_values(")) {
        let query = query.replace("$__rate_interval", "1m").replace("$__range", "1h").replace('$', "x");
        let _ = writeln!(rules, "  - record: q{count}\n    expr: {}", serde_json::Value::from(query));
        count += 1;
    }
    let file = std::env::temp_dir().join(format!("governor-dashboard-{}.yml", std::process::id()));
    std::fs::write(&file, rules).unwrap();
    let (accepted, words) = promtool(&["check", "rules", file.to_str().unwrap()], "");
    std::fs::remove_file(&file).unwrap();
    assert!(accepted && words.contains(&format!("{count} rules found")), "{words}");
}
