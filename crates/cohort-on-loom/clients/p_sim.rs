//! Announced operations apply to the data exactly once each, run on consistent data only, and
//! return to their own threads.

use crate::locks::delegation::PSim;
use crate::locks::delegation::p_sim::{Panicked, Seat};
use crate::locks::door::panic_on;
use crate::world::together;
use std::cell::Cell;
use std::mem;
use std::sync::{Arc, Mutex};

/// Two numbers that every operation keeps equal.
type Pair = (u64, u64);

type Pairs<const SEATS: usize> = PSim<Pair, u64, u64, SEATS>;

/// A seat with an unbounded lifetime.
type Own<const SEATS: usize> = Seat<'static, Pair, u64, u64, SEATS>;

std::thread_local! {
    /// Whether this thread has run an operation on inconsistent data. A panic would be caught.
    static TORN: Cell<bool> = const { Cell::new(false) };
}

/// Records an operation on wrong data.
fn note(is_torn: bool) {
    if is_torn {
        TORN.set(true);
    }
}

/// Adds to both numbers.
fn add(pair: &mut Pair, by: u64) -> u64 {
    note(pair.0 != pair.1);
    pair.0 += by;
    pair.1 += by;
    pair.0
}

/// [`add`] for operations that add one.
fn add_one(pair: &mut Pair, by: u64) -> u64 {
    note(by != 1);
    add(pair, by)
}

/// [`add`] for operations that add two.
fn add_two(pair: &mut Pair, by: u64) -> u64 {
    note(by != 2);
    add(pair, by)
}

/// Panics in the middle of an addition.
fn break_off(pair: &mut Pair, by: u64) -> u64 {
    pair.0 += by;
    panic_on(Box::new("on purpose"))
}

/// Adds one or two alternately; returns the answer and the amount.
fn add_in_turn<const SEATS: usize>(
    seat: &mut Seat<'_, Pair, u64, u64, SEATS>,
    turn: u64,
) -> (u64, u64) {
    let by = 1 + turn % 2;
    let operation: fn(&mut Pair, u64) -> u64 = if by == 1 { add_one } else { add_two };
    let answer = seat.apply(by, operation);
    assert!(!TORN.get(), "an operation is run on whole data");
    (answer, by)
}

/// Checks that each answer is the sum after its operation: in some order they chain up to the
/// present sum.
fn are_answered<const SEATS: usize>(of: &Pairs<SEATS>, mut answers: Vec<(u64, u64)>) {
    answers.sort_unstable();
    let mut sum = 0;
    for (answer, by) in answers {
        sum += by;
        assert_eq!(answer, sum, "each operation is applied once");
    }
    let mut seat = of.seat().expect("all slots are free");
    let found = seat.apply(0, add);
    assert_eq!(found, sum, "the last operation is in the data");
    assert!(!TORN.get(), "an operation is run on whole data");
}

/// Data with a seat for each thread. The seats are taken before there are threads, so that only
/// operations order the threads.
struct Seated<const SEATS: usize> {
    /// Declared before the data that they refer to, to be dropped first.
    seats: Vec<Mutex<Option<Own<SEATS>>>>,
    of: Arc<Pairs<SEATS>>,
}

impl<const SEATS: usize> Seated<SEATS> {
    fn new(threads: usize, replaced: u64) -> Arc<Self> {
        TORN.set(false);
        let of = Arc::new(Pairs::<SEATS>::beginning_at((0, 0), replaced));
        let seats = (0..threads)
            .map(|_| {
                let seat = of.seat().expect("there are as many");
                // SAFETY: the data outlives the seats beside it.
                let seat =
                    unsafe { mem::transmute::<Seat<'_, Pair, u64, u64, SEATS>, Own<SEATS>>(seat) };
                Mutex::new(Some(seat))
            })
            .collect();
        Arc::new(Self { seats, of })
    }

    /// The seat of that thread, which must be dropped before the data.
    fn take(&self, thread: usize) -> Own<SEATS> {
        let mut seat = self.seats[thread].lock().expect("no thread panics there");
        seat.take().expect("each thread comes once")
    }
}

/// Each thread applies `rounds` operations to data that has been replaced `replaced` times.
pub fn adds<const SEATS: usize>(threads: usize, rounds: u64, replaced: u64) {
    let seated = Seated::<SEATS>::new(threads, replaced);
    let theirs = Arc::clone(&seated);
    let ended = together(threads, move |thread| {
        let mut seat = theirs.take(thread);
        let turns = thread as u64..thread as u64 + rounds;
        turns
            .map(|turn| add_in_turn(&mut seat, turn))
            .collect::<Vec<_>>()
    });
    if let Some(answers) = ended {
        are_answered(&seated.of, answers.concat());
    }
}

/// Each thread takes a seat for each operation, and leaves it.
pub fn comes_and_goes<const SEATS: usize>(threads: usize, rounds: u64) {
    TORN.set(false);
    let of = Arc::new(Pairs::<SEATS>::new((0, 0)));
    let theirs = Arc::clone(&of);
    let ended = together(threads, move |thread| {
        let turns = thread as u64..thread as u64 + rounds;
        turns
            .map(|turn| {
                let mut seat = theirs.seat().expect("no thread has two");
                add_in_turn(&mut seat, turn)
            })
            .collect::<Vec<_>>()
    });
    if let Some(answers) = ended {
        are_answered(&of, answers.concat());
    }
}

/// Every other thread's operation panics.
pub fn panics<const SEATS: usize>(threads: usize) {
    let seated = Seated::<SEATS>::new(threads, 0);
    let theirs = Arc::clone(&seated);
    let ended = together(threads, move |thread| {
        let mut seat = theirs.take(thread);
        if thread % 2 == 0 {
            return Some(add_in_turn(&mut seat, thread as u64));
        }
        let broken = seat.apply_caught(1, break_off);
        assert_eq!(broken, Err(Panicked), "its own thread is told so");
        None
    });
    if let Some(answers) = ended {
        are_answered(&seated.of, answers.into_iter().flatten().collect());
    }
}
