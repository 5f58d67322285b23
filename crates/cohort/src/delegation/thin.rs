//! A delegation lock of 16 bytes: one word until two threads meet, then a fat lock in memory of its
//! own.
//!
//! **Not for** locks that are certainly contended: the fat lock alone saves the look at the word.
//!
//! | `word` | state |
//! |---|---|
//! | 0 | free |
//! | `THIN` | a thread holds the word: its section runs in place |
//! | `FAT` and `THIN` | the same; the first thread at the fat lock waits for this section |
//! | `LOCKED` beside `THIN` | the section spans several calls: its thread has locked the word |
//! | `FAT` | the fat lock decides, until the lock is dropped |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | as below | the table above |
//! | `at` | the thread that publishes a fat lock | the fat lock; or, marked, the recipe for it |
//! | the fat lock's `left` | the last thin holder | 1: its section has ended |
//! | the fat lock's `turn` | the holder | its acquisition, if that spans several calls |
//!
//! | change | by | keeps |
//! |---|---|---|
//! | 0 to `THIN`, or to `THIN` and `LOCKED`, and back | an exchange of exactly the other | there is nothing else |
//! | `FAT` set | a bit operation of the thread that published the fat lock | the rest |
//! | the rest cleared beside `FAT` | a bit operation of the thin holder | `FAT` |
//!
//! A thread that finds the word held makes a fat lock and acquires it while no other thread knows
//! it. Then it publishes the fat lock, sets `FAT`, and waits for the thin holder, if there is one.
//! Later threads queue at the published fat lock. So its first turn ends after the last thin
//! section, and the two never overlap. Of several threads that make a fat lock, one publishes its
//! own; the others free theirs.
//!
//! A thread without memory for a fat lock polls the word, and a published fat lock.
//!
//! **Drop.** A thin holder that finds no `FAT` does not access the lock after its exchange. If it
//! finds the bit, it accesses the lock while the first thread at the fat lock waits for it. From then on the
//! fat lock's own rules hold.
//!
//! **Fork.** A child can use a free word. A thin holder that forks clears `FAT` with the word at the
//! end of its section: the thread that waits at its parent's fat lock is not in the child. Other
//! threads of the child wait for that; the next two that meet publish a fat lock in place of the
//! parent's, which is never freed. A fat lock that has begun follows its own rules.

use super::{StepsDown, TriesTurn, enter, inside, leave, run};
use crate::door::{AtomicPtr, AtomicU32, Cell, Order, Spinner, flaws, generation, mutant, orders};
use crate::wait::{MayPark, WaitCell};
use cohort_raw::{Delegate, Section, TryDelegate};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

orders! {
    /// Sees the writes of the last thin section.
    THIN_TAKE = Acquire;
    /// The next holder sees the writes of this section.
    THIN_FREE = Release;
    /// Sees the fat lock that was published before `FAT`.
    THIN_FOUND = Acquire;
    /// Publishes the fat lock, which is held.
    THIN_PUBLISH = Release;
    /// Sees a published fat lock.
    THIN_SEEN = Acquire;
    /// Publishes the fat lock to threads that see `FAT`; sees the writes of the last thin section.
    THIN_FATTEN = AcqRel;
    /// Publishes the last thin section's writes to the first holder of the fat lock.
    THIN_HAND = Release;
    /// Sees them.
    THIN_HANDED = Acquire;
}

flaws! {
    /// The first thread at the fat lock does not wait for the thin holder.
    ENTER_EARLY = "thin.enter-early";
    /// The last thin holder does not notify it.
    FORGET_FIRST = "thin.forget-first";
    /// The last thin holder frees the word beside the fat lock.
    FREE_BOTH = "thin.free-both";
    /// A thread runs its section under its own fat lock, although another one was published.
    KEEP_OWN = "thin.keep-own";
    /// A thread without memory runs its section at once.
    RUN_WITHOUT = "thin.run-without";
    /// A thin section does not count as a section.
    FORGET_INSIDE = "thin.forget-inside";
    /// The thin holder keeps its parent's fat lock in a forked child.
    KEEP_PARENTS = "thin.keep-parents";
    /// The thin holder puts the recipe in the place of its parent's fat lock, beside `FAT`.
    DROP_PARENTS = "thin.drop-parents";
    /// A thread of a forked child publishes a fat lock beside its parent's mark.
    PUBLISH_BESIDE = "thin.publish-beside";
}

