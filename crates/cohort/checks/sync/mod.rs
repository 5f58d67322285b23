//! Data behind locks.

mod barrier;
mod delegated;
mod mutex;
mod once;
mod once_lock;
mod pausing;
mod posting;
mod semaphore;
mod token;
mod waking;
