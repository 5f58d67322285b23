//! Extension of a lock holder's time slice (Linux 7.0, `CONFIG_RSEQ_SLICE_EXTENSION`).
//!
//! The holder of a contended lock sets a byte in its thread's area for restartable sequences. A
//! kernel about to preempt the thread may then let it run on for a few microseconds: it clears that
//! byte and sets the next. After the release the thread clears the request. If it was granted, the
//! thread yields by a system call made for this; otherwise a timer of the kernel preempts it. Any
//! other system call yields too, such as the release's own to wake a sleeper.
//!
//! **Cost.** The preemption of a holder delays waiters only. So only an acquisition that found the
//! lock held or marked makes a request, and an uncontended acquisition executes nothing for it. Nor
//! does a release: it compares the thread's count of quiet releases with a bound anyway, and the
//! bit [`STANDS`] in that count exceeds the bound.
//!
//! | `asks_for` | `STANDS` | request | granted | state of the thread |
//! |---|---|---|---|---|
//! | 0 | 0 | 0 | 0 | no request |
//! | lock | 1 | 1 | 0 | holds that lock; may be granted an extension |
//! | lock | 1 | 0 | 1 | the same, in its extension |
//! | lock | 1 | 0 | 0 | the same, preempted since, after an extension or without |
//! | 0 | 0 | 0 | 1 | released; yields next |
//!
//! **Nesting.** A thread has one request, for the outermost of its contended locks: from then on
//! its inner locks are covered too. Once that request is used up, the next contended lock makes
//! another.
//!
//! **Debugging kernels** (`rseq_debug=1`) kill a thread that makes a request during an extension, or
//! enters a system call with a request after an extension and none in between. So a request is only
//! written over 0, 0. And a thread with a used request calls the kernel's yield before another, even
//! if no extension is left: it has no effect then, and the thread has just been preempted anyway.
//!
//! **Interruptions.** A signal handler may run between any two of these accesses. It nests as an
//! inner lock does; at worst its request or the interrupted one is lost or stays.
//!
//! **Requests that stay.** A thread may leave its lock to another thread, by `longjmp`, or as the
//! process's last thread. Its request then lasts until its next preemption, which a grant delays
//! once. A wait at a condition releases the lock and clears the request. A sleep with an outer lock
//! held ends the request or not; both are fine.
//!
//! **Threads and processes.** The kernel enables extensions per thread: each does so at its first
//! contended acquisition. New threads and programs begin without. A forked child inherits the
//! kernel's state with the area. A child of `vfork` writes the area of its parent, and has no
//! extensions of its own.
//!
//! **Programs with extensions of their own.** A thread that already has them enabled makes no
//! request here. Once the program asks the kernel about extensions, [`leave_extensions`] ends them
//! here.
//!
//! **Filters of system calls.** A filter from before the program's start is unknown and may kill
//! for these calls; with such a filter there are no extensions. [`forbid`](super::forbid) ends them
//! before the program installs a filter that kills the process for one of these calls.

use super::ThreadRecord;
use super::allowed::{Beyond, if_allowed, is_allowed};
use super::atoms::{AtomicU8, AtomicU32, Ordering, compiler_fence};
use super::kernel::{call, number};
use super::place::{file_of, rseq_area, rseq_size};
use super::thread;

/// In the count of a thread's [quiet](ThreadRecord) releases: a request stands, or has been granted.
pub(super) const STANDS: u32 = 1 << 31;

/// Offsets in `struct rseq`.
const FLAGS: usize = 16;
const REQUEST: usize = 28;
const GRANTED: usize = 29;

/// Flags that the kernel writes there.
const AVAILABLE: u32 = 1 << 4;
const ENABLED: u32 = 1 << 5;

/// What is known of a thread.
const UNKNOWN: u8 = 0;
/// It has enabled extensions, for its locks.
const OURS: u8 = 1;
/// It makes no requests.
const NEVER: u8 = 2;

/// Whether holders make requests.
static STATE: AtomicU8 = AtomicU8::new(OFF);
/// Not so far.
const OFF: u8 = 0;
/// They do.
const ON: u8 = 1;
/// Extensions are the program's, for good.
const LEFT: u8 = 2;

