//! Whether the CPUs are oversubscribed (*crowded*), for [`glk`](super::glk).  The answer changes
//! slowly, so that locks do not change modes whenever a thread falls asleep (Antić et al. 2016 §3;
//! details left open there follow the authors' release).
//!
//! In the paper, a thread of its own looks every hundred microseconds.  Here a lock's holder looks
//! if the last look is that old.  So an uncontended process pays nothing, has no additional thread,
//! and a forked child has none to restart.
//!
//! | bits of `word` | meaning |
//! |---|---|
//! | `CROWDED` | the answer |
//! | `QUIET` | consecutive rounds of a crowd with enough CPUs |
//! | `NEEDED` | how many such rounds end the crowd; 0: there has been none yet |
//! | `STAMP` | the time of the last look, in rounds |
//!
//! The looking thread changes the word in one exchange, and gives up if another thread was first.
//! The thread that changed the answer writes the other fields, which are inexact.  No access here
//! orders another.

use crate::door::{
    AtomicU32, AtomicU64, Order, constructor, cpus, mutant, now, policies, process_wide,
    threads_lack_cpus, workload,
};

policies! {
    /// A queue shows no crowd, whatever its length.
    IGNORE_QUEUE = "crowd.ignore-queue";
    /// The load shows no crowd.
    IGNORE_LOAD = "crowd.ignore-load";
}

/// The rounds that end a crowd: at first, and at most.
const FEWEST: u64 = 4;
const MOST: u64 = 8_192;

/// Each return of the crowd multiplies the needed rounds by this; each round without a crowd
/// subtracts 1.
const AGAIN: u64 = 4;

/// A crowd begins with `MORE` runnable tasks above the number of CPUs, and may end with `FEWER`
/// below it, in a lock's queue too.
const MORE: i64 = 2;
const FEWER: u32 = 5;

/// The CPUs of the largest machine.
pub(super) const MOST_CPUS: u32 = 8_192;

/// The length of a round, as a power of two of nanoseconds: about 0.13 ms.
const ROUND: u32 = 17;

/// Above this many changes in a second, the crowd stays for a second, then for two, and so on.
const CHANGES: u32 = 8;
const SECOND: u32 = (1_000_000_000u64 >> ROUND) as u32;
const LONGEST_SECONDS: u32 = 32;

const CROWDED: u64 = 1;
const QUIET_SHIFT: u32 = 1;
const NEEDED_SHIFT: u32 = 16;
const STAMP_SHIFT: u32 = 32;
const FIFTEEN_BITS: u64 = 0x7fff;

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// CPUs are lacking.
    Crowd,
    /// Neither.
    Between,
    /// There are enough CPUs.
    Quiet,
}

/// An answer, shared by all threads with the same question; all zero when new.
#[derive(Debug, Default)]
pub struct Crowd {
    word: AtomicU64,
    /// How often the answer changed recently, encoded as [`Changes`].
    changes: AtomicU64,
    /// Until when the crowd stays.
    until: AtomicU32,
}

process_wide!(static OF_MACHINE: Crowd = Crowd::new);
process_wide!(static OF_PROCESS: Crowd = Crowd::new);

/// Whether this machine has more runnable tasks than CPUs (Antić et al. 2016 §3); `is_longer`
/// compares the queue of the caller's lock with a length.
#[must_use]
pub fn is_machine_crowded(is_longer: impl Fn(u32) -> bool) -> bool {
    OF_MACHINE.get().is_there(is_longer, || match workload() {
        Some((tasks, cpus)) if tasks > cpus + MORE && !mutant(policy::IGNORE_LOAD) => Found::Crowd,
        Some((tasks, cpus)) if tasks < cpus - i64::from(FEWER) => Found::Quiet,
        Some(_) | None => Found::Between,
    })
}

/// Whether threads of this process lack CPUs: on the CPUs that it may use, whatever the load of the
/// others.  `is_longer` as in [`is_machine_crowded`].
#[must_use]
pub fn is_process_crowded(is_longer: impl Fn(u32) -> bool) -> bool {
    OF_PROCESS
        .get()
        .is_there(is_longer, || match threads_lack_cpus() {
            Some(true) => Found::Crowd,
            Some(false) => Found::Quiet,
            None => Found::Between,
        })
}

