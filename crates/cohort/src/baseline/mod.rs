//! Baselines for comparisons: the C library's locks, and mutexes as in many libraries.  They use
//! the platform layer, so the comparison also runs on a simulated machine.
//!
//! Natively `posix` (or `system`) means the C library itself, in the program's version.  The locks
//! here follow the public description of glibc's, for places without one;
//! [`for_each_baseline!`](crate::for_each_baseline) lists them beside the catalogue.

pub mod posix;
pub mod posix_rwlock;
pub mod spin_then_park;

pub use posix::{Posix, PosixAdaptive};
pub use posix_rwlock::PosixRwLock;
pub use spin_then_park::{SpinPark, SpinPark4};
