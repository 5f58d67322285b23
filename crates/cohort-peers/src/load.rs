//! Loads for each lock, each run in a process of its own.

use cohort_lab::workloads::address::{self, ByAddress};
use cohort_lab::workloads::{Exclusion, Outcome, Sharing, handover, mutex, rwlock, uncontended};

/// A load.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Load {
    /// Lock and unlock an uncontended lock
    Alone(uncontended::Options),
    /// Two threads on two CPUs hand a lock to each other
    HandOver(handover::Options),
    /// Threads take one lock in turn
    Crowd(mutex::Load),
    /// Threads read and write under one rwlock
    Share(rwlock::Options),
    /// Threads take locks that they find by addresses
    Keys(address::Load),
}

impl Load {
    /// Runs the load.  Blocks.
    pub fn under(&self, lock: &impl Exclusion) -> Result<Outcome, String> {
        match self {
            Self::Alone(options) => uncontended::under(lock, options),
            Self::HandOver(options) => handover::under(lock, options),
            Self::Crowd(options) => mutex::under(lock, options),
            Self::Share(_) => Err("it has no readers".to_owned()),
            Self::Keys(_) => Err("it is one lock, and found by nothing".to_owned()),
        }
    }

    /// Runs the load of readers and writers. Blocks.
    pub fn shared(&self, lock: &impl Sharing) -> Result<Outcome, String> {
        match self {
            Self::Share(options) => rwlock::under(lock, options),
            _ => Err("it is a rwlock".to_owned()),
        }
    }

    /// Runs the load with locks found by address. Blocks.
    pub fn by_address(&self, locks: &impl ByAddress) -> Result<Outcome, String> {
        match self {
            Self::Keys(options) => address::under(locks, options),
            _ => Err("it is no single lock".to_owned()),
        }
    }
}
