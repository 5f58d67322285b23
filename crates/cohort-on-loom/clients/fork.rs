//! A forked child goes on using an object that others were queueing for.
//!
//! For worlds that can fork in the middle of a model; a real program's forks are
//! in the interposer's conformance suite.

use crate::clients::guest::Guest;
use crate::clients::host::{Host, NEVER, patience};
use crate::clients::object::Hosted;
use crate::clients::{add_one, read, service, write};
use crate::delegate_clients::Brought;
use crate::locks::basic::Tas;
use crate::locks::delegation::thin::{Grows, Thin};
use crate::locks::door::{Cell, fork, yield_now};
use crate::locks::rwlock::RawRwLock;
use crate::locks::{Delegate, Inherit, Outcome, Patience, RawTry, Recursion};
use crate::world::{Kept, together};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// A lock that is its own host: nothing repairs it after a fork.
pub struct Bare<L>(L);

/// The lock by itself.
pub fn bare<L: RawTry<Context = ()> + Inherit + 'static>() -> Bare<L> {
    Bare(L::default())
}

impl<L: RawTry<Context = ()> + Inherit + 'static> Host for Bare<L> {
    fn lock(&self) {
        // SAFETY: the lock has no contexts, and clients leave it where it is; so below.
        unsafe { self.0.acquire(&()) };
    }
    fn try_lock(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.0.try_acquire(&()) }
    }
    fn unlock(&self) -> bool {
        let locked = self.0.is_locked();
        // SAFETY: clients unlock only what they locked.
        unsafe { self.0.release(&()) };
        locked
    }
    fn is_busy(&self) -> bool {
        self.0.is_locked()
    }
    fn forget(&self) {
        // SAFETY: a thread that was inside is not of this process.
        unsafe { self.0.inherit(None) };
    }
}

/// A mutex that readers share.
pub trait Readable: Host {
    /// Takes it to read by its shortest way, or does not.
    fn read_at_once(&self) -> bool;
    /// Takes it to read without waiting, or does not.
    fn try_read(&self) -> bool;
    /// Blocks until it is held to read.
    fn read(&self);
}

impl<H: Host> Readable for Hosted<H> {
    fn read_at_once(&self) -> bool {
        self.object().read_at_once()
    }
    fn try_read(&self) -> bool {
        self.object().try_read(Recursion::Allowed)
    }
    fn read(&self) {
        let _ = self.object().read(Recursion::Allowed, &Patience::ENDLESS);
    }
}

/// The lock of one word.
pub struct OneWord(RawRwLock);

/// That lock, after threads of this process have met at it.
pub fn one_word() -> OneWord {
    let lock = RawRwLock::new();
    let came = lock.try_read_upgradably();
    assert!(came, "a free lock can be read");
    // SAFETY: held to read upgradably.
    unsafe {
        lock.end_upgradable();
        lock.release_read();
    }
    OneWord(lock)
}

/// That lock, unused.
pub fn new_word() -> OneWord {
    OneWord(RawRwLock::new())
}

/// That lock, biased towards readers, in a model where each reader biases.
pub fn biased_word() -> OneWord {
    let lock = one_word();
    for _ in 0..2 {
        assert!(lock.read_at_once(), "a free lock can be read");
    }
    for _ in 0..2 {
        assert!(lock.unlock(), "the holder does not hold it");
    }
    lock
}

impl Host for OneWord {
    fn lock(&self) {
        let _ = self.0.write(&Patience::ENDLESS);
    }
    fn try_lock(&self) -> bool {
        self.0.try_write()
    }
    fn lock_within(&self, patience: &Patience) -> bool {
        self.0.write(patience) == Outcome::Acquired
    }
    fn unlock(&self) -> bool {
        // SAFETY: clients unlock only what they locked.
        unsafe { self.0.release() }
    }
    fn is_busy(&self) -> bool {
        self.0.is_locked()
    }
}

impl Readable for OneWord {
    fn read_at_once(&self) -> bool {
        self.0.arrive(Recursion::Allowed)
    }
    fn try_read(&self) -> bool {
        self.0.try_read(Recursion::Allowed)
    }
    fn read(&self) {
        let _ = self.0.read(Recursion::Allowed, &Patience::ENDLESS);
    }
}

