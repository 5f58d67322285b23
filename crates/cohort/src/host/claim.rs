//! A claim to a held lock, for waiters that may give up: a queue has no way out, so they
//! wait beside it, and one of them at a time is handed the lock as it is.
//!
//! A holder that finds a claim made good releases nothing: the lock stays held, by the
//! same record, and from then on it is somebody else's.  So nothing depends on which lock
//! it is, a waiter with a deadline owns nothing that it could leave behind, and its turn
//! comes with the next release, however long the queue is.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `HEAD` | the first of those with deadlines stands here | a waiter that finds nobody here; itself |
//! | `DUE` | its turn has come: the next release hands the lock over | the head; the holder that does |
//! | `NAPPING` | and it may be asleep | the same |
//! | `GRANTED` | the lock is the head's, which has still to notice | the holder that hands it over; the head |
//! | `OWED` | the holder got the lock so, and releases it in the ordinary way | the head that noticed; the holder, before it releases |
//! | `BEHIND` | others may sleep here until the head has left | a waiter that goes to sleep; the head that wakes one |
//!
//! Each change keeps all marks that it does not name, a gate's too.
//!
//! | change | sets | clears |
//! |---|---|---|
//! | become the head | `HEAD`; `BEHIND`, if the thread was woken | |
//! | fall asleep behind the head | `BEHIND` | |
//! | be due, nap | `DUE`, `NAPPING` | |
//! | hand the lock over | `GRANTED` | `DUE`, `NAPPING` |
//! | leave | `OWED`, if the lock was granted | `HEAD`, `DUE`, `NAPPING`, `GRANTED`, `BEHIND`; it wakes one that was behind |
//! | release what was granted | | `OWED` |
//!
//! None of these bits is nobody's claim.  The head takes a lock that comes free, like anybody; its
//! turn comes once it has stood here for half a millisecond, or half of its patience is
//! over.  Every other release at least is an ordinary one, so threads that queue get on too.
//!
//! A holder may look for claims just before one is made, and release: then nobody comes
//! any more that would hand the lock over, or wake the head.  So the head never sleeps for
//! long.

use crate::door::{
    AtomicU32, Order, Slept, Spinner, WaitPolicy, at_most, constructor, expired, flaws, mutant,
    now, orders, policy, runs_out, sleep_within, wake,
};
use cohort_raw::{Deadline, Patience};

orders! {
    /// What the holder did is seen by the head, which releases in its place.
    CLAIM_GRANT = Release;
    /// As above, from the head's side.
    CLAIM_ACCEPT = Acquire;
}

flaws! {
    SWALLOW_WAKE = "claim.swallow-wake";
    FORGET_OTHERS = "claim.forget-others";
    OVERLOOK_GRANT = "claim.overlook-grant";
    FORGET_NEXT = "claim.forget-next";
    FORGET_QUEUE = "claim.forget-queue";
    FORGET_WAKE = "claim.forget-wake";
    OUTLIVE_FORK = "claim.outlive-fork";
}

const HEAD: u32 = 0x400;
const DUE: u32 = 0x800;
const NAPPING: u32 = 0x1000;
const GRANTED: u32 = 0x2000;
const OWED: u32 = 0x4000;
const BEHIND: u32 = 0x8000;

/// All of them; the others are a [`Gate`](super::Gate)'s, where the claim is part of one.
pub(super) const BITS: u32 = HEAD | DUE | NAPPING | GRANTED | OWED | BEHIND;

/// Those that concern a holder.
pub(super) const FOR_HOLDERS: u32 = DUE | GRANTED | OWED;

/// The classes of sleepers, beside that of a gate: the head, and those behind.
const FIRST: u32 = 2;
const OTHERS: u32 = 4;

/// How long the head only takes what comes free.
const PATIENCE_NANOSECONDS: u64 = 500_000;

/// How long a waiter spins before it sleeps.  It gives no turns away: where others want its
/// CPU each may cost it milliseconds, and so its deadline; a sleeper is run when it is woken.
const SPIN_NANOSECONDS: u64 = 4_000;

/// The head's first nap; each is twice as long as the one before.
const NAP_NANOSECONDS: u64 = 20_000;

/// Its longest.
const LONGEST_NAP_NANOSECONDS: u64 = 8_000_000;

/// The word; zero when nobody claims, but for what a gate has there.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Claim {
    pub(super) word: AtomicU32,
}

/// How long ago that was; nothing, where a thread's clock may step back.
fn since(then: u64) -> u64 {
    now().saturating_sub(then)
}

/// Whether a waiter sleeps that has waited for so long; if not, a little time has passed.
fn sleeps_after(waited: u64, spinner: &mut Spinner) -> bool {
    if policy() != WaitPolicy::Park {
        spinner.turn();
        false
    } else if waited < SPIN_NANOSECONDS {
        spinner.spin();
        false
    } else {
        true
    }
}

/// Whether less of the patience is left than has passed.
fn is_half_over(patience: &Patience, waited: u64) -> bool {
    let half = |deadline: &Deadline| expired(&deadline.earlier(waited));
    patience.deadline().is_some_and(half)
}

