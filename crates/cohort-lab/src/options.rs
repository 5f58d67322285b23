//! Values of options that several subcommands take.

/// Ten days: whoever waits longer has mistyped.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_times_are_taken() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "", "1s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