/// The first thread forks while it holds the lock and the others come.
pub fn holds<H: Host>(host: H, threads: usize) {
    holds_before(host, threads, Host::lock);
}

/// The same, but the others claim it.
pub fn holds_what_is_claimed<H: Host>(host: H, threads: usize) {
    holds_before(host, threads, |host| {
        assert!(host.lock_within(&patience(Some(NEVER))), "gave up");
    });
}

/// The first thread waits for the lock, which the other releases and comes back to, and forks
/// while it holds it: it has come by whatever waiters come by, and the other stands behind it.
pub fn holds_what_it_waited_for<H: Host>(host: H) {
    host.lock();
    let shared = Arc::new((host, Cell::new(0)));
    together(2, move |thread| {
        let (host, count) = &*shared;
        if thread > 0 {
            assert!(host.unlock(), "the holder does not hold it");
        }
        host.lock();
        if thread == 0 {
            fork();
        }
        add_one(count);
        assert!(host.unlock(), "the holder does not hold it");
        if thread == 0 {
            goes_on(host, count);
        }
    });
}

/// A thread forks while it holds a lock by a context, after another may have changed the lock's
/// mode; the child's lock is held by the same context only.
pub fn holds_changed<L: RawTry + Inherit + 'static>() {
    let shared = Arc::new((L::default(), Cell::new(0)));
    together(2, move |thread| {
        let (lock, count) = &*shared;
        let guest = Guest::of(lock);
        guest.acquire();
        if thread == 0 {
            fork();
            // SAFETY: the child's only thread holds it, by this context.
            unsafe { lock.inherit(Some(guest.context())) };
            assert!(!Guest::of(lock).try_acquire(), "what is held was taken");
        }
        add_one(count);
        guest.release();
    });
}

/// A thread forks, holding the lock or not, while the others acquire it; the child's lock has that
/// acquisition, and no other.
pub fn is_inherited<L: Inherit + 'static>(threads: usize, held: bool) {
    let shared = Arc::new((L::default(), Cell::new(0)));
    together(threads, move |thread| {
        let (lock, count) = &*shared;
        let guest = Guest::of(lock);
        if thread > 0 {
            guest.acquire();
            yield_now();
            add_one(count);
            guest.release();
            return;
        }
        if held {
            guest.acquire();
        }
        // The others arrive, and hold the lock or wait for it.
        yield_now();
        fork();
        let holder = held.then(|| guest.context());
        // SAFETY: the child has no other thread, and holds the lock by this context, if at all.
        unsafe { lock.inherit(holder) };
        for inherited in [held, false] {
            if !inherited {
                guest.acquire();
            }
            assert!(lock.is_locked(), "a held lock says that it is free");
            add_one(count);
            guest.release();
            assert!(
                !lock.is_locked(),
                "a thread of the parent is left in the lock"
            );
        }
    });
}

/// A thread forks while another puts keys into a table; the child goes on with it.
pub fn puts_keys() {
    let shared = service::small::<Tas>();
    together(2, move |thread| {
        if thread == 0 {
            shared.add(1);
            fork();
            for key in [1, 4] {
                shared.add(key);
            }
        } else {
            shared.add(2);
            shared.add(3);
        }
    });
}

fn holds_before<H: Host>(host: H, threads: usize, others: fn(&H)) {
    let shared = Arc::new((host, Cell::new(0)));
    together(threads, move |thread| {
        let (host, count) = &*shared;
        if thread == 0 {
            host.lock();
            fork();
        } else {
            others(host);
        }
        add_one(count);
        assert!(host.unlock(), "the holder does not hold it");
        if thread == 0 {
            goes_on(host, count);
        }
    });
}

/// The first thread forks after it has unlocked what the other claims: the child finds it
/// locked only if that one has noticed that it got it, and is inside then for ever.
pub fn hands_over<H: Host>(host: H) {
    // Not an atom of the model, as below.
    let inside = AtomicUsize::new(0);
    let shared = Arc::new((host, Cell::new(0), inside));
    together(2, move |thread| {
        let (host, count, inside) = &*shared;
        if thread > 0 {
            host.lock_noting(&|| {
                inside.fetch_add(1, SeqCst);
            });
            return;
        }
        if !host.try_lock() {
            return;
        }
        yield_now();
        assert!(host.unlock(), "the holder does not hold it");
        fork();
        if host.try_lock() {
            assert!(host.unlock(), "the holder does not hold it");
            goes_on(host, count);
        } else {
            assert!(inside.load(SeqCst) > 0, "locked without a holder");
        }
    });
}

