//! `Stacked`: a composition built at run time from a text, for programs that nobody
//! compiles: `cohort run --lock clof:ticket-clh-mcs`.
//!
//! **Not for** programs that can name the type: [`Clof`](super::Clof) asks at no level
//! which lock it is, and its cohorts stand in one block.
//!
//! Each step is [`Clof`](super::Clof)'s (Chehab et al. 2021 §4.1), between a cohort's low lock
//! and all that is above it: another cohort, or the lock for all.  A cohort is made when a
//! thread of it first comes.
//!
//! | field of a cohort | written by | meaning |
//! |---|---|---|
//! | `low` | its waiters | which of the cohort is next |
//! | `above` | its maker | the cohort around it; null: that is the whole system |
//! | `metadata` | the holder of `low` | as in [`clof`](super::clof) |
//!
//! Nobody may drop the lock before all releases have returned, as a borrow ensures; an
//! inflated object never drops it.

use super::any::{Any, AnyContext};
use super::clof::Metadata;
use super::generated::{Basic, LEVELS, is_ordered};
use super::{Apart, Bound, Composed, Plan, Tree};
use crate::door::{AtomicPtr, Level, Order, cohort, flaws, mutant, pool};
use crate::host::{Arena, Pool};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

flaws! {
    FORGET_ABOVE = "stacked.forget-above";
}

/// What a composition is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    locks: [Basic; LEVELS],
    depth: usize,
    levels: [Level; LEVELS - 1],
    bound: Bound,
}

/// What a text begins with that describes a composition.
pub const PREFIX: &str = "clof:";

/// The level of all CPUs.
pub const SYSTEM: &str = "system";

/// Levels that suit most machines, for as many low locks (Chehab et al. 2021 §5.2.1).
const USUAL: [&[Level]; LEVELS] = [
    &[],
    &[Level::Numa],
    &[Level::CacheGroup, Level::Numa],
    &[Level::Core, Level::CacheGroup, Level::Numa],
];

/// Hand-offs in a row, unless the text says otherwise (Chehab et al. 2021 §4.1).
const HAND_OFFS: u32 = 128;

impl Recipe {
    /// These locks at these levels, smallest cohort first, the lock for all last; none if
    /// they do not fit together.  No levels are the usual ones.
    #[must_use]
    pub fn of(locks: &[Basic], levels: &[Level], bound: Option<Bound>) -> Option<Self> {
        let below = locks.len().checked_sub(1).filter(|below| *below < LEVELS)?;
        let levels = if levels.is_empty() {
            USUAL[below]
        } else {
            levels
        };
        if levels.len() != below || !is_ordered(locks) {
            return None;
        }
        let mut recipe = Self {
            locks: [Basic::Ticket; LEVELS],
            depth: locks.len(),
            levels: [Level::Package; LEVELS - 1],
            bound: bound.unwrap_or(Bound::hand_offs(HAND_OFFS)),
        };
        recipe.locks[..locks.len()].copy_from_slice(locks);
        recipe.levels[..below].copy_from_slice(levels);
        Some(recipe)
    }

