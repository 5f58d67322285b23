//! Thresholds of delegation, as data: when sections are delegated, and how long a server serves
//! (Zhang et al. 2017, table 2).

use crate::Delegate;
use core::fmt;

/// All of a thread's time, in units of contention.
pub const WHOLE: u32 = 1024;

/// When sections are delegated, and how long a server serves.
///
/// Contention is the share of a thread's time between its arrivals at the lock and its releases, in
/// 1024ths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// `T_s`: greatest number of a server's rounds over all places.
    pub serves: u32,
    /// `T_w`: for how many nanoseconds a client waits before it queues for the lock; `u64::MAX`:
    /// for ever.
    pub waits: u64,
    /// `θ_l`: contention from which on a thread votes for delegation; 0: always.
    pub brings: u32,
    /// `θ_f`: contention from which on it waits for a server of its node.
    pub strict: u32,
    /// How often contention must be beyond a threshold to change a vote.
    pub boundary: u32,
    /// How many empty rounds a server makes before it leaves.
    pub idle: Idle,
}

/// How many empty rounds a server makes before it leaves, `L_s`: a quadratic of the inverse of its
/// thread's contention (Zhang et al. 2017 §3.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The quadratic's coefficients, the constant's first, in millionths of a round.
    pub by: [i64; 3],
    /// Upper bound of the quadratic.
    pub most: u32,
}

impl Idle {
    /// Two, and two more for each time that the thread's sections fit into its time.
    pub const USUAL: Self = Self {
        by: [2_000_000, 2_000_000, 0],
        most: 1000,
    };

    /// The largest size of a coefficient.
    pub const LARGEST: i64 = 8_000_000_000;

    /// A constant number of rounds.
    #[must_use]
    pub const fn constant(looks: u32) -> Self {
        Self {
            by: [looks as i64 * 1_000_000, 0, 0],
            most: looks,
        }
    }

    /// The number of rounds at that contention.
    #[inline]
    #[must_use]
    pub fn at(&self, contention: u32) -> u32 {
        // In sixteenths, so that the greatest square times the largest coefficient does not
        // overflow.
        const PART: i64 = 16;
        let inverse = PART * i64::from(WHOLE) / i64::from(contention.max(1));
        let [constant, linear, square] = self.by;
        let linear = linear.saturating_mul(inverse) / PART;
        let square = square.saturating_mul(inverse * inverse) / (PART * PART);
        let looks = constant.saturating_add(linear).saturating_add(square) / 1_000_000;
        looks.clamp(0, i64::from(self.most)) as u32
    }
}

impl Thresholds {
    /// The usual ones.
    pub const USUAL: Self = Self {
        serves: 100,
        waits: 100_000,
        brings: WHOLE / 10,
        strict: WHOLE * 48 / 100,
        boundary: 4,
        idle: Idle::USUAL,
    };

    /// The greatest sensible number of rounds, changed votes and empty rounds.
    pub const MOST: u32 = 1_000_000;

    /// Whether all are in range.
    #[must_use]
    pub fn are_sound(&self) -> bool {
        let coefficients = self.idle.by.iter();
        (1..=Self::MOST).contains(&self.serves)
            && self.brings <= WHOLE
            && self.strict <= WHOLE
            && self.boundary <= Self::MOST
            && self.idle.most <= Self::MOST
            && coefficients
                .into_iter()
                .all(|size| size.unsigned_abs() <= Idle::LARGEST.unsigned_abs())
    }

