//! A condition variable: who waits is told, once, and may then destroy it.

use super::{read, write};
use crate::locks::basic::Futex;
use crate::locks::condvar::{RawCondvar, Waited, Waiter};
use crate::locks::door::Cell;
use crate::locks::host::Pool;
use crate::locks::{Patience, RawLock};
use crate::world::{Kept, nodes, soon, together};
use std::sync::Arc;

/// Tokens that threads wait for.
struct Tokens<P> {
    mutex: Futex,
    tokens: Cell<u64>,
    condvar: RawCondvar,
    pool: Arc<P>,
}

fn tokens() -> Tokens<impl Pool<Waiter> + Send + 'static> {
    Tokens {
        mutex: Futex::default(),
        tokens: Cell::new(0),
        condvar: RawCondvar::default(),
        pool: nodes::<Waiter>(2),
    }
}

impl<P: Pool<Waiter>> Tokens<P> {
    fn locked<R>(&self, work: impl FnOnce() -> R) -> R {
        self.mutex.acquire(&());
        let result = work();
        // SAFETY: acquired above.
        unsafe { self.mutex.release(&()) };
        result
    }

    fn add(&self, more: u64) {
        self.locked(|| write(&self.tokens, read(&self.tokens) + more));
    }

    /// Waits once, with the mutex held before and after.
    fn wait(&self, patience: &Patience) -> Waited {
        let waiter = self.condvar.enqueue(&*self.pool);
        // SAFETY: the caller holds the mutex.
        unsafe { self.mutex.release(&()) };
        // SAFETY: enqueued above.
        let waited = unsafe { self.condvar.wait(&*self.pool, waiter, patience) };
        self.mutex.acquire(&());
        waited
    }

    /// Takes a token, waiting for it as long as it takes.
    fn take(&self) {
        self.locked(|| {
            while read(&self.tokens) == 0 {
                self.wait(&Patience::ENDLESS);
            }
            write(&self.tokens, read(&self.tokens) - 1);
        });
    }
}

/// Thread 0 adds tokens for the others and signals once for each, or broadcasts
/// once for all.
pub fn tells(threads: usize, rounds: u64, broadcast: bool) {
    let shared = Arc::new(tokens());
    let theirs = Arc::clone(&shared);
    let done = together(threads, move |thread| {
        let others = threads as u64 - 1;
        for _ in 0..rounds {
            if thread > 0 {
                theirs.take();
            } else if broadcast {
                theirs.add(others);
                theirs.condvar.broadcast(&*theirs.pool);
            } else {
                for _ in 0..others {
                    theirs.add(1);
                    theirs.condvar.signal(&*theirs.pool);
                }
            }
        }
    });
    if done.is_some() {
        assert_eq!(read(&shared.tokens), 0, "a token was lost");
        assert!(shared.condvar.is_quiet(), "a waiter is left in the queue");
    }
}

/// Thread 1 gives up at a deadline.  If it was signalled all the same, it passes
/// the signal on; so the others always get theirs.
pub fn spends_no_signal_on_who_gave_up(threads: usize) {
    let shared = Arc::new(tokens());
    let theirs = Arc::clone(&shared);
    let done = together(threads, move |thread| match thread {
        0 => {
            theirs.add(threads as u64 - 2);
            for _ in 2..threads {
                theirs.condvar.signal(&*theirs.pool);
            }
        }
        1 => {
            let waited = theirs.locked(|| theirs.wait(&Patience::until(soon())));
            if waited != Waited::GaveUp {
                theirs.condvar.signal(&*theirs.pool);
            }
        }
        _ => theirs.take(),
    });
    if done.is_some() {
        assert_eq!(read(&shared.tokens), 0, "a token was lost");
        assert!(shared.condvar.is_quiet(), "a waiter is left in the queue");
    }
}

/// The waiter destroys the condition variable as soon as it has been told.
pub fn is_destroyed(broadcast: bool) {
    let condvar = Kept::new(RawCondvar::default());
    let address = &raw const *condvar as usize;
    let owner = Cell::new(Some(condvar));
    let mutex = Futex::default();
    let told = Cell::new(false);
    let pool = nodes::<Waiter>(2);
    together(2, move |thread| {
        // SAFETY: it lives until the waiter has been told and destroys it.
        let condvar = unsafe { &*(address as *const RawCondvar) };
        mutex.acquire(&());
        if thread == 0 {
            write(&told, true);
            if broadcast {
                condvar.broadcast(&*pool);
            } else {
                condvar.signal(&*pool);
            }
            // SAFETY: acquired above.
            unsafe { mutex.release(&()) };
            return;
        }
        if !read(&told) {
            let waiter = condvar.enqueue(&*pool);
            // SAFETY: acquired above.
            unsafe { mutex.release(&()) };
            // SAFETY: enqueued above.
            unsafe { condvar.wait(&*pool, waiter, &Patience::ENDLESS) };
            // SAFETY: only this thread touches the owner.
            drop(owner.with_mut(|owner| unsafe { (*owner).take() }));
            return;
        }
        // SAFETY: acquired above.
        unsafe { mutex.release(&()) };
    });
}
