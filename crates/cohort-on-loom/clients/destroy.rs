//! A release does not access the mutex once another thread may hold it, so the next holder may
//! destroy it.

use crate::clients::guest::Guest;
use crate::locks::RawTry;
use crate::locks::door::Cell;
use crate::world::{Kept, together};
use std::sync::Arc;

/// Each thread uses the lock once; the last one destroys it.
pub fn is_destroyed<L: RawTry + 'static>(threads: usize) {
    let lock = Kept::new(L::default());
    let address = &raw const *lock as usize;
    let owner = Arc::new(Cell::new((threads, Some(lock))));
    together(threads, move |_| {
        // SAFETY: the lock lives until its last user destroys it.
        let lock = unsafe { &*(address as *const L) };
        let guest = Guest::of(lock);
        guest.acquire();
        // SAFETY: the lock is held, and it guards the owner.
        let (left, last) = owner.with_mut(|owner| unsafe {
            (*owner).0 -= 1;
            (
                (*owner).0,
                if (*owner).0 == 0 {
                    (*owner).1.take()
                } else {
                    None
                },
            )
        });
        guest.release();
        assert_eq!(left == 0, last.is_some());
        drop(guest);
        drop(last);
    });
}
