//! A condition variable: a signal wakes a waiter once, and the waiter may then destroy the
//! variable.

use super::{read, write};
use crate::locks::basic::{Futex, Ticket};
use crate::locks::condvar::{Adopt, Left, RawCondvar, Waited, Waiter, stir};
use crate::locks::door::Cell;
use crate::locks::host::{Census, Returning};
use crate::locks::{Patience, RawLock};
use crate::world::{Kept, nodes, soon, together};
use std::sync::Arc;

/// A mutex for condition waits that supports wait morphing: signalled waiters are requeued at it.
pub trait Adopts: Default + Send + Sync + 'static {
    /// Whether waiters spin before they sleep.
    const LOOKS: bool = false;

    /// Blocks until the mutex is held.
    fn lock(&self);

    /// Blocks until the mutex is held again after a wait; `adopted`: the waiter was requeued.
    fn lock_again(&self, adopted: bool);

    /// Releases it.
    fn unlock(&self);

    /// Requeues the waiter at the mutex; `held`: the caller holds the mutex.
    fn adopt(&self, waiter: &Waiter, held: bool) -> bool;
}

impl Adopts for Futex {
    fn lock(&self) {
        // SAFETY: the mutex has no contexts, and clients do not move it; also below.
        unsafe { self.acquire(&()) };
    }

    fn lock_again(&self, adopted: bool) {
        if adopted {
            self.acquire_adopted();
        } else {
            self.lock();
        }
    }

    fn unlock(&self) {
        // SAFETY: the client holds it.
        unsafe { self.release(&()) };
    }

    fn adopt(&self, waiter: &Waiter, _held: bool) -> bool {
        waiter.sleep_at(|place, seen| Futex::adopt(self, place, seen))
    }
}

/// A lock where each sleeping waiter has a queue node of its own.
#[derive(Default)]
pub struct Queued {
    lock: Ticket,
    returning: Returning,
}

impl Adopts for Queued {
    fn lock(&self) {
        // SAFETY: as above.
        unsafe { self.lock.acquire(&()) };
    }

    fn lock_again(&self, _adopted: bool) {
        self.lock();
    }

    fn unlock(&self) {
        // SAFETY: the client holds it.
        let release = || unsafe { self.lock.release(&()) };
        if self.returning.owes_nothing() {
            release();
        } else {
            self.returning.release(release);
        }
    }

    fn adopt(&self, waiter: &Waiter, held: bool) -> bool {
        held && waiter.sleep_at(|place, seen| self.returning.adopt(place, seen))
    }
}

/// A `Futex` with condition waiters that spin before they sleep.
#[derive(Default)]
pub struct Looking(Futex);

impl Adopts for Looking {
    const LOOKS: bool = true;

    fn lock(&self) {
        self.0.lock();
    }

    fn lock_again(&self, adopted: bool) {
        self.0.lock_again(adopted);
    }

    fn unlock(&self) {
        self.0.unlock();
    }

    fn adopt(&self, waiter: &Waiter, held: bool) -> bool {
        Adopts::adopt(&self.0, waiter, held)
    }
}

/// Enqueues the caller at the condition, as a waiter with mutex `M` does.
fn enqueue<M: Adopts>(condvar: &RawCondvar, pool: &impl Census<Waiter>) -> &'static Waiter {
    // SAFETY: a client has one pool and does not move its mutexes.
    unsafe {
        if M::LOOKS {
            condvar.enqueue_looking(pool, 1)
        } else {
            condvar.enqueue(pool, 1)
        }
    }
}

/// The mutex for a signaller, and whether the signaller holds it.
struct Held<'a, M>(&'a M, bool);

impl<M: Adopts> Adopt for Held<'_, M> {
    fn adopt(&self, waiter: &Waiter) -> bool {
        self.0.adopt(waiter, self.1)
    }
}

/// Tokens that threads wait for.
struct Tokens<M, P> {
    mutex: M,
    tokens: Cell<u64>,
    condvar: RawCondvar,
    pool: Arc<P>,
}

fn tokens<M: Adopts>() -> Tokens<M, impl Census<Waiter> + Send + 'static> {
    Tokens {
        mutex: M::default(),
        tokens: Cell::new(0),
        condvar: RawCondvar::default(),
        pool: nodes::<Waiter>(2),
    }
}

impl<M: Adopts, P: Census<Waiter>> Tokens<M, P> {
    fn locked<R>(&self, work: impl FnOnce() -> R) -> R {
        self.mutex.lock();
        let result = work();
        self.mutex.unlock();
        result
    }

    fn signal(&self, held: bool) {
        self.condvar.signal(&*self.pool, &Held(&self.mutex, held));
    }

    fn broadcast(&self, held: bool) {
        self.condvar
            .broadcast(&*self.pool, &Held(&self.mutex, held));
    }

