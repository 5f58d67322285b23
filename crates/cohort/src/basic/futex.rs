//! `futex`: a lean sleeping mutex.  A waiter spins for a bounded time, yields a few times, then
//! sleeps.  An arrival acquires a free lock ahead of sleepers (it *barges*).  About twice a
//! millisecond a release hands the lock to the longest sleeper instead.  If holders reacquire at
//! once, waiters take turns.
//!
//! **Not for** strict order, nor for a loaded NUMA machine: it keeps no cohort.  It is the default
//! because it does not collapse when threads exceed CPUs.  A lock granted to a sleeper stands idle
//! until the kernel runs that thread.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `LOCKED` | held, or granted | taker; releaser |
//! | `PARKED` | there may be sleepers | a waiter before it sleeps; a holder that found no sleeper to hand over to |
//! | `WOKEN` | a woken sleeper may be on its way, or a visitor looks, so releases wake no other sleeper | the releaser that wakes, or the visitor; that thread, or any that falls asleep |
//! | `GRANTED` | without a holder: released to the first sleeper that accepts it | a releaser; the sleeper |
//! | `WANTED` | the head's turn is due: the next release grants it the lock | the head; the releaser |
//! | `NAPPING` | and the head sleeps | the same |
//! | `TURN` | without a holder: released to the head | the releaser; the head |
//! | `WATCHED` | free, and not acquired since the head looked | the head; the next holder |
//! | `QUEUED` | and the holder arrived by a queue, which may get the lock next; see [`FutexHmcs`](crate::numa::FutexHmcs) | the holder |
//! | `STAMP` | when the sleepers' present patience began, in units of 2¹⁶ ns | the thread that sets `PARKED`; a hand-over |
//!
//! Each change of the word keeps the marks that it does not name; see `futex/word.rs`.
//!
//! | change | of a word | sets | clears | other threads' marks that it keeps |
//! |---|---|---|---|---|
//! | take | free | `LOCKED` | `WATCHED`, `WOKEN` if it is the thread's own | `PARKED`, `WOKEN`, `STAMP` |
//! | ask | held, unmarked by sleepers | `WOKEN` | | `WANTED`, `NAPPING`, `TURN`, `QUEUED` |
//! | park | held, not granted | `PARKED`, `STAMP` if it is the first | `WOKEN` | `WANTED`, `NAPPING`, `TURN`, `QUEUED`, `STAMP` of an earlier sleeper |
//! | give up, woken | held | as park | `WOKEN` | as park, and `GRANTED` |
//! | give up, having asked | held | | `WOKEN`, unless sleepers have parked since | all |
//! | leave for the gate | held | | as take | all |
//! | adopt a sleeper | any | as park; `WOKEN` if free | `WOKEN`, `WATCHED` | all, `GRANTED` too |
//! | release | held | `WOKEN` if it wakes | `LOCKED` | `PARKED`, `WOKEN`, `STAMP` |
//! | announce a hand-over | held, unclaimed | `PARKED`, `WOKEN`, `STAMP` | | |
//! | find no sleeper | as announced | | `PARKED`, `WOKEN`, `STAMP` | |
//! | grant | as announced | `GRANTED` | | `PARKED`, `WOKEN`, `STAMP` |
//! | accept a grant | granted | | `GRANTED`, `WOKEN` as take | `PARKED`, `WOKEN`, `STAMP` |
//! | watch | free | `WATCHED` | | `PARKED`, `WOKEN`, `STAMP` |
//! | claim | held | `WANTED`, `NAPPING` | | `PARKED`, `WOKEN`, `GRANTED`, `QUEUED`, `STAMP` |
//! | take a claim back | any | | `WANTED`, `NAPPING` | `PARKED`, `WOKEN`, `GRANTED`, `QUEUED`, `STAMP` |
//! | give a turn | claimed | `TURN` | `WANTED`, `NAPPING` | `PARKED`, `WOKEN`, `STAMP` |
//! | accept a turn | given | | `TURN`, `WOKEN` as take | `PARKED`, `WOKEN`, `STAMP` |
//! | mark the holder as queued, unmark it | held | `QUEUED` | `QUEUED` | all |
//! | release by a plain store | held, in a quick period | | all | none: it [wakes every sleeper](quick) if there may be one |
//!
//! A word of 0 is a free lock without sleepers; `LOCKED` alone is a held one.  A release wakes
//! after the lock is free, since a thread woken earlier would wait again.  Only a hand-over wakes
//! before it, because it must know that there is a sleeper.
//!
//! The store that releases the lock is the releaser's last access: the next holder may free its
//! memory.  From then on, the address serves only as a key for wake-ups.
//!
//! The marks of a parent process do no harm in a forked child: each waiter overwrites
//! `WOKEN` before it sleeps, and accepts a grant rather than sleep on it.
//!
//! A head without a CPU must not stop the others.  A waiter that has slept at the gate for several
//! turns passes it.  A waiter in the crowd accepts a `TURN` that stayed unaccepted for the length
//! of another turn.
//!
//! **Turns.**  If a holder reacquires sooner than the lock can change CPUs, each additional CPU
//! slows down all of them: the lock and its data keep moving.  Then only one waiter, the *head*,
//! looks at the word, ever more rarely, and the others sleep at a gate.  The head acquires a lock
//! that stays free for [`ABSENCE_NANOSECONDS`].  Otherwise it claims the lock after
//! [`TURN_NANOSECONDS`], or half its patience, and the next release grants it a turn of the same
//! length.
//!
//! Whether turns pay shows only while the holder is undisturbed.  So waiters try them now and then,
//! more rarely each time the head finds the lock free.  A thread that seldom waits (a visitor)
//! takes no turns: its visit hardly disturbs the holder, and a turn would cost it milliseconds.  It
//! tries to acquire while it spins and does not yield its CPU.  Its patience counts from the lock's
//! last hand-over, not from its own arrival.  The second word has the gate and this history; see
//! `futex/mode.rs`.
//!
//! A forked child has no head.  A release there drops the claims of the parent's head.  The child's
//! first head, which is any waiter, accepts an unaccepted `TURN`.
//!
//! A lock that has long been uncontended is released by a plain store; see [`quick`].  The second
//! word has a mark for it.

