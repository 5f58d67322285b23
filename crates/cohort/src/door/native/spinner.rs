//! How a waiter passes the time between two looks.

use super::super::{Advice, Monitor, WaitPolicy, loan};
use super::allowed::{Beyond, is_allowed};
use super::atoms::{self, AtomicU8, AtomicU64, Ordering};
use super::system::{call, nap, now, number, random, yield_now};
use super::{AtomicU32, ThreadRecord, monitor};
use core::cell::Cell;

/// How long a waiter spins where its CPU is wanted, before it gives its turn away and, if it
/// takes whatever comes free, after each turn that another thread took: a queued
/// waiter is rarely next, so its spinning only delays the thread that is.
///
/// A turn costs half a microsecond in which a waiter sees nothing and, if many wait for the
/// CPU, the milliseconds that they take; a waiter of a section of 200 ns that gave its turn away
/// after 150 did so for a lock that was coming.  With sections of 2 µs, one that spins for
/// 1.5 µs catches the lock so often that it passes the threads that wait for its CPU for the
/// rest of its time slice: the 99.9th percentile is ten times as long.
const SPIN_NANOSECONDS: u64 = 600;

/// How long it spins at first if its last [`VAIN`] waits did not end by spinning: with sections
/// of 2 µs that is a twentieth more throughput.
const SHORT_NANOSECONDS: u64 = 150;

/// So many such waits in a row show that sections are long; a single one is a holder that had
/// lost its CPU.
const VAIN: u8 = 2;

/// After so many short spins in a row that were in vain too, the next is a long one: sections
/// may have become shorter since.
const SHORTS: u8 = 8;

/// How long it spins where nobody wants its CPU, where it may [keep](keep_cpu) it all the
/// same, or where it is to sleep at once: to fall asleep and be woken takes longer.
const ALONE_NANOSECONDS: u64 = 4_000;

/// The same where it may keep its CPU and nobody has wanted that of late: the lock may be handed
/// to it while it is away.
const UNDISTURBED_NANOSECONDS: u64 = 32_000;

/// A turn that came back sooner than this was taken by nobody; where each takes long, as on a
/// core whose other hardware threads are busy, one that took less than twice the shortest.
const UNTAKEN_NANOSECONDS: u64 = 1_000;

/// But a turn that took as long as this was taken: that is what two switches cost.
const TAKEN_NANOSECONDS: u64 = 2_000;

/// And one that took as long went to a thread that used its time slice, or much of it.
const SLICE_NANOSECONDS: u64 = 10_000;

/// How rarely a thread that lost its last turn so gives another, where it may sleep instead.
const LOST_ONE_IN: u32 = 64;

/// So many of them in a row show that nobody wants the CPU: one may have come back because the
/// kernel's fairness owed the giver some time.
const UNTAKEN: u8 = 4;

/// Looks of a waiter that is alone from one look at the clock to the next: the clock takes as
/// long as a pause does, and would make it find the lock half as late again.
const LOOKS: u32 = 8;

/// Turns given away before sleeping: where threads exceed CPUs the holder is
/// probably one of those waiting for this CPU.
const TURNS: u32 = 16;

/// The same on a single CPU: there the holder does not run while the waiter does, so that a turn which
/// comes back to a lock still taken went to another waiter, or to a holder that has given its own away.
const TURNS_ON_ONE: u32 = 4;

/// How many turns one counts for that a waiter gives away while nobody wants its CPU.
const WEIGHT: u32 = 4;

/// For how long a wait that [keeps its CPU](keep_cpu) goes on although it gives turns away, as
/// long as nobody takes them: to sleep and be woken would take longer than its share of a line
/// of short sections, and a longer wait is one behind long sections.
const KEPT_NANOSECONDS: u64 = 1_000_000;

/// The same for each CPU, if that is longer: in a line of as many threads as CPUs of which each
/// has to be woken nobody waits longer, so such a line comes to spinning again.
const KEPT_NANOSECONDS_PER_CPU: u64 = 16_000;

/// A thread that waits again within this time after a wait comes back at once.
const SOON_NANOSECONDS: u64 = 100_000;

/// After so many turns in vain a waiter that does not sleep lends its CPU instead of giving
/// turns away.  Under a real-time policy a turn goes to threads of the same priority only, and
/// never to an ordinary one, though it may be the holder.  A waiter has spun and yielded for
/// milliseconds by then, so that a loan makes its wait longer by a few hundredths.
const IN_VAIN: u32 = 16_384;

static POLICY: AtomicU8 = AtomicU8::new(WaitPolicy::Park as u8);
static CPUS: atoms::AtomicU32 = atoms::AtomicU32::new(0);

/// How many nanoseconds the shortest turn took that was given away, at most
/// [`TAKEN_NANOSECONDS`]; 0 before the first.
static SHORTEST_TURN: atoms::AtomicU32 = atoms::AtomicU32::new(0);

/// Sets how every waiter of this process waits from now on.
pub fn set_policy(policy: WaitPolicy) {
    POLICY.store(policy as u8, Ordering::Relaxed);
}

