//! How a waiter passes the time between two looks at the word that it waits for.
//!
//! A *turn* here is one yield, natively `sched_yield`: the waiter yields its CPU, and a thread that waits for the
//! CPU may take it.

use super::super::{Advice, Attempt, Monitor, WaitPolicy, loan};
use super::allowed::{Beyond, is_allowed};
use super::atoms::{self, AtomicU64, Ordering};
use super::cpus::cpus;
use super::policy::policy;
use super::random::random;
use super::system::{nap, now};
use super::turn::yield_now;
use super::{AtomicU32, ThreadRecord, monitor};
use core::cell::Cell;

/// How long a waiter spins on a contended CPU before it yields; a barging waiter also spins so long
/// after each turn that another thread took. A queued waiter is rarely next, so its spinning only
/// delays the thread that is.
///
/// A turn costs half a microsecond in which the waiter sees nothing, plus milliseconds if many
/// threads wait for the CPU. With sections of 200 ns, a waiter that yields after 150 ns yields just
/// before the release. With sections of 2 µs, a waiter that spins for 1.5 µs acquires so often that
/// it passes the threads waiting for its CPU for the rest of its time slice: the 99.9th percentile
/// is ten times as long.
const SPIN_NANOSECONDS: u64 = 600;

/// The first spin of a thread whose last [`VAIN`] waits did not end by spinning: a twentieth more
/// throughput with sections of 2 µs.
const SHORT_NANOSECONDS: u64 = 150;

/// So many failed spins in a row show that sections are long; a single one may be a preempted
/// holder.
const VAIN: u8 = 2;

/// After so many failed short spins in a row, the next is a long one: sections may have become
/// shorter.
const SHORTS: u8 = 8;

/// How long a waiter spins on an uncontended CPU, where it may [keep](keep_cpu) a contended one, or
/// where it sleeps without yielding: to fall asleep and be woken takes longer.
const ALONE_NANOSECONDS: u64 = 4_000;

/// The same on an uncontended CPU that it may keep: the lock may be handed over to it while it is
/// off the CPU.
const UNDISTURBED_NANOSECONDS: u64 = 32_000;

/// A shorter turn went untaken. Where each turn takes long, as beside busy hardware threads, a turn
/// shorter than twice the shortest went untaken.
const UNTAKEN_NANOSECONDS: u64 = 1_000;

/// A turn of this length was taken: that is the cost of two context switches.
const TAKEN_NANOSECONDS: u64 = 2_000;

/// A turn of this length went to a thread that used its time slice, or much of it.
const SLICE_NANOSECONDS: u64 = 10_000;

/// How rarely a thread that lost its last turn for a time slice yields again, where it may sleep.
const LOST_ONE_IN: u32 = 64;

/// So many untaken turns in a row show an uncontended CPU; the kernel's fairness may have returned
/// a single one.
const UNTAKEN: u8 = 4;

/// Looks of an uncontended waiter between two readings of the clock. A reading takes as long as a
/// pause, and would delay the waiter's view of the lock by half.
const LOOKS: u32 = 8;

/// Turns before sleeping: with more threads than CPUs, the holder probably waits for this CPU.
const TURNS: u32 = 16;

/// The same on a single CPU, where the holder does not run beside the waiter. If the lock is still
/// held after a turn, the turn went to another waiter, or to a holder that yielded.
const TURNS_ON_ONE: u32 = 4;

/// The weight of a turn on an uncontended CPU.
const WEIGHT: u32 = 4;

/// How long a wait that [keeps its CPU](keep_cpu) goes on over untaken turns. Sleeping and being
/// woken would take longer than its share of a queue of short sections; a longer wait means long
/// sections.
const KEPT_NANOSECONDS: u64 = 1_000_000;

/// The same for each CPU, if that is longer. In a queue of one thread per CPU, each woken in turn,
/// no waiter waits longer; so such a queue returns to spinning.
const KEPT_NANOSECONDS_PER_CPU: u64 = 16_000;

/// A thread that waits again within this time after a wait reacquires at once.
const SOON_NANOSECONDS: u64 = 100_000;

/// After so many turns a waiter that does not sleep lends its CPU instead of yielding. Under a
/// real-time policy a turn goes to threads of the same priority only, never to an ordinary thread,
/// which may be the holder. The waiter has spun and yielded for milliseconds by then, so a loan
/// lengthens its wait by a few hundredths.
const IN_VAIN: u32 = 16_384;

