//! `near` hands over to the nearest waiter, keeps the order of the waiters it passes over, and
//! passes over each no more often than its bound.

use super::guest::Guest;
use super::{add_one, read, write};
use crate::locks::DetectsWaiters;
use crate::locks::door::{AtomicU32, Cell, Order, Spinner, distance, yield_now};
use crate::locks::numa::Near;
use crate::locks::numa::near::NearNode;
use crate::locks::wait::Parking;
use crate::world::together;
use std::sync::Arc;

/// The number of waiters that a critical section inspects.
const SEEN: usize = 16;

/// A waiter in the queue.
#[derive(Clone, Copy, Default)]
struct Waiter {
    node: usize,
    place: usize,
    /// How often it was passed over.
    passes: u32,
}

/// The waiters in the last critical section, oldest first, and its holder's place, if known.
#[derive(Clone, Copy, Default)]
struct Queue {
    waiters: [Waiter; SEEN],
    count: usize,
    holder: Option<usize>,
    most: u32,
}

impl Queue {
    fn waiters(&self) -> &[Waiter] {
        &self.waiters[..self.count]
    }

    /// The queue as seen by the new holder with that node, which was in this queue.
    fn goes_on<P: Parking>(&self, node: &NearNode<P>, bound: u8, fixed: bool) -> Self {
        let me = core::ptr::from_ref(node) as usize;
        let at = self.waiters().iter().position(|waiter| waiter.node == me);
        let mut now = Self {
            holder: at.map(|at| self.waiters[at].place),
            most: self.most,
            ..Self::default()
        };
        let mut stayed = self.waiters().to_vec();
        let before = at.unwrap_or(stayed.len());
        for waiter in &mut stayed[..before] {
            waiter.passes += 1;
            now.most = now.most.max(waiter.passes);
            assert!(
                waiter.passes <= u32::from(bound),
                "a waiter was passed over {} times",
                waiter.passes
            );
            if let (true, Some(from), Some(to)) = (fixed, self.holder, now.holder) {
                assert!(
                    distance(from, to) < distance(from, waiter.place),
                    "the lock went past one as near"
                );
            }
        }
        assert!(at.is_some() || self.count == 0, "a thread overtook");
        stayed.retain(|waiter| waiter.node != me);
        let mut add = |node: *const NearNode<P>, place: usize| {
            let node = node as usize;
            match stayed.get(now.count) {
                Some(waiter) => assert_eq!(waiter.node, node, "the order has changed"),
                None => stayed.push(Waiter {
                    node,
                    place,
                    passes: 0,
                }),
            }
            now.waiters[now.count] = stayed[now.count];
            now.count += 1;
        };
        // SAFETY: the caller's.
        unsafe { node.successors(&mut add) };
        assert_eq!(stayed.len(), now.count, "a thread is lost");
        now
    }
}

/// Each thread acquires `rounds[thread]` times; the first thread keeps the lock until `come` others
/// wait. Returns the largest number of times that a waiter was passed over.
///
/// With `fixed` distances, a waiter that is passed over must be farther away than the one chosen.
/// Distances are fixed unless the cohorts are set anew during the run.
pub fn prefers_the_nearest<P: Parking, const BOUND: u8, const THREADS: usize>(
    rounds: [u64; THREADS],
    come: u32,
    fixed: bool,
) -> Option<u32> {
    type Shared<P, const BOUND: u8> = (Near<P, BOUND>, AtomicU32, Cell<u64>, Cell<Queue>);
    let shared: Arc<Shared<P, BOUND>> = Arc::default();
    let theirs = Arc::clone(&shared);
    together(THREADS, move |thread| {
        let (lock, arrived, count, queue) = &*theirs;
        let guest = Guest::of(lock);
        for round in 0..rounds[thread] {
            if thread > 0 && round == 0 {
                arrived.fetch_add(1, Order::RELAXED);
            }
            guest.acquire();
            let mut spinner = Spinner::new();
            // SAFETY: the guest holds the lock, by its context.
            let is_waited_for = || unsafe { lock.has_waiters(guest.context()) };
            while thread == 0
                && round == 0
                && (arrived.load(Order::RELAXED) < come || !is_waited_for())
            {
                spinner.turn();
            }
            add_one(count);
            write(queue, read(queue).goes_on(guest.context(), BOUND, fixed));
            yield_now();
            guest.release();
        }
    })?;
    assert_eq!(
        read(&shared.2),
        rounds.iter().sum::<u64>(),
        "an acquisition was lost"
    );
    Some(read(&shared.3).most)
}
