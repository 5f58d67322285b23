//! The checker checked: a small lock with one flaw at a time, which must be
//! reported, and for the right reason.

use super::bounds::{FORK, PARK, SPIN, SPIN_LATER};
use super::models::{Model, quick};
use crate::clients::{destroy, mutex};
use crate::fork_clients as fork;
use crate::locks::door::{AtomicU32, Order, Spinner, Strength, runs_out, sleep_on, wake};
use crate::locks::{Abortable, DetectsWaiters, Inherit, Outcome, Patience, RawLock, RawTry};

/// Nothing is wrong with it.
const SOUND: u8 = 0;
/// Takes the lock whether it is free or not.
const OPEN: u8 = 1;
/// Publishes nothing.
const SILENT: u8 = 2;
/// Wakes no waiter.
const FORGETFUL: u8 = 3;
/// Wakes before it is free, so that the woken thread may sleep again.
const HASTY: u8 = 4;
/// Never becomes free.
const STUCK: u8 = 5;
/// Looks at the lock after it is free.
const CLINGING: u8 = 6;
/// Says that threads wait where none does.
const LYING: u8 = 7;
/// Keeps the parent's acquisitions in a forked child.
const HAUNTED: u8 = 8;
/// Drops the acquisition that a forked child goes on with.
const DISINHERITED: u8 = 9;

const ACQUIRE: Order = Order::named("BROKEN_ACQUIRE", Strength::Acquire);
const RELEASE: Order = Order::named("BROKEN_RELEASE", Strength::Release);
const CLASS: u32 = 1;

/// 0: free; 1: held; 2: held, with sleepers perhaps.
#[derive(Default)]
struct Broken<const FLAW: u8> {
    word: AtomicU32,
}

// SAFETY: it is not sound unless `FLAW` is `SOUND`, which is what the models say.
unsafe impl<const FLAW: u8> RawLock for Broken<FLAW> {
    type Context = ();

    unsafe fn acquire(&self, (): &()) {
        // SAFETY: the caller's.
        if unsafe { self.try_acquire(&()) } || FLAW == OPEN {
            return;
        }
        let mut spinner = Spinner::new();
        while self.word.swap(2, ACQUIRE) != 0 {
            if spinner.step() == crate::locks::door::Advice::Sleep {
                let _ = sleep_on(&self.word, 2, CLASS, None);
            }
        }
    }

    unsafe fn release(&self, (): &()) {
        let address = &raw const self.word;
        if FLAW == STUCK {
            return;
        }
        if FLAW == HASTY {
            if self.word.load(Order::RELAXED) == 2 {
                wake(address, 1, CLASS);
            }
            self.word.store(0, RELEASE);
            return;
        }
        let order = if FLAW == SILENT {
            Order::RELAXED
        } else {
            RELEASE
        };
        if self.word.swap(0, order) == 2 && FLAW != FORGETFUL {
            wake(address, 1, CLASS);
        }
        if FLAW == CLINGING {
            self.word.load(Order::RELAXED);
        }
    }

    fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) != 0
    }
}

// SAFETY: as above.
unsafe impl<const FLAW: u8> RawTry for Broken<FLAW> {
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.word
            .compare_exchange(0, 1, ACQUIRE, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: as above.
unsafe impl<const FLAW: u8> DetectsWaiters for Broken<FLAW> {
    unsafe fn has_waiters(&self, (): &()) -> bool {
        FLAW == LYING
    }
}

// SAFETY: as above.
unsafe impl<const FLAW: u8> Inherit for Broken<FLAW> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let held = holder.is_some() && FLAW != DISINHERITED;
        if FLAW != HAUNTED {
            self.word.store(held.into(), Order::RELAXED);
        }
    }
}

/// Lets a waiter in without the lock if patience runs out at just that failed look.
#[derive(Default)]
struct InAtLook<const LOOK: u32>(Broken<SOUND>);

// SAFETY: as above.
unsafe impl<const LOOK: u32> RawLock for InAtLook<LOOK> {
    type Context = ();

    unsafe fn acquire(&self, (): &()) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(&(), &Patience::ENDLESS) };
    }

    unsafe fn release(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.0.release(&()) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl<const LOOK: u32> Abortable for InAtLook<LOOK> {
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        for looks in 1.. {
            // SAFETY: the caller's.
            if unsafe { self.0.try_acquire(&()) } {
                break;
            }
            if runs_out(patience) {
                if looks == LOOK {
                    break;
                }
                return Outcome::GaveUp;
            }
            spinner.turn();
        }
        Outcome::Acquired
    }
}

