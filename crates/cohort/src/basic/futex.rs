//! `futex`: a lean sleeping mutex.  A thread that finds it taken spins for a bounded
//! time, yields a few turns, then sleeps; a thread that comes while the lock is free
//! takes it, past the sleepers (it *barges*), but twice a millisecond or so it is handed
//! to the one that has slept longest.  Where holders come back at once, waiters take
//! turns instead.
//!
//! **Not for** strict order, nor for a NUMA machine under load: it keeps no cohort.
//! It is the default because it is the one that never collapses when threads
//! exceed CPUs: a lock handed to a sleeper is a lock nobody holds for as long as
//! the kernel takes to run that thread.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `LOCKED` | held, or granted | taker; releaser |
//! | `PARKED` | there may be sleepers | a waiter before it sleeps; a holder that found nobody to hand over to |
//! | `WOKEN` | a woken sleeper may be on its way, or a visitor looks, so releases wake nobody else | the releaser that wakes, or the visitor; that thread, or any that falls asleep |
//! | `GRANTED` | held by nobody: released to whichever sleeper accepts it | a releaser; the sleeper |
//! | `WANTED` | the head's turn has come: the next release gives it the lock | the head; the releaser |
//! | `NAPPING` | and it sleeps | the same |
//! | `TURN` | held by nobody: released to the head | the releaser; the head |
//! | `WATCHED` | free: nobody has taken it since the head looked | the head; the taker |
//! | `QUEUED` | and the holder came by a queue that puts waiters in order, and to which the lock may go on; see [`FutexHmcs`](crate::numa::FutexHmcs) | the holder |
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
//! | come by a queue, leave it | held | `QUEUED` | `QUEUED` | all |
//! | release by a plain store | held, in a quick time | | all | none: it [wakes every sleeper](quick) if there may be one |
//!
//! A word of 0 is a free lock without sleepers, and `LOCKED` alone a held one.  A
//! release wakes after the lock is free, since a thread woken while it is held would
//! wait again; only a hand-over, which must know that there is somebody, wakes just
//! before.
//!
//! Whatever releases the lock is the releaser's last touch of it: the next holder may
//! free its memory.  From then on the address is only a name to wake by.
//!
//! The marks of a parent process do no harm in a forked child: each waiter overwrites
//! `WOKEN` before it sleeps, and accepts a grant rather than sleep on it.
//!
//! A head that gets no CPU must not stop the others.  A waiter that has slept at the gate for
//! several turns goes past it, and one of the crowd that finds a `TURN` untaken for the
//! length of another takes it.
//!
//! **Turns.**  If a holder comes back sooner than the lock could change CPUs, every
//! other CPU that takes part makes all of them slower: the lock and what it guards are
//! forever on their way.  Then one waiter at a time, the *head*, looks at the word, ever
//! more rarely, and takes the lock if nobody else does for [`ABSENCE_NANOSECONDS`];
//! otherwise it claims it after [`TURN_NANOSECONDS`], or half its patience, and the next
//! release gives it the lock for as long a turn of its own.  The others sleep at a gate.
//! Whether a lock is such a one shows only while its holder is left alone, so waiters try
//! it now and then, more rarely after each time that the head found the lock free.  A thread
//! that seldom waits takes no part: its visit costs the holder next to nothing, and for a
//! turn of its own it would wait milliseconds.  It tries while it spins, gives no turn of its
//! CPU away, and its patience counts from the lock's last hand-over, not from its own arrival.
//! The gate and what was learnt are in the second word; see `futex/mode.rs`.
//!
//! A forked child has no head.  A release there drops the claims of the parent's, and
//! a `TURN` that nobody accepts is accepted by the child's first head, which is any
//! thread that waits.
//!
//! A lock that has long been quiet is released by a plain store; see [`quick`].  The
//! second word says whether it is.

mod mode;
mod word;

use crate::door::{
    Advice, AtomicU32, Order, Spinner, constructor, expired, flaws, has_waited, is_long_quiet,
    move_sleeper, mutant, nap, note, noted, now, orders, runs_out, sleep_on, sleep_unless_starved,
    sleep_within, unless_starved, waits_often, wake,
};
use crate::fairly::ReleaseFairly;
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
    /// What this holder did is seen by the sleeper it hands the lock to.
    FUTEX_GRANT = Release;
    /// Sees it.
    FUTEX_ACCEPT = Acquire;
    /// What this holder did is seen by the head it gives its turn.
    FUTEX_TURN = Release;
    /// Sees it.
    FUTEX_TURN_ACCEPT = Acquire;
    /// A waiter that marks a holder's word sees the mode in which that holder
    /// will release it: set before an earlier release, which the holder acquired.
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

