//! Condition variables: a queue of waiters, first come, first served.
//!
//! Each waiter sleeps on a word of its own, so a signal reaches the thread it was
//! meant for and nobody else, and the object may be destroyed as soon as the last
//! waiter has been signalled: a signalled waiter never touches it again.
//!
//! | `state` of a waiter | meaning | set by |
//! |---|---|---|
//! | `WAITING` | in the queue | itself |
//! | `LEAVING` | in the queue; its patience ran out or it was cancelled, no signal counts for it any more | itself |
//! | `CHOSEN` | out of the queue; its signaller has still to leave the object | a signaller, holding the queue |
//! | `SIGNALLED`, `BROADCAST` | free to go | that signaller |

use crate::basic::Futex;
use crate::door::{Advice, AtomicU32, Order, Slept, Spinner, mutant, orders, sleep_on, wake};
use crate::host::{Generation, Pool};
use cohort_raw::{Inherit, Patience, RawLock};

orders! {
    /// A signaller that must wake somebody has seen the mutex that the waiter
    /// released after it queued, so it sees a queue that is not empty.
    CONDVAR_PEEK = Relaxed;
    /// The waiter sees what the signaller did, and its node is its own again.
    CONDVAR_HEARD = Acquire;
    /// As above, from the signaller's side.
    CONDVAR_TELL = Release;
    /// Who wins between leaving and being chosen; the queue's lock orders the
    /// rest.
    CONDVAR_CLAIM = Relaxed;
}

const WAITING: u32 = 0;
const LEAVING: u32 = 1;
const CHOSEN: u32 = 2;
const SIGNALLED: u32 = 3;
const BROADCAST: u32 = 4;

/// Everybody who sleeps on a waiter's word: itself.
const CLASS: u32 = 1;

/// A waiter's node.
#[derive(Debug, Default)]
pub struct Waiter {
    state: AtomicU32,
    /// Neighbours in the queue, by number; guarded by the queue's lock, and `next`
    /// by its signaller once chosen.
    next: AtomicU32,
    previous: AtomicU32,
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

impl RawCondvar {
    /// Joins the queue; from here on a signal counts.  The caller, who holds the
    /// mutex, releases it next and then calls [`wait`](Self::wait).
    pub fn enqueue(&self, pool: &impl Pool<Waiter>) -> &'static Waiter {
        let waiter = pool.take();
        let number = pool.number(waiter);
        waiter.state.store(WAITING, Order::RELAXED);
        waiter.next.store(NOBODY, Order::RELAXED);
        self.generation.settle(|| self.inherit());
        self.lock.acquire(&());
        let last = self.last.load(Order::RELAXED);
        waiter.previous.store(last, Order::RELAXED);
        if last == NOBODY {
            self.first.store(number, Order::RELAXED);
        } else {
            // SAFETY: queued, so its number is good.
            unsafe { pool.at(last) }.next.store(number, Order::RELAXED);
        }
        self.last.store(number, Order::RELAXED);
        // SAFETY: acquired above.
        unsafe { self.lock.release(&()) };
        waiter
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
    ) -> Waited {
        while waiter.sleeps(patience) {}
        // SAFETY: passed on.
        unsafe { self.leave(pool, waiter) }
    }

    /// Leaves the queue, whether signalled or not: after [`Waiter::sleeps`] said
    /// that waiting is over, or when the waiter is cancelled.
    ///
    /// # Safety
    /// As [`wait`](Self::wait).
    pub unsafe fn leave(&self, pool: &impl Pool<Waiter>, waiter: &'static Waiter) -> Waited {
        let waited = if waiter
            .state
            .compare_exchange(WAITING, LEAVING, CONDVAR_CLAIM, Order::RELAXED)
            .is_ok()
        {
            self.lock.acquire(&());
            self.unlink(pool, waiter);
            // SAFETY: acquired above.
            unsafe { self.lock.release(&()) };
            Waited::GaveUp
        } else {
            waiter.result()
        };
        // SAFETY: out of the queue, and its signaller is done with it.
        unsafe { pool.give(waiter) };
        waited
    }