impl Claim {
    constructor! {
        /// Nobody's.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
            }
        }
    }

    fn exchange(&self, old: u32, new: u32, order: Order) -> bool {
        self.word
            .compare_exchange(old, new, order, Order::RELAXED)
            .is_ok()
    }

    /// Blocks until an attempt has taken the lock, it is handed over, or patience runs out;
    /// false then.
    #[cold]
    #[inline(never)]
    pub fn wait(&self, patience: &Patience, attempt: &dyn Fn() -> bool) -> bool {
        let came = now();
        match self.line_up(came, patience, attempt) {
            Some(locked) => locked,
            None => self.wait_as_head(came, patience, attempt),
        }
    }

    /// Blocks until the caller is the head; or says at once whether it has the lock, if it
    /// has or its patience is over.
    fn line_up(&self, came: u64, patience: &Patience, attempt: &dyn Fn() -> bool) -> Option<bool> {
        let mut spinner = Spinner::new();
        let mut woken = false;
        loop {
            let locked = attempt();
            if locked || runs_out(patience) {
                // The place that it was woken for is the next one's.
                if woken && !mutant(flaw::SWALLOW_WAKE) {
                    wake(&raw const self.word, 1, OTHERS);
                }
                return Some(locked);
            }
            let word = self.word.load(Order::RELAXED);
            if word & HEAD == 0 {
                // The mark went with the head, and the woken one cannot tell whether it was
                // the last to sleep.
                let behind = if woken && !mutant(flaw::FORGET_OTHERS) {
                    BEHIND
                } else {
                    0
                };
                if self.exchange(word, word | HEAD | behind, Order::RELAXED) {
                    return None;
                }
                continue;
            }
            if !sleeps_after(since(came), &mut spinner) {
                continue;
            }
            let marked = word | BEHIND;
            if word == marked || self.exchange(word, marked, Order::RELAXED) {
                woken = sleep_within(&self.word, marked, OTHERS, patience) == Slept::Woken;
            }
        }
    }

    fn wait_as_head(&self, came: u64, patience: &Patience, attempt: &dyn Fn() -> bool) -> bool {
        let became_head = now();
        let mut spinner = Spinner::new();
        let mut nap = NAP_NANOSECONDS;
        loop {
            let word = self.word.load(Order::RELAXED);
            let granted = word & GRANTED != 0;
            let locked = !granted && attempt();
            if granted || locked || runs_out(patience) {
                return self.leave() || locked;
            }
            let stood = since(became_head);
            let due = word & DUE != 0
                || stood >= PATIENCE_NANOSECONDS
                || is_half_over(patience, since(came));
            let sleeps = sleeps_after(stood, &mut spinner);
            let marked = match (due, sleeps) {
                (false, _) => word,
                (true, false) => word | DUE,
                (true, true) => word | DUE | NAPPING,
            };
            if (word == marked || self.exchange(word, marked, Order::RELAXED)) && sleeps {
                let nap_or_less = at_most(patience, nap);
                let slept = sleep_within(&self.word, marked, FIRST, &nap_or_less);
                if slept == Slept::TimedOut {
                    nap = LONGEST_NAP_NANOSECONDS.min(2 * nap);
                }
            }
        }
    }

    /// Leaves the head's place to the next; whether the lock has been handed over.
    fn leave(&self) -> bool {
        loop {
            let word = self.word.load(Order::RELAXED);
            let granted = word & GRANTED != 0 && !mutant(flaw::OVERLOOK_GRANT);
            let others = word & !(HEAD | DUE | NAPPING | GRANTED | BEHIND);
            let left = if granted { others | OWED } else { others };
            if !self.exchange(word, left, CLAIM_ACCEPT) {
                continue;
            }
            if word & BEHIND != 0 && !mutant(flaw::FORGET_NEXT) {
                wake(&raw const self.word, 1, OTHERS);
            }
            return granted;
        }
    }

    /// Whether the head has the lock from now on, so that there is nothing to release: for
    /// the holder, if the caller, asked only where it matters, is sure to be that.  After a
    /// hand-over the claim may be gone.
    #[inline(always)]
    pub fn hand_over(&self, holds: impl FnOnce() -> bool) -> bool {
        self.word.load(Order::RELAXED) & FOR_HOLDERS != 0 && holds() && self.consider()
    }

    #[cold]
    #[inline(never)]
    fn consider(&self) -> bool {
        let place = &raw const self.word;
        loop {
            let word = self.word.load(Order::RELAXED);
            if word & GRANTED != 0 {
                // The caller has released already what it releases again.
                return true;
            }
            if word & OWED != 0 && !mutant(flaw::FORGET_QUEUE) {
                if self.exchange(word, word & !OWED, Order::RELAXED) {
                    return false;
                }
                continue;
            }
            if word & DUE == 0 {
                return false;
            }
            let granted = (word & !(DUE | NAPPING)) | GRANTED;
            if self.exchange(word, granted, CLAIM_GRANT) {
                if word & NAPPING != 0 && !mutant(flaw::FORGET_WAKE) {
                    wake(place, 1, FIRST);
                }
                return true;
            }
        }
    }

    /// In a forked child, forgets everybody, at a gate too; whether the lock was one's that had not
    /// noticed.
    pub fn forget(&self) -> bool {
        let granted = self.word.load(Order::RELAXED) & GRANTED != 0;
        if !mutant(flaw::OUTLIVE_FORK) {
            self.word.store(0, Order::RELAXED);
        }
        granted
    }
}