/// How waiters wait.
#[must_use]
#[inline]
pub fn policy() -> WaitPolicy {
    match POLICY.load(Ordering::Relaxed) {
        1 => WaitPolicy::Spin,
        2 => WaitPolicy::Yield,
        _ => WaitPolicy::Park,
    }
}

/// How many CPUs this process may run on, as it was at its start: a thread that has been bound
/// to one of them does not say.
#[must_use]
#[inline]
pub fn cpus() -> u32 {
    match CPUS.load(Ordering::Relaxed) {
        0 => count_cpus(),
        known => known,
    }
}

#[cold]
#[inline(never)]
fn count_cpus() -> u32 {
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given size into the mask.
    let bytes = unsafe {
        call(
            number::SCHED_GETAFFINITY,
            [0, size_of_val(&mask), mask.as_mut_ptr() as usize, 0, 0, 0],
        )
    };
    let words = bytes.max(0) as usize / size_of::<u64>();
    let count = mask[..words].iter().map(|word| word.count_ones()).sum();
    let count = u32::max(count, 1);
    CPUS.store(count, Ordering::Relaxed);
    count
}

/// Whether the calling thread should try, this time, what pays now and then only:
/// once in `one_in`, a power of two.
#[inline]
pub fn is_worth_a_try(one_in: u32) -> bool {
    let tries = &super::thread().tries;
    let count = tries.get().wrapping_add(1);
    tries.set(count);
    count & (one_in - 1) == 0
}

/// Whether what the calling thread does now is counted, for all of its kind: by chance, one in
/// `one_in`, a power of two above 1.  For tallies with lines that would move with what they count; a
/// thread that does several things by turns has each of them counted.
#[inline]
#[must_use]
pub fn is_counted(one_in: u32) -> bool {
    let lots = &super::thread().lots;
    if lots.get() == 0 {
        begin_drawing(lots);
    }
    super::super::draws(lots, one_in)
}

/// Threads that began alike would all win the same lots, and none that ends before the first of them.
#[cold]
fn begin_drawing(lots: &Cell<u32>) {
    lots.set(random() as u32);
}

/// Whether waiters show that they have given their CPU away: they do.
#[inline(always)]
#[must_use]
pub const fn shows_absence() -> bool {
    true
}

/// Whether threads ever try what is only worth a try: here they do.
#[inline(always)]
#[must_use]
pub const fn tries_anything() -> bool {
    true
}

/// From here on the calling thread's waits may keep its CPU for long, though others want it; or
/// no longer.  For waits of which there are at any time no more than CPUs: the thread that
/// they wait for has a CPU too, and a turn given away is a lock that nobody takes.
#[inline]
pub fn keep_cpu(keeps: bool) {
    super::thread().keeps_cpu.set(keeps);
}

/// Whether a wait of the calling thread that might [keep its CPU](keep_cpu) has lost it since
/// this was last asked: another thread used its time slice, or much of it, in a turn that the
/// wait gave away.  Turns among waiters are shorter, and nobody wants their CPUs.
#[inline]
#[must_use]
pub fn has_lost_cpu() -> bool {
    super::thread().lost_cpu.replace(false)
}

/// Whether the calling thread, which begins to wait, did so [soon after](has_waited) its last
/// wait more often than not of late.  One gap does not tell: it may have been out of its CPU.
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

/// Whether nobody took a turn that came back after so many nanoseconds.
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

/// For so long after that CPUs are lacking, and so long after that there are enough.  A thread
/// that waits gives turns away every few microseconds unless it sleeps, and loses one for
/// milliseconds.
const LACKING_NANOSECONDS: u64 = 4_000_000;
const ENOUGH_NANOSECONDS: u64 = 8_000_000;

/// Whether threads of this process lack CPUs, as those find out that give turns of theirs away
/// while they wait: what others do shows only where it takes their CPUs.  Nothing where it is
/// not clear.
#[must_use]
pub fn threads_lack_cpus() -> Option<bool> {
    lack(LACKED.load(Ordering::Relaxed), now())
}

/// Whether CPUs are lacking now, if they were `lacked` then.
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

/// Notes of a thread that a turn that it gave away took so many nanoseconds; whether its process lacks
/// CPUs: one turn that was taken may be the kernel's fairness, which owed another some time.
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

/// One wait: made at its beginning, asked between looks.
#[derive(Debug, Default)]
pub struct Spinner {
    /// When it began; 0 before the first look.
    since: u64,
    /// When the present spell of spinning began; 0 before the first.
    began: u64,
    /// Looks until the clock is asked again.
    looks: u32,
    /// Turns given away.
    turns: u32,
    /// How often a [`moment`](Self::moment) has lent the CPU.
    loans: u32,
    /// How many waits in a row before this one did not end by spinning, from [`VAIN`] on with a
    /// short spin; begins again at one less than that.
    vain: u8,
    /// Whether others sleep that would be passed.
    passes: bool,
    /// Whether it waits for its place in a line.
    in_line: bool,
    /// Whether it gives no turn away.
    keeps_turns: bool,
    /// Whether it spins for as short as if its CPU were wanted.
    brief: bool,
}

