//! One waiter beside a sleeper: each kind of wait, with each patience, against each kind of
//! release. A waiter that erases the sleeper's mark leaves it asleep. Also the order of head waiters.

use crate::clients::{add_one, read, write};
use crate::locks::basic::Futex;
use crate::locks::door::{
    AtomicU32, Cell, Order, Spinner, asleep, sleep_within, together, visit, wake, yield_now,
};
use crate::locks::numa::FutexHmcs;
use crate::locks::{Abortable, Inherit, Outcome, Patience, RawLock, ReleaseFairly, Token};
use crate::world::soon;
use std::sync::Arc;

/// How the waiter waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquireBy {
    /// As a thread that seldom waits.
    Visit,
    /// As a thread that often waits: it sleeps, queues or takes hand-off slices, as the lock and
    /// the model determine.
    Often,
    /// Like `Often`, beside a sleeper that seldom waits.
    OftenBesideVisit,
    /// Asleep at a condition; a signaller requeues it at the lock while holding the lock.
    Moved,
    /// Like `Moved`, after the signaller has released the lock.
    MovedLate,
}

/// What ends the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Endless,
    Deadline,
    /// The holder ends the wait, and then releases the lock.
    Cancelled,
}

/// How the holder releases the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Free {
    /// To a sleeper or the head waiter, if any.
    HandedOver,
    /// Normally: by a hand-off slice, or by a plain store, as the model determines.
    Usual,
    /// Normally, twice; a waiter ends the plain-store mode in between.
    Twice,
}

/// A lock in one word.
pub trait Word: Abortable<Context = ()> + ReleaseFairly + Inherit + Default + 'static {
    /// Requeues a sleeper at the lock.
    fn adopts(&self, place: &AtomicU32) -> bool;
    /// Waits as a requeued sleeper.
    fn acquire_moved(&self);
}

impl Word for Futex {
    fn adopts(&self, place: &AtomicU32) -> bool {
        self.adopt(place, 0)
    }
    fn acquire_moved(&self) {
        self.acquire_adopted();
    }
}

impl Word for FutexHmcs {
    fn adopts(&self, place: &AtomicU32) -> bool {
        self.adopt(place, 0)
    }
    fn acquire_moved(&self) {
        self.acquire_adopted();
    }
}

/// The class of sleepers at the condition.
const CLASS: u32 = 1;
const MOVED: u32 = 1;
const LEFT: u32 = 2;

struct Shared<L> {
    lock: L,
    count: Cell<u64>,
    token: Token,
    /// The word on which a waiter sleeps before it is requeued, and whether it was.
    place: AtomicU32,
    outcome: AtomicU32,
}

impl<L: Word> Shared<L> {
    /// Counts an acquisition and releases.
    fn count(&self) {
        add_one(&self.count);
        // SAFETY: the caller holds the lock; also below.
        unsafe { self.lock.release(&()) };
    }

    fn hold(&self, free: Free) {
        match free {
            // SAFETY: as above.
            Free::HandedOver => unsafe { self.lock.release_fairly(&()) },
            // SAFETY: as above.
            Free::Usual => unsafe { self.lock.release(&()) },
            Free::Twice => {
                // SAFETY: as above, and the lock has no contexts.
                unsafe {
                    self.lock.release(&());
                    self.lock.acquire(&());
                    self.lock.release(&());
                }
            }
        }
    }

    fn move_waiter(&self) {
        let moved = self.lock.adopts(&self.place);
        self.outcome
            .store(if moved { MOVED } else { LEFT }, Order::RELAXED);
        if !moved {
            self.place.store(1, Order::RELAXED);
            wake(&raw const self.place, 1, CLASS);
        }
    }

