//! Which of a thread's acquisitions are sampled.
//!
//! Of as many as the reader says one is drawn, at random.  While half of the thread's places for samples
//! are taken, because the reader has not found the process yet or waits for a CPU, the thread draws
//! half as many with each draw: a sample that would find no place is mostly not drawn at all, and each that
//! is stands for as many acquisitions as it was drawn of then.
//!
//! The reader's number follows how often the program locks.  A thread that has locked very often, and then
//! does so seldom, is not to count to the end of a number that is not the reader's any more: on its way there
//! it asks now and then, and draws anew where the number has become much less.

use super::{MOST_OF, SAMPLES};
use core::cell::Cell;

/// After how many acquisitions the reader is asked again where it wants no samples, or fewer: a thread that
/// locks seldom is to find out soon too that nobody watches, or that its acquisitions are few.
const ASKED_AFTER: u32 = 256;

/// By how much the reader's number has to become less for a thread to draw anew on its way: it goes up and
/// down a little all the time, and acquisitions that a thread has passed then are stood for by no sample.
const MUCH: u32 = 4;

/// How often the reader's number is doubled at most.
const MOST_DOUBLED: u8 = 24;

/// Of how many acquisitions one is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Chance {
    /// So many.
    pub of: u32,
    /// How often the reader's number was doubled for that.
    pub doubled: u8,
}

impl Chance {
    /// The same number doubled so often; no more than [`MOST_OF`].
    #[must_use]
    pub const fn doubled(every: u32, doubled: u8) -> Self {
        let of = (every as u64) << doubled;
        let of = if of < MOST_OF as u64 {
            of as u32
        } else {
            MOST_OF
        };
        Self { of, doubled }
    }
}

/// A thread's draws; all zero at first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Draws {
    /// Acquisitions up to the next that is sampled, or until the reader is asked on the way there, that one
    /// included; 0: not drawn yet.
    left: Cell<u32>,
    /// How many come after those until the next is sampled.
    beyond: Cell<u32>,
    /// Of how many the next is one; of none, as long as none is drawn.
    next: Cell<Chance>,
}

impl Draws {
    /// Begins as at first.
    pub fn forget(&self) {
        self.left.set(0);
        self.beyond.set(0);
        self.next.set(Chance::default());
    }

    /// Goes on as others that were cloned from these.
    pub fn go_on(&self, kept: &Self) {
        self.left.set(kept.left.get());
        self.beyond.set(kept.beyond.get());
        self.next.set(kept.next.get());
    }

    /// The next one that is drawn is as far as can be.
    pub fn go_far(&self) {
        self.left.set(u32::MAX);
    }

