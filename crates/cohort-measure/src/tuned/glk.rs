//! Thresholds of `glk`: a table for `cohort run --config`, with its origin.

use super::shape::Shape;
use cohort::adaptive::Tuning;
use serde::Deserialize;

/// `[glk.tuned]`: origin of the parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The machine.
    pub machine: String,
    /// The fingerprint of its file, if it was simulated.
    pub fingerprint: Option<String>,
    /// The machine's [`Shape`].
    pub shape: String,
    /// The seed of all random choices.
    pub seed: u64,
}

/// The text of a file of thresholds, below the command that made it.
#[must_use]
pub fn text(
    command: &str,
    tuning: &Tuning,
    machine: &str,
    fingerprint: Option<&str>,
    shape: &Shape,
    seed: u64,
) -> String {
    let fingerprint = fingerprint
        .map(|fingerprint| format!("fingerprint = \"{fingerprint}\"\n"))
        .unwrap_or_default();
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
         machine = \"{machine}\"\n\
         {fingerprint}\
         shape = \"{shape}\"\n\
         seed = {seed}\n",
        tuning.up, tuning.down, tuning.sample, tuning.consider,
    )
}
