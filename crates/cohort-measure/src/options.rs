//! Common values of subcommands' options.

use std::ops::RangeInclusive;

/// Ten days: more is a typing error.
const MOST_SECONDS: f64 = 864_000.0;

/// Parses a positive number of seconds.
///
/// # Errors
/// What was expected.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MOST_SECONDS => Ok(seconds),
        _ => Err(format!(
            "expected a number of seconds above 0 and up to {MOST_SECONDS:.0}, as in 0.5"
        )),
    }
}

/// The limit of threads.
const MOST_THREADS: u32 = 100_000;

/// Parses a count, or a range of counts as in `1-8`.
///
/// # Errors
/// What was expected.
pub fn counts(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
        (Ok(first), Ok(last)) if 1 <= first && first <= last && last <= MOST_THREADS => {
            Ok(first..=last)
        }
        _ => Err(format!(
            "expected a number from 1 to {MOST_THREADS}, or a range as in 1-8"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_be_ranges() {
        assert_eq!(counts("3"), Ok(3..=3));
        assert_eq!(counts("1-8"), Ok(1..=8));
        for wrong in ["0", "8-1", "-3", "1-", "", "x", "1-2-3", "100001"] {
            assert!(counts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_positive_times_are_taken() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "", "1s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
