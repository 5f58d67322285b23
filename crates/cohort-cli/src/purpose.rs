//! The purpose of observing a program.

use clap::ValueEnum;
use serde::Serialize;

/// Purpose of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Finding errors, at that level.
    Debug(Scope),
    /// Finding lost time.
    Profile,
    /// Recording lock operations, in at most as many chunks.
    Record(u32),
    /// Use by later commands while the program runs.
    Watch,
}

/// How much is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Deadlocks, and waits for a thread that has ended; almost no overhead
    Stuck,
    /// Also misuse: unlock by a non-owner or of a free lock, double lock, destruction in use,
    /// use after destruction, missing initialisation, held by an ended thread
    Owner,
    /// Also inconsistent lock order, a potential deadlock
    Order,
}

impl Scope {
    /// The level's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Owner => "owner",
            Self::Order => "order",
        }
    }
}
