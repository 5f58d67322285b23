//! What locks are compared with: the C library's own, and mutexes as many libraries have
//! them, as algorithms over the door, so that the same comparison can be made on a simulated
//! machine.
//!
//! Natively `posix` (or `system`) means the C library itself, of whatever version the
//! program runs with.  These here follow the public description of glibc's and are
//! for places without one; [`for_each_baseline!`](crate::for_each_baseline) lists
//! them beside the catalogue.

pub mod posix;
pub mod posix_rwlock;
pub mod spin_then_park;

pub use posix::{Posix, PosixAdaptive};
pub use posix_rwlock::PosixRwLock;
pub use spin_then_park::{SpinPark, SpinPark4};
