//! The second word of a [`Futex`](super::Futex): the mode in which holders release and waiters
//! wait, and the gate at which waiters line up.
//!
//! | bits | meaning | set and cleared by |
//! |---|---|---|
//! | `QUICK` | holders release by a plain store | the holder of a lock that is long uncontended; the waiter that revokes it |
//! | `TURNS` | waiters take turns | a waiter that tries it; a head for which it did not pay |
//! | `GATE` | one of the four below | waiters and heads |
//! | `RELUCTANCE` | how rarely turns are tried | heads: more if turns did not pay, less if they did |
//! | `REVOKED` | how many quick periods were revoked recently, so how rarely one begins | the waiter that revokes one: more; the holder that begins one: less |
//! | `PLACE` | a hash of the lock's address when its waiters first queued; 0: they have not; all ones: a waiter is clearing what another lock has left there | those waiters |
//! | `PROCESS` | the process that shut the gate, or 0 if it is open; a forked child regards an inherited gate as open | with `GATE` |
//!
//! Each change keeps all marks that are not listed for it.
//!
//! | change | sets | clears |
//! |---|---|---|
//! | begin a quick period | `QUICK` | one step of `REVOKED` |
//! | revoke it | two steps of `REVOKED` | `QUICK` |
//! | release attentively | | `QUICK` |
//! | try turns | `TURNS` | |
//! | wait out a turn | | one step of `RELUCTANCE` |
//! | give turns up | one step of `RELUCTANCE` | `TURNS` |
//! | enter, pass, hand, open the gate | `GATE`, `PROCESS` | `GATE`, `PROCESS` |
//! | note the lock's place | `PLACE` | `PLACE` |
//!
//! A thread that has slept at the gate leaves it `CROWDED`, since others may still sleep there.
//!
//! The gate admits one waiter at a time, the *head*, in the order in which they fell asleep.
//!
//! | `GATE` | meaning |
//! |---|---|
//! | `OPEN` | there is no head |
//! | `PASSED` | there is one; no thread sleeps at the gate |
//! | `CROWDED` | there is one; others may sleep at the gate |
//! | `HANDED` | left to the sleeper just woken |
//!
//! The gate protects nothing that the lock's word does not protect, so no access to it orders
//! another.

use crate::door::{
    AtomicU32, Order, Slept, WaitPolicy, constructor, cpus, flaws, generation, is_worth_a_try,
    key_of, mutant, policies, policy, runs_out, sleep_unless_starved, tries_anything, wake,
};
use cohort_raw::Patience;

flaws! {
    GATE_FORGETS = "futex.gate-forgets";
    GATE_OPENS_SILENTLY = "futex.gate-opens-silently";
    /// A thread that has not slept accepts the role handed to a waking sleeper.
    TAKE_ANOTHERS_ROLE = "futex.take-anothers-role";
}

policies! {
    /// Waiters never take turns.
    TAKE_NO_TURNS = "futex.take-no-turns";
    /// Waiters take turns even if holders stay away.
    KEEP_TURNS = "futex.keep-turns";
}

const QUICK: u32 = 1;
const TURNS: u32 = 2;
const GATE: u32 = 3 << 2;
const OPEN: u32 = 0;
const PASSED: u32 = 1 << 2;
const CROWDED: u32 = 2 << 2;
const HANDED: u32 = 3 << 2;
const RELUCTANCE: u32 = 7 << 4;
const RELUCTANT: u32 = 1 << 4;
const REVOKED: u32 = 7 << 7;
const REVOCATION: u32 = 1 << 7;
const PLACE_SHIFT: u32 = 10;
const PLACE: u32 = 0x7f << PLACE_SHIFT;
const PROCESS_SHIFT: u32 = 17;
const PROCESS: u32 = !0 << PROCESS_SHIFT;

/// The most reluctant lock tries turns once in some 16,000 contended acquisitions.
const MOST: u32 = 6 * RELUCTANT;

/// There is one class of sleepers at the gate.
const CLASS: u32 = 1;

