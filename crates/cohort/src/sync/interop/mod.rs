//! Parts for native programs only: the standard library's time, and other crates' traits. No lock
//! uses them, and no checker has them.

#[cfg(all(feature = "named", feature = "std"))]
mod any;
#[cfg(feature = "std")]
mod arc;
#[cfg(any(feature = "lock_api", feature = "lock_api_05"))]
pub mod compat;
#[cfg(feature = "std")]
mod instant;
#[cfg(feature = "lock_api")]
mod lock_api;
#[cfg(feature = "lock_api_05")]
pub mod lock_api_05;
#[cfg(feature = "named")]
#[cfg_attr(not(internals), doc(hidden))]
pub mod named;
#[cfg(feature = "serde")]
mod serde;

#[cfg(all(feature = "named", feature = "std"))]
pub use any::{AnyLock, AnyMutex, UnknownLock};
#[cfg(feature = "std")]
pub use arc::{ArcMutexGuard, ArcReadGuard, ArcWriteGuard, LockArcAsync};
