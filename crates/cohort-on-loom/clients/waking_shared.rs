//! Rwlocks for tasks: every task acquires, readers share, and each wake goes to a task that can use
//! it.

use crate::clients::waking::{Notes, Polled, RING, RUNG, expect_each};
use crate::locks::basic::Tas;
use crate::locks::door::yield_now;
use crate::locks::rwlock::RawRwLock;
use crate::locks::wait::WaitCell;
use crate::locks::{Mutex, RawShared, RwLock, Waking};
use crate::world::together;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

type Data = RwLock<u64, Waking<RawRwLock>>;

/// An rwlock for tasks, and one wake-up word per thread's task.
struct Tasks {
    data: Data,
    rung: Vec<WaitCell>,
}

/// Wakes a thread's task. It tries the lock first, like an executor that runs the task at once.
struct Bell {
    of: Arc<Tasks>,
    thread: usize,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let raw = self.of.data.raw();
        // SAFETY: the lock has no contexts; acquired and released here.
        unsafe {
            if raw.try_write(&()) {
                raw.release_write(&());
            }
        }
        self.of.rung[self.thread].set(1, RING);
    }
}

impl Tasks {
    fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            data: RwLock::from(0),
            rung: (0..threads).map(|_| WaitCell::default()).collect(),
        })
    }

    /// Blocks until that thread's future is ready.
    fn block_on<F: Future>(self: &Arc<Self>, thread: usize, future: F) -> F::Output {
        let bell = Bell {
            of: Arc::clone(self),
            thread,
        };
        let waker = Waker::from(Arc::new(bell));
        let future = Polled::new(future);
        loop {
            if let Poll::Ready(result) = future.poll(&waker) {
                return result;
            }
            self.rung[thread].wait_for(RUNG, 1, |rung| rung != 0);
            self.rung[thread].reset(0);
        }
    }

    /// Increments from that thread's task; returns the new value.
    fn write(self: &Arc<Self>, thread: usize) -> u64 {
        let mut guard = self.block_on(thread, self.data.write_async());
        *guard += 1;
        *guard
    }

    /// Reads from that thread's task.
    fn read(self: &Arc<Self>, thread: usize) -> u64 {
        *self.block_on(thread, self.data.read_async())
    }
}

/// Checks the writers' results.
fn expect_writers(found: Option<Vec<Option<u64>>>) {
    let written = found.map(|found| found.into_iter().flatten().collect());
    written.into_iter().for_each(expect_each);
}

/// The tasks of the first `readers` threads read, those of the next `writers` write; the other
/// threads write without a task.
pub fn waits(threads: usize, readers: usize, writers: usize) {
    let tasks = Tasks::new(threads);
    expect_writers(together(threads, move |thread| {
        if thread < readers {
            let seen = tasks.read(thread);
            assert!(seen <= (threads - readers) as u64, "a torn read");
            None
        } else if thread < readers + writers {
            Some(tasks.write(thread))
        } else {
            Some(tasks.data.writing(|count| {
                *count += 1;
                *count
            }))
        }
    }));
}

/// The first thread's task writes beside threads that read without a task.
pub fn waits_beside_readers(threads: usize) {
    let tasks = Tasks::new(threads);
    expect_writers(together(threads, move |thread| {
        if thread == 0 {
            return Some(tasks.write(0));
        }
        let seen = tasks.data.reading(|count| *count);
        assert!(seen <= 1, "a torn read");
        None
    }));
}

/// The last thread's task drops its future, to read or to write, while it waits or just after its
/// wake-up; all other threads acquire, the second by a task that reads.
pub fn drops_what_waits(threads: usize, reads: bool) {
    let tasks = Tasks::new(threads);
    expect_writers(together(threads, move |thread| {
        if thread + 1 == threads {
            if reads {
                let dropped = Polled::new(tasks.data.read_async());
                drop(dropped.poll(Waker::noop()));
                yield_now();
            } else {
                let dropped = Polled::new(tasks.data.write_async());
                drop(dropped.poll(Waker::noop()));
                yield_now();
            }
            None
        } else if thread == 1 {
            tasks.read(thread);
            None
        } else {
            Some(tasks.data.writing(|count| {
                yield_now();
                *count += 1;
                *count
            }))
        }
    }));
}

/// Wakers that record the order of their calls.
struct Order(Arc<Mutex<Vec<u32>, Tas>>);

impl Order {
    fn new() -> Self {
        Self(Arc::new(Mutex::from(Vec::new())))
    }

    fn waker(&self, which: u32) -> Waker {
        let order = Arc::clone(&self.0);
        Waker::from(Arc::new(Notes { which, order }))
    }

    fn expect(&self, order: &[u32], why: &str) {
        let woken = self.0.locking(|order| order.clone());
        assert_eq!(woken, order, "{why}");
    }
}

