//! A gate: admission control for a strict lock (concurrency restriction; Dice and Kogan 2019). It
//! admits no more waiters than there are CPUs; the others sleep outside.
//!
//! A queue grants the lock in order of arrival, even to a preempted waiter. If the queue is longer
//! than the CPUs, each hand-over waits until the kernel schedules one particular thread. A short
//! queue consists of running threads. They keep spinning, since a waiter that yields could be
//! granted the lock meanwhile.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `INSIDE` | number of threads admitted | a thread that passes; a thread that acquires or leaves |
//! | `PARKED` | sleepers may be outside | a thread that falls asleep; a holder that finds no sleeper |
//! | `WOKEN` | a woken sleeper is on its way; wake no other | a holder; who passes or falls asleep |
//! | bits of a [`Claim`] | waiters with deadlines, which do not pass here | see [`Claim`] |
//! | `STAMP` | start of the sleepers' patience in 2¹⁶ ns | as `PARKED`, `WOKEN` |
//!
//! | change | sets | clears | keeps |
//! |---|---|---|---|
//! | pass | one more inside; woken, without either mark: `PARKED`, `STAMP` | woken: `WOKEN` | the rest |
//! | leave, depart, step out | | one of `INSIDE` | all |
//! | fall asleep | `PARKED`; the first: `STAMP` | `WOKEN` | `INSIDE`, the claim, an earlier `STAMP` |
//! | announce a wake-up | `PARKED`, `WOKEN`, `STAMP` | | `INSIDE`, the claim |
//! | find no sleeper | | `PARKED`, `WOKEN`, `STAMP` | `INSIDE`, the claim |
//! | the claim's own | see [`Claim`] | see there | all of the gate's |
//!
//! Several threads depart at once. A thread that finds no sleeper may clear the `WOKEN` of another
//! one, which has woken one of several sleepers meanwhile. So a woken thread that finds neither
//! mark sets `PARKED` for the other sleepers.
//!
//! A word of 0 is a gate at rest. Arriving threads may take slots ahead of sleepers. But a holder
//! wakes a sleeper before its release if too few threads are inside, and periodically in any case.
//! A woken thread passes even if all slots are taken, up to the limit of the count. So no sleeper
//! starves.
//!
//! **One slot.** On one or two CPUs a single thread is inside, so no order needs to be kept among
//! the admitted. While others sleep outside, it tries the lock instead of queueing, as do spinners
//! outside. A queued thread could be granted the lock while another thread has its CPU. So a
//! preempted waiter is passed over, and competes again once it runs, at any lock. (He, Scherer and
//! Scott 2005 let holders remove such waiters from the queue.) When the spin budget of its wait
//! ends, the admitted thread queues and keeps spinning.
//!
//! **Oversubscription.** Admitted threads detect it when they are preempted. Then few are admitted,
//! so each of them has a CPU, and the lock is handed to a running thread. A thread without a slot
//! sleeps at once. A holder wakes a sleeper ahead of need, while half of the slots are still taken.
//! The lock circulates among those until the woken thread arrives. The holder wakes the first
//! sleeper. Sleepers near its caches may share a CPU with an admitted thread; in simulation,
//! preferring them cost up to half of the throughput. A detection applies to all gates of the
//! process for a tenth of a second, and may last as long in a forked child. Afterwards more threads
//! are admitted one by one.
//!
//! No sleeper is forgotten. It sleeps only while a thread is inside. That thread will hold the
//! lock, and then looks at the gate unless another thread is inside. A lock may have one gate per
//! cache group, so that no gate's line leaves its group. Its holder looks at the gate by which it
//! arrived: it steps out before its release, and wakes a sleeper afterwards, off the critical path.
//!
//! Arrivals from many CPUs pass a [`WideGate`](super::WideGate).
//!
//! A signal handler that interrupts a thread at a gate, or inside one, passes all gates. Its own
//! thread may have the slot that it would wait for.
//!
//! The gate neither orders memory nor guards data; the lock behind it does.

use super::claim::{BITS, Claim, FOR_HOLDERS};
use super::spell::Scarcity;
use crate::door::{
    Advice, FAT_GROUPS, Order, Slept, Spinner, WaitPolicy, beforehand, cache_groups, constructor,
    cpus, flaws, has_lost_cpu, keep_cpu, mutant, now, policies, policy, process_wide, sleep_on,
    thread, tries_anything, wake,
};
use crate::support::padded::CachePadded;
use cohort_raw::RawTry;
use core::marker::PhantomData;
use core::ptr;

flaws! {
    KEEP_WOKEN = "gate.keep-woken";
    FORGET_WAKE = "gate.forget-wake";
    COUNT_TWICE = "gate.count-twice";
    STAY_INSIDE = "gate.stay-inside";
    FORGET_OTHERS = "gate.forget-others";
    /// A signal handler waits for the slot of the thread that it interrupted.
    STOP_HANDLERS = "gate.stop-handlers";
}

policies! {
    /// Every waiter is admitted.
    ADMIT_ALL = "gate.admit-all";
    /// As many waiters are admitted under oversubscription as without.
    IGNORE_SCARCITY = "gate.ignore-scarcity";
}