/// How long bargers pass sleepers before one of those is handed the lock; less
/// than a unit of `STAMP` earlier, since the stamp is cut off.
pub const PATIENCE_NANOSECONDS: u64 = 500_000;

/// For how long a lock that was handed over is left to its sleeper by a thread that has only
/// just come: what it takes to wake one on a CPU of its own, and some more.
const WAKING_NANOSECONDS: u64 = 125_000;

/// The length of a turn, where waiters take turns: about as long as a kernel lets a thread run
/// while others want its CPU.  Bringing the other CPU what the lock guards takes tens of
/// microseconds of each.  So the last of n waiters waits for n turns.
pub const TURN_NANOSECONDS: u64 = 3_000_000;

/// How long a lock stays free for its holder not to be one that comes back at once:
/// what it costs to bring the lock and a little data to another CPU.
pub const ABSENCE_NANOSECONDS: u64 = 300;

/// For how long the head waits, looking all the time, for a first release: whether the lock is
/// one whose holder comes back at once shows after it, and looks that are pauses apart may find
/// another holder's section each time, while the others sleep.
const FIRST_LOOK_NANOSECONDS: u64 = 5_000;

/// How soon the head looks again at first; then twice as late each time.
pub(crate) const FIRST_PAUSE_NANOSECONDS: u64 = 500;

/// How long the head naps between looks once a turn of the CPU no longer pays, at first; then
/// for as long as it has waited: a look costs the holder a miss, and the head's CPU a wake-up.
pub(crate) const NAP_NANOSECONDS: u64 = 50_000;

/// And at most this long: nobody takes a lock that comes free between two looks.
const LONGEST_NAP_NANOSECONDS: u64 = 250_000;

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