/// Nanoseconds of the shortest turn, at most [`TAKEN_NANOSECONDS`]; 0 before the first.
static SHORTEST_TURN: atoms::AtomicU32 = atoms::AtomicU32::new(0);

/// Whether the calling thread should try something that pays only now and then: once in `one_in`
/// calls, a power of two.
#[inline]
pub fn is_worth_a_try(one_in: u32) -> bool {
    let tries = &super::thread().tries;
    let count = tries.get().wrapping_add(1);
    tries.set(count);
    count & (one_in - 1) == 0
}

/// Whether to count the calling thread's present operation, as a sample: one in `one_in` by chance,
/// a power of two above 1. For counters whose cache lines would move with each operation. A thread
/// that alternates between operations has each of them counted.
#[inline]
#[must_use]
pub fn is_counted(one_in: u32) -> bool {
    let lots = &super::thread().lots;
    if lots.get() == 0 {
        begin_drawing(lots);
    }
    super::super::draws(lots, one_in)
}

/// Threads with one seed would all draw the same samples; short threads would draw none.
#[cold]
fn begin_drawing(lots: &Cell<u32>) {
    lots.set(random() as u32);
}

/// Whether waiters publish that they are off the CPU: they do.
#[inline(always)]
#[must_use]
pub const fn shows_absence() -> bool {
    true
}

/// Whether threads ever try what only pays now and then: here they do.
#[inline(always)]
#[must_use]
pub const fn tries_anything() -> bool {
    true
}

/// Lets the calling thread's waits keep a contended CPU for long, or ends that. For at most as many
/// simultaneous waits as CPUs: the thread waited for has a CPU too, and during a yield the free
/// lock would go unused.
#[inline]
pub fn keep_cpu(keeps: bool) {
    super::thread().keeps_cpu.set(keeps);
}

/// Whether a wait of the calling thread that might [keep its CPU](keep_cpu) has lost it since the
/// last call: in a turn, another thread used its time slice, or much of it. Turns among waiters are
/// shorter.
#[inline]
#[must_use]
pub fn has_lost_cpu() -> bool {
    super::thread().lost_cpu.replace(false)
}

/// Yields the CPU once, outside of a wait, and returns whether another thread took it.
#[must_use]
pub fn offer_cpu() -> bool {
    if !is_allowed(Beyond::Yield) {
        return false;
    }
    let given = now();
    yield_now();
    !is_untaken(now() - given)
}

/// Whether the calling thread, which begins a wait, has mostly begun its recent waits [soon
/// after](has_waited) the previous one. A single gap proves nothing: it may be a preemption.
///
/// Called once a wait.
#[inline]
#[must_use]
pub fn waits_often() -> bool {
    let me = super::thread();
    let soon = now() - me.waited.get() < SOON_NANOSECONDS;
    let gaps = me.gaps.get() << 1 | u8::from(soon);
    me.gaps.set(gaps);
    gaps.count_ones() >= u8::BITS / 2
}

/// Notes that the calling thread has just ended a wait.
#[inline]
pub fn has_waited() {
    super::thread().waited.set(now());
}

/// Whether the calling thread has yielded in any wait.
#[cfg(test)]
#[must_use]
pub fn has_yielded() -> bool {
    let me = super::thread();
    // Each turn is counted as one or the other.
    me.untaken.get() > 0 || me.taken.get() > 0
}

/// Whether a turn of that many nanoseconds went untaken.
fn is_untaken(turn: u64) -> bool {
    let shortest = SHORTEST_TURN.load(Ordering::Relaxed);
    let bound = (2 * u64::from(shortest)).clamp(UNTAKEN_NANOSECONDS, TAKEN_NANOSECONDS);
    let now = turn.min(TAKEN_NANOSECONDS) as u32;
    if shortest == 0 || now < shortest {
        SHORTEST_TURN.store(now, Ordering::Relaxed);
    }
    turn < bound
}

/// When a thread of this process last lost two turns in a row to others; 0: never yet.
static LACKED: AtomicU64 = AtomicU64::new(0);

/// CPUs are lacking until the first bound, and sufficient from the second on. An awake waiter
/// yields every few microseconds, and loses a turn for milliseconds.
const LACKING_NANOSECONDS: u64 = 4_000_000;
const ENOUGH_NANOSECONDS: u64 = 8_000_000;

/// Whether threads of this process lack CPUs, judged by the turns that its waiters yield: other
/// processes show only where they take those CPUs. `None` while that is unclear.
#[must_use]
pub fn threads_lack_cpus() -> Option<bool> {
    lack(LACKED.load(Ordering::Relaxed), now())
}

