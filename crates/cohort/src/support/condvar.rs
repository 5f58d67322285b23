//! Condition variables: a queue of waiters by real-time priority, FIFO among equals.
//!
//! Each waiter sleeps on its own word, so a signal wakes exactly the selected thread. A selected
//! waiter never accesses the condition again; so the condition may be destroyed once the last
//! waiter has been signalled.
//!
//! **Spinning.** In [`wait_with`](RawCondvar::wait_with) and
//! [`wait_between`](RawCondvar::wait_between), a waiter spins before it sleeps: for a few
//! microseconds if this recently paid for its thread, else longer but rarely. A store notifies a
//! spinning waiter. A sleeping waiter costs its signaller one system call, and itself two and the
//! wait for a CPU.
//!
//! **Wait morphing.** A selected waiter needs the mutex, which its signaller usually holds. Woken
//! at once, it would sleep again, and each hand-over of the mutex would cost two sleeps. So the
//! signaller first offers the waiter to the mutex, which may *adopt* it: the sleeping thread
//! becomes a waiter of the mutex, and the release wakes it. A single waiter that went to sleep on
//! another CPU than its signaller's is woken instead: by the time it runs there the mutex is
//! usually free, and the signaller saves the second system call. The signaller may access the mutex
//! until it has notified the waiter, whether or not it holds the mutex: a waiter acquires its mutex
//! before it does anything else.
//!
//! | `state` of a waiter | meaning | set by |
//! |---|---|---|
//! | `LOOKING` | in the queue and spinning on this word before it sleeps | itself |
//! | `WAITING` | in the queue; asleep or about to sleep | itself |
//! | `LEAVING` | in the queue; timed out or cancelled, and out of reach of signals | itself |
//! | `STIRRED` | in the queue, to leave it by itself: a selected thread was cancelled, and passes its signal on | that thread |
//! | `CHOSEN` | selected, out of the queue; notification pending | a signaller, holding the queue |
//! | `MET` | the same for a spinning waiter | the same |
//! | `LISTENING` | selected and awake, about to sleep until the notification | itself |
//! | `SIGNALLED`, `BROADCAST` | notified | that signaller |
//! | the same with `ADOPTED` | notified; the mutex's release wakes it | that signaller |

use crate::basic::Futex;
use crate::door::{
    Advice, AtomicU32, AtomicUsize, Order, Slept, Spinner, cpu, flaws, mutant, orders, pool,
    priority, runs_out, should_spin, sleep_on, sleep_within, spin_before_sleep, to_its_end, wake,
};
use crate::host::{Census, Generation, Pool};
use crate::numa::FutexHmcs;
use cohort_raw::{Inherit, Patience, RawLock};
use core::mem::offset_of;
use core::ptr;

orders! {
    /// A signaller that must wake a waiter has acquired the mutex after the waiter released it. The
    /// waiter queued before that, so the signaller reads a queue that is not empty.
    CONDVAR_PEEK = Relaxed;
    /// The waiter acquires the signaller's writes, and owns its node again.
    CONDVAR_HEARD = Acquire;
    /// The signaller's side of `CONDVAR_HEARD`.
    CONDVAR_TELL = Release;
    /// Decides between leaving, being stirred and being selected; the queue's lock orders the rest.
    CONDVAR_CLAIM = Relaxed;
}

flaws! {
    LOSE_THE_CANCELLED_SIGNAL = "condvar.lose-the-cancelled-signal";
    FORGET_WAKE = "condvar.forget-wake";
    LOOK_ONLY = "condvar.look-only";
}

const WAITING: u32 = 0;
const LEAVING: u32 = 1;
const STIRRED: u32 = 2;
const CHOSEN: u32 = 3;
const LISTENING: u32 = 4;
const SIGNALLED: u32 = 5;
const BROADCAST: u32 = 6;
const ADOPTED: u32 = 8;
const LOOKING: u32 = 16;
const MET: u32 = 17;

/// A waiter's word has one sleeper, the waiter.
const CLASS: u32 = 1;

