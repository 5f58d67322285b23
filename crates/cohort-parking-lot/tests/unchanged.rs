//! An unchanged program written for `parking_lot`.

use parking_lot::lock_api::RwLockUpgradableReadGuard as Upgradable;
use parking_lot::{
    Condvar, FairMutex, MappedMutexGuard, MappedRwLockReadGuard, Mutex, MutexGuard, Once,
    OnceState, ReentrantMutex, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, const_mutex,
};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
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
        while items.is_empty() {
            if self.filled.wait_until(&mut items, deadline).timed_out() {
                return items.pop_front();
            }
        }
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

/// A cache with upgradable reads.
static CACHE: RwLock<BTreeMap<u32, String>> = RwLock::new(BTreeMap::new());

fn name(number: u32) -> MappedRwLockReadGuard<'static, str> {
    let cache = CACHE.upgradable_read();
    let cache = match cache.contains_key(&number) {
        true => RwLockWriteGuard::downgrade(RwLockUpgradableReadGuard::upgrade(cache)),
        false => {
            let mut cache = Upgradable::upgrade(cache);
            cache.insert(number, format!("number {number}"));
            RwLockWriteGuard::downgrade(cache)
        }
    };
    RwLockReadGuard::map(cache, |cache| cache[&number].as_str())
}

#[test]
fn a_cache_is_filled_by_its_readers() {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|n| assert_eq!(*name(n), format!("number {n}"))));
        }
    });
    assert_eq!(CACHE.read().len(), 100);
}

static TOTAL: Mutex<u64> = const_mutex(0);
static READY: Once = Once::new();

#[test]
fn the_rest_is_there() {
    READY.call_once(|| *TOTAL.lock() += 1);
    READY.call_once(|| *TOTAL.lock() += 1);
    assert_eq!(READY.state(), OnceState::Done);
    assert_eq!(format!("{TOTAL:?}"), "Mutex { data: 1 }");

    let guard = TOTAL.lock();
    let soon = Duration::from_millis(1);
    assert!(TOTAL.is_locked() && TOTAL.try_lock().is_none() && TOTAL.try_lock_for(soon).is_none());
    assert!(format!("{TOTAL:?}").contains("<locked>"));
    let mapped: MappedMutexGuard<'_, u64> = MutexGuard::map(guard, |total| total);
    assert_eq!(*mapped, 1);
    drop(mapped);

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
    let guard: parking_lot::ArcMutexGuard<u32> = Mutex::lock_arc(&shared);
    assert!(shared.is_locked() && *guard == 1);
}

/// Every way to release a lock and to acquire it again.
#[test]
fn locks_are_given_up_fairly() {
    let total = Mutex::new(1);
    let mut guard = total.lock();
    MutexGuard::bump(&mut guard);
    MutexGuard::unlocked_fair(&mut guard, || *total.lock() += 1);
    assert_eq!(*guard, 2);
    MutexGuard::unlock_fair(guard);
    std::mem::forget(total.lock());
    // SAFETY: forgotten above.
    drop(unsafe { total.make_guard_unchecked() });
    assert!(!total.is_locked());

    let total = RwLock::new(1);
    let mut reads = total.read();
    RwLockReadGuard::bump(&mut reads);
    RwLockReadGuard::unlock_fair(reads);
    let mut writes = total.write();
    RwLockWriteGuard::bump(&mut writes);
    *writes += 1;
    let mut seen = RwLockWriteGuard::downgrade_to_upgradable(writes);
    assert!(total.try_read().is_some() && total.try_upgradable_read().is_none());
    RwLockUpgradableReadGuard::with_upgraded(&mut seen, |total| *total += 1);
    RwLockUpgradableReadGuard::bump(&mut seen);
    let reads = RwLockUpgradableReadGuard::downgrade(seen);
    assert!(*reads == 3 && total.try_upgradable_read().is_some());
    drop(reads);
    RwLockUpgradableReadGuard::unlock_fair(total.upgradable_read());
    RwLockWriteGuard::unlock_fair(total.write());
    assert!(!total.is_locked());
}

/// The greatest number of readers: a guard that was released for a while waits until another reader
/// releases, and never goes on without its read lock.
#[test]
fn a_guard_that_unlocks_itself_reads_again_in_the_end() {
    const MOST: usize = 1 << 19;
    let lock = RwLock::new(1);
    (1..MOST).for_each(|_| std::mem::forget(lock.read()));
    let mut guard = lock.read();
    let leaves = || {
        thread::sleep(Duration::from_millis(20));
        // SAFETY: one of the forgotten guards.
        unsafe { lock.force_unlock_read() };
    };
    thread::scope(|scope| {
        RwLockReadGuard::unlocked(&mut guard, || {
            std::mem::forget(lock.read());
            assert!(lock.try_read().is_none(), "no other can be counted");
            scope.spawn(leaves);
        });
    });
    drop(guard);
    // SAFETY: all remaining forgotten guards.
    (1..MOST).for_each(|_| unsafe { lock.force_unlock_read() });
    assert!(lock.try_write().is_some(), "the guard was one of them");
}