    /// Adds tokens, and calls `told` while holding the mutex, if `holds`, or after the release;
    /// passes `holds` on.
    fn add(&self, more: u64, holds: bool, told: impl Fn(bool)) {
        self.locked(|| {
            write(&self.tokens, read(&self.tokens) + more);
            if holds {
                told(true);
            }
        });
        if !holds {
            told(false);
        }
    }

    /// Waits once, with the mutex held before and after.
    fn wait(&self, patience: &Patience) -> Left {
        let waiter = enqueue::<M>(&self.condvar, &*self.pool);
        self.mutex.unlock();
        // SAFETY: enqueued above.
        let left = unsafe { self.condvar.wait(&*self.pool, waiter, patience) };
        self.mutex.lock_again(left.adopted);
        left
    }

    /// Takes a token; waits for one without a deadline.
    fn take(&self) {
        self.locked(|| {
            while read(&self.tokens) == 0 {
                self.wait(&Patience::ENDLESS);
            }
            write(&self.tokens, read(&self.tokens) - 1);
        });
    }
}

/// Thread 0 adds tokens for the others; it signals once for each or broadcasts once, with the mutex
/// held (`holds`) or after its release.
pub fn tells<M: Adopts>(threads: usize, rounds: u64, broadcast: bool, holds: bool) {
    let shared = Arc::new(tokens::<M>());
    let theirs = Arc::clone(&shared);
    let done = together(threads, move |thread| {
        let others = threads as u64 - 1;
        for _ in 0..rounds {
            if thread > 0 {
                theirs.take();
            } else if broadcast {
                theirs.add(others, holds, |held| theirs.broadcast(held));
            } else {
                for _ in 0..others {
                    theirs.add(1, holds, |held| theirs.signal(held));
                }
            }
        }
    });
    if done.is_some() {
        assert_eq!(read(&shared.tokens), 0, "a token was lost");
        assert!(shared.condvar.is_quiet(), "a waiter is left in the queue");
    }
}

/// Thread 1 times out. A signal that it received goes on to another waiter: from the wait itself,
/// or from the clean-up of a cancelled thread, which may find the condition destroyed. So the other
/// threads always receive theirs.
pub fn spends_no_signal_on_a_waiter_that_gave_up<M: Adopts>(
    threads: usize,
    holds: bool,
    cancelled: bool,
) {
    let shared = Arc::new(tokens::<M>());
    let theirs = Arc::clone(&shared);
    let done = together(threads, move |thread| match thread {
        0 => theirs.add(threads as u64 - 2, holds, |held| {
            for _ in 2..threads {
                theirs.signal(held);
            }
        }),
        1 => {
            let left = theirs.locked(|| theirs.wait(&Patience::until(soon())));
            if left.waited == Waited::GaveUp {
            } else if cancelled {
                stir(theirs.condvar.name(), &*theirs.pool);
            } else {
                theirs.signal(false);
            }
        }
        _ => theirs.take(),
    });
    if done.is_some() {
        assert_eq!(read(&shared.tokens), 0, "a token was lost");
        assert!(shared.condvar.is_quiet(), "a waiter is left in the queue");
    }
}

/// A waiter leaves the queue before it has spun or slept, while another thread signals.
pub fn is_left<M: Adopts>() {
    let shared = Arc::new(tokens::<M>());
    let theirs = Arc::clone(&shared);
    let done = together(2, move |thread| {
        if thread == 0 {
            return theirs.signal(false);
        }
        theirs.locked(|| {
            let waiter = enqueue::<M>(&theirs.condvar, &*theirs.pool);
            theirs.mutex.unlock();
            // SAFETY: enqueued above.
            let left = unsafe { theirs.condvar.leave(&*theirs.pool, waiter) };
            theirs.mutex.lock_again(left.adopted);
        });
    });
    if done.is_some() {
        assert!(shared.condvar.is_quiet(), "a waiter is left in the queue");
    }
}

/// The waiter destroys the condition variable after its signal.
pub fn is_destroyed<M: Adopts>(broadcast: bool) {
    let condvar = Kept::new(RawCondvar::default());
    let address = &raw const *condvar as usize;
    let owner = Cell::new(Some(condvar));
    let mutex = M::default();
    let told = Cell::new(false);
    let pool = nodes::<Waiter>(2);
    together(2, move |thread| {
        // SAFETY: it lives until the waiter destroys it, after the signal.
        let condvar = unsafe { &*(address as *const RawCondvar) };
        mutex.lock();
        if thread == 0 {
            write(&told, true);
            if broadcast {
                condvar.broadcast(&*pool, &Held(&mutex, true));
            } else {
                condvar.signal(&*pool, &Held(&mutex, true));
            }
        } else if !read(&told) {
            let waiter = enqueue::<M>(condvar, &*pool);
            mutex.unlock();
            // SAFETY: enqueued above.
            let left = unsafe { condvar.wait(&*pool, waiter, &Patience::ENDLESS) };
            // SAFETY: only this thread accesses the owner.
            drop(owner.with_mut(|owner| unsafe { (*owner).take() }));
            mutex.lock_again(left.adopted);
        }
        mutex.unlock();
    });
}