/// A waiter's node.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Waiter {
    state: AtomicU32,
    /// Neighbours in the queue, by number. Guarded by the queue's lock; `next` belongs to the
    /// signaller after the selection.
    next: AtomicU32,
    previous: AtomicU32,
    /// The CPU on which it went to sleep.
    cpu: AtomicU32,
    /// The condition's name.
    at: AtomicUsize,
    /// The mutex that it acquires after its wait, as named by the caller of `enqueue`.
    mutex: AtomicUsize,
    /// The waiting thread, as numbered by the caller of `enqueue_as`.
    thread: AtomicU32,
    /// Its real-time priority, or 0.
    priority: AtomicU32,
}

pool! {
    /// The nodes of all condition waiters.
    pub static WAITERS: Waiter, cache 2
}

/// Bytes of all nodes made so far.
pub(crate) fn pool_bytes() -> usize {
    WAITERS.bytes()
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// By a signal to this waiter alone.
    Signalled,
    /// By a broadcast.
    Broadcast,
    /// Patience ran out first; no signal was consumed.
    GaveUp,
}

/// A thread's departure from a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The end of its wait.
    pub waited: Waited,
    /// Adopted by its mutex. The mutex's release may have woken it, and it must acquire the mutex
    /// as a woken waiter.
    pub adopted: bool,
}

/// A signaller's alternative to waking a selected waiter.
pub trait Adopt {
    /// Makes the waiter a waiter of its mutex, by [`Waiter::sleep_at`]; false if it must be woken.
    fn adopt(&self, waiter: &Waiter) -> bool;
}

/// Wakes every selected waiter.
#[derive(Clone, Copy, Debug)]
pub struct WakeAll;

impl Adopt for WakeAll {
    fn adopt(&self, _waiter: &Waiter) -> bool {
        false
    }
}

/// Adopts waiters with a mutex named by the address of a [`FutexHmcs`]; wakes nameless ones.
#[derive(Clone, Copy, Debug)]
struct ByWord;

/// The name of a mutex that adopts no waiter.
pub const NAMELESS: usize = 0;

impl Adopt for ByWord {
    fn adopt(&self, waiter: &Waiter) -> bool {
        let word: *const FutexHmcs = ptr::with_exposed_provenance(waiter.mutex());
        // SAFETY: the waiter acquires its mutex before it does anything else, so the mutex stays
        // until the waiter has been notified.
        waiter.mutex() != NAMELESS
            && waiter.sleep_at(|place, seen| unsafe { (*word).adopt(place, seen) })
    }
}

/// The condition variable; all zero when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RawCondvar {
    lock: Futex,
    first: AtomicU32,
    last: AtomicU32,
    generation: Generation,
}

/// No waiter.
const NOBODY: u32 = 0;

/// Operations with nodes of [`WAITERS`], for the caller's own locks.
impl RawCondvar {
    crate::door::constructor! {
        /// A condition without waiters.
        #[must_use]
        pub fn new() -> Self {
            Self {
                lock: Futex::new(),
                first: AtomicU32::new(NOBODY),
                last: AtomicU32::new(NOBODY),
                generation: Generation::new(),
            }
        }
    }

    /// Releases the lock, blocks until signalled or until patience runs out, and acquires the lock
    /// again, which may take longer. A signaller that holds the lock leaves the wake-up to its
    /// release.
    ///
    /// # Safety
    /// The caller holds the lock. All threads signal this condition by
    /// [`notify_one`](Self::notify_one) and [`notify_all`](Self::notify_all) only.
    pub unsafe fn wait_with(&self, lock: &FutexHmcs, patience: &Patience) -> Waited {
        // A cancellable waiter sleeps only at the condition, where its canceller finds it.
        let name = if patience.is_cancellable() {
            NAMELESS
        } else {
            ptr::from_ref(lock).expose_provenance()
        };
        let waiter = self.enqueue_adaptive(name, patience);
        // SAFETY: the caller holds it, without a context, and the waiter was queued above.
        unsafe {
            lock.release(&());
            let left = self.wait(&WAITERS, waiter, patience);
            if left.adopted {
                lock.acquire_adopted();
            } else {
                lock.acquire(&());
            }
            left.waited
        }
    }

