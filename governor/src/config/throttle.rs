//! `[throttle.NAME]`, and the ordered pairs of percentages that sets and groups share (rules 4 and 6).

use super::keys::{self, MOST_THROTTLE_SETS};
use super::node::set;
use super::reader::{Section, Sink};
use super::words;
use governor_core::settings::{Threshold, Throttle};
use std::collections::HashMap;

/// The sets by name. A set with a fault stands here all the same, so that what names it is no second fault.
pub type Sets = HashMap<String, Throttle>;

pub fn read(sink: &mut Sink, root: &Section<'_, '_>) -> Sets {
    let mut sets = Sets::new();
    for (name, value) in root.entries(sink, "throttle").unwrap_or_default() {
        let path = format!("throttle.{}", name.value);
        if let Err(message) = words::check_name(name.value) {
            sink.fault(&name.at, &path, message);
        }
        if sets.len() >= MOST_THROTTLE_SETS {
            sink.fault(&name.at, &path, format!("one throttle set too many, at most {MOST_THROTTLE_SETS} are allowed"));
        }
        let Some(table) = value.get_ref().as_table() else {
            let message = format!("must be a table `[throttle.NAME]`, is {}", words::shown(value.get_ref()));
            sink.fault(&value.span(), &path, message);
            continue;
        };
        let section = Section::new(sink, path, value.span(), table, keys::THROTTLE);
        let mut throttle = Throttle::new(name.value, section.number(sink, "max_rate").unwrap_or_default());
        let thresholds = thresholds(sink, &section, ["throttle", "abatement"], &throttle.thresholds);
        set(&mut throttle.thresholds, thresholds);
        set(&mut throttle.convergence, section.time(sink, "convergence"));
        set(&mut throttle.abatement_time, section.time(sink, "abatement_time"));
        sets.insert(name.value.to_owned(), throttle);
    }
    sets
}

/// Up to three pairs with onset 3 > abatement 3 > onset 2 > abatement 2 > onset 1 > abatement 1; a list that is left out is
/// the default's. `None`: nothing is given, or there is a fault, and it is noted.
pub fn thresholds(
    sink: &mut Sink,
    section: &Section<'_, '_>,
    [onset_key, abatement_key]: [&str; 2],
    default: &[Threshold],
) -> Option<Vec<Threshold>> {
    if !section.has(onset_key) && !section.has(abatement_key) {
        return None;
    }
    let mut list = |key: &str, of: fn(&Threshold) -> u8| {
        if section.has(key) {
            section.numbers(sink, key).map(|list| list.iter().filter_map(|n| u8::try_from(*n).ok()).collect())
        } else {
            Some(default.iter().map(of).collect::<Vec<u8>>())
        }
    };
    let onsets = list(onset_key, |threshold| threshold.onset)?;
    let abatements = list(abatement_key, |threshold| threshold.abatement)?;
    let given = if section.has(abatement_key) { abatement_key } else { onset_key };
    if onsets.len() != abatements.len() {
        let default = |key| if section.has(key) { "" } else { " by default" };
        let message = format!(
            "`{onset_key}` and `{abatement_key}` must have equally many elements, have {}{} and {}{}",
            onsets.len(),
            default(onset_key),
            abatements.len(),
            default(abatement_key)
        );
        section.fault(sink, given, message);
        return None;
    }
    let mut below: Option<(String, u8)> = None;
    for (at, (onset, abatement)) in onsets.iter().zip(&abatements).enumerate() {
        for (key, number) in [(abatement_key, *abatement), (onset_key, *onset)] {
            let name = format!("{key}[{}]", at + 1);
            if let Some((lower, bound)) = &below
                && number <= *bound
            {
                let default = if section.has(key) { "" } else { " by default" };
                let message = format!("`{name}` must be above `{lower}` ({bound}), is {number}{default}");
                section.fault(sink, if section.has(key) { key } else { given }, message);
                return None;
            }
            below = Some((name, number));
        }
    }
    Some(onsets.into_iter().zip(abatements).map(|(onset, abatement)| Threshold { onset, abatement }).collect())
}
