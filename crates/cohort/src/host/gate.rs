//! A gate before a lock that serves in strict order: no more waiters pass it than
//! there are CPUs to run them, and the others sleep outside.
//!
//! A queue hands the lock to the thread that came first, running or not, so a queue longer
//! than the CPUs stands still at every hand-over until the kernel has run one
//! particular thread.  A short queue is served by threads that run, and that keep their CPUs
//! while they wait: one that gave its turn away would be handed the lock meanwhile.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `INSIDE` | how many wait for the lock itself | each that passes; each that got the lock |
//! | `PARKED` | there may be sleepers outside | a thread that goes to sleep; a holder that found nobody to wake |
//! | `WOKEN` | a woken sleeper may be on its way, so nobody else is woken | a holder that wakes; the woken sleeper, or any that goes to sleep |
//! | those of a [`Claim`], but at a wide gate | waiters with deadlines, which do not pass here | see there |
//! | `STAMP` | when the sleepers' present patience began, in units of 2¹⁶ ns; at a wide gate 8 bits of it | the thread that sets `PARKED`; a holder that wakes |
//!
//! | change | sets | clears | keeps |
//! |---|---|---|---|
//! | pass | one more inside | `WOKEN` if the thread was woken; it sets `PARKED` and `STAMP` where neither mark stands | the claim, `PARKED`, `STAMP` |
//! | leave, depart, step out | | one of those inside | all |
//! | fall asleep | `PARKED`, `STAMP` if it is the first | `WOKEN` | `INSIDE`, the claim, an earlier sleeper's `STAMP` |
//! | announce a wake-up | `PARKED`, `WOKEN`, `STAMP` | | `INSIDE`, the claim |
//! | find no sleeper | | `PARKED`, `WOKEN`, `STAMP` | `INSIDE`, the claim |
//! | the claim's own | see [`Claim`] | see there | all of the gate's |
//!
//! Several threads depart at once.  If one of them finds no sleeper, the mark `WOKEN` that it then
//! clears may be another's, who has woken one of several sleepers meanwhile.  So a woken thread that
//! finds neither mark leaves `PARKED` for the others.
//!
//! A word of 0 is a gate at rest.  Places are taken by the thread that comes first,
//! past the sleepers; but a holder wakes one before it releases when nobody is inside, or too few
//! are, and now and then anyway, and a woken thread passes even if all places are taken, as long
//! as they can be counted.  So nobody is passed over for ever.
//!
//! **One place.**  On one or two CPUs one thread is inside, so there is no order to keep among those
//! that are.  While others sleep outside it is not in the queue either, but tries, as do those
//! before the gate that are still awake: in the queue it would be handed the lock while another
//! thread has its CPU.  So a waiter that does not run is passed over, and is there again once it
//! does, whichever lock it waits for (He, Scherer and Scott 2005 have holders find such waiters in
//! the queue, and take them out of it).  It is passed over for no longer than a wait lasts before it
//! sleeps; then it queues, and keeps its CPU as others do that are inside.
//!
//! **Where CPUs are scarce**, as those inside find out that lose theirs, few may be inside, and a
//! thread that finds no place sleeps at once: each of those few has a CPU then, so the lock is
//! handed over to one that runs.  A holder wakes a sleeper ahead of need, while half of the places
//! are still taken: the lock goes round among those until it has come.  It wakes the first, wherever
//! that one runs: a sleeper with the holder's caches may well share a CPU with one that is inside,
//! and simulated, preferring such sleepers cost up to half of the sections.  What one process has
//! found out holds for all of its gates, and for a tenth of a second; a forked child may go on with
//! it for that long.  Then more are let in again, one by one.
//!
//! No sleeper is forgotten: it sleeps only while somebody is inside, and that one will
//! hold the lock, after which it looks at the gate, unless another is inside by then.  Where a lock has
//! a gate for each cache group, so that no line of a gate leaves its group, a holder looks at the gate
//! by which it came: it steps out before its release, and wakes a sleeper afterwards, when nobody waits
//! for the holder.
//!
//! **Wide gates.**  An exchange fails where another thread has changed the word meanwhile: of as many as
//! arrive at once each moves the line several times, and a holder that departs queues for it with them.
//! A [wide](WideGate) gate counts by one addition.  Its count has room for all threads of the process, so no
//! addition reaches a mark, however many threads have seen a free place before any of them has added.  Those
//! that are too many stay; they run, and the gate is closed until as many have left.
//!
//! A signal handler that interrupts a thread at a gate or inside of one stops at none: the place that it
//! would wait for may be its own thread's.
//!
//! The gate orders nothing else and guards nothing: the lock behind it does.

