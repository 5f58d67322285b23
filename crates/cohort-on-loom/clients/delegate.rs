//! Sections that are brought to a delegate exclude each other, are run once, and are seen by
//! whoever brought them.

use crate::clients::{add_one, read, write};
use crate::locks::door::{Cell, thread_id};
use crate::locks::{Delegate, Section};
use crate::world::{Kept, together};
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::Arc;

/// Each thread brings `rounds` sections; the first `here` of them run their own.
pub fn runs<D: Delegate + 'static>(threads: usize, rounds: u64, here: usize) {
    counts::<D>(
        threads,
        rounds,
        0..here,
        move |thread, delegate, context, section| {
            if thread < here {
                delegate.run_here(context, section);
            } else {
                delegate.run(context, section);
            }
            true
        },
    );
}

/// A section on memory that outlives its thread's failure, as that of whoever runs it does.
pub struct Brought<F: FnMut()>(Kept<UnsafeCell<F>>);

impl<F: FnMut()> Brought<F> {
    /// That section.
    pub fn new(section: F) -> Self {
        Self(Kept::new(UnsafeCell::new(section)))
    }

    /// To be brought once.
    pub fn section(&self) -> Section<'_> {
        // SAFETY: one section is made of it at a time; where clients panic, all is over.
        unsafe { Section::new(&mut *self.0.get()) }
    }
}

/// Each thread brings its sections in that way; those of `own` are run by their own threads.
fn counts<D: Delegate + 'static>(
    threads: usize,
    rounds: u64,
    own: Range<usize>,
    bring: impl Fn(usize, &D, &D::Context, Section<'_>) -> bool + Send + Sync + 'static,
) {
    let shared = Arc::new((D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let brought = together(threads, move |thread| {
        let (delegate, count) = &*theirs;
        let mut ran = 0;
        for _ in 0..rounds {
            let context = Kept::new(D::Context::default());
            let mine = Kept::new((Cell::new(0_u64), Cell::new(0_u32)));
            let (times, by) = &*mine;
            let section = Brought::new(|| {
                add_one(count);
                add_one(times);
                write(by, thread_id());
            });
            let has_run = bring(thread, delegate, &context, section.section());
            assert_eq!(read(times), u64::from(has_run), "a section is run once");
            assert!(read(by) != 0 || !has_run, "what a section has done is seen");
            let elsewhere = has_run && own.contains(&thread) && read(by) != thread_id();
            assert!(!elsewhere, "a section ran in another thread than its own");
            ran += read(times);
        }
        ran
    });
    if let Some(brought) = brought {
        let brought: u64 = brought.iter().sum();
        assert_eq!(read(&shared.1), brought, "sections exclude each other");
    }
}
