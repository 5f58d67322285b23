//! A section that runs once, on the first thread to arrive.

use super::{add_one, read};
use crate::locks::door::{Cell, caught, panic_on};
use crate::locks::{LazyLock, Once, OnceLock};
use crate::world::together;
use std::sync::Arc;

/// Every thread calls `run`, and sees that the section ran once.
pub fn is_run_once(threads: usize) {
    let shared = Arc::new((Once::new(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |_| {
        let (once, count) = &*theirs;
        once.call_once(|| add_one(count));
        assert_eq!(read(count), 1, "the section has been run once");
    });
    if ended.is_some() {
        assert!(shared.0.state().done(), "the section has been run");
    }
}

/// The section panics the first time; the next thread runs it again and sees its effects.
pub fn is_run_again(threads: usize) {
    let shared = Arc::new((Once::new(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let panicked = together(threads, move |_| {
        let (once, count) = &*theirs;
        let run = caught(|| {
            once.call_once_force(|state| {
                add_one(count);
                if !state.poisoned() {
                    panic_on(Box::new("the first time"));
                }
            });
        });
        if run.is_ok() {
            assert_eq!(read(count), 2, "the section has been run again, once");
        }
        run.is_err()
    });
    if let Some(panicked) = panicked {
        let panicked = panicked.iter().filter(|panicked| **panicked).count();
        assert_eq!(panicked, 1, "one thread comes first");
    }
}

/// One thread runs the section; all others wait for it, and see its effects.
pub fn is_awaited(threads: usize) {
    let shared = Arc::new((Once::new(), Cell::new(0)));
    together(threads, move |thread| {
        let (once, count) = &*shared;
        if thread == 0 {
            once.call_once(|| add_one(count));
        } else {
            once.wait();
        }
        assert_eq!(read(count), 1, "the section has been run");
    });
}

/// Threads that wait while the section panics, and until another has run it.
pub fn is_awaited_again(threads: usize) {
    let shared = Arc::new((Once::new(), Cell::new(0)));
    together(threads, move |thread| {
        let (once, count) = &*shared;
        if thread > 0 {
            once.wait_force();
        } else {
            let first = caught(|| once.call_once(|| panic_on(Box::new("the first time"))));
            assert!(first.is_err(), "a section that panics");
            once.call_once_force(|_| add_one(count));
        }
        assert_eq!(read(count), 1, "the section has been run");
    });
}

/// The section panics, and so does the wait of every other thread. Native only: checkers take its
/// panic for a failure.
#[cfg(not(any(world = "loom", world = "machine")))]
pub fn is_awaited_in_vain(threads: usize) {
    let shared = Arc::new(Once::new());
    together(threads, move |thread| {
        let ended = caught(|| {
            if thread == 0 {
                shared.call_once(|| panic_on(Box::new("on purpose")));
            } else {
                shared.wait();
            }
        });
        assert!(ended.is_err(), "the section panicked");
        assert!(shared.state().poisoned(), "no other section has been run");
    });
}

/// Every thread initialises a value; all see the first.
pub fn keeps_one_value(threads: usize) {
    let shared = Arc::new((OnceLock::new(), Cell::new(0)));
    let seen = together(threads, move |thread| {
        let (lock, count) = &*shared;
        let seen = *lock.get_or_init(|| {
            add_one(count);
            thread
        });
        assert_eq!(read(count), 1, "the value has been computed once");
        assert_eq!(lock.set(threads), Err(threads), "there is a value");
        seen
    });
    if let Some(seen) = seen {
        assert!(seen.iter().all(|one| *one == seen[0]), "all see one value");
    }
}

/// Threads use a lazy value, and wait for it.
pub fn is_computed_once(threads: usize) {
    let count = Arc::new(Cell::new(0));
    let theirs = Arc::clone(&count);
    let init = move || {
        add_one(&theirs);
        7
    };
    let shared = Arc::new((LazyLock::new(init), count));
    together(threads, move |_| {
        let (lazy, count) = &*shared;
        assert_eq!(
            (**lazy, read(count)),
            (7, 1),
            "the value has been computed once"
        );
    });
}

/// The computation panics the first time; the next caller computes the value.
pub fn is_computed_again(threads: usize) {
    let shared = Arc::new((OnceLock::new(), Cell::new(0)));
    let panicked = together(threads, move |_| {
        let (lock, count) = &*shared;
        let run = caught(|| {
            lock.get_or_init(|| {
                add_one(count);
                if read(count) == 1 {
                    panic_on(Box::new("the first time"));
                }
                7
            });
        });
        if run.is_ok() {
            assert_eq!(
                (lock.get(), read(count)),
                (Some(&7), 2),
                "the value has been computed the second time"
            );
        }
        run.is_err()
    });
    if let Some(panicked) = panicked {
        let panicked = panicked.iter().filter(|panicked| **panicked).count();
        assert_eq!(panicked, 1, "one thread comes first");
    }
}

/// The function of a lazy value panics; so does every use. Native only: checkers take its
/// panic for a failure.
#[cfg(not(any(world = "loom", world = "machine")))]
pub fn stays_without_value(threads: usize) {
    let count = Arc::new(Cell::new(0));
    let theirs = Arc::clone(&count);
    let init = move || -> u32 {
        add_one(&theirs);
        panic_on(Box::new("on purpose"))
    };
    let shared = Arc::new((LazyLock::new(init), count));
    together(threads, move |_| {
        let (lazy, count) = &*shared;
        let used = caught(|| assert_eq!(**lazy, 7, "there is no value"));
        assert!(used.is_err() && lazy.get().is_none(), "there is no value");
        assert_eq!(read(count), 1, "the function is called once");
    });
}
