//! Every generated composition, and every one that lets waiters give up, compiled: only in the
//! library that has them all, of which a process uses one.
//!
//! Which one is found when the process decides on its lock; its pools are made then, in
//! memory mapped for them.

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

/// The composition that [`choose`] has found.
pub static COMPILED: Service =
    cohort::service_of_fat_pool!(fat_pool(), inflated::lock, || chosen().needs(), |by| {
        chosen().move_caches(by)
    });

/// A pool that another thing owns.
#[derive(Debug)]
struct Owned<T>(T);

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A composition's fat locks, with the pools they come from; whether its waiters can give up.
type Store<L, const GIVE_UP: bool> = Pooled<
    RecipeBuilt<L, Said>,
    Owned<Seldom<Holding<<RecipeBuilt<L, Said> as cohort::RawLock>::Context>>>,
    Owned<Seldom<Fat<RecipeBuilt<L, Said>>>>,
    GIVE_UP,
>;

/// Such a store, whichever composition it is of.
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

/// Where the chosen store is: null until there is one.
static CHOSEN: AtomicPtr<&'static dyn Compiled> = AtomicPtr::new(ptr::null_mut());

/// Makes [`COMPILED`] the composition that `recipe` describes, which the mutexes' locks
/// have been told already; false if the system has no memory for it.
pub fn choose(recipe: &Recipe) -> bool {
    publish(generated::find::<MayPark, _>(recipe.locks(), Making).flatten())
}

/// The same of one that lets waiters give up.
pub fn choose_abortable(recipe: &Recipe) -> bool {
    publish(abortables::find::<MayPark, _>(recipe.locks(), Making).flatten())
}

/// Makes the pools of a composition that was found.
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

/// Makes [`COMPILED`] that one, if there is one.
fn publish(found: Option<&'static dyn Compiled>) -> bool {
    let Some(place) = found.and_then(mapped) else {
        return false;
    };
    // Of threads that choose at once, which they do by the same recipe, the first decides.
    let _ = CHOSEN.compare_exchange(
        ptr::null_mut(),
        ptr::from_ref(place).cast_mut(),
        Ordering::AcqRel,
        Ordering::Acquire,
    );
    true
}

/// `value`, in memory of its own that stays; none if the system has none left.
fn mapped<T>(value: T) -> Option<&'static T> {
    // What it makes of the memory is written over.
    let place = map_slots(1, || -> T { unreachable!() })?;
    // SAFETY: fresh memory for one of them, and nobody else's.
    unsafe {
        place.write(value);
        Some(place.as_ref())
    }
}

fn chosen() -> &'static dyn Compiled {
    // SAFETY: a thread that knows that this service serves had it published before, and what
    // was published stays.
    unsafe { *CHOSEN.load(Ordering::Acquire) }
}

fn fat_pool() -> &'static dyn FatPool {
    chosen().fat_pool()
}
