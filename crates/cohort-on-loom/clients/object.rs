//! A readers–writer lock in a small object, as clients of such locks want it: with contexts
//! for its writers' lock, and a table to itself.

use super::host::Host;
use crate::locks::door::{AtomicU32, Order, Spinner, expired, thread};
use crate::locks::host::Generation;
use crate::locks::rwlock::object::{Object, Owed, Writers};
use crate::locks::rwlock::{Count, Table};
use crate::locks::{
    AbortableShared, DetectsWaiters, Outcome, Patience, RawLock, RawShared, RawTry, Recursion,
};

/// Readers are counted in the lock's word until two cohorts meet.
pub const NAMELESS: u32 = 0;
/// They are counted in the table from the beginning.
pub const NAMED: u32 = 1;
/// They are, but one row's slot is another lock's.
pub const CROWDED: u32 = 2;

/// The words of a lock, but for its writers' lock, and a table to itself.
struct Words {
    table: Table<2, 1>,
    readers: Count,
    name: AtomicU32,
    owed: Owed,
    phase: AtomicU32,
    generation: Generation,
    begun: AtomicU32,
}

impl Words {
    fn new(name: u32) -> Self {
        let words = Self {
            table: Table::new(),
            readers: Count::new(),
            name: AtomicU32::new(name),
            owed: Owed::new(),
            phase: AtomicU32::new(0),
            generation: Generation::new(),
            begun: AtomicU32::new(0),
        };
        if name == CROWDED {
            words.let_another_in();
        }
        words
    }

    /// The table's slot of the calling thread's cohort gets a reader of another lock, which
    /// stays.
    fn let_another_in(&self) {
        let another = Self::new(CROWDED + 1);
        let object = Object {
            table: &self.table,
            ..another.object(Nobody, true)
        };
        assert!(object.read_at_once(), "a free lock can be read");
        // It is no reader of what the clients look at.
        thread().reading.set(0);
    }

    fn object<W: Writers>(&self, writers: W, is_neutral: bool) -> Object<'_, W, 2, 1> {
        Object {
            table: &self.table,
            readers: &self.readers,
            name: &self.name,
            owed: &self.owed,
            phase: &self.phase,
            generation: &self.generation,
            writers,
            is_neutral,
        }
    }
}

/// Of a lock that nobody writes.
struct Nobody;

impl Writers for Nobody {
    fn acquire(&self) {}

    fn try_acquire(&self) -> bool {
        true
    }

    fn acquire_within(&self, _patience: &Patience) -> bool {
        true
    }

    unsafe fn release(&self) {}

    fn has_waiters(&self) -> bool {
        false
    }

    fn begin(&self) {}

    fn end(&self) {}

    fn has_begun(&self) -> bool {
        false
    }
}

/// Whether the holder writes, for those who have nothing else to say it by.
macro_rules! said_by {
    ($($begun:tt)+) => {
        fn begin(&self) {
            self.$($begun)+.store(1, Order::RELAXED);
        }

        fn end(&self) {
            self.$($begun)+.store(0, Order::RELAXED);
        }

        fn has_begun(&self) -> bool {
            self.$($begun)+.load(Order::RELAXED) != 0
        }
    };
}

/// The lock, with a writers' lock `W` that it keeps beside it.
pub struct InObject<W, const NEUTRAL: bool, const NAME: u32> {
    words: Words,
    lock: W,
}

impl<W: RawLock, const NEUTRAL: bool, const NAME: u32> Default for InObject<W, NEUTRAL, NAME> {
    fn default() -> Self {
        Self {
            words: Words::new(NAME),
            lock: W::default(),
        }
    }
}

/// The writers' lock, by that context.
struct Held<'a, W: RawLock> {
    lock: &'a W,
    context: &'a W::Context,
    begun: &'a AtomicU32,
}

impl<W: RawTry + DetectsWaiters> Writers for Held<'_, W> {
    fn acquire(&self) {
        self.lock.acquire(self.context);
    }

    fn try_acquire(&self) -> bool {
        self.lock.try_acquire(self.context)
    }

    fn acquire_within(&self, patience: &Patience) -> bool {
        let mut spinner = Spinner::new();
        while !self.try_acquire() {
            if patience.deadline().is_some_and(expired) {
                return false;
            }
            spinner.turn();
        }
        true
    }

    unsafe fn release(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.release(self.context) };
    }

    fn has_waiters(&self) -> bool {
        self.lock.has_waiters(self.context)
    }

    said_by!(begun);
}

