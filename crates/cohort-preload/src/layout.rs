//! Where our state lies in the C library's objects.
//!
//! The static initialisers and `sizeof` of the program's headers are fixed; what
//! they set to something other than zero stays where it is.
//!
//! Some programs use the bytes of an idle mutex as another type without initialising
//! it, which the C library lets pass because its idle mutex is all zero.  What ours
//! leaves behind falls where the other types have the same thing or nothing: the
//! futex's mode on the mode of their own inner futex, a flag's haste and the generation
//! on bytes they do not use.  (Not so under `ticket`, whose counters stay, nor where rwlocks are served by cohort.)

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
    /// How often the owner of a recursive mutex has locked it.  Of a plain one, where threads are
    /// observed, which of the process's mutexes it is.
    pub count: AtomicU32,
    /// The lock of any other choice.
    pub body: UnsafeCell<[u64; 2]>,
}

impl Mutex {
    /// The mutex as a lock of the catalogue serves it.
    #[inline(always)]
    pub fn served(&self) -> &Object {
        // SAFETY: of the same size, as asserted below; all its bytes may be changed through a
        // shared reference.
        unsafe { &*ptr::from_ref(self).cast() }
    }
}

#[cfg(feature = "observe")]
impl Mutex {
    /// Of a plain one, where threads are observed, the thread that holds it.
    #[inline(always)]
    pub fn holder(&self) -> &cohort::records::Holder {
        // SAFETY: an atom of the same size; no plain mutex has an owner.
        unsafe { &*ptr::from_ref(&self.owner).cast() }
    }

    /// Of a recursive one that the default lock serves, where threads are observed, which of the
    /// process's mutexes it is: bytes behind those that such a lock uses.
    #[inline(always)]
    pub fn behind(&self) -> &AtomicU32 {
        const LAST: usize = size_of::<[u64; 2]>() - size_of::<u32>();
        // SAFETY: the body's last word; all bytes of it may be changed through a shared reference,
        // and only this does under such a lock.
        unsafe { &*self.body.get().byte_add(LAST).cast() }
    }
}

/// `pthread_cond_t` and `cnd_t`: 48 bytes.
#[repr(C)]
pub struct Cond {
    pub queue: RawCondvar,
    /// One of them is the [flags'](Cond::flags).
    pub rest: [AtomicU32; REST],
}

/// Words of a condition behind the queue.
pub const REST: usize = 7;

/// In [`Cond::flags`], for an object of the C library too.
pub const COND_SHARED: u32 = 1;
/// In [`Cond::flags`].
pub const COND_MONOTONIC: u32 = 2;

/// Which of the condition's last words the flags are where the C library does not say: that of its
/// versions 2.25 to 2.40.
pub const USUAL: usize = 4;

/// `pthread_rwlock_t`: 56 bytes.
#[repr(C)]
pub struct RwLock {
    pub lock: RawRwLock,
    /// The writer; see [`crate::owner`].
    pub writer: AtomicUsize,
    /// Which of the process's locks it is, where threads are observed.
    pub identity: AtomicU32,
    /// `__shared`: set by `pthread_rwlock_init`.
    pub shared: AtomicU32,
    _padding3: [u64; 2],
    /// `__flags`: set by static initialisers to [`PREFER_WRITER`]; its upper bits are ours.
    pub flags: AtomicU32,
    _rest: u32,
}

/// What the C library has of its flags.
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
    assert!(offset_of!(RwLock, flags) == 48);
};

/// The bits of a mutex's kind that the C library sets: four kinds, robust, priority-inheriting,
/// priority-protecting, process-shared, and two that say whether locks may be elided.
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
/// What a destroyed mutex's kind is, so that its use is an error.
pub const DESTROYED: i32 = -1;

/// The C library's marks for or against lock elision say nothing to us.
pub const ELISION: i32 = 0x300;

/// What of a mutex's kind says nothing of what kind it is: those, and which lock serves it, where
/// mutexes have locks of their own.
#[cfg(not(feature = "compositions"))]
pub const NO_KIND: i32 = ELISION;
#[cfg(feature = "compositions")]
pub const NO_KIND: i32 = ELISION | cohort::host::assigned::BITS as i32;

/// Zeroes an object: the state of the static initialisers.
///
/// # Safety
/// `object` points to memory for a `T` that nobody uses.
pub unsafe fn clear<T>(object: *mut T) {
    // SAFETY: the caller's; every type above is good when all zero.
    unsafe { object.write_bytes(0, 1) };
}

/// The attribute pointer that every `init` takes.
pub type Attr = *const Attributes;