/// The first thread forks while it holds the lock to read and the others come to write.
pub fn reads(lock: impl Readable, threads: usize) {
    let shared = Arc::new((lock, Cell::new(0)));
    together(threads, move |thread| {
        let (lock, count) = &*shared;
        if thread > 0 {
            lock.lock();
            add_one(count);
        } else {
            lock.read();
            fork();
            read(count);
        }
        assert!(lock.unlock(), "the holder does not hold it");
        if thread == 0 {
            goes_on(lock, count);
        }
    });
}

/// The first thread forks while it holds the lock to read and the others come to write: what they
/// left at the lock refuses no try of the child.
pub fn tries(lock: impl Readable, threads: usize) {
    let shared = Arc::new((lock, Cell::new(0)));
    together(threads, move |thread| {
        let (lock, count) = &*shared;
        if thread > 0 {
            lock.lock();
            add_one(count);
        } else {
            lock.read();
            fork();
        }
        assert!(lock.unlock(), "the holder does not hold it");
        if thread > 0 {
            return;
        }
        for attempt in [Readable::try_read, Host::try_lock] {
            assert!(attempt(lock), "a free lock refuses its only thread");
            assert!(lock.unlock(), "the holder does not hold it");
        }
        goes_on(lock, count);
    });
}

/// A thread forks while it reads upgradably.  The child's thread upgrades beside another, which finds
/// that the lock is its parent's only then.
pub fn upgrades() {
    let shared = Arc::new((RawRwLock::new(), Cell::new(0)));
    let before = Arc::clone(&shared);
    together(1, move |_| {
        let outcome = before.0.read_upgradably(&Patience::ENDLESS);
        assert_eq!(outcome, Outcome::Acquired, "gave up without a deadline");
        fork();
    });
    together(2, move |thread| {
        let (lock, count) = &*shared;
        if thread == 0 {
            // SAFETY: held to read upgradably before.
            let _ = unsafe { lock.upgrade(&Patience::ENDLESS) };
            add_one(count);
            // SAFETY: held to write.
            return unsafe { lock.release_write() };
        }
        let _ = lock.read(Recursion::Allowed, &Patience::ENDLESS);
        read(count);
        // SAFETY: held to read, here or by the second read.
        unsafe {
            if lock.read(Recursion::Excluded, &Patience::NONE) == Outcome::Acquired {
                lock.release_read();
            }
            lock.release_read();
        }
    });
}

/// The first thread forks while another begins to read: the child finds the lock free unless that one
/// holds it, which is for ever then.
pub fn meets_an_arrival(lock: impl Readable) {
    // Not an atom of the model: it changes in one step with the last of an acquisition.
    let inside = AtomicUsize::new(0);
    let shared = Arc::new((lock, Cell::new(0), inside));
    together(2, move |thread| {
        let (lock, count, inside) = &*shared;
        if thread > 0 {
            lock.read();
            inside.fetch_add(1, SeqCst);
            return;
        }
        // The other is about to read.
        yield_now();
        fork();
        if inside.load(SeqCst) == 0 {
            goes_on(lock, count);
        }
    });
}

/// The first thread forks while it holds the lock to write and the others try to read.
pub fn writes(lock: impl Readable, threads: usize) {
    let shared = Arc::new((lock, Cell::new(0)));
    together(threads, move |thread| {
        let (lock, count) = &*shared;
        if thread > 0 {
            if !lock.read_at_once() {
                return;
            }
            read(count);
        } else {
            lock.lock();
            fork();
            add_one(count);
        }
        assert!(lock.unlock(), "the holder does not hold it");
        if thread == 0 {
            assert!(!lock.is_busy(), "a thread is left behind");
        }
    });
}

