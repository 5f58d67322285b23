//! Compiled locks outside the catalogue: all generated compositions, cohort locks with bounds or
//! bypasses, trees of queues. Only in the library with all of them; a process uses one.
//!
//! The process's choice of a lock selects one. Its pools are created then, in memory mapped for
//! them.

use crate::serve::{Said, set_recipe};
use cohort::Abortable;
use cohort::catalogue::{self, own_pool_bytes};
use cohort::compose::{
    AbortableVisitor, RecipeBuilt, Shareable, Visitor, WithBypass, abortables, cohorting, generated,
};
use cohort::door::map_slots;
use cohort::host::served::{Needs, Service, inflated};
use cohort::host::{Fat, FatPool, Holding, Pool, Pooled, Seldom, Served};
use cohort::name::{BypassPolicy, Servable};
use cohort::numa::{
    AnyAhmcs, AnyAhmcsT, AnyHmcs, AnyHmcsFast, AnyHmcsT, ChosenShape, ShapeText, TextShape,
};
use cohort::recipe::{Basic, Bound, Level, Recipe};
use cohort::tree::TreeKind;
use cohort::wait::MayPark;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The lock selected by [`choose`].
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

/// Fat locks of a type, with their pools; `GIVE_UP` if its waiters can give up.
type Store<L, const GIVE_UP: bool> = Pooled<
    L,
    Owned<Seldom<Holding<<L as cohort::RawLock>::Context>>>,
    Owned<Seldom<Fat<L>>>,
    GIVE_UP,
>;

/// Any lock's store.
trait Compiled: Sync {
    fn fat_pool(&self) -> &dyn FatPool;

    fn needs(&self) -> Needs;

    fn move_caches(&self, by: u32);
}

impl<L: Served, const GIVE_UP: bool> Compiled for Store<L, GIVE_UP> {
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

/// The chosen tree's shape; null for other locks.
static SHAPE: AtomicPtr<ChosenShape> = AtomicPtr::new(ptr::null_mut());

impl ShapeText for Said {
    fn shape() -> ChosenShape {
        // SAFETY: `choose` sets it before a tree is made, and it stays.
        unsafe { *SHAPE.load(Ordering::Acquire) }
    }
}

/// Makes [`COMPILED`] that lock. False if this library lacks it, or the system has no memory for
/// it.
pub fn choose(lock: &Servable) -> bool {
    publish(match lock {
        Servable::Compiled(recipe) => {
            set_recipe(recipe);
            generated::find::<MayPark, _>(recipe.locks(), Making).flatten()
        }
        Servable::Abortable(recipe) => {
            set_recipe(recipe);
            abortables::find::<MayPark, _>(recipe.locks(), Making).flatten()
        }
        Servable::Refined {
            place,
            bound,
            bypass,
        } => refined(*place, *bound, *bypass),
        Servable::Tree {
            tree,
            levels,
            in_a_row,
        } => mapped(ChosenShape::of(tree, Some(*levels), *in_a_row)).and_then(|shape| {
            SHAPE.store(ptr::from_ref(shape).cast_mut(), Ordering::Release);
            shaped(tree.kind)
        }),
        Servable::System | Servable::Listed(_) | Servable::Stacked(_) => None,
    })
}

/// The store of the catalogue's cohort lock at that index.
fn refined(place: usize, bound: Bound, bypass: Option<BypassPolicy>) -> Found {
    // The type knows its locks; the recipe has its bound.
    let locks = [Basic::Ticket; 2];
    set_recipe(&Recipe::of(&locks, &[Level::Numa], Some(bound))?);
    let name = catalogue::name(place)?;
    match bypass {
        None if cohorting::gives_up(name) => cohorting::find_abortable::<MayPark, _>(name, Making),
        None => cohorting::find::<MayPark, _>(name, Making),
        Some(BypassPolicy::Always) => {
            cohorting::find::<MayPark, _>(name, WithBypass::<_, false>(Making))
        }
        Some(BypassPolicy::Adaptive) => {
            cohorting::find::<MayPark, _>(name, WithBypass::<_, true>(Making))
        }
    }
    .flatten()
}

/// The store of trees of that kind, with the shape in [`SHAPE`].
fn shaped(kind: TreeKind) -> Found {
    type Text = TextShape<Said>;
    match kind {
        TreeKind::Hmcs => store::<AnyHmcs<MayPark, Text>>(),
        TreeKind::HmcsFast => store::<AnyHmcsFast<MayPark, Text>>(),
        TreeKind::Ahmcs => store::<AnyAhmcs<MayPark, Text>>(),
        TreeKind::HmcsT => abortable_store::<AnyHmcsT<MayPark, Text>>(),
        // Its name is not servable.
        TreeKind::HmcsTPublished => None,
        TreeKind::AhmcsT => abortable_store::<AnyAhmcsT<MayPark, Text>>(),
    }
}

/// A new store, unless the system has no memory for it.
type Found = Option<&'static dyn Compiled>;

fn store<L: Served>() -> Found {
    Some(mapped(Store::<L, false>::new(
        Owned(Seldom::new()),
        Owned(Seldom::new()),
    ))?)
}

fn abortable_store<L: Served + Abortable>() -> Found {
    Some(mapped(Store::<L, true>::giving_up(
        Owned(Seldom::new()),
        Owned(Seldom::new()),
        Some(L::acquire_within),
    ))?)
}

/// Visitor: creates the pools of the selected composition.
struct Making;

impl Visitor for Making {
    type Found = Found;

    fn found<L: Shareable>(self) -> Found {
        store::<RecipeBuilt<L, Said>>()
    }
}

impl AbortableVisitor for Making {
    type Found = Found;

    fn found<L: Shareable + Abortable>(self) -> Found {
        abortable_store::<RecipeBuilt<L, Said>>()
    }
}

/// Makes [`COMPILED`] the given lock, if any.
fn publish(found: Found) -> bool {
    let Some(place) = found.and_then(mapped) else {
        return false;
    };
    // Concurrent threads choose by the same name; the first publication stands.
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