    /// [`wait_with`](Self::wait_with) for any other lock, by its `release` and `acquire`.
    ///
    /// # Safety
    /// As [`wait_with`](Self::wait_with) about signals.
    pub unsafe fn wait_between(
        &self,
        release: impl FnOnce(),
        acquire: impl FnOnce(),
        patience: &Patience,
    ) -> Waited {
        let waiter = self.enqueue_adaptive(NAMELESS, patience);
        // The caller has a guard, and continues as if it held the lock.
        to_its_end(true, || {
            release();
            // SAFETY: queued above.
            let left = unsafe { self.wait(&WAITERS, waiter, patience) };
            acquire();
            left.waited
        })
    }

    /// Wakes the waiter of the highest real-time priority, FIFO among equals; false without a
    /// waiter.
    pub fn notify_one(&self) -> bool {
        self.signal(&WAITERS, &ByWord)
    }

    /// Returns whether a thread waits. Sees a thread that queued in a critical section which
    /// happens before this call.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.first.load(CONDVAR_PEEK) != NOBODY
    }

    /// Notifies all waiters, and returns their number.
    pub fn notify_all(&self) -> usize {
        self.broadcast(&WAITERS, &ByWord)
    }
}

impl RawCondvar {
    /// Appends a waiter, which signals reach from here on. The caller holds the mutex of that name,
    /// releases it next and then calls [`wait`](Self::wait).
    ///
    /// # Safety
    /// All waiters of this condition are of that pool. A signaller that adopts waiters accesses the
    /// mutex of that name until the waiter has been notified; `NAMELESS` names no mutex.
    pub unsafe fn enqueue(&self, pool: &impl Pool<Waiter>, mutex: usize) -> &'static Waiter {
        self.join(pool, mutex, WAITING, 0, priority())
    }

    /// [`enqueue`](Self::enqueue) with a thread number for the signaller's [`Adopt`].
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    pub unsafe fn enqueue_as(
        &self,
        pool: &impl Pool<Waiter>,
        mutex: usize,
        thread: u32,
    ) -> &'static Waiter {
        self.join(pool, mutex, WAITING, thread, priority())
    }

    /// [`enqueue`](Self::enqueue) for a waiter that spins before it sleeps.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    pub unsafe fn enqueue_looking(
        &self,
        pool: &impl Pool<Waiter>,
        mutex: usize,
    ) -> &'static Waiter {
        self.join(pool, mutex, LOOKING, 0, priority())
    }

    /// Appends a spinning or a sleeping waiter, by which is likely to cost less within that
    /// patience.
    fn enqueue_adaptive(&self, mutex: usize, patience: &Patience) -> &'static Waiter {
        let state = if !runs_out(patience) && should_spin() {
            LOOKING
        } else {
            WAITING
        };
        self.join(&WAITERS, mutex, state, 0, priority())
    }

    fn join(
        &self,
        pool: &impl Pool<Waiter>,
        mutex: usize,
        state: u32,
        thread: u32,
        priority: u32,
    ) -> &'static Waiter {
        let waiter = pool.take_seldom();
        let number = pool.number(waiter);
        waiter.at.store(self.name(), Order::RELAXED);
        waiter.mutex.store(mutex, Order::RELAXED);
        waiter.thread.store(thread, Order::RELAXED);
        waiter.state.store(state, Order::RELAXED);
        waiter.cpu.store(cpu(), Order::RELAXED);
        waiter.priority.store(priority, Order::RELAXED);
        self.generation.settle(|| self.inherit());
        self.locked(|| self.link(pool, waiter, number, priority));
        waiter
    }

    /// Inserts a waiter behind all waiters of at least its priority; the caller holds the lock.
    fn link(&self, pool: &impl Pool<Waiter>, waiter: &Waiter, number: u32, priority: u32) {
        let mut previous = self.last.load(Order::RELAXED);
        let mut next = NOBODY;
        // Threads without a real-time priority are appended.
        while priority > 0 && previous != NOBODY {
            // SAFETY: queued, so its number is good.
            let before = unsafe { pool.at(previous) };
            if before.priority.load(Order::RELAXED) >= priority {
                break;
            }
            next = previous;
            previous = before.previous.load(Order::RELAXED);
        }
        waiter.previous.store(previous, Order::RELAXED);
        waiter.next.store(next, Order::RELAXED);
        // SAFETY: neighbours are queued, so their numbers are good.
        unsafe {
            if previous == NOBODY {
                self.first.store(number, Order::RELAXED);
            } else {
                pool.at(previous).next.store(number, Order::RELAXED);
            }
            if next == NOBODY {
                self.last.store(number, Order::RELAXED);
            } else {
                pool.at(next).previous.store(number, Order::RELAXED);
            }
        }
    }

    /// Runs the section under the queue's lock.
    #[inline(always)]
    fn locked<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: the lock has no contexts, and does not move before the release, as this object
        // does not.
        unsafe {
            self.lock.acquire(&());
            let result = section();
            self.lock.release(&());
            result
        }
    }

    /// Blocks until signalled or until patience runs out, and leaves the queue. The caller acquires
    /// its mutex afterwards.
    ///
    /// # Safety
    /// `waiter` came from [`enqueue`](Self::enqueue) on this object; this call consumes it.
    pub unsafe fn wait(
        &self,
        pool: &impl Pool<Waiter>,
        waiter: &'static Waiter,
        patience: &Patience,
    ) -> Left {
        while waiter.sleeps(patience) {}
        // SAFETY: passed on.
        unsafe { self.leave(pool, waiter) }
    }

    /// Leaves the queue, signalled or not: after [`Waiter::sleeps`] returned false, or when the
    /// waiter is cancelled.
    ///
    /// # Safety
    /// As [`wait`](Self::wait).
    pub unsafe fn leave(&self, pool: &impl Pool<Waiter>, waiter: &'static Waiter) -> Left {
        // Usually the signaller has just written it; a load does not move the line from its CPU.
        let gave_up = match waiter.state.load(Order::RELAXED) {
            now @ (WAITING | LOOKING) => {
                waiter
                    .state
                    .compare_exchange(now, LEAVING, CONDVAR_CLAIM, Order::RELAXED)
            }
            other => Err(other),
        };
        let left = match gave_up {
            Ok(_) | Err(STIRRED) => {
                self.locked(|| self.unlink(pool, waiter));
                let waited = if gave_up.is_ok() {
                    Waited::GaveUp
                } else {
                    Waited::Signalled
                };
                Left {
                    waited,
                    adopted: false,
                }
            }
            Err(_) => waiter.result(),
        };
        // SAFETY: out of the queue, and its signaller has notified it.
        unsafe { pool.give_seldom(waiter) };
        left
    }

    /// Wakes the waiter of the highest real-time priority, FIFO among equals; false without a waiter.
    #[inline(never)]
    pub fn signal(&self, pool: &impl Pool<Waiter>, mutexes: &impl Adopt) -> bool {
        if !self.is_awaited() {
            return false;
        }
        self.generation.settle(|| self.inherit());
        let chosen = self.locked(|| {
            let mut number = self.first.load(Order::RELAXED);
            while number != NOBODY {
                // SAFETY: queued, so its number is good.
                let waiter = unsafe { pool.at(number) };
                number = waiter.next.load(Order::RELAXED);
                if waiter.choose() {
                    self.unlink(pool, waiter);
                    return Some(waiter);
                }
            }
            None
        });
        if let Some(waiter) = chosen {
            waiter.let_go(SIGNALLED, mutexes);
        }
        chosen.is_some()
    }

    /// Notifies all waiters, and returns their number.
    #[inline(never)]
    pub fn broadcast(&self, pool: &impl Pool<Waiter>, mutexes: &impl Adopt) -> usize {
        if !self.is_awaited() {
            return 0;
        }
        self.generation.settle(|| self.inherit());
        // The selected waiters, linked by `next`.
        let mut first = NOBODY;
        self.locked(|| {
            let mut number = self.first.load(Order::RELAXED);
            let mut last: Option<&'static Waiter> = None;
            while number != NOBODY {
                // SAFETY: queued, so its number is good.
                let waiter = unsafe { pool.at(number) };
                let next = waiter.next.load(Order::RELAXED);
                if waiter.choose() {
                    self.unlink(pool, waiter);
                    waiter.next.store(NOBODY, Order::RELAXED);
                    match last {
                        None => first = number,
                        Some(last) => last.next.store(number, Order::RELAXED),
                    }
                    last = Some(waiter);
                }
                number = next;
            }
        });
        let mut count = 0;
        while first != NOBODY {
            // SAFETY: selected, so its node stays until it is notified.
            let waiter = unsafe { pool.at(first) };
            first = waiter.next.load(Order::RELAXED);
            waiter.let_go(BROADCAST, mutexes);
            count += 1;
        }
        count
    }

    /// Offset of the first waiter's number, for an observer that reads a process's memory.
    pub const FIRST: usize = offset_of!(Self, first);

    /// The condition's name, for [`stir`].
    #[must_use]
    pub fn name(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Returns whether the queue is empty. Takes the queue's lock, so a thread that has left the
    /// queue has finished with this object, too.
    pub fn is_quiet(&self) -> bool {
        // A new condition has had no waiter.
        if self.generation.is_new() {
            return true;
        }
        self.generation.settle(|| self.inherit());
        self.locked(|| self.first.load(Order::RELAXED) == NOBODY)
    }

    /// Unlinks a waiter; the caller holds the lock.
    #[inline(never)]
    fn unlink(&self, pool: &impl Pool<Waiter>, waiter: &Waiter) {
        let next = waiter.next.load(Order::RELAXED);
        let previous = waiter.previous.load(Order::RELAXED);
        // SAFETY: neighbours are queued, so their numbers are good.
        unsafe {
            if previous == NOBODY {
                self.first.store(next, Order::RELAXED);
            } else {
                pool.at(previous).next.store(next, Order::RELAXED);
            }
            if next == NOBODY {
                self.last.store(previous, Order::RELAXED);
            } else {
                pool.at(next).previous.store(previous, Order::RELAXED);
            }
        }
    }

    /// Empties the queue in a forked child: the forking thread did not wait, and the other threads
    /// do not exist.
    #[cold]
    fn inherit(&self) {
        self.first.store(NOBODY, Order::RELAXED);
        self.last.store(NOBODY, Order::RELAXED);
        // SAFETY: the caller is alone, and no thread of this process holds it.
        unsafe { self.lock.inherit(None) };
    }
}

