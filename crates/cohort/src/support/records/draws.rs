//! The draw of the acquisitions that are timed.
//!
//! Each acquisition of a lock at a site, a pair, is timed with a known probability, one in a power
//! of two, independently of its duration; a sample stands for that many acquisitions. The power
//! follows the clock, pair by pair. A pair that is acquired more rarely than the reader's *spacing*
//! is timed each time, so a busy pair of the same thread does not hide it. The power of a busy pair
//! rises until its samples lie that far apart. A pair may save up [`BURST`] spacings.
//!
//! The distance to the next sample is geometric: a thread may draw anew at any time without
//! favouring any acquisition, and a thread with few acquisitions is as likely to be sampled as any.
//!
//! While half of the thread's places for samples are taken, the power rises with each draw.

use super::SAMPLES;
use core::cell::Cell;

/// How many spacings an idle pair saves up: so many samples may follow each other at once.
pub const BURST: u64 = 64;

/// How many acquisitions a thread counts at most before it reads the clock: a busy phase may have
/// ended.
const ASKED_AFTER: u32 = 1024;

/// Greatest power of two of a draw.
pub const MOST_DOUBLED: u8 = 24;

/// Savings of a rate after a change, so that it does not change back by chance.
const MIDDLE: u64 = BURST / 4;

/// A sampling rate; all zero at first: each acquisition.
#[derive(Debug, Default)]
#[repr(C)]
struct Rate {
    /// When the next sample is due at one spacing each; 0: none was drawn yet.
    due: Cell<u64>,
    /// The probability: one in two to this power.
    doubled: Cell<u8>,
}

impl Rate {
    fn begin(&self, doubled: u8) {
        self.due.set(0);
        self.doubled.set(doubled);
    }

    fn change(&self, doubled: u8, terms: &Terms) {
        self.doubled.set(doubled.min(MOST_DOUBLED));
        self.due.set(terms.before(MIDDLE));
    }

    /// Adapts after a sample: the next may stand for more acquisitions, or for fewer.
    fn follow(&self, terms: &Terms) {
        let doubled = self.doubled.get();
        let due = match self.due.get() {
            0 if doubled > 0 => terms.before(MIDDLE),
            due => due.max(terms.before(BURST)),
        };
        if terms.is_crowded() || due > terms.now {
            self.change(doubled + 1, terms);
        } else if doubled > 0 && due < terms.before(BURST / 2) {
            self.change(doubled - 1, terms);
        } else {
            self.due.set(due + terms.spacing());
        }
    }

    /// Adapts after a time without samples; returns whether the next one stands for fewer
    /// acquisitions.
    fn is_idle(&self, terms: &Terms) -> bool {
        let doubled = self.doubled.get();
        let saved = terms.now.saturating_sub(self.due.get()) / (BURST * terms.spacing());
        let Some(log) = saved.checked_ilog2().filter(|_| doubled > 0) else {
            return false;
        };
        self.change(doubled.saturating_sub(log as u8 + 1), terms);
        true
    }
}

/// The draws of one pair: of uncontended acquisitions, and of contended ones. All zero at first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Draws {
    /// How many acquisitions follow the next clock read until one is timed.
    beyond: Cell<u32>,
    rate: Rate,
    waits: Rate,
}

/// The terms of a draw: the reader's request and the thread's state.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Nanoseconds between samples of a pair; `None`: no samples.
    pub spacing: Option<u32>,
    /// The time.
    pub now: u64,
    /// Unread samples of the thread.
    pub waiting: u32,
    /// Any random number.
    pub random: u64,
}

impl Terms {
    fn is_crowded(&self) -> bool {
        self.waiting >= SAMPLES as u32 / 2
    }

    /// Whether a sample may not fit: an acquisition has two or three.
    fn is_full(&self) -> bool {
        self.waiting + 4 > SAMPLES as u32
    }

    fn spacing(&self) -> u64 {
        self.spacing.unwrap_or(u32::MAX).max(1).into()
    }

    /// The time that many spacings ago.
    fn before(&self, spacings: u64) -> u64 {
        self.now.saturating_sub(spacings * self.spacing())
    }
}

impl Draws {
    /// Begins with a pair, at one in two to the power of `doubled`; returns after how many
    /// acquisitions the thread is to [come](Self::come) next.
    pub fn begin(&self, doubled: u8, random: u64) -> u32 {
        self.rate.begin(doubled);
        self.waits.begin(doubled);
        self.go_for(random)
    }

    /// Draws the next acquisition to time; returns after how many to come.
    fn go_for(&self, random: u64) -> u32 {
        self.wait_for(gap(self.rate.doubled.get(), random))
    }

    fn wait_for(&self, acquisitions: u32) -> u32 {
        let near = acquisitions.min(ASKED_AFTER);
        self.beyond.set(acquisitions - near);
        near
    }