/// A stamp's unit is 2 to this power, in nanoseconds.
const STAMP_UNIT_BITS: u32 = 16;

/// How long arrivals may pass the sleepers before one is woken. Less than one unit of `STAMP`
/// shorter in practice, since the stamp is truncated.
const PATIENCE_NANOSECONDS: u64 = 500_000;

/// The most threads admitted under oversubscription. Each of them has a CPU, and the lock
/// circulates among them while a sleeper wakes up.
const SCARCE_PLACES: u32 = 8;

/// The gate has one class of sleepers.
const CLASS: u32 = 1;

process_wide! {
    /// Whether admitted threads are preempted.
    static SCARCE: CachePadded<Scarcity> = padded
}

constructor! {
    fn padded() -> CachePadded<Scarcity> {
        CachePadded(Scarcity::new())
    }
}

/// The number of threads admitted under oversubscription.
fn few_places() -> u32 {
    (cpus() / 2).clamp(1, SCARCE_PLACES)
}

/// The number of gates of a lock with one per cache group.
fn groups() -> u32 {
    cache_groups().clamp(1, FAT_GROUPS) as u32
}

/// Whether the calling thread begins a wait at which gates may stop it: it may sleep, and is in no
/// other such wait. The wait ends with [`have_waited`](Gate::have_waited).
fn begins_to_wait() -> bool {
    policy() == WaitPolicy::Park && (!thread().gated.replace(true) || mutant(flaw::STOP_HANDLERS))
}

/// Whether CPUs are oversubscribed.
pub(super) fn are_cpus_scarce() -> bool {
    SCARCE.get().0.lasts(|| ()) && !mutant(policy::IGNORE_SCARCITY)
}

/// A gate, and a [`Claim`] in its word; zero, and at rest, when new.
#[derive(Debug)]
#[repr(transparent)]
pub struct Gate {
    /// Unused where holders do not [hand over](Gate::hand_over).
    pub claim: Claim,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// The result of an admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Passed {
    /// Not counted: the gate does not stop this wait.
    Open,
    /// Admitted; the thread has to queue.
    Inside,
    /// Admitted, and holds the lock, which was free.
    InsideWithLock,
    /// Holds the lock, which was free; not admitted.
    WithLock,
}

impl Passed {
    /// Whether the lock is already held.
    #[inline]
    #[must_use]
    pub fn has_lock(self) -> bool {
        matches!(self, Self::InsideWithLock | Self::WithLock)
    }
}

/// An attempt at the lock behind a gate: one function per lock, since code in the interposer has to
/// be small.
#[derive(Clone, Copy, Debug)]
pub struct Try<'a> {
    lock: *const u8,
    context: *const u8,
    tries: unsafe fn(*const u8, *const u8) -> bool,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Try<'a> {
    /// An attempt at that lock with that context.
    ///
    /// # Safety
    /// As [`RawTry::try_acquire`], for each attempt.
    #[inline]
    pub unsafe fn of<L: RawTry>(lock: &'a L, context: &'a L::Context) -> Self {
        /// # Safety
        /// The pointers are to such a lock and such a context.
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

    /// Tries the lock; true if it is acquired.
    fn takes(self) -> bool {
        // SAFETY: both are borrowed, and of the function's types.
        unsafe { (self.tries)(self.lock, self.context) }
    }
}

impl Gate {
    const INSIDE: u32 = 0xff;
    const PARKED: u32 = Self::INSIDE + 1;
    const WOKEN: u32 = Self::PARKED << 1;
    const STAMP_SHIFT: u32 = 16;
    const STAMP: u32 = !0 << Self::STAMP_SHIFT;

    /// The bits that sleepers and waking holders leave unchanged.
    const KEPT: u32 = Self::INSIDE | BITS;

    /// The most slots. The count lacks room for all threads: the rest is for woken sleepers.
    const PLACES: u32 = Self::INSIDE / 2;

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

    /// Whether the patience since the word's stamp has ended.
    fn is_over(word: u32) -> bool {
        Self::stamp().wrapping_sub(word & Self::STAMP) >= Self::PATIENCE
    }

    /// Whether a word has sleepers, none of them woken.
    #[inline(always)]
    const fn is_due(word: u32) -> bool {
        word & (Self::PARKED | Self::WOKEN) == Self::PARKED
    }

    /// Marks a gate at rest as having sleepers, until a holder finds none.
    pub fn expect_sleepers(&self) {
        self.claim.word.store(Self::PARKED, Order::RELAXED);
    }

