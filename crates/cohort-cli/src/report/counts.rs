//! The totals of a report, and what they say about a gain.

use super::numbers::{grouped, percent};
use cohort::report::{Report, ServedKind};
use serde::Serialize;

/// Below this share of contended acquisitions, few threads ever wait.
const FEW: f64 = 0.001;

/// The numbers of acquisitions and of contended acquisitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Acquisitions of mutexes, rwlocks and spin locks that Cohort serves.
    pub acquired: u64,
    /// Acquisitions that found the lock held.
    pub contended: u64,
    /// Acquisitions of mutexes that the C library serves.
    pub left_to_libc: u64,
}

impl Counts {
    /// The counts of all locks in a report.
    pub fn of(report: &Report) -> Self {
        let mut counts = Self::default();
        for kind in ServedKind::ALL {
            let (acquired, contended) = report.total(kind);
            match kind {
                ServedKind::CondWait | ServedKind::CondSignal => {}
                ServedKind::Libc => counts.left_to_libc += acquired,
                _ => {
                    counts.acquired += acquired;
                    counts.contended += contended;
                }
            }
        }
        counts
    }

    /// "0.04 % of 2.8 M acquisitions contended".
    pub fn in_words(self) -> String {
        let found = match self.contended {
            0 => "none".to_owned(),
            contended => percent(contended, self.acquired),
        };
        let noun = if self.acquired == 1 {
            "acquisition"
        } else {
            "acquisitions"
        };
        format!("{found} of {} {noun} contended", short(self.acquired))
    }

    /// The statement about a gain that the counts alone permit, if any.
    pub fn judgement(self) -> Option<String> {
        if self.acquired == 0 {
            let whose = match self.left_to_libc {
                0 => "",
                _ => " of locks that Cohort serves",
            };
            return Some(format!("0 acquisitions{whose}: nothing to gain"));
        }
        if self.contended == 0 {
            return Some(format!("{}: nothing to gain", self.in_words()));
        }
        let is_few = (self.contended as f64) < FEW * self.acquired as f64;
        is_few.then(|| format!("{}: expect no gain", self.in_words()))
    }
}

/// Whether contention is unknown, or meaningless, for a kind of locks.
pub fn uncounted(kind: ServedKind, contended: u64) -> bool {
    match kind {
        // Waiting for an event is not contention, and signals do not wait.
        ServedKind::CondWait | ServedKind::CondSignal => true,
        // The C library's internal waits are not visible.
        ServedKind::Libc => contended == 0,
        _ => false,
    }
}

/// A count in few digits.
fn short(number: u64) -> String {
    match number {
        0..=99_999 => grouped(number),
        100_000..=999_499 => format!("{:.0} k", number as f64 / 1e3),
        _ => format!("{:.1} M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_tell_where_nothing_can_be_gained() {
        let said = |acquired, contended, left_to_libc| {
            let counts = Counts {
                acquired,
                contended,
                left_to_libc,
            };
            counts.judgement()
        };
        assert_eq!(said(0, 0, 0).unwrap(), "0 acquisitions: nothing to gain");
        let elsewhere = said(0, 0, 9).unwrap();
        assert!(elsewhere.contains("that Cohort serves"), "{elsewhere}");
        assert_eq!(
            said(5, 0, 0).unwrap(),
            "none of 5 acquisitions contended: nothing to gain"
        );
        assert_eq!(
            said(2_800_000, 1_120, 0).unwrap(),
            "0.04 % of 2.8 M acquisitions contended: expect no gain"
        );
        assert_eq!(said(1_000, 1, 0), None);
    }
}