use super::claim::{BITS, Claim, FOR_HOLDERS};
use super::spell::Scarcity;
use crate::door::{
    Advice, FAT_GROUPS, Order, Slept, Spinner, WaitPolicy, beforehand, cache_groups, constructor,
    cpus, flaws, has_lost_cpu, keep_cpu, mutant, now, policy, process_wide, sleep_on, thread,
    tries_anything, wake,
};
use crate::padded::CachePadded;
use cohort_raw::RawTry;
use core::marker::PhantomData;
use core::mem::replace;
use core::ptr;

flaws! {
    KEEP_WOKEN = "gate.keep-woken";
    FORGET_WAKE = "gate.forget-wake";
    COUNT_TWICE = "gate.count-twice";
    STAY_INSIDE = "gate.stay-inside";
    FORGET_OTHERS = "gate.forget-others";
    /// A signal handler waits for a place that the thread has which it interrupts.
    STOP_HANDLERS = "gate.stop-handlers";
}

/// A stamp's unit is 2 to this power, in nanoseconds.
const STAMP_UNIT_BITS: u32 = 16;

/// A process has fewer threads than 2 to this power: Linux numbers those of all processes with so
/// many bits.
const THREAD_BITS: u32 = 22;

/// How long others pass the sleepers before one of them is woken; less than a unit of
/// `STAMP` earlier, since the stamp is cut off.
const PATIENCE_NANOSECONDS: u64 = 500_000;

/// How many may be inside where threads lack CPUs: each of them has one then, and while some
/// sleeper is woken the lock goes round among the others.
const SCARCE_PLACES: u32 = 8;

/// There is one class of sleepers.
const CLASS: u32 = 1;

process_wide! {
    /// Whether those inside lose their CPUs to others.
    static SCARCE: CachePadded<Scarcity> = padded
}

constructor! {
    fn padded() -> CachePadded<Scarcity> {
        CachePadded(Scarcity::new())
    }
}

/// How many may be inside while CPUs are scarce.
fn few_places() -> u32 {
    (cpus() / 2).clamp(1, SCARCE_PLACES)
}

/// How many gates a lock has that has one for each cache group.
fn groups() -> u32 {
    cache_groups().clamp(1, FAT_GROUPS) as u32
}

/// Whether the calling thread begins a wait that gates may stop, until it [has waited](Gate::have_waited):
/// one that may sleep, and of which it is in no other.
fn begins_to_wait() -> bool {
    policy() == WaitPolicy::Park && (!thread().gated.replace(true) || mutant(flaw::STOP_HANDLERS))
}

/// Whether CPUs are scarce.
pub(super) fn are_cpus_scarce() -> bool {
    SCARCE.get().0.lasts(|| ())
}

/// A gate whose word has a [`Claim`] too; a thread is counted in by an exchange.
pub type Gate = Admission<false>;

/// A gate without claims, at which threads of many CPUs arrive: its count has room for every thread of
/// the process, so a thread is counted in by an addition.
pub type WideGate = Admission<true>;

