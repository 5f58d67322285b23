//! A lock as it is measured: raw, with a context for each thread.
//!
//! It is called through a table, as a program calls a library through its own, so
//! that a workload is compiled once and not once for each lock; every lock pays
//! the same for that, and on a simulated machine none does.

use super::World;
use cohort::{Abortable, Outcome, Patience, RawLock, TwoForms};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// A lock under test.
///
/// # Safety
/// As [`RawLock`]: it gives mutual exclusion.
pub unsafe trait Tested: Send + Sync {
    /// Blocks until thread `thread` has the lock.  A number belongs to one thread
    /// at a time, which must not have the lock already.
    ///
    /// # Panics
    /// If the lock was not made for so many threads.
    fn acquire(&self, thread: usize);

    /// The same, but no longer than `patience` lasts; `None` if this lock's waiters
    /// cannot give up.
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    fn acquire_within(&self, thread: usize, patience: &Patience) -> Option<Outcome>;

    /// Releases the lock.
    ///
    /// # Safety
    /// Thread `thread` has it.
    unsafe fn release(&self, thread: usize);

    /// Whether somebody has it: a hint.
    fn is_locked(&self) -> bool;
}

/// How waiters of a lock give up.
type Within<L> = fn(&L, &<L as RawLock>::Context, &Patience) -> Outcome;

/// A lock and its contexts, wherever their world keeps them.
struct Raw<L: RawLock, K, C> {
    lock: K,
    contexts: Box<[C]>,
    within: Option<Within<L>>,
}