/// Wakes every waiter of the condition of that name, spuriously: for a thread that was cancelled
/// after a signal selected it and before it used the signal. The condition, which may be gone, is
/// not accessed.
///
/// Threads that waited at the time of the signal are found, since they wrote their nodes before it.
/// A node in reuse may still have this condition's name; then a foreign waiter wakes, also
/// spuriously.
pub fn stir(condition: usize, pool: &impl Census<Waiter>) {
    pool.each(&mut |waiter| {
        if waiter.at.load(Order::RELAXED) == condition
            && !mutant(flaw::LOSE_THE_CANCELLED_SIGNAL)
            && waiter.becomes(STIRRED, STIRRED)
        {
            wake(&raw const waiter.state, 1, CLASS);
        }
    });
}

/// Offsets and values for an observer that reads a process's memory.
impl Waiter {
    /// The word of a waiter asleep in the queue.
    pub const WAITING: u32 = WAITING;
    /// The class in which it sleeps.
    pub const CLASS: u32 = CLASS;
    /// Offset of its condition's address.
    pub const AT: usize = offset_of!(Self, at);
    /// Offset of its mutex's name.
    pub const MUTEX: usize = offset_of!(Self, mutex);

    /// Returns whether a waiter with this word sleeps at its mutex.
    #[must_use]
    pub const fn is_adopted(word: u32) -> bool {
        word & ADOPTED != 0
    }
}

