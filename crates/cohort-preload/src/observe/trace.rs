//! Tracing, for `cohort record`: each lock operation is an event in a file.
//!
//! An acquisition reads the clock once if the lock is free, else twice, and a release reads it once.
//! After a long time between two events the thread also asks the kernel how long it ran: it may have
//! slept, or lost its CPU, and neither is computation.
//!
//! The command opens and closes windows of recording. Outside them an operation reads one word. Locks
//! that a thread holds at the beginning of a window are unknown.

use super::chunks::{KEY, event, head};
use super::own::{Caller, Own, WAS_TAKEN, own, tracing};
use super::taken::is_locked;
use super::{RECORDED, price};
use crate::choice::variable_c;
use crate::libc::ETIMEDOUT;
use crate::next::observed;
use cohort::door::now;
use cohort::records::{Doing, How, RawEvent, Sort, flag};
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// Whether the price of an event has been measured in this process.
static IS_PRICED: AtomicBool = AtomicBool::new(false);

/// Creates the key, if this process is recorded. Called while the library is loaded: a later key
/// could be one for which the C library allocates.
pub fn prepare() {
    if variable_c(RECORDED).is_none() {
        return;
    }
    let mut key = 0;
    // SAFETY: the key is writable, and the function lives as long as the program.
    if unsafe { observed::pthread_key_create(&raw mut key, ended as *const () as usize) } == 0 {
        KEY.store(key + 1, Relaxed);
    }
}

/// Runs at the end of a thread with a record.
unsafe extern "C" fn ended(_: *mut c_void) {
    if own().is_some() {
        let at = arrives();
        put(event(Sort::End, 0, at));
    }
}

/// Measures the price of an event, in a chunk with some events and much room.
#[cold]
#[inline(never)]
fn measure() {
    let tracing = tracing();
    let Some(head) = head() else { return };
    if IS_PRICED.swap(true, Relaxed) {
        return;
    }
    let forget = tracing.forgetting();
    if let Some([price, operation]) = price::of_an_event(&forget) {
        head.price.store(price.max(1), Relaxed);
        head.operation.store(operation, Relaxed);
    }
    forget();
}

/// The time at which an operation begins. Records an absence of the thread before it.
#[inline(always)]
fn arrives() -> u64 {
    let tracing = tracing();
    let at = now();
    if !tracing.is_long(at) && IS_PRICED.load(Relaxed) {
        return at;
    }
    looked_after(at)
}

/// Records an absence before that time, measures the price of an event if it is unknown, and returns the time.
#[cold]
#[inline(never)]
fn looked_after(at: u64) -> u64 {
    let tracing = tracing();
    if tracing.is_long(at) {
        tracing.record_absence(None);
    }
    if !IS_PRICED.load(Relaxed) && tracing.has_room() {
        let began = now();
        measure();
        tracing.ask();
        tracing.leave_out(now() - began);
    }
    now()
}

/// Writes an event.
#[inline(always)]
fn put(event: RawEvent) {
    tracing().put(event);
}

/// Runs a lock operation and records it.
#[inline(always)]
pub fn locking(
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    begin: impl FnOnce() -> Option<bool>,
    is_taken: impl FnOnce() -> Option<bool>,
    lock: impl FnOnce(Option<bool>) -> c_int,
) -> c_int {
    let at = arrives();
    let begun = begin();
    let (result, lasted, contended) = if begun == Some(true) {
        tracing().ends(at);
        (0, 0, false)
    } else {
        // Marks of sleepers can make the fast path fail although the lock is free.
        let contended = is_taken() == Some(true);
        let result = lock(begun);
        (result, tracing().waited_since(at), contended)
    };
    let mut flags = (how as u16) << flag::HOW;
    if is_locked(result) {
        flags |= flag::GOT;
    }
    if contended {
        flags |= flag::CONTENDED;
    }
    flags |= match doing {
        Doing::Nothing => flag::TRY,
        Doing::Timed => flag::TIMED,
        _ => 0,
    };
    put(RawEvent {
        site: caller.returns_to as u64,
        flags,
        lasted,
        ..event(Sort::Acquire, object, at)
    });
    result
}