    /// Handles the acquisition that the thread counted to: whether it is timed, and then the power
    /// of two that it stands for; and after how many acquisitions to come next.
    pub fn come(&self, terms: &Terms) -> (Option<u8>, u32) {
        if terms.spacing.is_none() {
            // No draw before there is a spacing again.
            self.beyond.set(0);
            return (None, ASKED_AFTER);
        }
        let beyond = self.beyond.get();
        if beyond > 0 {
            let after = if self.rate.is_idle(terms) {
                self.go_for(terms.random)
            } else {
                self.wait_for(beyond)
            };
            return (None, after);
        }
        let drawn = self.rate.doubled.get();
        self.rate.follow(terms);
        let after = self.go_for(terms.random);
        ((!terms.is_full()).then_some(drawn), after)
    }

    /// Whether an acquisition that has to wait is timed, and then the power of two that it stands
    /// for.
    pub fn waits(&self, terms: &Terms) -> Option<u8> {
        terms.spacing?;
        let drawn = self.waits.doubled.get();
        if terms.random & ((1 << drawn) - 1) != 0 {
            self.waits.is_idle(terms);
            return None;
        }
        self.waits.follow(terms);
        (!terms.is_full()).then_some(drawn)
    }
}

/// The rate at which a thread begins to count pairs by a draw: short-lived pairs would otherwise be
/// timed each time.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Beginnings(Rate);

impl Beginnings {
    /// The power of two for a new pair's first acquisitions.
    pub fn doubled(&self) -> u8 {
        self.0.doubled.get()
    }

    /// Notes the first sample of a pair.
    pub fn took(&self, terms: &Terms) {
        if terms.spacing.is_some() {
            self.0.follow(terms);
        }
    }

    /// Notes a new pair that is not drawn at once.
    pub fn pass(&self, terms: &Terms) {
        if terms.spacing.is_some() {
            self.0.is_idle(terms);
        }
    }
}

/// The number of acquisitions up to and including the next drawn one, each with the probability of
/// one in two to the power of `doubled`.
fn gap(doubled: u8, random: u64) -> u32 {
    if doubled == 0 {
        return 1;
    }
    // The integer part of an exponentially distributed number has that distribution: one in `of`,
    // if the mean is about `of` - 1/2 - 1/12 `of`.
    const ONE: u64 = 1 << 16;
    let mean = (ONE << doubled) - ONE / 2 - ((ONE / 12) >> doubled);
    let whole = (u128::from(exponential(random)) * u128::from(mean)) >> 32;
    (whole as u64 + 1).min(u64::from(u32::MAX)) as u32
}

