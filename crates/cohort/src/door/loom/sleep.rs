//! Time and sleep: a futex and clocks.
//!
//! The sleeper's comparison and its joining the queue are one step, as in the kernel. A sleeper is
//! a blocked thread without spurious wake-ups, so a lost wake-up shows as a deadlock. A wake-up
//! publishes the waker's writes; spinning waiters show which orders a lock needs of its own.
//!
//! A sleeper with a deadline may time out at any moment: the clock jumps there. Otherwise the clock
//! advances as the model says at each look at it, and by a nanosecond at each failed poll; or its
//! hours [strike](hours).

use super::super::{AtomicU32, Slept};
use super::execution::{Sleeper, give_way, leave_if_ended, poll, touch_kernel, unwind, with};
use super::interrupt::waits;
use super::{hours, std, trace};
use cohort_raw::Deadline;
use core::panic::Location;
use std::format;

/// Nanoseconds on the clock.
#[must_use]
pub fn now() -> u64 {
    with(|execution| {
        execution.clock += execution.settings.nanoseconds_per_look;
        execution.clock
    })
}

/// Bits on which no execution depends: a model explores every schedule already.
#[must_use]
pub const fn random() -> u64 {
    0
}

fn nanoseconds(deadline: &Deadline) -> u64 {
    deadline.seconds as u64 * 1_000_000_000 + u64::from(deadline.nanoseconds)
}

/// Whether `deadline` has passed; all clocks are the same here.
#[must_use]
pub fn expired(deadline: &Deadline) -> bool {
    let at = nanoseconds(deadline);
    let (clock, strikes) = with(|execution| (execution.clock, execution.hours.is_some()));
    // The clock's origin has passed in any case.
    if strikes && at > 0 {
        return clock + 1 >= at && hours::are_over();
    }
    clock >= at
}

/// `None`, since a bound would hide a lost wake-up; except in a model whose threads may have [no
/// CPU](super::Model::starves).
#[must_use]
pub fn unless_starved(nanoseconds: u64) -> Option<Deadline> {
    with(|execution| {
        let at = execution.clock + nanoseconds;
        execution.settings.starves.then(|| Deadline::monotonic(at))
    })
}

/// Notes nothing.
pub const fn note(_object: *const AtomicU32, _time: u32) {}

/// `now`: a checker's backend has no table for objects to share by accident.
#[must_use]
pub const fn noted(_object: *const AtomicU32, now: u32) -> u32 {
    now
}

/// Lets other threads run first; the preceding failed look is already counted.
pub fn nap(_nanoseconds: u64) {
    give_way();
}

/// Lets other threads run first.
pub fn yield_now() {
    give_way();
}

/// Sleeps while `word` holds `expected`, until woken through one of `bits` or
/// the deadline passes.
#[must_use]
#[track_caller]
pub fn sleep_on(word: &AtomicU32, expected: u32, bits: u32, deadline: Option<&Deadline>) -> Slept {
    if std::thread::panicking() {
        return Slept::Again;
    }
    waits();
    touch_kernel(true);
    if word.latest() != expected {
        return Slept::Again;
    }
    let me = with(|execution| {
        let thread = execution.current;
        execution.sleepers.push(Sleeper {
            thread,
            address: core::ptr::from_ref(word) as usize,
            bits,
            parked: deadline.is_none().then(loom::thread::current),
            woken: false,
        });
        thread
    });
    let place = Location::caller();
    trace::note(me, place, || format!("asleep on {expected:#x}"));
    if let Some(deadline) = deadline {
        touch_kernel(true);
        leave_if_ended();
        if end_sleep(me) {
            word.latest();
            return Slept::Woken;
        }
        with(|execution| {
            execution.clock = execution.clock.max(nanoseconds(deadline));
            execution.me().overslept = true;
        });
        // A thread that polls instead of sleeping waits all the same.
        poll();
        return Slept::TimedOut;
    }
    if with(|execution| execution.abandoned) {
        unwind();
    }
    loom::thread::park();
    let abandoned = with(|execution| {
        execution.current = me;
        execution.abandoned
    });
    let woken = end_sleep(me);
    leave_if_ended();
    if abandoned {
        unwind();
    }
    assert!(woken, "a sleeper was roused for no reason");
    with(|execution| execution.event());
    Slept::Woken
}

/// How many threads sleep.
#[must_use]
pub fn asleep() -> usize {
    if std::thread::panicking() {
        return 0;
    }
    touch_kernel(false);
    with(|execution| {
        let sleepers = execution.sleepers.iter();
        sleepers.filter(|sleeper| !sleeper.woken).count()
    })
}

/// Takes the thread out of the queue; returns whether it had been woken.
fn end_sleep(me: usize) -> bool {
    with(|execution| {
        let index = execution
            .sleepers
            .iter()
            .position(|sleeper| sleeper.thread == me)
            .expect("a thread that sleeps is in the queue");
        execution.sleepers.remove(index).woken
    })
}

/// Wakes up to `count` sleepers that share one of `bits`, in FIFO order; returns how many.
#[track_caller]
pub fn wake(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    let place = Location::caller();
    if std::thread::panicking() {
        return 0;
    }
    leave_if_ended();
    touch_kernel(true);
    leave_if_ended();
    let woken = with(|execution| {
        execution
            .sleepers
            .iter_mut()
            .filter(|sleeper| {
                sleeper.address == word as usize && sleeper.bits & bits != 0 && !sleeper.woken
            })
            .take(count as usize)
            .map(|sleeper| {
                sleeper.woken = true;
                sleeper.rouse();
            })
            .count()
    });
    trace::note(with(|execution| execution.current), place, || {
        format!("woke {woken}")
    });
    woken
}

/// Moves one sleeper on `word`, if that holds `expected`, to `to`, behind all others there; returns
/// whether there was one.
#[must_use]
#[track_caller]
pub fn move_sleeper(word: &AtomicU32, expected: u32, to: *const AtomicU32) -> bool {
    let place = Location::caller();
    if std::thread::panicking() {
        return false;
    }
    leave_if_ended();
    touch_kernel(true);
    leave_if_ended();
    let from = core::ptr::from_ref(word) as usize;
    let moved = word.latest() == expected
        && with(|execution| {
            let sleepers = &mut execution.sleepers;
            let first = sleepers
                .iter()
                .position(|sleeper| sleeper.address == from && !sleeper.woken);
            if let Some(first) = first {
                let mut sleeper = sleepers.remove(first);
                sleeper.address = to as usize;
                sleepers.push(sleeper);
            }
            first.is_some()
        });
    trace::note(with(|execution| execution.current), place, || {
        format!("moved a sleeper: {moved}")
    });
    moved
}

/// [`sleep_on`], for a word that other processes map too; there are none here.
#[must_use]
pub fn sleep_on_shared(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
) -> Slept {
    sleep_on(word, expected, bits, deadline)
}

/// [`wake`], for a word that other processes map too.
pub fn wake_shared(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    wake(word, count, bits)
}
