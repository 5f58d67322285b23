//! `cohort_delegated_t`: a lock to which sections are brought as functions, `sanl+`; what is not a function
//! locks and unlocks the same object.

use crate::libc::{
    EINVAL, ENOMEM, EPERM, PTHREAD_CANCEL_DISABLE, aligned_alloc, free, pthread_setcancelstate,
    replace_errno, set_errno,
};
use cohort::delegation::SanlPlus;
use cohort::delegation::sanl_plus::{Turn, Words};
use cohort::{Delegate, Section};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{AcqRel, Acquire};

/// A lock to which sections are brought.
#[expect(non_camel_case_types, reason = "as C has it")]
pub struct cohort_delegated_t {
    lock: SanlPlus,
    /// By what a thread has it that has locked it; that thread's.
    turn: UnsafeCell<Option<Turn>>,
}

impl cohort_delegated_t {
    /// Whether a thread has locked it; asked by that thread.
    pub fn is_held(&self) -> bool {
        // SAFETY: the holder's, and the caller says that it is the holder.
        unsafe { &*self.turn.get() }.is_some()
    }
}

/// The calling thread is not cancelled as long as this is there: it may be running the sections of
/// others, which wait for them.
struct Uncancelled(c_int);

impl Uncancelled {
    fn now() -> Self {
        let mut before = 0;
        // SAFETY: the calling thread's own.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
        Self(before)
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { pthread_setcancelstate(self.0, ptr::null_mut()) };
    }
}

/// Makes a lock to which sections are brought; null, with `errno` `ENOMEM`, where there is no
/// memory.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_delegated_new() -> *mut cohort_delegated_t {
    let (align, size) = (
        align_of::<cohort_delegated_t>(),
        size_of::<cohort_delegated_t>(),
    );
    // SAFETY: the alignment is a power of two, and the size a multiple of it.
    let place = unsafe { aligned_alloc(align, size) }.cast::<cohort_delegated_t>();
    let Some(made) = NonNull::new(place) else {
        set_errno(ENOMEM);
        return place;
    };
    // SAFETY: memory of that size, nobody else's.
    unsafe {
        made.write(cohort_delegated_t {
            lock: SanlPlus::default(),
            turn: UnsafeCell::new(None),
        });
    }
    place
}

/// Ends such a lock and frees its memory.  Null is nothing.
///
/// # Safety
/// Null, or a lock that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_free(lock: *mut cohort_delegated_t) {
    if !lock.is_null() {
        // SAFETY: the caller's; made above.
        unsafe {
            lock.drop_in_place();
            free(lock.cast());
        }
    }
}

/// The lock of that place, which is made when it is first wanted: a null pointer is one that nobody has
/// used, as all zeroes are a mutex.  Without memory for it the process ends with a message, since what
/// such a lock guards begins without having been told of failure.
///
/// # Safety
/// A place of a program, which is written by these functions alone while threads use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_at(
    place: *mut *mut cohort_delegated_t,
) -> *mut cohort_delegated_t {
    // SAFETY: the caller's.
    let place = unsafe { AtomicPtr::from_ptr(place) };
    let there = place.load(Acquire);
    if there.is_null() {
        made_at(place)
    } else {
        there
    }
}

#[cold]
fn made_at(place: &AtomicPtr<cohort_delegated_t>) -> *mut cohort_delegated_t {
    let own = replace_errno(0);
    let made = cohort_delegated_new();
    replace_errno(own);
    assert!(!made.is_null(), "no memory for a lock of sections");
    match place.compare_exchange(ptr::null_mut(), made, AcqRel, Acquire) {
        Ok(_) => made,
        Err(others) => {
            // SAFETY: nobody has seen it.
            unsafe { cohort_delegated_free(made) };
            others
        }
    }
}

/// Makes of any bytes a place of which `cohort_delegated_at` makes the lock, as `= NULL` does.
///
/// # Safety
/// Memory for a pointer, which nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_init(place: *mut *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { place.write(ptr::null_mut()) };
    0
}

/// Ends the lock of that place, if it has been made; the place is ready again at once.
///
/// # Safety
/// As `cohort_delegated_at`; nobody uses the lock any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_destroy(place: *mut *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { cohort_delegated_free(place.replace(ptr::null_mut())) };
    0
}

/// Blocks until `run(argument)` has been run, once, while nobody else has the lock: by this
/// thread, or by another one that has what the lock guards in its cache.  `errno` is the
/// caller's there, and what the function leaves in it is the caller's afterwards; all else that a
/// thread has for itself is that of the thread which runs it.  The function does not bring another to the
/// same lock, nor lock it, nor leave but by returning.  A thread is not cancelled in here.
///
/// # Safety
/// Null, or such a lock of this process, which has not forked since others used it; the function is
/// null or may be called so, by any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegate(
    lock: *mut cohort_delegated_t,
    run: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's.
    let (Some(lock), Some(run)) = (unsafe { lock.as_ref() }, run) else {
        return EINVAL;
    };
    let uncancelled = Uncancelled::now();
    let before = replace_errno(0);
    let mut after = before;
    let mut whole = || {
        let own = replace_errno(before);
        // SAFETY: the caller's.
        unsafe { run(argument) };
        after = replace_errno(own);
    };
    let mut words = Words::default();
    // SAFETY: a function of C does not unwind, and any thread may call this one.
    lock.lock
        .run(&mut words, unsafe { Section::new(&mut whole) });
    replace_errno(after);
    drop(uncancelled);
    0
}

/// Blocks until the calling thread has the lock, for what is no function: what waits for others, is a
/// thread's own, or is left in more than one place.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*lock)
///
/// # Safety
/// As `cohort_delegate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_lock(lock: *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    let Some(lock) = (unsafe { lock.as_ref() }) else {
        return EINVAL;
    };
    let turn = lock.lock.lock();
    // SAFETY: the holder's.
    unsafe { *lock.turn.get() = Some(turn) };
    0
}

/// Leaves the lock, and runs what others have brought meanwhile; `EPERM` if nobody has locked it.  The
/// thread that locked it calls this; it is not cancelled in here.
///
/// cbindgen:postfix=COHORT_RELEASE(*lock)
///
/// # Safety
/// As `cohort_delegate`; the caller has locked it, or nobody has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_unlock(lock: *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    let Some(lock) = (unsafe { lock.as_ref() }) else {
        return EINVAL;
    };
    // SAFETY: the holder's.
    let Some(turn) = (unsafe { (*lock.turn.get()).take() }) else {
        return EPERM;
    };
    let uncancelled = Uncancelled::now();
    let own = replace_errno(0);
    // SAFETY: it is this lock's, and the caller's.
    unsafe { lock.lock.unlock(turn) };
    replace_errno(own);
    drop(uncancelled);
    0
}
