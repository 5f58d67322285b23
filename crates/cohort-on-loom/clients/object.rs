//! A readers–writer lock in a small object: with some readers in a table, and with a hosted
//! writers' lock, as in a program.

use super::host::Host;
use crate::locks::door::thread;
use crate::locks::rwlock::in_object::Words;
use crate::locks::rwlock::object::{Object, Writers};
use crate::locks::rwlock::{InObject, Table};
use crate::locks::{
    AbortableShared, DetectsWaiters, Inherit, Outcome, Patience, RawShared, RawTry, Recursion,
};

/// Few, so that threads share rows.
const ROWS: usize = 2;
const SLOTS: usize = 1;

/// Readers are counted in the lock's word until two cohorts meet.
pub const NAMELESS: u32 = 0;
/// Readers are counted in the table from the start.
pub const NAMED: u32 = 1;
/// Like [`NAMED`], but another lock uses one row's slot.
pub const CROWDED: u32 = 2;

/// The lock, with its readers counted in that way.
pub struct Beginning<W, const NEUTRAL: bool, const NAME: u32>(InObject<W, NEUTRAL, ROWS, SLOTS>);

impl<W: RawTry + DetectsWaiters + Inherit, const NEUTRAL: bool, const NAME: u32> Default
    for Beginning<W, NEUTRAL, NAME>
{
    fn default() -> Self {
        let lock = InObject::named(NAME);
        if NAME == CROWDED {
            let another = InObject::<W, NEUTRAL, ROWS, SLOTS>::named(NAME + 1);
            let context = W::Context::default();
            // SAFETY: the writers' lock is not acquired.
            let object = Object {
                table: lock.table(),
                ..unsafe { another.by(&context) }
            };
            assert!(object.read_at_once(), "a free lock can be read");
            // The read lock stays; the thread does not count as a reader for the clients.
            thread().reading.set(0);
        }
        Self(lock)
    }
}

// SAFETY: passed on.
unsafe impl<W: RawTry + DetectsWaiters + Inherit, const NEUTRAL: bool, const NAME: u32> RawShared
    for Beginning<W, NEUTRAL, NAME>
{
    type Context = W::Context;

    unsafe fn read(&self, cx: &W::Context, recursion: Recursion) {
        // SAFETY: the caller's.
        unsafe { self.0.read(cx, recursion) };
    }

    unsafe fn try_read(&self, cx: &W::Context, recursion: Recursion) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.try_read(cx, recursion) }
    }

    unsafe fn release_read(&self, cx: &W::Context) {
        // SAFETY: passed on.
        unsafe { self.0.release_read(cx) };
    }

    unsafe fn write(&self, cx: &W::Context) {
        // SAFETY: the caller's.
        unsafe { self.0.write(cx) };
    }

    unsafe fn try_write(&self, cx: &W::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.try_write(cx) }
    }

    unsafe fn release_write(&self, cx: &W::Context) {
        // SAFETY: passed on.
        unsafe { self.0.release_write(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn is_write_locked(&self) -> bool {
        self.0.is_write_locked()
    }
}

// SAFETY: passed on.
unsafe impl<W: RawTry + DetectsWaiters + Inherit, const NEUTRAL: bool, const NAME: u32>
    AbortableShared for Beginning<W, NEUTRAL, NAME>
{
    unsafe fn read_within(
        &self,
        cx: &W::Context,
        recursion: Recursion,
        patience: &Patience,
    ) -> Outcome {
        // SAFETY: the caller's.
        unsafe { self.0.read_within(cx, recursion, patience) }
    }

    unsafe fn write_within(&self, cx: &W::Context, patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        unsafe { self.0.write_within(cx, patience) }
    }
}

/// The lock with a hosted writers' lock; used for writes only, it is a mutex.
pub struct Hosted<H> {
    words: Words,
    table: Table<ROWS, SLOTS>,
    host: H,
}

/// Creates that lock.
pub fn hosted<H: Host>(host: H) -> Hosted<H> {
    Hosted {
        words: Words::default(),
        table: Table::new(),
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

    fn acquire_within(&self, patience: &Patience) -> bool {
        self.host.wait_within(patience)
    }

    unsafe fn release(&self) {
        self.host.unlock();
    }

    unsafe fn forget(&self) {
        self.host.forget();
    }

    fn has_waiters(&self) -> bool {
        self.host.has_waiters()
    }

    fn begin(&self) {
        self.words.set_begun(true);
    }

    fn end(&self) {
        self.words.set_begun(false);
    }

    fn has_begun(&self) -> bool {
        self.words.has_begun()
    }
}

impl<H: Host> Hosted<H> {
    /// A view of its words for one call.
    pub fn object(&self) -> Object<'_, impl Writers + '_, ROWS, SLOTS> {
        self.words.object(&self.table, self, true)
    }
}

impl<H: Host> Host for Hosted<H> {
    fn lock(&self) {
        let _ = self.object().write(&Patience::ENDLESS);
    }
    fn try_lock(&self) -> bool {
        self.object().try_write()
    }
    fn lock_within(&self, patience: &Patience) -> bool {
        self.object().write(patience) == Outcome::Acquired
    }
    fn unlock(&self) -> bool {
        // SAFETY: clients unlock only what they locked.
        unsafe { self.object().release() }
    }
    fn is_busy(&self) -> bool {
        self.object().is_locked() || self.host.is_busy()
    }
}
