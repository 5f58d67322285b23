//! What the C library does.

mod posix;
mod posix_rwlock;
mod spin_then_park;
