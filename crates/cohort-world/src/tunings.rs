//! The numbers by which locks go that can be tuned to a machine.

use cohort::Thresholds;
use cohort::adaptive::Tuning;

/// The numbers of each such lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunings {
    /// Those of locks that sections are brought to.
    pub sanl: Thresholds,
    /// Those of `glk`, and of `glk-plus`.
    pub glk: Tuning,
}

impl Tunings {
    /// As papers have them.
    pub const USUAL: Self = Self {
        sanl: Thresholds::USUAL,
        glk: Tuning::USUAL,
    };
}
