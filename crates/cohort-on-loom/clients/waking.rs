//! Mutexes for tasks: every task acquires, by future, by call or by try.

use crate::locks::basic::Tas;
use crate::locks::door::{AtomicU32, Order, Spinner, Strength, yield_now};
use crate::locks::wait::WaitCell;
use crate::locks::{Abortable, Mutex, Patience, RawTry, ThreadOblivious, Waking};
use crate::world::{Kept, soon, together};
use std::cell::UnsafeCell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A mutex for tasks, and one wake-up word per thread's task.
struct Tasks<L> {
    data: Mutex<u64, Waking<L>>,
    rung: Vec<WaitCell>,
}

/// Wakes a thread's task. It tries the mutex first, like an executor that runs the task at once.
struct Bell<L> {
    of: Arc<Tasks<L>>,
    thread: usize,
}

/// Publishes the effects before the wake-up to the task.
pub(super) const RING: Order = Order::named("a client's bell", Strength::Release);
/// Acquires them.
pub(super) const RUNG: Order = Order::named("a client's task that is woken", Strength::Acquire);

impl<L: RawTry + 'static> Wake for Bell<L> {
    fn wake(self: Arc<Self>) {
        let _ = self.of.data.try_locking(|_| ());
        self.of.rung[self.thread].set(1, RING);
    }
}

/// A future that is not dropped if its thread fails.
pub(super) struct Polled<F>(Kept<UnsafeCell<F>>);

impl<F: Future> Polled<F> {
    pub(super) fn new(future: F) -> Self {
        Self(Kept::new(UnsafeCell::new(future)))
    }

    pub(super) fn poll(&self, waker: &Waker) -> Poll<F::Output> {
        // SAFETY: one thread owns it and polls once at a time; it does not move.
        let future = unsafe { Pin::new_unchecked(&mut *self.0.get()) };
        future.poll(&mut Context::from_waker(waker))
    }
}

/// Increments the counter; returns its new value.
fn count(counted: &mut u64) -> u64 {
    *counted += 1;
    *counted
}

impl<L: RawTry + ThreadOblivious + 'static> Tasks<L> {
    fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            data: Mutex::from(0),
            rung: (0..threads).map(|_| WaitCell::default()).collect(),
        })
    }

    /// Increments from that thread's task with the mutex locked, and blocks until done.
    fn block_on(self: &Arc<Self>, thread: usize) -> u64 {
        let bell = Bell {
            of: Arc::clone(self),
            thread,
        };
        let waker = Waker::from(Arc::new(bell));
        let future = Polled::new(self.data.lock_async());
        loop {
            if let Poll::Ready(mut guard) = future.poll(&waker) {
                return count(&mut guard);
            }
            self.rung[thread].wait_for(RUNG, 1, |rung| rung != 0);
            self.rung[thread].reset(0);
        }
    }
}

/// Checks that each of the counts occurs once.
pub(super) fn expect_each(mut found: Vec<u64>) {
    found.sort_unstable();
    let each: Vec<_> = (1..=found.len() as u64).collect();
    assert_eq!(found, each, "guards and sections exclude each other");
}

/// The tasks of the first `waiting` threads wait for the mutex; the other threads lock it directly.
pub fn waits<L: RawTry + ThreadOblivious + 'static>(threads: usize, waiting: usize) {
    let tasks = Tasks::<L>::new(threads);
    let found = together(threads, move |thread| {
        if thread < waiting {
            tasks.block_on(thread)
        } else {
            tasks.data.locking(count)
        }
    });
    found.into_iter().for_each(expect_each);
}

/// Like [`waits`], beside threads that try, and on failure lock with a deadline.
pub fn waits_beside_hurried<L>(threads: usize, waiting: usize)
where
    L: RawTry + Abortable + ThreadOblivious + 'static,
{
    let tasks = Tasks::<L>::new(threads);
    let found = together(threads, move |thread| {
        if thread < waiting {
            return Some(tasks.block_on(thread));
        }
        let tried = tasks.data.try_locking(count);
        tried.or_else(|| (tasks.data).locking_within(&Patience::until(soon()), count))
    });
    let counted = found.map(|found| found.into_iter().flatten().collect());
    counted.into_iter().for_each(expect_each);
}

