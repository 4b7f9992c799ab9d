//! The words of messages: values, kinds and names as they are shown.

use super::address::{Address, AddressError};
use super::keys::{Kind, Table};
use toml::de::DeValue;

/// A name of our own: what stands in displays, counters and other programs' command lines.
pub(super) fn check_name(text: &str) -> Result<(), String> {
    if (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(format!("must be a name of 1 to 64 printable ASCII characters without spaces, is {}", quoted(text)))
}

/// A whole number that fits.
pub(super) fn whole(value: &DeValue<'_>) -> Option<u32> {
    let integer = value.as_integer()?;
    u32::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A value as a message shows it: short ones as they stand, others by their type.
pub(super) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) if number.as_str().len() <= 40 => number.to_string(),
        DeValue::Float(number) if number.as_str().len() <= 40 => format!("the fraction {number}"),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Array(array) => format!("an array of {} elements", array.len()),
        DeValue::Table(_) => "a table".to_owned(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Integer(_) | DeValue::Float(_) => "a number of absurd length".to_owned(),
    }
}

/// A text in quotes, cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// An address of a scheme that this build has.
pub(super) fn supported(text: &str) -> Result<Address, String> {
    match text.parse::<Address>() {
        Ok(address) if address.scheme.is_supported() => Ok(address),
        Ok(address) => Err(AddressError::Unsupported(address.scheme).to_string()),
        Err(error) => Err(format!("{error}, is {}", quoted(text))),
    }
}

pub(super) fn join(path: &str, name: &str) -> String {
    let bare = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) && !name.is_empty();
    let name = if bare { name.to_owned() } else { quoted(name) };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// A path without its subscripts: as a heading has it.
pub(super) fn bare(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

/// A kind without the reference page's marks.
pub(super) fn plain(kind: &Kind) -> String {
    kind.to_string().replace('`', "")
}

/// A kind as a message names it.
pub(super) fn with_article(kind: &Kind) -> String {
    let kind = plain(kind);
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

pub(super) fn unknown(name: &str, keys: &Table) -> String {
    let near = keys.keys.iter().map(|key| (distance(name, key.name), key.name)).min();
    if let Some((1..=2, near)) = near {
        return format!("unknown key; did you mean `{near}`?");
    }
    let known: Vec<_> = keys.keys.iter().map(|key| key.name).collect();
    format!("unknown key; known here: {}", known.join(", "))
}

/// Edit distance, for short texts; long ones are far from everything.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 32 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != *y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}