const FREE: u32 = 0;
const THIN: u32 = 1;
const FAT: u32 = 2;
const LOCKED: u32 = 4;

/// The word of a holder that has locked it.
const THIN_LOCKED: u32 = THIN | LOCKED;

/// Mark of `at`: it contains a recipe.
const RECIPE: usize = 1;

/// The waiter for the last thin section.
const CLASS: u32 = 1;

/// The kind of a fat lock, and its memory.
///
/// # Safety
/// What `make` returns is exclusive to the caller until `free`.
pub unsafe trait Grows: Sized + Send + Sync + 'static {
    /// The lock of threads that meet.
    type Lock: StepsDown;
    /// What such a lock is made from.
    type Recipe: Sync + 'static;

    /// The usual recipe.
    fn usual() -> &'static Self::Recipe;

    /// Makes a fat lock; nothing without memory.
    fn make(recipe: &'static Self::Recipe) -> Option<NonNull<Fat<Self>>>;

    /// Drops a fat lock and frees its memory.
    ///
    /// # Safety
    /// `make` returned it, and it has no user left.
    unsafe fn free(fat: NonNull<Fat<Self>>);
}

/// A lock under contention.
pub struct Fat<G: Grows> {
    lock: G::Lock,
    turn: Cell<Option<<G::Lock as StepsDown>::Turn>>,
    left: WaitCell<MayPark>,
    /// The process that made it.
    born: Cell<u32>,
    recipe: &'static G::Recipe,
}

impl<G: Grows> Fat<G> {
    /// A fat lock around that lock, which was made from that recipe.
    pub fn new(lock: G::Lock, recipe: &'static G::Recipe) -> Self {
        Self {
            lock,
            turn: Cell::new(None),
            left: WaitCell::new(),
            born: Cell::new(generation()),
            recipe,
        }
    }

    fn is_of_here(&self) -> bool {
        // SAFETY: written before it was published, and never again.
        self.born.with(|born| unsafe { *born }) == generation()
    }
}

/// The lock.
#[repr(C)]
pub struct Thin<G: Grows> {
    word: AtomicU32,
    at: AtomicPtr<()>,
    grows: PhantomData<G>,
}

// SAFETY: the lock excludes; the turn is of its holder.
unsafe impl<G: Grows> Send for Thin<G> {}
// SAFETY: as above.
unsafe impl<G: Grows> Sync for Thin<G> {}

impl<G: Grows> fmt::Debug for Thin<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thin").finish_non_exhaustive()
    }
}

/// An acquisition.
#[must_use]
pub enum Turn<T> {
    /// Of the word.
    Thin,
    /// Of the fat lock.
    Fat(T),
}

impl<T> fmt::Debug for Turn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

