//! `pthread_cond_*`.

use crate::choice::{Choice, choice, is_plain, is_system};
use crate::count::{AT_CONDITIONS, count, note_needs};
use crate::layout::{Attr, COND_MONOTONIC, COND_SHARED, Cond, Mutex, clear};
use crate::libc::{
    CLOCK_MONOTONIC, CLOCK_REALTIME, Cleanup, EINVAL, ETIMEDOUT, PTHREAD_CANCEL_ASYNCHRONOUS,
    PTHREAD_PROCESS_PRIVATE, Timespec, attribute,
};
use crate::mutex::{self, is_libcs};
use crate::next::{
    _pthread_cleanup_pop, _pthread_cleanup_push, pthread_condattr_getclock,
    pthread_condattr_getpshared, pthread_setcanceltype,
};
#[cfg(feature = "observe")]
use crate::observe;
use crate::{next, time};
use cohort::condvar::{Adopt, Left, NAMELESS, WAITERS, Waited, Waiter, stir};
use cohort::door::{Advice, Spinner, nap, now, runs_out};
use cohort::report::ServedKind;
use cohort::{Clock, Patience};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// Whether the C library serves the condition: a shared one may have users outside Cohort.
fn is_libcs_cond(cond: &Cond) -> bool {
    cond.flags().load(Relaxed) & COND_SHARED != 0 || is_system()
}

/// The mutexes of waiting threads.
struct Mutexes;

impl Adopt for Mutexes {
    fn adopt(&self, waiter: &Waiter) -> bool {
        let mutex = ptr::with_exposed_provenance(waiter.mutex());
        // SAFETY: the waiter first acquires its mutex, so the mutex exists until the waiter is
        // notified.
        let adopted = waiter.mutex() != NAMELESS
            && waiter.sleep_at(|place, seen| unsafe { mutex::adopt(mutex, place, seen) });
        #[cfg(feature = "observe")]
        if adopted {
            observe::adopted(waiter.thread());
        }
        adopted
    }
}

/// The calling thread's number for [`Adopt`]; 0 where threads are not observed.
#[cfg(feature = "observe")]
use observe::waiting_as;
#[cfg(not(feature = "observe"))]
fn waiting_as() -> u32 {
    0
}

/// Marks that the calling thread has left a condition and locks its mutex again.
#[cfg(feature = "observe")]
use observe::relocks;
#[cfg(not(feature = "observe"))]
fn relocks() {}

/// Marks that the calling thread holds its mutex again and, cancelled, does not return to its wait.
#[cfg(feature = "observe")]
use observe::is_cancelled;
#[cfg(not(feature = "observe"))]
fn is_cancelled() {}

/// Thread in a condition's queue, with the state for leaving it.
struct Waiting<'a> {
    cond: &'a Cond,
    mutex: *mut Mutex,
    waiter: &'static Waiter,
    counting: bool,
}

impl<'a> Waiting<'a> {
    /// Joins the queue.
    fn begin(cond: &'a Cond, mutex: *mut Mutex) -> Self {
        // SAFETY: the program's mutex.
        let stays_owner = unsafe { mutex::is_locked_again(mutex) };
        // A mutex that the caller still holds would requeue the caller, which would then wait for
        // itself.
        let name = if stays_owner {
            NAMELESS
        } else {
            mutex.expose_provenance()
        };
        // SAFETY: all waiters are of that pool; the mutex outlives its waiter's wait and
        // reacquisition.
        let waiter = unsafe { cond.queue.enqueue_as(&WAITERS, name, waiting_as()) };
        let (choice, counting) = choice();
        if counting {
            AT_CONDITIONS.join();
        }
        if let (Choice::Ours(service), true) = (choice, counting) {
            note_needs(service);
        }
        Self {
            cond,
            mutex,
            waiter,
            counting,
        }
    }

    /// Leaves the queue.
    ///
    /// # Safety
    /// Called once, as the last operation.
    #[inline(never)]
    unsafe fn end(&self) -> Left {
        if self.counting {
            AT_CONDITIONS.leave();
        }
        // SAFETY: joined at the beginning, and used up by this.
        unsafe { self.cond.queue.leave(&WAITERS, self.waiter) }
    }

    /// Leaves the queue early and passes a signal that reached this thread on to others. A chosen
    /// thread may find the condition gone.
    ///
    /// # Safety
    /// As [`end`](Self::end).
    #[inline(never)]
    unsafe fn give_up(&self) -> Left {
        let name = self.cond.queue.name();
        // SAFETY: passed on.
        let left = unsafe { self.end() };
        if left.waited == Waited::Signalled {
            stir(name, &WAITERS);
        }
        left
    }
}

