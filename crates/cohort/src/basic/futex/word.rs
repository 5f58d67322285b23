//! The first word of a [`Futex`](super::Futex), and every change that threads make to it.
//!
//! The word has marks of several threads.  A thread derives a new value from the value it has seen,
//! by one of the changes here.  Each sets and clears the marks that it names and keeps all others;
//! no other code makes values.  The tables of marks and changes are in the lock's file.

use super::stamp;
use crate::door::{AtomicU32, Flaw, Order, Slept, flaws, mutant};
use crate::numa::futex_hmcs;

flaws! {
    TAKE_FORGETS = "futex.take-forgets";
    ACCEPT_FORGETS = "futex.accept-forgets";
    FREE_FORGETS = "futex.free-forgets";
    GRANT_FORGETS = "futex.grant-forgets";
    TAKE_BACK_FORGETS = "futex.take-back-forgets";
    ACCEPT_TURN_FORGETS = "futex.accept-turn-forgets";
    ANSWER_FORGETS = "futex.answer-forgets";
    GIVE_TURN_FORGETS = "futex.give-turn-forgets";
    ASK_FORGETS = "futex.ask-forgets";
    PARK_FORGETS = "futex.park-forgets";
    ADOPT_FORGETS = "futex.adopt-forgets";
    CLAIM_FORGETS = "futex.claim-forgets";
    UNCLAIM_FORGETS = "futex.unclaim-forgets";
}

pub(super) const LOCKED: u32 = 1;
pub(super) const PARKED: u32 = 2;
pub(super) const WOKEN: u32 = 4;
pub(super) const GRANTED: u32 = 8;
pub(super) const WANTED: u32 = 16;
pub(super) const NAPPING: u32 = 32;
pub(super) const TURN: u32 = 64;
pub(super) const WATCHED: u32 = 128;
pub(super) const QUEUED: u32 = 256;
pub(super) const STAMP: u32 = !0x1ff;

/// The head's marks on a holder's word.
const CLAIM: u32 = WANTED | NAPPING;

/// How a thread got the mark `WOKEN`, which it then clears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// Not at all.
    No,
    /// It has set the mark itself and has not slept since.  A waiter that parks clears that mark:
    /// beside `PARKED`, the mark is a sleeper's.
    Asked,
    /// A release has woken it.
    Roused,
}

impl Woken {
    /// The state of a thread after such an end of its sleep.
    pub(super) fn after(ended: Slept) -> Self {
        if ended == Slept::Woken {
            Self::Roused
        } else {
            Self::No
        }
    }
}

/// A value of the word: seen there, or derived from a seen one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen(u32);

impl Seen {
    /// What is in the word.
    #[inline(always)]
    pub(super) fn of(word: &AtomicU32) -> Self {
        Self(word.load(Order::RELAXED))
    }

    /// Stores the new value if this one is still there; otherwise returns the current one.
    #[inline(always)]
    pub(super) fn exchange(self, word: &AtomicU32, new: Self, order: Order) -> Result<(), Self> {
        match word.compare_exchange(self.0, new.0, order, Order::RELAXED) {
            Ok(_) => Ok(()),
            Err(now) => Err(Self(now)),
        }
    }

    /// The value for the kernel to compare.
    pub(super) fn value(self) -> u32 {
        self.0
    }

    /// Whether any of these marks is set.
    #[inline(always)]
    pub(super) fn has(self, marks: u32) -> bool {
        self.0 & marks != 0
    }

    /// Whether all `marks` are set and all `others` clear.
    #[inline(always)]
    pub(super) fn has_without(self, marks: u32, others: u32) -> bool {
        self.0 & (marks | others) == marks
    }

    /// Whether the head has claimed the lock.
    pub(super) fn is_claimed(self) -> bool {
        self.has(CLAIM)
    }

    /// When the sleepers' patience began, if it has.
    pub(super) fn since(self) -> u32 {
        self.0 & STAMP
    }

    /// The only way to a new value.
    #[inline(always)]
    fn with(self, cleared: u32, set: u32) -> Self {
        Self(self.0 & !cleared | set)
    }

    /// As [`with`](Self::with); the fault loses other threads' marks.
    #[inline(always)]
    fn changed(self, cleared: u32, set: u32, flaw: Flaw) -> Self {
        let forgotten = if mutant(flaw) { !LOCKED } else { 0 };
        self.with(cleared | forgotten, set)
    }