    /// Wakes the waiter that has waited longest, if there is one.
    pub fn signal(&self, pool: &impl Pool<Waiter>) {
        if self.first.load(CONDVAR_PEEK) == NOBODY {
            return;
        }
        self.generation.settle(|| self.inherit());
        self.lock.acquire(&());
        let mut number = self.first.load(Order::RELAXED);
        let mut chosen = None;
        while number != NOBODY && chosen.is_none() {
            // SAFETY: queued, so its number is good.
            let waiter = unsafe { pool.at(number) };
            number = waiter.next.load(Order::RELAXED);
            if waiter.choose() {
                self.unlink(pool, waiter);
                chosen = Some(waiter);
            }
        }
        // SAFETY: acquired above.
        unsafe { self.lock.release(&()) };
        if let Some(waiter) = chosen {
            waiter.tell(SIGNALLED);
        }
    }

    /// Wakes every waiter.
    pub fn broadcast(&self, pool: &impl Pool<Waiter>) {
        if self.first.load(CONDVAR_PEEK) == NOBODY {
            return;
        }
        self.generation.settle(|| self.inherit());
        self.lock.acquire(&());
        let mut number = self.first.load(Order::RELAXED);
        // The chosen, chained through `next`.
        let (mut first, mut last): (u32, Option<&'static Waiter>) = (NOBODY, None);
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
        // SAFETY: acquired above.
        unsafe { self.lock.release(&()) };
        while first != NOBODY {
            // SAFETY: chosen, so nobody gives it back before it is told.
            let waiter = unsafe { pool.at(first) };
            first = waiter.next.load(Order::RELAXED);
            waiter.tell(BROADCAST);
        }
    }

    /// Whether nobody is in the queue; takes the queue's lock, so that whoever
    /// left has also left this object.
    pub fn is_quiet(&self) -> bool {
        self.generation.settle(|| self.inherit());
        self.lock.acquire(&());
        let quiet = self.first.load(Order::RELAXED) == NOBODY;
        // SAFETY: acquired above.
        unsafe { self.lock.release(&()) };
        quiet
    }

    /// Takes a waiter out; the caller holds the lock.
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

impl Waiter {
    /// Sleeps once; false when waiting is over, by a signal or by the deadline.
    /// The one place where a waiter may be cancelled.
    pub fn sleeps(&self, patience: &Patience) -> bool {
        self.state.load(Order::RELAXED) == WAITING
            && sleep_on(&self.state, WAITING, CLASS, patience.deadline()) != Slept::TimedOut
    }

    /// How it ended, for a waiter that was chosen.
    fn result(&self) -> Waited {
        let mut spinner = Spinner::new();
        loop {
            match self.state.load(CONDVAR_HEARD) {
                SIGNALLED => return Waited::Signalled,
                BROADCAST => return Waited::Broadcast,
                // Its signaller is between choosing and telling.
                state => {
                    debug_assert_eq!(state, CHOSEN);
                    if spinner.step() == Advice::Sleep {
                        let _ = sleep_on(&self.state, CHOSEN, CLASS, None);
                    }
                }
            }
        }
    }

    /// Claims the waiter for a signal; false if it is leaving.
    fn choose(&self) -> bool {
        self.state
            .compare_exchange(WAITING, CHOSEN, CONDVAR_CLAIM, Order::RELAXED)
            .is_ok()
    }

    /// Lets the chosen waiter go.  From here on the node may be another's: its
    /// address is only a name.
    fn tell(&self, how: u32) {
        self.state.store(how, CONDVAR_TELL);
        if !mutant("condvar.forget-wake") {
            wake(&raw const self.state, 1, CLASS);
        }
    }
}
