//! A semaphore: no more threads than permits are inside, and each waiter gets a permit.

use super::{add_one, read};
use crate::locks::door::{AtomicU32, Cell, Order};
use crate::locks::{Patience, Semaphore};
use crate::world::{soon, together};
use std::sync::Arc;

/// Every thread takes a permit `times` times; a single permit excludes.
pub fn excludes(threads: usize, times: u64) {
    let shared = Arc::new((Semaphore::new(1), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |_| {
        let (semaphore, count) = &*theirs;
        for _ in 0..times {
            let _permit = semaphore.acquire();
            add_one(count);
        }
    });
    if ended.is_some() {
        let (semaphore, count) = &*shared;
        assert_eq!(semaphore.available(), 1, "all permits are back");
        assert_eq!(
            read(count),
            threads as u64 * times,
            "one is inside at a time"
        );
    }
}

/// At most `permits` threads are inside.
pub fn admits(threads: usize, permits: usize) {
    let shared = Arc::new((Semaphore::new(permits), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |_| {
        let (semaphore, inside) = &*theirs;
        let _permit = semaphore.acquire();
        let before = inside.fetch_add(1, Order::RELAXED);
        assert!((before as usize) < permits, "more threads than permits");
        inside.fetch_sub(1, Order::RELAXED);
    });
    if ended.is_some() {
        assert_eq!(shared.0.available(), permits, "all permits are back");
    }
}

/// Threads enter by a try, or not at all: no more than one is inside, and a failed try changes nothing.
pub fn is_tried(threads: usize) {
    let shared = Arc::new((Semaphore::new(1), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |_| {
        let (semaphore, inside) = &*theirs;
        let permit = semaphore.try_acquire();
        if permit.is_some() {
            let before = inside.fetch_add(1, Order::RELAXED);
            assert_eq!(before, 0, "more threads than permits");
            inside.fetch_sub(1, Order::RELAXED);
        }
        permit.is_some()
    });
    if let Some(entered) = ended {
        assert!(entered.contains(&true), "the first try succeeds");
        assert_eq!(shared.0.available(), 1, "the permit is back, and no other");
    }
}

/// Waiters give up, by a deadline, while a single permit goes round: none is lost with them.
pub fn loses_no_permit(threads: usize) {
    let shared = Arc::new(Semaphore::new(1));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        if thread == 0 {
            drop(theirs.acquire());
        } else {
            drop(theirs.acquire_within(&Patience::until(soon())));
        }
    });
    if ended.is_some() {
        assert_eq!(shared.available(), 1, "the permit is back");
    }
}

/// One thread adds a permit for each of the others, which keep theirs.
pub fn adds_for_all(threads: usize) {
    let shared = Arc::new(Semaphore::new(0));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        if thread == 0 {
            theirs.add(threads - 1);
        } else {
            theirs.acquire().forget();
        }
    });
    if ended.is_some() {
        assert_eq!(shared.available(), 0, "each has taken one permit");
    }
}
