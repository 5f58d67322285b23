//! The origin of the parameters of `glk` and of `sanl`: a table beside theirs.

use super::shape::Shape;
use serde::Deserialize;
use std::fmt;

/// `[glk.tuned]` or `[sanl.tuned]`: the origin of parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The machine.
    pub machine: String,
    /// The fingerprint of its file, if it was simulated.
    pub fingerprint: Option<String>,
    /// The machine's [`Shape`].
    pub shape: String,
    /// The number of threads, if they depend on it.
    pub threads: Option<usize>,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Origin {
    /// The reason why the parameters are for another machine; none if they are its own.
    #[must_use]
    pub fn stranger(
        &self,
        machine: &str,
        fingerprint: Option<&str>,
        shape: &Shape,
    ) -> Option<String> {
        let same = match (fingerprint, &self.fingerprint) {
            (Some(here), Some(there)) => here == there && machine == self.machine,
            (None, None) => shape.to_string() == self.shape,
            _ => false,
        };
        (!same).then(|| format!("{} ({})", self.machine, self.shape))
    }
}

/// The table's lines.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "machine = \"{}\"", self.machine)?;
        if let Some(fingerprint) = &self.fingerprint {
            writeln!(f, "fingerprint = \"{fingerprint}\"")?;
        }
        writeln!(f, "shape = \"{}\"", self.shape)?;
        if let Some(threads) = self.threads {
            writeln!(f, "threads = {threads}")?;
        }
        writeln!(f, "seed = {}", self.seed)
    }
}