impl Waiter {
    /// Sleeps once, or spins for a while; false once the wait is over, by a signal or by the
    /// deadline. The only point at which a waiter may be cancelled.
    pub fn sleeps(&self, patience: &Patience) -> bool {
        match self.state.load(Order::RELAXED) {
            WAITING => sleep_within(&self.state, WAITING, CLASS, patience) != Slept::TimedOut,
            LOOKING => {
                self.looks();
                true
            }
            _ => false,
        }
    }

    /// Spins for the notification within the spin budget. Afterwards the waiter must be woken.
    fn looks(&self) {
        let looks = || self.state.load(Order::RELAXED) == LOOKING;
        spin_before_sleep(looks);
        if looks() {
            // It may be selected or stirred meanwhile.
            let _ = self
                .state
                .compare_exchange(LOOKING, WAITING, CONDVAR_CLAIM, Order::RELAXED);
        }
    }

    /// The name of its mutex, from the caller of [`RawCondvar::enqueue`].
    #[must_use]
    pub fn mutex(&self) -> usize {
        self.mutex.load(Order::RELAXED)
    }

    /// The number of its thread; 0: none.
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.thread.load(Order::RELAXED)
    }

    /// Makes a selected, sleeping waiter a waiter of its mutex, and returns whether it did. `adopt`
    /// receives the word on which it sleeps, and the word's value.
    pub fn sleep_at(&self, adopt: impl FnOnce(&AtomicU32, u32) -> bool) -> bool {
        adopt(&self.state, CHOSEN)
    }

    /// Waits for the notification of a selected waiter, and returns how the wait ended.
    fn result(&self) -> Left {
        // The signaller may need this CPU for the next few instructions; or another thread uses a
        // time slice given to it, for milliseconds.
        let mut spinner = Spinner::keeping_turns_if_lost();
        loop {
            let state = self.state.load(CONDVAR_HEARD);
            let waited = match state & !ADOPTED {
                SIGNALLED => Waited::Signalled,
                BROADCAST => Waited::Broadcast,
                // Selected; the signaller has still to notify it.
                _ => {
                    debug_assert!(matches!(state, CHOSEN | MET | LISTENING));
                    if spinner.step() == Advice::Sleep && self.listens(state) {
                        let _ = sleep_on(&self.state, LISTENING, CLASS, None);
                    }
                    continue;
                }
            };
            return Left {
                waited,
                adopted: state & ADOPTED != 0,
            };
        }
    }

    /// Registers the awake waiter for a wake-up with its notification.
    fn listens(&self, state: u32) -> bool {
        state == LISTENING
            || self
                .state
                .compare_exchange(state, LISTENING, CONDVAR_CLAIM, Order::RELAXED)
                .is_ok()
    }

    /// Selects the waiter for a signal; false if it is leaving.
    fn choose(&self) -> bool {
        self.becomes(MET, CHOSEN)
    }

    /// Changes the state `LOOKING` to `looking`, or `WAITING` to `waiting`; false in other states.
    fn becomes(&self, looking: u32, waiting: u32) -> bool {
        let claim = |from, to| {
            self.state
                .compare_exchange(from, to, CONDVAR_CLAIM, Order::RELAXED)
        };
        match claim(WAITING, waiting) {
            Ok(_) => true,
            // It may stop spinning meanwhile, and not start again.
            Err(LOOKING) => {
                claim(LOOKING, looking).is_ok()
                    || !mutant(flaw::LOOK_ONLY) && claim(WAITING, waiting).is_ok()
            }
            Err(_) => false,
        }
    }

    /// Returns whether the woken waiter is likely to need the caller's CPU. Otherwise it runs on
    /// another CPU while the caller releases the mutex, and finds the mutex free.
    fn waits_for_this_cpu(&self) -> bool {
        self.cpu.load(Order::RELAXED) == cpu()
    }

    /// Notifies the selected waiter: its mutex adopts it, or it is woken. After the notification
    /// the node may be reused, so its address is only a name, and the mutex may be gone.
    #[inline(never)]
    fn let_go(&self, how: u32, mutexes: &impl Adopt) {
        // An awake waiter needs neither.
        let adopted = self.state.load(Order::RELAXED) == CHOSEN
            && (how == BROADCAST || self.waits_for_this_cpu())
            && mutexes.adopt(self);
        let told = if adopted { how | ADOPTED } else { how };
        let before = self.state.swap(told, CONDVAR_TELL);
        let sleeps = before == LISTENING || before == CHOSEN && !adopted;
        if sleeps && !mutant(flaw::FORGET_WAKE) {
            wake(&raw const self.state, 1, CLASS);
        }
    }
}