/// Makes an attempt to lock that does not wait.
pub fn attempts<H: Host>(host: &H) -> bool {
    host.lock_within(&Patience::NONE)
}

/// The first thread forks while it holds the lock to write and others try to read. Another thread
/// of the child makes an attempt to write, and is the first to find what the parent's threads left,
/// while the first releases the lock and reads.
pub fn writes_beside_another<L: Readable>(lock: L, attempt: fn(&L) -> bool) {
    let shared = Arc::new((lock, Cell::new(0)));
    let before = Arc::clone(&shared);
    together(2, move |thread| {
        let (lock, count) = &*before;
        if thread == 0 {
            // The other reads, or is about to.
            yield_now();
            lock.lock();
            yield_now();
            fork();
        } else if lock.read_at_once() {
            read(count);
            assert!(lock.unlock(), "the holder does not hold it");
        }
    });
    let after = Arc::clone(&shared);
    let child = together(2, move |thread| {
        let (lock, count) = &*after;
        if thread == 0 {
            // The other arrives.
            yield_now();
            assert!(lock.unlock(), "the holder does not hold it");
            lock.read();
            read(count);
        } else if attempt(lock) {
            add_one(count);
        } else {
            return;
        }
        assert!(lock.unlock(), "the holder does not hold it");
    });
    if child.is_some() {
        assert!(!shared.0.is_busy(), "a thread is left behind");
    }
}

/// A thread forks beside a free lock. In the child, a writer is the first to find what the parent's
/// threads left, while a reader of the child turns back.
pub fn meets_a_reader(lock: impl Readable) {
    let shared = Arc::new((lock, Cell::new(0)));
    together(1, |_| fork());
    let after = Arc::clone(&shared);
    let child = together(2, move |thread| {
        let (lock, count) = &*after;
        if thread == 0 {
            // The other is about to read.
            yield_now();
            lock.lock();
            yield_now();
            add_one(count);
        } else if lock.read_at_once() {
            read(count);
        } else {
            return;
        }
        assert!(lock.unlock(), "the holder does not hold it");
    });
    if child.is_some() {
        assert!(!shared.0.is_busy(), "a thread is left behind");
    }
}

/// The first thread writes, and forks as it reads upgradably, while another tries to: the child's
/// only reader is the only one.
pub fn upgrades_alone() {
    let shared = Arc::new((RawRwLock::new(), Cell::new(0)));
    together(2, move |thread| {
        let (lock, count) = &*shared;
        if thread > 0 {
            let _ = lock.read_upgradably(&Patience::ENDLESS);
            read(count);
            // SAFETY: held to read upgradably.
            return unsafe {
                lock.end_upgradable();
                lock.release_read();
            };
        }
        // The other is about to read.
        yield_now();
        let _ = lock.write(&Patience::ENDLESS);
        // SAFETY: held to write.
        unsafe { lock.downgrade_to_upgradable() };
        yield_now();
        fork();
        // SAFETY: held to read upgradably.
        let alone = unsafe { lock.try_upgrade() };
        assert!(alone, "a thread is left behind");
        add_one(count);
        // SAFETY: held to write.
        unsafe { lock.release_write() };
        assert!(!lock.is_locked(), "a thread is left behind");
    });
}

/// The first thread forks while others come and go, not holding the lock itself: a
/// thread that had locked it holds it for ever.
pub fn looks_on<H: Host>(host: H, threads: usize) {
    beside(host, threads, |_| ());
}

/// The same, of an object that is locked only while a critical section has
/// begun: one that was granted to a thread which never noticed is free.
pub fn looks_on_grants<H: Host>(host: H, threads: usize) {
    beside(host, threads, |inside| {
        assert!(inside, "locked without a holder");
    });
}

/// `locked` receives whether a thread was inside when the child finds the object locked.
fn beside<H: Host>(host: H, threads: usize, locked: impl Fn(bool) + Send + Sync + 'static) {
    // Not an atom of the model: it changes in one step with the last of an acquisition.
    let inside = AtomicUsize::new(0);
    let shared = Arc::new((host, Cell::new(0), inside));
    together(threads, move |thread| {
        let (host, count, inside) = &*shared;
        if thread > 0 {
            host.lock();
            inside.fetch_add(1, SeqCst);
            add_one(count);
            host.unlock();
            inside.fetch_sub(1, SeqCst);
            return;
        }
        fork();
        if host.try_lock() {
            assert!(host.unlock(), "the holder does not hold it");
            goes_on(host, count);
        } else {
            locked(inside.load(SeqCst) > 0);
        }
    });
}

