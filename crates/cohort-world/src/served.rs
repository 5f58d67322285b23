//! Locks as programs use them: in 40 bytes, with the adapter's code, admission control and pools,
//! as `pthread_mutex_lock` runs them under `cohort run`.
//!
//! The [default](cohort::numa::FutexHmcs) and `futex` are the same either way, and so is the C
//! library's: they are measured raw. The writers of `c-rw-np` and `c-rw-wp` use the default, as in
//! a program without another choice.

use super::simulated::is_baseline;
use cohort::catalogue::{self, Storage};
use cohort::name::Servable;

/// Whether a program has the lock of that name exactly as it is raw.
#[must_use]
pub fn is_itself(name: &str) -> bool {
    match catalogue::find(name) {
        Some(info) => info.storage == Storage::Word,
        // A one-word lock in a program is the same here.
        None => is_baseline(name) || name.starts_with("posix-") || name == "rwlock",
    }
}

/// Why a lock cannot be measured as it serves programs; `None` if it can.
#[must_use]
pub fn refusal(name: &str) -> Option<String> {
    let why = match catalogue::find(name) {
        Some(info) if info.serves_programs() => return None,
        Some(_) => "it serves no program (see `cohort list`)",
        None if is_baseline(name) || name.starts_with("posix-") => return None,
        None if catalogue::find_shared(name).is_some() => return None,
        None => match catalogue::read(name).and_then(|name| name.servable()) {
            Ok(Servable::Stacked(_)) => return None,
            Ok(_) => "programs have it compiled, which is not measured",
            Err(why) => &why.to_string(),
        },
    };
    Some(format!("the lock `{name}` cannot be served: {why}"))
}

/// Declares, for a build of the locks, the function that creates a lock as it serves programs.
/// `$recipe` is a module that stores the words of a composition's text, by `set` and `get`, for all
/// threads of a run.
macro_rules! served_maker {
    ($($build:ident)::+, $recipe:ident) => {
        /// `c-rw-np` and `c-rw-wp`: the words of the object beside the writers' mutex, and the
        /// table of reader counts.
        mod by_cohort {
            use $crate::{Block, Room, Tested};
            use $($build)::+::door::AtomicU32;
            use $($build)::+::host::Generation;
            use $($build)::+::host::served::{Object as Mutex, SERVICES, Service};
            use $($build)::+::rwlock::object::{Object, Owed, Writers};
            use $($build)::+::rwlock::{Count, Table};
            use $($build)::+::{Outcome, Patience, Recursion};
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
                    self.body.writes.store(1, $($build)::+::door::Order::RELAXED);
                }
                fn end(&self) {
                    self.body.writes.store(0, $($build)::+::door::Order::RELAXED);
                }
                fn has_begun(&self) -> bool {
                    self.body.writes.load($($build)::+::door::Order::RELAXED) != 0
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
                fn acquire_within(
                    &self,
                    _thread: usize,
                    patience: &Patience,
                ) -> Option<cohort::Outcome> {
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
                Some(Arc::new(Lock { body, table, is_neutral }))
            }
        }

        pub(super) fn make(
            room: &mut dyn $crate::Room,
            name: &str,
        ) -> Option<std::sync::Arc<dyn $crate::Tested>> {
            use $crate::{Block, Tested};
            use $($build)::+::compose::stacked::{Stacked, Text};
            use $($build)::+::host::served::{self, Object, Service, inflated};
            use $($build)::+::host::{Fat, Holding, Pooled, Seldom};
            use $($build)::+::{Patience, RawLock, catalogue};
            use cohort::name::Servable;
            use cohort::recipe::Recipe;
            use std::alloc::Layout;
            use std::ops::Deref;
            use std::sync::Arc;

            /// Object with its service.
            struct Mutex<S> {
                object: Block,
                by: S,
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

            /// Composition described by the stored text.
            struct Told;

            impl Text for Told {
                fn recipe() -> Recipe {
                    Recipe::of_words($recipe::get())
                }
            }

            type Composed = Stacked<Told>;

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

            /// Source of a composition's fat locks.
            struct OfStock(Block);

            impl OfStock {
                fn store(&self) -> &Store {
                    // SAFETY: `make` put one there.
                    unsafe { self.0.get() }
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
                fn acquire_within(
                    &self,
                    _thread: usize,
                    patience: &Patience,
                ) -> Option<cohort::Outcome> {
                    // SAFETY: as above.
                    Some(match unsafe { self.by.lock_within(self.object(), patience) } {
                        true => cohort::Outcome::Acquired,
                        false => cohort::Outcome::GaveUp,
                    })
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

            if let Some(info) = catalogue::find_shared(name) {
                return by_cohort::lock(room, info.name);
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
            $recipe::set(recipe.to_words());
            let store = room.block(Layout::new::<Store>());
            store.put(Store::new(Owned::default(), Owned::default()));
            let by = OfStock(store);
            Some(Arc::new(Mutex { object, by }))
        }
    };
}

pub(crate) use served_maker;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_program_can_have_is_refused() {
        for name in ["futex-hmcs", "mcs", "hmcs-4", "clof:mcs-ticket", "posix"] {
            assert_eq!(refusal(name), None);
        }
        for name in ["c-tkt-tkt/7", "clof:mcs-nobody", "none"] {
            assert!(refusal(name).is_some(), "{name}");
        }
    }
}
