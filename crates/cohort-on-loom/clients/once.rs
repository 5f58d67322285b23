//! A section that runs once, on the first thread to arrive.

use super::{add_one, read};
use crate::locks::Once;
use crate::locks::door::{Cell, caught, panic_on};
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
