//! Parameters of tunable locks.

use cohort::Thresholds;
use cohort::adaptive::Tuning;

/// Parameters of each tunable lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunings {
    /// Parameters of delegation locks.
    pub sanl: Thresholds,
    /// Parameters of `glk` and `glk-plus`.
    pub glk: Tuning,
}

impl Tunings {
    /// The papers' values.
    pub const USUAL: Self = Self {
        sanl: Thresholds::USUAL,
        glk: Tuning::USUAL,
    };
}