mod mode;
mod word;

use crate::door::{
    Advice, AtomicU32, Order, Spinner, WaitPolicy, constructor, cpus, expired, flaws, has_waited,
    is_long_quiet, move_sleeper, mutant, nap, note, noted, now, orders, policies, policy, random,
    runs_out, sleep_on, sleep_unless_starved, sleep_within, unless_starved, waits_often, wake,
};
use crate::sync::fair_release::ReleaseFairly;
use crate::wait::quick;
use cohort_raw::{
    Abortable, Deadline, Inherit, Outcome, Patience, Quick, QuickRelease, RawLock, RawTry,
    ThreadOblivious, standalone,
};
use core::mem::offset_of;
use mode::{Entered, Mode};
use word::{
    GRANTED, LOCKED, NAPPING, PARKED, QUEUED, STAMP, Seen, TURN, WANTED, WATCHED, WOKEN, Woken,
};

orders! {
    /// Sees what the last holder did.
    FUTEX_TAKE = Acquire;
    /// The same, for a waiter.
    FUTEX_TAKE_LATE = Acquire;
    /// What this holder did is seen by the next.
    FUTEX_RELEASE = Release;
    /// The same, by a plain store.
    FUTEX_RELEASE_QUICK = Release;
    /// The same, when the word has marks.
    FUTEX_RELEASE_MARKED = Release;
    /// What this holder did is seen by the sleeper that accepts the lock.
    FUTEX_GRANT = Release;
    /// Sees it.
    FUTEX_ACCEPT = Acquire;
    /// What this holder did is seen by the head that accepts the turn.
    FUTEX_TURN = Release;
    /// Sees it.
    FUTEX_TURN_ACCEPT = Acquire;
    /// A waiter that marks a holder's word sees the mode in which that holder will release it: set
    /// before an earlier release, which the holder acquired.
    FUTEX_MARK = Acquire;
}

flaws! {
    ADOPT_UNMARKED = "futex.adopt-unmarked";
    ADOPT_LATE = "futex.adopt-late";
    SWALLOW_WAKE = "futex.swallow-wake";
    MARK_AND_HOPE = "futex.mark-and-hope";
    FORGET_WAKE = "futex.forget-wake";
    LET_THE_HEAD_SLEEP = "futex.let-the-head-sleep";
    STAY_QUICK = "futex.stay-quick";
}

policies! {
    /// A waiter never pauses between a look and its exchange.
    STAY_IN_STEP = "futex.stay-in-step";
    /// Waiters spin beside any number of others.
    SPIN_ON = "futex.spin-on";
}

/// How long bargers may pass sleepers before a release hands the lock over; up to a unit of `STAMP`
/// less, since the stamp is truncated.
pub const PATIENCE_NANOSECONDS: u64 = 500_000;

/// How long an arrival leaves a granted lock to its sleeper: the time to wake a thread on an idle
/// CPU, and a margin.
const WAKING_NANOSECONDS: u64 = 125_000;

/// The length of a turn: waiters that take turns pass the lock on as often as sleepers that bargers
/// pass.  Moving the protected data to the other CPU takes tens of microseconds of each turn.  The last
/// of n waiters waits for n turns.
pub const TURN_NANOSECONDS: u64 = PATIENCE_NANOSECONDS;

/// How long a lock stays free before its holder counts as gone: the cost of bringing the lock and a
/// little data to another CPU.
pub const ABSENCE_NANOSECONDS: u64 = 300;

/// How long the head watches continuously for a first release.  The moment after a release shows
/// whether the holder reacquires at once.  Looks with pauses between them could hit another
/// holder's section each time, while the other waiters sleep.
const FIRST_LOOK_NANOSECONDS: u64 = 5_000;

/// The first pause of the head between looks; each further pause is twice as long.
pub(crate) const FIRST_PAUSE_NANOSECONDS: u64 = 500;

