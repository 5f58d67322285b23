//! The happens-before relation of threads, for the lock order: which thread creates, joins or
//! signals which. What a thread did before it created another happened before the other; likewise
//! what a joined thread did. What a signaller did before the signal happened before the waiter's
//! return, and before later acquisitions of the mutex that the signaller held or last released:
//! their threads may find that they need not wait.
//!
//! A new thread begins in a function of this library, which identifies its creator. It jumps to the
//! program's function with the stack unchanged.

use super::given::{ARE_GIVEN, SEGMENT_BITS, WRITTEN, is_given, places_of};
use super::own::{Form, Own, own};
use super::trace;
use cohort::records::{MADE, SEGMENTS};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

/// Thread that is about to begin.
struct Start {
    is_taken: AtomicU32,
    /// Its first segment.
    segment: AtomicU32,
    /// The program's function for the thread.
    routine: AtomicUsize,
    argument: AtomicUsize,
}

/// Limit of threads about to begin at once with known creators.
const STARTS: usize = 256;

static ABOUT: [Start; STARTS] = [const {
    Start {
        is_taken: AtomicU32::new(0),
        segment: AtomicU32::new(0),
        routine: AtomicUsize::new(0),
        argument: AtomicUsize::new(0),
    }
}; STARTS];

/// The program's function for a thread, and its argument, in two registers.
#[repr(C)]
struct Run {
    routine: usize,
    argument: usize,
}

/// Start function of a thread.
///
/// # Safety
/// The argument is a [`Start`] owned by this thread.
// SAFETY: it jumps with the stack as it was called, and the argument that the program gave.
#[unsafe(naked)]
unsafe extern "C" fn begins(start: *mut c_void) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "sub rsp, 8",
        "call {begun}",
        "add rsp, 8",
        "mov rdi, rdx",
        "jmp rax",
        begun = sym begun,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {begun}",
        "ldp x29, x30, [sp], #16",
        "mov x16, x0",
        "mov x0, x1",
        "br x16",
        begun = sym begun,
    );
}

unsafe extern "C" fn begun(start: *const Start) -> Run {
    // SAFETY: passed on by `creating`, and never unmapped.
    let start = unsafe { &*start };
    let run = Run {
        routine: start.routine.load(Relaxed),
        argument: start.argument.load(Relaxed),
    };
    let segment = start.segment.load(Relaxed);
    start.is_taken.store(0, Release);
    if let Some(own) = ordered() {
        own.begins_in(segment);
    }
    run
}

/// The calling thread's record, in a process whose lock order is recorded.
fn ordered() -> Option<Own> {
    own().filter(|own| own.form == Form::Order)
}

/// Whether the calling thread's operations are events of a trace.
fn is_traced() -> bool {
    own().is_some_and(|own| own.form == Form::Traced)
}

/// Creates a thread that runs `routine`; `create` gets the substitute start function and argument,
/// and stores the thread's name at `thread`.
///
/// # Safety
/// `thread` is readable once `create` has returned 0.
#[inline(never)]
pub unsafe fn creating(
    thread: *const usize,
    routine: usize,
    argument: usize,
    create: impl FnOnce(usize, usize) -> c_int,
) -> c_int {
    if is_traced() {
        // SAFETY: the caller's.
        return unsafe { trace::creating(thread, || create(routine, argument)) };
    }
    let take = |start: &&Start| {
        let is_taken = &start.is_taken;
        is_taken.load(Relaxed) == 0 && is_taken.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    };
    let Some(own) = ordered() else {
        return create(routine, argument);
    };
    let Some(start) = ABOUT.iter().find(take) else {
        return create(routine, argument);
    };
    let here = own.segment();
    let first = own.records().begin_segment(0, [here, 0]);
    start.segment.store(first, Relaxed);
    start.routine.store(routine, Relaxed);
    start.argument.store(argument, Relaxed);
    let result = create(begins as *const () as usize, ptr::from_ref(start).addr());
    if result == 0 {
        own.goes_on_after(0);
    } else {
        start.is_taken.store(0, Release);
    }
    result
}