/// Whether holders of contended locks make requests.
#[inline(always)]
#[must_use]
pub fn extends_slices() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Lets holders of contended locks make requests, if the kernel grants them and filters no system
/// calls. For a caller that reports each later filter by [`forbid`](super::forbid).
#[cold]
pub fn offer_extensions() {
    let offers = || Area::of_thread().is_some_and(|area| area.is_free());
    if rseq_size() > GRANTED && offers() && !is_filtered() {
        let _ = STATE.compare_exchange(OFF, ON, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Leaves extensions to the program, which is about to enable or query them.
#[cold]
pub fn leave_extensions() {
    STATE.store(LEFT, Ordering::Relaxed);
    let me = thread();
    if me.extension.replace(NEVER) == OURS {
        if let Some(area) = Area::of_thread() {
            me.end_request();
            area.request.store(0, Ordering::Relaxed);
        }
        set_enabled(false);
    }
}

/// Requests an extension for the holder of the lock at that address, a contended one. The holder's
/// release calls [`ends_extension`], then [`return_extension`].
#[cold]
#[inline(never)]
pub fn request_extension(lock: usize) {
    let me = thread();
    let Some(area) = Area::of_thread() else {
        return;
    };
    if me.extension.get() == UNKNOWN {
        let ours = area.is_free() && set_enabled(true);
        me.extension.set(if ours { OURS } else { NEVER });
    }
    if me.extension.get() == OURS && is_allowed(Beyond::Slice) {
        area.request(me, lock, yield_extension);
    }
}

/// Whether the calling thread's request is for the lock at that address, which it is about to
/// release; if so, forgets that.
#[inline]
#[must_use]
pub fn ends_extension(lock: usize) -> bool {
    let me = thread();
    if me.quiet.get() & STANDS == 0 {
        return false;
    }
    // No lock: an interrupting handler has ended the request.
    let ends = [lock, 0].contains(&me.asks_for.get());
    if ends {
        me.end_request();
    }
    ends
}

/// Clears the request of a thread that has released its lock, and yields if it was used.
#[cold]
#[inline(never)]
pub fn return_extension() {
    if let Some(area) = Area::of_thread() {
        area.give_back(yield_extension);
    }
}

/// Yields the CPU at the end of an extension.
fn yield_extension() {
    #[cfg(test)]
    tests::YIELDS.with(|yields| yields.set(yields.get() + 1));
    // SAFETY: the call has no arguments, and no effect but to yield.
    let it = || unsafe { call(number::RSEQ_SLICE_YIELD, [0; 6]) >= 0 };
    if_allowed(Beyond::Slice, it);
}

impl ThreadRecord {
    /// Forgets the thread's request.
    fn end_request(&self) {
        self.asks_for.set(0);
        self.quiet.set(self.quiet.get() & !STANDS);
    }
}

/// What a thread shares with the kernel. The kernel accesses it in the thread's place: the order of
/// the thread's own instructions is the only one.
struct Area<'a> {
    flags: &'a AtomicU32,
    request: &'a AtomicU8,
    granted: &'a AtomicU8,
}

impl Area<'_> {
    /// The calling thread's, if the C library has one.
    fn of_thread() -> Option<Self> {
        let area = rseq_area()?;
        // SAFETY: the area has at least 32 bytes, and lives as long as its thread. The kernel and
        // the C library access these in this thread only.
        unsafe {
            Some(Self {
                flags: &*area.add(FLAGS).cast(),
                request: &*area.add(REQUEST).cast(),
                granted: &*area.add(GRANTED).cast(),
            })
        }
    }

    /// Whether the kernel offers extensions, and the program has not enabled them.
    fn is_free(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & (AVAILABLE | ENABLED) == AVAILABLE
    }

    /// Requests an extension for that lock, unless the thread has a request or an extension. If it
    /// had, calls `yields` first.
    fn request(&self, me: &ThreadRecord, lock: usize, yields: impl FnOnce()) {
        let stands = self.request.load(Ordering::Relaxed) != 0;
        let has_requested = me.asks_for.get() != 0;
        if stands && has_requested || self.granted.load(Ordering::Relaxed) != 0 {
            return;
        }
        if has_requested {
            yields();
        }
        me.asks_for.set(lock);
        me.quiet.set(me.quiet.get() | STANDS);
        if !stands {
            // An interrupting handler takes the request over, or finds it.
            compiler_fence(Ordering::SeqCst);
            self.request.store(1, Ordering::Relaxed);
        }
        // The critical section follows.
        compiler_fence(Ordering::SeqCst);
    }

    /// Clears the request; calls `yields` if the kernel has done so before.
    fn give_back(&self, yields: impl FnOnce()) {
        // The critical section comes first.
        compiler_fence(Ordering::SeqCst);
        let used = self.request.load(Ordering::Relaxed) == 0;
        self.request.store(0, Ordering::Relaxed);
        // A grant between the two would go unnoticed in the other order.
        compiler_fence(Ordering::SeqCst);
        if used || self.granted.load(Ordering::Relaxed) != 0 {
            yields();
        }
    }
}

/// Enables or disables the calling thread's extensions; whether the kernel did.
fn set_enabled(enabled: bool) -> bool {
    const PR_RSEQ_SLICE_EXTENSION: usize = 79;
    const SET: usize = 2;
    let arguments = [PR_RSEQ_SLICE_EXTENSION, SET, usize::from(enabled), 0, 0, 0];
    // SAFETY: the kernel writes the flags of the area at most.
    if_allowed(Beyond::Slice, || unsafe {
        call(number::PRCTL, arguments) == 0
    })
}

/// Whether the kernel filters the process's system calls, or does not say so.
fn is_filtered() -> bool {
    const NONE: &[u8] = b"\nSeccomp:\t0\n";
    let mut text = [0; 2_048];
    let status = file_of("/proc/self/status", &mut text);
    status.is_none_or(|status| !status.windows(NONE.len()).any(|line| line == NONE))
}

#[cfg(all(test, target_arch = "x86_64", feature = "std", not(feature = "chaos")))]
#[path = "../../../tests/support/step.rs"]
mod step;

#[cfg(test)]
mod tests {
    extern crate std;

    use super::super::{is_quiet_time, is_special_release};
    use super::*;
    use crate::numa::FutexHmcs;
    use crate::sync::fair_release::ReleaseFairly;
    use cohort_raw::RawLock;
    use core::cell::Cell;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::thread::{scope, sleep, yield_now};
    use std::thread_local;

    thread_local! {
        /// How often the thread has yielded at the end of an extension.
        pub static YIELDS: Cell<u32> = const { Cell::new(0) };
    }

    /// Longer than a lock's patience with a sleeper.
    const PATIENCE: core::time::Duration = core::time::Duration::from_millis(1);

    const OUTER: usize = 0x10;
    const INNER: usize = 0x20;

    /// An area, with a kernel that grants extensions.
    #[derive(Default)]
    struct Kernel {
        flags: AtomicU32,
        request: AtomicU8,
        granted: AtomicU8,
        /// The kernel looks at the area in the next system call.
        looks: Cell<bool>,
    }

    impl Kernel {
        fn area(&self) -> Area<'_> {
            Area {
                flags: &self.flags,
                request: &self.request,
                granted: &self.granted,
            }
        }

        fn bytes(&self) -> (u8, u8) {
            let of = |byte: &AtomicU8| byte.load(Ordering::Relaxed);
            (of(&self.request), of(&self.granted))
        }

        fn set(&self, (request, granted): (u8, u8)) {
            self.request.store(request, Ordering::Relaxed);
            self.granted.store(granted, Ordering::Relaxed);
        }

        /// Is about to preempt the thread; whether it grants an extension instead.
        fn preempts(&self) -> bool {
            let grants = self.bytes() == (1, 0);
            self.set((0, u8::from(grants)));
            self.looks.set(self.looks.get() || grants);
            grants
        }

        /// A system call of the thread. The kernel kills it for a request after an extension.
        fn is_called(&self) {
            if self.looks.replace(false) {
                assert_eq!(self.bytes().0, 0, "a request after an extension");
                self.set((0, 0));
            }
        }

        /// The thread acquires that lock, a contended one.
        fn acquire(&self, lock: usize) {
            self.area().request(thread(), lock, || self.is_called());
            assert_ne!(self.bytes(), (1, 1), "a request during an extension");
        }

        /// The thread releases that lock: how often it then yields.
        fn release(&self, lock: usize) -> u32 {
            let mut yields = 0;
            if ends_extension(lock) {
                self.area().give_back(|| {
                    yields += 1;
                    self.is_called();
                });
            }
            yields
        }
    }

    fn stands() -> bool {
        thread().quiet.get() & STANDS != 0
    }

    #[test]
    fn a_holder_yields_exactly_if_it_was_granted_an_extension() {
        let kernel = Kernel::default();
        for granted in [false, true, true, false] {
            kernel.acquire(OUTER);
            assert!(kernel.bytes() == (1, 0) && stands());
            if granted {
                assert!(kernel.preempts());
            }
            assert_eq!(kernel.release(OUTER), u32::from(granted));
            assert!(kernel.bytes() == (0, 0) && !stands());
        }
    }

    /// Nor during the next critical section, if the extension was revoked in this one.
    #[test]
    fn no_system_call_finds_a_request_after_an_extension() {
        let kernel = Kernel::default();
        for preemptions in 0..4 {
            kernel.acquire(OUTER);
            for _ in 0..preemptions {
                let _ = kernel.preempts();
            }
            kernel.acquire(INNER);
            kernel.is_called();
            let _ = kernel.release(INNER);
            kernel.is_called();
            let _ = kernel.release(OUTER);
            assert!(kernel.bytes() == (0, 0) && !stands());
            kernel.is_called();
        }
    }

    #[test]
    fn the_outermost_lock_has_the_request() {
        let kernel = Kernel::default();
        for granted in [false, true] {
            kernel.acquire(OUTER);
            if granted {
                assert!(kernel.preempts());
            }
            let before = kernel.bytes();
            kernel.acquire(INNER);
            assert_eq!(kernel.release(INNER), 0);
            assert_eq!(kernel.bytes(), before);
            assert_eq!(kernel.release(OUTER), u32::from(granted));
        }
    }

    #[test]
    fn an_inner_lock_requests_again_after_the_extension() {
        let kernel = Kernel::default();
        kernel.acquire(OUTER);
        assert!(kernel.preempts() && !kernel.preempts());
        kernel.acquire(INNER);
        assert_eq!(kernel.bytes(), (1, 0));
        assert!(kernel.preempts());
        assert_eq!(kernel.release(INNER), 1);
        assert_eq!((kernel.release(OUTER), stands()), (0, false));
    }

    /// The handler's acquisitions and releases of a lock nest between any two steps of a request.
    #[test]
    fn a_signal_handler_leaves_no_request_behind() {
        let me = thread();
        let steps: [&dyn Fn(&Kernel); 3] = [
            &|_| me.asks_for.set(OUTER),
            &|_| me.quiet.set(me.quiet.get() | STANDS),
            &|kernel| kernel.request.store(1, Ordering::Relaxed),
        ];
        for interrupted in 0..=steps.len() {
            let kernel = Kernel::default();
            for (place, step) in steps.iter().enumerate() {
                if place == interrupted {
                    kernel.acquire(INNER);
                    assert_eq!(kernel.release(INNER), 0);
                }
                step(&kernel);
            }
            assert_eq!(kernel.release(OUTER), 0);
            // The handler may have cleared `STANDS` alone: the next lock takes the request over.
            kernel.acquire(OUTER);
            assert_eq!(kernel.release(OUTER), 0);
            assert!(kernel.bytes() == (0, 0) && !stands(), "{interrupted}");
            assert_eq!(me.asks_for.get(), 0);
        }
    }

    #[test]
    fn a_request_leaves_the_count_of_quiet_releases() {
        let kernel = Kernel::default();
        let me = thread();
        assert!(!is_special_release());
        let before = me.quiet.get();
        kernel.acquire(OUTER);
        assert!(is_special_release() && !is_quiet_time());
        let _ = kernel.release(OUTER);
        assert_eq!(me.quiet.get(), before + 1);
        assert!(!is_special_release());
    }

    /// Where an old program has no area, or an old kernel no extensions, nothing is requested.
    #[test]
    fn only_an_offering_kernel_is_asked() {
        let kernel = Kernel::default();
        for (flags, free) in [(0, false), (AVAILABLE, true), (AVAILABLE | ENABLED, false)] {
            kernel.flags.store(flags, Ordering::Relaxed);
            assert_eq!(kernel.area().is_free(), free);
        }
    }

    /// A process with extensions on; one at a time.
    struct Offered(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

    impl Offered {
        fn new() -> Self {
            static ONE: Mutex<()> = Mutex::new(());
            let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
            STATE.store(ON, Ordering::Relaxed);
            Self(guard)
        }
    }

    impl Drop for Offered {
        fn drop(&mut self) {
            STATE.store(OFF, Ordering::Relaxed);
        }
    }

    /// Runs `it` in a thread that has slept for the lock, and holds it.
    fn hold_contended(lock: &FutexHmcs, it: impl FnOnce() + Send) {
        // SAFETY: released below.
        unsafe { lock.acquire(&()) };
        scope(|scope| {
            let waiter = scope.spawn(|| {
                thread().extension.set(OURS);
                // SAFETY: `it` releases it.
                unsafe { lock.acquire(&()) };
                it();
            });
            while !lock.is_waited_for(&()) {
                yield_now();
            }
            // SAFETY: acquired above.
            unsafe { lock.release(&()) };
            waiter.join().expect("no assertion failed");
        });
    }

    #[test]
    fn contended_acquisitions_request_and_their_releases_give_back() {
        let _on = Offered::new();
        let Some(_) = Area::of_thread() else {
            return;
        };
        let lock = FutexHmcs::new();
        let other = FutexHmcs::new();
        type Release = fn(&FutexHmcs);
        let ways: [Release; 2] = [
            // SAFETY: the callers hold it; so below.
            |lock| unsafe { lock.release(&()) },
            // SAFETY: as above.
            |lock| unsafe { lock.release_fairly(&()) },
        ];
        for release in ways {
            for granted in [false, true] {
                hold_contended(&lock, || {
                    let area = Area::of_thread().expect("as the other thread");
                    let requests = || area.request.load(Ordering::Relaxed);
                    assert_eq!(requests(), 1);
                    // An uncontended lock inside.
                    // SAFETY: released at once.
                    unsafe { other.acquire(&()) };
                    release(&other);
                    assert_eq!(requests(), 1);
                    area.granted.store(u8::from(granted), Ordering::Relaxed);
                    area.request.store(u8::from(!granted), Ordering::Relaxed);
                    release(&lock);
                    area.granted.store(0, Ordering::Relaxed);
                    assert_eq!(requests(), 0);
                    assert_eq!(YIELDS.get(), u32::from(granted));
                    // The sleeper's marks stay in the word for a while, though it is gone.
                    let uncontended = (0..1_000).any(|_| {
                        // SAFETY: released at once.
                        unsafe { lock.acquire(&()) };
                        let requested = requests() != 0;
                        release(&lock);
                        assert_eq!(requests(), 0);
                        sleep(PATIENCE);
                        !requested
                    });
                    assert!(uncontended);
                    assert_eq!(YIELDS.get(), u32::from(granted));
                });
            }
        }
    }

    /// Neither before the kernel offers it, nor after the program asks for it.
    #[test]
    fn nothing_is_requested_unless_it_is_on() {
        let _on = Offered::new();
        let Some(_) = Area::of_thread() else {
            return;
        };
        let lock = FutexHmcs::new();
        let requests = |state| {
            STATE.store(state, Ordering::Relaxed);
            let mut requests = 2;
            hold_contended(&lock, || {
                let area = Area::of_thread().expect("as the other thread");
                requests = area.request.load(Ordering::Relaxed);
                // SAFETY: the caller holds it.
                unsafe { lock.release(&()) };
            });
            requests
        };
        assert_eq!([OFF, ON, LEFT].map(requests), [0, 1, 0]);
    }

    #[test]
    fn a_program_that_enables_extensions_has_them_to_itself() {
        let _on = Offered::new();
        let Some(_) = Area::of_thread() else {
            return;
        };
        let lock = FutexHmcs::new();
        hold_contended(&lock, || {
            let area = Area::of_thread().expect("as the other thread");
            leave_extensions();
            assert_eq!(area.request.load(Ordering::Relaxed), 0);
            assert!(!stands() && !extends_slices());
            // SAFETY: the caller holds it.
            unsafe { lock.release(&()) };
            assert_eq!(YIELDS.get(), 0);
        });
        offer_extensions();
        assert!(!extends_slices());
    }

    /// By the processor's single steps.
    #[cfg(all(target_arch = "x86_64", feature = "std", not(feature = "chaos")))]
    #[test]
    fn an_uncontended_pair_executes_no_instruction_for_it() {
        let _on = Offered::new();
        if !step::can_step() {
            return;
        }
        let lock = FutexHmcs::new();
        thread().extension.set(OURS);
        let pair = || {
            // SAFETY: released at once.
            unsafe {
                lock.acquire(&());
                lock.release(&());
            }
        };
        // Both compile to the same closure, so that the frames are equal.
        let steps = |state| {
            STATE.store(state, Ordering::Relaxed);
            thread().quiet.set(0);
            pair();
            let taken = |steps: &u32| step::stopped_after(*steps, || {}, pair);
            (1..2_000).take_while(taken).count()
        };
        let [off, on] = [OFF, ON].map(steps);
        assert!(off > 10, "{off}");
        assert_eq!(off, on);
    }
}
