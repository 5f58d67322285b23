//! Condition variables: a queue of waiters by real-time priority, FIFO among equals.
//!
//! Each waiter sleeps on a word of its own, so a signal reaches the thread it was
//! meant for and nobody else, and the object may be destroyed as soon as the last
//! waiter has been signalled: a chosen waiter never touches it again.
//!
//! **A waiter looks before it sleeps** in [`wait_with`](RawCondvar::wait_with) and
//! [`wait_between`](RawCondvar::wait_between): for some microseconds, if its thread has of late been told
//! that soon, and else for longer, but hardly ever.  One that looks is told by a store, where one that
//! sleeps costs its signaller a system call, and itself two and the way to a CPU.
//!
//! **A chosen waiter is not woken while it cannot go on.**  It needs the mutex, which
//! as a rule its signaller holds: woken now, it would sleep again at once, and each
//! hand-over of the mutex would cost two sleeps.  So the signaller first offers it to
//! the mutex, which may *adopt* it: the thread, asleep, becomes one of the mutex's own
//! sleepers, and the release that it waits for wakes it.  Not so a single waiter that went to
//! sleep from another CPU than its signaller's: by the time that it runs there the mutex is free,
//! as a rule, and the signaller is spared the second system call.  The mutex may be touched for
//! that, whether or not the signaller holds it, until the waiter has been told: a thread
//! that waits with a mutex takes it again before it does anything else.
//!
//! | `state` of a waiter | meaning | set by |
//! |---|---|---|
//! | `LOOKING` | in the queue, and awake: it looks at this word for a while before it sleeps | itself |
//! | `WAITING` | in the queue; it sleeps, or is about to | itself |
//! | `LEAVING` | in the queue; its patience ran out or it was cancelled, no signal counts for it any more | itself |
//! | `STIRRED` | in the queue, to leave it by itself: a thread that was chosen was cancelled too, and its signal must not be lost | that thread |
//! | `CHOSEN` | out of the queue; its signaller has still to tell it how it ends | a signaller, holding the queue |
//! | `MET` | the same, of one that looked | the same |
//! | `LISTENING` | chosen and awake, and about to sleep until it is told | itself |
//! | `SIGNALLED`, `BROADCAST` | free to go | that signaller |
//! | the same with `ADOPTED` | free to go, once the mutex's release wakes it | that signaller |

use crate::basic::Futex;
use crate::door::{
    Advice, AtomicU32, AtomicUsize, Order, Slept, Spinner, cpu, flaws, hopes, mutant, orders, pool,
    priority, runs_out, sleep_on, sleep_within, to_its_end, wake, watch_in_hope,
};
use crate::host::{Census, Generation, Pool};
use crate::numa::FutexHmcs;
use cohort_raw::{Inherit, Patience, RawLock};
use core::mem::offset_of;
use core::ptr;

orders! {
    /// A signaller that must wake somebody has seen the mutex that the waiter
    /// released after it queued, so it sees a queue that is not empty.
    CONDVAR_PEEK = Relaxed;
    /// The waiter sees what the signaller did, and its node is its own again.
    CONDVAR_HEARD = Acquire;
    /// As above, from the signaller's side.
    CONDVAR_TELL = Release;
    /// Which of leaving, being stirred and being chosen comes first; the queue's lock
    /// orders the rest.
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

/// The threads that sleep on a waiter's word: itself.
const CLASS: u32 = 1;

/// A waiter's node.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Waiter {
    state: AtomicU32,
    /// Neighbours in the queue, by number; guarded by the queue's lock, and `next`
    /// by its signaller once chosen.
    next: AtomicU32,
    previous: AtomicU32,
    /// The CPU from which it went to sleep.
    cpu: AtomicU32,
    /// The condition at which it waits; a name.
    at: AtomicUsize,
    /// What it will take when its wait is over, as the caller of `enqueue` named it.
    mutex: AtomicUsize,
    /// The waiting thread, as the caller of `enqueue_as` numbered it.
    thread: AtomicU32,
    /// Its real-time priority, or 0.
    priority: AtomicU32,
}

pool! {
    /// The nodes of all threads that wait at conditions.
    pub static WAITERS: Waiter, cache 2
}

