//! Figures with intervals from timings and from looks.
//!
//! For each *pair* of a lock and a site, the numbers of uncontended and of contended acquisitions
//! are known: the strata. If most of a stratum was timed, its figures are those of the samples. If
//! little of it was, a rare long duration may be in no sample, and the looks decide: for any
//! distribution, the expected time seen in waits or holds equals the actual time.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Standard deviations on either side for 95 %.
const SIDE: f64 = 1.96;

/// A time longer than this many times the median was interrupted.
const UNBROKEN: u64 = 4;

/// Durations below this many nanoseconds are indistinguishable from zero.
pub const FLOOR: f64 = 30.0;

/// The least timed share of a stratum for using its samples.
const MOST: f64 = 0.6;

/// The least number of separate sightings of a pair for using looks.
const SEEN: f64 = 10.0;

/// The largest untimed share of acquisitions for an interval.
const UNTIMED: f64 = 0.05;

/// Figure with its 95 % confidence interval.
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
    /// A figure with its variance.
    pub fn around(value: f64, variance: f64) -> Self {
        let side = SIDE * variance.max(0.0).sqrt();
        Self {
            value,
            low: (value - side).max(0.0),
            high: value + side,
        }
    }
}

/// Mean, with a 95 % confidence interval for such a program.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// The interval's lower end; none without a justified interval.
    #[serde(default)]
    pub low: Option<f64>,
    /// The interval's upper end.
    #[serde(default)]
    pub high: Option<f64>,
}

impl Mean {
    /// The interval, if any.
    pub fn interval(&self) -> Option<[f64; 2]> {
        Some([self.low?, self.high?])
    }
}

/// Distribution of nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// The number of timings.
    pub samples: u64,
    /// The mean.
    pub mean: Mean,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// [`FLOOR`].
    #[serde(default)]
    pub floor: f64,
}

impl Spread {
    /// The same with a mean of no more than that: the time during which all of this took place,
    /// divided by its number. Few samples, one with an interruption, can lie above it.
    pub fn at_most(mut self, most: f64) -> Self {
        let Mean { value, low, high } = self.mean;
        self.mean = Mean {
            value: value.min(most),
            low: low.map(|low| resolved(low.min(most))),
            high: high.map(|high| high.min(most.max(FLOOR))),
        };
        self
    }
}

/// The lower end of an interval: zero below the resolution.
fn resolved(low: f64) -> f64 {
    if low < FLOOR { 0.0 } else { low }
}

/// Durations, rounded by less than one per cent, with their weights.
type Rounded = BTreeMap<u64, f64>;

/// Significant bits of a duration.
const BITS: u32 = 7;

fn rounded(nanoseconds: u64) -> u64 {
    let cut = (u64::BITS - nanoseconds.leading_zeros()).saturating_sub(BITS);
    let half = (1 << cut) >> 1;
    ((nanoseconds >> cut) << cut) + half
}

/// That quantile of all durations and of a weight `none` of zero durations; 0 without any.
fn quantile(all: &Rounded, none: f64, share: f64) -> u64 {
    let whole: f64 = none + all.values().sum::<f64>();
    let mut below = none;
    if below >= share * whole {
        return 0;
    }
    for (value, weight) in all {
        below += weight;
        if below >= share * whole * (1.0 - 1e-9) {
            return *value;
        }
    }
    0
}

/// Timed durations, each weighted by the inverse of its sampling rate.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    all: Rounded,
    samples: u64,
    weight: f64,
    sum: f64,
    /// Sums of squared weights, times the duration, and times its square.
    squares: [f64; 3],
}

impl Durations {
    /// Adds a duration with the weight `of`.
    pub fn add(&mut self, nanoseconds: u64, of: u32) {
        let (weight, value) = (f64::from(of.max(1)), nanoseconds as f64);
        *self.all.entry(rounded(nanoseconds)).or_default() += weight;
        self.samples += 1;
        self.weight += weight;
        self.sum += weight * value;
        let square = weight * weight;
        for (sum, more) in self.squares.iter_mut().zip([1.0, value, value * value]) {
            *sum += square * more;
        }
    }

    /// The number of timings.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The median; 0 without timings.
    pub fn median(&self) -> u64 {
        quantile(&self.all, 0.0, 0.5)
    }

    /// The longest uninterrupted duration.
    fn unbroken(&self) -> u64 {
        self.median().max(1).saturating_mul(UNBROKEN)
    }

