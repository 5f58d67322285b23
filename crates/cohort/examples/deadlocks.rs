//! Deadlocks of rwlocks, reentrant mutexes and sections that wait, one for each word of the command
//! line, which `cohort debug` finds in a build with the feature `observe`; and correct uses of the same locks.
//!
//! ```sh
//! cargo build -p cohort --example deadlocks --features observe
//! cohort debug -- target/debug/examples/deadlocks rwlocks
//! ```

use cohort::delegation::{CcSynch, SanlPlus};
use cohort::rwlock::CRwWp;
use cohort::{Delegated, Mutex, ReadGuard, ReentrantMutex, RwLock, UpgradableGuard, WriteGuard};
use std::cell::Cell;
use std::panic::catch_unwind;
use std::sync::{Barrier, LazyLock};

static ACCOUNTS: RwLock<[i64; 2]> = RwLock::new([7, 7]);
static JOURNAL: RwLock<Vec<i64>> = RwLock::new(Vec::new());
static TREE: ReentrantMutex<Cell<i64>> = ReentrantMutex::new(Cell::new(0));
static CACHE: Mutex<i64> = Mutex::new(0);
static QUEUE: LazyLock<Delegated<Vec<i64>, CcSynch>> = LazyLock::new(|| Vec::new().into());

static BOTH_HOLD_ONE: Barrier = Barrier::new(2);

fn transfer() {
    let mut accounts = ACCOUNTS.write();
    BOTH_HOLD_ONE.wait();
    accounts[0] -= 1;
    JOURNAL.write().push(-1);
}

fn audit() {
    let journal = JOURNAL.read();
    BOTH_HOLD_ONE.wait();
    assert!(ACCOUNTS.read()[0] <= 7 && journal.len() < 2);
}

fn insert() {
    let tree = TREE.lock();
    BOTH_HOLD_ONE.wait();
    let inner = TREE.lock();
    *CACHE.lock() += inner.get() + tree.get();
}

fn evict() {
    let mut cache = CACHE.lock();
    BOTH_HOLD_ONE.wait();
    *cache += TREE.lock().get();
}

/// Waits for the other reader, which waits to become upgradable.
fn append() {
    let journal = JOURNAL.upgradable_read();
    BOTH_HOLD_ONE.wait();
    UpgradableGuard::upgrade(journal).push(1);
}

fn look_and_append() {
    let journal = JOURNAL.read();
    BOTH_HOLD_ONE.wait();
    if journal.is_empty() {
        UpgradableGuard::upgrade(JOURNAL.upgradable_read()).push(2);
    }
}

/// Waits for a section of the other thread, which waits for the cache.
fn take() {
    let mut cache = CACHE.lock();
    BOTH_HOLD_ONE.wait();
    QUEUE.pausing(|queue| {
        queue.pause_while(|queue| queue.is_empty());
        *cache += queue[0];
    });
}

fn put() {
    BOTH_HOLD_ONE.wait();
    let cache = CACHE.lock();
    QUEUE.run(|queue| queue.push(*cache));
}

/// Two threads in turn, with locks beside and inside their sections.
fn pauses_in_order() {
    let turns: Delegated<u64, SanlPlus> = Delegated::from(0);
    let cache = Mutex::new(0);
    std::thread::scope(|scope| {
        for parity in 0..2 {
            let (turns, cache) = (&turns, &cache);
            scope.spawn(move || {
                for _ in 0..100 {
                    turns.pausing(|turns| {
                        turns.pause_while(|turns| *turns % 2 != parity);
                        **turns += *cache.lock();
                        **turns += 1;
                    });
                    drop(cache.lock());
                }
            });
        }
    });
    assert_eq!(turns.locking(|turns| *turns), 200);
}

fn rwlocks_in_order() {
    for _ in 0..200 {
        let mut accounts = ACCOUNTS.write();
        let mut journal = JOURNAL.write();
        accounts[0] += 1;
        journal.push(1);
        let accounts = WriteGuard::downgrade(accounts);
        journal.push(accounts[0]);
        drop(accounts);
        let mut journal = WriteGuard::downgrade_to_upgradable(journal);
        UpgradableGuard::with_upgraded(&mut journal, |journal| journal.clear());
        UpgradableGuard::upgrade(journal).push(1);
        let mut journal = JOURNAL.read();
        ReadGuard::unlocked(&mut journal, || drop(ACCOUNTS.try_read_recursive()));
        drop(ReadGuard::map(journal, |journal| &journal[..]));
        assert!(UpgradableGuard::downgrade(JOURNAL.upgradable_read()).len() < 1_000);
    }
}

fn closures_in_order(words: &RwLock<Vec<u8>, CRwWp>) {
    for _ in 0..200 {
        words.writing(|words| words.push(1));
        words.reading(|words| assert!(!words.is_empty()));
    }
}

fn reentrant_in_order() {
    for _ in 0..200 {
        let outer = TREE.lock();
        let inner = TREE.lock();
        *CACHE.lock() += inner.get();
        drop(outer);
        inner.set(inner.get() + 1);
    }
}

/// Guards forgotten with their locks, and the memory reused for other locks; a forgotten guard ended
/// without itself.
fn forgotten() {
    for _ in 0..50 {
        let mutex = Box::new(Mutex::new(1));
        std::mem::forget(mutex.lock());
        drop(mutex);
        let lock = Box::new(RwLock::new(1));
        std::mem::forget(lock.write());
        drop(lock);
        let tree = Box::new(ReentrantMutex::new(1));
        std::mem::forget((tree.lock(), tree.lock()));
    }
    std::mem::forget(JOURNAL.read());
    // SAFETY: forgotten above, in this thread.
    unsafe { JOURNAL.force_unlock_read() };
}

/// Panics while locks are held, which guards and closures release.
fn panicked(words: &RwLock<Vec<u8>, CRwWp>) {
    for _ in 0..20 {
        let held = catch_unwind(|| {
            let _held = (ACCOUNTS.write(), JOURNAL.read(), TREE.lock(), CACHE.lock());
            panic!("with four locks");
        });
        let run = catch_unwind(std::panic::AssertUnwindSafe(|| {
            words.writing(|_| panic!("in a section"));
        }));
        assert!(held.is_err() && run.is_err());
    }
}

fn right() {
    std::panic::set_hook(Box::new(|_| ()));
    let words = RwLock::from(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(rwlocks_in_order);
            scope.spawn(|| closures_in_order(&words));
            scope.spawn(reentrant_in_order);
            scope.spawn(pauses_in_order);
            scope.spawn(|| panicked(&words));
        }
    });
    forgotten();
}

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();
    let [one, other]: [fn(); 2] = match case.as_str() {
        "rwlocks" => [transfer, audit],
        "reentrant" => [insert, evict],
        "upgrade" => [append, look_and_append],
        "paused" => [take, put],
        _ => return right(),
    };
    let threads = [one, other].map(std::thread::spawn);
    for thread in threads {
        thread.join().expect("it never ends");
    }
}