/// The head's first nap between looks, once yielding the CPU does not pay; later naps last as long
/// as it has waited.  A look costs the holder a cache miss, and the head's CPU a wake-up.
pub(crate) const NAP_NANOSECONDS: u64 = 50_000;

/// The longest nap: a lock that becomes free between two looks stays idle.
const LONGEST_NAP_NANOSECONDS: u64 = 250_000;

/// Failed exchanges of a waiter after which it pauses between a look and its exchange.
const IN_STEP: u32 = 8;

/// CPU time of a sleep and a wake-up, over the time in which a failed exchange moves the word: about 10 µs
/// over 20 ns.
const SLEEP_IN_MOVES: u32 = 512;

/// A waiter's failed exchanges.  A holder that reacquires at once changes the word twice per critical
/// section.  It may do so after each look of a waiter and before the exchange that follows, in lockstep, so
/// that no exchange of the waiter ever succeeds.  A random pause between the two ends that.
///
/// Each failure also shows another spinning waiter.  n of them move the word n times per critical section;
/// sleepers do not, at the price of a sleep and a wake-up each, which the process's CPUs share.  So the
/// number of spinners worth their moves is [`SLEEP_IN_MOVES`] over the number of CPUs.
#[derive(Default)]
struct Failures(u32);

impl Failures {
    fn count(&mut self) {
        self.0 = self.0.wrapping_add(1);
    }

    /// Whether too many waiters spin: the caller should sleep.
    fn show_crowd(&self) -> bool {
        self.0 > SLEEP_IN_MOVES / cpus() && policy() == WaitPolicy::Park && !mutant(policy::SPIN_ON)
    }

    /// Before an exchange.
    #[inline]
    fn fall_out_of_step(&self, spinner: &mut Spinner) {
        if self.0 > 0 && self.0.is_multiple_of(IN_STEP) && !mutant(policy::STAY_IN_STEP) {
            spinner.watch(random() % ABSENCE_NANOSECONDS, || true);
        }
    }
}

/// Classes of sleepers on the word.
const CROWD: u32 = 1;
const HEAD: u32 = 2;

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::Futex};
///
/// static TOTAL: Mutex<u64, Futex> = Mutex::from_raw(Futex::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Futex {
    word: AtomicU32,
    mode: Mode,
}

/// The time, as a stamp.
fn stamp() -> u32 {
    (now() >> 7) as u32 & STAMP
}

/// Whether the patience that began at a word's stamp has run out.
fn is_over(word: Seen) -> bool {
    stamp().wrapping_sub(word.since()) >= (PATIENCE_NANOSECONDS >> 7) as u32 & STAMP
}

