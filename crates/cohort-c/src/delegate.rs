//! `cohort_delegated_t`: a delegation lock, `sanl+` or another by name, with critical sections passed
//! as functions. Other critical sections lock and unlock the same object.

use crate::libc::{
    EINVAL, ENOMEM, EPERM, PTHREAD_CANCEL_DISABLE, aligned_alloc, free, getenv,
    pthread_setcancelstate, replace_errno, say, set_errno,
};
use crate::observed::{At, Served, from_here, may_be_observed};
use cohort::catalogue::read_delegate;
use cohort::delegation::{
    CcSynch, Sanl, SanlDistanceFirst, SanlFlat, SanlPlus, cc_synch, sanl, sanl_plus,
};
use cohort::door::{Doing, How};
use cohort::{Delegate, Section, Thresholds, Tunable};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{self, NonNull, with_exposed_provenance, with_exposed_provenance_mut};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{AcqRel, Acquire};

/// Delegation lock.
#[expect(non_camel_case_types, reason = "as C has it")]
pub struct cohort_delegated_t {
    lock: Lock,
    /// State of the thread that has locked it; accessed by that thread only.
    turn: UnsafeCell<Option<Turn>>,
}

impl cohort_delegated_t {
    /// Whether a thread has locked it; called by that thread only.
    pub fn is_held(&self) -> bool {
        // SAFETY: the holder's, and the caller promises to be the holder.
        unsafe { &*self.turn.get() }.is_some()
    }
}

enum Lock {
    SanlPlus(SanlPlus),
    Sanl(Sanl),
    Flat(SanlFlat),
    DistanceFirst(SanlDistanceFirst),
    CcSynch(CcSynch),
}

/// An acquisition of a lock of the same kind.
enum Turn {
    SanlPlus(sanl_plus::Turn),
    /// Of each `sanl`.
    Sanl(sanl::Turn),
    CcSynch(cc_synch::Turn),
}

impl Lock {
    /// The lock of that name.
    fn named(name: &str) -> Option<Self> {
        let name = read_delegate(name)?.ok()?;
        let thresholds = || name.over(&configured());
        Some(match name.info.identifier {
            "sanl_plus" => Self::SanlPlus(SanlPlus::default()),
            "sanl" => Self::Sanl(Sanl::with(&thresholds())),
            "sanl_flat" => Self::Flat(SanlFlat::with(&thresholds())),
            "sanl_distance_first" => Self::DistanceFirst(SanlDistanceFirst::with(&thresholds())),
            "cc_synch" => Self::CcSynch(CcSynch::default()),
            _ => return None,
        })
    }

    fn run(&self, section: Section<'_>) {
        match self {
            Self::SanlPlus(lock) => lock.run(&mut Default::default(), section),
            Self::Sanl(lock) => lock.run(&mut Default::default(), section),
            Self::Flat(lock) => lock.run(&mut Default::default(), section),
            Self::DistanceFirst(lock) => lock.run(&mut Default::default(), section),
            Self::CcSynch(lock) => lock.run(&mut (), section),
        }
    }

    fn lock(&self) -> Turn {
        match self {
            Self::SanlPlus(lock) => Turn::SanlPlus(lock.lock()),
            Self::Sanl(lock) => Turn::Sanl(lock.lock()),
            Self::Flat(lock) => Turn::Sanl(lock.lock()),
            Self::DistanceFirst(lock) => Turn::Sanl(lock.lock()),
            Self::CcSynch(lock) => Turn::CcSynch(lock.lock()),
        }
    }

    /// # Safety
    /// The turn is of this lock, and the caller's.
    unsafe fn unlock(&self, turn: Turn) {
        // SAFETY: the caller's.
        unsafe {
            match (self, turn) {
                (Self::SanlPlus(lock), Turn::SanlPlus(turn)) => lock.unlock(turn),
                (Self::Sanl(lock), Turn::Sanl(turn)) => lock.unlock(turn),
                (Self::Flat(lock), Turn::Sanl(turn)) => lock.unlock(turn),
                (Self::DistanceFirst(lock), Turn::Sanl(turn)) => lock.unlock(turn),
                (Self::CcSynch(lock), Turn::CcSynch(turn)) => lock.unlock(turn),
                _ => unreachable!("a turn is of its lock"),
            }
        }
    }
}

