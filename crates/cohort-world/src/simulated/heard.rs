//! Modes of a simulated machine's adaptive locks, recorded at no cost. A run stays on one host
//! thread.

use crate::heard::{Heard, Notes};
use cohort_on_machine::door::{Observer, set_observer};
use std::cell::RefCell;

std::thread_local! {
    static NOTES: RefCell<Notes> = const { RefCell::new(Notes::new()) };
}

static OBSERVER: Observer = Observer {
    waited: |mode| NOTES.with_borrow_mut(|notes| notes.waited(mode.name(), 1)),
    changed: |change| {
        let (from, to) = (change.from.name(), change.to.name());
        NOTES.with_borrow_mut(|notes| notes.changed(change.lock, from, to, change.why));
    },
};

/// Starts recording a run of the calling thread.
pub(super) fn begin() {
    set_observer(&OBSERVER);
    NOTES.replace(Notes::new());
}

/// The events since, for that many locks.
pub(super) fn taken(locks: usize) -> Heard {
    NOTES.replace(Notes::new()).told(locks)
}
