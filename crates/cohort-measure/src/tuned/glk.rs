//! Thresholds of `glk`: a table for `cohort run --config`, with its origin.

use super::origin::Origin;
use cohort::adaptive::Tuning;

/// The text of a file of thresholds, below the command that made it.
#[must_use]
pub fn text(command: &str, tuning: &Tuning, origin: &Origin) -> String {
    format!(
        "# {command}\n\n\
         [glk]\n\
         # Mean queue lengths, including the holder: above `up` ticket becomes mcs, below `down` the reverse.\n\
         up = {}\n\
         down = {}\n\
         # Periods in critical sections: of queue samples, and of mode decisions.\n\
         sample = {}\n\
         consider = {}\n\n\
         [glk.tuned]\n\
         {origin}",
        tuning.up, tuning.down, tuning.sample, tuning.consider,
    )
}