/// The thresholds of `COHORT_SANL`, else the usual ones.
fn configured() -> Thresholds {
    // SAFETY: a program changes its environment only before it has threads.
    let told = unsafe { getenv(c"COHORT_SANL".as_ptr()) };
    if told.is_null() {
        return Thresholds::USUAL;
    }
    // SAFETY: as above; a text that ends with zero.
    let told = unsafe { CStr::from_ptr(told) }.to_str().unwrap_or("");
    Thresholds::read(told).unwrap_or_else(|| {
        if !told.is_empty() {
            say(format_args!(
                "cohort: COHORT_SANL={told} is no list of thresholds; using the usual ones\n"
            ));
        }
        Thresholds::USUAL
    })
}

/// Guard that disables cancellation of the calling thread: the thread may be running the critical
/// sections of waiting threads.
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

/// Creates a delegated lock, with critical sections passed as functions; null, with `errno`
/// `ENOMEM`, without memory.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_delegated_new() -> *mut cohort_delegated_t {
    made(Lock::SanlPlus(SanlPlus::default()))
}

/// `cohort_delegated_new` by name: `sanl+`, `cc-synch`, or `sanl`, `sanl-flat` or
/// `sanl-distance-first` with the thresholds of `COHORT_SANL`, which `cohort run --config` sets. A
/// name such as `sanl/1000/10us` overrides two of them. Null, with `errno` `EINVAL`, for other names.
///
/// # Safety
/// Null, or a text that ends with zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_new_named(
    name: *const c_char,
) -> *mut cohort_delegated_t {
    // SAFETY: the caller's.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    match name.and_then(|name| Lock::named(name.to_str().ok()?)) {
        Some(lock) => made(lock),
        None => {
            set_errno(EINVAL);
            ptr::null_mut()
        }
    }
}

fn made(lock: Lock) -> *mut cohort_delegated_t {
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
    // SAFETY: memory of that size, exclusively the caller's.
    unsafe {
        made.write(cohort_delegated_t {
            lock,
            turn: UnsafeCell::new(None),
        });
    }
    place
}

/// Destroys a delegated lock and frees its memory. No effect for null.
///
/// # Safety
/// Null, or a lock that is not used afterwards.
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

/// The delegated lock at that place, created on first use. The place must start as a null pointer.
/// Without memory, the process ends with a message, since the callers cannot handle a failure.
///
/// # Safety
/// A place of the program's, written only by these functions while threads use it.
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
    assert!(!made.is_null(), "no memory for a delegation lock");
    match place.compare_exchange(ptr::null_mut(), made, AcqRel, Acquire) {
        Ok(_) => made,
        Err(others) => {
            // SAFETY: not yet shared.
            unsafe { cohort_delegated_free(made) };
            others
        }
    }
}

/// Initialises a place for `cohort_delegated_at` in any memory, as `= NULL` does.
///
/// # Safety
/// Memory for a pointer, unused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_init(place: *mut *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { place.write(ptr::null_mut()) };
    0
}

/// Destroys the lock at that place, if it exists; the place is immediately valid again.
///
/// # Safety
/// As `cohort_delegated_at`; the lock is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_destroy(place: *mut *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { cohort_delegated_free(place.replace(ptr::null_mut())) };
    0
}

/// Blocks until `run(argument)` has been run once, under mutual exclusion: by this thread, or by
/// another one that has the protected data in its cache. The function sees the caller's `errno`,
/// and its changes to `errno` reach the caller. All other thread-local state is that of the
/// executing thread. The function must not delegate to the same lock, nor lock it, and must return
/// normally. Not a cancellation point.
///
/// # Safety
/// Null, or a delegated lock of this process, without a fork since other threads used it. The
/// function is null, or may be called with the argument by any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegate(
    lock: *mut cohort_delegated_t,
    run: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's.
    let (Some(face), Some(run)) = (unsafe { lock.as_ref() }, run) else {
        return EINVAL;
    };
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (lock, argument) = (lock.expose_provenance(), argument.expose_provenance());
            return from_here(lock, run as usize, argument, delegate_observed);
        }
        delegate(face, run, argument, None)
    }
}

