//! Atoms: loom's, with the written values beside them.
//!
//! Dropping an atom counts as a plain write to it. A thread that destroys a lock must be ordered
//! after all other accesses to it, and loom reports a violation.
//!
//! Loom does not know that a read-modify-write is indivisible: where a plain store races with one,
//! loom also tries later ones that overlook the store. No machine does that. So loom's own atom
//! holds only the number of a write, and its value is kept beside it. An execution ends, uncounted,
//! where a read-modify-write finds another number than the last. In locks with plain-store
//! releases, those stores are exchanges here: loom then knows the order, and orders a little more
//! than a store does.

use super::std;
use core::cell;
use loom::sync::atomic;
use std::vec::Vec;

/// An atom; see `core::sync::atomic`.
#[derive(Debug)]
pub struct Atom<V> {
    /// The number of the write that a thread sees here.
    pub(super) write: atomic::AtomicUsize,
    /// The written values, by number.
    pub(super) values: cell::RefCell<Vec<V>>,
    /// The number of the last write.
    pub(super) latest: cell::Cell<usize>,
}

/// An atomic `u32`.
pub type AtomicU32 = Atom<u32>;
/// An atomic `u64`.
pub type AtomicU64 = Atom<u64>;
/// An atomic `usize`.
pub type AtomicUsize = Atom<usize>;
/// An atomic pointer.
pub type AtomicPtr<T> = Atom<*mut T>;

// SAFETY: an atom may be sent whatever it points to, as the core library's may.
unsafe impl<V> Send for Atom<V> {}
// SAFETY: loom runs all threads of a model on one thread of the system.
unsafe impl<V> Sync for Atom<V> {}

impl<V> Atom<V> {
    /// An atom holding `value`.
    #[must_use]
    pub fn new(value: V) -> Self {
        Self {
            write: atomic::AtomicUsize::new(0),
            values: cell::RefCell::new(Vec::from([value])),
            latest: cell::Cell::new(0),
        }
    }
}
