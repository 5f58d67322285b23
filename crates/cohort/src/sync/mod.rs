//! What programs hold: data behind any lock, its guards, and what threads and tasks wait for.

pub(crate) mod barrier;
pub(crate) mod condvar;
pub(crate) mod delegated;
pub(crate) mod fair;
pub(crate) mod fair_release;
#[cfg(not(checker))]
pub(crate) mod interop;
pub(crate) mod lazy_lock;
pub(crate) mod mutex;
pub(crate) mod once;
pub(crate) mod once_lock;
pub(crate) mod pausing;
#[cfg(feature = "std")]
pub(crate) mod posting;
pub(crate) mod reentrant;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod token;
pub(crate) mod waking;
