//! Whatever stands in the file, the parser answers.

use super::EVERYTHING;
use governor::config::parse;
use proptest::prelude::*;

/// Parses; if there are faults, each must have a line of the text and say something.
fn answers(text: &str) {
    if let Err(faults) = parse(text, "f") {
        assert!(!faults.faults.is_empty());
        let lines = text.split('\n').count();
        for fault in &faults.faults {
            assert!((1..=lines).contains(&fault.line), "{fault:?} in {lines} lines");
            assert!(!fault.message.is_empty() && !fault.message.contains('\n'), "{fault:?}");
        }
        assert!(faults.faults.is_sorted_by_key(|fault| fault.line));
    }
}

/// A value of any type.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:?}")),
        "\"[ -!#-\\[\\]-~]{0,70}\"",
        Just("\"off\"".to_owned()),
        Just("true".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[[], {}, 1, \"a\"]".to_owned()),
        Just("{ a = { b = { c = 1 } } }".to_owned()),
        Just("1979-05-27T07:32:00Z".to_owned()),
        Just("0xffffffffffffffffffffffff".to_owned()),
        Just("inf".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        answers(&text);
    }

    #[test]
    fn any_text_of_toml_characters_is_answered(text in "[\\[\\]{}=.,\"'#a-e0-9\\n\\r\\\\ _:-]{0,200}") {
        answers(&text);
    }

    #[test]
    fn a_damaged_file_is_answered(at in 0..EVERYTHING.len(), length in 0_usize..40, with in "[\\[\\]{}=.,\"a-c0-9\\n]{0,6}") {
        let mut text = EVERYTHING.to_owned();
        text.replace_range(at..(at + length).min(EVERYTHING.len()), &with);
        answers(&text);
    }

    #[test]
    fn any_value_of_any_key_is_answered(line in 0..EVERYTHING.lines().count(), value in value()) {
        let lines: Vec<String> = EVERYTHING.lines().enumerate().map(|(at, text)| match text.split_once(" = ") {
            Some((key, _)) if at == line => format!("{key} = {value}"),
            _ => text.to_owned(),
        }).collect();
        answers(&lines.join("\n"));
    }
}

#[test]
fn absurd_nesting_is_a_fault_and_no_overflow() {
    for open in ["a = [", "a = {b=", "[a."] {
        let text = open.chars().next().map_or(String::new(), |_| {
            format!("{}{}", &open[..open.len() - 1], open[open.len() - 1..].repeat(100_000))
        });
        answers(&text);
        answers(&open.repeat(10_000));
    }
    answers(&format!("a = {}", "[".repeat(100_000)));
    answers(&format!("a = {}", "{a=".repeat(100_000)));
    answers(&format!("{} = 1", vec!["a"; 100_000].join(".")));
}
