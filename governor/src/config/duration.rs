//! Spans of time as the file spells them: `500ms`, `3s`, `1.5s`, `2m`, `1h`.

use std::time::Duration;

/// The span that a text says; `None` if it says none, or not a whole number of milliseconds.
pub fn parse(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let unit: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let parts = fraction.parse::<u64>().ok()?.checked_mul(unit)?;
    if parts % scale != 0 {
        return None;
    }
    let millis = whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(parts / scale)?;
    Some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_a_unit_are_spans() {
        for (text, millis) in [
            ("0ms", 0),
            ("500ms", 500),
            ("3s", 3000),
            ("0.5s", 500),
            ("1.250s", 1250),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "5",
            "s",
            ".5s",
            "5.s",
            "-1s",
            "+1s",
            "1 s",
            "1S",
            "1d",
            "1min",
            "0.5ms",
            "1.0001s",
            "1e3s",
            "1.2.3s",
            "1s ",
            "99999999999999999999s",
            "18446744073709551615h",
            "0.00000000000000000000000001s",
            "٣s",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
