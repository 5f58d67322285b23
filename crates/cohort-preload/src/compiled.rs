//! All generated compositions, abortable ones included, compiled. Only in the library with all of
//! them; a process uses one.
//!
//! The process's choice of a lock selects the composition. Its pools are created then, in memory
//! mapped for them.

use crate::serve::Said;
use cohort::Abortable;
use cohort::catalogue::own_pool_bytes;
use cohort::compose::{AbortableVisitor, RecipeBuilt, Shareable, Visitor, abortables, generated};
use cohort::door::map_slots;
use cohort::host::served::{Needs, Service, inflated};
use cohort::host::{Fat, FatPool, Holding, Pool, Pooled, Seldom};
use cohort::recipe::Recipe;
use cohort::wait::MayPark;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The composition selected by [`choose`].
pub static COMPILED: Service =
    cohort::service_of_fat_pool!(fat_pool(), inflated::lock, || chosen().needs(), |by| {
        chosen().move_caches(by)
    });

/// Pool owned by its user.
#[derive(Debug)]
struct Owned<T>(T);

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Fat locks of a composition, with their pools; `GIVE_UP` if its waiters can give up.
type Store<L, const GIVE_UP: bool> = Pooled<
    RecipeBuilt<L, Said>,
    Owned<Seldom<Holding<<RecipeBuilt<L, Said> as cohort::RawLock>::Context>>>,
    Owned<Seldom<Fat<RecipeBuilt<L, Said>>>>,
    GIVE_UP,
>;

/// Any composition's store.
trait Compiled: Sync {
    fn fat_pool(&self) -> &dyn FatPool;

    fn needs(&self) -> Needs;

    fn move_caches(&self, by: u32);
}

impl<L: Shareable, const GIVE_UP: bool> Compiled for Store<L, GIVE_UP> {
    fn fat_pool(&self) -> &dyn FatPool {
        self
    }

    fn needs(&self) -> Needs {
        let (records, fats) = self.pools();
        Needs {
            bytes: records.bytes() + fats.bytes() + own_pool_bytes(),
            inflated: fats.used(),
        }
    }

    fn move_caches(&self, by: u32) {
        let (records, fats) = self.pools();
        records.move_caches(by);
        fats.move_caches(by);
    }
}

/// The chosen store; null before the choice.
static CHOSEN: AtomicPtr<&'static dyn Compiled> = AtomicPtr::new(ptr::null_mut());

/// Makes [`COMPILED`] the composition of `recipe`. The mutexes' locks already have the recipe.
/// False if the system has no memory for it.
pub fn choose(recipe: &Recipe) -> bool {
    publish(generated::find::<MayPark, _>(recipe.locks(), Making).flatten())
}

/// [`choose`] for an abortable composition.
pub fn choose_abortable(recipe: &Recipe) -> bool {
    publish(abortables::find::<MayPark, _>(recipe.locks(), Making).flatten())
}

/// Visitor: creates the pools of the selected composition.
struct Making;

impl Visitor for Making {
    type Found = Option<&'static dyn Compiled>;

    fn found<L: Shareable>(self) -> Self::Found {
        Some(mapped(Store::<L, false>::new(
            Owned(Seldom::new()),
            Owned(Seldom::new()),
        ))?)
    }
}

impl AbortableVisitor for Making {
    type Found = Option<&'static dyn Compiled>;

    fn found<L: Shareable + Abortable>(self) -> Self::Found {
        Some(mapped(Store::<L, true>::giving_up(
            Owned(Seldom::new()),
            Owned(Seldom::new()),
            Some(RecipeBuilt::acquire_within),
        ))?)
    }
}

/// Makes [`COMPILED`] the given composition, if any.
fn publish(found: Option<&'static dyn Compiled>) -> bool {
    let Some(place) = found.and_then(mapped) else {
        return false;
    };
    // Concurrent threads choose by the same recipe; the first publication stands.
    let _ = CHOSEN.compare_exchange(
        ptr::null_mut(),
        ptr::from_ref(place).cast_mut(),
        Ordering::AcqRel,
        Ordering::Acquire,
    );
    true
}

/// Moves `value` into mapped memory that stays; none if the system has no memory left.
fn mapped<T>(value: T) -> Option<&'static T> {
    // The initial content is overwritten below.
    let place = map_slots(1, || -> T { unreachable!() })?;
    // SAFETY: fresh memory for one of them, and exclusively the caller's.
    unsafe {
        place.write(value);
        Some(place.as_ref())
    }
}

fn chosen() -> &'static dyn Compiled {
    // SAFETY: a thread that sees this service chosen sees its publication, and the published store
    // stays.
    unsafe { *CHOSEN.load(Ordering::Acquire) }
}

fn fat_pool() -> &'static dyn FatPool {
    chosen().fat_pool()
}
