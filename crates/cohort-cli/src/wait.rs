//! How waiting threads wait: the values of `--wait`.

use serde::Deserialize;

/// How waiting threads wait.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, clap::ValueEnum)]
#[serde(try_from = "String")]
pub enum Wait {
    /// Spin for a bounded time, yield a few times, then sleep
    #[default]
    Park,
    /// Spin only, for programs with a CPU for every thread
    Spin,
    /// Yield at every poll, without sleeping
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

impl TryFrom<String> for Wait {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        [Self::Park, Self::Spin, Self::Yield]
            .into_iter()
            .find(|wait| wait.name() == name)
            .ok_or_else(|| format!("found `{name}`, expected `park`, `spin` or `yield`"))
    }
}
