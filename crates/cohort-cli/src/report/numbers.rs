//! Counts and shares as a report prints them.

/// A percentage with enough digits that only 0 prints as 0.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    #[allow(clippy::cast_precision_loss, reason = "shown with two decimals")]
    let share = part as f64 / whole as f64 * 100.0;
    if part > 0 && share < 0.01 {
        "< 0.01 %".to_owned()
    } else {
        format!("{share:.2} %")
    }
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn shares_do_not_round_to_nothing() {
        assert_eq!(percent(1, 1_000_000), "< 0.01 %");
        assert_eq!(percent(0, 10), "0.00 %");
        assert_eq!(percent(1, 4), "25.00 %");
    }
}