impl Futex {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                mode: Mode::new(),
            }
        }
    }

    /// Whether this value of the word means a held lock; for an observer that reads a process's
    /// memory.
    #[must_use]
    pub const fn is_held(word: u32) -> bool {
        word & LOCKED != 0
    }

    /// Whether threads may sleep at a word with this value.
    #[must_use]
    pub const fn has_sleepers(word: u32) -> bool {
        word & (PARKED | NAPPING) != 0
    }

    /// Acquires a free lock without an atomic read-modify-write; false if it was not free.
    ///
    /// # Safety
    /// The process has one thread.
    #[inline(always)]
    pub unsafe fn acquire_alone(&self) -> bool {
        let free = self.word.load(Order::RELAXED) == 0;
        if free {
            self.word.store(LOCKED, Order::RELAXED);
        }
        free
    }

    /// Releases a lock without marks, acquired by [`acquire_alone`](Self::acquire_alone); false if
    /// it has marks.
    ///
    /// # Safety
    /// The process has one thread, and the caller holds the lock.
    #[inline(always)]
    pub unsafe fn release_alone(&self) -> bool {
        let unmarked = self.word.load(Order::RELAXED) == LOCKED;
        if unmarked {
            self.word.store(0, Order::RELAXED);
        }
        unmarked
    }

    /// Acquires a free lock without marks: the fast path.
    #[inline(always)]
    pub fn acquire_untouched(&self) -> bool {
        self.exchange(0, LOCKED, FUTEX_TAKE)
    }

    #[inline(always)]
    fn exchange(&self, old: u32, new: u32, order: Order) -> bool {
        self.word
            .compare_exchange(old, new, order, Order::RELAXED)
            .is_ok()
    }

    /// Replaces the word's value if it is still `seen`.
    #[inline(always)]
    fn change(&self, seen: Seen, new: Seen, order: Order) -> bool {
        seen.exchange(&self.word, new, order).is_ok()
    }

    #[inline(always)]
    fn seen(&self) -> Seen {
        Seen::of(&self.word)
    }

    /// The lock's mode; for a lock that waits behind this one.
    pub(crate) fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Blocks until the lock is held, patience runs out, or the caller is `done` without the lock:
    /// then `None`.  `done` is evaluated now and then.  If all waiters of a lock wait this way,
    /// they never take turns.  A thread that `seldom` waits sleeps rather than yields.
    #[inline]
    pub(crate) fn acquire_unless(
        &self,
        patience: &Patience,
        seldom: bool,
        done: &dyn Fn() -> bool,
    ) -> Option<Outcome> {
        if self.acquire_untouched() {
            return Some(Outcome::Acquired);
        }
        self.wait_in_crowd(patience, Some(done), Woken::No, seldom, false)
    }

    /// Blocks until the lock is held; for a thread that seldom [waits](waits_often).  `None` as
    /// soon as the holder arrived by a queue: a place there gets the lock sooner than looking does.
    pub(crate) fn acquire_unless_queued(&self) -> Option<Outcome> {
        self.wait_in_crowd(&Patience::ENDLESS, None, Woken::No, true, true)
    }

    /// Whether the lock was free and unmarked a moment ago.
    #[inline(always)]
    pub(crate) fn looks_free(&self) -> bool {
        self.word.load(Order::RELAXED) == 0
    }

    /// Whether its holder may release it by a plain store.
    #[inline(always)]
    pub(crate) fn is_quick(&self) -> bool {
        self.mode.is_quick()
    }

    /// Whether the holder arrived by a queue and has not left it.
    #[inline(always)]
    pub(crate) fn is_queued(&self) -> bool {
        self.word.load(Order::RELAXED) & QUEUED != 0
    }

    /// Whether this lock's waiters may queue, unhindered by what another lock has left in the
    /// queue.  True if they have queued before, or if `is_free` says so, or after `free`.  One
    /// thread runs `free`, while the others get false.
    pub(crate) fn may_queue(
        &self,
        address: usize,
        is_free: impl FnOnce() -> bool,
        free: impl FnOnce(),
    ) -> bool {
        let Err(seen) = self.mode.is_known_at(address) else {
            return true;
        };
        if !is_free() {
            // A waiter of this lock in the queue changes the word, so the exchange fails.
            if !self.mode.sees_after(seen) {
                return false;
            }
            free();
        }
        self.mode.be_known_at(address);
        true
    }

    /// Blocks until the lock is held; for the head of a queue that orders the other waiters.  It
    /// waits in the crowd, but never in turns.
    pub(crate) fn acquire_as_queued(&self) {
        let _ = self.acquire_unless(&Patience::ENDLESS, false, &|| false);
        self.mark_queued();
    }

    /// Marks that the holder will release it by [`release_queued`](Self::release_queued).
    pub(crate) fn mark_queued(&self) {
        if self.mode.is_quick() {
            // The releases of queued threads look for the mark.
            self.mode.be_attentive();
        }
        self.word.fetch_or(QUEUED, Order::RELAXED);
    }

    /// Whether a waiter outside the queue has waited too long; for the holder.
    pub(crate) fn owes_others(&self) -> bool {
        let word = self.seen();
        word.has(WANTED) || word.has(PARKED) && is_over(word)
    }

    /// Releases a lock that does not go to the next in the queue.
    pub(crate) fn release_queued(&self) {
        if !self.exchange(LOCKED | QUEUED, 0, FUTEX_RELEASE) {
            self.word.fetch_and(!QUEUED, Order::RELAXED);
            self.release_marked();
        }
    }

    /// As [`release_queued`](Self::release_queued), but hands the lock to a sleeper if there is
    /// one.
    pub(crate) fn release_queued_fair(&self) {
        self.word.fetch_and(!QUEUED, Order::RELAXED);
        self.hand_to_sleeper();
    }

    /// Hands the lock to the head that has claimed it, or to a sleeper; without either, releases it
    /// as usual.
    fn hand_to_sleeper(&self) {
        loop {
            let word = self.seen();
            let handed_over = if word.has(WANTED) {
                self.give_turn(word)
            } else if word.has(PARKED) {
                self.hand_over(word)
            } else {
                // SAFETY: the caller holds it.
                return unsafe { self.release(&()) };
            };
            if handed_over {
                return;
            }
        }
    }

    /// Whether a thread slept for the lock a moment ago, or the head claimed it.
    pub(crate) fn has_sleeper(&self) -> bool {
        self.word.load(Order::RELAXED) & (PARKED | WANTED) != 0
    }

    /// Requeues a thread that sleeps at `place`, while that contains `seen`, among this lock's
    /// sleepers (wait morphing).  The thread ends its wait by
    /// [`acquire_adopted`](Self::acquire_adopted).  False if no thread sleeps there, or if the lock
    /// is free.
    ///
    /// The lock must outlive the call; the caller need not hold it.
    pub fn adopt(&self, place: &AtomicU32, seen: u32) -> bool {
        if self.word.load(Order::RELAXED) & LOCKED == 0 {
            return false;
        }
        // Moved before the word is marked: otherwise a release might look for the sleeper too
        // early.
        if !move_sleeper(place, seen, &raw const self.word) {
            return false;
        }
        loop {
            let word = self.seen();
            // If free, its releaser did not know of the sleeper.
            let missed = !word.has(LOCKED);
            // Exchanged even without a change: the sleeper makes no look of its own, by which the
            // kernel would notice that the word has changed.
            let marks = !mutant(flaw::ADOPT_UNMARKED);
            if marks && !(self.change(word, word.adopted(), FUTEX_MARK) && self.heeds_marks()) {
                continue;
            }
            // `WOKEN` may be an older mark: no release knew of the sleeper, and a release that
            // found no sleeper leaves the mark too.
            if missed && !mutant(flaw::ADOPT_LATE) {
                wake(&raw const self.word, 1, CROWD);
            }
            return true;
        }
    }

    /// Blocks until the lock is held; for an [adopted](Self::adopt) thread that is awake again.  If
    /// a release woke it, this clears that release's mark.
    #[cold]
    pub fn acquire_adopted(&self) {
        let _ = self.wait_on(&Patience::ENDLESS, Woken::Roused, true);
    }

    /// Waits for a lock that was not free at the first look.
    #[cold]
    #[inline(never)]
    fn acquire_contended(&self, patience: &Patience) -> Outcome {
        let outcome = self.wait_long(patience, !waits_often());
        has_waited();
        outcome
    }

    /// Spins as one of few waiters for at most that long, or until the holder arrived by a queue;
    /// whether the lock is held.
    pub(crate) fn wait_among_few(&self, nanoseconds: u64) -> bool {
        let mut spinner = Spinner::new();
        let mut failures = Failures::default();
        let since = now();
        let mut left = nanoseconds;
        loop {
            let mut word = self.seen();
            spinner.watch(left, || {
                word = self.seen();
                word.has_without(LOCKED, QUEUED)
            });
            if word.has(LOCKED) {
                return false;
            }
            failures.fall_out_of_step(&mut spinner);
            if self.take(word, Woken::No) {
                return true;
            }
            failures.count();
            left = nanoseconds.saturating_sub(now() - since);
        }
    }

    /// As `acquire_contended`, for a thread that seldom waits (`visits`) or [often](waits_often).
    pub(crate) fn wait_long(&self, patience: &Patience, visits: bool) -> Outcome {
        if !visits {
            self.mode.consider_turns();
        }
        self.wait_on(patience, Woken::No, visits)
    }

    /// Waits.  `woken`: whether the thread slept among this lock's sleepers and a release may have
    /// woken it.  `visits`: whether it seldom waits, and takes no turns.
    fn wait_on(&self, patience: &Patience, mut woken: Woken, mut visits: bool) -> Outcome {
        loop {
            if let Some(outcome) = self.wait_in_crowd(patience, None, woken, visits, false) {
                return outcome;
            }
            woken = Woken::No;
            match self.mode.enter(patience) {
                Entered::NotInTime => return Outcome::GaveUp,
                Entered::Past => visits = true,
                Entered::AsHead => {
                    let outcome = self.wait_as_head(patience);
                    self.mode.pass();
                    if let Some(outcome) = outcome {
                        return outcome;
                    }
                }
            }
        }
    }

    /// Waits in the crowd; `None` as soon as waiters take turns, the caller is `done` without the
    /// lock, or it `joins` a queue.
    #[inline(never)]
    fn wait_in_crowd(
        &self,
        patience: &Patience,
        done: Option<&dyn Fn() -> bool>,
        // How this thread got the mark `WOKEN`.
        mut woken: Woken,
        // Whether it takes no turns.
        visits: bool,
        // Whether it leaves for the queue by which the holder arrived.
        joins: bool,
    ) -> Option<Outcome> {
        let spinner_anew = || {
            if visits {
                Spinner::keeping_turns()
            } else {
                Spinner::new()
            }
        };
        // A thread that may be done otherwise must not: it could not leave with the mark.
        let mut asks = visits && done.is_none();
        let mut spinner = if asks {
            Spinner::keeping_turns_briefly()
        } else {
            spinner_anew()
        };
        let mut slept = woken == Woken::Roused;
        // Whether a head has not accepted its turn in time.
        let mut starved = false;
        let mut failures = Failures::default();
        loop {
            // A holder that reacquires at once leaves the lock free for less than a look and an
            // attempt after it.  An attempt alone fetches the line and finds the lock free.  Not
            // for threads that wait often: each attempt costs the holder a cache miss.
            if visits && !slept && self.acquire_untouched() {
                return Some(Outcome::Acquired);
            }
            let word = self.seen();
            if !word.has(LOCKED) {
                failures.fall_out_of_step(&mut spinner);
                if self.take(word, woken) {
                    return Some(Outcome::Acquired);
                }
                failures.count();
                continue;
            }
            if word.has(GRANTED) && slept {
                if self.change(word, word.accepted(woken), FUTEX_ACCEPT) {
                    return Some(Outcome::Acquired);
                }
                continue;
            }
            if word.has(TURN) && starved {
                if self.change(word, word.accepted_turn(woken), FUTEX_TURN_ACCEPT) {
                    return Some(Outcome::Acquired);
                }
                continue;
            }
            match done {
                // A woken thread passes its wake-up on to the other sleepers, by its release.
                Some(done) if woken == Woken::No && done() => return None,
                None if !visits && (word.has(TURN) || self.mode.takes_turns()) => {
                    if woken != Woken::No
                        && !self.change(word, word.answered(woken), Order::RELAXED)
                    {
                        continue;
                    }
                    return None;
                }
                _ => {}
            }
            if joins && woken == Woken::No && word.has(QUEUED) {
                return None;
            }
            if runs_out(patience) {
                let left = word.left(woken);
                failures.fall_out_of_step(&mut spinner);
                let leaves = match woken {
                    // The wake-up passes to another sleeper: the next release sees the mark.
                    Woken::Roused => mutant(flaw::SWALLOW_WAKE) || self.mark(word, left),
                    _ => word == left || self.change(word, left, Order::RELAXED),
                };
                if !leaves {
                    failures.count();
                    continue;
                }
                return Some(Outcome::GaveUp);
            }
            // A wait behind a lock with turns is long.
            let long = done.is_some() && self.mode.takes_turns();
            // A head and a visitor do not spin beside many others.
            let yields_to_others = done.is_none() && !visits && failures.show_crowd();
            let spins = !long && !yields_to_others;
            if spins && spinner.step_past(word.has(PARKED)) == Advice::Again {
                continue;
            }
            if asks && !slept {
                asks = false;
                woken = if self.ask() { Woken::Asked } else { Woken::No };
                spinner = spinner_anew();
                continue;
            }
            slept = true;
            if word.has(GRANTED) {
                if visits {
                    woken = self.leave_to_sleeper(word);
                    spinner = spinner_anew();
                }
                continue;
            }
            let parked = word.parked(|now| {
                if visits {
                    // Its patience counts from the lock's last hand-over.
                    noted(&raw const self.word, now)
                } else {
                    now
                }
            });
            failures.fall_out_of_step(&mut spinner);
            if !self.mark(word, parked) {
                failures.count();
                continue;
            }
            let seen = parked.value();
            let (ended, head_starves) = if word.has(TURN) {
                // The head may lack a CPU to accept its turn.
                sleep_unless_starved(&self.word, seen, CROWD, TURN_NANOSECONDS, patience)
            } else {
                (sleep_within(&self.word, seen, CROWD, patience), false)
            };
            woken = Woken::after(ended);
            starved = head_starves;
            spinner = spinner_anew();
        }
    }

    /// Marks the word as if a woken sleeper were on its way; whether it did.  A release that finds
    /// the mark takes longer and pauses, and the holder's next acquisition takes longer.  Meanwhile
    /// the lock is free for a spinning thread, which would take ten times as long to wake from
    /// sleep.  Never with sleepers present: the mark would withhold their wake-up while the caller
    /// is preempted.
    #[cold]
    fn ask(&self) -> bool {
        let mut marked = false;
        let (mut spinner, mut failures) = (Spinner::new(), Failures::default());
        loop {
            let word = self.seen();
            if !word.has_without(LOCKED, PARKED | WOKEN) {
                return marked;
            }
            failures.fall_out_of_step(&mut spinner);
            if self.change(word, word.asked(), FUTEX_MARK) {
                marked = true;
                if self.heeds_marks() {
                    return true;
                }
                // A plain-store release may have erased the mark.
            }
            failures.count();
        }
    }

    /// Sleeps while the sleeper that was granted the lock may still accept it.  So the caller,
    /// which has waited less, does not accept first.  Afterwards the caller accepts: the sleeper
    /// may be gone after a fork, or lack a CPU.  A thread that waits often yields instead, which
    /// lets a sleeper run on this CPU.  A deadline may pass meanwhile, by no more than timers are
    /// late.
    fn leave_to_sleeper(&self, granted: Seen) -> Woken {
        let Some(bound) = unless_starved(WAKING_NANOSECONDS) else {
            return Woken::No;
        };
        // The mark stays with the grant, so the release of the accepting thread wakes sleepers.
        Woken::after(sleep_on(&self.word, granted.value(), CROWD, Some(&bound)))
    }

    /// Waits for the caller's turn; `None` if the lock gives turns up meanwhile.
    fn wait_as_head(&self, patience: &Patience) -> Option<Outcome> {
        let since = now();
        let mut pause = FIRST_PAUSE_NANOSECONDS;
        let mut spinner = Spinner::new();
        let mut failures = Failures::default();
        if self.mode.takes_turns() {
            spinner.watch(FIRST_LOOK_NANOSECONDS, || {
                self.seen().has_without(LOCKED, TURN)
            });
        }
        loop {
            let mut word = self.seen();
            if word.has(TURN) {
                if self.change(word, word.accepted_turn(Woken::No), FUTEX_TURN_ACCEPT) {
                    self.mode.welcome_turns();
                    return Some(Outcome::Acquired);
                }
                continue;
            }
            if !word.has(LOCKED) {
                // Looks alone would miss a section shorter than the interval between them.
                let watched = word.watched();
                failures.fall_out_of_step(&mut spinner);
                if word != watched && !self.change(word, watched, Order::RELAXED) {
                    failures.count();
                    continue;
                }
                let stays_free = spinner.watch(ABSENCE_NANOSECONDS, || {
                    word = self.seen();
                    word.has_without(WATCHED, LOCKED)
                });
                if stays_free && self.take(word, Woken::No) {
                    self.mode.give_up_turns();
                    return Some(Outcome::Acquired);
                }
            }
            let claimed = word.is_claimed();
            if runs_out(patience) {
                if claimed && !self.change(word, word.unclaimed(), Order::RELAXED) {
                    continue;
                }
                return Some(Outcome::GaveUp);
            }
            if !claimed {
                if !self.mode.takes_turns() {
                    return None;
                }
                let waited = now() - since;
                let half_of_its_patience = |deadline: &Deadline| expired(&deadline.earlier(waited));
                let due = waited >= TURN_NANOSECONDS
                    || patience.deadline().is_some_and(half_of_its_patience);
                if !due {
                    if spinner.pause(pause) == Advice::Sleep {
                        nap(waited.clamp(NAP_NANOSECONDS, LONGEST_NAP_NANOSECONDS));
                    }
                    pause = LONGEST_NAP_NANOSECONDS.min(2 * pause);
                    continue;
                }
                // The word has often changed while the clock was read.
                word = self.seen();
                if !word.has(LOCKED) {
                    // The turn is due, and the lock is free already.
                    failures.fall_out_of_step(&mut spinner);
                    if self.take(word, Woken::No) {
                        self.mode.welcome_turns();
                        return Some(Outcome::Acquired);
                    }
                    failures.count();
                    continue;
                }
                // The next release grants the lock.
                spinner = Spinner::new();
            }
            let sleeps = spinner.step() == Advice::Sleep;
            let claim = word.claimed(sleeps);
            failures.fall_out_of_step(&mut spinner);
            if !self.mark(word, claim) {
                failures.count();
            } else if sleeps {
                let _ = sleep_within(&self.word, claim.value(), HEAD, patience);
                spinner = Spinner::new();
            }
        }
    }

    /// Acquires a free lock with possible marks.
    fn take(&self, word: Seen, woken: Woken) -> bool {
        self.change(word, word.taken(woken), FUTEX_TAKE_LATE)
    }

    /// Marks a held lock's word for a thread about to sleep on it; false if the thread has to look
    /// again.
    fn mark(&self, word: Seen, marked: Seen) -> bool {
        (word == marked || self.change(word, marked, FUTEX_MARK)) && self.heeds_marks()
    }

    /// Whether holders look for the mark that the caller has just set.  If not, this makes them do
    /// so, and the caller has to look again.
    fn heeds_marks(&self) -> bool {
        if self.mode.is_quick() && !mutant(flaw::MARK_AND_HOPE) {
            self.mode.revoke();
            quick::revoke(|| Self::wake_everybody(self));
            return false;
        }
        true
    }

    /// Releases a lock by an exchange, in a quick period too.
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline(never)]
    pub unsafe fn release_attentive(&self) {
        let quiet = is_long_quiet();
        if quiet || !self.release_unmarked() {
            self.release_late(quiet);
        }
    }

    /// Releases the caller's lock if its word has no marks; whether it had none.
    #[inline(always)]
    pub(crate) fn release_unmarked(&self) -> bool {
        self.exchange(LOCKED, 0, FUTEX_RELEASE)
    }

    /// Releases the caller's lock after [`release_unmarked`](Self::release_unmarked) failed, or if
    /// the caller's releases have long been `quiet`.
    #[cold]
    pub(crate) fn release_late(&self, quiet: bool) {
        if quiet && self.mode.be_quick() {
            self.become_quick();
        } else {
            self.release_marked();
        }
    }

    /// Releases a lock whose word has marks.
    #[cold]
    #[inline(never)]
    fn release_marked(&self) {
        loop {
            let word = self.seen();
            if word.has(WANTED) {
                if self.give_turn(word) {
                    return;
                }
                continue;
            }
            if word.has(PARKED) && is_over(word) {
                if self.hand_over(word) {
                    return;
                }
                continue;
            }
            let wakes = word.has_without(PARKED, WOKEN);
            if self.change(word, word.freed(wakes), FUTEX_RELEASE_MARKED) {
                if wakes && !mutant(flaw::FORGET_WAKE) {
                    wake(&raw const self.word, 1, CROWD);
                } else if word.has_without(WOKEN, PARKED) {
                    // A visitor looks, and should find the lock free before the caller reacquires.
                    Spinner::new().watch(ABSENCE_NANOSECONDS, || true);
                }
                return;
            }
        }
    }

    /// Releases to the head; false if the lock is still the caller's.
    #[cold]
    fn give_turn(&self, word: Seen) -> bool {
        let at = &raw const self.word;
        // The head that claimed it may be gone after a fork.
        let gives = self.mode.has_head();
        let order = if gives { FUTEX_TURN } else { Order::RELAXED };
        if !self.change(word, word.given(gives), order) {
            return false;
        }
        // A head that arrived only now would claim again.
        if word.has(NAPPING) && !mutant(flaw::LET_THE_HEAD_SLEEP) {
            wake(at, 1, HEAD);
        }
        gives
    }

    /// Releases to a sleeper; false if the lock is still the caller's.
    #[cold]
    fn hand_over(&self, word: Seen) -> bool {
        let stamp = stamp();
        let announced = word.announced(stamp);
        if !self.change(word, announced, Order::RELAXED) {
            return false;
        }
        note(&raw const self.word, stamp);
        if wake(&raw const self.word, 1, CROWD) == 0 {
            // Falling asleep changes the word, so no thread has done so since.
            self.change(announced, announced.unparked(), Order::RELAXED);
            return false;
        }
        // The woken thread changes the word before it sleeps again or leaves, so it is still there
        // to accept.
        self.change(announced, announced.granted(), FUTEX_GRANT)
    }

    /// Makes the last release by an exchange; if the word has no marks, it begins a quick period.
    #[cold]
    fn become_quick(&self) {
        if !self.release_unmarked() {
            // The thread that marked the word may have seen the lock attentive, and sleep.
            if !mutant(flaw::STAY_QUICK) {
                self.mode.be_attentive();
            }
            self.release_marked();
        }
    }
}