    /// Reads `clof:ticket-clh-mcs@core,numa,system/100/20us`: the locks, smallest cohort
    /// first; their levels; hand-offs in a row, and a time, after which a cohort gives the
    /// lock to others.  All but the locks may be missing.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let text = text
            .strip_prefix(PREFIX)
            .ok_or("a composition begins with `clof:`")?;
        let mut parts = text.split('/');
        let base = parts.next().unwrap_or("");
        let (names, at) = match base.split_once('@') {
            None => (base, None),
            Some((names, at)) => (names, Some(at)),
        };
        let mut locks = [Basic::Ticket; LEVELS];
        let depth = collect(&mut locks, names.split('-'), Basic::named)
            .ok_or("its locks are one to four of ticket, mcs, clh, hemlock")?;
        let mut levels = [Level::Package; LEVELS - 1];
        let mut given = 0;
        if let Some(at) = at {
            let below = at
                .strip_suffix(SYSTEM)
                .ok_or("its last level is `system`")?
                .trim_end_matches(',');
            if !below.is_empty() {
                given = collect(&mut levels, below.split(','), Level::named)
                    .ok_or("its levels are of core, cache, numa, package and system")?;
            }
            let levels = &levels[..given];
            if given + 1 != depth || !levels.is_sorted_by(|one, next| (*one as u8) < *next as u8) {
                return Err("each of its locks has a level, smallest cohort first");
            }
        }
        let mut bound = None;
        for part in parts {
            // A time alone bounds no count.
            let bound = bound.get_or_insert(Bound::hand_offs(u32::MAX));
            let (number, unit) = match (part.strip_suffix("us"), part.strip_suffix("ns")) {
                (Some(number), _) => (number, 1_000),
                (_, Some(number)) => (number, 1),
                _ => (part, 0),
            };
            let wrong = "a bound is a number of hand-offs (/100) or a time (/20us)";
            let number: u32 = number.parse().map_err(|_| wrong)?;
            if unit == 0 {
                bound.hand_offs = number;
            } else {
                bound.nanoseconds = u64::from(number) * unit;
            }
        }
        Self::of(&locks[..depth], &levels[..given], bound)
            .ok_or("each of its locks has a level, smallest cohort first")
    }

    /// Whether it can be built at run time; the compiler can build them all.
    #[must_use]
    pub fn is_stackable(&self) -> bool {
        self.plan()
            .locks
            .iter()
            .all(|lock| Basic::ALL.contains(lock))
    }

    fn low_levels(&self) -> usize {
        self.depth - 1
    }

    /// As a plan for a composition of these locks.
    #[must_use]
    pub fn plan(&self) -> Plan<'_> {
        Plan {
            locks: &self.locks[..self.depth],
            levels: &self.levels[..self.low_levels()],
            bound: Some(self.bound),
        }
    }

    /// The recipe in two words, to be kept in atoms.
    #[must_use]
    pub fn to_words(&self) -> [u64; 2] {
        let mut word = self.depth as u64;
        for lock in self.locks {
            word = word << 3 | lock as u64;
        }
        for level in self.levels {
            word = word << 3 | level as u64;
        }
        [
            word << 32 | u64::from(self.bound.hand_offs),
            self.bound.nanoseconds,
        ]
    }

    /// The recipe of [`to_words`](Self::to_words).
    #[must_use]
    pub fn of_words([mut word, nanoseconds]: [u64; 2]) -> Self {
        let bound = Bound {
            hand_offs: word as u32,
            nanoseconds,
        };
        word >>= 32;
        let mut next = || {
            let three = word & 7;
            word >>= 3;
            three as usize
        };
        let mut levels = [Level::Package; LEVELS - 1];
        levels
            .iter_mut()
            .rev()
            .for_each(|level| *level = Level::ALL[next()]);
        let mut locks = [Basic::Ticket; LEVELS];
        locks
            .iter_mut()
            .rev()
            .for_each(|lock| *lock = Basic::TOPS[next()]);
        Self {
            locks,
            depth: (word as usize).clamp(1, LEVELS),
            levels,
            bound,
        }
    }
}

/// As [`Recipe::read`] reads it.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separators = core::iter::once(PREFIX).chain(core::iter::repeat("-"));
        for (lock, separator) in self.locks[..self.depth].iter().zip(separators) {
            write!(f, "{separator}{}", lock.name())?;
        }
        write!(f, "@")?;
        for level in &self.levels[..self.low_levels()] {
            write!(f, "{},", level.name())?;
        }
        write!(f, "{SYSTEM}")?;
        let Bound {
            hand_offs,
            nanoseconds,
        } = self.bound;
        if hand_offs < u32::MAX {
            write!(f, "/{hand_offs}")?;
        }
        match nanoseconds {
            0 => Ok(()),
            time if time % 1_000 == 0 => write!(f, "/{}us", time / 1_000),
            time => write!(f, "/{time}ns"),
        }
    }
}