impl Crowd {
    constructor! {
        /// No crowd so far.
        fn new() -> Self {
            Self {
                word: AtomicU64::new(0),
                changes: AtomicU64::new(0),
                until: AtomicU32::new(0),
            }
        }
    }

    /// The last answer.
    fn was_there(&self) -> bool {
        self.word.load(Order::RELAXED) & CROWDED != 0
    }

    /// The answer; `is_longer` compares the queue of the caller's lock with a length.  A queue
    /// longer than the number of CPUs is a crowd.  Otherwise `look` decides, if the last look is a
    /// round ago.  A crowd stays while the queue is nearly as long: its sleepers are in no load.
    pub fn is_there(&self, is_longer: impl Fn(u32) -> bool, look: impl FnOnce() -> Found) -> bool {
        let word = self.word.load(Order::RELAXED);
        let stamp = (now() >> ROUND) as u32;
        let rounds = stamp.wrapping_sub((word >> STAMP_SHIFT) as u32);
        let was = word & CROWDED != 0;
        if rounds == 0 && was {
            return true;
        }
        let cpus = cpus().min(MOST_CPUS);
        let is_longer = |length| is_longer(length) && !mutant(policy::IGNORE_QUEUE);
        let found = if is_longer(cpus) {
            Found::Crowd
        } else if rounds == 0 {
            return false;
        } else {
            match look() {
                Found::Quiet if was && cpus > FEWER && is_longer(cpus - FEWER) => Found::Between,
                found => found,
            }
        };
        let stays = self
            .until
            .load(Order::RELAXED)
            .wrapping_sub(stamp)
            .cast_signed()
            > 0;
        let state = State::of(word).after(found, u64::from(rounds), stays);
        let changed = state.word() | u64::from(stamp) << STAMP_SHIFT;
        let mine = self
            .word
            .compare_exchange(word, changed, Order::RELAXED, Order::RELAXED)
            .is_ok();
        if mine && (word ^ changed) & CROWDED != 0 {
            self.note_change(stamp);
        }
        self.was_there()
    }

    fn note_change(&self, stamp: u32) {
        let (changes, stays) = Changes::of(self.changes.load(Order::RELAXED)).after(stamp);
        self.changes.store(changes.word(), Order::RELAXED);
        if let Some(rounds) = stays {
            self.until.store(stamp.wrapping_add(rounds), Order::RELAXED);
        }
    }
}

/// Changes of the answer in the second since `began`, and the last minimum duration of the crowd,
/// in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Changes {
    began: u32,
    count: u32,
    stayed: u32,
}

impl Changes {
    fn of(word: u64) -> Self {
        Self {
            began: (word >> 32) as u32,
            count: word as u32 >> 8,
            stayed: word as u32 & 0xff,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.began) << 32 | u64::from(self.count << 8 | self.stayed)
    }

    /// After one more change; with it the rounds that the crowd stays, if the change is one too
    /// many.
    fn after(self, stamp: u32) -> (Self, Option<u32>) {
        let more = if stamp.wrapping_sub(self.began) < SECOND {
            Self {
                count: self.count + 1,
                ..self
            }
        } else {
            Self {
                began: stamp,
                count: 1,
                ..self
            }
        };
        if more.count <= CHANGES {
            return (more, None);
        }
        let stayed = (2 * self.stayed).clamp(1, LONGEST_SECONDS);
        (Self { stayed, ..more }, Some(stayed * SECOND))
    }
}

/// The word's content without the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    crowded: bool,
    quiet: u64,
    needed: u64,
}

impl State {
    fn of(word: u64) -> Self {
        Self {
            crowded: word & CROWDED != 0,
            quiet: word >> QUIET_SHIFT & FIFTEEN_BITS,
            needed: word >> NEEDED_SHIFT & FIFTEEN_BITS,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.crowded) | self.quiet << QUIET_SHIFT | self.needed << NEEDED_SHIFT
    }