/// How long a thread sleeps at the gate before it passes: a head without a CPU admits no successor.
/// Several turns, since a head that waits out its turn is not stuck.
const HEAD_NANOSECONDS: u64 = 8 * super::TURN_NANOSECONDS;

/// How a wait at the gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// The caller is the head.
    AsHead,
    /// Its patience ran out.
    NotInTime,
    /// The head was away for too long: the caller proceeds without turns.
    Past,
}

/// The word; zero when new.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Mode(AtomicU32);

/// An address in the form of `PLACE`.
fn place_of(address: usize) -> u32 {
    let spread = (key_of(address) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (1 + spread as u32 % (PLACE >> PLACE_SHIFT).saturating_sub(1)) << PLACE_SHIFT
}

/// This process in the form of `PROCESS`.
fn process() -> u32 {
    generation() << PROCESS_SHIFT
}

impl Mode {
    constructor! {
        /// Attentive releases, waiters in a crowd.
        pub(super) fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// Whether holders release by a plain store.
    #[inline(always)]
    pub(super) fn is_quick(&self) -> bool {
        self.0.load(Order::RELAXED) & QUICK != 0
    }

    /// Makes holders release by a plain store, if that is likely to last.  Revoking it costs a
    /// waiter as much as it saves in thousands of releases.
    pub(super) fn be_quick(&self) -> bool {
        let revoked = self.0.load(Order::RELAXED) & REVOKED;
        let likely = revoked == 0 || is_worth_a_try(1 << (revoked / REVOCATION));
        if likely {
            self.change(|seen| (seen | QUICK) - REVOCATION.min(seen & REVOKED));
        }
        likely
    }

    /// Makes holders look at the word, and makes quick periods rarer.
    pub(super) fn revoke(&self) {
        self.change(|seen| {
            let revoked = ((seen & REVOKED) + 2 * REVOCATION).min(REVOKED);
            (seen & !(QUICK | REVOKED)) | revoked
        });
    }

    /// Makes holders look at the word.
    pub(super) fn be_attentive(&self) {
        self.0.fetch_and(!QUICK, Order::RELAXED);
    }

    /// Whether waiters take turns.
    #[inline]
    pub(crate) fn takes_turns(&self) -> bool {
        tries_anything()
            && self.0.load(Order::RELAXED) & TURNS != 0
            && !mutant(policy::TAKE_NO_TURNS)
    }

    /// Counts a contended acquisition: now and then, turns are tried.
    #[inline]
    pub(crate) fn consider_turns(&self) {
        if !tries_anything() {
            return;
        }
        let seen = self.0.load(Order::RELAXED);
        let one_in = 4 << (2 * ((seen & RELUCTANCE) / RELUCTANT));
        if seen & TURNS == 0 && is_worth_a_try(one_in) && policy() == WaitPolicy::Park && cpus() > 1
        {
            self.0.fetch_or(TURNS, Order::RELAXED);
        }
    }

    /// Notes that the head has waited out a whole turn.
    pub(crate) fn welcome_turns(&self) {
        self.change(|seen| seen - RELUCTANT.min(seen & RELUCTANCE));
    }

    /// Notes that the head found the lock free: holders stay away for long enough that a crowd
    /// would have used the time.
    pub(crate) fn give_up_turns(&self) {
        self.change(|seen| {
            if seen & TURNS == 0 || mutant(policy::KEEP_TURNS) {
                return seen;
            }
            let reluctance = ((seen & RELUCTANCE) + RELUCTANT).min(MOST);
            (seen & !(TURNS | RELUCTANCE)) | reluctance
        });
    }

    /// Whether the lock's waiters have queued at its present address, as far as `PLACE`
    /// distinguishes addresses; otherwise the word.
    #[inline]
    pub(super) fn is_known_at(&self, address: usize) -> Result<(), u32> {
        let seen = self.0.load(Order::RELAXED);
        if seen & PLACE == place_of(address) {
            Ok(())
        } else {
            Err(seen)
        }
    }

    /// Notes that they have.
    pub(super) fn be_known_at(&self, address: usize) {
        self.change(|seen| (seen & !PLACE) | place_of(address));
    }

    /// Whether the caller is the thread that clears what is left there, before any waiter queues;
    /// false if the word has changed since it was `seen`.
    pub(super) fn sees_after(&self, seen: u32) -> bool {
        seen & PLACE != PLACE
            && self
                .0
                .compare_exchange(seen, seen | PLACE, Order::RELAXED, Order::RELAXED)
                .is_ok()
    }

    fn change(&self, change: impl Fn(u32) -> u32) {
        let mut seen = self.0.load(Order::RELAXED);
        loop {
            let changed = change(seen);
            if changed == seen {
                return;
            }
            match self
                .0
                .compare_exchange(seen, changed, Order::RELAXED, Order::RELAXED)
            {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// The gate as this process sees it.
    fn gate(seen: u32) -> u32 {
        if seen & PROCESS == process() {
            seen & GATE
        } else {
            OPEN
        }
    }

    /// Changes the gate, if the word is still `seen`.
    fn set_gate(&self, seen: u32, gate: u32) -> bool {
        let whose = if gate == OPEN { 0 } else { process() };
        let changed = (seen & !(GATE | PROCESS)) | gate | whose;
        self.0
            .compare_exchange(seen, changed, Order::RELAXED, Order::RELAXED)
            .is_ok()
    }

    /// Whether a waiter of this process has passed the gate.
    pub(super) fn has_head(&self) -> bool {
        Self::gate(self.0.load(Order::RELAXED)) != OPEN
    }

    /// Blocks until the caller is the head, or need not be.
    pub(super) fn enter(&self, patience: &Patience) -> Entered {
        let mut slept = false;
        // Only a woken thread is handed the role.  A thread that arrives at that moment finds the
        // gate changed instead of a sleep; were it to accept, sleepers would starve.
        let mut woken = false;
        loop {
            let seen = self.0.load(Order::RELAXED);
            match Self::gate(seen) {
                // A thread that has slept cannot know whether others still do.
                OPEN => {
                    if self.set_gate(seen, if slept { CROWDED } else { PASSED }) {
                        return Entered::AsHead;
                    }
                }
                HANDED if woken || slept && mutant(flaw::TAKE_ANOTHERS_ROLE) => {
                    if self.set_gate(seen, CROWDED) {
                        return Entered::AsHead;
                    }
                }
                PASSED => {
                    self.set_gate(seen, CROWDED);
                }
                // Crowded, or handed to another.
                _ => {
                    if runs_out(patience) {
                        return Entered::NotInTime;
                    }
                    slept = true;
                    let (ended, starved) =
                        sleep_unless_starved(&self.0, seen, CLASS, HEAD_NANOSECONDS, patience);
                    if starved {
                        return Entered::Past;
                    }
                    woken = ended == Slept::Woken;
                }
            }
        }
    }

    /// Ends the head's role: admits the next waiter, if there is one.
    pub(super) fn pass(&self) {
        loop {
            let seen = self.0.load(Order::RELAXED);
            let crowded = Self::gate(seen) == CROWDED;
            if !self.set_gate(seen, if crowded { HANDED } else { OPEN }) {
                continue;
            }
            if crowded && !mutant(flaw::GATE_FORGETS) && wake(&raw const self.0, 1, CLASS) == 0 {
                self.take_back();
            }
            return;
        }
    }

    /// Pretends that waiters take turns and one is the head.
    #[cfg(test)]
    pub(super) fn take_turns_with_a_head(&self) {
        self.0.fetch_or(TURNS, Order::RELAXED);
        assert!(self.set_gate(self.0.load(Order::RELAXED), PASSED));
    }

    /// Opens a gate that was handed over without a sleeper.
    #[cold]
    fn take_back(&self) {
        loop {
            let seen = self.0.load(Order::RELAXED);
            if Self::gate(seen) != HANDED {
                // A thread that had slept took it.
                return;
            }
            if self.set_gate(seen, OPEN) {
                // A thread that fell asleep meanwhile must look again.
                if !mutant(flaw::GATE_OPENS_SILENTLY) {
                    wake(&raw const self.0, 1, CLASS);
                }
                return;
            }
        }
    }
}
