//! `Stacked`: a composition built at run time from a text, for programs that are not recompiled:
//! `cohort run --lock clof:ticket-clh-mcs`.
//!
//! **Not for** programs that can name the type: [`Clof`](super::Clof) needs no dispatch at any
//! level, and its cohorts are in one block.
//!
//! Each step is [`Clof`](super::Clof)'s (Chehab et al. 2021 §4.1), between a cohort's low lock and
//! all above it: another cohort, or the root lock.  A cohort is made at its first acquisition.
//!
//! | field of a cohort | written by | meaning |
//! |---|---|---|
//! | `low` | its waiters | which thread of the cohort is next |
//! | `held.above` | its maker | the enclosing cohort; null: the whole system |
//! | `held.metadata` | the holder of `low` | as in [`clof`](super::clof) |
//!
//! The kind of each level's locks is in the recipe, on lines that are only read.
//!
//! The lock must not be dropped before all releases have returned.  A borrow ensures that, except
//! for forgotten guards; an inflated object never drops it.

use super::any::{Any, AnyContext, Chosen, Locks};
use super::clof::{CohortLock, Metadata};
use super::{Composed, Plan, Tree};
use crate::door::{AtomicPtr, Order, cohort, flaws, inner_places, leaf_places, mutant, pool};
use crate::host::{Arena, Pool};
use crate::support::padded::CachePadded;
use cohort_raw::recipe::{Basic, LEVELS, Recipe};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, standalone};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

flaws! {
    FORGET_ABOVE = "stacked.forget-above";
}

/// The description of a stacked lock's type.
pub trait Text: Send + Sync + 'static {
    /// The recipe of a lock that is made without a plan.
    fn recipe() -> Recipe;
}

/// No description: locks are made by a [`Plan`].
#[derive(Debug)]
pub struct Unsaid;

impl Text for Unsaid {
    fn recipe() -> Recipe {
        Recipe::of(&[Basic::Ticket], &[], None).expect("one lock is enough")
    }
}

/// A cohort of one lock.
#[derive(Default)]
#[repr(C, align(128))]
pub struct Cohort {
    low: Locks,
    /// On lines that waiters do not access.
    held: CachePadded<Held>,
}

/// What the holder of a cohort's low lock reads and writes.
#[derive(Default)]
#[repr(C)]
struct Held {
    above: AtomicPtr<Cohort>,
    metadata: Metadata<AnyContext>,
}

impl fmt::Debug for Cohort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cohort").finish_non_exhaustive()
    }
}

impl Cohort {
    fn above(&self) -> Option<&Self> {
        // SAFETY: cohorts are nodes of a pool, which stay, and null is none.
        unsafe { self.held.0.above.load(Order::RELAXED).as_ref() }
    }
}

pool! {
    /// Cohorts of all such locks.
    static COHORTS: Cohort, placed
}

/// Bytes of all cohorts made.
pub(crate) fn pool_bytes() -> usize {
    COHORTS.bytes()
}

/// The context of an acquisition.
#[derive(Debug, Default)]
pub struct StackedContext {
    /// The acquisition's cohort; null: there are none.
    cohort: AtomicPtr<Cohort>,
    low: AnyContext,
}

impl StackedContext {
    fn cohort(&self) -> Option<&Cohort> {
        // SAFETY: as `Cohort::above`.
        unsafe { self.cohort.load(Order::RELAXED).as_ref() }
    }
}

/// The lock, with places for `LEAVES` cohorts of the smallest level and `INNER` of all others
/// together.
///
/// ```
/// use cohort::compose::{Composed, Plan, Stacked, stacked::Unsaid};
/// use cohort::recipe::{Basic, Level};
/// use cohort::Mutex;
///
/// let levels = [Level::CacheGroup, Level::Numa];
/// let plan = Plan { locks: &[Basic::Mcs, Basic::Mcs, Basic::Ticket], levels: &levels, bound: None };
/// type Three = Stacked<Unsaid>;
/// let total: Mutex<u64, Three> = Mutex::from_raw(Three::planned(&plan), 1);
/// total.locking(|total| *total += 1);
/// ```
pub struct Stacked<
    T,
    const LEAVES: usize = { leaf_places(128) },
    const INNER: usize = { inner_places(64) },
> {
    root: Any,
    recipe: Recipe,
    cohorts: Tree<Cohort, LEAVES, INNER>,
    text: PhantomData<fn() -> T>,
}