/// A gate; zero, and at rest, when new.
#[derive(Debug)]
#[repr(transparent)]
pub struct Admission<const WIDE: bool> {
    /// In the same word.  Where holders do not [hand over](Gate::hand_over), and at a wide gate, it is
    /// unused.
    pub claim: Claim,
}

impl<const WIDE: bool> Default for Admission<WIDE> {
    fn default() -> Self {
        Self::new()
    }
}

/// How a thread has come past the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Passed {
    /// Uncounted, as a wait that the gate does not stop.
    Open,
    /// Counted in, to queue.
    Inside,
    /// Counted in, with the lock, which was free.
    InsideWithLock,
    /// With the lock, which was free, and not inside.
    WithLock,
}

impl Passed {
    /// Whether the lock is held already.
    #[inline]
    #[must_use]
    pub fn has_lock(self) -> bool {
        matches!(self, Self::InsideWithLock | Self::WithLock)
    }
}

/// How the lock behind a gate is tried: by one function of each lock, for which there is little
/// room in the interposer.
#[derive(Clone, Copy, Debug)]
pub struct Try<'a> {
    lock: *const u8,
    context: *const u8,
    tries: unsafe fn(*const u8, *const u8) -> bool,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Try<'a> {
    /// That lock, by that context.
    ///
    /// # Safety
    /// As [`RawTry::try_acquire`], for each time that it is tried.
    #[inline]
    pub unsafe fn of<L: RawTry>(lock: &'a L, context: &'a L::Context) -> Self {
        /// # Safety
        /// They are such a lock and such a context.
        #[inline(never)]
        unsafe fn tries<L: RawTry>(lock: *const u8, context: *const u8) -> bool {
            // SAFETY: the caller's, and that of `of`.
            unsafe {
                let (lock, context) = (&*lock.cast::<L>(), &*context.cast());
                !lock.is_locked() && lock.try_acquire(context)
            }
        }
        Self {
            lock: ptr::from_ref(lock).cast(),
            context: ptr::from_ref(context).cast(),
            tries: tries::<L>,
            borrowed: PhantomData,
        }
    }

    /// Whether the lock is held now.
    fn takes(self) -> bool {
        // SAFETY: both are borrowed, and of the function's types.
        unsafe { (self.tries)(self.lock, self.context) }
    }
}

impl<const WIDE: bool> Admission<WIDE> {
    const COUNT_BITS: u32 = if WIDE { THREAD_BITS } else { 8 };
    const INSIDE: u32 = (1 << Self::COUNT_BITS) - 1;
    const PARKED: u32 = 1 << Self::COUNT_BITS;
    const WOKEN: u32 = Self::PARKED << 1;
    const STAMP_SHIFT: u32 = if WIDE { Self::COUNT_BITS + 2 } else { 16 };
    const STAMP: u32 = !0 << Self::STAMP_SHIFT;

    /// What waiters that go to sleep, and holders that wake one, leave as it is.
    const KEPT: u32 = Self::INSIDE | if WIDE { 0 } else { BITS };

    /// The most places; where the count has no room for every thread, woken sleepers come on top.
    const PLACES: u32 = if WIDE { Self::INSIDE } else { Self::INSIDE / 2 };

    /// `PATIENCE_NANOSECONDS` as the difference of two stamps.
    const PATIENCE: u32 = ((PATIENCE_NANOSECONDS >> STAMP_UNIT_BITS) as u32) << Self::STAMP_SHIFT;

    constructor! {
        /// A gate at rest.
        #[must_use]
        pub fn new() -> Self {
            beforehand(&SCARCE);
            Self { claim: Claim::new() }
        }
    }

    fn exchange(&self, old: u32, new: u32) -> bool {
        self.claim
            .word
            .compare_exchange(old, new, Order::RELAXED, Order::RELAXED)
            .is_ok()
    }

    /// The time, as a stamp.
    fn stamp() -> u32 {
        ((now() >> STAMP_UNIT_BITS) as u32) << Self::STAMP_SHIFT
    }

