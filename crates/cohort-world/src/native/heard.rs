//! What locks of this process say of themselves, if somebody listens: being told takes them time.

use crate::heard::{Heard, Notes};
use cohort::door::{Hearer, Mode, hear};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Waits in each mode.
static WAITS: [AtomicU64; Mode::ALL.len()] = [const { AtomicU64::new(0) }; Mode::ALL.len()];

static NOTES: Mutex<Notes> = Mutex::new(Notes::new());

static HEARER: Hearer = Hearer {
    waited: |mode| {
        WAITS[mode as usize].fetch_add(1, Ordering::Relaxed);
    },
    changed: |change| {
        let (from, to) = (change.from.name(), change.to.name());
        notes(|notes| notes.changed(change.lock, from, to, change.why));
    },
};

fn notes<R>(with: impl FnOnce(&mut Notes) -> R) -> R {
    let mut notes = NOTES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    with(&mut notes)
}

/// From here on runs on this machine tell in which modes their locks were.
pub fn listen() {
    hear(&HEARER);
}

/// What was said since this was asked last, of so many locks.
pub(super) fn taken(locks: usize) -> Heard {
    notes(|notes| {
        for mode in Mode::ALL {
            let times = WAITS[mode as usize].swap(0, Ordering::Relaxed);
            notes.waited(mode.name(), times);
        }
        std::mem::replace(notes, Notes::new()).told(locks)
    })
}
