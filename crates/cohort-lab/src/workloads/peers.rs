//! Types of Rust programs, Cohort's and others': a mutex with a condition, and a rwlock.

use super::crowd::{Crowd, Member};
use super::{CachePadded, Outcome};
use std::ops::DerefMut;

/// Options of the loads.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Types
    #[arg(long, value_enum)]
    types: Types,
}

/// Where the types come from.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Types {
    /// The crate `cohort`
    Cohort,
    /// The crate `parking_lot`
    ParkingLot,
    /// Rust's standard library
    Std,
}

/// Owner of the turn of two threads, and whether one of them has ended.
#[derive(Default)]
struct Turn {
    second: bool,
    over: bool,
}

/// Family of such types.
trait Kit {
    type Mutex: Default + Sync;
    type Guard<'a>: DerefMut<Target = Turn>;
    type Condition: Default + Sync;
    type Shared: Default + Sync;

    fn lock(mutex: &Self::Mutex) -> Self::Guard<'_>;
    fn wait<'a>(condition: &Self::Condition, guard: Self::Guard<'a>) -> Self::Guard<'a>;
    fn notify(condition: &Self::Condition);
    fn read(shared: &Self::Shared) -> u64;
}

macro_rules! kit {
    ($kit:ident, $types:ident) => {
        struct $kit;

        impl Kit for $kit {
            type Mutex = $types::Mutex<Turn>;
            type Guard<'a> = $types::MutexGuard<'a, Turn>;
            type Condition = $types::Condvar;
            type Shared = $types::RwLock<u64>;

            #[inline]
            fn lock(mutex: &Self::Mutex) -> Self::Guard<'_> {
                mutex.lock()
            }

            #[inline]
            fn wait<'a>(
                condition: &Self::Condition,
                mut guard: Self::Guard<'a>,
            ) -> Self::Guard<'a> {
                condition.wait(&mut guard);
                guard
            }

            #[inline]
            fn notify(condition: &Self::Condition) {
                condition.notify_one();
            }

            #[inline]
            fn read(shared: &Self::Shared) -> u64 {
                *shared.read()
            }
        }
    };
}
kit!(Ours, cohort);
kit!(ParkingLot, parking_lot);

struct Std;

/// A panicking thread ends the load.
const POISONED: &str = "no thread has panicked";

impl Kit for Std {
    type Mutex = std::sync::Mutex<Turn>;
    type Guard<'a> = std::sync::MutexGuard<'a, Turn>;
    type Condition = std::sync::Condvar;
    type Shared = std::sync::RwLock<u64>;

    #[inline]
    fn lock(mutex: &Self::Mutex) -> Self::Guard<'_> {
        mutex.lock().expect(POISONED)
    }

    #[inline]
    fn wait<'a>(condition: &Self::Condition, guard: Self::Guard<'a>) -> Self::Guard<'a> {
        condition.wait(guard).expect(POISONED)
    }

    #[inline]
    fn notify(condition: &Self::Condition) {
        condition.notify_one();
    }

    #[inline]
    fn read(shared: &Self::Shared) -> u64 {
        *shared.read().expect(POISONED)
    }
}

/// Pairs of threads hand a turn to each other; a thread without a partner signals without waiters.
///
/// # Errors
/// A thread cannot be created.
pub fn turns(options: &Options) -> Result<Outcome, String> {
    match options.types {
        Types::Cohort => in_pairs::<Ours>(options),
        Types::ParkingLot => in_pairs::<ParkingLot>(options),
        Types::Std => in_pairs::<Std>(options),
    }
}

/// Threads read repeatedly.
///
/// # Errors
/// A thread cannot be created.
pub fn reads(options: &Options) -> Result<Outcome, String> {
    match options.types {
        Types::Cohort => reading::<Ours>(options),
        Types::ParkingLot => reading::<ParkingLot>(options),
        Types::Std => reading::<Std>(options),
    }
}

/// State shared by a pair of threads.
struct Pair<K: Kit> {
    turn: K::Mutex,
    changed: K::Condition,
}

impl<K: Kit> Default for Pair<K> {
    fn default() -> Self {
        Self {
            turn: K::Mutex::default(),
            changed: K::Condition::default(),
        }
    }
}

impl<K: Kit> Pair<K> {
    /// Waits for the turn of the second or the first, and hands it to the other; false if the other
    /// has ended.
    fn pass(&self, second: bool) -> bool {
        let mut turn = K::lock(&self.turn);
        while turn.second != second && !turn.over {
            turn = K::wait(&self.changed, turn);
        }
        let goes_on = !turn.over;
        turn.second = !second;
        drop(turn);
        K::notify(&self.changed);
        goes_on
    }

    /// Records that one of the two ends.
    fn leave(&self) {
        K::lock(&self.turn).over = true;
        K::notify(&self.changed);
    }

    fn signal(&self) {
        let mut turn = K::lock(&self.turn);
        turn.second = !turn.second;
        drop(turn);
        K::notify(&self.changed);
    }
}

fn in_pairs<K: Kit>(options: &Options) -> Result<Outcome, String> {
    let threads = usize::from(options.crowd.threads);
    let pairs: Vec<CachePadded<Pair<K>>> = (0..threads.div_ceil(2))
        .map(|_| CachePadded(Pair::default()))
        .collect();
    let pairs = &pairs;
    options.crowd.run(false, |index| {
        let (pair, is_alone) = (&pairs[index / 2].0, index ^ 1 >= threads);
        Ok(move |member: &mut Member| {
            if is_alone {
                pair.signal();
                while member.goes_on() {
                    pair.signal();
                }
            } else {
                while pair.pass(index % 2 == 1) && member.goes_on() {}
                pair.leave();
            }
        })
    })
}

fn reading<K: Kit>(options: &Options) -> Result<Outcome, String> {
    let shared = &CachePadded(K::Shared::default());
    options.crowd.run(false, |_| {
        Ok(move |member: &mut Member| {
            while member.goes_on() {
                std::hint::black_box(K::read(&shared.0));
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_types_get_on() {
        for types in [Types::Cohort, Types::ParkingLot, Types::Std] {
            for threads in [1, 2, 3] {
                let crowd = Crowd {
                    threads,
                    seconds: 0.02,
                };
                let options = Options { crowd, types };
                assert!(turns(&options).unwrap().operations > 0, "{types:?}");
                assert!(reads(&options).unwrap().operations > 0, "{types:?}");
            }
        }
    }
}
