//! `cohort_delegated_t`: a delegation lock, `sanl+` or another by name, with critical sections passed
//! as functions. Other critical sections lock and unlock the same object.
//!
//! It has 16 bytes until two threads meet ([`Thin`]).

use crate::libc::{
    EBUSY, EINVAL, ENOMEM, EPERM, PTHREAD_CANCEL_DISABLE, aligned_alloc, free, getenv,
    pthread_setcancelstate, replace_errno, say, set_errno,
};
use crate::observed::{At, Served, from_here, may_be_observed};
use cohort::catalogue::read_delegate;
use cohort::delegation::thin::{Fat, Grows, Thin};
use cohort::delegation::{
    CcSynch, Sanl, SanlDistanceFirst, SanlFlat, SanlPlus, StepsDown, TriesTurn, cc_synch, sanl,
    sanl_plus,
};
use cohort::door::{Doing, How};
use cohort::{Delegate, Section, Thresholds, Tunable};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{self, NonNull, with_exposed_provenance, with_exposed_provenance_mut};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// Delegation lock.
#[repr(C)]
pub struct cohort_delegated_t {
    lock: Thin<Heap>,
}

const _: () = assert!(size_of::<cohort_delegated_t>() == 16);

impl cohort_delegated_t {
    /// Whether a thread has locked it; called by that thread only.
    pub fn is_held(&self) -> bool {
        self.lock.is_held()
    }
}

/// Kind of lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    SanlPlus,
    Sanl,
    Flat,
    DistanceFirst,
    CcSynch,
}

/// What a lock becomes when two threads meet. Recipes are never freed: a program has few.
struct Recipe {
    kind: Kind,
    thresholds: Thresholds,
    /// The next recipe of [`RECIPES`].
    next: *const Recipe,
}

// SAFETY: constant once it is published.
unsafe impl Sync for Recipe {}

/// The recipe of `cohort_delegated_new`.
static USUAL: Recipe = Recipe {
    kind: Kind::SanlPlus,
    thresholds: Thresholds::USUAL,
    next: ptr::null(),
};

/// All recipes made by name.
static RECIPES: AtomicPtr<Recipe> = AtomicPtr::new(ptr::null_mut());

/// Mistake in a name, or no memory: a value for `errno`.
type Error = c_int;

impl Recipe {
    /// The recipe of that name.
    fn named(name: &str) -> Result<&'static Self, Error> {
        let name = read_delegate(name).and_then(Result::ok).ok_or(EINVAL)?;
        let thresholds = || name.over(&configured());
        let (kind, thresholds) = match name.info.identifier {
            "sanl_plus" => return Ok(&USUAL),
            "sanl" => (Kind::Sanl, thresholds()),
            "sanl_flat" => (Kind::Flat, thresholds()),
            "sanl_distance_first" => (Kind::DistanceFirst, thresholds()),
            "cc_synch" => (Kind::CcSynch, Thresholds::USUAL),
            _ => return Err(EINVAL),
        };
        Self::of(kind, thresholds)
    }

    /// The recipe with that contents, made on first use.
    fn of(kind: Kind, thresholds: Thresholds) -> Result<&'static Self, Error> {
        let mut first = RECIPES.load(Acquire);
        loop {
            let mut at = first.cast_const();
            // SAFETY: recipes are never freed.
            while let Some(one) = unsafe { at.as_ref() } {
                if (one.kind, one.thresholds) == (kind, thresholds) {
                    return Ok(one);
                }
                at = one.next;
            }
            let made = place::<Self>().ok_or(ENOMEM)?;
            let next = first.cast_const();
            // SAFETY: memory of that size, exclusively the caller's.
            unsafe {
                made.write(Self {
                    kind,
                    thresholds,
                    next,
                });
            }
            match RECIPES.compare_exchange(first, made.as_ptr(), Release, Acquire) {
                // SAFETY: written above, and never freed.
                Ok(_) => return Ok(unsafe { made.as_ref() }),
                Err(now) => {
                    // SAFETY: never published.
                    unsafe { free(made.as_ptr().cast()) };
                    first = now;
                }
            }
        }
    }
}

/// Memory for a value, by the program's allocator; `errno` stays.
fn place<T>() -> Option<NonNull<T>> {
    let own = replace_errno(0);
    // SAFETY: the alignment is a power of two, and the size a multiple of it.
    let place = unsafe { aligned_alloc(align_of::<T>(), size_of::<T>()) };
    replace_errno(own);
    NonNull::new(place.cast())
}

/// The program's heap, for the locks of threads that meet.
struct Heap;

// SAFETY: as `aligned_alloc` and `free`.
unsafe impl Grows for Heap {
    type Lock = Lock;
    type Recipe = Recipe;

    fn usual() -> &'static Recipe {
        &USUAL
    }

    fn make(recipe: &'static Recipe) -> Option<NonNull<Fat<Self>>> {
        let made = place::<Fat<Self>>()?;
        // SAFETY: memory of that size, exclusively the caller's.
        unsafe { made.write(Fat::new(Lock::by(recipe), recipe)) };
        Some(made)
    }

    unsafe fn free(fat: NonNull<Fat<Self>>) {
        // SAFETY: the caller's.
        unsafe {
            fat.drop_in_place();
            free(fat.as_ptr().cast());
        }
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
    fn by(recipe: &Recipe) -> Self {
        match recipe.kind {
            Kind::SanlPlus => Self::SanlPlus(SanlPlus::default()),
            Kind::Sanl => Self::Sanl(Sanl::with(&recipe.thresholds)),
            Kind::Flat => Self::Flat(SanlFlat::with(&recipe.thresholds)),
            Kind::DistanceFirst => Self::DistanceFirst(SanlDistanceFirst::with(&recipe.thresholds)),
            Kind::CcSynch => Self::CcSynch(CcSynch::default()),
        }
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::by(&USUAL)
    }
}

