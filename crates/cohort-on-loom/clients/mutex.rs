//! A mutex excludes, loses nobody, and publishes what was done under it.

use super::{add_one, read};
use crate::locks::door::{Cell, yield_now};
use crate::locks::{Abortable, Outcome, Patience, RawLock, RawTry};
use crate::world::{Kept, soon, together};
use std::sync::Arc;

/// Each thread acquires `rounds` times, the first `triers` of them without
/// waiting; as many as got in are counted.
pub fn excludes<L: RawTry + 'static>(threads: usize, rounds: u64, triers: usize) {
    counts::<L>(threads, rounds, move |thread, lock, context| {
        if thread < triers {
            return lock.try_acquire(context);
        }
        lock.acquire(context);
        true
    });
}

/// Each thread acquires as often as `rounds` says for it.
pub fn takes_turns<L: RawLock + 'static>(rounds: [u64; 3]) {
    counts_each::<L>(
        3,
        move |thread| rounds[thread],
        |_, lock, context| {
            lock.acquire(context);
            true
        },
    );
}

/// As [`excludes`], but the last `hurried` threads give up at a deadline.
pub fn lets_go<L: Abortable + 'static>(threads: usize, rounds: u64, hurried: usize) {
    counts::<L>(threads, rounds, move |thread, lock, context| {
        let hurried = thread + hurried >= threads;
        let patience = if hurried {
            Patience::until(soon())
        } else {
            Patience::ENDLESS
        };
        let outcome = lock.acquire_within(context, &patience);
        assert!(hurried || outcome == Outcome::Acquired);
        outcome == Outcome::Acquired
    });
}

/// Two wait for a lock that is held; whoever held it, the first thread, comes back past
/// them.  Some are in a hurry; who is not must not be forgotten.
pub fn remembers<L: Abortable<Context: Send + Sync> + 'static>(hurried: [bool; 3]) {
    let shared = Arc::new((L::default(), Kept::new(L::Context::default())));
    shared.0.acquire(&shared.1);
    together(3, move |thread| {
        let (lock, first) = &*shared;
        let context = Kept::new(L::Context::default());
        if thread == 0 {
            yield_now();
            // SAFETY: acquired above, with this context.
            unsafe { lock.release(first) };
        }
        let patience = if hurried[thread] {
            Patience::until(soon())
        } else {
            Patience::ENDLESS
        };
        if lock.acquire_within(&context, &patience) == Outcome::Acquired {
            // SAFETY: acquired just now, with this context.
            unsafe { lock.release(&context) };
        }
    });
}

fn counts<L: RawLock + 'static>(
    threads: usize,
    rounds: u64,
    enter: impl Fn(usize, &L, &L::Context) -> bool + Send + Sync + 'static,
) {
    counts_each::<L>(threads, move |_| rounds, enter);
}

fn counts_each<L: RawLock + 'static>(
    threads: usize,
    rounds: impl Fn(usize) -> u64 + Send + Sync + 'static,
    enter: impl Fn(usize, &L, &L::Context) -> bool + Send + Sync + 'static,
) {
    let shared = Arc::new((L::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let entered = together(threads, move |thread| {
        let (lock, count) = &*theirs;
        let context = Kept::new(L::Context::default());
        let mut entered = 0;
        for _ in 0..rounds(thread) {
            if enter(thread, lock, &context) {
                add_one(count);
                entered += 1;
                // SAFETY: acquired just now, with this context.
                unsafe { lock.release(&context) };
            }
        }
        entered
    });
    if let Some(entered) = entered {
        assert_eq!(
            read(&shared.1),
            entered.iter().sum::<u64>(),
            "an acquisition was lost or counted twice"
        );
        assert!(!shared.0.is_locked(), "the lock is left held");
    }
}
