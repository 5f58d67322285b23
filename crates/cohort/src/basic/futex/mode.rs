//! The second word of a [`Futex`](super::Futex): in what mode its holders release it
//! and its waiters wait; and the gate at which waiters line up.
//!
//! | bits | meaning | set and cleared by |
//! |---|---|---|
//! | `QUICK` | holders release by a plain store | the holder of a lock that has long been quiet; the waiter that revokes it |
//! | `TURNS` | waiters take turns | a waiter that tries it; the head that found it not worth while |
//! | `GATE` | one of the four below | waiters and heads |
//! | `RELUCTANCE` | how rarely taking turns is tried | heads: more if it was not worth while, less if it was |
//! | `REVOKED` | how often of late a quick time was revoked, so how rarely there is one | the waiter that revokes it: more; the holder that begins one: less |
//! | `PLACE` | where the lock was when its waiters first went to a queue, cut off; 0: they have not; all ones: one of them sees after what another lock has left there | those waiters |
//! | `PROCESS` | whose waiters shut the gate, or 0 if it is open; what a forked child inherits is open to it | with `GATE` |
//!
//! Each change keeps all marks that it does not name.
//!
//! | change | sets | clears |
//! |---|---|---|
//! | begin a quick time | `QUICK` | one step of `REVOKED` |
//! | revoke it | two steps of `REVOKED` | `QUICK` |
//! | release attentively from now on | | `QUICK` |
//! | try turns | `TURNS` | |
//! | wait out a turn | | one step of `RELUCTANCE` |
//! | give turns up | one step of `RELUCTANCE` | `TURNS` |
//! | enter, pass, hand, open the gate | `GATE`, `PROCESS` | `GATE`, `PROCESS` |
//! | note the lock's place | `PLACE` | `PLACE` |
//!
//! A thread that has slept at the gate leaves it `CROWDED`, for others may sleep there still.
//!
//! The gate lets one waiter through at a time, which is then the *head*, in the order
//! in which they fell asleep.
//!
//! | `GATE` | meaning |
//! |---|---|
//! | `OPEN` | there is no head |
//! | `PASSED` | there is one; nobody sleeps at the gate |
//! | `CROWDED` | there is one; others may sleep at the gate |
//! | `HANDED` | left to the sleeper that was just woken, or any other that has slept |
//!
//! The gate guards nothing that the lock's word does not guard by itself, so no access
//! to it orders any other.

use crate::door::{
    AtomicU32, Order, WaitPolicy, constructor, cpus, flaws, generation, is_worth_a_try, key_of,
    mutant, policy, runs_out, sleep_unless_starved, tries_anything, wake,
};
use cohort_raw::Patience;

flaws! {
    GATE_FORGETS = "futex.gate-forgets";
    GATE_OPENS_SILENTLY = "futex.gate-opens-silently";
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

/// How long a thread sleeps at the gate before it goes past it: a head that gets no CPU
/// passes nothing on.  Several turns, for a head that waits out one is no such head.
const HEAD_NANOSECONDS: u64 = 8 * super::TURN_NANOSECONDS;

/// How a wait at the gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// The caller is the head.
    AsHead,
    /// Its patience ran out.
    NotInTime,
    /// The head did not come back for too long: the caller goes on without turns.
    Past,
}

/// The word; zero when new.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Mode(AtomicU32);

