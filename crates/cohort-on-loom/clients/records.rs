//! Threads' records of themselves, read while they change.

use crate::clients::guest::Guest;
use crate::locks::RawLock;
use crate::locks::records::{Holder, Wait, Watch};
use crate::world::together;
use std::sync::Arc;

/// A thread waits repeatedly, once without an end of the wait, while another looks so often. Each
/// look shows a single wait, and never an earlier one than the look before.
pub fn waits_are_whole(looks: usize) {
    let wait = Arc::new(Wait::<2>::default());
    together(2, move |thread| {
        if thread == 0 {
            wait.begin([1; 2]);
            // Cancelled.
            wait.begin([2; 2]);
            wait.end();
            wait.begin([3; 2]);
            wait.end();
            return;
        }
        let mut last = 0;
        for (turn, words) in (0..looks).filter_map(|_| wait.read()) {
            assert_eq!(turn & 1, 1, "a wait has an odd number");
            assert_eq!(words[0], words[1], "a wait was read while it changed");
            assert!(words[0] >= last, "an earlier wait was read");
            last = words[0];
        }
    });
}

struct Shared<L> {
    lock: L,
    holder: Holder,
    /// Set by each thread after its last release.
    done: [Watch; 2],
}

/// Two threads acquire a lock repeatedly, with their tags in its holder's word. The word names the
/// holder during its hold, and no thread after its last release.
pub fn holders_are_named<L>(rounds: usize)
where
    L: RawLock + 'static,
{
    let shared = Arc::new(Shared {
        lock: L::default(),
        holder: Holder::default(),
        done: Default::default(),
    });
    together(2, move |thread| {
        let (mine, theirs) = (thread + 1, 2 - thread);
        for _ in 0..rounds {
            let guest = Guest::of(&shared.lock);
            guest.acquire();
            assert_eq!(shared.holder.tag(), 0, "the last holder is still named");
            shared.holder.take(mine);
            assert_eq!(shared.holder.tag(), mine, "the holder is not named");
            shared.holder.let_go(|| guest.release());
        }
        shared.done[thread].begin_for_ever();
        if shared.done[1 - thread].number() != 0 {
            assert_ne!(
                shared.holder.tag(),
                theirs,
                "a thread that has let go is named"
            );
        }
    });
}