#[cfg(all(test, not(checker)))]
mod tests {
    use super::*;
    use crate::door::cpus;
    use cohort_raw::Deadline;
    use core::cell::Cell;

    /// Counts the waiters offered to it, and adopts none.
    struct Offered(Cell<u32>);

    impl Adopt for Offered {
        fn adopt(&self, _waiter: &Waiter) -> bool {
            self.0.set(self.0.get() + 1);
            false
        }
    }

    #[test]
    fn a_waiter_that_has_a_cpu_to_itself_is_woken_unless_it_is_one_of_all() {
        let condvar = RawCondvar::new();
        let enqueue = || {
            // SAFETY: without a name.
            let waiter = unsafe { condvar.enqueue(&WAITERS, NAMELESS) };
            waiter.cpu.store(u32::MAX, Order::RELAXED);
            waiter
        };
        let (alone, offered) = (enqueue(), Offered(Cell::new(0)));
        condvar.signal(&WAITERS, &offered);
        assert_eq!(offered.0.get(), 0);
        let one_of_all = enqueue();
        condvar.broadcast(&WAITERS, &offered);
        assert_eq!(offered.0.get(), 1);
        for (waiter, waited) in [(alone, Waited::Signalled), (one_of_all, Waited::Broadcast)] {
            // SAFETY: queued above.
            let left = unsafe { condvar.leave(&WAITERS, waiter) };
            assert_eq!(left.waited, waited);
        }
    }

