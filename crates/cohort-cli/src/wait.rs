//! How waiting threads wait: the values of `--wait`.

use serde::Deserialize;

/// How waiting threads wait.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Spin for a bounded time, yield for a few turns, then sleep
    #[default]
    Park,
    /// Never sleep: for programs with a CPU for every thread
    Spin,
    /// Never sleep, but give up the CPU at every look
    Yield,
}

impl Wait {
    /// The word that the library understands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Park => "park",
            Self::Spin => "spin",
            Self::Yield => "yield",
        }
    }
}