/// The lock of a thread that found the word held.
enum Way<'a, G: Grows> {
    /// The word after all, acquired.
    Thin,
    /// The fat lock.
    Fat(&'a Fat<G>),
    /// The fat lock, acquired.
    First(&'a Fat<G>, <G::Lock as StepsDown>::Turn),
}

/// The result of an attempt to publish a fat lock.
enum Made<'a, G: Grows> {
    Published(&'a Fat<G>, <G::Lock as StepsDown>::Turn),
    AnotherFirst,
    NoMemory,
}

impl<G: Grows> Default for Thin<G> {
    fn default() -> Self {
        Self::new(G::usual())
    }
}

fn marked<R>(recipe: &'static R) -> *mut () {
    const { assert!(align_of::<R>() > RECIPE, "a mark has no room") };
    let recipe = ptr::from_ref(recipe).cast_mut().cast::<()>();
    recipe.map_addr(|at| at | RECIPE)
}

impl<G: Grows> Thin<G> {
    /// A free lock that grows by that recipe.
    #[must_use]
    pub fn new(recipe: &'static G::Recipe) -> Self {
        let at = AtomicPtr::null();
        at.store(marked(recipe), Order::RELAXED);
        Self {
            word: AtomicU32::new(FREE),
            at,
            grows: PhantomData,
        }
    }

    /// Acquires a free word, which is `held` then. Where threads meet, all only read it.
    #[inline(always)]
    fn take(&self, held: u32) -> bool {
        self.word.load(Order::RELAXED) == FREE
            && self
                .word
                .compare_exchange(FREE, held, THIN_TAKE, Order::RELAXED)
                .is_ok()
    }

    /// Releases the word, which the caller acquired as `held`.
    #[inline(always)]
    fn free(&self, held: u32) {
        let freed = self
            .word
            .compare_exchange(held, FREE, THIN_FREE, Order::RELAXED);
        if freed.is_err() {
            self.let_in();
        }
    }

    /// Hands the lock to the first thread at the fat lock. The caller holds the word.
    #[cold]
    #[inline(never)]
    fn let_in(&self) {
        let _ = self.word.load(THIN_FOUND);
        let Some(fat) = self.fat() else {
            unreachable!("a fat lock is published before its mark");
        };
        if !fat.is_of_here() && !mutant(flaw::KEEP_PARENTS) {
            // `at` stays: a thread that still sees `FAT` must not publish beside this store.
            if mutant(flaw::DROP_PARENTS) {
                self.at.store(marked(fat.recipe), Order::RELAXED);
            }
            self.word.store(FREE, THIN_FREE);
            return;
        }
        if mutant(flaw::FREE_BOTH) {
            self.word.store(FREE, THIN_FREE);
        } else {
            self.word.fetch_and(!THIN_LOCKED, Order::RELAXED);
        }
        if !mutant(flaw::FORGET_FIRST) {
            // The lock may be gone from here on.
            fat.left.set(1, THIN_HAND);
        }
    }

    fn fat(&self) -> Option<&Fat<G>> {
        // SAFETY: published, and freed by the drop only.
        unsafe { Self::fat_at(self.at.load(THIN_SEEN)) }
    }

    /// # Safety
    /// A value of `at`; the lock outlives the result.
    unsafe fn fat_at<'a>(at: *mut ()) -> Option<&'a Fat<G>> {
        // SAFETY: the caller's.
        (at.addr() & RECIPE == 0).then(|| unsafe { &*at.cast::<Fat<G>>() })
    }

    /// Runs the section in place if the word is free, and returns whether it did.
    ///
    /// # Safety
    /// The section does not unwind.
    #[inline(always)]
    pub unsafe fn run_alone(&self, section: impl FnOnce()) -> bool {
        if !self.take(THIN) {
            return false;
        }
        if mutant(flaw::FORGET_INSIDE) {
            section();
        } else {
            inside(section);
        }
        self.free(THIN);
        true
    }

    /// Blocks until the caller has the word, as `held`, or knows the fat lock.
    #[inline(always)]
    fn meet(&self, held: u32) -> Way<'_, G> {
        // So it is once two threads have met.
        if self.word.load(THIN_FOUND) == FAT
            && let Some(fat) = self.fat()
        {
            return Way::Fat(fat);
        }
        self.meet_first(held)
    }

    #[cold]
    #[inline(never)]
    fn meet_first(&self, held: u32) -> Way<'_, G> {
        let mut spinner = Spinner::new();
        loop {
            let word = self.word.load(THIN_FOUND);
            if word == FREE {
                if self.take(held) {
                    return Way::Thin;
                }
                continue;
            }
            let at = self.at.load(THIN_SEEN);
            // SAFETY: just read.
            match unsafe { Self::fat_at(at) } {
                Some(fat) if word == FAT || fat.is_of_here() => return Way::Fat(fat),
                // The thread that forked in its section will clear its parent's mark.
                Some(_) if word & FAT != 0 && !mutant(flaw::PUBLISH_BESIDE) => spinner.turn(),
                _ => match self.publish(at) {
                    Made::Published(fat, turn) => return Way::First(fat, turn),
                    Made::AnotherFirst => {}
                    Made::NoMemory if mutant(flaw::RUN_WITHOUT) => return Way::Thin,
                    Made::NoMemory => spinner.turn(),
                },
            }
        }
    }

    /// Makes a fat lock, acquires it, publishes it in place of `before`, and waits for the thin
    /// holder.
    fn publish(&self, before: *mut ()) -> Made<'_, G> {
        // SAFETY: a value of `at`. It names a fat lock in a forked child only: its parent's.
        let recipe = match unsafe { Self::fat_at(before) } {
            Some(fat) => fat.recipe,
            // SAFETY: marked, so a recipe, which is static.
            None => unsafe { &*before.map_addr(|at| at & !RECIPE).cast::<G::Recipe>() },
        };
        let Some(made) = G::make(recipe) else {
            return Made::NoMemory;
        };
        // SAFETY: exclusive to this thread, and then freed by the drop only.
        let fat = unsafe { made.as_ref() };
        let turn = fat.lock.take_turn();
        let now = made.as_ptr().cast::<()>();
        let published = self
            .at
            .compare_exchange(before, now, THIN_PUBLISH, Order::RELAXED);
        if published.is_err() {
            if mutant(flaw::KEEP_OWN) {
                return Made::Published(fat, turn);
            }
            // SAFETY: its own turn; the fat lock was never published.
            unsafe {
                fat.lock.end_turn(turn);
                G::free(made);
            }
            return Made::AnotherFirst;
        }
        let was = self.word.fetch_or(FAT, THIN_FATTEN);
        if was & THIN != 0 && !mutant(flaw::ENTER_EARLY) {
            fat.left.wait_for(THIN_HANDED, CLASS, |left| left != 0);
        }
        Made::Published(fat, turn)
    }

    /// [`run`](Delegate::run) or [`run_here`](Delegate::run_here), after the word was found held.
    #[inline(never)]
    fn run_long(&self, cx: &mut <G::Lock as Delegate>::Context, section: Section<'_>, here: bool) {
        // SAFETY: the lock excludes; the section runs once; a turn is of its own lock, and this
        // thread's.
        unsafe {
            match self.meet(THIN) {
                Way::Thin => {
                    run(section);
                    self.free(THIN);
                }
                Way::Fat(fat) if here => fat.lock.run_here(cx, section),
                Way::Fat(fat) => fat.lock.run(cx, section),
                Way::First(fat, turn) => {
                    section.run();
                    fat.lock.end_turn(turn);
                }
            }
        }
    }

    /// Blocks until the caller holds the lock, for a section that spans several calls.
    #[inline]
    pub fn lock(&self) {
        if let Turn::Fat(turn) = self.turn(THIN_LOCKED) {
            self.keep(turn);
        }
    }

    /// [`lock`](Self::lock) if no section is running, without waiting for one; returns whether it
    /// did.
    #[inline]
    pub fn try_lock(&self) -> bool
    where
        G::Lock: TriesTurn,
    {
        match self.turn_at_once(THIN_LOCKED) {
            Some(Turn::Thin) => true,
            Some(Turn::Fat(turn)) => {
                self.keep(turn);
                true
            }
            None => false,
        }
    }

    #[cold]
    fn keep(&self, turn: <G::Lock as StepsDown>::Turn) {
        if let Some(fat) = self.fat() {
            // SAFETY: the holder's, which the caller is.
            fat.turn.with_mut(|place| unsafe { *place = Some(turn) });
        }
    }

    /// Whether the caller, the only thread that may hold the lock across calls, does.
    pub fn is_held(&self) -> bool {
        let word = self.word.load(Order::RELAXED);
        // SAFETY: the holder's, which the caller is if there is one.
        let has_turn = |fat: &Fat<G>| fat.turn.with(|turn| unsafe { &*turn }.is_some());
        word & LOCKED != 0 || self.fat().is_some_and(has_turn)
    }

    /// Releases a lock that the caller locked by [`lock`](Self::lock) if it is thin; false if it is
    /// not: then [`unlock_fat`](Self::unlock_fat) releases it.
    ///
    /// # Safety
    /// The caller has locked it, or it is free.
    #[inline(always)]
    pub unsafe fn unlock_thin(&self) -> bool {
        // Only the holder itself clears it.
        let is_thin = self.word.load(Order::RELAXED) & LOCKED != 0;
        if is_thin {
            if !mutant(flaw::FORGET_INSIDE) {
                leave();
            }
            self.free(THIN_LOCKED);
        }
        is_thin
    }

    /// Releases a fat lock; false if the caller does not hold it.
    ///
    /// # Safety
    /// As [`unlock_thin`](Self::unlock_thin).
    pub unsafe fn unlock_fat(&self) -> bool {
        let Some(fat) = self.fat() else { return false };
        // SAFETY: the holder's, which the caller is if there is one.
        let Some(turn) = fat.turn.with_mut(|turn| unsafe { (*turn).take() }) else {
            return false;
        };
        // SAFETY: of this lock, and the caller's.
        unsafe { fat.lock.end_turn(turn) };
        true
    }
}