/// Runs when a waiter is cancelled: it leaves the queue and acquires the mutex for the program's
/// own handlers.
unsafe extern "C" fn cancelled(argument: *mut c_void) {
    // SAFETY: pushed by `wait`, in a frame that still exists.
    unsafe {
        let waiting = &*argument.cast::<Waiting<'_>>();
        let left = waiting.give_up();
        relocks();
        mutex::relock(waiting.mutex, left.adopted);
        is_cancelled();
    }
}

/// Waits on one of Cohort's conditions, with any mutex.
unsafe fn wait(cond: &Cond, mutex: *mut Mutex, patience: &Patience) -> c_int {
    let waiting = Waiting::begin(cond, mutex);
    // SAFETY: the program's mutex.
    let error = unsafe { mutex::unlock_to_wait(mutex) };
    if error != 0 {
        // SAFETY: begun just above; the caller never waits.
        unsafe { waiting.give_up() };
        return error;
    }
    let mut cleanup = Cleanup::EMPTY;
    // SAFETY: the buffer and its target outlive the pop below, or a cancellation unwinds the frame
    // and runs the routine first. While cancellation is asynchronous, only a load of a word and a
    // system call run, which own nothing.
    let left = unsafe {
        _pthread_cleanup_push(
            &raw mut cleanup,
            cancelled,
            (&raw const waiting).cast_mut().cast(),
        );
        loop {
            let mut before = 0;
            pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut before);
            let goes_on = waiting.waiter.sleeps(patience);
            pthread_setcanceltype(before, ptr::null_mut());
            if !goes_on {
                break;
            }
        }
        _pthread_cleanup_pop(&raw mut cleanup, 0);
        waiting.end()
    };
    relocks();
    // SAFETY: unlocked above.
    let relocked = unsafe { mutex::relock(mutex, left.adopted) };
    if waiting.counting {
        count(ServedKind::CondWait, left.waited == Waited::GaveUp);
    }
    match (relocked, left.waited) {
        (0, Waited::GaveUp) => ETIMEDOUT,
        (result, _) => result,
    }
}

/// Waits on a shared condition with a mutex that only Cohort can operate. Releases the mutex, waits
/// a slice by the C library with a mutex of its own, and acquires the program's again. A signal
/// between the release and the wait is missed; hence the short slice and the spurious wake-up.
unsafe fn wait_in_a_slice(
    cond: *mut Cond,
    mutex: *mut Mutex,
    end: Option<(Clock, *const Timespec)>,
) -> c_int {
    const SLICE_NANOSECONDS: u64 = 5_000_000;
    let patience = match end {
        None => Patience::ENDLESS,
        // SAFETY: the program's time is readable.
        Some((clock, at)) => match unsafe { time::until(clock, at) } {
            Ok(patience) => patience,
            Err(error) => return error,
        },
    };
    // An expired wait still lasts long enough for others to acquire the mutex.
    let is_late = || runs_out(&patience);
    let lasts = if is_late() { 0 } else { SLICE_NANOSECONDS };
    let wake_at = now() + lasts;
    let slice = Timespec {
        seconds: (wake_at / 1_000_000_000) as i64,
        nanoseconds: (wake_at % 1_000_000_000) as i64,
    };
    let mut cleanup = Cleanup::EMPTY;
    // SAFETY: the proxy is all zero, a valid mutex of the C library, and exclusively used here; the
    // program's mutex is its own. The buffer outlives the pop, or a cancellation unwinds the frame
    // and runs the routine first.
    unsafe {
        let mut proxy: Mutex = core::mem::zeroed();
        let error = mutex::unlock_to_wait(mutex);
        if error != 0 {
            return error;
        }
        next::pthread_mutex_lock(&raw mut proxy);
        _pthread_cleanup_push(&raw mut cleanup, cancelled_in_a_slice, mutex.cast());
        let waited =
            next::pthread_cond_clockwait(cond, &raw mut proxy, CLOCK_MONOTONIC, &raw const slice);
        _pthread_cleanup_pop(&raw mut cleanup, 0);
        next::pthread_mutex_unlock(&raw mut proxy);
        relocks();
        match mutex::relock(mutex, false) {
            0 if waited == ETIMEDOUT && is_late() => ETIMEDOUT,
            error => error,
        }
    }
}

/// Runs when a waiter is cancelled in a slice: it acquires the program's mutex for the program's
/// own handlers.
unsafe extern "C" fn cancelled_in_a_slice(mutex: *mut c_void) {
    relocks();
    // SAFETY: pushed by `wait_in_a_slice`.
    unsafe { mutex::relock(mutex.cast(), false) };
    is_cancelled();
}

/// See `pthread_cond_wait(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_wait(cond: *mut Cond, mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's; passed on.
    unsafe {
        if !is_libcs_cond(&*cond) {
            wait(&*cond, mutex, &Patience::ENDLESS)
        } else if is_libcs(&*mutex) {
            next::pthread_cond_wait(cond, mutex)
        } else {
            wait_in_a_slice(cond, mutex, None)
        }
    }
}