/// The first thread forks while it holds the lock and the others queue; then the
/// child has several threads, and all of them find what the fork left.
pub fn multiplies<H: Host>(host: H, threads: usize) {
    let shared = Arc::new((host, Cell::new(0)));
    let before = Arc::clone(&shared);
    together(2, move |thread| {
        before.0.lock();
        if thread == 0 {
            fork();
        } else {
            add_one(&before.1);
            before.0.unlock();
        }
    });
    together(threads, move |thread| {
        let (host, count) = &*shared;
        if thread > 0 {
            host.lock();
        }
        add_one(count);
        assert!(host.unlock(), "the holder does not hold it");
    });
}

/// The child is alone: everything succeeds, and the object comes to rest.
fn goes_on<H: Host>(host: &H, count: &Cell<u64>) {
    let before = read(count);
    host.lock();
    add_one(count);
    assert!(!host.try_lock(), "locked twice");
    assert!(host.unlock(), "the holder does not hold it");
    assert!(host.try_lock(), "a free object cannot be locked");
    add_one(count);
    assert!(host.unlock(), "the holder does not hold it");
    assert!(!host.unlock(), "unlocked while it was free");
    assert!(!host.is_busy(), "the object is not at rest");
    assert_eq!(read(count), before + 2);
}

/// The first thread forks in its section, which runs in place, while others bring theirs: the
/// child, of two threads, runs its own, and none of those that its parent's threads have brought.
pub fn drops_what_others_brought<D: Delegate + 'static>(threads: usize) {
    let shared = Arc::new((D::default(), Cell::new(0), Cell::new(0)));
    let before = Arc::clone(&shared);
    together(threads, move |thread| {
        let (delegate, count, seen) = &*before;
        let mut context = Kept::new(D::Context::default());
        if thread > 0 {
            let section = Brought::new(|| add_one(count));
            delegate.run(&mut context, section.section());
            return;
        }
        let section = Brought::new(|| {
            // The others come, wait, and queue.
            for _ in 0..3 {
                yield_now();
            }
            fork();
            write(seen, read(count));
        });
        delegate.run_here(&mut context, section.section());
    });
    let after = Arc::clone(&shared);
    let child = together(2, move |_| {
        let (delegate, count, _) = &*after;
        let mut context = Kept::new(D::Context::default());
        let section = Brought::new(|| add_one(count));
        delegate.run(&mut context, section.section());
    });
    if child.is_some() {
        let (_, count, seen) = &*shared;
        assert_eq!(read(count), read(seen) + 2, "a child runs its own sections");
    }
}

/// A thread that has locked a thin lock forks while another arrives. In the child it unlocks the
/// lock while a thread of the child arrives, and runs a section after that.
pub fn unlocks_beside_another<G: Grows>() {
    let shared = Arc::new((Thin::<G>::default(), Cell::new(0)));
    let runs = |(delegate, count): &(Thin<G>, Cell<u64>)| {
        let mut context = Kept::new(<Thin<G> as Delegate>::Context::default());
        let section = Brought::new(|| add_one(count));
        delegate.run(&mut context, section.section());
    };
    let first = Arc::clone(&shared);
    together(1, move |_| first.0.lock());
    let before = Arc::clone(&shared);
    together(2, move |thread| {
        if thread > 0 {
            return runs(&before);
        }
        // The other arrives, and waits.
        yield_now();
        fork();
    });
    let after = Arc::clone(&shared);
    let child = together(2, move |thread| {
        if thread > 0 {
            return runs(&after);
        }
        add_one(&after.1);
        // SAFETY: locked before the fork.
        let is_unlocked = unsafe { after.0.unlock_thin() };
        assert!(is_unlocked, "the word was free when it was locked");
        runs(&after);
    });
    if child.is_some() {
        assert_eq!(read(&shared.1), 3, "a child runs its own sections");
    }
}