// SAFETY: the word excludes thin sections from each other. A turn of the fat lock is held before any
// other thread knows it, and ends after the last thin section; no further one begins.
unsafe impl<G: Grows> Delegate for Thin<G> {
    type Context = <G::Lock as Delegate>::Context;

    #[inline]
    fn run(&self, cx: &mut Self::Context, section: Section<'_>) {
        if self.take(THIN) {
            // SAFETY: the word has just been acquired; the section runs once, here.
            unsafe { self.run_thin(section) };
        } else {
            self.run_long(cx, section, false);
        }
    }

    #[inline]
    fn run_here(&self, cx: &mut Self::Context, section: Section<'_>) {
        if self.take(THIN) {
            // SAFETY: as above.
            unsafe { self.run_thin(section) };
        } else {
            self.run_long(cx, section, true);
        }
    }
}

impl<G: Grows> Thin<G> {
    /// # Safety
    /// As [`Section::run`]; the caller holds the word.
    #[inline(always)]
    unsafe fn run_thin(&self, section: Section<'_>) {
        // SAFETY: the caller's.
        unsafe {
            if mutant(flaw::FORGET_INSIDE) {
                section.run();
            } else {
                run(section);
            }
        }
        self.free(THIN);
    }

    /// An acquisition; a word is `held` then. Blocks.
    #[inline(always)]
    fn turn(&self, held: u32) -> Turn<<G::Lock as StepsDown>::Turn> {
        if !self.take(held) {
            match self.meet(held) {
                Way::Thin => {}
                Way::Fat(fat) => return Turn::Fat(fat.lock.take_turn()),
                Way::First(_, turn) => return Turn::Fat(turn),
            }
        }
        if !mutant(flaw::FORGET_INSIDE) {
            enter();
        }
        Turn::Thin
    }

