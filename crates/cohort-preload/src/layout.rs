//! Layout of Cohort's state in the C library's objects.
//!
//! The static initialisers and `sizeof` of the program's headers are fixed. Fields that they set to
//! nonzero values keep their offsets.
//!
//! Some programs use the bytes of an idle mutex as another type without initialising it. The C
//! library tolerates that, because its idle mutex is all zero. Cohort's leftovers fall on bytes
//! with the same meaning or none in the other types: the futex's mode on the mode of their inner
//! futex; a flag's haste and the generation on unused bytes. This fails under `ticket`: its
//! counters stay, and where `c-rw-np` or `c-rw-wp` serves rwlocks.

use crate::libc::Attributes;
use cohort::condvar::RawCondvar;
use cohort::host::served::Object;
use cohort::numa::FutexHmcs;
use cohort::rwlock::RawRwLock;
use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize};

/// `pthread_mutex_t` and `mtx_t`: 40 bytes.
#[repr(C)]
pub struct Mutex {
    /// The lock of the default choice.
    pub futex: FutexHmcs,
    /// The owner of a recursive or error-checking mutex; see [`crate::owner`].
    pub owner: AtomicUsize,
    /// `__kind`: set by static initialisers.
    pub kind: AtomicI32,
    /// Lock depth of a recursive mutex. Of a plain one, where threads are observed, the mutex's
    /// number in the process.
    pub count: AtomicU32,
    /// The lock of any other choice than the default.
    pub body: UnsafeCell<[u64; 2]>,
}

impl Mutex {
    /// The mutex as an object of the catalogue's locks.
    #[inline(always)]
    pub fn served(&self) -> &Object {
        // SAFETY: of the same size, as asserted below; all its bytes may change through a shared
        // reference.
        unsafe { &*ptr::from_ref(self).cast() }
    }
}

#[cfg(feature = "observe")]
impl RwLock {
    /// Whether all bytes are zero that an initialiser could have written.
    pub fn is_unmarked(&self) -> bool {
        use core::sync::atomic::Ordering::Relaxed;
        let others = self.shared.load(Relaxed) | self.flags.load(Relaxed) & RWLOCK_KIND;
        self.mark.load(Relaxed) == 0 && others == 0
    }
}

#[cfg(feature = "observe")]
impl Mutex {
    /// The holder of a plain mutex, where threads are observed.
    #[inline(always)]
    pub fn holder(&self) -> &cohort::records::Holder {
        // SAFETY: an atomic of the same size; no plain mutex has an owner.
        unsafe { &*ptr::from_ref(&self.owner).cast() }
    }

    /// The number in the process of a recursive mutex under the default lock, where threads are
    /// observed: bytes behind the lock's own.
    #[inline(always)]
    pub fn behind(&self) -> &AtomicU32 {
        const LAST: usize = size_of::<[u64; 2]>() - size_of::<u32>();
        // SAFETY: the body's last word; all its bytes may change through a shared reference, and
        // under the default lock only this function uses them.
        unsafe { &*self.body.get().byte_add(LAST).cast() }
    }
}

/// `pthread_cond_t` and `cnd_t`: 48 bytes.
#[repr(C)]
pub struct Cond {
    pub queue: RawCondvar,
    /// One of them holds the [flags](Cond::flags).
    pub rest: [AtomicU32; REST],
}

/// Words of a condition behind the queue.
pub const REST: usize = 7;

/// In [`Cond::flags`], for an object of the C library too.
pub const COND_SHARED: u32 = 1;
/// In [`Cond::flags`].
pub const COND_MONOTONIC: u32 = 2;

/// Index of the flags among the condition's last words if it cannot be found: that of glibc 2.25 to
/// 2.40.
pub const USUAL: usize = 4;

/// `pthread_rwlock_t`: 56 bytes.
#[repr(C)]
pub struct RwLock {
    pub lock: RawRwLock,
    /// The writer; see [`crate::owner`].
    pub writer: AtomicUsize,
    /// The lock's number in the process, where threads are observed.
    pub identity: AtomicU32,
    /// `__shared`: set by `pthread_rwlock_init`.
    pub shared: AtomicU32,
    _padding3: u64,
    /// Nonzero: initialised, where `cohort-debug.h` marks initialisers.
    pub mark: AtomicUsize,
    /// `__flags`: set by static initialisers to [`PREFER_WRITER`]; Cohort uses its upper bits.
    pub flags: AtomicU32,
    _rest: u32,
}

/// The bits of the flags that the C library uses.
pub const RWLOCK_KIND: u32 = 0x7f;

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
pub const PREFER_WRITER: u32 = 2;

/// `pthread_spinlock_t`.
pub type Spin = AtomicU32;

const _: () = {
    assert!(size_of::<Mutex>() == 40);
    assert!(size_of::<Object>() == size_of::<Mutex>());
    assert!(align_of::<Object>() == align_of::<Mutex>());
    assert!(offset_of!(Object, word) == offset_of!(Mutex, futex));
    assert!(offset_of!(Mutex, kind) == 16);
    assert!(size_of::<Cond>() == 48);
    assert!(offset_of!(Cond, rest) + USUAL * size_of::<u32>() == 36);
    assert!(size_of::<RwLock>() == 56);
    assert!(offset_of!(RwLock, shared) == 28);
    assert!(offset_of!(RwLock, mark) == 40);
    assert!(offset_of!(RwLock, flags) == 48);
};

/// The bits of a mutex's kind that the C library sets: four kinds, robust, priority-inheriting,
/// priority-protecting, process-shared, and two for lock elision.
#[cfg(feature = "observe")]
pub const KINDS: i32 = 0x3f3;
/// `PTHREAD_MUTEX_NORMAL`.
pub const NORMAL: i32 = 0;
/// `PTHREAD_MUTEX_RECURSIVE`.
pub const RECURSIVE: i32 = 1;
/// `PTHREAD_MUTEX_ERRORCHECK`.
pub const ERRORCHECK: i32 = 2;
/// `PTHREAD_MUTEX_ADAPTIVE_NP`.
pub const ADAPTIVE: i32 = 3;
/// The kind of a destroyed mutex, so that its use is an error.
pub const DESTROYED: i32 = -1;

/// The C library's bits for or against lock elision; Cohort ignores them.
pub const ELISION: i32 = 0x300;

/// Bits of a mutex's kind to ignore: [`ELISION`] and, where mutexes have individual locks, the
/// lock.
#[cfg(not(feature = "compositions"))]
pub const NO_KIND: i32 = ELISION;
#[cfg(feature = "compositions")]
pub const NO_KIND: i32 = ELISION | cohort::host::assigned::BITS as i32;

/// Zeroes an object: the state of the static initialisers.
///
/// # Safety
/// `object` points to memory for an unused `T`.
pub unsafe fn clear<T>(object: *mut T) {
    // SAFETY: the caller's; every type above is valid when all zero.
    unsafe { object.write_bytes(0, 1) };
}

/// The attribute pointer of every `init`.
pub type Attr = *const Attributes;
