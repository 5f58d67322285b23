//! Contexts that outlive the frame of their creation: guards, and acquisitions that another thread
//! releases.

use crate::clients::{add_one, read};
use crate::locks::context::Kept;
use crate::locks::door::{AtomicU32, Cell, Order, Strength};
use crate::locks::{Mutex, RawLock, ReentrantMutex, ThreadOblivious};
use crate::world::together;
use std::sync::Arc;

/// Each thread locks `rounds` times by a guard.
pub fn excludes<L: RawLock + ThreadOblivious + 'static>(threads: usize, rounds: u64) {
    let total: Arc<Mutex<u64, L>> = Arc::new(Mutex::from(0));
    let theirs = Arc::clone(&total);
    let ended = together(threads, move |_| {
        for _ in 0..rounds {
            *theirs.lock() += 1;
        }
    });
    if ended.is_some() {
        assert_eq!(
            *total.lock(),
            threads as u64 * rounds,
            "guards exclude each other"
        );
    }
}

/// Each thread locks recursively, and drops the two guards in the order of acquisition.
pub fn locks_again<L>(threads: usize)
where
    L: RawLock<Context: Send> + ThreadOblivious + 'static,
{
    let total: Arc<ReentrantMutex<Cell<u64>, L>> = Arc::new(ReentrantMutex::from(Cell::new(0)));
    let theirs = Arc::clone(&total);
    let ended = together(threads, move |_| {
        let first = theirs.lock();
        let second = theirs.lock();
        drop(first);
        add_one(&second);
    });
    if ended.is_some() {
        assert!(!total.is_locked(), "the last guard releases");
        assert_eq!(
            read(&total.lock()),
            threads as u64,
            "guards exclude others'"
        );
    }
}

/// The thread that releases the first thread's acquisition: the second, unless it is too early.
const NOBODY_YET: u32 = 0;
const SECOND: u32 = 1;
const FIRST: u32 = 2;

/// Orders one thread's work before the other's.
const HAND_ON: Order = Order::named("a client's hand-on", Strength::AcqRel);

/// The first thread leaves its acquisition to the second, and each acquires once more.
pub fn is_handed_on<L>(threads: usize)
where
    L: RawLock<Context: Send> + ThreadOblivious + 'static,
{
    type Left<L> = Cell<Option<Kept<L>>>;
    let left: Left<L> = Cell::new(None);
    let shared = Arc::new((L::default(), Cell::new(0), left, AtomicU32::new(NOBODY_YET)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        let (lock, count, left, releases) = &*theirs;
        let acquire = || {
            let context = Kept::<L>::new();
            // SAFETY: a new context, which moves with the right to release; its block and the lock
            // stay.
            unsafe { lock.acquire(context.get()) };
            add_one(count);
            context
        };
        let release = |context: Kept<L>| {
            // SAFETY: acquired by that context, which moved here.
            unsafe { lock.release(context.get()) };
        };
        // SAFETY: the exchanges admit one thread at a time to the place.
        let take = || left.with_mut(|left| unsafe { (*left).take() });
        if thread == 0 {
            let context = acquire();
            // SAFETY: as above.
            left.with_mut(|left| unsafe { *left = Some(context) });
            if releases.swap(SECOND, HAND_ON) == FIRST {
                take().into_iter().for_each(release);
            }
        } else if thread == 1 && releases.swap(FIRST, HAND_ON) == SECOND {
            take().into_iter().for_each(release);
        }
        release(acquire());
    });
    if ended.is_some() {
        assert_eq!(read(&shared.1), threads as u64 + 1, "all have been inside");
        assert!(!shared.0.is_locked(), "all have released");
    }
}