// SAFETY: `LOCKED` is set by one exchange of a word without it, or handed over with
// `GRANTED` or `TURN`, which one thread clears; each acquires what the release released.
unsafe impl RawLock for Futex {
    type Context = ();

    #[inline(always)]
    unsafe fn acquire(&self, (): &()) {
        if !self.acquire_untouched() {
            let _ = self.acquire_contended(&Patience::ENDLESS);
        }
    }

    #[inline(always)]
    unsafe fn release(&self, (): &()) {
        let place = &raw const *self;
        // SAFETY: passed on.
        match unsafe { self.release_quickly(&()) } {
            Quick::Released => {}
            Quick::MarkLost => Self::wake_everybody(place),
            // SAFETY: the caller's.
            Quick::Refused => unsafe { self.release_attentive() },
        }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) & LOCKED != 0
    }
}

standalone!([] Futex: Hosted { strict: false }, HighLock, Resumable);

// SAFETY: the word is stored as by a release, or remains unchanged.
unsafe impl QuickRelease for Futex {
    #[inline(always)]
    unsafe fn release_quickly(&self, (): &()) -> Quick {
        quick::release(
            || self.mode.is_quick().then_some(()),
            |()| self.word.store(0, FUTEX_RELEASE_QUICK),
        )
    }

    #[cold]
    fn wake_everybody(place: *const Self) {
        let word = place.wrapping_byte_add(offset_of!(Self, word));
        wake(word.cast::<AtomicU32>(), i32::MAX as u32, CROWD | HEAD);
    }
}

