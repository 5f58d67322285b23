//! Parts for native programs only: the standard library's time, and other crates' traits. No lock
//! uses them, and no checker has them.

#[cfg(feature = "std")]
mod arc;
#[cfg(feature = "lock_api")]
pub mod compat;
#[cfg(feature = "std")]
mod instant;
#[cfg(feature = "lock_api")]
mod lock_api;
#[cfg(feature = "lock_api_05")]
pub mod lock_api_05;
#[cfg(feature = "serde")]
mod serde;

#[cfg(feature = "std")]
pub use arc::{ArcMutexGuard, ArcReadGuard, ArcWriteGuard};