/// Bytes of all nodes made so far.
pub(crate) fn pool_bytes() -> usize {
    WAITERS.bytes()
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// By a signal meant for this waiter alone.
    Signalled,
    /// By a broadcast.
    Broadcast,
    /// Patience ran out first; no signal was used up.
    GaveUp,
}

/// How a thread left a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// How its wait ended.
    pub waited: Waited,
    /// Whether its mutex had adopted it, so that what woke it may have been the mutex's
    /// release: the thread owes that wake-up an answer.
    pub adopted: bool,
}

/// What a signaller may do with a chosen waiter other than wake it.
pub trait Adopt {
    /// Makes the waiter's mutex adopt the waiter, by [`Waiter::sleep_at`]; false if it
    /// has to be woken.
    fn adopt(&self, waiter: &Waiter) -> bool;
}

/// Every chosen waiter is woken.
#[derive(Clone, Copy, Debug)]
pub struct WakeAll;

impl Adopt for WakeAll {
    fn adopt(&self, _waiter: &Waiter) -> bool {
        false
    }
}

/// Waiters whose mutex is named by the address of a [`FutexHmcs`], which adopts them; one whose
/// mutex has no name is woken.
#[derive(Clone, Copy, Debug)]
struct ByWord;

/// The name of a mutex that adopts nobody.
pub const NAMELESS: usize = 0;