    /// The mean of uninterrupted durations; 0 without any. The few with a preemption or a page
    /// fault are so long that they would dominate the mean: each counts for at most [`UNBROKEN`]
    /// times the median.
    pub fn unbroken_mean(&self) -> f64 {
        let most = self.unbroken();
        let (mut sum, mut count) = (0.0, 0.0);
        for (value, weight) in &self.all {
            sum += weight * (*value).min(most) as f64;
            count += weight;
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }

    fn mean(&self) -> f64 {
        self.sum / self.weight
    }

    /// The variance of the mean of samples of that weight.
    fn variance(&self) -> f64 {
        let mean = self.mean();
        let [weights, once, twice] = self.squares;
        let spread = (twice - 2.0 * mean * once + mean * mean * weights).max(0.0);
        let variance = spread / (self.weight * self.weight);
        // A single sample does not show its scatter.
        match self.samples {
            1 => mean * mean,
            samples => variance * samples as f64 / (samples - 1) as f64,
        }
    }
}

/// Time seen waiting for a lock at a site, or holding it from that site.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Seconds, over all looks.
    pub seconds: f64,
    /// The sum of the squares of uninterrupted sightings.
    pub squared: f64,
}

impl Seen {
    /// Adds a sighting over consecutive looks, which represent that many seconds.
    pub fn add(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.squared += seconds * seconds;
    }

    /// The equivalent number of sightings of equal length.
    fn times(&self) -> f64 {
        if self.squared > 0.0 {
            self.seconds * self.seconds / self.squared
        } else {
            0.0
        }
    }
}

/// Sightings of a pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// The time seen.
    pub seen: Seen,
    /// Correction for the process's lifetime without looks.
    pub scale: f64,
    /// The seconds represented by a look.
    pub tick: f64,
}

