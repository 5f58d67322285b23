//! Every lock of the catalogue and every composition, by a name at run time (feature `named`); for
//! [`AnyLock`](crate::AnyLock) and the library for C.
//!
//! A lock with a strict order gets admission control, as in the preloaded library. Otherwise it
//! would stall with more threads than CPUs.

use crate::catalogue;
use crate::compose::Gated;
use crate::compose::stacked::{Stacked, Text};
use crate::host::Served;
use crate::support::context::{ALIGN, BYTES};
use crate::support::made::Made;
use crate::sync::mutex::Mutex;
use cohort_raw::name::{Mistake, Servable};
use cohort_raw::recipe::Recipe;
use cohort_raw::{Able, Fair, Operations, Unable as _, operations};
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Alignment of locks: two cache lines, which the hardware prefetches together.
const LINES: usize = 128;

/// A lock's form: the catalogue's own if its waiters can give up, else with admission control if it
/// serves in order. The lock's type decides: an inherent constant takes precedence over a trait's
/// where its bounds are met.
struct Form<L>(PhantomData<L>);

impl<L: Served + Fair> Form<L> {
    const GATED: Option<Operations> = Some(Operations::of_hosted::<Gated<L>>());
}

/// [`Form`] of a lock without an order.
trait Ungated {
    const GATED: Option<Operations> = None;
}

impl<L> Ungated for Form<L> {}

const fn has_room(operations: Operations) -> Operations {
    let room = operations.context;
    assert!(room.size() <= BYTES && room.align() <= ALIGN);
    assert!(operations.lock.align() <= LINES);
    operations
}

macro_rules! locks {
    ($($name:ident, $lock:ty, $storage:ident, $alias:tt, $about:literal, $source:literal,
       $capabilities:tt;)+) => {
        /// The operations of each lock of the catalogue.
        pub static LOCKS: [Operations; catalogue::LOCKS.len()] = [$(has_room({
            // Another thread than the holder may release it.
            assert!(Able::<$lock>::THREAD_OBLIVIOUS);
            match (Able::<$lock>::ABORTABLE, Form::<$lock>::GATED) {
                (false, Some(gated)) => gated,
                _ => operations!($lock),
            }
        })),+];
    };
}
crate::for_each_lock!(locks);

/// The operations of every composition.
static COMPOSITION: Operations = has_room(Operations::of_hosted::<Gated<Stacked<Said>>>());

/// The recipe of the composition under construction, by the thread that holds this mutex.
static RECIPE: Mutex<Option<Recipe>> = Mutex::new(None);

/// The recipe in [`RECIPE`].
struct Said;

impl Text for Said {
    fn recipe() -> Recipe {
        // SAFETY: only called under `Named::make_at`, which holds the mutex.
        let said = unsafe { *RECIPE.data_ptr() };
        said.unwrap_or_else(|| unreachable!("a recipe is said before a lock is made by it"))
    }
}

/// The meaning of a name.
#[derive(Debug)]
pub enum Named {
    /// The lock at that index of the catalogue.
    Lock(usize),
    /// A composition.
    Composition(Recipe),
}

/// The mistake in a name.
#[derive(Debug)]
pub enum Wrong<'a> {
    /// It names no lock.
    Mistake(Mistake<'a>),
    /// The lock exists, but not in a form made at run time.
    NotHere,
}

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistake(mistake) => write!(f, "{mistake}"),
            Self::NotHere => f.write_str(
                "only the locks of `cohort list`, and compositions without /compiled and \
                 /abortable, are made at run time",
            ),
        }
    }
}

impl Named {
    /// The lock of that name.
    ///
    /// # Errors
    /// The mistake in the name.
    pub fn find(name: &str) -> Result<Self, Wrong<'_>> {
        let served = catalogue::read_served(name).and_then(|name| name.servable());
        match served.map_err(Wrong::Mistake)? {
            Servable::Listed(place) => Ok(Self::Lock(place)),
            Servable::Stacked(recipe) => Ok(Self::Composition(recipe)),
            _ => Err(Wrong::NotHere),
        }
    }

    fn operations(&self) -> &'static Operations {
        match self {
            Self::Lock(place) => &LOCKS[*place],
            Self::Composition(_) => &COMPOSITION,
        }
    }

    /// The memory that the lock takes: whole cache lines.
    #[must_use]
    pub fn room(&self) -> Layout {
        let aligned = Made::room(self.operations()).align_to(LINES);
        let Ok(room) = aligned else {
            unreachable!("a lock is smaller than memory");
        };
        room.pad_to_align()
    }

    /// Makes the lock at `place`.
    ///
    /// # Safety
    /// The place has [room](Self::room), exclusive to the caller.
    #[must_use]
    pub unsafe fn make_at(&self, place: NonNull<u8>) -> NonNull<Made> {
        // SAFETY: the caller's; every lock of this file supports inheritance and tries.
        let make = || unsafe { Made::make_at(place, self.operations()) };
        match self {
            Self::Lock(_) => make(),
            Self::Composition(recipe) => {
                let mut said = RECIPE.lock();
                *said = Some(*recipe);
                make()
            }
        }
    }
}
