//! Medians with distribution-free intervals.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// The wanted confidence of an interval.
const WANTED: f64 = 0.95;

/// The least confidence for a verdict; five runs reach it.
pub const ENOUGH: f64 = 0.9;

/// Median with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The probability that the interval holds the true median; zero for a single value.
    pub confidence: f64,
    /// The number of values.
    pub count: usize,
}

impl Estimate {
    /// The median of `values`, with the narrowest interval between two values that holds the true
    /// median with 95 % confidence. With fewer than six values, the whole range with its
    /// confidence. None without values, or with a NaN.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        if sorted.is_empty() || sorted.iter().any(|value| value.is_nan()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let inwards = (1..count.div_ceil(2))
            .take_while(|place| confidence(count, *place) >= WANTED)
            .last()
            .unwrap_or(0);
        Some(Self {
            median: middle(&sorted),
            low: sorted[inwards],
            high: sorted[count - 1 - inwards],
            confidence: confidence(count, inwards),
            count,
        })
    }

    /// Whether the interval holds `value`.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether there are enough values for a verdict from the interval.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.confidence >= ENOUGH
    }
}

/// The confidence of the interval between the values `inwards` places from either end: each value
/// is above the true median with probability one half.
fn confidence(count: usize, inwards: usize) -> f64 {
    if count < 2 {
        return 0.0;
    }
    let tail = Binomial::new(0.5, count as u64).map(|coins| coins.cdf(inwards as u64));
    tail.map_or(0.0, |tail| (1.0 - 2.0 * tail).max(0.0))
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[half - 1], sorted[half])
    } else {
        sorted[half]
    }
}

/// The median of `values`; none without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    Estimate::of(values).map(|estimate| estimate.median)
}

/// The geometric mean of positive `values`; none without values.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_values_give_their_range_and_say_how_sure_it_is() {
        let estimate = Estimate::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!(
            (estimate.low, estimate.median, estimate.high),
            (1.0, 3.0, 5.0)
        );
        assert!((estimate.confidence - 0.9375).abs() < 1e-12);
        assert!(estimate.is_sure());
    }

    #[test]
    fn nine_values_leave_the_outermost_out() {
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        let estimate = Estimate::of(&values).unwrap();
        assert_eq!((estimate.low, estimate.high), (2.0, 8.0));
        assert!((estimate.confidence - 0.960_937_5).abs() < 1e-12);
    }

    #[test]
    fn one_value_proves_nothing() {
        let estimate = Estimate::of(&[7.0]).unwrap();
        assert_eq!((estimate.low, estimate.high), (7.0, 7.0));
        assert_eq!(estimate.confidence, 0.0);
    }

    #[test]
    fn four_values_are_too_few_for_a_verdict() {
        assert!(!Estimate::of(&[1.0, 2.0, 3.0, 4.0]).unwrap().is_sure());
    }

    #[test]
    fn what_is_no_number_has_no_median() {
        assert!(Estimate::of(&[1.0, f64::NAN]).is_none());
        assert!(Estimate::of(&[]).is_none());
    }

    #[test]
    fn the_geometric_mean_of_inverse_ratios_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]).unwrap() - 1.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_none());
    }
}