    /// Whether the patience that began at a word's stamp is over.
    fn is_over(word: u32) -> bool {
        Self::stamp().wrapping_sub(word & Self::STAMP) >= Self::PATIENCE
    }

    /// Whether a word has sleepers, none of them woken.
    #[inline(always)]
    const fn is_due(word: u32) -> bool {
        word & (Self::PARKED | Self::WOKEN) == Self::PARKED
    }

    /// Marks a gate at rest as if it had sleepers, until a holder finds none.
    pub fn expect_sleepers(&self) {
        self.claim.word.store(Self::PARKED, Order::RELAXED);
    }

    /// Blocks until there is one of so many places inside, and counts the caller in; it sleeps
    /// at once unless it `spins`, if it may sleep.  False if it has the lock instead, which it `tries`
    /// before it waits.
    #[cold]
    pub fn admit(&self, places: u32, spins: bool, tries: Option<Try<'_>>) -> bool {
        let places = places.clamp(1, Self::PLACES);
        let spins = spins || policy() != WaitPolicy::Park;
        let mut spinner = Spinner::new();
        let mut woken = false;
        // Whether this is its first look, at a gate whose count has room for every thread.
        let mut adds = WIDE;
        loop {
            let word = self.claim.word.load(Order::RELAXED);
            if replace(&mut adds, false) && word & Self::INSIDE < places {
                // Threads that arrive at one time may be too many: they stay.
                self.claim.word.fetch_add(1, Order::RELAXED);
                return true;
            }
            // However many were woken: what no longer fits would be counted as a mark.
            if word & Self::INSIDE < if woken { Self::INSIDE } else { places } {
                let answered = if woken { Self::answered(word) } else { word };
                // A woken thread brings no place along: it takes one.
                let counted = if woken && mutant(flaw::COUNT_TWICE) {
                    answered + 2
                } else {
                    answered + 1
                };
                if self.exchange(word, counted) {
                    return true;
                }
                continue;
            }
            // A thread that was woken has a mark to take off, for which it passes.
            if !woken && tries.is_some_and(Try::takes) {
                return false;
            }
            if spins && spinner.step() == Advice::Again {
                continue;
            }
            let since = if word & Self::PARKED != 0 {
                word & Self::STAMP
            } else {
                Self::stamp()
            };
            let marked = word & Self::KEPT | Self::PARKED | since;
            if word != marked && !self.exchange(word, marked) {
                continue;
            }
            woken = sleep_on(&self.claim.word, marked, CLASS, None) == Slept::Woken;
            spinner = Spinner::new();
        }
    }

    /// The word of a sleeper that was woken and passes.
    fn answered(word: u32) -> u32 {
        if word & (Self::PARKED | Self::WOKEN) == 0 && !mutant(flaw::FORGET_OTHERS) {
            // A thread that found no sleeper has cleared the marks of the wake-up, and of the
            // sleepers behind this one.
            word & !Self::STAMP | Self::PARKED | Self::stamp()
        } else if mutant(flaw::KEEP_WOKEN) {
            word
        } else {
            word & !Self::WOKEN
        }
    }

    /// Counts a caller out that was [admitted](Self::admit), and wakes a sleeper if it is time
    /// to, or if one of so many places is free; for a gate that outlives the lock behind it.
    pub fn depart(&self, places: u32) {
        let word = self.claim.word.fetch_sub(1, Order::RELAXED) - 1;
        if Self::is_due(word) {
            self.consider(word, places.saturating_sub(1));
        }
    }