impl<T, const LEAVES: usize, const INNER: usize> fmt::Debug for Stacked<T, LEAVES, INNER> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacked").finish_non_exhaustive()
    }
}

impl<T: Text, const LEAVES: usize, const INNER: usize> Default for Stacked<T, LEAVES, INNER> {
    fn default() -> Self {
        Self::made(T::recipe())
    }
}

impl<T, const LEAVES: usize, const INNER: usize> Drop for Stacked<T, LEAVES, INNER> {
    fn drop(&mut self) {
        self.cohorts.give_back(&COHORTS);
    }
}

impl<T, const LEAVES: usize, const INNER: usize> Stacked<T, LEAVES, INNER> {
    fn made(recipe: Recipe) -> Self {
        const { assert!(Tree::<Cohort, LEAVES, INNER>::has_room_for(LEVELS - 1)) };
        Self {
            root: Any::of(recipe.locks()[recipe.levels().len()]),
            recipe,
            cohorts: Tree::new(),
            text: PhantomData,
        }
    }

    /// The caller's cohort at that level; null above the last.
    #[inline]
    fn find(&self, level: usize) -> *mut Cohort {
        let levels = self.recipe.levels();
        let Some(at) = levels.get(level) else {
            return ptr::null_mut();
        };
        let cohort = cohort(*at);
        let known = self.cohorts.find(level, levels.len(), cohort);
        if known.is_null() {
            self.make(level, cohort)
        } else {
            known
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self, level: usize, cohort: usize) -> *mut Cohort {
        let new = COHORTS.take();
        new.held.0.above.store(self.find(level + 1), Order::RELAXED);
        // SAFETY: taken just now, and not yet shared.  A node that was given back may still be
        // held, if a guard of its lock was forgotten, by a lock of any kind.
        unsafe { new.low.forget() };
        new.held.0.metadata.forget();
        let place = (level, self.recipe.levels().len(), cohort);
        self.cohorts.put(place, new, &COHORTS)
    }

    /// The caller's smallest cohort, noted in its context.
    #[inline]
    fn begin<'a>(&self, cx: &'a StackedContext) -> Option<&'a Cohort> {
        cx.cohort.store(self.find(0), Order::RELAXED);
        cx.cohort()
    }

    /// The lock of that cohort, or the root where there is none: each is of its level's kind.
    #[inline(always)]
    fn at<'a>(&'a self, level: usize, cohort: Option<&'a Cohort>) -> Chosen<'a> {
        let locks = cohort.map_or(&self.root.locks.0, |here| &here.low);
        // SAFETY: a cohort stays at its level, and is free when a lock takes it.
        unsafe { locks.chosen(self.recipe.locks()[level]) }
    }

    /// Blocks until all locks from that cohort of a level upwards are held.
    ///
    /// # Safety
    /// As [`RawLock::acquire`], of the cohort's low lock, or of the root where there is no cohort.
    unsafe fn climb(&self, level: usize, cohort: Option<&Cohort>, cx: &AnyContext) {
        let lock = self.at(level, cohort);
        let Some(here) = cohort else {
            // SAFETY: the caller's.
            return unsafe { lock.acquire(cx) };
        };
        let metadata = &here.held.0.metadata;
        // SAFETY: the caller's; only the holder of a low lock uses its cohort's context, and the
        // cohort is a node of a pool, which stays.
        unsafe {
            metadata.acquire(lock, cx, self.recipe.bound(), || {
                self.climb(level + 1, here.above(), &metadata.high);
            });
        }
    }

    /// As [`climb`](Self::climb), if it takes no waiting; not inlined, to keep the library small.
    ///
    /// # Safety
    /// As [`RawTry::try_acquire`], of the same lock.
    #[inline(never)]
    unsafe fn try_climb(&self, level: usize, cohort: Option<&Cohort>, cx: &AnyContext) -> bool {
        let lock = self.at(level, cohort);
        // SAFETY: the caller's.
        if !unsafe { lock.try_acquire(cx) } {
            return false;
        }
        let Some(here) = cohort else {
            return true;
        };
        let metadata = &here.held.0.metadata;
        // SAFETY: acquired above; else as in `climb`.
        unsafe {
            metadata.try_rest(lock, cx, self.recipe.bound(), || {
                self.try_climb(level + 1, here.above(), &metadata.high)
            })
        }
    }

    /// Passes everything held from that cohort of a level upwards to a waiter of the cohort, or releases
    /// it from the top.
    ///
    /// # Safety
    /// The caller holds all of it, by that context and those of the cohorts.
    unsafe fn pass_on(&self, level: usize, cohort: Option<&Cohort>, cx: &AnyContext) {
        let lock = self.at(level, cohort);
        let Some(here) = cohort else {
            // SAFETY: the caller's.
            return unsafe { lock.release(cx) };
        };
        let metadata = &here.held.0.metadata;
        // SAFETY: the caller's.
        unsafe {
            metadata.release(lock, cx, self.recipe.bound(), |_| {
                if !mutant(flaw::FORGET_ABOVE) {
                    self.pass_on(level + 1, here.above(), &metadata.high);
                }
            });
        }
    }
}

