//! `cohort_lock_t`: any lock of the catalogue, or a composition described by a text, created by
//! name.

use crate::libc::{
    EBUSY, EINVAL, ENOMEM, EPERM, ETIMEDOUT, aligned_alloc, free, set_errno, strlen, timespec,
};
use crate::observed::{At, from_here, may_be_observed};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::Patience;
use cohort::context::{ALIGN, BYTES};
use cohort::door::{Doing, How};
use cohort::made::Made;
use cohort::named::{Named, Wrong};
use core::ffi::{c_char, c_int};
use core::fmt::{self, Write};
use core::ptr::{self, NonNull, with_exposed_provenance, with_exposed_provenance_mut};
use core::{slice, str};

/// State of one acquisition, in the caller's memory: aligned to a cache line, with any content. It
/// must not move until the lock is released.
#[repr(C, align(64))]
pub struct cohort_context_t {
    _bytes: [u8; 128],
}

const _: () = assert!(BYTES <= size_of::<cohort_context_t>());
const _: () = assert!(ALIGN <= align_of::<cohort_context_t>());

/// Lock created by its name.
#[expect(non_camel_case_types, reason = "as C has it")]
pub type cohort_lock_t = Made;

/// Creates the lock of a name; null without memory.
fn make(named: &Named) -> *mut cohort_lock_t {
    let room = named.room();
    // SAFETY: the alignment is a power of two, and the size a multiple of it.
    let place = unsafe { aligned_alloc(room.align(), room.size()) };
    let Some(place) = NonNull::new(place.cast::<u8>()) else {
        return ptr::null_mut();
    };
    // SAFETY: memory of that size, exclusively the caller's.
    unsafe { named.make_at(place) }.as_ptr()
}

/// Mistake in a name.
enum Mistaken<'a> {
    NoText,
    Wrong(Wrong<'a>),
}

impl fmt::Display for Mistaken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoText => f.write_str("a name is a text in UTF-8"),
            Self::Wrong(wrong) => write!(f, "{wrong}"),
        }
    }
}

/// # Errors
/// The mistake in the name.
///
/// # Safety
/// Null, or a text that outlives the result.
unsafe fn find<'a>(name: *const c_char) -> Result<Named, Mistaken<'a>> {
    if name.is_null() {
        return Err(Mistaken::NoText);
    }
    // SAFETY: the caller's.
    let bytes = unsafe { slice::from_raw_parts(name.cast::<u8>(), strlen(name)) };
    let name = str::from_utf8(bytes).map_err(|_| Mistaken::NoText)?;
    Named::find(name).map_err(Mistaken::Wrong)
}

/// The lock at that address.
macro_rules! at {
    ($lock:expr) => {
        // SAFETY: the caller's: null, or a lock.
        match unsafe { $lock.as_ref() } {
            Some(lock) => lock,
            None => return EINVAL,
        }
    };
}

/// Creates a lock by its name in `cohort list`, or by a composition such as
/// `clof:ticket-clh-mcs@cache,numa,system`; see `cohort run --help`. Null, with `errno` `EINVAL`
/// for an unknown name (`cohort_lock_explain` gives the reason) or `ENOMEM`.
///
/// # Safety
/// Null, or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_new(name: *const c_char) -> *mut cohort_lock_t {
    // SAFETY: the caller's.
    let made = match unsafe { find(name) } {
        Ok(named) => make(&named),
        Err(_) => {
            set_errno(EINVAL);
            return ptr::null_mut();
        }
    };
    if made.is_null() {
        set_errno(ENOMEM);
    }
    made
}

/// Writes the mistake in a name into `size` bytes, as `snprintf` does; an empty text for a valid
/// name. 0, or `EINVAL` for an invalid name.
///
/// # Safety
/// The name is null or a text; the bytes are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_explain(
    name: *const c_char,
    buffer: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the caller's.
    let found = unsafe { find(name) };
    if !buffer.is_null() && size > 0 {
        // SAFETY: the caller's.
        let bytes = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), size) };
        let mut cut = Cut { bytes, length: 0 };
        if let Err(why) = &found {
            let _ = write!(cut, "{why}");
        }
        cut.bytes[cut.length] = 0;
    }
    found.map_or(EINVAL, |_| 0)
}