// SAFETY: the lock inside.
unsafe impl Delegate for Lock {
    type Context = ();

    fn run(&self, (): &mut (), section: Section<'_>) {
        match self {
            Self::SanlPlus(lock) => lock.run(&mut Default::default(), section),
            Self::Sanl(lock) => lock.run(&mut Default::default(), section),
            Self::Flat(lock) => lock.run(&mut Default::default(), section),
            Self::DistanceFirst(lock) => lock.run(&mut Default::default(), section),
            Self::CcSynch(lock) => lock.run(&mut (), section),
        }
    }

    fn run_here(&self, (): &mut (), section: Section<'_>) {
        let turn = self.take_turn();
        // SAFETY: the turn excludes; it is of this lock, and this thread's.
        unsafe {
            section.run();
            self.end_turn(turn);
        }
    }
}

// SAFETY: as above.
unsafe impl StepsDown for Lock {
    type Turn = Turn;

    fn take_turn(&self) -> Turn {
        match self {
            Self::SanlPlus(lock) => Turn::SanlPlus(lock.lock()),
            Self::Sanl(lock) => Turn::Sanl(lock.lock()),
            Self::Flat(lock) => Turn::Sanl(lock.lock()),
            Self::DistanceFirst(lock) => Turn::Sanl(lock.lock()),
            Self::CcSynch(lock) => Turn::CcSynch(lock.lock()),
        }
    }

    unsafe fn end_turn(&self, turn: Turn) {
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

// SAFETY: as above.
unsafe impl TriesTurn for Lock {
    fn try_turn(&self) -> Option<Turn> {
        Some(match self {
            Self::SanlPlus(lock) => Turn::SanlPlus(lock.try_lock()?),
            Self::Sanl(lock) => Turn::Sanl(lock.try_lock()?),
            Self::Flat(lock) => Turn::Sanl(lock.try_lock()?),
            Self::DistanceFirst(lock) => Turn::Sanl(lock.try_lock()?),
            Self::CcSynch(lock) => Turn::CcSynch(lock.try_lock()?),
        })
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
/// `ENOMEM`, without memory. It has 16 bytes, and further memory once two threads have met at it.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_delegated_new() -> *mut cohort_delegated_t {
    made(&USUAL)
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
    let name = name.and_then(|name| name.to_str().ok());
    match name.ok_or(EINVAL).and_then(Recipe::named) {
        Ok(recipe) => made(recipe),
        Err(error) => {
            set_errno(error);
            ptr::null_mut()
        }
    }
}

fn made(recipe: &'static Recipe) -> *mut cohort_delegated_t {
    let Some(made) = place::<cohort_delegated_t>() else {
        set_errno(ENOMEM);
        return ptr::null_mut();
    };
    let lock = Thin::new(recipe);
    // SAFETY: memory of that size, exclusively the caller's.
    unsafe { made.write(cohort_delegated_t { lock }) };
    made.as_ptr()
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
/// normally. Not a cancellation point, and the function contains none. May allocate memory when two
/// threads first meet at the lock.
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
        let _uncancelled = Uncancelled::now();
        // In its own thread, the function finds its own `errno`.
        if !face.lock.run_alone(|| run(argument)) {
            delegate(face, run, argument, None);
        }
    }
    0
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
        at.delegate(lock, |served| {
            let _uncancelled = Uncancelled::now();
            delegate(face, run, argument, served);
        });
    }
    0
}

/// Passes a section to the lock; the thread that runs it reports that as `served` does.
///
/// # Safety
/// As [`cohort_delegate`]; the calling thread cannot be cancelled.
#[inline(never)]
unsafe fn delegate(
    lock: &cohort_delegated_t,
    run: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    served: Option<Served>,
) {
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
    lock.lock.run(&mut (), unsafe { Section::new(&mut whole) });
    replace_errno(after);
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
    lock.lock.lock();
    0
}

/// Locks the lock as `cohort_delegated_lock` does, or returns `EBUSY` if a critical section runs, in
/// whichever thread; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_delegate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_delegated_lock_try(lock: *mut cohort_delegated_t) -> c_int {
    // SAFETY: the caller's.
    let Some(face) = (unsafe { lock.as_ref() }) else {
        return EINVAL;
    };
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(lock.expose_provenance(), 0, 0, |at, lock, _, _| {
                let face = &*with_exposed_provenance::<cohort_delegated_t>(lock);
                at.lock(Doing::Nothing, How::Section, lock, true, || {
                    try_acquire(face)
                })
            })
        };
    }
    try_acquire(face)
}

/// Locks the lock for the calling thread if it is free.
fn try_acquire(lock: &cohort_delegated_t) -> c_int {
    if lock.lock.try_lock() { 0 } else { EBUSY }
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
    // SAFETY: the caller's.
    if unsafe { lock.lock.unlock_thin() } {
        return 0;
    }
    // SAFETY: the caller's.
    unsafe { release_fat(lock) }
}

/// # Safety
/// As [`release`].
#[inline(never)]
unsafe fn release_fat(lock: &cohort_delegated_t) -> c_int {
    let uncancelled = Uncancelled::now();
    let own = replace_errno(0);
    // SAFETY: the caller's.
    let was_held = unsafe { lock.lock.unlock_fat() };
    replace_errno(own);
    drop(uncancelled);
    if was_held { 0 } else { EPERM }
}