/// [`cohort_delegate`], reported.
///
/// # Safety
/// The words of its arguments.
unsafe fn delegate_observed(at: &At, lock: usize, run: usize, argument: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let face = &*with_exposed_provenance::<cohort_delegated_t>(lock);
        let run: unsafe extern "C" fn(*mut c_void) =
            core::mem::transmute(with_exposed_provenance::<()>(run));
        let argument = with_exposed_provenance_mut(argument);
        at.delegate(lock, |served| _ = delegate(face, run, argument, served));
    }
    0
}

/// Passes a section to the lock; the thread that runs it reports that as `served` does.
///
/// # Safety
/// As [`cohort_delegate`].
unsafe fn delegate(
    lock: &cohort_delegated_t,
    run: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    served: Option<Served>,
) -> c_int {
    let uncancelled = Uncancelled::now();
    let before = replace_errno(0);
    let mut after = before;
    let mut whole = || {
        let own = replace_errno(before);
        // SAFETY: the caller's.
        let section = || unsafe { run(argument) };
        match served {
            Some(served) => served.run(section),
            None => section(),
        }
        after = replace_errno(own);
    };
    // SAFETY: a function of C does not unwind, and any thread may call this one.
    lock.lock.run(unsafe { Section::new(&mut whole) });
    replace_errno(after);
    drop(uncancelled);
    0
}

/// Blocks until the calling thread has locked the lock. For critical sections that cannot be passed
/// as a function: they wait for other threads, use thread-local state, or have several exits.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*lock)
///
/// # Safety
/// As `cohort_delegate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_lock(lock: *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    let Some(face) = (unsafe { lock.as_ref() }) else {
        return EINVAL;
    };
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(lock.expose_provenance(), 0, 0, |at, lock, _, _| {
                let face = &*with_exposed_provenance::<cohort_delegated_t>(lock);
                // A section of another thread keeps the lock as a holder does, unknown here.
                at.lock(Doing::Lock, How::Section, lock, true, || acquire(face))
            })
        };
    }
    acquire(face)
}

/// Locks the lock for the calling thread.
fn acquire(lock: &cohort_delegated_t) -> c_int {
    let turn = lock.lock.lock();
    // SAFETY: the holder's.
    unsafe { *lock.turn.get() = Some(turn) };
    0
}

/// Unlocks the lock, and runs the critical sections delegated meanwhile; `EPERM` if the lock is
/// free. Only for the thread that locked it. Not a cancellation point.
///
/// cbindgen:postfix=COHORT_RELEASE(*lock)
///
/// # Safety
/// As `cohort_delegate`; the caller has locked it, or it is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_unlock(lock: *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    let Some(face) = (unsafe { lock.as_ref() }) else {
        return EINVAL;
    };
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            return from_here(lock.expose_provenance(), 0, 0, |at, lock, _, _| {
                let face = &*with_exposed_provenance::<cohort_delegated_t>(lock);
                at.unlock(How::Section, lock, face.is_held(), || release(face))
            });
        }
        release(face)
    }
}

/// [`cohort_delegated_unlock`] without its report.
///
/// # Safety
/// As for that.
unsafe fn release(lock: &cohort_delegated_t) -> c_int {
    // SAFETY: the holder's.
    let Some(turn) = (unsafe { (*lock.turn.get()).take() }) else {
        return EPERM;
    };
    let uncancelled = Uncancelled::now();
    let own = replace_errno(0);
    // SAFETY: this lock's, and the caller's.
    unsafe { lock.lock.unlock(turn) };
    replace_errno(own);
    drop(uncancelled);
    0
}