/// Text in a buffer, truncated to fit.
struct Cut<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - 1 - self.length;
        let taken = text.floor_char_boundary(room);
        self.bytes[self.length..][..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        Ok(())
    }
}

/// Destroys a lock and frees its memory. `EBUSY` if a thread holds it; the lock remains valid. No
/// effect for null.
///
/// # Safety
/// Null, or a lock that is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_free(lock: *mut cohort_lock_t) -> c_int {
    // SAFETY: the caller's.
    let Some(face) = (unsafe { lock.as_ref() }) else {
        return 0;
    };
    face.settle();
    if face.is_locked() {
        return EBUSY;
    }
    // SAFETY: the caller's; made by `make`, in one piece.
    unsafe {
        Made::drop_at(NonNull::from(face));
        free(lock.cast());
    }
    0
}

/// Blocks until the lock is acquired. A thread that already holds it deadlocks.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*lock)
///
/// # Safety
/// Null, or a lock; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_acquire(lock: *mut cohort_lock_t) -> c_int {
    let face = at!(lock);
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(lock.expose_provenance(), 0, 0, |at, lock, _, _| {
                report(at, Doing::Lock, lock, |lock| {
                    lock.acquire();
                    0
                })
            })
        };
    }
    face.acquire();
    0
}

/// Acquires the lock, or returns `EBUSY` if it is held or has waiters; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_lock_acquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_acquire_try(lock: *mut cohort_lock_t) -> c_int {
    let face = at!(lock);
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(lock.expose_provenance(), 0, 0, |at, lock, _, _| {
                report(at, Doing::Nothing, lock, acquire_try)
            })
        };
    }
    acquire_try(face)
}

fn acquire_try(lock: &cohort_lock_t) -> c_int {
    if lock.try_acquire() { 0 } else { EBUSY }
}

/// Acquires a lock as `acquire` does, and reports it.
///
/// # Safety
/// The address of a lock.
unsafe fn report(
    at: &At,
    doing: Doing,
    lock: usize,
    acquire: impl FnOnce(&cohort_lock_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let face = unsafe { &*with_exposed_provenance::<cohort_lock_t>(lock) };
    face.settle();
    at.lock(doing, How::Own, lock, face.is_locked(), || acquire(face))
}

/// Releases a lock as `release` does, and reports it.
///
/// # Safety
/// The address of a lock.
unsafe fn report_release(
    at: &At,
    lock: usize,
    release: impl FnOnce(&cohort_lock_t) -> bool,
) -> c_int {
    // SAFETY: the caller's.
    let face = unsafe { &*with_exposed_provenance::<cohort_lock_t>(lock) };
    face.settle();
    at.unlock(How::Own, lock, face.is_locked(), || {
        if release(face) { 0 } else { EPERM }
    })
}

fn acquire_within(lock: &cohort_lock_t, patience: &Patience) -> c_int {
    if lock.acquire_within(patience) {
        0
    } else {
        ETIMEDOUT
    }
}

/// Blocks until the lock is acquired, or returns `ETIMEDOUT` at that time of `CLOCK_MONOTONIC` or
/// `CLOCK_REALTIME`. If the lock's queued waiters cannot give up, the caller does not queue: it
/// retries, and others may overtake it.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_lock_acquire`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_acquire_until(
    lock: *mut cohort_lock_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    let face = at!(lock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (lock, time) = (lock.expose_provenance(), time.expose_provenance());
            return from_here(lock, clock as usize, time, |at, lock, clock, time| {
                let time = with_exposed_provenance(time);
                report(at, Doing::Timed, lock, |lock| {
                    time::by(clock as c_int, time, |patience| {
                        acquire_within(lock, patience)
                    })
                })
            });
        }
        time::by(clock, time, |patience| acquire_within(face, patience))
    }
}

/// As `cohort_lock_acquire_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_lock_acquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_acquire_for(
    lock: *mut cohort_lock_t,
    nanoseconds: u64,
) -> c_int {
    let face = at!(lock);
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            let lock = lock.expose_provenance();
            from_here(lock, nanoseconds as usize, 0, |at, lock, nanoseconds, _| {
                report(at, Doing::Timed, lock, |lock| {
                    acquire_within(lock, &time::during(nanoseconds as u64))
                })
            })
        };
    }
    acquire_within(face, &time::during(nanoseconds))
}