/// An exponentially distributed number with the mean one, in 65,536ths: the logarithm of a random
/// number between zero and one, its fraction approximated by a parabola.
fn exponential(random: u64) -> u64 {
    const LN_2: u64 = 45_426;
    let random = random | 1;
    let zeros = random.leading_zeros();
    // The bits after the leading one, in 65,536ths.
    let rest = ((random << zeros) << 1) >> 48;
    // log2(1 + x) = x + c x (1 - x).
    let curve = (rest * (65_536 - rest)) >> 16;
    let log = rest + ((curve * 22_487) >> 16);
    (((u64::from(zeros) + 1) * 65_536 - log) * LN_2) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random numbers.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^ (bits >> 31)
        }
    }

    /// A thread that acquires one lock at one site.
    struct Pair {
        draws: Draws,
        random: Random,
        now: u64,
        due: u32,
        /// How many acquisitions were timed, how many they stand for, and the number of the last.
        timed: u32,
        stand_for: u64,
    }

    const SPACING: u32 = 100_000;

    impl Pair {
        fn new(seed: u64) -> Self {
            let (draws, mut random) = (Draws::default(), Random(seed));
            let due = draws.begin(0, random.next());
            Self {
                draws,
                random,
                now: 1_000_000_000,
                due,
                timed: 0,
                stand_for: 0,
            }
        }

        fn terms(&mut self, waiting: u32) -> Terms {
            Terms {
                spacing: Some(SPACING),
                now: self.now,
                waiting,
                random: self.random.next(),
            }
        }

        /// Acquires once, `after` nanoseconds after the last; returns whether it was timed.
        fn acquire(&mut self, after: u64, waiting: u32) -> bool {
            self.now += after;
            self.due -= 1;
            if self.due > 0 {
                return false;
            }
            let terms = self.terms(waiting);
            let (drawn, next) = self.draws.come(&terms);
            self.due = next;
            if let Some(doubled) = drawn {
                self.timed += 1;
                self.stand_for += 1 << doubled;
            }
            drawn.is_some()
        }
    }

    #[test]
    fn a_pair_that_is_taken_seldom_is_timed_each_time() {
        let mut pair = Pair::new(1);
        for number in 1..=1_000 {
            assert!(pair.acquire(2 * u64::from(SPACING), 0), "{number}");
        }
    }

    #[test]
    fn samples_of_a_busy_pair_lie_a_spacing_apart_and_stand_for_all() {
        let mut pair = Pair::new(2);
        const ALL: u32 = 20_000_000;
        for _ in 0..ALL {
            pair.acquire(50, 0);
        }
        // One second.
        assert!((5_000..20_000).contains(&pair.timed), "{}", pair.timed);
        let share = pair.stand_for as f64 / f64::from(ALL);
        assert!((0.95..1.05).contains(&share), "{share}");
    }

    /// 10,000 threads of forty acquisitions each are sampled like one thread of as many.
    #[test]
    fn threads_of_few_acquisitions_are_sampled_as_likely_as_others() {
        let mut stand_for = 0;
        let mut random = Random(3);
        for _ in 0..10_000 {
            let mut due = gap(8, random.next());
            while due <= 40 {
                stand_for += 256;
                due += gap(8, random.next());
            }
        }
        let share = f64::from(stand_for) / 400_000.0;
        assert!((0.93..1.07).contains(&share), "{share}");
    }

    #[test]
    fn gaps_have_the_mean_and_the_variance_of_geometric_ones() {
        let mut random = Random(4);
        for doubled in [1, 2, 4, 8, 16] {
            const DRAWN: u32 = 200_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..DRAWN {
                let gap = f64::from(gap(doubled, random.next()));
                assert!(gap >= 1.0);
                sum += gap;
                squares += gap * gap;
            }
            let mean = sum / f64::from(DRAWN);
            let variance = squares / f64::from(DRAWN) - mean * mean;
            let of = f64::from(1_u32 << doubled);
            assert!((0.96..1.05).contains(&(mean / of)), "{doubled}: {mean}");
            let share = variance / (of * (of - 1.0));
            assert!((0.9..1.1).contains(&share), "{doubled}: {variance}");
        }
    }

    #[test]
    fn after_a_busy_phase_a_pair_is_soon_timed_again() {
        let mut pair = Pair::new(5);
        for _ in 0..10_000_000 {
            pair.acquire(10, 0);
        }
        let seldom = 2 * u64::from(SPACING);
        let first = (0..3 * ASKED_AFTER).position(|_| pair.acquire(seldom, 0));
        assert!(first.is_some());
        for _ in 0..3 * ASKED_AFTER {
            pair.acquire(seldom, 0);
        }
        let timed = (0..1_000).filter(|_| pair.acquire(seldom, 0)).count();
        assert_eq!(timed, 1_000);
    }

    #[test]
    fn while_the_reader_is_late_few_are_drawn_and_none_without_a_place() {
        let mut pair = Pair::new(6);
        let mut waiting = 0;
        for _ in 0..1_000_000 {
            waiting += u32::from(pair.acquire(200_000, waiting));
        }
        assert!(waiting <= SAMPLES as u32 - 3, "{waiting}");
        let share = pair.stand_for as f64 / 1e6;
        assert!(share > 0.001, "{share}");
    }

    #[test]
    fn waits_are_drawn_by_a_number_of_their_own() {
        let mut pair = Pair::new(7);
        for _ in 0..2_000_000 {
            pair.acquire(50, 0);
        }
        let seldom = |pair: &mut Pair| {
            pair.now += 200_000;
            let terms = pair.terms(0);
            pair.draws.waits(&terms)
        };
        for _ in 0..100 {
            assert_eq!(seldom(&mut pair), Some(0));
        }
        let (mut drawn, mut stand_for) = (0, 0_u64);
        const ALL: u32 = 2_000_000;
        for _ in 0..ALL {
            pair.now += 500;
            let terms = pair.terms(0);
            if let Some(doubled) = pair.draws.waits(&terms) {
                drawn += 1;
                stand_for += 1 << doubled;
            }
        }
        assert!((5_000..20_000).contains(&drawn), "{drawn}");
        let share = stand_for as f64 / f64::from(ALL);
        assert!((0.95..1.05).contains(&share), "{share}");
    }

    #[test]
    fn pairs_that_come_and_go_are_not_timed_each_time() {
        let (beginnings, mut random) = (Beginnings::default(), Random(8));
        let (mut now, mut timed) = (1_000_000_000, 0);
        const ALL: u32 = 1_000_000;
        for _ in 0..ALL {
            now += 100;
            let draws = Draws::default();
            if draws.begin(beginnings.doubled(), random.next()) == 1 {
                let terms = Terms {
                    spacing: Some(SPACING),
                    now,
                    waiting: 0,
                    random: random.next(),
                };
                if draws.come(&terms).0.is_some() {
                    beginnings.took(&terms);
                    timed += 1;
                }
            }
        }
        // A tenth of a second.
        assert!((500..3_000).contains(&timed), "{timed}");
    }

    #[test]
    fn a_reader_that_wants_no_samples_is_asked_again() {
        let mut pair = Pair::new(9);
        let terms = Terms {
            spacing: None,
            ..pair.terms(0)
        };
        assert_eq!(pair.draws.come(&terms), (None, ASKED_AFTER));
        assert_eq!(pair.draws.waits(&terms), None);
    }
}
