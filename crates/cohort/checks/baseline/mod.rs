//! The C library's locks.

mod posix;
mod posix_rwlock;
mod spin_then_park;
