//! Time and sleep: a futex and clocks.
//!
//! The sleeper's comparison and its joining the queue are one step, as in the
//! kernel, and give no order to anything else: a wake-up that was the only
//! happens-before edge of a lock would be reported.  Nobody is woken by chance,
//! so a lost wake-up shows as a deadlock.
//!
//! A thread that sleeps with a deadline may time out at any moment: its clock
//! jumps there.

use super::super::{AtomicU32, Slept};
use super::execution::{Sleeper, give_way, leave_if_ended, touch_kernel, unwind, with};
use super::{std, trace};
use cohort_raw::Deadline;
use core::panic::Location;
use std::format;

/// Nanoseconds on the thread's clock, which moves at each question by as much as
/// the model says.
#[must_use]
pub fn now() -> u64 {
    with(|execution| {
        let pace = execution.settings.nanoseconds_per_look;
        let me = execution.me();
        me.clock += pace;
        me.clock
    })
}

fn nanoseconds(deadline: &Deadline) -> u64 {
    deadline.seconds as u64 * 1_000_000_000 + u64::from(deadline.nanoseconds)
}

/// Whether `deadline` has passed on the thread's clock; which of the clocks it
/// names is all one here.
#[must_use]
pub fn expired(deadline: &Deadline) -> bool {
    with(|execution| execution.me().clock >= nanoseconds(deadline))
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
            return Slept::Woken;
        }
        with(|execution| {
            let clock = &mut execution.me().clock;
            *clock = (*clock).max(nanoseconds(deadline));
        });
        return Slept::TimedOut;
    }
    loop {
        leave_if_ended();
        let (woken, abandoned) = with(|execution| {
            let woken = execution
                .sleepers
                .iter()
                .any(|sleeper| sleeper.thread == me && sleeper.woken);
            assert!(
                woken || execution.abandoned || !execution.all_sleep(),
                "deadlock: every thread sleeps for ever"
            );
            (woken, execution.abandoned)
        });
        if abandoned {
            unwind();
        }
        if woken {
            end_sleep(me);
            with(|execution| execution.event());
            return Slept::Woken;
        }
        give_way();
    }
}

/// Takes the thread out of the queue; whether it had been woken.
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

/// Wakes up to `count` sleepers that share one of `bits`, those that came first;
/// returns how many.
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
            .map(|sleeper| sleeper.woken = true)
            .count()
    });
    trace::note(with(|execution| execution.current), place, || {
        format!("woke {woken}")
    });
    woken
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
