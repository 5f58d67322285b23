//! An unchanged program written for `parking_lot` 0.13.

use parking_lot::lock_api::RawRwLock as _;
use parking_lot::{
    Condvar, FairMutex, MappedMutexGuard, Mutex, MutexGuard, Once, OnceState, RawRwLockRecursive,
    RecursiveRwLock, RecursiveRwLockReadGuard, ReentrantMutex, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// A queue that blocks while it is empty.
#[derive(Default)]
struct Queue<T> {
    items: Mutex<VecDeque<T>>,
    filled: Condvar,
}

impl<T> Queue<T> {
    fn push(&self, item: T) {
        self.items.lock().push_back(item);
        self.filled.notify_one();
    }

    fn pop(&self) -> T {
        let mut items = self.items.lock();
        self.filled.wait_while(&mut items, |items| items.is_empty());
        items.pop_front().expect("it is not empty")
    }

    fn pop_within(&self, timeout: Duration) -> Option<T> {
        let deadline = Instant::now() + timeout;
        let mut items = self.items.lock();
        let empty = |items: &mut VecDeque<T>| items.is_empty();
        let waited = self.filled.wait_while_until(&mut items, empty, deadline);
        assert_eq!(waited.timed_out(), items.is_empty());
        items.pop_front()
    }
}

#[test]
fn threads_hand_on_what_they_make() {
    const ITEMS: u64 = 1_000;
    let queue = Arc::new(Queue::default());
    let takes = Arc::clone(&queue);
    let taken = thread::spawn(move || (0..2 * ITEMS).map(|_| takes.pop()).sum::<u64>());
    let makers: Vec<_> = (0..2)
        .map(|_| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (0..ITEMS).for_each(|item| queue.push(item)))
        })
        .collect();
    for maker in makers {
        maker.join().unwrap();
    }
    assert_eq!(taken.join().unwrap(), ITEMS * (ITEMS - 1));
    assert_eq!(queue.pop_within(Duration::from_millis(1)), None);
}

/// A reader reads again while a writer waits; the writer writes afterwards.
#[test]
fn a_reader_reads_again_past_a_waiting_writer() {
    let total = Arc::new(RecursiveRwLock::new(1));
    let outer = total.read();
    let theirs = Arc::clone(&total);
    let (begins, begun) = channel();
    let writer = thread::spawn(move || {
        begins.send(()).unwrap();
        *theirs.write() += 1;
    });
    begun.recv().unwrap();
    for _ in 0..100 {
        let again: RecursiveRwLockReadGuard<'_, i32> = total.read();
        assert_eq!(*again, *outer);
        assert!(total.try_read().is_some());
        thread::yield_now();
    }
    drop(outer);
    writer.join().unwrap();
    assert_eq!(*total.read(), 2);
}

#[test]
fn a_recursive_lock_changes_its_holds() {
    let raw = <RawRwLockRecursive as parking_lot::lock_api::RawRwLock>::INIT;
    assert!(!raw.is_locked() && raw.try_lock_exclusive().is_some());
    let total = RecursiveRwLock::new(1);
    let read = total.upgradable_read();
    assert!(total.try_upgradable_read().is_none() && total.try_write().is_none());
    let mut write = parking_lot::RecursiveRwLockUpgradableReadGuard::upgrade(read);
    *write += 1;
    assert!(total.try_read().is_none() && total.try_read_for(Duration::from_millis(1)).is_none());
    let read = parking_lot::RecursiveRwLockWriteGuard::downgrade(write);
    assert_eq!(*read + *total.read(), 4);
}

/// As with the feature `send_guard`, writers may end on another thread.
#[test]
fn a_writer_ends_on_another_thread() {
    let (total, again) = (RwLock::new(1), RecursiveRwLock::new(1));
    let (mut write, mut write_again) = (total.write(), again.write());
    thread::scope(|scope| {
        scope.spawn(move || {
            *write += 1;
            *write_again += 1;
        });
    });
    assert_eq!((*total.read(), *again.read()), (2, 2));
    let (write, write_again) = (total.write(), again.write());
    thread::scope(|scope| {
        scope.spawn(move || {
            let read = RwLockWriteGuard::downgrade(write);
            let upgradable =
                parking_lot::RecursiveRwLockWriteGuard::downgrade_to_upgradable(write_again);
            assert_eq!((*read, *upgradable), (2, 2));
        });
    });
    assert!(total.try_write().is_some() && again.try_write().is_some());
}

static READY: Once = Once::new();
static DONE: Once = Once::new_completed();

#[test]
fn the_rest_is_there() {
    let total: Mutex<u64> = Mutex::new(0);
    READY.call_once(|| *total.lock() += 1);
    READY.call_once(|| *total.lock() += 1);
    READY.wait();
    DONE.call_once(|| unreachable!());
    DONE.wait();
    assert!(READY.is_completed() && READY.state() == OnceState::Done);
    assert_eq!(*total.lock(), 1);

    let guard = total.lock();
    let soon = Duration::from_millis(1);
    assert!(total.is_locked() && total.try_lock().is_none() && total.try_lock_for(soon).is_none());
    let mapped: MappedMutexGuard<'_, u64> = MutexGuard::map(guard, |total| total);
    let refused = MappedMutexGuard::try_map_or_err(mapped, |_| Err::<&mut u64, _>("none"));
    assert!(refused.is_err_and(|(_, why)| why == "none"));
    assert_eq!(total.into_inner_with_raw().1, 1);

    let again = ReentrantMutex::new(Cell::new(1));
    let (first, second) = (again.lock(), again.lock());
    first.set(second.get() + 1);
    assert_eq!(again.lock().get(), 2);

    let fair = FairMutex::new(1);
    let guard = fair.lock();
    assert!(fair.try_lock_for(soon).is_none() && fair.try_lock_until(Instant::now()).is_none());
    parking_lot::FairMutexGuard::unlock_fair(guard);
    assert_eq!(fair.into_inner(), 1);

    let shared = Arc::new(Mutex::new(1));
    let guard = shared.lock_arc();
    assert!(shared.is_locked() && *guard == 1);
    drop(guard);

    let total = RwLock::new(1);
    let mut seen = total.upgradable_read();
    seen.with_upgraded(|total| *total += 1);
    let write = RwLockUpgradableReadGuard::upgrade(seen);
    let read: RwLockReadGuard<'_, i32> = RwLockWriteGuard::downgrade(write);
    assert_eq!(*read, 2);
}