/// Unlocks, and records it.
#[inline(always)]
pub fn unlocking(object: usize, unlock: impl FnOnce() -> c_int) -> c_int {
    let at = now();
    let result = unlock();
    if result == 0 {
        if tracing().is_long(at) {
            tracing().record_absence(Some(at));
            put(event(Sort::Release, object, at));
            // The program does not compute meanwhile. A loss of the CPU after the question is found by the
            // next one.
            put(RawEvent {
                lasted: tracing().asked_at(at) - at,
                ..event(Sort::Preempted, object, at)
            });
        } else {
            put(event(Sort::Release, object, at));
        }
        tracing().ends(at);
    }
    result
}

/// Records that a lock has been initialised.
pub fn initialised(how: How, object: usize, caller: &Caller) {
    put(RawEvent {
        site: caller.returns_to as u64,
        flags: (how as u16) << flag::HOW,
        ..event(Sort::Initialise, object, now())
    });
}

/// Waits at a condition: a release of the mutex, the wait, and another acquisition.
#[inline(always)]
pub fn waiting(
    own: &Own,
    doing: Doing,
    cond: usize,
    how: How,
    mutex: usize,
    caller: &Caller,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let at = arrives();
    let knows_mutex = how != How::Condition;
    if knows_mutex {
        put(event(Sort::Release, mutex, at));
    }
    own.begins(doing, how, cond, mutex, caller);
    let result = wait();
    let granted = at + tracing().waited_since(at);
    let told = own.thread.told.load(Acquire);
    own.ends();
    // The C library's conditions do not report the notification's time.
    let over = if told == 0 {
        granted
    } else {
        (told & !WAS_TAKEN).clamp(at, granted)
    };
    let site = caller.returns_to as u64;
    let flags = match result {
        0 => flag::GOT,
        ETIMEDOUT => flag::TIMED,
        _ => 0,
    };
    let waited = RawEvent {
        site,
        flags,
        lasted: over - at,
        ..event(Sort::Wait, cond, at)
    };
    put(waited);
    if knows_mutex {
        let contended = if told & WAS_TAKEN != 0 {
            flag::CONTENDED
        } else {
            0
        };
        let relocked = RawEvent {
            site,
            flags: (how as u16) << flag::HOW | flag::GOT | flag::RELOCK | contended,
            lasted: granted - over,
            ..event(Sort::Acquire, mutex, over)
        };
        put(relocked);
    }
    result
}

/// Records a signal that is about to be given.
pub fn signalling(condition: usize, to_all: bool) {
    let at = arrives();
    let sort = if to_all {
        Sort::Broadcast
    } else {
        Sort::Signal
    };
    put(event(sort, condition, at));
    tracing().ends(at);
}

/// Creates a thread; `thread` is its name once there is one.
///
/// # Safety
/// `thread` is readable if `create` returns 0.
pub unsafe fn creating(thread: *const usize, create: impl FnOnce() -> c_int) -> c_int {
    let at = arrives();
    let result = create();
    if result == 0 {
        // SAFETY: the caller's.
        put(event(Sort::Create, unsafe { thread.read() }, at));
        tracing().ends(at);
    }
    result
}

/// Waits for another thread's end, a semaphore or a barrier.
pub fn sleeping(doing: Doing, object: usize, sleep: impl FnOnce() -> c_int) -> c_int {
    let sort = match doing {
        Doing::Join => Sort::Join,
        Doing::Barrier => Sort::Barrier,
        _ => Sort::Semaphore,
    };
    let at = arrives();
    let result = sleep();
    let lasted = tracing().waited_since(at);
    put(RawEvent {
        lasted,
        ..event(sort, object, at)
    });
    result
}