/// Joins a thread; if `join` returns 0, what that thread did happened before.
#[inline(never)]
pub fn joined(thread: usize, join: impl FnOnce() -> c_int) -> c_int {
    let Some(own) = ordered() else { return join() };
    // The joined thread's first segment has begun; that of a later thread with the same name has
    // not.
    let begun = own.records().segmented.load(Relaxed);
    let result = join();
    if result == 0 {
        own.goes_on_after(own.last_segment(thread, begun));
    }
    result
}

/// Whether hand-shakes have segments left: most are reserved for creations and joins, which are rarer.
/// Without one, a hand-shake orders nothing.
fn has_room(own: &Own) -> bool {
    (own.records().segmented.load(Relaxed) as usize) < SEGMENTS / 8
        && (WRITTEN.load(Relaxed) as usize) < MADE / 4
}

/// Notes that the thread takes a pair of locks.
pub fn note_made(own: &Own, pair: u64) {
    if own.records().note_made(pair, own.unshared_segment()) {
        WRITTEN.fetch_add(1, Relaxed);
    }
}

/// Hands on the thread's segment at that object: threads that find it there follow it.
fn gives(own: &Own, object: usize) {
    if !has_room(own) {
        return;
    }
    let segment = own.shares_segment();
    let (word, mut places) = places_of(object);
    let free = places.find_map(|place| {
        let known = place.load(Relaxed);
        let is_mine = known == 0 || known >> SEGMENT_BITS == word >> SEGMENT_BITS;
        let put = || place.compare_exchange(known, word | u64::from(segment), Release, Relaxed);
        (is_mine && put().is_ok()).then_some(())
    });
    if segment != 0 && free.is_some() {
        ARE_GIVEN.set(object as u64);
    }
}

/// Makes the thread follow the segment handed on at that object, if any.
#[inline]
pub fn gets(own: &Own, object: usize) {
    if is_given(object) {
        gets_given(own, object);
    }
}

#[cold]
fn gets_given(own: &Own, object: usize) {
    let (word, mut places) = places_of(object);
    let given = places.find_map(|place| {
        let known = place.load(Acquire);
        (known >> SEGMENT_BITS == word >> SEGMENT_BITS)
            .then_some(known as u32 & ((1 << SEGMENT_BITS) - 1))
    });
    if let Some(segment) = given
        && has_room(own)
    {
        own.goes_on_after_shared(segment);
    }
}

/// Signals a condition.
#[inline(never)]
pub fn signalling(condition: usize, to_all: bool, signal: impl FnOnce() -> c_int) -> c_int {
    if is_traced() {
        trace::signalling(condition, to_all);
    } else if let Some(own) = ordered() {
        gives(&own, condition);
        if let Some(mutex) = own.latest_mutex() {
            gives(&own, mutex);
        }
    }
    signal()
}

/// Records that the thread has the mutex again after a wait at a condition.
#[cold]
pub fn waited(own: &Own, condition: usize, mutex: usize, is_signalled: bool) {
    if is_signalled {
        gets(own, condition);
    }
    gets(own, mutex);
}

/// Posts a semaphore.
#[inline(never)]
pub fn posting(semaphore: usize, post: impl FnOnce() -> c_int) -> c_int {
    if let Some(own) = ordered() {
        gives(&own, semaphore);
    }
    post()
}

/// Waits for a semaphore.
#[inline(never)]
pub fn pending(semaphore: usize, wait: impl FnOnce() -> c_int) -> c_int {
    let result = wait();
    if result == 0
        && let Some(own) = ordered()
    {
        gets(&own, semaphore);
    }
    result
}

/// Waits at a barrier. Each arrival follows the earlier ones, and what threads do after the barrier
/// follows the last.
#[inline(never)]
pub fn meeting(barrier: usize, wait: impl FnOnce() -> c_int) -> c_int {
    let Some(own) = ordered() else { return wait() };
    gets(&own, barrier);
    gives(&own, barrier);
    let result = wait();
    gets(&own, barrier);
    result
}