impl<W: RawTry + DetectsWaiters, const NEUTRAL: bool, const NAME: u32> InObject<W, NEUTRAL, NAME> {
    fn by<'a>(&'a self, context: &'a W::Context) -> Object<'a, impl Writers + 'a, 2, 1> {
        let writers = Held {
            lock: &self.lock,
            context,
            begun: &self.words.begun,
        };
        self.words.object(writers, NEUTRAL)
    }
}

// SAFETY: the object's methods of the same names.
unsafe impl<W: RawTry + DetectsWaiters, const NEUTRAL: bool, const NAME: u32> RawShared
    for InObject<W, NEUTRAL, NAME>
{
    type Context = W::Context;

    fn read(&self, cx: &W::Context, recursion: Recursion) {
        let _ = self.by(cx).read(recursion, &Patience::ENDLESS);
    }

    fn try_read(&self, cx: &W::Context, recursion: Recursion) -> bool {
        self.by(cx).try_read(recursion)
    }

    unsafe fn release_read(&self, cx: &W::Context) {
        // SAFETY: the caller's.
        let held = unsafe { self.by(cx).release() };
        assert!(held, "a reader's lock is held");
    }

    fn write(&self, cx: &W::Context) {
        let _ = self.by(cx).write(&Patience::ENDLESS);
    }

    fn try_write(&self, cx: &W::Context) -> bool {
        self.by(cx).try_write()
    }

    unsafe fn release_write(&self, cx: &W::Context) {
        // SAFETY: the caller's.
        let held = unsafe { self.by(cx).release() };
        assert!(held, "a writer's lock is held");
    }

    fn is_locked(&self) -> bool {
        self.by(&W::Context::default()).is_locked()
    }

    fn is_write_locked(&self) -> bool {
        self.by(&W::Context::default()).is_write_locked()
    }
}

// SAFETY: as above.
unsafe impl<W: RawTry + DetectsWaiters, const NEUTRAL: bool, const NAME: u32> AbortableShared
    for InObject<W, NEUTRAL, NAME>
{
    fn read_within(&self, cx: &W::Context, recursion: Recursion, patience: &Patience) -> Outcome {
        self.by(cx).read(recursion, patience)
    }

    fn write_within(&self, cx: &W::Context, patience: &Patience) -> Outcome {
        self.by(cx).write(patience)
    }
}

/// The lock, with a writers' lock that an object hosts, as a program's is: one that is only
/// written is a mutex.
pub struct Hosted<H> {
    words: Words,
    host: H,
}

/// That lock.
pub fn hosted<H: Host>(host: H) -> Hosted<H> {
    Hosted {
        words: Words::new(NAMELESS),
        host,
    }
}

impl<H: Host> Writers for &Hosted<H> {
    fn acquire(&self) {
        self.host.lock();
    }

    fn try_acquire(&self) -> bool {
        self.host.try_lock()
    }

    fn acquire_within(&self, _patience: &Patience) -> bool {
        self.host.lock();
        true
    }

    unsafe fn release(&self) {
        self.host.unlock();
    }

    fn has_waiters(&self) -> bool {
        self.host.has_waiters()
    }

    said_by!(words.begun);
}

impl<H: Host> Hosted<H> {
    fn object(&self) -> Object<'_, &Self, 2, 1> {
        self.words.object(self, true)
    }

    /// Takes it to read, or does not.
    pub fn read_at_once(&self) -> bool {
        self.object().read_at_once()
    }

    /// Blocks until it is held to read.
    pub fn read(&self) {
        let _ = self.object().read(Recursion::Allowed, &Patience::ENDLESS);
    }
}

impl<H: Host> Host for Hosted<H> {
    fn lock(&self) {
        let _ = self.object().write(&Patience::ENDLESS);
    }
    fn try_lock(&self) -> bool {
        self.object().try_write()
    }
    fn unlock(&self) -> bool {
        // SAFETY: clients unlock only what they locked.
        unsafe { self.object().release() }
    }
    fn is_busy(&self) -> bool {
        self.object().is_locked() || self.host.is_busy()
    }
}
