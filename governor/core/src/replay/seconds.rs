//! Seconds as they stand in JSON, to the nanosecond.

use crate::time::Time;

/// The time of a JSON number of seconds, rounded to the nearest nanosecond; no float comes between, so that 1700000000.1
/// is that very tenth. `None`: below 0, or past the 584 years that [`Time`] holds. `text` is a number in JSON's grammar.
pub(super) fn parse(text: &str) -> Option<Time> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.bytes().chain(fraction.bytes()).map(|digit| u64::from(digit - b'0')).peekable();
    // Leading zeros say nothing but would count as places below.
    let mut places = i64::try_from(whole.len()).ok()?;
    while digits.next_if_eq(&0).is_some() {
        places -= 1;
    }
    if digits.peek().is_none() {
        return Some(Time::ZERO);
    }
    if negative {
        return None;
    }
    // Digits before the point once the unit is the nanosecond.
    let places = exponent_of(exponent).saturating_add(places).saturating_add(9);
    let mut nanos: u64 = 0;
    // The first digit is not zero: more than 20 places overflow, so the loop is short.
    for _ in 0..places {
        nanos = nanos.checked_mul(10)?.checked_add(digits.next().unwrap_or(0))?;
    }
    let round_up = places >= 0 && digits.next().is_some_and(|digit| digit >= 5);
    nanos.checked_add(u64::from(round_up)).map(Time::from_nanos)
}

/// An exponent's value, held within what decides nothing any more.
fn exponent_of(text: &str) -> i64 {
    const FAR: i64 = i64::MAX / 4;
    text.strip_prefix('+')
        .unwrap_or(text)
        .parse()
        .map_or_else(|_| if text.starts_with('-') { -FAR } else { FAR }, |exponent: i64| exponent.clamp(-FAR, FAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        for (text, nanos) in [
            ("0", 0),
            ("-0.0", 0),
            ("0.1", 100_000_000),
            ("1700000000.1", 1_700_000_000_100_000_000),
            ("0.30000000000000004", 300_000_000),
            ("0.7999999999999999", 800_000_000),
            ("0.0000000014", 1),
            ("0.0000000015", 2),
            ("0.0000000004", 0),
            ("0.0000000005", 1),
            ("0.00000000005", 0),
            ("12.5", 12_500_000_000),
            ("1.5e3", 1_500_000_000_000),
            ("1E+2", 100_000_000_000),
            ("25e-1", 2_500_000_000),
            ("0e999999999999999999999", 0),
            ("1e-999999999999999999999", 0),
            ("18446744073", 18_446_744_073_000_000_000),
        ] {
            assert_eq!(parse(text), Some(Time::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_time_cannot_hold_is_out_of_range() {
        for text in ["-1", "-0.001", "18446744074", "1e11", "1e400", "1e999999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