/// How many words there are, each read into its place; none if one is not known or they
/// are too many.
fn collect<'a, T>(
    places: &mut [T],
    words: impl Iterator<Item = &'a str>,
    known: impl Fn(&str) -> Option<T>,
) -> Option<usize> {
    let mut count = 0;
    for word in words {
        *places.get_mut(count)? = known(word)?;
        count += 1;
    }
    Some(count)
}

/// Says what the locks of a type are made of, which can be stacked.
pub trait Text: Send + Sync + 'static {
    /// The recipe of a lock that is made without a plan.
    fn recipe() -> Recipe;
}

/// Nobody has said anything: locks are made by a [`Plan`].
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
    low: Any,
    above: AtomicPtr<Cohort>,
    /// On lines that waiters leave alone.
    metadata: Apart<Metadata<AnyContext>>,
}

impl fmt::Debug for Cohort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cohort").finish_non_exhaustive()
    }
}

impl Cohort {
    fn above(&self) -> Option<&Self> {
        // SAFETY: cohorts are nodes of a pool, which stay, and null is none.
        unsafe { self.above.load(Order::RELAXED).as_ref() }
    }
}

pool! {
    /// Cohorts of all such locks.
    static COHORTS: Cohort, placed
}

/// Bytes of all cohorts made so far.
pub(crate) fn pool_bytes() -> usize {
    COHORTS.bytes()
}

/// What one acquisition carries.
#[derive(Debug, Default)]
pub struct StackedContext {
    /// The cohort that it came with; null: there are none.
    cohort: AtomicPtr<Cohort>,
    low: AnyContext,
}

impl StackedContext {
    fn cohort(&self) -> Option<&Cohort> {
        // SAFETY: as `Cohort::above`.
        unsafe { self.cohort.load(Order::RELAXED).as_ref() }
    }
}

/// The lock, with places for `LEAVES` cohorts of the smallest level and `INNER` of all
/// others together.
pub struct Stacked<T, const LEAVES: usize = 128, const INNER: usize = 64> {
    root: Apart<Any>,
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
        let root = Apart(Any::default());
        // SAFETY: made just now.
        unsafe { root.0.become_one(recipe.locks[recipe.low_levels()]) };
        Self {
            root,
            recipe,
            cohorts: Tree::default(),
            text: PhantomData,
        }
    }

    /// The caller's cohort at that level; null above the last.
    #[inline]
    fn find(&self, level: usize) -> *mut Cohort {
        let levels = self.recipe.low_levels();
        if level == levels {
            return ptr::null_mut();
        }
        let cohort = cohort(self.recipe.levels[level]);
        let known = self.cohorts.find(level, levels, cohort);
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
        new.above.store(self.find(level + 1), Order::RELAXED);
        // SAFETY: taken just now, and seen by nobody; a cohort that was given back is free.
        unsafe { new.low.become_one(self.recipe.locks[level]) };
        new.metadata.0.forget();
        let place = (level, self.recipe.low_levels(), cohort);
        self.cohorts.put(place, new, &COHORTS)
    }

    /// The caller's smallest cohort, noted in its context.
    #[inline]
    fn begin<'a>(&self, cx: &'a StackedContext) -> Option<&'a Cohort> {
        cx.cohort.store(self.find(0), Order::RELAXED);
        cx.cohort()
    }

    /// Blocks until all is held from that cohort upwards.
    fn climb(&self, cohort: Option<&Cohort>, cx: &AnyContext) {
        let Some(here) = cohort else {
            return self.root.0.acquire(cx);
        };
        let metadata = &here.metadata.0;
        metadata.acquire(&here.low, cx, &self.recipe.bound, || {
            self.climb(here.above(), &metadata.high);
        });
    }

    fn try_climb(&self, cohort: Option<&Cohort>, cx: &AnyContext) -> bool {
        let Some(here) = cohort else {
            return self.root.0.try_acquire(cx);
        };
        let metadata = &here.metadata.0;
        metadata.try_acquire(&here.low, cx, &self.recipe.bound, || {
            self.try_climb(here.above(), &metadata.high)
        })
    }

    /// Passes all that is held from that cohort upwards to a waiter of the cohort, or
    /// releases it from above.
    ///
    /// # Safety
    /// The caller holds it, by that context and those of the cohorts.
    unsafe fn pass_on(&self, cohort: Option<&Cohort>, cx: &AnyContext) {
        let Some(here) = cohort else {
            // SAFETY: the caller's.
            return unsafe { self.root.0.release(cx) };
        };
        let metadata = &here.metadata.0;
        // SAFETY: the caller's.
        unsafe {
            metadata.release(&here.low, cx, &self.recipe.bound, |_| {
                if !mutant(flaw::FORGET_ABOVE) {
                    self.pass_on(here.above(), &metadata.high);
                }
            });
        }
    }
}