/// Whether the patience that began at a word's stamp is over.
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

    /// Whether that word is one of a lock that is held: for an onlooker that reads the memory of a
    /// process.
    #[must_use]
    pub const fn is_held(word: u32) -> bool {
        word & LOCKED != 0
    }

    /// Whether that word is one at which threads may sleep.
    #[must_use]
    pub const fn has_sleepers(word: u32) -> bool {
        word & (PARKED | NAPPING) != 0
    }

    /// Takes a free lock without an atomic read-modify-write; false if it was not
    /// free.
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

    /// Releases a lock without marks, as [`acquire_alone`](Self::acquire_alone)
    /// took it; false if it has some.
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

    /// Takes the lock if it is free and has no marks: the shortest way.
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

    /// Makes that change, if the word is as it was seen.
    #[inline(always)]
    fn change(&self, seen: Seen, new: Seen, order: Order) -> bool {
        seen.exchange(&self.word, new, order).is_ok()
    }

    #[inline(always)]
    fn seen(&self) -> Seen {
        Seen::of(&self.word)
    }

    /// Whether its waiters take turns; for a lock that waits behind this one.
    pub(crate) fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Blocks until the lock is held, patience runs out or, found out now and then, the
    /// caller has what it wants without the lock: nothing then.  All its waiters wait so,
    /// and never take turns.
    #[inline]
    pub(crate) fn acquire_unless(
        &self,
        patience: &Patience,
        done: &dyn Fn() -> bool,
    ) -> Option<Outcome> {
        if self.acquire_untouched() {
            return Some(Outcome::Acquired);
        }
        self.wait_in_crowd(patience, Some(done), Woken::No, false, false)
    }

    /// Blocks until the lock is held, for a thread that seldom [waits](waits_often); nothing as soon as the
    /// holder came by a queue, in which a place brings the lock sooner than a look.
    pub(crate) fn acquire_unless_queued(&self) -> Option<Outcome> {
        self.wait_in_crowd(&Patience::ENDLESS, None, Woken::No, true, true)
    }

    /// Whether it was free and had no marks a moment ago.
    #[inline(always)]
    pub(crate) fn looks_free(&self) -> bool {
        self.word.load(Order::RELAXED) == 0
    }

    /// Whether the holder came by a queue, which it has not left.
    #[inline(always)]
    pub(crate) fn is_queued(&self) -> bool {
        self.word.load(Order::RELAXED) & QUEUED != 0
    }

    /// Whether nothing that another lock has left in a queue can be in the way of this one's waiters
    /// there: they have gone to it before, or `is_free` says so, or `free` has seen to it, which one
    /// thread runs while others are told no.
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
            // Once one of its own is in the queue the word says so, and is another.
            if !self.mode.sees_after(seen) {
                return false;
            }
            free();
        }
        self.mode.be_known_at(address);
        true
    }

    /// Blocks until the lock is held, for the head of a queue that puts its other waiters in
    /// order: as one of the crowd, but never in turns.
    pub(crate) fn acquire_as_queued(&self) {
        let _ = self.acquire_unless(&Patience::ENDLESS, &|| false);
        self.mark_queued();
    }

    /// Its holder will release it by [`release_queued`](Self::release_queued).
    pub(crate) fn mark_queued(&self) {
        if self.mode.is_quick() {
            // The releases of threads that come by the queue look for the mark.
            self.mode.be_attentive();
        }
        self.word.fetch_or(QUEUED, Order::RELAXED);
    }

    /// Whether a waiter that is not in the queue has waited too long; for its holder.
    pub(crate) fn owes_others(&self) -> bool {
        let word = self.seen();
        word.has(WANTED) || word.has(PARKED) && is_over(word)
    }

    /// Releases a lock to which the queue does not go on.
    pub(crate) fn release_queued(&self) {
        if !self.exchange(LOCKED | QUEUED, 0, FUTEX_RELEASE) {
            self.word.fetch_and(!QUEUED, Order::RELAXED);
            self.release_marked();
        }
    }

    /// The same, and a thread that sleeps for the lock, if one does, is the next to have it.
    pub(crate) fn release_queued_fairly(&self) {
        self.word.fetch_and(!QUEUED, Order::RELAXED);
        self.hand_to_sleeper();
    }

    /// Releases the lock to the head that has claimed it, or to a thread that sleeps for it; if there is
    /// none, as it is released usually.
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

    /// Makes a thread that sleeps at `place`, while that holds `seen`, one of this lock's
    /// sleepers, which it leaves by [`acquire_adopted`](Self::acquire_adopted); false if
    /// nobody sleeps there, or if the lock is free.
    ///
    /// The lock must outlive the call; the caller may hold it or not.
    pub fn adopt(&self, place: &AtomicU32, seen: u32) -> bool {
        if self.word.load(Order::RELAXED) & LOCKED == 0 {
            return false;
        }
        // It moves first: had the word been marked before, a release might look for the
        // sleeper too early.
        if !move_sleeper(place, seen, &raw const self.word) {
            return false;
        }
        loop {
            let word = self.seen();
            // Free, whose releaser did not know of the sleeper.
            let missed = !word.has(LOCKED);
            // Exchanged even where nothing changes: the sleeper has no look of its own, at
            // which the kernel would find that the word is another by now.
            let marks = !mutant(flaw::ADOPT_UNMARKED);
            if marks && !(self.change(word, word.adopted(), FUTEX_MARK) && self.heeds_marks()) {
                continue;
            }
            // `WOKEN` may have stood there before: no release heard of the sleeper, and one
            // that woke nobody leaves that mark behind too.
            if missed && !mutant(flaw::ADOPT_LATE) {
                wake(&raw const self.word, 1, CROWD);
            }
            return true;
        }
    }

    /// Blocks until the lock is held, for a thread that the lock [adopted](Self::adopt) and
    /// that is awake again: if a release woke it, this answers that.
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

    /// Waits as one of a few, for no longer than that, and no longer once the holder came by
    /// a queue; whether the lock is held.
    pub(crate) fn wait_among_few(&self, nanoseconds: u64) -> bool {
        let mut spinner = Spinner::new();
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
            if self.take(word, Woken::No) {
                return true;
            }
            left = nanoseconds.saturating_sub(now() - since);
        }
    }

    /// The same, for a thread that seldom waits or for one that [does](waits_often).
    pub(crate) fn wait_long(&self, patience: &Patience, visits: bool) -> Outcome {
        if !visits {
            self.mode.consider_turns();
        }
        self.wait_on(patience, Woken::No, visits)
    }

    /// Waits; `woken` if the thread has slept among this lock's sleepers and may have been
    /// woken as one of them; `visits` if it is one that seldom waits, and takes no turns.
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

    /// Waits as one of many; nothing as soon as waiters take turns, the caller is `done` without the
    /// lock, or it `joins` a queue.
    #[inline(never)]
    fn wait_in_crowd(
        &self,
        patience: &Patience,
        done: Option<&dyn Fn() -> bool>,
        // How this thread comes by the mark `WOKEN`.
        mut woken: Woken,
        // Whether it takes no turns.
        visits: bool,
        // Whether it leaves for the queue that the holder came by.
        joins: bool,
    ) -> Option<Outcome> {
        let spinner_anew = || {
            if visits {
                Spinner::keeping_turns()
            } else {
                Spinner::new()
            }
        };
        let mut asks = visits;
        let mut spinner = if asks {
            Spinner::keeping_turns_briefly()
        } else {
            spinner_anew()
        };
        let mut slept = woken == Woken::Roused;
        // Whether a head has left the lock alone that it was given.
        let mut starved = false;
        loop {
            // A holder that comes back at once leaves the lock free for less than a look and an
            // attempt after it take; an attempt alone finds it free, since that brings in the
            // line.  Not for threads that wait often, for it costs the holder a miss each time.
            if visits && !slept && self.acquire_untouched() {
                return Some(Outcome::Acquired);
            }
            let word = self.seen();
            if !word.has(LOCKED) {
                if self.take(word, woken) {
                    return Some(Outcome::Acquired);
                }
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
                // A woken thread has the others' wake-up to pass on, by its release.
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
                let leaves = match woken {
                    // A wake-up that reached this thread goes on to another: the next
                    // release sees the mark.
                    Woken::Roused => mutant(flaw::SWALLOW_WAKE) || self.mark(word, left),
                    _ => word == left || self.change(word, left, Order::RELAXED),
                };
                if !leaves {
                    continue;
                }
                return Some(Outcome::GaveUp);
            }
            // Behind a lock whose waiters take turns, the wait is a long one.
            let long = done.is_some() && self.mode.takes_turns();
            if !long && spinner.step_past(word.has(PARKED)) == Advice::Again {
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
                    // It waits for no more than the lock's last hand-over to be long enough ago.
                    noted(&raw const self.word, now)
                } else {
                    now
                }
            });
            if !self.mark(word, parked) {
                continue;
            }
            let seen = parked.value();
            let (ended, head_starves) = if word.has(TURN) {
                // The head may have no CPU to take its turn on.
                sleep_unless_starved(&self.word, seen, CROWD, TURN_NANOSECONDS, patience)
            } else {
                (sleep_within(&self.word, seen, CROWD, patience), false)
            };
            woken = Woken::after(ended);
            starved = head_starves;
            spinner = spinner_anew();
        }
    }

    /// Marks the word as for a sleeper that has been woken; whether it did.  A release that finds
    /// the mark takes longer and pauses, and so does the holder's next acquisition: meanwhile the
    /// lock is free, and a thread that spins has it, where one that sleeps would take ten times as
    /// long to be there.  Never where somebody sleeps: the mark would keep the wake-up from that
    /// sleeper for as long as the caller is out of its CPU.
    #[cold]
    fn ask(&self) -> bool {
        let mut marked = false;
        loop {
            let word = self.seen();
            if !word.has_without(LOCKED, PARKED | WOKEN) {
                return marked;
            }
            if self.change(word, word.asked(), FUTEX_MARK) {
                marked = true;
                if self.heeds_marks() {
                    return true;
                }
                // A quick release may have wiped the mark out.
            }
        }
    }

    /// Sleeps for as long as the sleeper that the lock was handed to may take to accept it, so
    /// that a thread which has waited for less does not take it first.
    /// The caller accepts it afterwards: that sleeper may have been left behind by a fork, or
    /// get no CPU.  A thread that waits often has given turns away instead, which lets a sleeper
    /// run that wants this CPU.  A deadline may pass meanwhile, by no more than timers are late.
    fn leave_to_sleeper(&self, granted: Seen) -> Woken {
        let Some(bound) = unless_starved(WAKING_NANOSECONDS) else {
            return Woken::No;
        };
        // The mark stays with the grant, so the release of the thread that accepts it wakes
        // sleepers.
        Woken::after(sleep_on(&self.word, granted.value(), CROWD, Some(&bound)))
    }

    /// Waits until it is the caller's turn; nothing if turns are given up meanwhile.
    fn wait_as_head(&self, patience: &Patience) -> Option<Outcome> {
        let since = now();
        let mut pause = FIRST_PAUSE_NANOSECONDS;
        let mut spinner = Spinner::new();
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
                // Looks alone would not do: a section may be shorter than a look.
                let watched = word.watched();
                if word != watched && !self.change(word, watched, Order::RELAXED) {
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
                    // The turn has come, and needs nobody to give it.
                    if self.take(word, Woken::No) {
                        self.mode.welcome_turns();
                        return Some(Outcome::Acquired);
                    }
                    continue;
                }
                // The lock will be given soon.
                spinner = Spinner::new();
            }
            let sleeps = spinner.step() == Advice::Sleep;
            let claim = word.claimed(sleeps);
            if self.mark(word, claim) && sleeps {
                let _ = sleep_within(&self.word, claim.value(), HEAD, patience);
                spinner = Spinner::new();
            }
        }
    }

    /// Takes a free lock whose word may have marks.
    fn take(&self, word: Seen, woken: Woken) -> bool {
        self.change(word, word.taken(woken), FUTEX_TAKE_LATE)
    }

    /// Marks a held lock's word for a thread that will sleep on it; false if it
    /// has to look again.
    fn mark(&self, word: Seen, marked: Seen) -> bool {
        (word == marked || self.change(word, marked, FUTEX_MARK)) && self.heeds_marks()
    }

    /// Whether holders look for the mark that the caller has just left; if not, they do
    /// from here on, and the caller has to look again.
    fn heeds_marks(&self) -> bool {
        if self.mode.is_quick() && !mutant(flaw::MARK_AND_HOPE) {
            self.mode.revoke();
            quick::revoke(|| Self::wake_everybody(self));
            return false;
        }
        true
    }

    /// Releases a lock by an exchange, be it in a quick time or not.
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

    /// Releases a lock that the caller holds if its word has no marks; whether it had none.
    #[inline(always)]
    pub(crate) fn release_unmarked(&self) -> bool {
        self.exchange(LOCKED, 0, FUTEX_RELEASE)
    }

    /// Releases a lock that the caller holds where that has failed, or where the caller's releases
    /// have long been `quiet`.
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
                    // A visitor looks, which is to find it free before the caller comes back.
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
        // The head that claimed it may have been left behind by a fork.
        let gives = self.mode.has_head();
        let order = if gives { FUTEX_TURN } else { Order::RELAXED };
        if !self.change(word, word.given(gives), order) {
            return false;
        }
        // Had the head only just come, it would claim once more.
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
            // A thread that falls asleep changes the word, so nobody has since.
            self.change(announced, announced.unparked(), Order::RELAXED);
            return false;
        }
        // The woken thread cannot sleep again or leave without changing the word,
        // so it is there to accept.
        self.change(announced, announced.granted(), FUTEX_GRANT)
    }

    /// Releases for the last time by an exchange, in a quick time that begins with it if there
    /// are no marks.
    #[cold]
    fn become_quick(&self) {
        if !self.release_unmarked() {
            // Its maker may have seen the lock attentive, and sleep.
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

// SAFETY: the word is stored as by a release, or nothing happens.
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
        // An exchange would take the line from the holder even if it fails.
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

// SAFETY: a thread that gives up holds no grant: one that was woken marks the word
// first, and fails to if it has been granted meanwhile.
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
        // Any mode is good: no thread of this process is in a release.
        self.word.store(word, Order::RELAXED);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::door::{WaitPolicy, policy};
    use cohort_raw::Clock;

    /// Now, and so much later, on that clock.
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
                // The holder has given the lock to a head that never takes it.
                lock.mode.take_turns_with_a_head();
                lock.word.store(LOCKED | TURN, Order::RELAXED);
                let began = now();
                assert_eq!(lock.wait_long(&patience, visits), Outcome::Acquired);
                assert!(now() - began >= TURN_NANOSECONDS, "the head had no time");
            }
        }
    }
}