    /// The mark that such a thread clears.
    fn answered_by(self, woken: Woken) -> u32 {
        match woken {
            Woken::Roused => WOKEN,
            Woken::Asked if !self.has(PARKED) => WOKEN,
            _ => 0,
        }
    }

    /// Takes a free lock.
    #[inline(always)]
    pub(super) fn taken(self, woken: Woken) -> Self {
        self.changed(
            WATCHED | self.answered_by(woken),
            LOCKED,
            flaw::TAKE_FORGETS,
        )
    }

    /// Accepts a lock that was handed over.
    pub(super) fn accepted(self, woken: Woken) -> Self {
        self.changed(GRANTED | self.answered_by(woken), 0, flaw::ACCEPT_FORGETS)
    }

    /// Accepts a turn.
    pub(super) fn accepted_turn(self, woken: Woken) -> Self {
        self.changed(TURN | self.answered_by(woken), 0, flaw::ACCEPT_TURN_FORGETS)
    }

    /// Leaves the crowd for the gate.
    pub(super) fn answered(self, woken: Woken) -> Self {
        self.changed(self.answered_by(woken), 0, flaw::ANSWER_FORGETS)
    }

    /// Gives up: the next release wakes another sleeper, if a release woke this thread.
    pub(super) fn left(self, woken: Woken) -> Self {
        match woken {
            Woken::Roused => self.parked_since(self.patience(), flaw::PARK_FORGETS),
            Woken::Asked => self.changed(self.answered_by(woken), 0, flaw::TAKE_BACK_FORGETS),
            Woken::No => self,
        }
    }

    /// Asks the holder for a pause after its release.
    pub(super) fn asked(self) -> Self {
        self.changed(0, WOKEN, flaw::ASK_FORGETS)
    }

    /// When the sleepers' patience began, or begins now.
    fn patience(self) -> u32 {
        if self.has(PARKED) {
            self.since()
        } else {
            stamp()
        }
    }

    fn parked_since(self, since: u32, flaw: Flaw) -> Self {
        self.changed(WOKEN | STAMP, PARKED | since & STAMP, flaw)
    }

    /// Falls asleep; `first` says when the first sleeper's patience began.
    pub(super) fn parked(self, first: impl FnOnce(u32) -> u32) -> Self {
        let since = self.patience();
        let since = if self.has(PARKED) {
            since
        } else {
            first(since)
        };
        let parked = self.parked_since(since, flaw::PARK_FORGETS);
        if mutant(futex_hmcs::flaw::LOSE_MARK) {
            return parked.with(QUEUED, 0);
        }
        parked
    }

    /// Adds a requeued sleeper; at a free lock, a sleeper that is about to be woken.
    pub(super) fn adopted(self) -> Self {
        let adopted = self.parked_since(self.patience(), flaw::ADOPT_FORGETS);
        if self.has(LOCKED) {
            adopted
        } else {
            // `parked_since` cleared the mark.
            adopted.with(WATCHED, WOKEN)
        }
    }

    /// Releases; `wakes`: the caller then wakes a sleeper.
    pub(super) fn freed(self, wakes: bool) -> Self {
        let woken = if wakes { WOKEN } else { 0 };
        self.changed(LOCKED, woken, flaw::FREE_FORGETS)
    }

    /// Announces a hand-over to a sleeper that the caller wakes next.
    pub(super) fn announced(self, now: u32) -> Self {
        self.with(STAMP, PARKED | WOKEN | now)
    }

    /// Notes that there is no sleeper.
    pub(super) fn unparked(self) -> Self {
        self.with(PARKED | WOKEN | STAMP, 0)
    }

    /// Hands over.
    pub(super) fn granted(self) -> Self {
        self.changed(0, GRANTED, flaw::GRANT_FORGETS)
    }

    /// Releases to the head that has claimed the lock, if it exists.
    pub(super) fn given(self, to_head: bool) -> Self {
        let turn = if to_head { TURN } else { 0 };
        self.changed(CLAIM, turn, flaw::GIVE_TURN_FORGETS)
    }

    /// Watches a free lock.
    pub(super) fn watched(self) -> Self {
        self.with(0, WATCHED)
    }

    /// Claims a held lock; `sleeps`: the head then falls asleep.
    pub(super) fn claimed(self, sleeps: bool) -> Self {
        let claim = if sleeps { CLAIM } else { WANTED };
        self.changed(0, claim, flaw::CLAIM_FORGETS)
    }

    /// Takes the claim back.
    pub(super) fn unclaimed(self) -> Self {
        self.changed(CLAIM, 0, flaw::UNCLAIM_FORGETS)
    }
}
