//! `c-rw-np` and `c-rw-wp` in a `pthread_rwlock_t`. Only in the library with the compositions; the
//! other one stays small.
//!
//! Some programs use the bytes of an idle mutex as an uninitialised rwlock; see [`crate::layout`].
//! Such a mutex must be all zero here, and Cohort's are not: these words occupy the bytes that it
//! leaves set.

use crate::choice::{Choice, Rwlocks, choice, rwlocks};
use crate::layout::{Mutex, RwLock};
use crate::owner::{self, NOBODY};
use cohort::Patience;
use cohort::door::AtomicU32;
use cohort::host::Generation;
use cohort::host::served::Service;
use cohort::numa::FutexHmcs;
use cohort::rwlock::object::{Object, Owed, Writers};
use cohort::rwlock::{Count, Table};
use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// View of an [`RwLock`]'s bytes. Its lock and unused bytes hold these words and a [`Mutex`] for
/// the writers.
#[repr(C)]
struct Body {
    readers: Count,
    name: AtomicU32,
    /// Of the writers' mutex: its first field. `_body` is its last one.
    futex: FutexHmcs,
    /// The writer; see [`crate::owner`].
    writer: AtomicUsize,
    phase: AtomicU32,
    /// `__shared`.
    _shared: AtomicU32,
    _body: UnsafeCell<[u64; 2]>,
    /// Above `__flags`, which has its lowest bits.
    owed: Owed,
    generation: Generation,
}

const _: () = {
    const AT: usize = offset_of!(Body, futex);
    assert!(AT + offset_of!(Mutex, futex) == offset_of!(Body, futex));
    assert!(AT + offset_of!(Mutex, owner) == offset_of!(Body, writer));
    assert!(AT + offset_of!(Mutex, kind) == offset_of!(Body, phase));
    assert!(AT + offset_of!(Mutex, count) == offset_of!(Body, _shared));
    assert!(AT + offset_of!(Mutex, body) == offset_of!(Body, _body));
    assert!(size_of::<Body>() == size_of::<RwLock>());
    assert!(offset_of!(Body, writer) == offset_of!(RwLock, writer));
    assert!(offset_of!(Body, _shared) == offset_of!(RwLock, shared));
    assert!(offset_of!(Body, owed) == offset_of!(RwLock, flags));
};

/// Cohorts with rows of their own, and locks with slots of their own.
const ROWS: usize = 32;
const SLOTS: usize = 256;

/// Reader counts of all rwlocks, except counts held in the rwlocks themselves.
static TABLE: Table<ROWS, SLOTS> = Table::new();

/// The mutex of an rwlock's writers.
pub struct OfWriters {
    body: *const Body,
}

impl OfWriters {
    /// The lock's service.
    fn service(&self) -> &'static Service {
        match choice().0 {
            Choice::Ours(service) => service,
            Choice::System => unreachable!("its rwlocks would be the C library's"),
        }
    }

    fn mutex(&self) -> &Mutex {
        // SAFETY: the bytes of a mutex lie there, as asserted above. All of them may change through
        // a shared reference, and every value is valid. Services touch neither its owner nor its
        // kind nor its count, which have other meanings here.
        unsafe {
            &*self
                .body
                .wrapping_byte_add(offset_of!(Body, futex))
                .cast::<Mutex>()
        }
    }

    fn writer(&self) -> &AtomicUsize {
        // SAFETY: the rwlock is the program's for as long as this call of it lasts.
        unsafe { &(*self.body).writer }
    }
}

impl Writers for OfWriters {
    fn acquire(&self) {
        // SAFETY: only the process's lock serves the mutex; so for all below.
        unsafe { (self.service().pair.lock)(self.mutex().served()) };
    }

    fn try_acquire(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.service().try_lock)(self.mutex().served()) }
    }

    fn acquire_within(&self, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { (self.service().lock_within)(self.mutex().served(), patience) }
    }

    unsafe fn release(&self) {
        // SAFETY: as above, and the caller may unlock.
        unsafe { (self.service().pair.unlock)(self.mutex().served()) };
    }

    unsafe fn forget(&self) {
        // SAFETY: as above, and no thread of this process uses the mutex.
        unsafe { (self.service().forget)(self.mutex().served()) };
    }

    fn has_waiters(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.service().has_waiters)(self.mutex().served()) }
    }

    fn begin(&self) {
        self.writer().store(owner::me(), Relaxed);
    }

    fn end(&self) {
        self.writer().store(NOBODY, Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.writer().load(Relaxed) != NOBODY
    }
}

/// The lock, if `c-rw-np` or `c-rw-wp` serves rwlocks.
#[inline]
pub fn of(lock: &RwLock) -> Option<Object<'_, OfWriters, ROWS, SLOTS>> {
    let is_neutral = match rwlocks() {
        Rwlocks::Neutral => true,
        Rwlocks::WritersFirst => false,
        Rwlocks::Word | Rwlocks::System => return None,
    };
    let body: *const Body = ptr::from_ref(lock).cast();
    // SAFETY: of the same size; every value is valid, and all bytes may change through a shared
    // reference.
    let words = unsafe { &*body };
    Some(Object {
        table: &TABLE,
        readers: &words.readers,
        name: &words.name,
        owed: &words.owed,
        phase: &words.phase,
        generation: &words.generation,
        writers: OfWriters { body },
        is_neutral,
    })
}
