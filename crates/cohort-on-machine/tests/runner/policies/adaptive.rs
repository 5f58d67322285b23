//! `glk`'s modes.

use super::super::loads::{Does, is_soon_right, seen};
use super::super::trial::HASWELL;
use super::{Case, Check, MILLISECOND, PAUSE, SECTION};
use crate::locks::adaptive::Glk;
use crate::locks::adaptive::glk::{Mode, OfMachine};
use crate::locks::basic::mcs::McsNode;
use crate::locks::{Adapts, RawLock};
use cohort_machine::{Memory, Options, Run};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("glk.ignore-up", modes_follow_the_load),
    ("glk.ignore-down", modes_follow_the_load),
    ("crowd.ignore-load", modes_follow_the_load),
    ("crowd.ignore-queue", sleepers_are_a_crowd),
    ("glk.keep-mode", begins_anew),
];

fn options(case: Case) -> Options {
    Options {
        pinned: false,
        flaw: case.flaw.map(str::to_owned),
        seed: case.seed,
        ..Options::default()
    }
}

/// `glk` follows its queue and the load.
fn modes_follow_the_load(case: Case) -> bool {
    is_soon_right::<OfMachine>(1_024, case.seed, case.flaw).is_ok()
}

/// With twice as many threads as CPUs, most sleep in `glk`'s mutex and do not appear in the load;
/// the lock stays in that mode.
fn sleepers_are_a_crowd(case: Case) -> bool {
    const ENDS: u64 = 30 * MILLISECOND;
    let seen = seen::<OfMachine>(&HASWELL, options(case), 96, 1_024, &|_, now| {
        if now < ENDS { Does::Locks } else { Does::Ends }
    });
    let changes = seen.iter().filter(|(_, mode)| *mode != Mode::Ticket);
    changes.map(|(_, mode)| *mode).eq([Mode::Mutex])
}

/// A lock that is reused for another object starts in `ticket` (Antić et al. 2016 §3).
fn begins_anew(case: Case) -> bool {
    let memory = Memory::new();
    let lock = memory.lock(Glk::<OfMachine>::default());
    let ends = 30 * MILLISECOND;
    let began = std::cell::Cell::new(None);
    let mut run = Run::new(&HASWELL, &memory, options(case));
    for _ in 0..96 {
        let (memory, began) = (&memory, &began);
        run.spawn(move |thread| {
            let node = memory.lock(McsNode::default());
            while began.get().is_none() && thread.now() < ends {
                // SAFETY: the thread's own node. Like the lock, it lies in the machine's memory
                // until the run is over.
                unsafe {
                    lock.acquire(node);
                    if thread.now() > ends / 2
                        && lock.mode() == Mode::Mutex
                        && began.get().is_none()
                    {
                        lock.begin_anew(node, 0);
                        began.set(Some(lock.mode()));
                    }
                    thread.work(SECTION);
                    lock.release(node);
                }
                thread.work(PAUSE);
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    began.get() == Some(Mode::Ticket)
}