unsafe fn wait_until(
    cond: *mut Cond,
    mutex: *mut Mutex,
    clock: Clock,
    at: *const Timespec,
) -> c_int {
    // SAFETY: the program's; passed on.
    unsafe {
        if !is_libcs_cond(&*cond) {
            match time::until(clock, at) {
                Ok(patience) => wait(&*cond, mutex, &patience),
                Err(error) => error,
            }
        } else {
            wait_in_a_slice(cond, mutex, Some((clock, at)))
        }
    }
}

/// See `pthread_cond_timedwait(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_timedwait(
    cond: *mut Cond,
    mutex: *mut Mutex,
    at: *const Timespec,
) -> c_int {
    // SAFETY: the program's; passed on.
    unsafe {
        if is_libcs_cond(&*cond) && is_libcs(&*mutex) {
            return next::pthread_cond_timedwait(cond, mutex, at);
        }
        let clock = if (*cond).flags().load(Relaxed) & COND_MONOTONIC == 0 {
            Clock::Realtime
        } else {
            Clock::Monotonic
        };
        wait_until(cond, mutex, clock, at)
    }
}

/// See `pthread_cond_clockwait(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_clockwait(
    cond: *mut Cond,
    mutex: *mut Mutex,
    clock: c_int,
    at: *const Timespec,
) -> c_int {
    // SAFETY: the program's; passed on.
    unsafe {
        if is_libcs_cond(&*cond) && is_libcs(&*mutex) {
            return next::pthread_cond_clockwait(cond, mutex, clock, at);
        }
        match time::clock(clock) {
            Ok(clock) => wait_until(cond, mutex, clock, at),
            Err(error) => error,
        }
    }
}

/// Whether Cohort serves the condition, and acquisitions are not counted.
#[inline(always)]
fn is_plain_ours(cond: &Cond) -> bool {
    is_plain() && cond.flags().load(Relaxed) & COND_SHARED == 0
}

/// See `pthread_cond_signal(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_signal(cond: *mut Cond) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*cond };
    if is_plain_ours(object) && !object.queue.is_awaited() {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { signal_other(cond) }
}

/// Signals a condition with waiters, a condition of the C library, or one with counting.
#[inline(never)]
unsafe fn signal_other(cond: *mut Cond) -> c_int {
    // SAFETY: the program's; passed on.
    unsafe {
        if is_libcs_cond(&*cond) {
            return next::pthread_cond_signal(cond);
        }
        (*cond).queue.signal(&WAITERS, &Mutexes);
    }
    if choice().1 {
        count(ServedKind::CondSignal, false);
    }
    0
}

/// See `pthread_cond_broadcast(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_broadcast(cond: *mut Cond) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*cond };
    if is_plain_ours(object) && !object.queue.is_awaited() {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { broadcast_other(cond) }
}

/// Broadcasts; as [`signal_other`].
#[inline(never)]
unsafe fn broadcast_other(cond: *mut Cond) -> c_int {
    // SAFETY: the program's; passed on.
    unsafe {
        if is_libcs_cond(&*cond) {
            return next::pthread_cond_broadcast(cond);
        }
        (*cond).queue.broadcast(&WAITERS, &Mutexes);
    }
    if choice().1 {
        count(ServedKind::CondSignal, false);
    }
    0
}

/// See `pthread_cond_init(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_init(cond: *mut Cond, attributes: Attr) -> c_int {
    let mut flags = 0;
    // SAFETY: the program's attributes are initialised, and its memory is for an unused condition.
    unsafe {
        if !attributes.is_null() {
            if attribute(attributes, pthread_condattr_getpshared) != PTHREAD_PROCESS_PRIVATE {
                return next::pthread_cond_init(cond, attributes);
            }
            flags = match attribute(attributes, pthread_condattr_getclock) {
                CLOCK_REALTIME => 0,
                CLOCK_MONOTONIC => COND_MONOTONIC,
                _ => return EINVAL,
            };
        }
        if is_system() {
            return next::pthread_cond_init(cond, attributes);
        }
        clear(cond);
        (*cond).flags().store(flags, Relaxed);
    }
    0
}

/// See `pthread_cond_destroy(3)`. Blocks until all waiters have left.
///
/// # Safety
/// As that page asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_destroy(cond: *mut Cond) -> c_int {
    // SAFETY: the program's; passed on.
    let object = unsafe {
        if is_libcs_cond(&*cond) {
            return next::pthread_cond_destroy(cond);
        }
        &*cond
    };
    let mut spinner = Spinner::new();
    while !object.queue.is_quiet() {
        if spinner.step() == Advice::Sleep {
            nap(1_000_000);
        }
    }
    0
}