    #[test]
    fn waiters_go_by_priority_and_then_in_the_order_in_which_they_came() {
        let condvar = RawCondvar::new();
        let priorities = [0, 5, 0, 20, 5, 20, 1];
        let waiters = priorities.map(|p| condvar.join(&WAITERS, NAMELESS, WAITING, 0, p));
        let is_chosen = |at: usize| waiters[at].state.load(Order::RELAXED) == SIGNALLED;
        // The waiters' positions, in the order of their selection.
        for at in [3, 5, 1, 4, 6, 0, 2] {
            assert!(!is_chosen(at) && condvar.notify_one() && is_chosen(at));
        }
        assert!(!condvar.notify_one());
        for waiter in waiters {
            // SAFETY: queued above.
            let left = unsafe { condvar.leave(&WAITERS, waiter) };
            assert_eq!(left.waited, Waited::Signalled);
        }
    }

    #[test]
    fn a_wait_that_is_over_does_not_look() {
        let condvar = RawCondvar::new();
        let past = Patience::until(Deadline::monotonic(1));
        for (patience, looks) in [(Patience::ENDLESS, cpus() > 1), (past, false)] {
            let waiter = condvar.enqueue_adaptive(NAMELESS, &patience);
            let state = waiter.state.load(Order::RELAXED);
            assert_eq!(state, if looks { LOOKING } else { WAITING });
            // SAFETY: queued above.
            let left = unsafe { condvar.leave(&WAITERS, waiter) };
            assert_eq!(left.waited, Waited::GaveUp);
            assert!(condvar.is_quiet());
        }
    }
}