    /// Whether the acquisition that comes is neither sampled nor a time to draw.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.left.get() > 1
    }

    /// One that [is far](Self::is_far) has come.
    #[inline(always)]
    pub fn pass(&self) {
        self.left.set(self.left.get() - 1);
    }

    /// The next is sampled after so many, that one included.
    fn go_for(&self, acquisitions: u32) {
        let left = acquisitions.min(ASKED_AFTER);
        self.left.set(left);
        self.beyond.set(acquisitions - left);
    }

    /// Draws which acquisition is sampled next, by the number that the reader says, by how many samples it
    /// has left here, and by any random number; and says of how many the acquisition that comes is the one
    /// that was drawn, if it is.  While the reader has no number none is drawn.
    pub fn draw(&self, every: Option<u32>, waiting: u32, random: u64) -> Option<Chance> {
        let came = self.next.get();
        let beyond = self.beyond.get();
        let is_due = self.left.get() == 1 && beyond == 0 && came.of != 0;
        let Some(every) = every else {
            self.go_for(ASKED_AFTER);
            self.next.set(Chance::default());
            return None;
        };
        let same = Chance::doubled(every.max(1), came.doubled);
        if beyond != 0 && same.of >= came.of / MUCH {
            self.go_for(beyond);
            return None;
        }
        let doubled = if waiting >= SAMPLES as u32 / 2 {
            (came.doubled + 1).min(MOST_DOUBLED)
        } else {
            0
        };
        let next = Chance::doubled(every.max(1), doubled);
        // Evenly from 1 to twice as many, less one, so that no rhythm of the program's is met.
        self.go_for(1 + (random % u64::from(2 * next.of - 1)) as u32);
        self.next.set(next);
        is_due.then_some(came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What came of a number of acquisitions.
    #[derive(Debug, Default)]
    struct Ran {
        /// How many were drawn, how many of these by the reader's own number, and for how many
        /// acquisitions all of them stand.
        drawn: u32,
        as_told: u32,
        stand_for: u32,
        /// How many of them found no place.
        dropped: u32,
    }

    /// Goes through so many acquisitions; before each, the reader says how many of the samples that wait
    /// it leaves.
    fn run(
        draws: &Draws,
        acquisitions: u32,
        every: u32,
        mut leaves: impl FnMut(u32, u32) -> u32,
    ) -> Ran {
        let (mut ran, mut waiting, mut random) = (Ran::default(), 0, 1_u64);
        for number in 0..acquisitions {
            waiting = leaves(number, waiting);
            if draws.is_far() {
                draws.pass();
                continue;
            }
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if let Some(chance) = draws.draw(Some(every), waiting, random >> 33) {
                ran.drawn += 1;
                ran.as_told += u32::from(chance.of == every);
                ran.stand_for += chance.of;
                let has_room = waiting < SAMPLES as u32;
                waiting += u32::from(has_room);
                ran.dropped += u32::from(!has_room);
            }
        }
        ran
    }

    #[test]
    fn a_reader_that_keeps_up_gets_as_many_as_it_wants() {
        let ran = run(&Draws::default(), 1_000_000, 100, |_, _| 0);
        assert!((9_500..10_500).contains(&ran.drawn), "{ran:?}");
        assert_eq!((ran.as_told, ran.dropped), (ran.drawn, 0));
    }

    #[test]
    fn while_nobody_reads_few_are_dropped_and_the_others_stand_for_them() {
        let acquisitions = 1_000_000;
        let ran = run(&Draws::default(), acquisitions, 256, |_, waiting| waiting);
        // Four thousand would have been sampled.
        assert!(ran.dropped <= 12, "{ran:?}");
        let about = acquisitions / 8..acquisitions * 4;
        assert!(about.contains(&ran.stand_for), "{ran:?}");
    }

    #[test]
    fn once_somebody_reads_again_as_many_are_drawn_as_before() {
        let draws = Draws::default();
        run(&draws, 100_000, 10, |_, waiting| waiting);
        let ran = run(&draws, 1_000_000, 10, |_, _| 0);
        assert!(ran.drawn > 50_000, "{ran:?}");
        // The first was drawn before.
        assert_eq!((ran.as_told, ran.dropped), (ran.drawn - 1, 0));
    }

    /// The reader comes once in a thousand acquisitions, of which twenty should be sampled.
    #[test]
    fn samples_stand_for_all_acquisitions_though_the_reader_is_late() {
        let acquisitions = 2_000_000;
        let ran = run(&Draws::default(), acquisitions, 50, |number, waiting| {
            if number % 1_000 == 0 { 0 } else { waiting }
        });
        assert!(ran.dropped * 50 < ran.drawn, "{ran:?}");
        let share = f64::from(ran.stand_for) / f64::from(acquisitions);
        assert!((0.9..1.1).contains(&share), "{ran:?}");
    }

    #[test]
    fn a_thread_that_locks_seldom_again_does_not_count_to_the_end_of_a_great_number() {
        let draws = Draws::default();
        draws.draw(Some(MOST_OF), 0, u64::from(MOST_OF));
        let ran = run(&draws, 100_000, 1_000, |_, _| 0);
        assert!(ran.drawn > 50, "{ran:?}");
    }

    #[test]
    fn what_is_drawn_is_set_aside_and_gone_on_by() {
        let draws = Draws::default();
        draws.draw(Some(8), 0, 0);
        // The fifth from here on.
        draws.draw(Some(8), 0, 4);
        let kept = draws.clone();
        draws.go_far();
        for _ in 0..1_000 {
            assert!(draws.is_far());
            draws.pass();
        }
        draws.go_on(&kept);
        for _ in 0..4 {
            assert!(draws.is_far());
            draws.pass();
        }
        assert!(!draws.is_far() && draws.draw(Some(8), 0, 4).is_some());
    }

    #[test]
    fn a_reader_that_wants_no_samples_is_asked_again() {
        let draws = Draws::default();
        draws.draw(Some(1), 0, 0);
        // This one was drawn before.
        assert_eq!(draws.draw(None, 0, 0), None);
        for _ in 1..ASKED_AFTER {
            assert!(draws.is_far());
            draws.pass();
        }
        assert_eq!(draws.draw(None, 0, 0), None);
        assert_eq!(Chance::doubled(1 << 20, MOST_DOUBLED).of, MOST_OF);
    }
}