    /// Parses the value of `COHORT_SANL`, nine numbers: `T_s`, `T_w` in nanoseconds, `θ_l` and
    /// `θ_f` in 1024ths, the boundary, the maximum of `L_s` and its three coefficients.
    ///
    /// ```
    /// use cohort_raw::Thresholds;
    ///
    /// let text = Thresholds::USUAL.to_string();
    /// assert_eq!(Thresholds::read(&text), Some(Thresholds::USUAL));
    /// assert_eq!(Thresholds::read("100"), None);
    /// ```
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let mut size = || -> Option<u64> { parts.next()?.parse().ok() };
        let (serves, waits, brings) = (size()?, size()?, size()?);
        let (strict, boundary, most) = (size()?, size()?, size()?);
        let mut coefficient = || -> Option<i64> { parts.next()?.parse().ok() };
        let by = [coefficient()?, coefficient()?, coefficient()?];
        let small = |number: u64| u32::try_from(number).ok();
        let read = Self {
            serves: small(serves)?,
            waits,
            brings: small(brings)?,
            strict: small(strict)?,
            boundary: small(boundary)?,
            idle: Idle {
                by,
                most: small(most)?,
            },
        };
        (parts.next().is_none() && read.are_sound()).then_some(read)
    }
}

/// Prints the value of `COHORT_SANL`.
impl fmt::Display for Thresholds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            serves,
            waits,
            brings,
            strict,
            boundary,
            idle: Idle { by, most },
        } = self;
        write!(f, "{serves},{waits},{brings},{strict},{boundary},{most}")?;
        by.iter().try_for_each(|by| write!(f, ",{by}"))
    }
}

/// A delegate with configurable thresholds.
pub trait Tunable: Delegate {
    /// A free delegate with those thresholds.
    fn with(thresholds: &Thresholds) -> Self;
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::ToString;

    #[test]
    fn looks_in_vain_follow_the_quadratic() {
        assert_eq!(Idle::USUAL.at(WHOLE), 4);
        assert_eq!(Idle::USUAL.at(WHOLE / 2), 6);
        assert_eq!(Idle::USUAL.at(1), 1000);
        assert_eq!(Idle::USUAL.at(0), 1000);
        assert_eq!(Idle::constant(7).at(1), 7);
        let steep = Idle {
            by: [-5_000_000, 0, 1_500_000],
            most: 100,
        };
        assert_eq!(steep.at(WHOLE), 0);
        assert_eq!(steep.at(WHOLE / 4), 19);
        assert_eq!(steep.at(1), 100);
        let largest = Idle {
            by: [-Idle::LARGEST, Idle::LARGEST, -Idle::LARGEST],
            most: 9,
        };
        assert_eq!(largest.at(1), 0);
    }

    #[test]
    fn what_is_out_of_range_is_noticed() {
        assert!(Thresholds::USUAL.are_sound());
        let unsound = [
            Thresholds {
                serves: 0,
                ..Thresholds::USUAL
            },
            Thresholds {
                brings: WHOLE + 1,
                ..Thresholds::USUAL
            },
            Thresholds {
                strict: u32::MAX,
                ..Thresholds::USUAL
            },
            Thresholds {
                idle: Idle {
                    by: [0, i64::MIN, 0],
                    most: 1,
                },
                ..Thresholds::USUAL
            },
        ];
        assert!(unsound.iter().all(|thresholds| !thresholds.are_sound()));
    }

    #[test]
    fn thresholds_are_read_as_they_are_printed() {
        let tuned = Thresholds {
            waits: u64::MAX,
            brings: 102,
            idle: Idle {
                by: [-17_947_965, 10_908_036, -229_620],
                most: 1000,
            },
            ..Thresholds::USUAL
        };
        assert_eq!(Thresholds::read(&tuned.to_string()), Some(tuned));
        for wrong in [
            "",
            "1,2,3",
            "0,100000,102,491,4,1000,2000000,2000000,0",
            "100,100000,1025,491,4,1000,2000000,2000000,0",
            "100,100000,102,-1,4,1000,2000000,2000000,0",
            "100,100000,102,491,4,1000,2000000,2000000,many",
            "100,100000,102,491,4,1000,2000000,2000000,9000000000",
            "100,100000,102,491,4,1000,2000000,2000000,0,0",
        ] {
            assert_eq!(Thresholds::read(wrong), None, "{wrong}");
        }
    }
}