// SAFETY: as the usual release, or the lock is handed over.
unsafe impl ReleaseFairly for Futex {
    unsafe fn release_fairly(&self, (): &()) {
        self.hand_to_sleeper();
    }

    fn is_waited_for(&self, (): &()) -> bool {
        self.has_sleeper()
    }
}

// SAFETY: as `acquire`.
unsafe impl RawTry for Futex {
    #[inline(always)]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        // A failed exchange would still take the line from the holder.
        let mut word = self.seen();
        while !word.has(LOCKED) {
            match word.exchange(&self.word, word.taken(Woken::No), FUTEX_TAKE) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }
}

// SAFETY: a thread that gives up holds no grant: a woken one marks the word first, which fails if
// it has been granted meanwhile.
unsafe impl Abortable for Futex {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.acquire_untouched() {
            return Outcome::Acquired;
        }
        self.acquire_contended(patience)
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl ThreadOblivious for Futex {}

// SAFETY: waiters leave marks only.
unsafe impl Inherit for Futex {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let word = if holder.is_some() { LOCKED } else { 0 };
        // Any mode is valid: no thread of this process is in a release.
        self.word.store(word, Order::RELAXED);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use cohort_raw::Clock;

    /// A deadline on that clock, so many seconds from now.
    fn in_seconds(clock: Clock, seconds: i64) -> Deadline {
        let mut time = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .expect("it is later");
        if matches!(clock, Clock::Monotonic) {
            time = core::time::Duration::from_nanos(now());
        }
        Deadline {
            clock,
            seconds: time.as_secs() as i64 + seconds,
            nanoseconds: time.subsec_nanos(),
        }
    }

    #[test]
    fn a_head_without_a_cpu_keeps_the_lock_from_no_waiter_with_a_deadline() {
        assert_eq!(policy(), WaitPolicy::Park);
        let waits = [
            Patience::ENDLESS,
            Patience::until(in_seconds(Clock::Monotonic, 30)),
            Patience::until(in_seconds(Clock::Realtime, 30)),
        ];
        for patience in waits {
            for visits in [false, true] {
                let lock = Futex::new();
                // The holder has granted the lock to a head that never accepts it.
                lock.mode.take_turns_with_a_head();
                lock.word.store(LOCKED | TURN, Order::RELAXED);
                let began = now();
                assert_eq!(lock.wait_long(&patience, visits), Outcome::Acquired);
                assert!(now() - began >= TURN_NANOSECONDS, "the head had no time");
            }
        }
    }
}