    /// Whether nobody is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.claim.word.load(Order::RELAXED) & Self::INSIDE == 0
    }

    /// Counts the caller out, which was counted there and is about to release the lock; what
    /// [`let_in`](Self::let_in) is told afterwards.
    pub(super) fn step_out(&self) -> u32 {
        if mutant(flaw::STAY_INSIDE) {
            return 0;
        }
        self.claim.word.fetch_sub(1, Order::RELAXED) - 1
    }

    /// Wakes a sleeper if it is time to, for a thread that has [stepped out](Self::step_out) and released
    /// the lock.  That may be another object's by now; the gate goes on with it.
    pub(super) fn let_in(&self, left: u32) {
        if Self::is_due(left) {
            self.consider_need(left, groups());
        }
    }

    /// Wakes a sleeper if it is time to, at one of so many gates; ahead of need where CPUs are
    /// scarce.
    #[cold]
    #[inline(never)]
    fn consider_need(&self, word: u32, gates: u32) {
        let few = if are_cpus_scarce() {
            few_places() / 2 / gates
        } else {
            0
        };
        self.consider(word, few);
    }

    /// Wakes a sleeper if no more than a `few` are inside, or if its patience is over.
    #[cold]
    #[inline(never)]
    fn consider(&self, mut word: u32, few: u32) {
        loop {
            if word & Self::INSIDE > few && !Self::is_over(word) || !Self::is_due(word) {
                return;
            }
            let announced = word & Self::KEPT | Self::PARKED | Self::WOKEN | Self::stamp();
            if self.exchange(word, announced) {
                break;
            }
            // Somebody is inside now, or the claim has changed.
            word = self.claim.word.load(Order::RELAXED);
        }
        if mutant(flaw::FORGET_WAKE) {
            return;
        }
        if wake(&raw const self.claim.word, 1, CLASS) > 0 {
            return;
        }
        // A thread that goes to sleep takes the mark off, so nobody has while it stands; unless it is
        // another's by now, whose woken sleeper sees to the others.
        let mut word = self.claim.word.load(Order::RELAXED);
        while word & Self::WOKEN != 0 {
            match self.claim.word.compare_exchange(
                word,
                word & Self::KEPT,
                Order::RELAXED,
                Order::RELAXED,
            ) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Forgets everybody.
    pub fn reset(&self) {
        self.claim.word.store(0, Order::RELAXED);
    }
}

impl Gate {
    /// In loom's world, makes what all gates share, for a host that makes its gates later.
    pub(super) fn make_ready() {
        beforehand(&SCARCE);
    }

    /// Treats CPUs as oversubscribed, as after a preempted waiter, until a tenth of a second passes without
    /// such a sign.
    pub fn expect_scarcity() {
        SCARCE.get().0.expect();
    }

    /// Blocks until the lock behind the gate is held; a thread that finds it free does not stop
    /// here.
    ///
    /// # Safety
    /// As [`RawLock::acquire`](cohort_raw::RawLock::acquire), of that lock.
    #[inline(always)]
    pub unsafe fn acquire<L: RawTry>(&self, lock: &L, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe {
            if !lock.try_acquire(cx) {
                let passed = self.enter(Some(Try::of(lock, cx)));
                if !passed.has_lock() {
                    lock.acquire(cx);
                }
                self.leave(passed);
            }
        }
    }

    /// Blocks until there is a place inside, or the lock was found free that is tried where there is one
    /// place; returns at once unless waiters may sleep, and in a signal handler that has interrupted a
    /// thread at a gate.
    ///
    /// That CPUs are scarce is asked once: a thread that spins outside sleeps soon anyway.
    #[cold]
    pub fn enter(&self, tries: Option<Try<'_>>) -> Passed {
        if !begins_to_wait() {
            return Passed::Open;
        }
        let (places, spins) = if are_cpus_scarce() {
            (few_places(), false)
        } else {
            (cpus().max(2) - 1, true)
        };
        let tries = tries.filter(|_| places == 1 && tries_anything());
        if !self.admit(places, spins, tries) {
            return Passed::WithLock;
        }
        if tries.is_some_and(|tries| self.comes_first(tries)) {
            return Passed::InsideWithLock;
        }
        keep_cpu(true);
        Passed::Inside
    }

    /// Tries while others sleep outside, for as long as a wait lasts before it sleeps; whether the
    /// lock is held.
    fn comes_first(&self, tries: Try<'_>) -> bool {
        let mut spinner = Spinner::new();
        while self.claim.word.load(Order::RELAXED) & Self::PARKED != 0 {
            if tries.takes() {
                return true;
            }
            if spinner.step() == Advice::Sleep {
                return false;
            }
        }
        false
    }

    /// Gives the place up; the caller holds the lock.
    #[inline]
    pub fn leave(&self, passed: Passed) {
        match passed {
            Passed::Open => {}
            Passed::WithLock => thread().gated.set(false),
            Passed::Inside | Passed::InsideWithLock => {
                if !mutant(flaw::STAY_INSIDE) {
                    self.claim.word.fetch_sub(1, Order::RELAXED);
                }
                Self::have_waited();
            }
        }
    }

    /// The calling thread waits no more, which has been inside of a gate.
    #[inline]
    pub(super) fn have_waited() {
        thread().gated.set(false);
        keep_cpu(false);
        if has_lost_cpu() {
            // Nobody is told: the mode of these locks is one.
            let _ = SCARCE.get().0.is_noticed();
        }
    }

    /// For a thread that begins to wait: how many of a cache group may wait at a lock that has a gate for
    /// each, and whether those beyond look before they sleep: all groups together as many as wait at
    /// one gate, and one for the holder, which stays inside until it is about to release the lock.
    /// Nothing if the thread stops at no gate, as in [`enter`](Self::enter); otherwise it tells when it
    /// [has waited](Self::have_waited).
    pub(super) fn places_of_group() -> Option<(u32, bool)> {
        if !begins_to_wait() {
            return None;
        }
        if are_cpus_scarce() {
            Some(((few_places() + 1).div_ceil(groups()), false))
        } else {
            Some((Self::room_of_group(), true))
        }
    }

    /// Whether one gate is enough before a lock: threads are in one cache group, as far as is known.
    pub(super) fn is_one() -> bool {
        groups() == 1
    }

    /// How many of a cache group may wait at a lock that has a gate for each, where CPUs are not scarce.
    pub(super) fn room_of_group() -> u32 {
        cpus().max(2).div_ceil(groups())
    }

    /// Wakes a sleeper if it is time to; the caller holds the lock and is about to
    /// release it, after which the gate may be gone.
    #[inline(always)]
    pub fn pass_on(&self) {
        let word = self.claim.word.load(Order::RELAXED);
        if Self::is_due(word) {
            self.consider_need(word, 1);
        }
    }

    /// For the holder, about to release the lock: whether it is another thread's by now; if
    /// not, sleepers were [thought of](Self::pass_on).
    #[inline(always)]
    pub fn hand_over(&self) -> bool {
        self.claim.word.load(Order::RELAXED) & (Self::PARKED | Self::WOKEN | FOR_HOLDERS) != 0
            && self.hand_over_to_somebody()
    }

    #[cold]
    #[inline(never)]
    fn hand_over_to_somebody(&self) -> bool {
        let handed_over = self.claim.hand_over(|| true);
        if !handed_over {
            self.pass_on();
        }
        handed_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_gate_counts_every_thread_and_touches_no_mark() {
        let gate = WideGate::new();
        // More than the count of the other gates has room for, all of which saw a free place.
        let many = 2 * Gate::INSIDE;
        gate.expect_sleepers();
        (0..many).for_each(|_| assert!(gate.admit(many, false, None)));
        assert_eq!(
            gate.claim.word.load(Order::RELAXED),
            WideGate::PARKED + many
        );
        const { assert!(WideGate::INSIDE >= (1 << THREAD_BITS) - 1) };
        const { assert!(WideGate::INSIDE ^ WideGate::PARKED ^ WideGate::WOKEN ^ WideGate::STAMP == !0) };
    }
}