impl Spinner {
    /// At the beginning of a wait.
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

    /// At the beginning of a wait that is to sleep rather than give a turn away: a thread
    /// that seldom waits has little to win by that, and may lose milliseconds.
    #[must_use]
    #[inline]
    pub const fn keeping_turns() -> Self {
        Self {
            keeps_turns: true,
            ..Self::new()
        }
    }

    /// The same, with something to do soon that is less than to sleep.
    #[must_use]
    #[inline]
    pub const fn keeping_turns_briefly() -> Self {
        Self {
            brief: true,
            ..Self::keeping_turns()
        }
    }

    /// As [`keeping_turns`](Self::keeping_turns), if the last turn that the thread gave away went to one that used its time slice;
    /// but for one wait in `LOST_ONE_IN`, since it may be otherwise by now.
    #[must_use]
    pub fn keeping_turns_if_lost() -> Self {
        Self {
            keeps_turns: super::thread().slice.get() && !is_worth_a_try(LOST_ONE_IN),
            ..Self::new()
        }
    }

    /// At the beginning of a wait for one's own place in a line.
    #[must_use]
    #[inline]
    pub const fn in_line() -> Self {
        Self {
            in_line: true,
            ..Self::new()
        }
    }

    /// Passes a little time and says what pays next.  Under
    /// [`WaitPolicy::Spin`] and [`WaitPolicy::Yield`] that is never to sleep.
    ///
    /// A caller that cannot sleep [insists](Self::insist).
    #[inline(never)]
    pub fn step(&mut self) -> Advice {
        self.step_by(|_| core::hint::spin_loop())
    }

    /// [`step`](Self::step); if others sleep that wait for the same, and that this thread would
    /// pass, it spins no longer than where its CPU is wanted.
    #[inline]
    pub fn step_past(&mut self, sleepers: bool) -> Advice {
        self.passes = sleepers;
        self.step()
    }

    /// [`step`](Self::step) of a wait for `word` to be no longer `seen`, which hardly
    /// anybody else waits for: where the CPU can, it [watches](monitor) the word meanwhile.
    #[inline(never)]
    pub fn step_at(&mut self, word: &AtomicU32, seen: u32) -> Advice {
        if monitor::monitor() != Monitor::Missing {
            // A look that lasts until the bound is over needs to know the bound.
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

    /// Whether a wait that may sleep has given turns enough, or is to give none.
    fn gives_no_turn(&self) -> bool {
        let turns = if cpus() == 1 { TURNS_ON_ONE } else { TURNS };
        self.turns >= turns || self.keeps_turns || !is_allowed(Beyond::Yield)
    }

    /// Gives the CPU away, and notes whether anybody wanted it; lends it if that was in vain
    /// too often.
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
            // A turn that nobody wants is over in no time.
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

    /// Goes on after an advice to sleep that the caller cannot follow, because nobody would
    /// wake it: gives the CPU away.
    pub fn insist(&mut self) {
        self.give_turn();
    }

    /// Passes a little time, for a wait that cannot sleep: spins for its bounded time, then
    /// gives the CPU away at every turn.
    #[inline]
    pub fn turn(&mut self) {
        if self.step() == Advice::Sleep {
            self.insist();
        }
    }

    /// Passes a little time, for a wait that cannot sleep and is for the next few instructions
    /// of another thread: that one has lost its CPU if it has not come to them soon, and may
    /// need this one, so under every policy the waiter lends it then.
    #[inline]
    pub fn moment(&mut self) {
        if self.turns >= TURNS || self.step() == Advice::Sleep {
            nap(loan(self.loans));
            self.loans += 1;
        }
    }

    /// [`step`](Self::step) until that many nanoseconds have passed or sleeping pays:
    /// for waiters that look more rarely than they could.
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

    /// Looks again and again for that many nanoseconds; false as soon as a look finds
    /// what was `so` no longer so.
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

    /// One failed look, by a caller that counts its looks itself: passes as little
    /// time as can be, and never gives the CPU away.
    #[inline]
    pub fn spin(&mut self) {
        core::hint::spin_loop();
    }

    /// How many nanoseconds are left to spin; 0 when a turn is due.
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
        ENOUGH_NANOSECONDS, LACKING_NANOSECONDS, SLICE_NANOSECONDS, TAKEN_NANOSECONDS, is_counted,
        lack, learn,
    };

    #[test]
    fn only_turns_that_others_take_one_after_another_show_that_cpus_are_lacking() {
        const UNTAKEN: u64 = 300;
        // A thread that has given none away so far.
        let learnt = |turns: &'static [u64]| {
            let thread = std::thread::spawn(move || {
                let me = super::super::thread();
                turns.iter().map(|turn| learn(me, *turn)).collect()
            });
            let learnt: std::vec::Vec<bool> = thread.join().unwrap();
            learnt
        };
        // Whatever others do elsewhere.
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
    fn what_threads_do_that_soon_end_is_counted_too() {
        let one = || std::thread::spawn(|| is_counted(8)).join().unwrap();
        // By chance that fails once in ten to the 14.
        assert!((0..256).any(|_| one()), "none of 256 was counted");
    }
}
