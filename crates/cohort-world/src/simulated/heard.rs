//! What locks of a simulated machine say of themselves, in no time; a run is one host thread's.

use crate::heard::{Heard, Notes};
use cohort_on_machine::door::{Hearer, hear};
use std::cell::RefCell;

std::thread_local! {
    static NOTES: RefCell<Notes> = const { RefCell::new(Notes::new()) };
}

static HEARER: Hearer = Hearer {
    waited: |mode| NOTES.with_borrow_mut(|notes| notes.waited(mode.name(), 1)),
    changed: |change| {
        let (from, to) = (change.from.name(), change.to.name());
        NOTES.with_borrow_mut(|notes| notes.changed(change.lock, from, to, change.why));
    },
};

/// Begins to listen to a run of the calling thread.
pub(super) fn begin() {
    hear(&HEARER);
    NOTES.replace(Notes::new());
}

/// What was said since, of so many locks.
pub(super) fn taken(locks: usize) -> Heard {
    NOTES.replace(Notes::new()).told(locks)
}
