//! A stretch of time as a person writes it: `4us`, `250ns` or, in cycles, `1000`.

use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Ten days: a longer span is taken for a typing error.
const MOST: u64 = 864_000_000_000_000;

/// Time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// Cycles of the machine's clock.
    Cycles(u64),
    /// Nanoseconds.
    Nanoseconds(u64),
}

/// Nanoseconds in each unit, longer names first.
const UNITS: [(&str, u64); 4] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

impl Span {
    /// The span in cycles of a clock of that rate, rounded.
    #[must_use]
    pub fn cycles(self, hertz: f64) -> u64 {
        match self {
            Self::Cycles(cycles) => cycles,
            Self::Nanoseconds(nanoseconds) => (nanoseconds as f64 * hertz / 1e9).round() as u64,
        }
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected a number of cycles such as 1000, or a time such as 250ns, 4us or \
                 1ms; found `{text}`"
            )
        };
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let span = match unit.trim() {
            "" | "cycles" => Some(Self::Cycles(number)),
            unit => UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .and_then(|(_, each)| number.checked_mul(*each))
                .map(Self::Nanoseconds),
        };
        match span {
            Some(span @ (Self::Cycles(size) | Self::Nanoseconds(size))) if size <= MOST => Ok(span),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cycles(cycles) => write!(f, "{cycles} cycles"),
            Self::Nanoseconds(nanoseconds) => {
                let (unit, each) = UNITS
                    .iter()
                    .rev()
                    .find(|(_, each)| nanoseconds != 0 && nanoseconds.is_multiple_of(*each))
                    .unwrap_or(&UNITS[0]);
                write!(f, "{}{unit}", nanoseconds / each)
            }
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_and_times_are_read_and_written() {
        for (text, span, again) in [
            ("0", Span::Cycles(0), "0 cycles"),
            ("1000", Span::Cycles(1000), "1000 cycles"),
            ("12 cycles", Span::Cycles(12), "12 cycles"),
            ("4us", Span::Nanoseconds(4_000), "4us"),
            ("250ns", Span::Nanoseconds(250), "250ns"),
            ("1500us", Span::Nanoseconds(1_500_000), "1500us"),
        ] {
            assert_eq!(text.parse(), Ok(span));
            assert_eq!(span.to_string(), again);
        }
    }

    #[test]
    fn whatever_else_is_refused_with_an_example() {
        for text in ["", "us", "-1", "4 parsecs", "1.5us", "99999999999s"] {
            let why = text.parse::<Span>().unwrap_err();
            assert!(why.contains("4us"), "{why}");
        }
    }

    #[test]
    fn times_become_cycles_by_the_clock() {
        assert_eq!(Span::Nanoseconds(4_000).cycles(1.4e9), 5_600);
        assert_eq!(Span::Cycles(7).cycles(1.4e9), 7);
    }
}
