//! Modes of this process's adaptive locks. Off by default, since reporting slows the locks.

use crate::heard::{Heard, Notes};
use cohort::door::{Mode, Observer, set_observer};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Waits in each mode.
static WAITS: [AtomicU64; Mode::ALL.len()] = [const { AtomicU64::new(0) }; Mode::ALL.len()];

static NOTES: Mutex<Notes> = Mutex::new(Notes::new());

static OBSERVER: Observer = Observer {
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

/// Makes runs on this machine record the modes of their locks.
pub fn listen() {
    set_observer(&OBSERVER);
}

/// The events since the last call, for that many locks.
pub(super) fn taken(locks: usize) -> Heard {
    notes(|notes| {
        for mode in Mode::ALL {
            let times = WAITS[mode as usize].swap(0, Ordering::Relaxed);
            notes.waited(mode.name(), times);
        }
        std::mem::replace(notes, Notes::new()).told(locks)
    })
}