/// Whether CPUs are lacking at `now`, if they last were at `lacked`.
const fn lack(lacked: u64, now: u64) -> Option<bool> {
    if lacked == 0 {
        return Some(false);
    }
    match now.saturating_sub(lacked) {
        ..LACKING_NANOSECONDS => Some(true),
        ENOUGH_NANOSECONDS.. => Some(false),
        _ => None,
    }
}

/// Records the nanoseconds of a turn that the thread yielded; returns whether its process lacks
/// CPUs. A single taken turn may be the kernel's fairness.
fn learn(me: &ThreadRecord, turn: u64) -> bool {
    let (untaken, taken) = if is_untaken(turn) {
        (UNTAKEN.min(me.untaken.get() + 1), 0)
    } else {
        (0, me.taken.get().saturating_add(1))
    };
    me.untaken.set(untaken);
    me.taken.set(taken);
    taken > 1
}

/// One wait: created at its beginning, called between looks.
#[derive(Debug, Default)]
pub struct Spinner {
    /// When it began; 0 before the first look.
    since: u64,
    /// When the present spin began; 0 before the first.
    began: u64,
    /// Looks until the next reading of the clock.
    looks: u32,
    /// Turns yielded.
    turns: u32,
    /// How often a [`moment`](Self::moment) has lent the CPU.
    loans: u32,
    /// How many preceding waits in a row did not end by spinning; from [`VAIN`] on, spins are short.
    /// After [`SHORTS`] of those, one less than [`VAIN`] again.
    vain: u8,
    /// Whether there are sleepers that it would pass.
    passes: bool,
    /// Whether it waits for its own place in a queue.
    in_line: bool,
    /// Whether it never yields.
    keeps_turns: bool,
    /// Whether it spins for as short a time as on a contended CPU.
    brief: bool,
}

