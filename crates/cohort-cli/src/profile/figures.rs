//! Figures from samples of different weight, with intervals.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// How many standard deviations on either side hold 95 %.
const SIDE: f64 = 1.96;

/// A time that is longer than so many times the median had a break in it.
const UNBROKEN: u64 = 4;

/// A figure, and the interval that holds it with 95 % confidence.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Range {
    /// The figure.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

impl Range {
    /// That figure, with what its variance is.
    pub fn around(value: f64, variance: f64) -> Self {
        let side = SIDE * variance.max(0.0).sqrt();
        Self {
            value,
            low: (value - side).max(0.0),
            high: value + side,
        }
    }
}

/// How nanoseconds scatter.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// How many were sampled.
    pub samples: u64,
    /// In the mean.
    pub mean: Range,
    /// At most, for half of them.
    pub p50: u64,
    /// For 99 % of them.
    pub p99: u64,
    /// For 99.9 % of them.
    pub p999: u64,
}

/// Durations that were sampled, each standing for as many as one was drawn of.
#[derive(Default)]
pub struct Durations {
    /// None before the first: it takes 2 KB, and of a million locks few are sampled.
    all: Option<Box<Histogram<u64>>>,
    samples: u64,
    weight: f64,
    weight_squared: f64,
    sum: f64,
    sum_of_squares: f64,
}

impl Durations {
    /// Adds one that stands for `of`.
    pub fn add(&mut self, nanoseconds: u64, of: u32) {
        // It grows by itself; what it cannot hold is longer than a century.
        let _ = self.all().record_n(nanoseconds, u64::from(of.max(1)));
        let (weight, value) = (f64::from(of.max(1)), nanoseconds as f64);
        self.samples += 1;
        self.weight += weight;
        self.weight_squared += weight * weight;
        self.sum += weight * value;
        self.sum_of_squares += weight * value * value;
    }

    /// Adds all of another's.
    pub fn add_all(&mut self, other: &Self) {
        if let Some(all) = &other.all {
            let _ = self.all().add(&**all);
        }
        self.samples += other.samples;
        self.weight += other.weight;
        self.weight_squared += other.weight_squared;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
    }

    fn all(&mut self) -> &mut Histogram<u64> {
        let make = || Box::new(Histogram::new(2).expect("two digits can be kept"));
        self.all.get_or_insert_with(make)
    }

    /// The middle one; 0 if there is none.
    fn median(&self) -> u64 {
        let all = self.all.as_ref();
        all.map_or(0, |all| all.value_at_quantile(0.5))
    }

    /// How many there are.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The mean of what a thread did without a break; 0 if there is none.  The few in which it lost its
    /// CPU or waited for a page are so long that they would be the mean: each counts for
    /// [`UNBROKEN`] times the median at most.
    pub fn unbroken_mean(&self) -> f64 {
        let Some(all) = &self.all else { return 0.0 };
        let most = self.median().max(1).saturating_mul(UNBROKEN);
        let (mut sum, mut count) = (0.0, 0.0);
        for one in all.iter_recorded() {
            let times = one.count_at_value() as f64;
            sum += times * one.value_iterated_to().min(most) as f64;
            count += times;
        }
        sum / count
    }

    /// How they scatter; none if there are none.
    pub fn spread(&self) -> Option<Spread> {
        let all = self.all.as_ref()?;
        let mean = self.sum / self.weight;
        let variance = self.sum_of_squares / self.weight - mean * mean;
        // As many as there would be if all were drawn of the same number.
        let effective = self.weight * self.weight / self.weight_squared;
        Some(Spread {
            samples: self.samples,
            mean: Range::around(mean, variance / effective),
            p50: all.value_at_quantile(0.5),
            p99: all.value_at_quantile(0.99),
            p999: all.value_at_quantile(0.999),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_as_often_as_it_was_drawn_of() {
        let mut durations = Durations::default();
        durations.add(100, 9);
        durations.add(1_000, 1);
        let spread = durations.spread().expect("there are two");
        assert!((spread.mean.value - 190.0).abs() < 1e-9);
        assert_eq!(spread.samples, 2);
        assert!((99..=101).contains(&spread.p50));
        assert!((990..=1_010).contains(&spread.p999));
        assert!(spread.mean.low < 190.0 && 190.0 < spread.mean.high);
    }

    #[test]
    fn two_halves_make_the_whole() {
        let (mut whole, mut half, mut other) = (
            Durations::default(),
            Durations::default(),
            Durations::default(),
        );
        for value in 1..=1_000 {
            whole.add(value, 3);
            if value % 2 == 0 {
                &mut half
            } else {
                &mut other
            }
            .add(value, 3);
        }
        half.add_all(&other);
        let (whole, half) = (whole.spread().unwrap(), half.spread().unwrap());
        assert_eq!((whole.p50, whole.p99), (half.p50, half.p99));
        assert!((whole.mean.high - half.mean.high).abs() < 1e-6);
    }

    #[test]
    fn a_break_counts_for_little_and_the_rest_in_full() {
        let mut durations = Durations::default();
        for _ in 0..9 {
            durations.add(40, 100);
        }
        // Not the median, and no break.
        durations.add(100, 100);
        assert!((durations.unbroken_mean() - 46.0).abs() < 1.0);
        durations.add(3_000_000, 100);
        let mean = durations.unbroken_mean();
        assert!(
            (mean - (46.0 * 10.0 + 4.0 * 40.0) / 11.0).abs() < 1.0,
            "{mean}"
        );
    }

    #[test]
    fn nothing_has_no_spread_and_takes_no_room() {
        let (mut none, other) = (Durations::default(), Durations::default());
        none.add_all(&other);
        assert!(none.spread().is_none());
        assert_eq!((none.samples(), none.unbroken_mean()), (0, 0.0));
        assert!(none.all.is_none());
    }
}
