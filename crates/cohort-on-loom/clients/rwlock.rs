//! A readers–writer lock: readers share, writers exclude, nobody is forgotten.

use super::{add_one, read};
use crate::locks::door::Cell;
use crate::locks::rwlock::{RawRwLock, Recursion};
use crate::locks::{Outcome, Patience};
use crate::world::{soon, together};
use std::sync::Arc;

/// The lock and two counts that writers keep equal.
#[derive(Default)]
struct Shared {
    lock: RawRwLock,
    one: Cell<u64>,
    other: Cell<u64>,
}

impl Shared {
    fn look(&self) {
        assert_eq!(
            read(&self.one),
            read(&self.other),
            "a reader saw half a write"
        );
    }

    fn change(&self) {
        self.look();
        add_one(&self.one);
        add_one(&self.other);
    }

    fn release(&self) {
        // SAFETY: the caller holds it, to read or to write.
        assert!(unsafe { self.lock.release() }, "nobody held the lock");
    }
}

/// `writers` threads write `rounds` times, the others read; the last `hurried`
/// threads give up at a deadline.
pub fn shares(threads: usize, writers: usize, rounds: u64, hurried: usize) {
    let shared = Arc::new(Shared::default());
    let theirs = Arc::clone(&shared);
    let written = together(threads, move |thread| {
        let hurried = thread + hurried >= threads;
        let mut written = 0;
        for _ in 0..rounds {
            let patience = if hurried {
                Patience::until(soon())
            } else {
                Patience::ENDLESS
            };
            let outcome = if thread < writers {
                theirs.lock.write(&patience)
            } else {
                theirs.lock.read(Recursion::Allowed, &patience)
            };
            if outcome == Outcome::GaveUp {
                assert!(hurried, "gave up without a deadline");
                continue;
            }
            if thread < writers {
                theirs.change();
                written += 1;
            } else {
                theirs.look();
            }
            theirs.release();
        }
        written
    });
    if let Some(written) = written {
        assert_eq!(read(&shared.one), written.iter().sum::<u64>());
        assert!(!shared.lock.is_locked(), "the lock is left held");
    }
}

/// One writes, the others try to read and to write without waiting.
pub fn is_tried(threads: usize, rounds: u64) {
    let shared = Arc::new(Shared::default());
    let theirs = Arc::clone(&shared);
    let written = together(threads, move |thread| {
        let mut written = 0;
        for round in 0..rounds {
            if thread == 0 {
                let _ = theirs.lock.write(&Patience::ENDLESS);
            } else if (thread as u64 + round) % 2 == 1 {
                if theirs.lock.try_read(Recursion::Allowed) {
                    theirs.look();
                    theirs.release();
                }
                continue;
            } else if !theirs.lock.try_write() {
                continue;
            }
            theirs.change();
            written += 1;
            theirs.release();
        }
        written
    });
    if let Some(written) = written {
        assert_eq!(read(&shared.one), written.iter().sum::<u64>());
        assert!(!shared.lock.is_locked(), "the lock is left held");
    }
}

/// A reader reads again while a writer waits: it must not wait behind it.
pub fn is_read_again(rounds: u64) {
    let shared = Arc::new(Shared::default());
    together(2, move |thread| {
        for _ in 0..rounds {
            if thread == 0 {
                let _ = shared.lock.write(&Patience::ENDLESS);
                shared.change();
            } else {
                let _ = shared.lock.read(Recursion::Allowed, &Patience::ENDLESS);
                let _ = shared.lock.read(Recursion::Allowed, &Patience::ENDLESS);
                shared.look();
                shared.release();
            }
            shared.release();
        }
    });
}
