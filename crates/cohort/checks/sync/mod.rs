//! Data behind locks.

mod delegated;
mod mutex;
mod once;
mod pausing;
mod posting;
mod token;
mod waking;
