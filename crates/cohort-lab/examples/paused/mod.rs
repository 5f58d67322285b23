//! `hbo` with other pauses.

use cohort_on_machine::numa::hbo::{Pauses, Tuning};

/// From the first bound of the pauses near the holder, and of those far from it, to the
/// largest, in nanoseconds.
#[derive(Debug)]
pub struct Paused<const NEAR: u64, const NEAR_MOST: u64, const FAR: u64, const FAR_MOST: u64>;

impl<const NEAR: u64, const NEAR_MOST: u64, const FAR: u64, const FAR_MOST: u64> Tuning
    for Paused<NEAR, NEAR_MOST, FAR, FAR_MOST>
{
    const NEAR: Pauses = Pauses {
        first: NEAR,
        most: NEAR_MOST,
    };
    const FAR: Pauses = Pauses {
        first: FAR,
        most: FAR_MOST,
    };
}