/// The second thread keeps a polled future without polling it again, and waits by another. The
/// first thread, which unlocks twice, wakes both.
pub fn passes_over_unpolled<L: RawTry + ThreadOblivious + 'static>() {
    let shared = Arc::new((Tasks::<L>::new(2), AtomicU32::new(0)));
    let found = together(2, move |thread| {
        let (tasks, stage) = &*shared;
        if thread == 0 {
            let found = tasks.data.locking(|counted| {
                stage.store(1, Order::RELAXED);
                until(stage, 2);
                count(counted)
            });
            tasks.data.locking(|_| ());
            return found;
        }
        until(stage, 1);
        let unpolled = Polled::new(tasks.data.lock_async());
        drop(unpolled.poll(Waker::noop()));
        stage.store(2, Order::RELAXED);
        let found = tasks.block_on(thread);
        drop(unpolled);
        found
    });
    found.into_iter().for_each(expect_each);
}

/// Blocks until the stage is reached.
fn until(stage: &AtomicU32, reached: u32) {
    let mut spinner = Spinner::new();
    while stage.load(Order::RELAXED) < reached {
        spinner.turn();
    }
}

/// The last thread's task drops its future while it waits or just after its wake-up. All other
/// threads acquire, the first `waiting` by tasks.
pub fn drops_what_waits<L: RawTry + ThreadOblivious + 'static>(threads: usize, waiting: usize) {
    let tasks = Tasks::<L>::new(threads);
    let found = together(threads, move |thread| {
        if thread + 1 == threads {
            let dropped = Polled::new(tasks.data.lock_async());
            drop(dropped.poll(Waker::noop()));
            yield_now();
            drop(dropped);
            None
        } else if thread < waiting {
            Some(tasks.block_on(thread))
        } else {
            Some(tasks.data.locking(|counted| {
                yield_now();
                count(counted)
            }))
        }
    });
    let counted = found.map(|found| found.into_iter().flatten().collect());
    counted.into_iter().for_each(expect_each);
}

/// A waker that records its calls.
pub(super) struct Notes {
    pub(super) which: u32,
    pub(super) order: Arc<Mutex<Vec<u32>, Tas>>,
}

impl Wake for Notes {
    fn wake(self: Arc<Self>) {
        self.order.locking(|order| order.push(self.which));
    }
}

/// Two futures are polled in either order and woken. The first is woken first each time, and keeps
/// its position if its poll fails.
pub fn keeps_places<L: RawTry + ThreadOblivious + 'static>() {
    together(1, |_| {
        let data: Arc<Mutex<u64, Waking<L>>> = Arc::new(Mutex::from(0));
        let order = Arc::new(Mutex::<_, Tas>::from(Vec::new()));
        let wakers = [1, 2].map(|which| {
            let order = Arc::clone(&order);
            Waker::from(Arc::new(Notes { which, order }))
        });
        let futures = [1, 2].map(|_| Polled::new(data.lock_async()));
        for turns in [[0, 1], [1, 0]] {
            data.locking(|_| {
                for which in turns {
                    assert!(futures[which].poll(&wakers[which]).is_pending());
                }
            });
        }
        // The first future is woken but not polled.
        data.locking(|_| ());
        let woken = order.locking(|order| order.clone());
        assert_eq!(woken, [1, 1, 2], "a place is kept");
        for (future, waker) in futures.iter().zip(&wakers) {
            assert!(future.poll(waker).is_ready());
        }
    });
}

/// A woken future is dropped: the next one is woken.
pub fn passes_a_call_on<L: RawTry + ThreadOblivious + 'static>() {
    together(1, |_| {
        let data: Mutex<u64, Waking<L>> = Mutex::from(0);
        let order = Arc::new(Mutex::<_, Tas>::from(Vec::new()));
        let notes = Notes {
            which: 1,
            order: Arc::clone(&order),
        };
        let waker = Waker::from(Arc::new(notes));
        // Its memory stays valid, so a stale pointer to it does no harm.
        let mut dropped = pin!(Some(data.lock_async()));
        let future = Polled::new(data.lock_async());
        data.locking(|_| {
            let dropped = dropped.as_mut().as_pin_mut().expect("it is there");
            let polled = dropped.poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            assert!(future.poll(&waker).is_pending());
        });
        dropped.set(None);
        let woken = order.locking(|order| order.clone());
        assert_eq!(woken, [1], "a call is passed on");
        assert!(future.poll(&waker).is_ready());
    });
}
