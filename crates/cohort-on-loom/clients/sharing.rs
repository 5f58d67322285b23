//! The C library's readers–writer lock, as an algorithm: readers see whole writes,
//! writers exclude, nobody is forgotten.

use super::{add_one, read};
use crate::locks::baseline::PosixRwLock;
use crate::locks::door::Cell;
use crate::world::together;
use std::sync::Arc;

/// The first `writers` threads write `rounds` times, the others read; the last `triers`
/// threads do so without waiting, or not at all.
pub fn shares<const PREFERS_WRITERS: bool>(
    threads: usize,
    writers: usize,
    rounds: u64,
    triers: usize,
) {
    type Count = Cell<u64>;
    let lock = PosixRwLock::<PREFERS_WRITERS>::default();
    let shared = Arc::new((lock, Count::new(0), Count::new(0)));
    let theirs = Arc::clone(&shared);
    let written = together(threads, move |thread| {
        let (lock, one, other) = &*theirs;
        let writes = thread < writers;
        let tries = thread + triers >= threads;
        let mut written = 0;
        for _ in 0..rounds {
            let entered = match (writes, tries) {
                (true, true) => lock.try_write(),
                (false, true) => lock.try_read(),
                (true, false) => {
                    lock.write();
                    true
                }
                (false, false) => {
                    lock.read();
                    true
                }
            };
            if !entered {
                continue;
            }
            assert_eq!(read(one), read(other), "somebody saw half a write");
            // SAFETY: entered just now, to write or to read.
            unsafe {
                if writes {
                    add_one(one);
                    add_one(other);
                    written += 1;
                    lock.end_write();
                } else {
                    lock.end_read();
                }
            }
        }
        written
    });
    if let Some(written) = written {
        assert_eq!(read(&shared.1), written.iter().sum::<u64>());
        assert!(shared.0.try_write(), "the lock is left held");
    }
}