/// An address, as `PLACE` has it.
fn place_of(address: usize) -> u32 {
    let spread = (key_of(address) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (1 + spread as u32 % (PLACE >> PLACE_SHIFT).saturating_sub(1)) << PLACE_SHIFT
}

/// This process, as `PROCESS` has it.
fn process() -> u32 {
    generation() << PROCESS_SHIFT
}

impl Mode {
    constructor! {
        /// Attentive releases, a crowd of waiters.
        pub(super) fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// Whether holders release by a plain store.
    #[inline(always)]
    pub(super) fn is_quick(&self) -> bool {
        self.0.load(Order::RELAXED) & QUICK != 0
    }

    /// From here on holders release by a plain store, if that is likely to last: to revoke it
    /// costs the thread that comes to wait as much as it saves thousands of releases.
    pub(super) fn be_quick(&self) -> bool {
        let revoked = self.0.load(Order::RELAXED) & REVOKED;
        let likely = revoked == 0 || is_worth_a_try(1 << (revoked / REVOCATION));
        if likely {
            self.change(|seen| (seen | QUICK) - REVOCATION.min(seen & REVOKED));
        }
        likely
    }

    /// From here on they look at the word, and begin to do otherwise more rarely.
    pub(super) fn revoke(&self) {
        self.change(|seen| {
            let revoked = ((seen & REVOKED) + 2 * REVOCATION).min(REVOKED);
            (seen & !(QUICK | REVOKED)) | revoked
        });
    }

    /// From here on they look at the word.
    pub(super) fn be_attentive(&self) {
        self.0.fetch_and(!QUICK, Order::RELAXED);
    }

    /// Whether waiters take turns.
    #[inline]
    pub(crate) fn takes_turns(&self) -> bool {
        tries_anything() && self.0.load(Order::RELAXED) & TURNS != 0
    }

    /// One more contended acquisition: now and then, turns are tried.
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

    /// The head has waited out a whole turn.
    pub(crate) fn welcome_turns(&self) {
        self.change(|seen| seen - RELUCTANT.min(seen & RELUCTANCE));
    }

    /// The head found the lock free: its holders leave it alone for so long that a
    /// crowd would have used the time.
    pub(crate) fn give_up_turns(&self) {
        self.change(|seen| {
            if seen & TURNS == 0 {
                return seen;
            }
            let reluctance = ((seen & RELUCTANCE) + RELUCTANT).min(MOST);
            (seen & !(TURNS | RELUCTANCE)) | reluctance
        });
    }

    /// Whether the lock's waiters have gone to a queue where the lock is, as far as its place tells one
    /// from another; the word, if not.
    #[inline]
    pub(super) fn is_known_at(&self, address: usize) -> Result<(), u32> {
        let seen = self.0.load(Order::RELAXED);
        if seen & PLACE == place_of(address) {
            Ok(())
        } else {
            Err(seen)
        }
    }

    /// They have from here on.
    pub(super) fn be_known_at(&self, address: usize) {
        self.change(|seen| (seen & !PLACE) | place_of(address));
    }

    /// Whether the caller is the one that sees after what is left there, before any goes; not if
    /// anything has changed since the word was `seen`.
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

    /// The gate, as it is to this process.
    fn gate(seen: u32) -> u32 {
        if seen & PROCESS == process() {
            seen & GATE
        } else {
            OPEN
        }
    }

    /// Changes the gate, if nothing has changed since it was `seen`.
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
        loop {
            let seen = self.0.load(Order::RELAXED);
            match Self::gate(seen) {
                // A thread that has slept cannot know whether others still do.
                OPEN => {
                    if self.set_gate(seen, if slept { CROWDED } else { PASSED }) {
                        return Entered::AsHead;
                    }
                }
                HANDED if slept => {
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
                    let (_, starved) =
                        sleep_unless_starved(&self.0, seen, CLASS, HEAD_NANOSECONDS, patience);
                    if starved {
                        return Entered::Past;
                    }
                }
            }
        }
    }

    /// The head goes: lets the next waiter through, if there is one.
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

    /// As if waiters took turns, and one of them were the head.
    #[cfg(test)]
    pub(super) fn take_turns_with_a_head(&self) {
        self.0.fetch_or(TURNS, Order::RELAXED);
        assert!(self.set_gate(self.0.load(Order::RELAXED), PASSED));
    }

    /// Opens a gate that was handed to nobody.
    #[cold]
    fn take_back(&self) {
        loop {
            let seen = self.0.load(Order::RELAXED);
            if Self::gate(seen) != HANDED {
                // Somebody had slept and found it.
                return;
            }
            if self.set_gate(seen, OPEN) {
                // A thread that fell asleep meanwhile looks again.
                if !mutant(flaw::GATE_OPENS_SILENTLY) {
                    wake(&raw const self.0, 1, CLASS);
                }
                return;
            }
        }
    }
}
