//! Every range of the table of keys: its ends are accepted, one past them is refused.

use super::EVERYTHING;
use governor::config::keys::{Kind, TABLES, Table};
use governor::config::parse;
use toml::Value;

/// The table that a heading of the reference page means, in a document that has every table once.
pub fn table_of<'d>(document: &'d mut Value, heading: &str) -> &'d mut toml::Table {
    let path: &[&str] = match heading {
        "the file" => &[],
        "[node]" => &["node"],
        "[throttle.NAME]" => &["throttle", "gold"],
        "[[peer]]" => &["peer", "0"],
        "[[peer.connection]]" => &["peer", "0", "connection", "0"],
        "remote_busy = { ... }" => &["peer", "0", "connection", "0", "remote_busy"],
        "transport_congestion = { ... }" => &["peer", "0", "connection", "0", "transport_congestion"],
        "pressure = { ... }" => &["peer", "0", "connection", "0", "transport_congestion", "pressure"],
        "[[priority]]" => &["priority", "0"],
        "[[route]]" => &["route", "0"],
        "groups = [ { ... } ]" => &["route", "0", "groups", "0"],
        "[[group]]" => &["group", "0"],
        "[share]" => &["share"],
        other => panic!("a new table {other}: say here where it stands"),
    };
    let mut at = document;
    for step in path {
        at = match step.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[*step],
        };
    }
    at.as_table_mut().unwrap()
}

/// The faults of the full document with one key set to `value`, those of that key alone.
fn faults(table: &Table, key: &str, value: Value) -> Vec<String> {
    let document: toml::Table = toml::from_str(EVERYTHING).unwrap();
    let mut document = Value::Table(document);
    table_of(&mut document, table.heading).insert(key.to_owned(), value);
    match parse(&toml::to_string(&document).unwrap(), "f") {
        Ok(_) => Vec::new(),
        Err(faults) => faults.faults.into_iter().map(|fault| format!("{}: {}", fault.key, fault.message)).collect(),
    }
}

#[track_caller]
fn check(table: &Table, key: &str, value: impl Into<Value>, allowed: bool) {
    let value = value.into();
    let faults = faults(table, key, value.clone());
    let name = format!("{} {key} = {value}: {faults:?}", table.heading);
    if allowed {
        assert_eq!(faults.len(), 0, "{name}");
    } else {
        assert_eq!(faults.len(), 1, "{name}");
        assert!(faults[0].contains(key) && faults[0].contains("must be "), "{name}");
    }
}

#[test]
fn the_ends_of_every_number_are_allowed_and_one_past_is_not() {
    let mut numbers = 0;
    for table in TABLES {
        for key in table.keys {
            let Kind::Number { min, max } = key.kind else { continue };
            numbers += 1;
            check(&table, key.name, i64::from(min), true);
            check(&table, key.name, i64::from(max), true);
            check(&table, key.name, i64::from(min) - 1, false);
            check(&table, key.name, i64::from(max) + 1, false);
            check(&table, key.name, i64::MAX, false);
            check(&table, key.name, f64::from(min), false);
            check(&table, key.name, min.to_string(), false);
            check(&table, key.name, true, false);
        }
    }
    assert_eq!(numbers, 15);
}

#[test]
fn the_ends_of_every_duration_are_allowed_and_a_millisecond_past_is_not() {
    let mut times = 0;
    for table in TABLES {
        for key in table.keys {
            let Kind::Time { min, max } = key.kind else { continue };
            times += 1;
            check(&table, key.name, format!("{min}ms"), true);
            check(&table, key.name, format!("{max}ms"), true);
            check(&table, key.name, format!("{}ms", min - 1), false);
            check(&table, key.name, format!("{}ms", max + 1), false);
            check(&table, key.name, i64::from(min), false);
            check(&table, key.name, min.to_string(), false);
            check(&table, key.name, "", false);
        }
    }
    assert_eq!(times, 12);
}

#[test]
fn every_word_of_a_choice_is_allowed_and_no_other() {
    let mut choices = 0;
    for table in TABLES {
        for key in table.keys {
            let Kind::Choice(words) = key.kind else { continue };
            choices += 1;
            for word in words {
                check(&table, key.name, *word, true);
                check(&table, key.name, word.to_uppercase(), false);
            }
            check(&table, key.name, "", false);
            check(&table, key.name, true, false);
        }
    }
    assert_eq!(choices, 5);
}

#[test]
fn every_list_has_its_number_of_elements_and_their_range() {
    let array = |numbers: &[i64]| Value::Array(numbers.iter().map(|n| Value::Integer(*n)).collect());
    let mut lists = 0;
    for table in TABLES {
        for key in table.keys {
            let Kind::Numbers { least, most, min, max } = key.kind else { continue };
            lists += 1;
            let (min, max) = (i64::from(min), i64::from(max));
            // Ordered lists with the ends in them are in the table of faults: the order binds them more than the ends do.
            if matches!(key.name, "drmp" | "retry_result_codes") {
                check(&table, key.name, array(&vec![min; most]), true);
                check(&table, key.name, array(&vec![max; most]), true);
                check(&table, key.name, array(&vec![max; least]), true);
            }
            if least > 0 {
                check(&table, key.name, array(&vec![max; least - 1]), false);
            }
            check(&table, key.name, array(&vec![max; most + 1]), false);
            for wrong in [min - 1, max + 1] {
                let mut numbers = vec![max; most];
                numbers[most / 2] = wrong;
                check(&table, key.name, array(&numbers), false);
            }
            check(&table, key.name, max, false);
        }
    }
    assert_eq!(lists, 8);
}

#[test]
fn the_ends_of_ordered_lists_are_allowed() {
    let both = |first: &str, second: &str, table: &str, [a, b]: [&str; 2]| {
        let text = EVERYTHING.replacen(first, &format!("{} = {a}", first.split(' ').next().unwrap()), 1).replacen(
            second,
            &format!("{} = {b}", second.split(' ').next().unwrap()),
            1,
        );
        assert_ne!(text, EVERYTHING, "{table}");
        parse(&text, "f").unwrap_or_else(|faults| panic!("{table}: {faults}"));
    };
    for pair in [["[2]", "[1]"], ["[100]", "[99]"], ["[2, 4, 6]", "[1, 3, 5]"], ["[96, 98, 100]", "[95, 97, 99]"]] {
        both("throttle = [60, 80, 100]", "abatement = [50, 70, 90]", "throttle", pair);
        both("onset = [50, 70]", "abatement = [40, 60]", "group", pair);
    }
    for pair in [["[2, 3, 4]", "[1, 2, 3]"], ["[98, 99, 100]", "[97, 98, 99]"]] {
        both("onset = [20, 40, 60]", "abatement = [10, 30, 50]", "pressure", pair);
    }
}