// SAFETY: every call goes to the lock, with a context that its thread alone uses.
unsafe impl<L, K, C> Tested for Raw<L, K, C>
where
    L: RawLock,
    K: Deref<Target = L> + Send + Sync,
    C: Deref<Target = L::Context> + Send + Sync,
{
    fn acquire(&self, thread: usize) {
        self.lock.acquire(&self.contexts[thread]);
    }

    fn acquire_within(&self, thread: usize, patience: &Patience) -> Option<Outcome> {
        let within = self.within?;
        Some(within(&self.lock, &self.contexts[thread], patience))
    }

    unsafe fn release(&self, thread: usize) {
        // SAFETY: the caller's thread acquired the lock with this context.
        unsafe { self.lock.release(&self.contexts[thread]) };
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

/// For a catalogue's `for_each_lock!`: declares the function of that name that makes a
/// lock by its identifier, in whatever world; in its spin-only form, if that is wanted
/// and there is one.
macro_rules! lock_maker {
    ($($name:ident, $lock:ty, $placement:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        pub(super) fn make<W: $crate::world::World>(
            world: &mut W,
            identifier: &str,
            threads: usize,
            spins: bool,
        ) -> Option<std::sync::Arc<dyn $crate::world::Tested>> {
            use $crate::world::raw::*;
            match identifier {
                $(stringify!($name) => {
                    let form = Form::<$lock>::new();
                    let spinning = match spins {
                        true => (&&&form).spinning(world, threads),
                        false => None,
                    };
                    Some(spinning.unwrap_or_else(|| (&&form).ordinary(world, threads)))
                })+
                _ => None,
            }
        }
    };
}

pub(crate) use lock_maker;

/// Chooses how a lock is made by what it implements: the compiler takes the method of
/// the first trait below that fits, the one for the most references first.
pub(crate) struct Form<L>(PhantomData<L>);

impl<L> Form<L> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

/// What a lock under test and its contexts must be.
pub(crate) trait Testable: RawLock<Context: Send + Sync + 'static> + 'static {}

impl<L: RawLock<Context: Send + Sync + 'static> + 'static> Testable for L {}

/// The spin-only form of a lock whose waiters can give up.
pub(crate) trait SpinsAndGivesUp {
    fn spinning<W: World>(&self, world: &mut W, threads: usize) -> Option<Arc<dyn Tested>>;
}

impl<L: TwoForms<Spinning: Testable + Abortable>> SpinsAndGivesUp for &&Form<L> {
    fn spinning<W: World>(&self, world: &mut W, threads: usize) -> Option<Arc<dyn Tested>> {
        let within = L::Spinning::acquire_within;
        Some(raw::<W, L::Spinning>(world, threads, Some(within)))
    }
}

/// The spin-only form of one whose waiters cannot.
pub(crate) trait Spins {
    fn spinning<W: World>(&self, world: &mut W, threads: usize) -> Option<Arc<dyn Tested>>;
}

impl<L: TwoForms<Spinning: Testable>> Spins for &Form<L> {
    fn spinning<W: World>(&self, world: &mut W, threads: usize) -> Option<Arc<dyn Tested>> {
        Some(raw::<W, L::Spinning>(world, threads, None))
    }
}

/// None, where there is one form only.
pub(crate) trait OneForm {
    fn spinning<W: World>(&self, world: &mut W, threads: usize) -> Option<Arc<dyn Tested>>;
}

impl<L> OneForm for Form<L> {
    fn spinning<W: World>(&self, _world: &mut W, _threads: usize) -> Option<Arc<dyn Tested>> {
        None
    }
}

/// A lock whose waiters can give up.
pub(crate) trait GivesUp {
    fn ordinary<W: World>(&self, world: &mut W, threads: usize) -> Arc<dyn Tested>;
}

impl<L: Testable + Abortable> GivesUp for &Form<L> {
    fn ordinary<W: World>(&self, world: &mut W, threads: usize) -> Arc<dyn Tested> {
        raw::<W, L>(world, threads, Some(L::acquire_within))
    }
}

/// One whose waiters cannot.
pub(crate) trait Waits {
    fn ordinary<W: World>(&self, world: &mut W, threads: usize) -> Arc<dyn Tested>;
}

impl<L: Testable> Waits for Form<L> {
    fn ordinary<W: World>(&self, world: &mut W, threads: usize) -> Arc<dyn Tested> {
        raw::<W, L>(world, threads, None)
    }
}

/// A fresh lock and its contexts, in that world.
fn raw<W, L>(world: &mut W, threads: usize, within: Option<Within<L>>) -> Arc<dyn Tested>
where
    W: World,
    L: Testable,
{
    tested(world, L::default(), threads, within)
}

/// That lock and its contexts, in that world.
pub(crate) fn tested<W, L>(
    world: &mut W,
    lock: L,
    threads: usize,
    within: Option<Within<L>>,
) -> Arc<dyn Tested>
where
    W: World,
    L: Testable,
{
    let lock = world.keep(lock);
    let contexts: Vec<_> = (0..threads)
        .map(|_| world.keep(L::Context::default()))
        .collect();
    Arc::new(Raw {
        lock,
        contexts: contexts.into_boxed_slice(),
        within,
    })
}

/// Declares, for a build of the locks, the function of that name that makes one by its
/// recipe.
macro_rules! composition_maker {
    ($($build:ident)::+) => {
        pub(super) fn make<W: $crate::world::World>(
            world: &mut W,
            recipe: &$crate::world::Recipe,
            threads: usize,
            spins: bool,
        ) -> Option<std::sync::Arc<dyn $crate::world::Tested>> {
            use $crate::world::recipe::Of;
            use $($build)::+::compose::generated::{self, Basic};
            use $($build)::+::compose::{Bound, Plan, Shareable, Visitor, WithBypass, cohorting};
            use $($build)::+::door::Level;
            use $($build)::+::wait::{MayPark, SpinOnly};

            struct Making<'a, W> {
                world: &'a mut W,
                plan: Plan<'a>,
                threads: usize,
            }

            impl<W: $crate::world::World> Visitor for Making<'_, W> {
                type Found = std::sync::Arc<dyn $crate::world::Tested>;

                fn found<L: Shareable>(self) -> Self::Found {
                    let lock = L::planned(&self.plan);
                    $crate::world::raw::tested(self.world, lock, self.threads, None)
                }
            }

            // The recipe speaks of another build's types; names are the same in all.
            let levels = recipe.levels_on(world.topology());
            let levels: Vec<Level> = levels
                .into_iter()
                .filter_map(|level| Level::named(level.name()))
                .collect();
            let making = Making {
                world,
                plan: Plan {
                    levels: &levels,
                    bound: recipe.bound.map(|bound| Bound {
                        hand_offs: bound.hand_offs,
                        nanoseconds: bound.nanoseconds,
                    }),
                },
                threads,
            };
            match &recipe.of {
                Of::Named(name) if recipe.bypass && spins => {
                    cohorting::find::<SpinOnly, _>(name, WithBypass(making))
                }
                Of::Named(name) if recipe.bypass => {
                    cohorting::find::<MayPark, _>(name, WithBypass(making))
                }
                Of::Named(name) if spins => cohorting::find::<SpinOnly, _>(name, making),
                Of::Named(name) => cohorting::find::<MayPark, _>(name, making),
                Of::Locks(locks) => {
                    let named = |lock: &cohort::compose::generated::Basic| Basic::named(lock.name());
                    let locks: Vec<Basic> = locks.iter().filter_map(named).collect();
                    // Twice as many would be twice as long to compile.
                    spins.then(|| generated::find::<SpinOnly, _>(&locks, making))?
                }
            }
        }
    };
}

pub(crate) use composition_maker;

/// No lock: for workloads that exclude by themselves.
struct Open;

// SAFETY: the workloads that ask for it let one thread at a time in by themselves;
// the data of all others is made of atomics.
unsafe impl Tested for Open {
    fn acquire(&self, _thread: usize) {}

    fn acquire_within(&self, _thread: usize, _patience: &Patience) -> Option<Outcome> {
        Some(Outcome::Acquired)
    }

    unsafe fn release(&self, _thread: usize) {}

    fn is_locked(&self) -> bool {
        false
    }
}

/// What stands under the name of no lock.
pub(crate) fn open() -> Arc<dyn Tested> {
    Arc::new(Open)
}