    /// After a look so many rounds later; `stays`: a crowd may not end yet.
    fn after(self, found: Found, rounds: u64, stays: bool) -> Self {
        match (self.crowded, found) {
            (false, Found::Crowd) => Self {
                crowded: true,
                quiet: 0,
                needed: (self.needed * AGAIN).clamp(FEWEST, MOST),
            },
            (false, _) if self.needed > FEWEST => Self {
                needed: self.needed.saturating_sub(rounds).max(FEWEST),
                ..self
            },
            (false, _) | (true, Found::Between) => self,
            (true, Found::Crowd) => Self { quiet: 0, ..self },
            (true, Found::Quiet) => {
                // The state before the first quiet look is unknown.
                let more = if self.quiet == 0 { 1 } else { rounds };
                let quiet = (self.quiet + more).min(self.needed);
                let crowded = stays || quiet < self.needed;
                Self {
                    crowded,
                    quiet: if crowded { quiet } else { 0 },
                    ..self
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: State = State {
        crowded: false,
        quiet: 0,
        needed: 0,
    };

    /// How many quiet rounds end a new crowd.
    fn lasts(mut state: State) -> (u64, State) {
        let mut rounds = 0;
        while state.crowded {
            state = State::of(state.after(Found::Quiet, 1, false).word());
            rounds += 1;
        }
        (rounds, state)
    }

    #[test]
    fn a_crowd_that_returns_stays_four_times_as_long_up_to_a_bound() {
        let mut state = CALM;
        for expected in [4, 16, 64, 256, 1024, 4096, 8192, 8192] {
            state = state.after(Found::Crowd, 1, false);
            assert!(state.crowded);
            let (rounds, after) = lasts(state);
            assert_eq!(rounds, expected);
            state = after;
        }
    }

    #[test]
    fn each_calm_round_takes_one_off() {
        let once = lasts(CALM.after(Found::Crowd, 1, false)).1;
        let twice = lasts(once.after(Found::Crowd, 1, false)).1;
        assert_eq!(twice.needed, 16);
        assert_eq!(twice.after(Found::Quiet, 5, false).needed, 11);
        assert_eq!(twice.after(Found::Between, 1_000, false).needed, 4);
    }

    #[test]
    fn between_changes_nothing_and_a_crowd_begins_the_count_again() {
        let crowd = CALM.after(Found::Crowd, 1, false);
        let quieter = crowd.after(Found::Quiet, 9, false);
        assert_eq!(quieter.quiet, 1);
        assert_eq!(quieter.after(Found::Between, 9, false), quieter);
        assert_eq!(quieter.after(Found::Crowd, 9, false).quiet, 0);
        assert!(!quieter.after(Found::Quiet, 9, false).crowded);
        assert!(quieter.after(Found::Quiet, 9, true).crowded);
    }

    // Atoms of the other worlds live inside their runs only.
    #[cfg(not(checker))]
    #[test]
    fn a_queue_longer_than_the_number_of_cpus_is_a_crowd_without_a_look() {
        let crowd = Crowd::default();
        let queue = |waiters| move |length| waiters > length;
        let between = || Found::Between;
        assert!(!crowd.is_there(queue(cpus()), between) && !crowd.was_there());
        for _ in 0..2 {
            let look = || unreachable!("the queue shows it");
            assert!(crowd.is_there(queue(cpus() + 1), look));
            assert!(crowd.was_there());
        }
    }

    #[test]
    fn many_changes_make_it_stay() {
        let mut changes = Changes::of(0);
        for _ in 0..CHANGES {
            let stays;
            (changes, stays) = changes.after(7 * SECOND);
            assert_eq!(stays, None);
        }
        for expected in [1, 2, 4, 8, 16, 32, 32] {
            let (after, stays) = changes.after(7 * SECOND);
            assert_eq!(stays, Some(expected * SECOND));
            changes = Changes::of(after.word());
        }
        assert_eq!(changes.after(8 * SECOND).1, None);
    }
}
