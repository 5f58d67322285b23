//! Which acquisitions of a lock at a place are timed.
//!
//! Each acquisition of such a pair is timed with a known probability, one in a power of two, independently
//! of how long it waits or holds: a duration counts for as many acquisitions as one was drawn of.  The
//! number follows the clock, pair by pair: a pair that is taken less often than the reader's *spacing*
//! allows is timed each time, so a rare place is never lost behind a busy one of its thread; the number of a
//! busy pair doubles until its samples lie that far apart.  A pair may save up [`BURST`] spacings.
//!
//! The distance to the next sample is geometric: a thread may draw anew at any time without favouring
//! any acquisition, and a thread of few acquisitions is sampled as likely as any.
//!
//! While half of the thread's places for samples are taken, the number doubles with each draw.

use super::SAMPLES;
use core::cell::Cell;

/// How many spacings a pair saves up while it is idle: so many samples may follow each other at once.
pub const BURST: u64 = 64;

/// How many acquisitions a thread counts on at most until it looks at the clock: a busy phase
/// may have ended.
const ASKED_AFTER: u32 = 1024;

/// One in at most so many, as a power of two, is drawn.
pub const MOST_DOUBLED: u8 = 24;

/// What a rate has saved once it has changed, so that it does not change again by chance.
const MIDDLE: u64 = BURST / 4;

/// How often one is drawn; all zero at first: each time.
#[derive(Debug, Default)]
#[repr(C)]
struct Rate {
    /// When the next sample would be due if they lay one spacing apart; 0: none was drawn yet.
    due: Cell<u64>,
    /// One in two to the power of that.
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

    /// One was drawn: the next may be one of more, or of fewer.
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

    /// None has been drawn for a while: whether the next is one of fewer now.
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

/// The draws of one pair: of acquisitions that found the lock free, and of those that waited.  All zero at
/// first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Draws {
    /// How many acquisitions come after the next look at the clock until one is timed.
    beyond: Cell<u32>,
    rate: Rate,
    waits: Rate,
}

/// What the reader asks for, and what a thread has to draw by.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Nanoseconds between samples of a pair; none are wanted if there are none.
    pub spacing: Option<u32>,
    /// The time.
    pub now: u64,
    /// Samples in the thread's places that the reader has not taken.
    pub waiting: u32,
    /// Any random number.
    pub random: u64,
}

impl Terms {
    fn is_crowded(&self) -> bool {
        self.waiting >= SAMPLES as u32 / 2
    }

    /// Whether a sample, of two or three words for one acquisition, may find no place.
    fn is_full(&self) -> bool {
        self.waiting + 4 > SAMPLES as u32
    }

    fn spacing(&self) -> u64 {
        self.spacing.unwrap_or(u32::MAX).max(1).into()
    }

    /// So many spacings before now.
    fn before(&self, spacings: u64) -> u64 {
        self.now.saturating_sub(spacings * self.spacing())
    }
}

impl Draws {
    /// Begins with a pair, at one in two to the power of `doubled`; after how many acquisitions the thread is
    /// to [come](Self::come).
    pub fn begin(&self, doubled: u8, random: u64) -> u32 {
        self.rate.begin(doubled);
        self.waits.begin(doubled);
        self.go_for(random)
    }

    /// Draws which acquisition is next; after how many to come.
    fn go_for(&self, random: u64) -> u32 {
        self.wait_for(gap(self.rate.doubled.get(), random))
    }

    fn wait_for(&self, acquisitions: u32) -> u32 {
        let near = acquisitions.min(ASKED_AFTER);
        self.beyond.set(acquisitions - near);
        near
    }

    /// The acquisition has come that the thread counted to: whether it is timed, and then the power of two of
    /// which it is one; and after how many to come again.
    pub fn come(&self, terms: &Terms) -> (Option<u8>, u32) {
        if terms.spacing.is_none() {
            // None is drawn before there is a spacing again.
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

    /// Whether an acquisition that has to wait is timed, and of which power of two it is one then.
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

/// How often a thread begins to count a pair by a draw: pairs that come and go would be
/// timed each time otherwise.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Beginnings(Rate);

impl Beginnings {
    /// The power of two of which a new pair's first acquisitions are drawn.
    pub fn doubled(&self) -> u8 {
        self.0.doubled.get()
    }

    /// The first sample of a pair was taken.
    pub fn took(&self, terms: &Terms) {
        if terms.spacing.is_some() {
            self.0.follow(terms);
        }
    }

    /// A pair is new that is not drawn at once.
    pub fn pass(&self, terms: &Terms) {
        if terms.spacing.is_some() {
            self.0.is_idle(terms);
        }
    }
}

/// How many acquisitions it takes until one is drawn, that one included, if each is with the probability one in
/// two to the power of `doubled`.
fn gap(doubled: u8, random: u64) -> u32 {
    if doubled == 0 {
        return 1;
    }
    // The whole part of an exponentially distributed number has that distribution: one in `of`, if the mean is
    // about `of` - 1/2 - 1/12 `of`.
    const ONE: u64 = 1 << 16;
    let mean = (ONE << doubled) - ONE / 2 - ((ONE / 12) >> doubled);
    let whole = (u128::from(exponential(random)) * u128::from(mean)) >> 32;
    (whole as u64 + 1).min(u64::from(u32::MAX)) as u32
}

/// An exponentially distributed number with the mean one, in 65,536ths: the logarithm of a random number
/// between zero and one, of which the fraction is taken by a parabola.
fn exponential(random: u64) -> u64 {
    const LN_2: u64 = 45_426;
    let random = random | 1;
    let zeros = random.leading_zeros();
    // What comes behind the first one, in 65,536ths.
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

    /// A thread that takes one lock at one place.
    struct Pair {
        draws: Draws,
        random: Random,
        now: u64,
        due: u32,
        /// How many acquisitions were timed, for how many they stand, and at which number the last was.
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

        /// One acquisition, so many nanoseconds after the last; whether it was timed.
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

    /// Of 10,000 threads with forty acquisitions each, as of one with as many.
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
