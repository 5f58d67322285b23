//! `c-rw-np` and `c-rw-wp` as programs have them: the words of the object beside the writers' mutex,
//! and the table of reader counts.

use super::locks::door::{AtomicU32, Order};
use super::locks::host::Generation;
use super::locks::host::served::{Object as Mutex, SERVICES, Service};
use super::locks::rwlock::object::{Object, Owed, Writers};
use super::locks::rwlock::{Count, Table};
use super::locks::{Outcome, Patience, Recursion};
use crate::{Block, Room, Tested};
use std::alloc::Layout;
use std::sync::Arc;

/// The interposer's numbers of rows and slots.
type Readers = Table<32, 256>;

#[derive(Default)]
#[repr(C)]
struct Body {
    readers: Count,
    name: AtomicU32,
    mutex: Mutex,
    /// Whether a writer's critical section has begun.
    writes: AtomicU32,
    phase: AtomicU32,
    owed: Owed,
    generation: Generation,
}

struct Lock {
    body: Block,
    table: Block,
    is_neutral: bool,
}

struct OfWriters<'a> {
    body: &'a Body,
    service: &'static Service,
}

impl Writers for OfWriters<'_> {
    fn acquire(&self) {
        // SAFETY: only this service serves the mutex; so for all below.
        unsafe { (self.service.pair.lock)(&self.body.mutex) };
    }
    fn try_acquire(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.service.try_lock)(&self.body.mutex) }
    }
    fn acquire_within(&self, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { (self.service.lock_within)(&self.body.mutex, patience) }
    }
    unsafe fn release(&self) {
        // SAFETY: as above, and the caller may unlock.
        unsafe { (self.service.pair.unlock)(&self.body.mutex) };
    }
    unsafe fn forget(&self) {
        unreachable!("a run does not fork");
    }
    fn has_waiters(&self) -> bool {
        // As the interposer's default.
        false
    }
    fn begin(&self) {
        self.body.writes.store(1, Order::RELAXED);
    }
    fn end(&self) {
        self.body.writes.store(0, Order::RELAXED);
    }
    fn has_begun(&self) -> bool {
        self.body.writes.load(Order::RELAXED) != 0
    }
}

impl Lock {
    fn object(&self) -> Object<'_, OfWriters<'_>, 32, 256> {
        // SAFETY: `lock` put one there.
        let body: &Body = unsafe { self.body.get() };
        // SAFETY: as above.
        let table: &Readers = unsafe { self.table.get() };
        let service = SERVICES[0].as_ref().expect("the default serves programs");
        Object {
            table,
            readers: &body.readers,
            name: &body.name,
            owed: &body.owed,
            phase: &body.phase,
            generation: &body.generation,
            writers: OfWriters { body, service },
            is_neutral: self.is_neutral,
        }
    }
}

// SAFETY: it is an rwlock, which excludes.
unsafe impl Tested for Lock {
    fn acquire(&self, _thread: usize) {
        let outcome = self.object().write(&Patience::ENDLESS);
        debug_assert_eq!(outcome, Outcome::Acquired);
    }
    fn acquire_within(&self, _thread: usize, patience: &Patience) -> Option<cohort::Outcome> {
        Some(self.object().write(patience))
    }
    unsafe fn release(&self, _thread: usize) {
        // SAFETY: the caller holds it.
        unsafe { self.object().release() };
    }
    fn is_locked(&self) -> bool {
        self.object().is_locked()
    }
    fn read(&self, _thread: usize) {
        let outcome = self.object().read(Recursion::Allowed, &Patience::ENDLESS);
        debug_assert_eq!(outcome, Outcome::Acquired);
    }
    unsafe fn release_read(&self, _thread: usize) {
        // SAFETY: the caller holds it for reading.
        unsafe { self.object().release() };
    }
}

pub fn lock(room: &mut dyn Room, name: &str) -> Option<Arc<dyn Tested>> {
    let is_neutral = match name {
        "c-rw-np" => true,
        "c-rw-wp" => false,
        _ => return None,
    };
    let body = room.block(Layout::new::<Body>());
    body.put(Body::default());
    let table = room.block(Layout::new::<Readers>());
    table.put(Readers::new());
    Some(Arc::new(Lock {
        body,
        table,
        is_neutral,
    }))
}