    /// Blocks until one of `places` slots is free, and admits the caller. A caller that may sleep
    /// sleeps at once unless it `spins`. False if it acquired the lock instead, which it `tries`
    /// before it waits.
    #[cold]
    pub fn admit(&self, places: u32, spins: bool, tries: Option<Try<'_>>) -> bool {
        let places = if mutant(policy::ADMIT_ALL) {
            Self::PLACES
        } else {
            places.clamp(1, Self::PLACES)
        };
        let spins = spins || policy() != WaitPolicy::Park;
        let mut spinner = Spinner::new();
        let mut woken = false;
        loop {
            let word = self.claim.word.load(Order::RELAXED);
            // Woken threads are limited by the count only: beyond it, they would change a mark.
            if word & Self::INSIDE < if woken { Self::INSIDE } else { places } {
                let answered = if woken { Self::answered(word) } else { word };
                // A woken thread has no slot yet.
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
            // A woken thread has to clear a mark, so it passes instead of trying.
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

    /// The word with a woken sleeper's marks cleared.
    fn answered(word: u32) -> u32 {
        if word & (Self::PARKED | Self::WOKEN) == 0 && !mutant(flaw::FORGET_OTHERS) {
            // A thread that found no sleeper has cleared the marks of the wake-up and of the other
            // sleepers.
            word & !Self::STAMP | Self::PARKED | Self::stamp()
        } else if mutant(flaw::KEEP_WOKEN) {
            word
        } else {
            word & !Self::WOKEN
        }
    }

    /// Counts out an [admitted](Self::admit) caller. Wakes a sleeper if one of `places` slots is
    /// free, or after its patience. For a gate that outlives the lock behind it.
    pub fn depart(&self, places: u32) {
        let word = self.claim.word.fetch_sub(1, Order::RELAXED) - 1;
        if Self::is_due(word) {
            self.consider(word, places.saturating_sub(1));
        }
    }

    /// Whether no thread is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.claim.word.load(Order::RELAXED) & Self::INSIDE == 0
    }

    /// Counts out an admitted caller that is about to release the lock. Returns the argument of
    /// [`let_in`](Self::let_in).
    pub(super) fn step_out(&self) -> u32 {
        if mutant(flaw::STAY_INSIDE) {
            return 0;
        }
        self.claim.word.fetch_sub(1, Order::RELAXED) - 1
    }

    /// Wakes a sleeper if due, after the caller has [stepped out](Self::step_out) and released the
    /// lock. The lock may serve another object by then; the gate stays with it.
    pub(super) fn let_in(&self, left: u32) {
        if Self::is_due(left) {
            self.consider_need(left, groups());
        }
    }

    /// Wakes a sleeper if due, at one of `gates`; ahead of need under oversubscription.
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

    /// Wakes a sleeper if at most `few` are inside, or if its patience has ended.
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
            // A thread has entered, or the claim has changed.
            word = self.claim.word.load(Order::RELAXED);
        }
        if mutant(flaw::FORGET_WAKE) {
            return;
        }
        if wake(&raw const self.claim.word, 1, CLASS) > 0 {
            return;
        }
        // Falling asleep clears the mark, so no thread has fallen asleep while it stands. It may be
        // another holder's, whose woken sleeper handles the others.
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

    /// Forgets all threads.
    pub fn reset(&self) {
        self.claim.word.store(0, Order::RELAXED);
    }
}

impl Gate {
    /// Under loom, makes the state shared by all gates, for an adapter that makes its gates later.
    pub(super) fn make_ready() {
        beforehand(&SCARCE);
    }

    /// Opens the window of oversubscription, as a preempted waiter does. It lasts a tenth of a
    /// second unless preemptions extend it.
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

    /// Blocks until the caller is admitted, or, with one slot, has acquired the lock by `tries`.
    /// Returns at once if waiters may not sleep, and in a signal handler that interrupted a thread
    /// at a gate.
    ///
    /// Oversubscription is checked once: a thread that spins outside sleeps soon anyway.
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

    /// Tries the lock while others sleep outside, as long as a wait spins before it sleeps; true if
    /// the lock is acquired.
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

    /// Ends the admission; the caller holds the lock.
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

    /// Ends the calling thread's wait inside a gate.
    #[inline]
    pub(super) fn have_waited() {
        thread().gated.set(false);
        keep_cpu(false);
        if has_lost_cpu() {
            // No mode change to report: these locks have a single mode.
            let _ = SCARCE.get().0.is_noticed();
        }
    }

    /// The slots of each cache group's gate, and whether threads outside spin before they sleep;
    /// for a thread that begins to wait. All groups together have as many slots as a single gate,
    /// and one for the holder, which stays inside until shortly before its release. None if gates
    /// do not stop the thread, as in [`enter`](Self::enter); otherwise the caller ends the wait by
    /// [`have_waited`](Self::have_waited).
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

    /// Whether one gate suffices for a lock: as far as known, all threads are in one cache group.
    pub(super) fn is_one() -> bool {
        groups() == 1
    }

    /// The slots of each cache group's gate without oversubscription.
    pub(super) fn room_of_group() -> u32 {
        cpus().max(2).div_ceil(groups())
    }

    /// Wakes a sleeper if due. The caller holds the lock and is about to release it; the gate may
    /// be gone after that.
    #[inline(always)]
    pub fn pass_on(&self) {
        let word = self.claim.word.load(Order::RELAXED);
        if Self::is_due(word) {
            self.consider_need(word, 1);
        }
    }

    /// Hands the lock over to a claim if due; true if another thread holds it. Otherwise wakes a
    /// sleeper if due, as [`pass_on`](Self::pass_on). For the holder, instead of its release.
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