/// Data on a pair's durations.
pub struct Pair<'a> {
    /// Acquisitions and timings, uncontended and contended.
    pub strata: [(u64, Option<&'a Durations>); 2],
    /// The sightings; none without looks.
    pub look: Option<Look>,
    /// Nanoseconds of a sample's recording that appear to be the lock's.
    pub records: f64,
}

/// Combined durations of many pairs.
#[derive(Clone, Debug, Default)]
pub struct Mixture {
    all: Rounded,
    /// Weight of zero durations.
    none: f64,
    samples: u64,
    /// Acquisitions, and those without any data.
    count: f64,
    unknown: f64,
    /// Nanoseconds of all acquisitions, their squares as far as strata differ, and the variance of
    /// the sum.
    sum: f64,
    between: f64,
    variance: f64,
}

impl Mixture {
    /// Adds a pair.
    pub fn add(&mut self, pair: &Pair<'_>) {
        let count: u64 = pair.strata.iter().map(|(count, _)| count).sum();
        if count == 0 {
            return;
        }
        self.count += count as f64;
        let timed = |stratum: &(u64, Option<&Durations>)| {
            stratum
                .1
                .map_or(0, |durations| durations.samples.min(stratum.0))
        };
        let all_timed: u64 = pair.strata.iter().map(timed).sum();
        let is_whole = all_timed as f64 >= MOST * count as f64;
        for (count, durations) in pair.strata {
            if let Some(durations) = durations.filter(|durations| durations.samples > 0) {
                self.scatter(count as f64, durations, pair.records);
            }
        }
        let seen = pair
            .look
            .filter(|look| !is_whole && look.seen.times() >= SEEN);
        match seen {
            Some(look) => self.add_seen(count as f64, &look),
            None => self.add_timed(pair, is_whole),
        }
    }

    /// Adds the scatter of a stratum with that many acquisitions.
    fn scatter(&mut self, count: f64, durations: &Durations, records: f64) {
        self.samples += durations.samples;
        let each = count / durations.weight;
        for (value, weight) in &durations.all {
            let value = value.saturating_sub(records as u64);
            *self.all.entry(value).or_default() += weight * each;
        }
    }

    /// Adds the sightings of a pair with that many acquisitions.
    fn add_seen(&mut self, count: f64, look: &Look) {
        let sum = look.seen.seconds * look.scale * 1e9;
        self.sum += sum;
        self.between += sum * sum / count;
        self.variance += look.seen.squared * (look.scale * 1e9).powi(2);
    }

    /// Adds the timings of a pair.
    fn add_timed(&mut self, pair: &Pair<'_>, is_whole: bool) {
        for (count, durations) in pair.strata {
            let count = count as f64;
            match durations.filter(|durations| durations.samples > 0) {
                Some(durations) => {
                    let mean = (durations.mean() - pair.records).max(0.0);
                    self.sum += count * mean;
                    self.between += count * mean * mean;
                    // The clock's own error is the same for all.
                    let clock = (FLOOR / 3.0).powi(2);
                    self.variance += count * count * (durations.variance() + clock);
                }
                None => self.unknown += count,
            }
        }
        if !is_whole && let Some(look) = pair.look {
            // Rare long durations may be among untimed acquisitions, if not seen: rarely as long as
            // three looks.
            let unseen = 1.5 * look.tick * 1e9;
            self.variance += (unseen + look.seen.seconds * look.scale * 1e9).powi(2);
        }
    }

    /// Adds acquisitions of zero duration.
    pub fn add_none(&mut self, count: u64) {
        if count > 0 {
            self.count += count as f64;
            self.none += count as f64;
        }
    }

    /// Adds all of another mixture.
    pub fn add_all(&mut self, other: &Self) {
        for (value, weight) in &other.all {
            *self.all.entry(*value).or_default() += weight;
        }
        self.none += other.none;
        self.samples += other.samples;
        self.count += other.count;
        self.unknown += other.unknown;
        self.sum += other.sum;
        self.between += other.between;
        self.variance += other.variance;
    }

    /// The distribution; none without data.
    pub fn spread(&self) -> Option<Spread> {
        let known = self.count - self.unknown;
        if known <= 0.0 {
            return None;
        }
        let value = self.sum / known;
        // Another run would have another mix of pairs.
        let between = (self.between / known - value * value).max(0.0) / known;
        let range = Range::around(value, self.variance / (known * known) + between);
        let quantile = |share| quantile(&self.all, self.none, share);
        let is_vouched_for = self.unknown <= UNTIMED * self.count;
        Some(Spread {
            samples: self.samples,
            mean: Mean {
                value,
                low: is_vouched_for.then_some(resolved(range.low)),
                high: is_vouched_for.then_some(range.high.max(FLOOR)),
            },
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            floor: FLOOR,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(each: impl IntoIterator<Item = (u64, u32)>) -> Durations {
        let mut durations = Durations::default();
        for (nanoseconds, of) in each {
            durations.add(nanoseconds, of);
        }
        durations
    }

    fn spread_of(pair: &Pair<'_>) -> Spread {
        let mut mixture = Mixture::default();
        mixture.add(pair);
        mixture.spread().expect("something is known")
    }

    #[test]
    fn a_sample_counts_as_often_as_it_was_drawn_of() {
        let durations = durations([(100, 9), (1_000, 1)]);
        let spread = spread_of(&Pair {
            strata: [(10, Some(&durations)), (0, None)],
            look: None,
            records: 0.0,
        });
        assert!((spread.mean.value - 190.0).abs() < 1e-9);
        assert_eq!(spread.samples, 2);
        assert!((99..=101).contains(&spread.p50));
        assert!((990..=1_010).contains(&spread.p999));
        let [low, high] = spread.mean.interval().expect("all are known");
        assert!(low < 190.0 && 190.0 < high);
    }

    /// Ten audits, all timed, and five thousand deposits, one in a hundred timed.
    #[test]
    fn a_stratum_counts_as_often_as_it_was_taken_and_not_as_often_as_it_was_timed() {
        let audits = durations([(5_000_000, 1); 10]);
        let deposits = durations([(100, 100); 50]);
        let mut mixture = Mixture::default();
        for (count, durations) in [(10, &audits), (5_000, &deposits)] {
            mixture.add(&Pair {
                strata: [(count, Some(durations)), (0, None)],
                look: None,
                records: 0.0,
            });
        }
        let spread = mixture.spread().expect("all are known");
        let mean = (10.0 * 5e6 + 5_000.0 * 100.0) / 5_010.0;
        assert!((spread.mean.value - mean).abs() < 1.0, "{spread:?}");
        assert!((99..=101).contains(&spread.p50), "{spread:?}");
        assert!(spread.p999 > 4_900_000, "{spread:?}");
        let [low, high] = spread.mean.interval().expect("all are known");
        assert!(low < 0.8 * mean && 1.2 * mean < high, "{spread:?}");
    }

    #[test]
    fn where_few_are_timed_looks_see_what_is_rare_and_long() {
        let short = durations([(100, 1_000); 100]);
        let mut seen = Seen::default();
        for _ in 0..100 {
            seen.add(0.005);
        }
        let pair = |seen| Pair {
            strata: [(100_000, Some(&short)), (0, None)],
            look: Some(Look {
                seen,
                scale: 1.0,
                tick: 0.001,
            }),
            records: 0.0,
        };
        let mean = spread_of(&pair(seen)).mean;
        assert!((mean.value - 5_000.0).abs() < 1e-6, "{mean:?}");
        let [low, high] = mean.interval().expect("it was seen");
        assert!(3_500.0 < low && high < 6_500.0, "{mean:?}");
        // Unseen, it may amount to a few milliseconds.
        let mean = spread_of(&pair(Seen::default())).mean;
        assert!((mean.value - 100.0).abs() < 1e-6, "{mean:?}");
        let [low, high] = mean.interval().expect("all are known");
        assert!(low < 100.0 && 125.0 < high && high < 200.0, "{mean:?}");
    }

    #[test]
    fn what_the_records_take_is_taken_off() {
        let durations = durations([(90, 1); 50]);
        let spread = spread_of(&Pair {
            strata: [(50, Some(&durations)), (0, None)],
            look: None,
            records: 70.0,
        });
        assert!((spread.mean.value - 20.0).abs() < 1e-9, "{spread:?}");
        assert!((19..=21).contains(&spread.p50), "{spread:?}");
        assert_eq!(spread.time(spread.mean.value), "<30 ns");
    }

    #[test]
    fn acquisitions_that_did_not_wait_count_and_those_of_which_nothing_is_known_cost_the_interval()
    {
        let waits = durations([(1_000, 1); 40]);
        let mut mixture = Mixture::default();
        mixture.add_none(60);
        mixture.add(&Pair {
            strata: [(0, None), (40, Some(&waits))],
            look: None,
            records: 0.0,
        });
        let spread = mixture.spread().expect("all are known");
        assert!((spread.mean.value - 400.0).abs() < 1e-9, "{spread:?}");
        assert_eq!(spread.p50, 0);
        assert!(spread.mean.interval().is_some());
        mixture.add(&Pair {
            strata: [(6, None), (0, None)],
            look: None,
            records: 0.0,
        });
        let spread = mixture.spread().expect("most are known");
        assert!((spread.mean.value - 400.0).abs() < 1e-9, "{spread:?}");
        assert!(spread.mean.interval().is_none());
    }

    #[test]
    fn two_halves_make_the_whole() {
        let mut halves = [Mixture::default(), Mixture::default()];
        let mut whole = Mixture::default();
        for value in 1..=1_000 {
            let one = durations([(value, 3)]);
            let pair = Pair {
                strata: [(3, Some(&one)), (0, None)],
                look: None,
                records: 0.0,
            };
            whole.add(&pair);
            halves[value as usize % 2].add(&pair);
        }
        let [mut half, other] = halves;
        half.add_all(&other);
        let [whole, half] = [whole, half].map(|mixture| mixture.spread().expect("all are known"));
        assert_eq!((whole.p50, whole.p99), (half.p50, half.p99));
        let high = |spread: Spread| spread.mean.high.expect("all are known");
        assert!((high(whole) - high(half)).abs() < 1e-6);
    }

    #[test]
    fn a_break_counts_for_little_and_the_rest_in_full() {
        let mut durations = durations([(40, 100); 9]);
        // Not the median, and not interrupted.
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
    fn one_holder_at_a_time_holds_for_no_longer_than_the_program_runs() {
        let durations = durations((0..240).map(|_| (5, 20_000)).chain([(27_000, 20_000)]));
        let spread = spread_of(&Pair {
            strata: [(5_000_000, Some(&durations)), (0, None)],
            look: None,
            records: 0.0,
        });
        assert!(spread.mean.value > 100.0, "{spread:?}");
        let mean = spread.at_most(40e6 / 5e6).mean;
        assert_eq!(mean.value, 8.0);
        assert_eq!(mean.interval(), Some([0.0, FLOOR]));
    }

    #[test]
    fn nothing_has_no_spread() {
        assert!(Mixture::default().spread().is_none());
        let none = Durations::default();
        assert_eq!((none.samples(), none.unbroken_mean()), (0, 0.0));
    }

    #[test]
    fn durations_are_rounded_by_less_than_a_hundredth() {
        for nanoseconds in (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) + (1 << bit) / 3]) {
            let off = rounded(nanoseconds).abs_diff(nanoseconds);
            assert!(off as f64 <= nanoseconds as f64 / 100.0, "{nanoseconds}");
        }
    }
}
