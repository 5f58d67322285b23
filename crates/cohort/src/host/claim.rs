//! A claim to a held lock, for waiters with deadlines. Waiters cannot leave a queue, so these wait
//! beside it. A holder hands the lock over, unchanged, to one of them at a time.
//!
//! A holder that hands over to a claim releases nothing: the lock stays held, by the same record,
//! and another thread becomes its holder. So a claim works with every lock, and a waiter with a
//! deadline leaves nothing behind. Its turn is at the next release, however long the queue is.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `HEAD` | there is a first waiter with a deadline | a waiter that finds no head; itself |
//! | `DUE` | the next release hands over to the head | the head; the holder that hands over |
//! | `NAPPING` | and the head may be asleep | as `DUE` |
//! | `GRANTED` | the head has the lock, and has yet to notice | as `DUE` |
//! | `OWED` | the holder got the lock here, and owes the queue a release | the head that left; the holder |
//! | `BEHIND` | others may sleep until the head has left | a waiter that falls asleep; the head that leaves |
//!
//! Each change keeps all other marks, a gate's included.
//!
//! | change | sets | clears |
//! |---|---|---|
//! | become the head | `HEAD`; `BEHIND`, if the thread was woken | |
//! | fall asleep behind the head | `BEHIND` | |
//! | be due, nap | `DUE`, `NAPPING` | |
//! | hand the lock over | `GRANTED` | `DUE`, `NAPPING` |
//! | leave, waking one from behind | `OWED`, if granted | `HEAD`, `DUE`, `NAPPING`, `GRANTED`, `BEHIND` |
//! | release what was granted | | `OWED` |
//!
//! Without these bits there is no claim. The head also takes a free lock. Its turn is due after
//! half a millisecond as the head, or after half of its patience. At least every other release is
//! an ordinary one, so queued threads progress too.
//!
//! A holder may look for claims just before the head makes one, and release the lock. Then no later
//! holder may hand over or wake the head. So the head sleeps for short times only.

use crate::door::{
    AtomicU32, Order, Slept, Spinner, WaitPolicy, at_most, constructor, expired, flaws, mutant,
    now, orders, policy, runs_out, sleep_within, wake,
};
use cohort_raw::{Deadline, Patience};

orders! {
    /// The head sees the holder's writes, and releases in its place.
    CLAIM_GRANT = Release;
    /// The head's side of `CLAIM_GRANT`.
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

/// All bits of a claim; a [`Gate`](super::Gate) around it has the others.
pub(super) const BITS: u32 = HEAD | DUE | NAPPING | GRANTED | OWED | BEHIND;

/// The bits that concern a holder.
pub(super) const FOR_HOLDERS: u32 = DUE | GRANTED | OWED;

/// The claim's classes of sleepers, distinct from the gate's: the head, and waiters behind it.
const FIRST: u32 = 2;
const OTHERS: u32 = 4;

/// How long the head only tries the lock before it is due.
const PATIENCE_NANOSECONDS: u64 = 500_000;

/// How long a waiter spins before it sleeps. It does not yield: under oversubscription each yield
/// may cost milliseconds, and so its deadline; a woken sleeper is scheduled promptly.
const SPIN_NANOSECONDS: u64 = 4_000;

/// The head's first nap; each is twice as long as the one before.
const NAP_NANOSECONDS: u64 = 20_000;

/// The head's longest nap.
const LONGEST_NAP_NANOSECONDS: u64 = 8_000_000;

/// The word of a claim; zero without waiters, except for a gate's bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Claim {
    pub(super) word: AtomicU32,
}

/// The time since then; zero if a thread's clock steps back.
fn since(then: u64) -> u64 {
    now().saturating_sub(then)
}

/// Whether a waiter sleeps after such a wait; otherwise it spins a step.
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

/// Whether less patience is left than has passed.
fn is_half_over(patience: &Patience, waited: u64) -> bool {
    let half = |deadline: &Deadline| expired(&deadline.earlier(waited));
    patience.deadline().is_some_and(half)
}

impl Claim {
    constructor! {
        /// A claim without waiters.
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

    /// Blocks until `attempt` succeeds, the lock is handed over, or patience runs out: then false.
    #[cold]
    #[inline(never)]
    pub fn wait(&self, patience: &Patience, attempt: &dyn Fn() -> bool) -> bool {
        let came = now();
        match self.line_up(came, patience, attempt) {
            Some(locked) => locked,
            None => self.wait_as_head(came, patience, attempt),
        }
    }

    /// Blocks until the caller is the head: then none. Otherwise returns whether it acquired the
    /// lock before its patience ran out.
    fn line_up(&self, came: u64, patience: &Patience, attempt: &dyn Fn() -> bool) -> Option<bool> {
        let mut spinner = Spinner::new();
        let mut woken = false;
        loop {
            let locked = attempt();
            if locked || runs_out(patience) {
                // The wake-up goes to the next waiter.
                if woken && !mutant(flaw::SWALLOW_WAKE) {
                    wake(&raw const self.word, 1, OTHERS);
                }
                return Some(locked);
            }
            let word = self.word.load(Order::RELAXED);
            if word & HEAD == 0 {
                // The last head took the mark along, and the woken thread cannot know whether
                // others sleep.
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

    /// Gives up the head's place; returns whether the lock was handed over.
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

    /// Hands the lock over to the head if due; true if there is nothing left to release. `holds`
    /// decides whether the caller is the holder, and runs only if a claim concerns it. After a
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
                // A second release by the caller.
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

    /// Forgets all threads in a forked child, a gate's included. Returns whether the lock was
    /// granted to a waiter that had not noticed.
    pub fn forget(&self) -> bool {
        let granted = self.word.load(Order::RELAXED) & GRANTED != 0;
        if !mutant(flaw::OUTLIVE_FORK) {
            self.word.store(0, Order::RELAXED);
        }
        granted
    }
}