impl Adopt for ByWord {
    fn adopt(&self, waiter: &Waiter) -> bool {
        let word: *const FutexHmcs = ptr::with_exposed_provenance(waiter.mutex());
        // SAFETY: the waiter takes its mutex before it does anything else, so that is there
        // until the waiter has been told.
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

/// By nodes of [`WAITERS`], for locks that are the caller's own: what most callers need.
impl RawCondvar {
    crate::door::constructor! {
        /// A condition at which nobody waits.
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

    /// Releases the lock, blocks until signalled or patience runs out, and takes the lock
    /// again, which may take longer.  A signaller that holds the lock leaves the wake-up to
    /// its release.
    ///
    /// # Safety
    /// The caller holds the lock; and every thread that signals this condition does so by
    /// [`notify_one`](Self::notify_one) and [`notify_all`](Self::notify_all).
    pub unsafe fn wait_with(&self, lock: &FutexHmcs, patience: &Patience) -> Waited {
        // A thread sleeps where another that may end its sleep finds it.
        let name = if patience.is_cancellable() {
            NAMELESS
        } else {
            ptr::from_ref(lock).expose_provenance()
        };
        let waiter = self.enqueue_in_hope(name, patience);
        // SAFETY: the caller holds it, by no context, and the waiter was queued above.
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

    /// The same with any other lock, by what releases it and what takes it again.
    ///
    /// # Safety
    /// As [`wait_with`](Self::wait_with) about signals.
    pub unsafe fn wait_between(
        &self,
        release: impl FnOnce(),
        acquire: impl FnOnce(),
        patience: &Patience,
    ) -> Waited {
        let waiter = self.enqueue_in_hope(NAMELESS, patience);
        // The caller has a guard, and goes on as if it held the lock.
        to_its_end(true, || {
            release();
            // SAFETY: queued above.
            let left = unsafe { self.wait(&WAITERS, waiter, patience) };
            acquire();
            left.waited
        })
    }

    /// Wakes the waiter of the highest real-time priority, FIFO among equals; false without a waiter.
    pub fn notify_one(&self) -> bool {
        self.signal(&WAITERS, &ByWord)
    }

    /// Whether a thread waits: one that joined the queue in a section which happens before the
    /// question is seen.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.first.load(CONDVAR_PEEK) != NOBODY
    }

    /// Lets every waiter go; how many there were.
    pub fn notify_all(&self) -> usize {
        self.broadcast(&WAITERS, &ByWord)
    }
}

impl RawCondvar {
    /// Joins the queue; from here on a signal counts.  The caller, which holds
    /// the mutex of that name, releases it next and then calls [`wait`](Self::wait).
    ///
    /// # Safety
    /// All waiters of this condition are of that pool.  A signaller that adopts waiters reads the mutex of
    /// that name until the waiter has been told, and `NAMELESS` is none.
    pub unsafe fn enqueue(&self, pool: &impl Pool<Waiter>, mutex: usize) -> &'static Waiter {
        self.join(pool, mutex, WAITING, 0, priority())
    }

    /// The same, for a thread that has a number by which a signaller's [`Adopt`] knows it.
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

    /// The same, for a caller that looks for a while before it sleeps.
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

    /// Whichever is likely to pay for a wait within that patience.
    fn enqueue_in_hope(&self, mutex: usize, patience: &Patience) -> &'static Waiter {
        let state = if !runs_out(patience) && hopes() {
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
        // Ordinary threads are appended.
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

    /// Runs that under the queue's lock.
    #[inline(always)]
    fn locked<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: the lock has no contexts, and stays for the release, as this object does.
        unsafe {
            self.lock.acquire(&());
            let result = section();
            self.lock.release(&());
            result
        }
    }

    /// Blocks until signalled or patience runs out, then leaves the queue.
    /// The caller takes its mutex again afterwards.
    ///
    /// # Safety
    /// `waiter` came from [`enqueue`](Self::enqueue) on this object and is used
    /// up by this.
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

    /// Leaves the queue, whether signalled or not: after [`Waiter::sleeps`] said
    /// that waiting is over, or when the waiter is cancelled.
    ///
    /// # Safety
    /// As [`wait`](Self::wait).
    pub unsafe fn leave(&self, pool: &impl Pool<Waiter>, waiter: &'static Waiter) -> Left {
        // As a rule its signaller has just written it: a look alone does not take it from there.
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
        // SAFETY: out of the queue, and its signaller is done with it.
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

    /// Lets every waiter go; how many there were.
    #[inline(never)]
    pub fn broadcast(&self, pool: &impl Pool<Waiter>, mutexes: &impl Adopt) -> usize {
        if !self.is_awaited() {
            return 0;
        }
        self.generation.settle(|| self.inherit());
        // The chosen, chained through `next`.
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
            // SAFETY: chosen, so nobody gives it back before it is told.
            let waiter = unsafe { pool.at(first) };
            first = waiter.next.load(Order::RELAXED);
            waiter.let_go(BROADCAST, mutexes);
            count += 1;
        }
        count
    }

    /// Where the number of the first waiter is, for an onlooker that reads the memory of a process.
    pub const FIRST: usize = offset_of!(Self, first);

    /// The condition, as a name: for [`stir`].
    #[must_use]
    pub fn name(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Whether nobody is in the queue; takes the queue's lock, so that a thread
    /// that left has also left this object.
    pub fn is_quiet(&self) -> bool {
        // Nobody can have to leave where nobody ever came.
        if self.generation.is_new() {
            return true;
        }
        self.generation.settle(|| self.inherit());
        self.locked(|| self.first.load(Order::RELAXED) == NOBODY)
    }

    /// Takes a waiter out; the caller holds the lock.
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

    /// In a forked child nobody waits: the forking thread was not waiting, and
    /// the others do not exist.
    #[cold]
    fn inherit(&self) {
        self.first.store(NOBODY, Order::RELAXED);
        self.last.store(NOBODY, Order::RELAXED);
        // SAFETY: the caller is alone, and no thread of this process is in it.
        unsafe { self.lock.inherit(None) };
    }
}

/// Wakes every waiter of the condition of that name, as if by chance: for a thread that
/// a signal reached and that was cancelled before it could use it.  The condition itself,
/// which may be gone, is not touched.
///
/// A thread that waited when the signal came is found: its node was written before that.  A node
/// that is being used anew may be taken for one of this condition's, which wakes a stranger,
/// as chance may.
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

/// For an onlooker that reads the memory of a process.
impl Waiter {
    /// What a waiter's word holds while it sleeps in the queue.
    pub const WAITING: u32 = WAITING;
    /// The class in which it sleeps.
    pub const CLASS: u32 = CLASS;
    /// Where the address of its condition is.
    pub const AT: usize = offset_of!(Self, at);
    /// Where the name of its mutex is.
    pub const MUTEX: usize = offset_of!(Self, mutex);

    /// Whether a word says that the waiter sleeps at its mutex now.
    #[must_use]
    pub const fn is_adopted(word: u32) -> bool {
        word & ADOPTED != 0
    }
}

impl Waiter {
    /// Sleeps once, or looks for a while; false when waiting is over, by a signal or by the deadline.
    /// The one place where a waiter may be cancelled.
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

    /// Looks whether it is told, for as long as that may pay; afterwards it has to be woken.
    fn looks(&self) {
        let looks = || self.state.load(Order::RELAXED) == LOOKING;
        watch_in_hope(looks);
        if looks() {
            // It may be chosen meanwhile, or stirred.
            let _ = self
                .state
                .compare_exchange(LOOKING, WAITING, CONDVAR_CLAIM, Order::RELAXED);
        }
    }

    /// What the caller of [`RawCondvar::enqueue`] called its mutex.
    #[must_use]
    pub fn mutex(&self) -> usize {
        self.mutex.load(Order::RELAXED)
    }

    /// The number of its thread; 0: it has none.
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.thread.load(Order::RELAXED)
    }

    /// Makes the chosen waiter, if it is asleep, one of a mutex's sleepers; whether it was.
    /// `adopt` is given the word on which it sleeps, and what that holds.
    pub fn sleep_at(&self, adopt: impl FnOnce(&AtomicU32, u32) -> bool) -> bool {
        adopt(&self.state, CHOSEN)
    }

    /// How it ended, for a waiter that was chosen.
    fn result(&self) -> Left {
        // The signaller may need this CPU for the next few instructions, or another thread takes
        // a turn given to it, for milliseconds.
        let mut spinner = Spinner::keeping_turns_if_lost();
        loop {
            let state = self.state.load(CONDVAR_HEARD);
            let waited = match state & !ADOPTED {
                SIGNALLED => Waited::Signalled,
                BROADCAST => Waited::Broadcast,
                // Its signaller is between choosing and telling.
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

    /// Sees to it that the waiter, which is awake, is woken when it is told.
    fn listens(&self, state: u32) -> bool {
        state == LISTENING
            || self
                .state
                .compare_exchange(state, LISTENING, CONDVAR_CLAIM, Order::RELAXED)
                .is_ok()
    }

    /// Claims the waiter for a signal; false if it is leaving.
    fn choose(&self) -> bool {
        self.becomes(MET, CHOSEN)
    }

    /// Turns the state of a waiter that looks into the first of these, or that of one that sleeps into
    /// the second; false if it does neither.
    fn becomes(&self, looking: u32, waiting: u32) -> bool {
        let claim = |from, to| {
            self.state
                .compare_exchange(from, to, CONDVAR_CLAIM, Order::RELAXED)
        };
        match claim(WAITING, waiting) {
            Ok(_) => true,
            // It may fall asleep meanwhile, and then looks no more.
            Err(LOOKING) => {
                claim(LOOKING, looking).is_ok()
                    || !mutant(flaw::LOOK_ONLY) && claim(WAITING, waiting).is_ok()
            }
            Err(_) => false,
        }
    }

    /// Whether the waiter, once awake, is likely to want the caller's CPU.  Else it comes to another
    /// while the caller releases the mutex, and finds it free.
    fn waits_for_this_cpu(&self) -> bool {
        self.cpu.load(Order::RELAXED) == cpu()
    }

    /// Lets the chosen waiter go: it is adopted, or woken.  From the telling on the node
    /// may be another's, whose address is only a name, and the mutex may be gone.
    #[inline(never)]
    fn let_go(&self, how: u32, mutexes: &impl Adopt) {
        // One that is awake needs neither.
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

#[cfg(all(test, world = "native"))]
mod tests {
    use super::*;
    use crate::door::cpus;
    use cohort_raw::Deadline;
    use core::cell::Cell;

    /// Counts the waiters that it is offered, and adopts none.
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
        // The places of the waiters, in the order in which they are chosen.
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
            let waiter = condvar.enqueue_in_hope(NAMELESS, &patience);
            let state = waiter.state.load(Order::RELAXED);
            assert_eq!(state, if looks { LOOKING } else { WAITING });
            // SAFETY: queued above.
            let left = unsafe { condvar.leave(&WAITERS, waiter) };
            assert_eq!(left.waited, Waited::GaveUp);
            assert!(condvar.is_quiet());
        }
    }
}