/// Blocks until the lock is acquired, or returns `ECANCELED` once the token is cancelled. If the
/// lock's queued waiters cannot give up, the caller retries, as in `cohort_lock_acquire_until`.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_lock_acquire`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_acquire_unless(
    lock: *mut cohort_lock_t,
    token: *mut cohort_token_t,
) -> c_int {
    let face = at!(lock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (lock, token) = (lock.expose_provenance(), token.expose_provenance());
            return from_here(lock, token, 0, |at, lock, token, _| {
                let token = with_exposed_provenance_mut(token);
                report(at, Doing::Timed, lock, |lock| {
                    unless(token, |patience| acquire_within(lock, patience))
                })
            });
        }
        unless(token, |patience| acquire_within(face, patience))
    }
}

/// Releases the lock; `EPERM` if it is free, or was acquired by a context of the caller's. Any
/// thread may release a lock that another has acquired.
///
/// cbindgen:postfix=COHORT_RELEASE(*lock)
///
/// # Safety
/// As `cohort_lock_acquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_release(lock: *mut cohort_lock_t) -> c_int {
    let face = at!(lock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            return from_here(lock.expose_provenance(), 0, 0, |at, lock, _, _| {
                report_release(at, lock, |lock| lock.release())
            });
        }
        if face.release() { 0 } else { EPERM }
    }
}

/// `cohort_lock_acquire` with a context in the caller's memory, which needs no block of a pool.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*lock)
///
/// # Safety
/// As `cohort_lock_acquire`; the context is null, or exclusively the call's until the release
/// returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_acquire_by(
    lock: *mut cohort_lock_t,
    context: *mut cohort_context_t,
) -> c_int {
    let Some(place) = NonNull::new(context.cast()) else {
        return EINVAL;
    };
    let face = at!(lock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let context = context.expose_provenance();
            return from_here(
                lock.expose_provenance(),
                context,
                0,
                |at, lock, context, _| {
                    let context = NonNull::new(with_exposed_provenance_mut(context));
                    report(at, Doing::Lock, lock, |lock| {
                        context.map_or(EINVAL, |context| {
                            lock.acquire_at(context);
                            0
                        })
                    })
                },
            );
        }
        face.acquire_at(place);
    }
    0
}

/// `cohort_lock_acquire_try` with a context of the caller's.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_lock_acquire_by`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_acquire_try_by(
    lock: *mut cohort_lock_t,
    context: *mut cohort_context_t,
) -> c_int {
    let Some(place) = NonNull::new(context.cast()) else {
        return EINVAL;
    };
    let face = at!(lock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let context = context.expose_provenance();
            return from_here(
                lock.expose_provenance(),
                context,
                0,
                |at, lock, context, _| {
                    let context = NonNull::new(with_exposed_provenance_mut(context));
                    report(at, Doing::Nothing, lock, |lock| {
                        let taken = context.is_some_and(|context| lock.try_acquire_at(context));
                        if taken { 0 } else { EBUSY }
                    })
                },
            );
        }
        if face.try_acquire_at(place) { 0 } else { EBUSY }
    }
}

/// Releases the lock; `EPERM` if that context has not acquired it.
///
/// cbindgen:postfix=COHORT_RELEASE(*lock)
///
/// # Safety
/// As `cohort_lock_acquire_by`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_release_by(
    lock: *mut cohort_lock_t,
    context: *mut cohort_context_t,
) -> c_int {
    let face = at!(lock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (lock, context) = (lock.expose_provenance(), context.expose_provenance());
            return from_here(lock, context, 0, |at, lock, context, _| {
                let context = with_exposed_provenance_mut(context);
                report_release(at, lock, |lock| lock.release_at(context))
            });
        }
        if face.release_at(context.cast()) {
            0
        } else {
            EPERM
        }
    }
}

/// 1 if the lock was held at the time of the call, else 0; for assertions.
///
/// # Safety
/// As `cohort_lock_acquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_lock_is_held(lock: *const cohort_lock_t) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { lock.as_ref() };
    c_int::from(lock.is_some_and(|lock| lock.is_locked()))
}