    /// Waits; returns whether the lock was acquired.
    fn wait(&self, way: AcquireBy, patience: &Patience) -> bool {
        if way == AcquireBy::Visit {
            visit();
        }
        if matches!(way, AcquireBy::Moved | AcquireBy::MovedLate) {
            let _ = sleep_within(&self.place, 0, CLASS, patience);
            let mut spinner = Spinner::new();
            while self.outcome.load(Order::RELAXED) == 0 {
                spinner.turn();
            }
            if self.outcome.load(Order::RELAXED) == MOVED {
                self.lock.acquire_moved();
                return true;
            }
        }
        // SAFETY: the lock has no contexts, and stays.
        unsafe { self.lock.acquire_within(&(), patience) == Outcome::Acquired }
    }
}

/// The first thread holds the lock and releases it; the second is the waiter; the third sleeps
/// until it acquires the lock.
pub fn meet<L: Word>(way: AcquireBy, limit: Limit, free: Free) {
    let shared = Arc::new(Shared {
        lock: L::default(),
        count: Cell::new(0),
        token: Token::default(),
        place: AtomicU32::new(0),
        outcome: AtomicU32::new(0),
    });
    // SAFETY: the lock has no contexts, and outlives the threads.
    unsafe {
        // In a quiet model the first release starts plain-store releases.
        shared.lock.acquire(&());
        shared.lock.release(&());
        shared.lock.acquire(&());
    }
    let theirs = Arc::clone(&shared);
    let acquired = together(3, move |thread| {
        let shared = &*theirs;
        match thread {
            0 => {
                if way == AcquireBy::Moved {
                    shared.move_waiter();
                }
                if limit == Limit::Cancelled {
                    shared.token.cancel();
                }
                shared.hold(free);
                if way == AcquireBy::MovedLate {
                    shared.move_waiter();
                }
                return 0;
            }
            1 => {
                let patience = match limit {
                    Limit::Endless => Patience::ENDLESS,
                    Limit::Deadline => Patience::until(soon()),
                    Limit::Cancelled => Patience::ENDLESS.unless(&shared.token),
                };
                if !shared.wait(way, &patience) {
                    assert!(limit != Limit::Endless, "it gave up");
                    return 0;
                }
            }
            _ => {
                if way == AcquireBy::OftenBesideVisit {
                    visit();
                }
                // SAFETY: as above.
                unsafe { shared.lock.acquire(&()) };
            }
        }
        yield_now();
        shared.count();
        1
    });
    if let Some(acquired) = acquired {
        let all: u64 = acquired.iter().sum();
        assert_eq!(read(&shared.count), all, "an acquisition was lost");
        assert!(!shared.lock.is_locked(), "the lock is left held");
    }
}

fn until(so: impl Fn() -> bool) {
    let mut spinner = Spinner::new();
    while !so() {
        spinner.turn();
    }
}

/// Two threads wait for hand-off slices: the first is the head, the second sleeps. The holder
/// releases the lock and arrives again while the first hands its role to the second: they acquire
/// the lock in this order.
pub fn lead_in_order() {
    let shared = Arc::new((Futex::default(), Cell::new(0)));
    // SAFETY: the lock has no contexts, and outlives the threads; also below.
    unsafe { shared.0.acquire(&()) };
    let theirs = Arc::clone(&shared);
    let ended = together(3, move |thread| {
        let (lock, order) = &*theirs;
        if thread == 0 {
            until(|| asleep() == 2);
            // SAFETY: acquired above; also below.
            unsafe {
                // At the gate it sees that there is a head: the release grants it the lock.
                let outcome = lock.acquire_within(&(), &Patience::NONE);
                assert_eq!(outcome, Outcome::GaveUp);
                lock.release(&());
            }
        } else {
            until(|| asleep() + 1 >= thread);
        }
        // SAFETY: as above.
        unsafe { lock.acquire(&()) };
        if thread == 1 {
            // Until the next head has claimed it: a free lock goes to any thread.
            until(|| lock.is_waited_for(&()));
        }
        write(order, 10 * read(order) + thread);
        // SAFETY: as above.
        unsafe { lock.release(&()) };
    });
    if ended.is_some() {
        assert_eq!(read(&shared.1), 120, "a sleeper was passed over");
    }
}