const RACE: &str = "Causality violation: Concurrent";
const ASLEEP: &str = "deadlock; threads";
const ENTERED: &str = "the lock was held";
const LIED: &str = "says that it has some";
const DROPPED: &str = "a held lock says that it is free";
const POLLING: &str = "deadlock: every thread waits for ever";

/// Each with the reason for which it has to fail, if it has to.
pub static BROKEN: &[(Model, Option<&str>)] = &[
    (
        quick("sound::park", PARK, || {
            mutex::excludes::<Broken<SOUND>>(3, 1, 0)
        }),
        None,
    ),
    (
        quick("sound::spin", SPIN, || {
            mutex::excludes::<Broken<SOUND>>(3, 1, 0)
        }),
        None,
    ),
    (
        quick("sound::destroyed", PARK, || {
            destroy::is_destroyed::<Broken<SOUND>>(2)
        }),
        None,
    ),
    (
        quick("open", SPIN, || mutex::excludes::<Broken<OPEN>>(2, 1, 0)),
        Some(RACE),
    ),
    (
        quick("silent", SPIN, || {
            mutex::excludes::<Broken<SILENT>>(2, 1, 0)
        }),
        Some(RACE),
    ),
    (
        quick("forgetful", PARK, || {
            mutex::excludes::<Broken<FORGETFUL>>(2, 1, 0)
        }),
        Some(ASLEEP),
    ),
    (
        quick("hasty", PARK, || mutex::excludes::<Broken<HASTY>>(2, 1, 0)),
        Some(ASLEEP),
    ),
    (
        quick("stuck::park", PARK, || {
            mutex::excludes::<Broken<STUCK>>(2, 1, 0)
        }),
        Some(ASLEEP),
    ),
    (
        quick("stuck::spin", SPIN, || {
            mutex::excludes::<Broken<STUCK>>(3, 1, 0)
        }),
        Some(POLLING),
    ),
    (
        quick("clinging", PARK, || {
            destroy::is_destroyed::<Broken<CLINGING>>(2)
        }),
        Some(RACE),
    ),
    (
        quick("sound::waiters", SPIN, || {
            mutex::tells_no_lies_about_waiters::<Broken<SOUND>>(2);
        }),
        None,
    ),
    (
        quick("lying", SPIN, || {
            mutex::tells_no_lies_about_waiters::<Broken<LYING>>(2);
        }),
        Some(LIED),
    ),
    (
        quick("sound::inherited", FORK, || {
            fork::is_inherited::<Broken<SOUND>>(2, true);
        }),
        None,
    ),
    (
        quick("sound::inherited_free", FORK, || {
            fork::is_inherited::<Broken<SOUND>>(2, false);
        }),
        None,
    ),
    (
        quick("haunted", FORK, || {
            fork::is_inherited::<Broken<HAUNTED>>(2, false);
        }),
        Some(ASLEEP),
    ),
    (
        quick("disinherited", FORK, || {
            fork::is_inherited::<Broken<DISINHERITED>>(2, true);
        }),
        Some(DROPPED),
    ),
    (
        quick("in_at_look_2", SPIN, || mutex::all_let_go::<InAtLook<2>>(2)),
        Some(ENTERED),
    ),
    // Here the second look passes the deadline, and it alone.
    (
        quick("in_at_look_1::unseen", SPIN, || {
            mutex::all_let_go::<InAtLook<1>>(2)
        }),
        None,
    ),
    (
        quick("in_at_look_3::unseen", SPIN, || {
            mutex::all_let_go::<InAtLook<3>>(2)
        }),
        None,
    ),
    (
        quick("in_at_look_1", SPIN_LATER, || {
            mutex::all_let_go::<InAtLook<1>>(2)
        }),
        Some(ENTERED),
    ),
    (
        quick("in_at_look_3", SPIN_LATER, || {
            mutex::all_let_go::<InAtLook<3>>(2)
        }),
        Some(ENTERED),
    ),
    // Beyond the bound.
    (
        quick("in_at_look_4::unseen", SPIN_LATER, || {
            mutex::all_let_go::<InAtLook<4>>(2)
        }),
        None,
    ),
];
