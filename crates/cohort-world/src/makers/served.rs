//! Locks in a program's 40 bytes, by the adapter's service of each.

use super::locks::compose::stacked::{Stacked, Text};
use super::locks::host::served::{self, Object, Service, inflated};
use super::locks::host::{Fat, Holding, Pooled, Seldom};
use super::locks::{Outcome, Patience, RawLock, catalogue};
use super::{cohort_rw, text};
use crate::raw::Pool;
use crate::{Block, Room, Tested};
use cohort::name::Servable;
use cohort::recipe::Recipe;
use std::alloc::Layout;
use std::ops::Deref;
use std::sync::Arc;

/// Creates the lock of that name, as it serves programs; `None` if it serves none.
pub fn make(room: &mut dyn Room, name: &str) -> Option<Arc<dyn Tested>> {
    if let Some(info) = catalogue::find_shared(name) {
        return cohort_rw::lock(room, info.name);
    }
    let object = room.block(Layout::new::<Object>());
    object.put(Object::default());
    if let Some(place) = catalogue::place(name) {
        let by = served::at(place)?;
        return Some(Arc::new(Mutex { object, by }));
    }
    let Ok(Servable::Stacked(recipe)) = catalogue::read(name).ok()?.servable() else {
        return None;
    };
    text::set(recipe.to_words());
    // Threads have one cache for all such locks' nodes, so these are of one pool.
    let known = room.pool().clone().and_then(|pool| pool.downcast().ok());
    let stock = known.unwrap_or_else(|| {
        let store = room.block(Layout::new::<Store>());
        store.put(Store::new(Owned::default(), Owned::default()));
        let stock = Arc::new(Stock(store));
        *room.pool() = Some(Arc::clone(&stock) as Pool);
        stock
    });
    let by = OfStock(stock);
    Some(Arc::new(Mutex { object, by }))
}

/// Object with its service.
struct Mutex<S> {
    object: Block,
    by: S,
}

impl<S> Mutex<S> {
    fn object(&self) -> &Object {
        // SAFETY: `make` put one there.
        unsafe { self.object.get() }
    }
}

// SAFETY: each object has one service, which excludes.
unsafe impl<S: Serves> Tested for Mutex<S> {
    fn acquire(&self, _thread: usize) {
        // SAFETY: nothing else serves the object; so for all below.
        unsafe { self.by.lock(self.object()) };
    }

    fn acquire_within(&self, _thread: usize, patience: &Patience) -> Option<Outcome> {
        // SAFETY: as above.
        Some(
            match unsafe { self.by.lock_within(self.object(), patience) } {
                true => Outcome::Acquired,
                false => Outcome::GaveUp,
            },
        )
    }

    unsafe fn release(&self, _thread: usize) {
        // SAFETY: as above, and the caller holds the lock.
        unsafe { self.by.unlock(self.object()) };
    }

    fn is_locked(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.by.is_locked(self.object()) }
    }
}

/// Service of an object.
trait Serves: Send + Sync {
    /// # Safety
    /// Only this service serves the object; so for all below.
    unsafe fn lock(&self, object: &Object);
    unsafe fn lock_within(&self, object: &Object, patience: &Patience) -> bool;
    /// # Safety
    /// As above, and the caller may unlock.
    unsafe fn unlock(&self, object: &Object);
    unsafe fn is_locked(&self, object: &Object) -> bool;
}

impl Serves for &'static Service {
    unsafe fn lock(&self, object: &Object) {
        // SAFETY: passed on; so for all below.
        unsafe { (self.pair.lock)(object) };
    }

    unsafe fn lock_within(&self, object: &Object, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { (self.lock_within)(object, patience) }
    }

    unsafe fn unlock(&self, object: &Object) {
        // SAFETY: as above.
        unsafe { (self.pair.unlock)(object) };
    }

    unsafe fn is_locked(&self, object: &Object) -> bool {
        // SAFETY: as above.
        unsafe { (self.is_locked)(object) }
    }
}

/// Composition described by the run's text.
struct OfText;

impl Text for OfText {
    fn recipe() -> Recipe {
        Recipe::of_words(text::get())
    }
}

type Composed = Stacked<OfText>;

/// Pool owned by the store.
#[derive(Default)]
struct Owned<T>(T);

impl<T> Deref for Owned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

type Store = Pooled<
    Composed,
    Owned<Seldom<Holding<<Composed as RawLock>::Context>>>,
    Owned<Seldom<Fat<Composed>>>,
>;

/// A block with a store.
struct Stock(Block);

/// Source of a composition's fat locks.
struct OfStock(Arc<Stock>);

impl OfStock {
    fn store(&self) -> &Store {
        // SAFETY: `make` put one there.
        unsafe { self.0.0.get() }
    }
}

impl Serves for OfStock {
    unsafe fn lock(&self, object: &Object) {
        // SAFETY: passed on; so for all below.
        unsafe { inflated::lock(object, self.store()) };
    }

    unsafe fn lock_within(&self, object: &Object, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { inflated::lock_within(object, self.store(), patience) }
    }

    unsafe fn unlock(&self, object: &Object) {
        // SAFETY: as above.
        unsafe { inflated::unlock(object, self.store()) };
    }

    unsafe fn is_locked(&self, object: &Object) -> bool {
        // SAFETY: as above.
        unsafe { inflated::is_locked(object) }
    }
}