/// Two readers wait for a writer, a second writer behind them: the readers are woken at once, the
/// writer by the last of them.
pub fn wakes_readers_together() {
    together(1, |_| {
        let (data, order) = (Arc::new(Data::from(0)), Order::new());
        let readers = [1, 2].map(|which| (Polled::new(data.read_async()), order.waker(which)));
        let writer = (Polled::new(data.write_async()), order.waker(3));
        data.writing(|_| {
            for (future, waker) in &readers {
                assert!(future.poll(waker).is_pending());
            }
            assert!(writer.0.poll(&writer.1).is_pending());
        });
        order.expect(&[1, 2], "both readers are woken, and no writer");
        let [first, second] = readers.map(|(future, waker)| {
            let Poll::Ready(guard) = future.poll(&waker) else {
                panic!("readers share the lock");
            };
            guard
        });
        drop(first);
        order.expect(&[1, 2], "a reader is left");
        drop(second);
        order.expect(&[1, 2, 3], "the last reader wakes the writer");
        assert!(writer.0.poll(&writer.1).is_ready());
    });
}

/// A writer waits for a reader, and a reader waits behind it: the writer is woken first. If its
/// future is dropped, the reader is woken while the first one reads.
pub fn stands_behind_writers(is_dropped: bool) {
    together(1, move |_| {
        let (data, order) = (Arc::new(Data::from(0)), Order::new());
        let Poll::Ready(guard) = Polled::new(data.read_async()).poll(Waker::noop()) else {
            panic!("a free lock is acquired");
        };
        let writer = Polled::new(data.write_async());
        let reader = Polled::new(data.read_async());
        assert!(writer.poll(&order.waker(1)).is_pending());
        assert!(reader.poll(&order.waker(2)).is_pending(), "it passes");
        if is_dropped {
            drop(writer);
            order.expect(&[2], "the reader waited for the writer alone");
            assert!(reader.poll(&order.waker(2)).is_ready());
            drop(guard);
            return;
        }
        drop(guard);
        order.expect(&[1], "one task is woken");
        drop(writer.poll(&order.waker(1)));
        order.expect(&[1, 2], "the writer wakes the reader");
        assert!(reader.poll(&order.waker(2)).is_ready());
    });
}

/// A writer is woken, and another reader acquires the lock first. The writer's future is dropped: the
/// reader behind it is woken beside the other.
pub fn leaves_no_reader_behind() {
    together(1, |_| {
        let (data, order) = (Arc::new(Data::from(0)), Order::new());
        let writer = Polled::new(data.write_async());
        let reader = Polled::new(data.read_async());
        data.writing(|_| {
            assert!(writer.poll(&order.waker(1)).is_pending());
            assert!(reader.poll(&order.waker(2)).is_pending());
        });
        order.expect(&[1], "one unlocking, one wake");
        let other = Polled::new(data.read_async());
        assert!(
            other.poll(Waker::noop()).is_pending(),
            "the writer is first"
        );
        let other = other.poll(Waker::noop());
        assert!(other.is_ready(), "the writer is not polled");
        drop(writer);
        order.expect(&[1, 2], "the reader waited for the writer alone");
        assert!(reader.poll(&order.waker(2)).is_ready());
    });
}

/// A writer is woken and never polled: a reader that arrives wakes itself and passes it.
pub fn passes_over_unpolled() {
    together(1, |_| {
        let (data, order) = (Arc::new(Data::from(0)), Order::new());
        let writers = [1, 2].map(|which| (Polled::new(data.write_async()), order.waker(which)));
        data.writing(|_| {
            for (future, waker) in &writers {
                assert!(future.poll(waker).is_pending());
            }
        });
        order.expect(&[1], "one unlocking, one wake");
        let (reader, waker) = (Polled::new(data.read_async()), order.waker(3));
        assert!(reader.poll(&waker).is_pending(), "the first may be polled");
        order.expect(&[1, 2, 3], "the first is not polled");
        assert!(reader.poll(&waker).is_ready(), "the lock is unused");
        order.expect(&[1, 2, 3], "both writers are called");
    });
}

/// The first thread's task reads, and drops its future to write before it unlocks; it unlocks once
/// the second thread's task has read, too.
pub fn reads_beside_dropped_writer() {
    let tasks = Tasks::new(2);
    together(2, move |thread| {
        if thread == 1 {
            tasks.read(1);
            tasks.rung[0].set(1, RING);
            return;
        }
        let Poll::Ready(guard) = Polled::new(tasks.data.read_async()).poll(Waker::noop()) else {
            panic!("no task writes");
        };
        let dropped = Polled::new(tasks.data.write_async());
        drop(dropped.poll(Waker::noop()));
        drop(dropped);
        tasks.rung[0].wait_for(RUNG, 1, |rung| rung != 0);
        drop(guard);
    });
}