    /// The same if the lock is free.
    #[inline(always)]
    fn turn_at_once(&self, held: u32) -> Option<Turn<<G::Lock as StepsDown>::Turn>>
    where
        G::Lock: TriesTurn,
    {
        if self.take(held) {
            if !mutant(flaw::FORGET_INSIDE) {
                enter();
            }
            return Some(Turn::Thin);
        }
        if self.word.load(THIN_FOUND) != FAT {
            return None;
        }
        self.fat()?.lock.try_turn().map(Turn::Fat)
    }
}

// SAFETY: as above.
unsafe impl<G: Grows<Lock: TriesTurn>> TryDelegate for Thin<G> {
    fn try_run(&self, _: &mut Self::Context, section: Section<'_>) -> bool {
        let Some(turn) = self.try_turn() else {
            return false;
        };
        // SAFETY: the turn is of this lock, and this thread's.
        unsafe {
            section.run();
            self.end_turn(turn);
        }
        true
    }
}

// SAFETY: as above.
unsafe impl<G: Grows> StepsDown for Thin<G> {
    type Turn = Turn<<G::Lock as StepsDown>::Turn>;

    #[inline]
    fn take_turn(&self) -> Self::Turn {
        self.turn(THIN)
    }

    #[inline]
    unsafe fn end_turn(&self, turn: Self::Turn) {
        match turn {
            Turn::Thin => {
                if !mutant(flaw::FORGET_INSIDE) {
                    leave();
                }
                self.free(THIN);
            }
            Turn::Fat(turn) => {
                if let Some(fat) = self.fat() {
                    // SAFETY: the caller's.
                    unsafe { fat.lock.end_turn(turn) };
                }
            }
        }
    }
}

// SAFETY: as above.
unsafe impl<G: Grows<Lock: TriesTurn>> TriesTurn for Thin<G> {
    #[inline]
    fn try_turn(&self) -> Option<Self::Turn> {
        self.turn_at_once(THIN)
    }
}

impl<G: Grows> Drop for Thin<G> {
    fn drop(&mut self) {
        let at = self.at.load(Order::RELAXED);
        // SAFETY: a value of `at`; the lock has no user left.
        let Some(fat) = (unsafe { Self::fat_at(at) }) else {
            return;
        };
        // Otherwise a thread of the parent holds it for ever.
        if self.word.load(Order::RELAXED) == FAT || fat.is_of_here() {
            // SAFETY: made by `make`.
            unsafe { G::free(NonNull::from(fat)) };
        }
    }
}