impl Spinner {
    /// A spinner for an ordinary wait.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self {
            since: 0,
            began: 0,
            looks: 0,
            turns: 0,
            loans: 0,
            vain: 0,
            passes: false,
            in_line: false,
            keeps_turns: false,
            brief: false,
        }
    }

    /// A spinner that sleeps rather than yields: a thread that seldom waits gains little by
    /// yielding and may lose milliseconds.
    #[must_use]
    #[inline]
    pub const fn keeping_turns() -> Self {
        Self {
            keeps_turns: true,
            ..Self::new()
        }
    }

    /// The same, for a thread with work that is shorter than a sleep.
    #[must_use]
    #[inline]
    pub const fn keeping_turns_briefly() -> Self {
        Self {
            brief: true,
            ..Self::keeping_turns()
        }
    }

    /// [`keeping_turns`](Self::keeping_turns), if the thread's last turn went to a thread that used
    /// its time slice; except for one wait in `LOST_ONE_IN`, since that may have changed.
    #[must_use]
    pub fn keeping_turns_if_lost() -> Self {
        Self {
            keeps_turns: super::thread().slice.get() && !is_worth_a_try(LOST_ONE_IN),
            ..Self::new()
        }
    }

    /// A spinner for a wait that may take long, by a thread that `seldom` waits or [often](waits_often): it yields
    /// as [`keeping_turns`](Self::keeping_turns) or as [`keeping_turns_if_lost`](Self::keeping_turns_if_lost).
    ///
    /// Beside busy threads each turn costs a time slice, and a thread that yields competes for the CPU as one
    /// that computes, where a woken thread goes ahead of those.
    #[must_use]
    pub fn sparing_turns(seldom: bool) -> Self {
        if seldom {
            Self::keeping_turns()
        } else {
            Self::keeping_turns_if_lost()
        }
    }

    /// A spinner for a wait for one's own place in a queue. It yields as [`keeping_turns_if_lost`](Self::keeping_turns_if_lost):
    /// the threads behind it wait for its turns, too.
    #[must_use]
    pub fn in_line() -> Self {
        Self {
            in_line: true,
            ..Self::keeping_turns_if_lost()
        }
    }

    /// Passes a little time and says what to do next: never to sleep under [`WaitPolicy::Spin`] and
    /// [`WaitPolicy::Yield`].
    ///
    /// A caller that cannot sleep [insists](Self::insist).
    #[inline(never)]
    pub fn step(&mut self) -> Advice {
        self.step_by(|_| core::hint::spin_loop())
    }

    /// [`step`](Self::step); if `sleepers` wait for the same lock and this thread would pass them,
    /// it spins no longer than on a contended CPU.
    #[inline]
    pub fn step_past(&mut self, sleepers: bool) -> Advice {
        self.passes = sleepers;
        self.step()
    }

    /// [`step`](Self::step) of a wait until `word` is not `seen`, with hardly another waiter: where
    /// the CPU can, it [watches](monitor) the word meanwhile.
    #[inline(never)]
    pub fn step_at(&mut self, word: &AtomicU32, seen: u32) -> Advice {
        if monitor::monitor() != Monitor::Missing {
            // A look that lasts until the bound needs the bound.
            self.looks = 0;
        }
        self.step_by(|left| monitor::wait(word, seen, left))
    }

    #[inline]
    fn step_by(&mut self, spin: impl FnOnce(u64)) -> Advice {
        let left = self.left();
        if left > 0 {
            spin(left);
            return Advice::Again;
        }
        if self.gives_no_turn() && policy() == WaitPolicy::Park {
            return Advice::Sleep;
        }
        self.give_turn();
        Advice::Again
    }

    /// Whether a wait that may sleep has yielded often enough, or never yields.
    fn gives_no_turn(&self) -> bool {
        let turns = if cpus() == 1 { TURNS_ON_ONE } else { TURNS };
        self.turns >= turns || self.keeps_turns || !is_allowed(Beyond::Yield)
    }

    /// Yields the CPU and records whether the turn was taken; lends the CPU after too many turns.
    #[inline(never)]
    fn give_turn(&mut self) {
        if self.turns >= IN_VAIN {
            nap(loan(0));
            self.began = now();
            return;
        }
        let me = super::thread();
        let given = now();
        if me.taken.get() > 0 {
            me.shown.away(yield_now);
        } else {
            // An untaken turn is short.
            yield_now();
        }
        self.began = now();
        if learn(me, self.began - given) {
            LACKED.store(self.began, Ordering::Relaxed);
        }
        let untaken = me.untaken.get();
        let kept = me.keeps_cpu.get();
        let slice = self.began - given >= SLICE_NANOSECONDS;
        me.slice.set(slice);
        if kept && slice {
            me.lost_cpu.set(true);
        }
        let long = KEPT_NANOSECONDS.max(KEPT_NANOSECONDS_PER_CPU * u64::from(cpus()));
        let weight = if kept && untaken > 0 && self.began - self.since < long {
            0
        } else if untaken == UNTAKEN {
            WEIGHT
        } else {
            1
        };
        self.turns = self.turns.saturating_add(weight);
    }

    /// Goes on after an advice to sleep that the caller cannot follow, for lack of a waker: yields.
    pub fn insist(&mut self) {
        self.give_turn();
    }

    /// Passes a little time, for a wait that cannot sleep: spins for a bounded time, then yields at
    /// every call.
    #[inline]
    pub fn turn(&mut self) {
        if self.step() == Advice::Sleep {
            self.insist();
        }
    }

    /// Passes a little time, for a wait that cannot sleep, for the next few instructions of another
    /// thread. If these take long, that thread was preempted and may need this CPU; so the waiter
    /// lends it, under every policy.
    #[inline]
    pub fn moment(&mut self) {
        if self.turns >= TURNS || self.step() == Advice::Sleep {
            nap(loan(self.loans));
            self.loans += 1;
        }
    }

    /// For the simulated machine, which looks in place of a waiter.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub const unsafe fn foresee(
        &mut self,
        _word: &AtomicU32,
        _attempt: Attempt,
        _ready: &impl Fn(u32) -> bool,
    ) {
    }

    /// [`step`](Self::step) until that many nanoseconds have passed or sleeping pays: for waiters
    /// that poll rarely.
    #[inline]
    pub fn pause(&mut self, nanoseconds: u64) -> Advice {
        let until = if nanoseconds == 0 {
            0
        } else {
            now() + nanoseconds
        };
        loop {
            let advice = self.step();
            if advice == Advice::Sleep || until == 0 || now() >= until {
                return advice;
            }
        }
    }

    /// Polls for that many nanoseconds; false as soon as `so` is false.
    #[inline]
    pub fn watch(&mut self, nanoseconds: u64, mut so: impl FnMut() -> bool) -> bool {
        let until = now() + nanoseconds;
        while now() < until {
            self.spin();
            if !so() {
                return false;
            }
        }
        true
    }

    /// One failed look, by a caller that counts its looks: takes as little time as possible, and
    /// never yields.
    #[inline]
    pub fn spin(&mut self) {
        core::hint::spin_loop();
    }

    /// Nanoseconds left to spin; 0 when a turn is due.
    fn left(&mut self) -> u64 {
        if self.looks > 0 {
            self.looks -= 1;
            return SPIN_NANOSECONDS;
        }
        if policy() == WaitPolicy::Yield || cpus() == 1 {
            return 0;
        }
        let me = super::thread();
        if self.began == 0 {
            self.vain = me.vain.replace(0);
        }
        let alone = me.untaken.get() == UNTAKEN && !self.passes;
        let kept = me.keeps_cpu.get();
        let brief = self.brief || self.keeps_turns && self.vain > VAIN;
        let bound = if (alone || kept || self.keeps_turns) && !brief {
            self.looks = LOOKS - 1;
            if alone && kept {
                UNDISTURBED_NANOSECONDS
            } else {
                ALONE_NANOSECONDS
            }
        } else if self.turns > 0 && self.in_line {
            0
        } else if self.turns == 0 && self.vain >= VAIN {
            SHORT_NANOSECONDS
        } else {
            SPIN_NANOSECONDS
        };
        let now = now();
        if self.began == 0 {
            (self.since, self.began) = (now, now);
        }
        let left = bound.saturating_sub(now - self.began);
        if left == 0 {
            self.looks = 0;
            if self.turns == 0 {
                me.vain.set(if self.vain + 1 < VAIN + SHORTS {
                    self.vain + 1
                } else {
                    VAIN - 1
                });
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::{
        Advice, ENOUGH_NANOSECONDS, LACKING_NANOSECONDS, SLICE_NANOSECONDS, Spinner,
        TAKEN_NANOSECONDS, has_yielded, is_counted, lack, learn,
    };

    #[test]
    fn only_turns_that_others_take_one_after_another_show_that_cpus_are_lacking() {
        const UNTAKEN: u64 = 300;
        // A thread that has not yielded yet.
        let learnt = |turns: &'static [u64]| {
            let thread = std::thread::spawn(move || {
                let me = super::super::thread();
                turns.iter().map(|turn| learn(me, *turn)).collect()
            });
            let learnt: std::vec::Vec<bool> = thread.join().unwrap();
            learnt
        };
        // Independent of other threads.
        assert!(!learnt(&[UNTAKEN; 1_000]).contains(&true));
        assert!(
            !learnt(&[
                UNTAKEN,
                SLICE_NANOSECONDS,
                UNTAKEN,
                TAKEN_NANOSECONDS,
                UNTAKEN
            ])
            .contains(&true)
        );
        assert_eq!(
            learnt(&[
                SLICE_NANOSECONDS,
                TAKEN_NANOSECONDS,
                SLICE_NANOSECONDS,
                UNTAKEN
            ]),
            [false, true, true, false]
        );
    }

    #[test]
    fn cpus_are_lacking_for_a_while() {
        const THEN: u64 = 1;
        assert_eq!(lack(0, u64::MAX), Some(false));
        assert_eq!(lack(THEN, THEN), Some(true));
        assert_eq!(lack(THEN, THEN + LACKING_NANOSECONDS - 1), Some(true));
        assert_eq!(lack(THEN, THEN + LACKING_NANOSECONDS), None);
        assert_eq!(lack(THEN, THEN + ENOUGH_NANOSECONDS - 1), None);
        assert_eq!(lack(THEN, THEN + ENOUGH_NANOSECONDS), Some(false));
        // Another thread's clock was read a little later.
        assert_eq!(lack(THEN + 1, THEN), Some(true));
    }

    #[test]
    fn a_spinner_that_spares_turns_yields_none_if_they_are_dear() {
        let yields = |lost, spinner: fn() -> Spinner| {
            let thread = std::thread::spawn(move || {
                super::super::thread().slice.set(lost);
                let mut spinner = spinner();
                while spinner.step() != Advice::Sleep {}
                has_yielded()
            });
            thread.join().unwrap()
        };
        let seldom = || Spinner::sparing_turns(true);
        let often = || Spinner::sparing_turns(false);
        assert!(!yields(false, seldom) && !yields(true, seldom));
        assert!(yields(false, often) && !yields(true, often));
        assert!(yields(false, Spinner::in_line) && !yields(true, Spinner::in_line));
    }

    #[test]
    fn what_threads_do_that_soon_end_is_counted_too() {
        let one = || std::thread::spawn(|| is_counted(8)).join().unwrap();
        // By chance that fails once in ten to the 14.
        assert!((0..256).any(|_| one()), "none of 256 was counted");
    }
}