// SAFETY: a thread that returns from an acquisition holds its cohort's low lock and, passed or
// acquired, all above it with its cohorts' contexts; each has one holder, and publishes
// what was done before.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> RawLock
    for Stacked<T, LEAVES, INNER>
{
    type Context = StackedContext;

    const STRICT: bool = true;

    const NODE_BYTES: usize = Any::NODE_BYTES;

    const COHORT_BYTES: usize = (LEVELS - 1) * Arena::<Cohort>::NODE_BYTES;

    #[inline]
    fn acquire(&self, cx: &StackedContext) {
        self.climb(self.begin(cx), &cx.low);
    }

    #[inline]
    unsafe fn release(&self, cx: &StackedContext) {
        // SAFETY: the caller's.
        unsafe { self.pass_on(cx.cohort(), &cx.low) };
    }

    fn is_locked(&self) -> bool {
        self.root.0.is_locked()
    }
}

// SAFETY: as above; a thread that finds a lock taken gives back those below it.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> RawTry for Stacked<T, LEAVES, INNER> {
    fn try_acquire(&self, cx: &StackedContext) -> bool {
        self.try_climb(self.begin(cx), &cx.low)
    }
}

// SAFETY: release reads the cohort from the context, and nothing of the thread.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> ThreadOblivious
    for Stacked<T, LEAVES, INNER>
{
}

impl<T: Text, const LEAVES: usize, const INNER: usize> Fair for Stacked<T, LEAVES, INNER> {}

// SAFETY: a thread that waits for a lock on the way up wants the whole; no count is passed on.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> DetectsWaiters
    for Stacked<T, LEAVES, INNER>
{
    fn has_waiters(&self, cx: &StackedContext) -> bool {
        let (mut cohort, mut low) = (cx.cohort(), &cx.low);
        while let Some(here) = cohort {
            if here.low.has_waiters(low) {
                return true;
            }
            (cohort, low) = (here.above(), &here.metadata.0.high);
        }
        self.root.0.has_waiters(low)
    }
}

// SAFETY: afterwards every lock is free, but for those on the holder's way up, and nothing
// is passed.
unsafe impl<T: Text, const LEAVES: usize, const INNER: usize> Inherit
    for Stacked<T, LEAVES, INNER>
{
    unsafe fn inherit(&self, holder: Option<&StackedContext>) {
        // SAFETY: the caller is alone, and holds every lock on its way up by these
        // contexts.
        unsafe {
            for cohort in self.cohorts.all() {
                cohort.low.inherit(None);
                cohort.metadata.0.forget();
            }
            let Some(cx) = holder else {
                return self.root.0.inherit(None);
            };
            let (mut cohort, mut low) = (cx.cohort(), &cx.low);
            while let Some(here) = cohort {
                here.low.inherit(Some(low));
                (cohort, low) = (here.above(), &here.metadata.0.high);
            }
            self.root.0.inherit(Some(low));
        }
    }
}

impl<T: Text, const LEAVES: usize, const INNER: usize> Composed for Stacked<T, LEAVES, INNER> {
    type Top = Any;

    /// # Panics
    /// If the plan's locks and levels do not fit together, or cannot be stacked.
    fn planned(plan: &Plan<'_>) -> Self {
        let recipe = Recipe::of(plan.locks, plan.levels, plan.bound);
        let recipe = recipe.filter(Recipe::is_stackable);
        Self::made(recipe.expect("a level for each lock but the top one"))
    }

    fn top(&self) -> &Any {
        &self.root.0
    }
}
