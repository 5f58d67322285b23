//! Sleep, by a table of sleepers under their words' addresses: a futex of the standard library's
//! mutexes and condition variables.
//!
//! A bucket of the table has a queue of sleepers, the oldest first, behind a mutex.
//!
//! | | under the bucket's mutex |
//! |---|---|
//! | sleep | compares the word, and joins the queue |
//! | wake | takes sleepers out of the queue, and tells each |
//! | move | compares the word, and puts a sleeper into another queue, under both mutexes |
//! | time out | leaves the queue, unless a waker has taken the sleeper out |
//!
//! **No wake-up is lost.** A waker changes the word before it wakes. If it has the mutex after the
//! sleeper, it finds the sleeper in the queue. If before, the sleeper sees the changed word, since
//! the mutex orders the two. A waker may also find, by another word, that there is no sleeper, and
//! never take the mutex: [`PARK_COMPARE`] is for that.
//!
//! **No wake-up is spent twice.** A sleeper that is out of the queue has been woken, even if its
//! deadline passes meanwhile.
//!
//! Sleepers do not use `std::thread::park`: it might take a permit that the program has given the
//! thread for itself.

use super::super::Slept;
use super::system::left;
use super::{AtomicU32, fence, std};
use crate::door::{Order, orders};
use cohort_raw::{Clock, Deadline};
use core::ptr;
use core::time::Duration;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

orders! {
    /// A waker that stores to the word, passes a fence, and finds no mark of a sleeper: the sleeper,
    /// which has set its mark before, sees the store. The kernel has this fence natively.
    PARK_COMPARE = SeqCst;
}

/// Buckets; words with addresses of one bucket share its mutex.
const BUCKETS: usize = 256;

/// How long a sleep on the realtime clock lasts before that is read again: it may be set.
const REALTIME: Duration = Duration::from_millis(100);

/// A thread's sleep.
#[derive(Default)]
struct Sleeper {
    woken: Mutex<bool>,
    wakes: Condvar,
    /// The address that it sleeps at. Written under the mutexes of the old and the new one.
    at: AtomicUsize,
}

/// A sleeper in a queue.
struct ParkedWaiter {
    at: usize,
    bits: u32,
    sleeper: Arc<Sleeper>,
}

/// The sleepers at the addresses of a bucket, the oldest first. On lines of its own.
#[repr(align(128))]
struct Bucket(Mutex<Vec<ParkedWaiter>>);

type Queue = MutexGuard<'static, Vec<ParkedWaiter>>;

static TABLE: [Bucket; BUCKETS] = [const { Bucket(Mutex::new(Vec::new())) }; BUCKETS];

/// No code under these mutexes leaves anything undone when it panics.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The index of an address's bucket.
fn bucket_of(at: usize) -> usize {
    // Fibonacci's hash spreads addresses that differ in their middle bits only.
    let spread = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread >> (u64::BITS - BUCKETS.ilog2())) as usize
}

fn queue_of(at: usize) -> Queue {
    locked(&TABLE[bucket_of(at)].0)
}

/// Whether the word holds `expected`; called under its bucket's mutex.
fn holds(word: &AtomicU32, expected: u32) -> bool {
    fence(PARK_COMPARE);
    word.load(Order::RELAXED) == expected
}

impl Sleeper {
    fn wake(&self) {
        *locked(&self.woken) = true;
        self.wakes.notify_one();
    }

    /// Blocks until woken, or until the deadline; whether it was woken.
    fn sleep(&self, deadline: Option<&Deadline>) -> bool {
        let mut woken = locked(&self.woken);
        while !*woken {
            let Some(deadline) = deadline else {
                woken = self
                    .wakes
                    .wait(woken)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = left(deadline);
            if left.is_zero() {
                return false;
            }
            let most = match deadline.clock {
                Clock::Monotonic => left,
                Clock::Realtime => left.min(REALTIME),
            };
            let waited = self.wakes.wait_timeout(woken, most);
            (woken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// Leaves its queue; false if a waker has taken it out.
    fn leave(self: &Arc<Self>) -> bool {
        loop {
            let at = self.at.load(Ordering::Relaxed);
            let mut queue = queue_of(at);
            // Moved before this thread had the mutex; not while it has.
            if self.at.load(Ordering::Relaxed) != at {
                continue;
            }
            let place = queue
                .iter()
                .position(|place| Arc::ptr_eq(&place.sleeper, self));
            return place.map(|place| queue.remove(place)).is_some();
        }
    }
}

/// Sleeps while `word` holds `expected`, until woken through one of `bits` or the deadline passes.
#[must_use]
#[inline(never)]
pub fn sleep_on(word: &AtomicU32, expected: u32, bits: u32, deadline: Option<&Deadline>) -> Slept {
    let at = ptr::from_ref(word).addr();
    let sleeper = Arc::new(Sleeper {
        at: AtomicUsize::new(at),
        ..Sleeper::default()
    });
    let mut queue = queue_of(at);
    if !holds(word, expected) {
        return Slept::Again;
    }
    queue.push(ParkedWaiter {
        at,
        bits,
        sleeper: Arc::clone(&sleeper),
    });
    drop(queue);
    if sleeper.sleep(deadline) || !sleeper.leave() {
        Slept::Woken
    } else {
        Slept::TimedOut
    }
}

/// Wakes up to `count` sleepers that share one of `bits`, the oldest first; returns how many.
///
/// Takes a pointer because the word's memory may be in other use by then: the address is only a
/// name, and an unrelated sleeper woken there looks again.
#[inline(never)]
pub fn wake(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    let at = word.addr();
    let mut queue = queue_of(at);
    let mut left = count;
    let is_next = |place: &mut ParkedWaiter| {
        let is_next = left > 0 && place.at == at && place.bits & bits != 0;
        left -= u32::from(is_next);
        is_next
    };
    let woken: Vec<ParkedWaiter> = queue.extract_if(.., is_next).collect();
    drop(queue);
    woken.iter().for_each(|place| place.sleeper.wake());
    woken.len()
}

/// Moves one sleeper on `word`, if that holds `expected`, to `to`, behind all others there and with
/// its own bits and deadline; returns whether there was one. The effect is as if it had gone to
/// sleep there.
///
/// `to` is a name only, as in [`wake`].
#[must_use]
pub fn move_sleeper(word: &AtomicU32, expected: u32, to: *const AtomicU32) -> bool {
    let (from, to) = (ptr::from_ref(word).addr(), to.addr());
    let (mut source, mut target) = both(bucket_of(from), bucket_of(to));
    if !holds(word, expected) {
        return false;
    }
    let Some(first) = source.iter().position(|place| place.at == from) else {
        return false;
    };
    let mut place = source.remove(first);
    place.at = to;
    place.sleeper.at.store(to, Ordering::Relaxed);
    target.as_mut().unwrap_or(&mut source).push(place);
    true
}

/// The queues of two buckets; the second is `None` if they are one. Locked in the table's order, so
/// that two threads do not wait for each other.
fn both(source: usize, target: usize) -> (Queue, Option<Queue>) {
    let lock = |bucket: usize| locked(&TABLE[bucket].0);
    if source == target {
        (lock(source), None)
    } else if source < target {
        let source = lock(source);
        (source, Some(lock(target)))
    } else {
        let target = lock(target);
        (lock(source), Some(target))
    }
}

/// [`sleep_on`]: words that several processes map are none here.
#[must_use]
pub fn sleep_on_shared(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
) -> Slept {
    sleep_on(word, expected, bits, deadline)
}

/// [`wake`], likewise.
pub fn wake_shared(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    wake(word, count, bits)
}
