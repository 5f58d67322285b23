//! Type-erased sections under a lock of the standard library's atoms, for Miri too: `.ci/miri`.

use cohort_raw::{Delegate, Hosted, RawLock, RawTry, Section, TryDelegate, standalone};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

#[derive(Default)]
struct Flag(AtomicBool);

// SAFETY: one exchange at a time finds the flag down, and acquires the releasing store that lowered
// it.
unsafe impl RawLock for Flag {
    type Context = ();

    unsafe fn acquire(&self, cx: &()) {
        // SAFETY: the caller's.
        while !unsafe { self.try_acquire(cx) } {
            std::thread::yield_now();
        }
    }

    unsafe fn release(&self, (): &()) {
        self.0.store(false, Ordering::Release);
    }

    fn is_locked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

standalone!([] Flag: Hosted { strict: false });

// SAFETY: as above.
unsafe impl RawTry for Flag {
    unsafe fn try_acquire(&self, (): &()) -> bool {
        !self.0.swap(true, Ordering::Acquire)
    }
}

#[test]
fn a_section_borrows_and_is_run_once() {
    let lock = Flag::default();
    let mut words = vec!["one".to_owned()];
    let mut add = || words.push("two".to_owned());
    // SAFETY: pushing does not unwind, and any thread may do it.
    lock.run(&mut (), unsafe { Section::new(&mut add) });
    assert_eq!(words, ["one", "two"]);
    assert!(!lock.is_locked());
}

#[test]
fn a_section_that_is_refused_is_not_run() {
    let lock = Flag::default();
    let mut runs = 0;
    let mut count = || runs += 1;
    // SAFETY: counting does not unwind, and any thread may do it; the flag has no context, and stays
    // until it is released.
    unsafe {
        lock.acquire(&());
        assert!(!lock.try_run(&mut (), Section::new(&mut count)));
        lock.release(&());
        assert!(lock.try_run(&mut (), Section::new(&mut count)));
    }
    assert_eq!(runs, 1);
}

/// Runs a section like a server: its lifetime is erased, and its creator waits for the end.
#[test]
fn another_thread_runs_a_section() {
    const THREADS: u64 = 4;
    const EACH: u64 = 8;
    let lock = Flag::default();
    let mut total = 0;
    let place = AtomicPtr::new(&raw mut total);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let mut add = || {
                        // SAFETY: the total outlives the threads, and sections of one lock
                        // exclude each other.
                        unsafe { *place.load(Ordering::Relaxed) += 1 };
                    };
                    // SAFETY: adding does not unwind, any thread may do it, and the scope
                    // below ends after the section.
                    let section = unsafe { Section::new(&mut add).outliving() };
                    let lock = &lock;
                    std::thread::scope(|server| {
                        server.spawn(move || lock.run(&mut (), section));
                    });
                }
            });
        }
    });
    assert_eq!(total, THREADS * EACH);
}

#[test]
fn a_lock_is_made_in_its_place() {
    let mut place = MaybeUninit::<Flag>::uninit();
    // SAFETY: the place is writable and unused.
    unsafe { Flag::make_at(place.as_mut_ptr()) };
    // SAFETY: created above.
    let lock = unsafe { place.assume_init() };
    // SAFETY: the flag has no context, and is unused once dropped.
    let tries = unsafe { [lock.try_acquire(&()), lock.try_acquire(&())] };
    assert_eq!(tries, [true, false]);
}