// SAFETY: a thread that returns from an acquisition holds its cohort's low lock and, passed or
// acquired, all above it with its cohorts' contexts; each has one holder, and publishes earlier
// work.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> RawLock
    for Stacked<T, LEAVES, INNER>
{
    type Context = StackedContext;

    #[inline]
    unsafe fn acquire(&self, cx: &StackedContext) {
        // SAFETY: the caller's.
        unsafe { self.climb(0, self.begin(cx), &cx.low) };
    }

    #[inline]
    unsafe fn release(&self, cx: &StackedContext) {
        // SAFETY: the caller's.
        unsafe { self.pass_on(0, cx.cohort(), &cx.low) };
    }

    fn is_locked(&self) -> bool {
        self.root.is_locked()
    }
}

standalone! {
    [T: Text, const LEAVES: usize, const INNER: usize] Stacked<T, LEAVES, INNER>:
    Hosted {
        node_bytes: Any::HOSTING.node_bytes,
        cohort_bytes: (LEVELS - 1) * Arena::<Cohort>::NODE_BYTES,
    },
    LowLock,
    HighLock
}

// SAFETY: as above; a thread that finds a lock taken releases the locks below it.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> RawTry for Stacked<T, LEAVES, INNER> {
    unsafe fn try_acquire(&self, cx: &StackedContext) -> bool {
        // SAFETY: the caller's.
        unsafe { self.try_climb(0, self.begin(cx), &cx.low) }
    }
}

// SAFETY: release depends on the context's cohort, not on the thread.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> ThreadOblivious
    for Stacked<T, LEAVES, INNER>
{
}

impl<T: Text, const LEAVES: usize, const INNER: usize> Fair for Stacked<T, LEAVES, INNER> {}

// SAFETY: a thread that waits for a lock on the way up waits for the whole composition.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> DetectsWaiters
    for Stacked<T, LEAVES, INNER>
{
    unsafe fn has_waiters(&self, cx: &StackedContext) -> bool {
        let (mut level, mut cohort, mut low) = (0, cx.cohort(), &cx.low);
        loop {
            // SAFETY: the caller's; a holder holds each lock on its way up, by that cohort's
            // context.
            if unsafe { self.at(level, cohort).is_awaited(low) } {
                return true;
            }
            let Some(here) = cohort else {
                return false;
            };
            (cohort, low) = (here.above(), &here.held.0.metadata.high);
            level += 1;
        }
    }
}

// SAFETY: afterwards every lock is free except on the holder's way up, and nothing is passed.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> Inherit
    for Stacked<T, LEAVES, INNER>
{
    unsafe fn inherit(&self, holder: Option<&StackedContext>) {
        // SAFETY: the caller is alone, and holds every lock on its way up by these contexts.
        unsafe {
            for cohort in self.cohorts.all() {
                cohort.low.forget();
                cohort.held.0.metadata.forget();
            }
            let Some(cx) = holder else {
                return self.root.inherit(None);
            };
            let (mut level, mut cohort, mut low) = (0, cx.cohort(), &cx.low);
            while let Some(here) = cohort {
                self.at(level, cohort).inherit(Some(low));
                (cohort, low) = (here.above(), &here.held.0.metadata.high);
                level += 1;
            }
            self.root.inherit(Some(low));
        }
    }
}

// SAFETY: every acquisition ends with the root.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> Composed
    for Stacked<T, LEAVES, INNER>
{
    type Top = Any;

    /// # Panics
    /// If the plan's locks and levels do not match, or cannot be stacked.
    fn planned(plan: &Plan<'_>) -> Self {
        let recipe = Recipe::of(plan.locks, plan.levels, plan.bound);
        let recipe = recipe.filter(Recipe::is_stackable);
        Self::made(recipe.expect("a level for each lock but the top one"))
    }

    fn top(&self) -> &Any {
        &self.root
    }
}
