//! Delegated sections exclude each other, run once, and their effects are visible to the submitting
//! threads.

use crate::clients::{add_one, read, write};
use crate::locks::basic::{Mcs, Tas};
use crate::locks::delegation::sanl::{Policy, Tuning};
use crate::locks::delegation::sanl_plus::{IN_PLACE, InPlace, QUEUE, RIDES, Usual, Words};
use crate::locks::delegation::thin::{Fat, Grows, Thin};
use crate::locks::delegation::{CcSynch, Sanl, SanlPlus, StepsDown, TriesTurn, sanl};
use crate::locks::door::{
    AtomicU32, Cell, Order, Strength, caught, panic_on, thread_id, yield_now,
};
use crate::locks::wait::{MayPark, SpinOnly, WaitCell};
use crate::locks::{
    AbortableDelegate, Attended, Condvar, Delegate, Delegated, Idle, Outcome, Patience, Posting,
    RawLock, RunAsync, Section, Thresholds, TryDelegate,
};
use crate::world::{Kept, soon, together};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Range;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Each thread delegates `rounds` sections; the first `here` threads run their own.
pub fn runs<D: Delegate + 'static>(threads: usize, rounds: u64, here: usize) {
    counts::<D>(
        threads,
        move |_| rounds,
        0..here,
        move |thread, delegate, context, section| {
            if thread < here {
                delegate.run_here(context, section);
            } else {
                delegate.run(context, section);
            }
            true
        },
    );
}

/// The first thread delegates two sections, the others one each.
pub fn runs_again<D: Delegate + 'static>(threads: usize) {
    counts::<D>(
        threads,
        |thread| if thread == 0 { 2 } else { 1 },
        0..0,
        |_, delegate, context, section| {
            delegate.run(context, section);
            true
        },
    );
}

/// Like [`runs`], but the first `triers` threads only try.
pub fn is_tried<D: TryDelegate + 'static>(threads: usize, rounds: u64, triers: usize) {
    counts::<D>(
        threads,
        move |_| rounds,
        0..triers,
        move |thread, delegate, context, section| {
            if thread < triers {
                return delegate.try_run(context, section);
            }
            delegate.run(context, section);
            true
        },
    );
}

/// Like [`runs`], but the first `hurried` threads have a deadline; the next `here` run their own
/// sections.
pub fn lets_go<D: AbortableDelegate + 'static>(
    threads: usize,
    rounds: u64,
    hurried: usize,
    here: usize,
) {
    let own = hurried..hurried + here;
    counts::<D>(
        threads,
        move |_| rounds,
        own.clone(),
        move |thread, delegate, context, section| {
            if thread < hurried {
                let patience = Patience::until(soon());
                return delegate.run_within(context, section, &patience) == Outcome::Acquired;
            }
            if own.contains(&thread) {
                delegate.run_here(context, section);
            } else {
                delegate.run(context, section);
            }
            true
        },
    );
}

/// The first thread serves for some rounds while the others delegate; the next `here` threads run
/// their own sections.
pub fn is_attended<D: Attended + 'static>(threads: usize, rounds: u64, here: usize) {
    let own = 1..1 + here;
    counts::<D>(
        threads,
        move |_| rounds,
        own.clone(),
        move |thread, delegate, context, section| {
            if thread == 0 {
                delegate.attend();
                delegate.attend();
                delegate.leave();
                return false;
            }
            if own.contains(&thread) {
                delegate.run_here(context, section);
            } else {
                delegate.run(context, section);
            }
            true
        },
    );
}

/// Like [`is_attended`], with clients that have a deadline.
pub fn is_attended_within<D: Attended + AbortableDelegate + 'static>(threads: usize, rounds: u64) {
    counts::<D>(
        threads,
        move |_| rounds,
        0..0,
        move |thread, delegate, context, section| {
            if thread == 0 {
                delegate.attend();
                delegate.attend();
                delegate.leave();
                return false;
            }
            let patience = Patience::until(soon());
            delegate.run_within(context, section, &patience) == Outcome::Acquired
        },
    );
}

/// Each thread delegates one section; the first `here` run their own. The thread of the last
/// section drops the lock after it. Other threads with finished sections may still be returning
/// from their calls.
pub fn is_destroyed<D: Delegate + 'static>(threads: usize, here: usize) {
    drops_as_the_last::<D>(threads, move |thread, delegate, context, section| {
        if thread < here {
            delegate.run_here(context, section);
        } else {
            delegate.run(context, section);
        }
        true
    });
}

/// Like [`is_destroyed`]; the last thread then creates another lock from the freed memory, and uses
/// it.
pub fn is_made_again<D: Delegate + 'static>(threads: usize) {
    let bring = |_, delegate: &D, context: &mut D::Context, section: Section<'_>| {
        delegate.run(context, section);
        true
    };
    let again = || {
        let again = Kept::new((D::default(), Cell::new(0)));
        let (delegate, count) = &*again;
        for _ in 0..2 {
            let section = Brought::new(|| add_one(count));
            delegate.run(&mut Kept::new(D::Context::default()), section.section());
        }
        assert_eq!(read(count), 2, "a section is run once");
    };
    drops_as_the_last_and::<D>(threads, bring, again);
}

/// Like [`is_destroyed`], but the first `hurried` threads have a deadline; after a timeout they
/// delegate without one.
pub fn is_destroyed_within<D: AbortableDelegate + 'static>(threads: usize, hurried: usize) {
    drops_as_the_last::<D>(threads, move |thread, delegate, context, section| {
        if thread >= hurried {
            delegate.run(context, section);
            return true;
        }
        let patience = Patience::until(soon());
        delegate.run_within(context, section, &patience) == Outcome::Acquired
    });
}

/// Delegates each section by `bring`, which returns whether it ran; if not, delegates it again with
/// `run`.
fn drops_as_the_last<D: Delegate + 'static>(
    threads: usize,
    bring: impl Fn(usize, &D, &mut D::Context, Section<'_>) -> bool + Send + Sync + 'static,
) {
    drops_as_the_last_and::<D>(threads, bring, || ());
}

/// Like [`drops_as_the_last`]; the last thread calls `afterwards` after the drop.
fn drops_as_the_last_and<D: Delegate + 'static>(
    threads: usize,
    bring: impl Fn(usize, &D, &mut D::Context, Section<'_>) -> bool + Send + Sync + 'static,
    afterwards: impl Fn() + Send + Sync + 'static,
) {
    let lock = Kept::new(D::default());
    let address = &raw const *lock as usize;
    let owner = Arc::new(Cell::new((threads, Some(lock))));
    let theirs = Arc::clone(&owner);
    let ended = together(threads, move |thread| {
        // SAFETY: the lock lives until the last user drops it.
        let delegate = unsafe { &*(address as *const D) };
        let mut context = Kept::new(D::Context::default());
        let last = Kept::new(Cell::new(None));
        let section = Brought::new(|| {
            let taken = theirs.with_mut(|owner| {
                // SAFETY: the lock guards the owner.
                let (left, lock) = unsafe { &mut *owner };
                *left -= 1;
                if *left == 0 { lock.take() } else { None }
            });
            write(&last, taken);
        });
        if !bring(thread, delegate, &mut context, section.section()) {
            delegate.run(&mut context, section.section());
        }
        // SAFETY: only this thread accesses it.
        if let Some(lock) = last.with_mut(|last| unsafe { (*last).take() }) {
            drop(lock);
            afterwards();
        }
    });
    if ended.is_some() {
        // SAFETY: all threads have ended.
        let is_gone = owner.with(|owner| unsafe { (*owner).1.is_none() });
        assert!(is_gone, "the last user has dropped the lock");
    }
}

/// Each section panics; its own thread receives the panic, whichever thread ran the section.
pub fn panics<D: Delegate + 'static>(threads: usize) {
    let shared = Arc::new((D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let told = together(threads, move |thread| {
        let (delegate, count) = &*theirs;
        let mut context = Kept::new(D::Context::default());
        let told = Kept::new(Cell::new(usize::MAX));
        let section = Brought::new(|| {
            let panic = caught(|| {
                add_one(count);
                panic_on(Box::new(thread))
            });
            let panic = panic.map(|never: u32| never).expect_err("it panics");
            write(&told, *panic.downcast().expect("it is this panic"));
        });
        delegate.run(&mut context, section.section());
        assert_eq!(
            read(&told),
            thread,
            "a panic goes to the thread that brought it"
        );
    });
    if told.is_some() {
        assert_eq!(
            read(&shared.1),
            threads as u64,
            "others go on after a panic"
        );
    }
}

/// Threads alternate between two sections with different code.
pub fn mixes<D: Delegate + 'static>(threads: usize) {
    let shared = Arc::new((D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        let (delegate, count) = &*theirs;
        let mut context = Kept::new(D::Context::default());
        let mine = Kept::new(Cell::new(0_u64));
        let times = &*mine;
        let is_other = thread % 2 != 0;
        if is_other {
            let section = Brought::new(|| {
                add_one(count);
                add_one(times);
                add_one(times);
            });
            delegate.run(&mut context, section.section());
        } else {
            let section = Brought::new(|| {
                add_one(count);
                add_one(times);
            });
            delegate.run(&mut context, section.section());
        }
        let own = 1 + u64::from(is_other);
        assert_eq!(read(times), own, "each section is run with its own code");
    });
    if ended.is_some() {
        let count = read(&shared.1);
        assert_eq!(count, threads as u64, "sections exclude each other");
    }
}

/// Each thread delegates one section; no thread runs more than `most` of them.
pub fn runs_few<D: Delegate + 'static>(threads: usize, most: usize) {
    let shared = Arc::new((D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let ran_by = together(threads, move |_| {
        let (delegate, count) = &*theirs;
        let mut context = Kept::new(D::Context::default());
        let by = Kept::new(Cell::new(0_u32));
        let section = Brought::new(|| {
            add_one(count);
            write(&by, thread_id());
        });
        delegate.run(&mut context, section.section());
        read(&by)
    });
    if let Some(ran_by) = ran_by {
        let count = read(&shared.1);
        assert_eq!(count, threads as u64, "sections exclude each other");
        for one in &ran_by {
            let ran = ran_by.iter().filter(|by| *by == one).count();
            assert!(
                ran <= most,
                "a thread ran {ran} sections, not {most} at most"
            );
        }
    }
}

/// Each thread delegates a section. The first does so inside a section of another delegate, and
/// must not serve the others from there.
pub fn serves_nobody_inside<D: Delegate + 'static>(threads: usize) {
    serves_nobody_within::<D>(threads, |outer, whole| {
        let mut context = Kept::new(D::Context::default());
        outer.run_here(&mut context, whole);
    });
}

/// Like [`serves_nobody_inside`]; the first thread locks the other delegate.
pub fn serves_nobody_locked<D: StepsDown + 'static>(threads: usize) {
    serves_nobody_within::<D>(threads, |outer, whole| {
        let turn = outer.take_turn();
        // SAFETY: this thread has locked the delegate, and the turn is of that.
        unsafe {
            whole.run();
            outer.end_turn(turn);
        }
    });
}

fn serves_nobody_within<D: Delegate + 'static>(threads: usize, holds: fn(&D, Section<'_>)) {
    let shared = Arc::new((D::default(), D::default(), Cell::new(0), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        let (outer, delegate, count, inside) = &*theirs;
        let mut context = Kept::new(D::Context::default());
        let served = Kept::new(Cell::new(false));
        let section = Brought::new(|| {
            if thread == 0 {
                // The others arrive and wait.
                for _ in 0..3 {
                    yield_now();
                }
            }
            add_one(count);
            // Relaxed: a thread reads its own store.
            write(&served, inside.load(Order::RELAXED) == thread_id());
        });
        if thread > 0 {
            delegate.run(&mut context, section.section());
            assert!(!read(&served), "served by a thread in another section");
            return;
        }
        let whole = Brought::new(|| {
            inside.store(thread_id(), Order::RELAXED);
            delegate.run(&mut context, section.section());
            inside.store(0, Order::RELAXED);
        });
        holds(outer, whole.section());
    });
    if ended.is_some() {
        assert_eq!(
            read(&shared.2),
            threads as u64,
            "sections exclude each other"
        );
    }
}

// SAFETY: as the lock inside.
unsafe impl<T: Tuning> StepsDown for Bringing<T> {
    type Turn = sanl::Turn;

    fn take_turn(&self) -> Self::Turn {
        self.0.lock()
    }

    unsafe fn end_turn(&self, turn: Self::Turn) {
        // SAFETY: passed on.
        unsafe { self.0.unlock(turn) };
    }
}

/// A lock of one word that becomes a `D` when two threads meet.
pub type Growing<D> = Thin<Boxed<D>>;

/// Becomes a combining queue.
pub type Combining = Growing<CcSynch<MayPark, 2>>;

/// Like [`Growing`], in a process where every second thread finds no memory.
pub type Scarce<D> = Thin<Boxed<D, true>>;

/// The heap.
pub struct Boxed<D, const IS_SCARCE: bool = false>(PhantomData<fn() -> D>);

static RECIPE: u64 = 0;

// SAFETY: a box is exclusive memory.
unsafe impl<D: StepsDown + 'static, const IS_SCARCE: bool> Grows for Boxed<D, IS_SCARCE> {
    type Lock = D;
    type Recipe = u64;

    fn usual() -> &'static u64 {
        &RECIPE
    }

    fn make(recipe: &'static u64) -> Option<NonNull<Fat<Self>>> {
        if IS_SCARCE && thread_id().is_multiple_of(2) {
            return None;
        }
        let fat = Fat::new(D::default(), recipe);
        NonNull::new(Box::into_raw(Box::new(fat)))
    }

    unsafe fn free(fat: NonNull<Fat<Self>>) {
        // SAFETY: the caller's; made above.
        drop(unsafe { Box::from_raw(fat.as_ptr()) });
    }
}

/// The first `triers` threads try to take a turn, the others take one.
pub fn turns_are_tried<D: TriesTurn + 'static>(threads: usize, triers: usize) {
    let shared = Arc::new((D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let taken = together(threads, move |thread| {
        let (delegate, count) = &*theirs;
        let turn = if thread < triers {
            delegate.try_turn()
        } else {
            Some(delegate.take_turn())
        };
        let Some(turn) = turn else { return 0 };
        add_one(count);
        // SAFETY: the turn is of this lock and this thread.
        unsafe { delegate.end_turn(turn) };
        1
    });
    if let Some(taken) = taken {
        let taken: u64 = taken.iter().sum();
        assert!(taken >= 1, "a free lock can be taken");
        assert_eq!(read(&shared.1), taken, "turns exclude each other");
    }
}

/// A `sanl+` where each thread has a publication slot of its own after the first meeting of two
/// threads.
pub type Places<const AT_FIRST: u32, I> = SanlPlus<MayPark, 2, 0, AT_FIRST, 1, 1, I>;

/// [`Places`] in queue mode from the start.
pub type Queueing = Places<QUEUE, Usual>;

/// [`Queueing`] without parking.
pub type Polling = SanlPlus<SpinOnly, 2, 0, QUEUE, 1, 1>;

/// A `sanl+` with batches of two publication slots and the first batch number `FIRST`.
pub struct RidesFrom<const FIRST: u32>(SanlPlus<MayPark, 2, 0, RIDES, 1, 2>);

impl<const FIRST: u32> Default for RidesFrom<FIRST> {
    fn default() -> Self {
        Self(SanlPlus::beginning_at(FIRST))
    }
}

// SAFETY: all sections go to the inner lock.
unsafe impl<const FIRST: u32> Delegate for RidesFrom<FIRST> {
    type Context = Words;

    fn run(&self, words: &mut Words, section: Section<'_>) {
        self.0.run(words, section);
    }

    fn run_here(&self, words: &mut Words, section: Section<'_>) {
        self.0.run_here(words, section);
    }
}

/// Starts in place, and returns there after one turn without other threads.
pub type Settling = Places<IN_PLACE, Soon>;

/// Starts and stays in place: contending threads queue for the word.
pub type Passing = Places<IN_PLACE, Seldom>;

/// Like [`Passing`] until the first thread has waited.
pub type Waiting = Places<IN_PLACE, Insisting>;

/// Always in place.
pub type Staying = Places<IN_PLACE, Always>;

/// Switches to the queue at the first contention, and back after one turn without other threads;
/// the word's lock takes few steps.
#[derive(Debug)]
pub enum Soon {}

// SAFETY: no method is overridden.
unsafe impl InPlace for Soon {
    type Word = Tas;
    const FEW: u32 = 0;
    const OFTEN: u32 = 1;
    const QUIET: u32 = 1;
    const PASSING_NANOSECONDS: u64 = u64::MAX;
}

/// Never leaves in-place mode because of contention, only because of oversubscription.
#[derive(Debug)]
pub enum Seldom {}

// SAFETY: no method is overridden.
unsafe impl InPlace for Seldom {
    type Word = Tas;
    const FEW: u32 = 0;
    const OFTEN: u32 = u32::MAX;
    const QUIET: u32 = 1;
    const PASSING_NANOSECONDS: u64 = u64::MAX;
}

/// Like [`Seldom`], but the head of the queue soon stops threads from barging.
#[derive(Debug)]
pub enum Insisting {}

// SAFETY: no method is overridden.
unsafe impl InPlace for Insisting {
    type Word = Tas;
    const FEW: u32 = 0;
    const OFTEN: u32 = u32::MAX;
    const QUIET: u32 = 1;
    const PASSING_NANOSECONDS: u64 = 1;
}

/// In place regardless of the number of CPUs.
#[derive(Debug)]
pub enum Always {}

// SAFETY: no method is overridden.
unsafe impl InPlace for Always {
    type Word = Tas;
    const FEW: u32 = u32::MAX;
    const OFTEN: u32 = 1;
    const QUIET: u32 = 1;
    const PASSING_NANOSECONDS: u64 = u64::MAX;
}

/// The first thread delegates inside a section of another delegate, and therefore serves no others.
/// The second has a deadline; the third waits without one.
pub fn goes_on_past_one_that_left<D: AbortableDelegate + 'static>() {
    let shared = Arc::new((D::default(), D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(3, move |thread| {
        let (outer, delegate, count) = &*theirs;
        let mut context = Kept::new(D::Context::default());
        let section = Brought::new(|| add_one(count));
        match thread {
            0 => {
                let mut outer_context = Kept::new(D::Context::default());
                let whole = Brought::new(|| delegate.run(&mut context, section.section()));
                outer.run_here(&mut outer_context, whole.section());
                1
            }
            1 => {
                let patience = Patience::until(soon());
                let outcome = delegate.run_within(&mut context, section.section(), &patience);
                u64::from(outcome == Outcome::Acquired)
            }
            _ => {
                delegate.run(&mut context, section.section());
                1
            }
        }
    });
    if let Some(counted) = ended {
        assert_eq!(read(&shared.2), counted.into_iter().sum::<u64>());
    }
}

/// The first thread is the server and also delegates a section, perhaps after yielding the lock to
/// the second thread, which runs its own.
pub fn is_brought_by_its_server<D: Attended + AbortableDelegate + 'static>() {
    let shared = Arc::new((D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(2, move |thread| {
        let (delegate, count) = &*theirs;
        let mut context = Kept::new(D::Context::default());
        let section = Brought::new(|| add_one(count));
        if thread == 1 {
            return delegate.run_here(&mut context, section.section());
        }
        delegate.attend();
        delegate.attend();
        let outcome = delegate.run_within(&mut context, section.section(), &Patience::ENDLESS);
        assert_eq!(outcome, Outcome::Acquired);
        delegate.leave();
    });
    if ended.is_some() {
        assert_eq!(read(&shared.1), 2);
    }
}

/// The first thread locks `one`, then `other`, and unlocks in that order; the rest delegate to
/// `one` a section that delegates to `other`.
pub fn unlocks_in_order_of_locking<D: StepsDown + 'static>(threads: usize) {
    let shared = Arc::new((D::default(), D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        let (one, other, count) = &*theirs;
        if thread == 0 {
            let turn = one.take_turn();
            let next = other.take_turn();
            // SAFETY: each turn belongs to its lock and to this thread.
            unsafe { one.end_turn(turn) };
            add_one(count);
            // SAFETY: as above.
            unsafe { other.end_turn(next) };
            return;
        }
        let mut context = Kept::new(D::Context::default());
        let mut other_context = Kept::new(D::Context::default());
        let inner = Brought::new(|| add_one(count));
        let outer = Brought::new(|| other.run(&mut other_context, inner.section()));
        one.run(&mut context, outer.section());
    });
    if ended.is_some() {
        assert_eq!(
            read(&shared.2),
            threads as u64,
            "sections exclude each other"
        );
    }
}

/// The first `waiters` threads delegate sections that wait for the sections of all other threads
/// and of the preceding waiters.
pub fn waits_for_others<D: Delegate + 'static>(threads: usize, waiters: usize) {
    let shared: Arc<Delegated<usize, D>> = Arc::new(Delegated::from(0));
    let theirs = Arc::clone(&shared);
    let found = together(threads, move |thread| {
        let section = |count: &mut usize| {
            *count += 1;
            *count
        };
        if thread >= waiters {
            return theirs.run(section);
        }
        let least = threads - waiters + thread;
        let found = theirs.run_when(|count| *count >= least, section);
        assert_eq!(found, least + 1, "a section runs when its condition is met");
        found
    });
    if let Some(mut found) = found {
        found.sort_unstable();
        let each: Vec<_> = (1..=threads).collect();
        assert_eq!(found, each, "sections exclude each other");
    }
}

/// The first `waiters` threads run sections that pause, for the sections of all other threads and
/// of the preceding waiters.
pub fn pauses<D: StepsDown + 'static>(threads: usize, waiters: usize) {
    let shared: Arc<Delegated<usize, D>> = Arc::new(Delegated::from(0));
    let theirs = Arc::clone(&shared);
    let found = together(threads, move |thread| {
        if thread >= waiters {
            return theirs.run(|count| {
                *count += 1;
                *count
            });
        }
        let least = threads - waiters + thread;
        theirs.pausing(|count| {
            count.pause_while(|count| *count < least);
            assert_eq!(
                **count, least,
                "a section goes on when its condition is met"
            );
            **count += 1;
            **count
        })
    });
    if let Some(mut found) = found {
        found.sort_unstable();
        let each: Vec<_> = (1..=threads).collect();
        assert_eq!(found, each, "turns and sections exclude each other");
    }
}

/// Two threads take turns, and each changes the data before it pauses.
pub fn pauses_in_turn<D: StepsDown + 'static>(rounds: usize) {
    let shared: Arc<Delegated<usize, D>> = Arc::new(Delegated::from(0));
    let ended = together(2, move |thread| {
        shared.pausing(|count| {
            for _ in 0..rounds {
                count.pause_while(|count| *count % 2 != thread);
                **count += 1;
            }
            // Each needs the other's last change, made before a pause or at the end.
            count.pause_while(|count| *count < 2 * rounds);
            **count
        })
    });
    for count in ended.into_iter().flatten() {
        assert_eq!(count, 2 * rounds, "turns exclude each other");
    }
}

/// The first thread pauses at a condition, until the others' sections and notifications.
pub fn pauses_at<D: StepsDown + 'static>(threads: usize) {
    let shared: Arc<(Delegated<usize, D>, Condvar)> = Arc::default();
    let ended = together(threads, move |thread| {
        let (count, changed) = &*shared;
        if thread > 0 {
            count.run(|count| *count += 1);
            changed.notify_one();
            return threads - 1;
        }
        count.pausing(|count| {
            while **count + 1 < threads {
                count.pause_at(changed);
            }
            **count
        })
    });
    for count in ended.into_iter().flatten() {
        assert_eq!(count, threads - 1, "sections exclude each other");
    }
}

/// Each thread pauses with a deadline, for a condition that stays false, then changes the data.
pub fn stops_pausing<D: StepsDown + 'static>(threads: usize) {
    let shared: Arc<Delegated<usize, D>> = Arc::new(Delegated::from(0));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |_| {
        theirs.pausing(|count| {
            let patience = Patience::until(soon());
            while count.pause_within(&patience) {}
            **count += 1;
        });
    });
    if ended.is_some() {
        let count = shared.locking(|count| *count);
        assert_eq!(count, threads, "turns exclude each other");
    }
}

/// The first `waiters` threads delegate sections that wait, with a deadline, for the sections of
/// all others; a section never runs after its timeout.
pub fn waits_within<D: AbortableDelegate + 'static>(threads: usize, waiters: usize) {
    let shared: Arc<Delegated<usize, D>> = Arc::new(Delegated::from(0));
    let theirs = Arc::clone(&shared);
    let found = together(threads, move |thread| {
        let section = |count: &mut usize| {
            *count += 1;
            *count
        };
        if thread >= waiters {
            return Some(theirs.run(section));
        }
        let least = threads - waiters;
        let patience = Patience::until(soon());
        let found = theirs.run_when_within(&patience, |count| *count >= least, section);
        assert!(
            found.is_none_or(|found| found > least),
            "a section runs when its condition is met"
        );
        found
    });
    if let Some(found) = found {
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        found.sort_unstable();
        let each: Vec<_> = (1..=found.len()).collect();
        assert_eq!(found, each, "sections exclude each other");
        let count = shared.locking(|count| *count);
        assert_eq!(count, found.len(), "what was given up is never run");
    }
}

/// Each thread waits, with a deadline, for a condition that stays false, then delegates a section.
pub fn stops_waiting<D: AbortableDelegate + 'static>(threads: usize) {
    let shared: Arc<Delegated<usize, D>> = Arc::new(Delegated::from(0));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |_| {
        let patience = Patience::until(soon());
        let found = theirs.run_when_within(&patience, |count| *count > threads, |_| ());
        assert!(found.is_none(), "a section runs when its condition is met");
        theirs.run(|count| *count += 1);
    });
    if ended.is_some() {
        let count = shared.locking(|count| *count);
        assert_eq!(count, threads, "sections exclude each other");
    }
}

/// Data to which tasks delegate sections, and one wake-up word per thread's task.
struct Tasks<D> {
    data: Arc<Delegated<u64, Posting<D>>>,
    rung: Vec<WaitCell>,
}

impl<D: Delegate + 'static> Tasks<D> {
    fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            data: Arc::new(Delegated::from(0)),
            rung: (0..threads).map(|_| WaitCell::default()).collect(),
        })
    }

    /// Delegates the section from that thread's task, and blocks until its future is ready.
    fn block_on<R: Send + 'static>(
        self: &Arc<Self>,
        thread: usize,
        section: impl FnOnce(&mut u64) -> R + Send + 'static,
    ) -> R {
        let bell = Bell {
            of: Arc::clone(self),
            thread,
        };
        let waker = Waker::from(Arc::new(bell));
        let future = Polled::new(self.data.run_async(section));
        if let Poll::Ready(result) = future.poll(&waker) {
            return result;
        }
        self.rung[thread].wait_for(RUNG, 1, |rung| rung != 0);
        match future.poll(&waker) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("a task is woken when its section has been run"),
        }
    }
}

/// Wakes a thread's task. It first delegates a section to the same data, like an executor that runs
/// the task at once.
struct Bell<D> {
    of: Arc<Tasks<D>>,
    thread: usize,
}

/// Publishes the effects before the wake-up to the task.
const RING: Order = Order::named("a client's bell", Strength::Release);
/// Acquires them.
const RUNG: Order = Order::named("a client's task that is woken", Strength::Acquire);

impl<D: Delegate + 'static> Wake for Bell<D> {
    fn wake(self: Arc<Self>) {
        self.of.data.run(|_| ());
        self.of.rung[self.thread].set(1, RING);
    }
}

/// A future that is not dropped if its thread fails.
struct Polled<D, R>(Kept<UnsafeCell<RunAsync<u64, D, R>>>);

impl<D: Delegate + 'static, R: Send + 'static> Polled<D, R> {
    fn new(future: RunAsync<u64, D, R>) -> Self {
        Self(Kept::new(UnsafeCell::new(future)))
    }

    fn poll(&self, waker: &Waker) -> Poll<R> {
        // SAFETY: one thread owns it and polls once at a time.
        let future = unsafe { &mut *self.0.get() };
        Pin::new(future).poll(&mut Context::from_waker(waker))
    }
}

/// Increments the counter; returns its new value.
fn count(counted: &mut u64) -> u64 {
    *counted += 1;
    *counted
}

/// The tasks of the first `posters` threads delegate asynchronously, the other threads
/// synchronously.
pub fn posts<D: Delegate + 'static>(threads: usize, posters: usize) {
    let tasks = Tasks::<D>::new(threads);
    let theirs = Arc::clone(&tasks);
    let found = together(threads, move |thread| {
        if thread < posters {
            theirs.block_on(thread, count)
        } else {
            theirs.data.run(count)
        }
    });
    if let Some(mut found) = found {
        found.sort_unstable();
        let each: Vec<_> = (1..=threads as u64).collect();
        assert_eq!(found, each, "each section is run once");
    }
}

/// The tasks of the first `posters` threads delegate. The other threads try, and on failure
/// delegate with a deadline.
pub fn posts_beside_hurried<D>(threads: usize, posters: usize)
where
    D: AbortableDelegate + TryDelegate + 'static,
{
    let tasks = Tasks::<D>::new(threads);
    let theirs = Arc::clone(&tasks);
    let found = together(threads, move |thread| {
        if thread < posters {
            return Some(theirs.block_on(thread, count));
        }
        let tried = theirs.data.try_run(count);
        tried.or_else(|| theirs.data.run_within(&Patience::until(soon()), count))
    });
    if let Some(found) = found {
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        found.sort_unstable();
        let each: Vec<_> = (1..=found.len() as u64).collect();
        assert_eq!(found, each, "each section is run once");
    }
}

/// The first thread posts a section and drops its future: by then the section has run, or it never
/// runs. The other threads delegate theirs.
pub fn drops_what_it_posted<D: Delegate + 'static>(threads: usize) {
    let tasks = Tasks::<D>::new(threads);
    let theirs = Arc::clone(&tasks);
    let ended = together(threads, move |thread| {
        if thread > 0 {
            theirs.data.run(|counted| {
                // The first thread posts meanwhile.
                yield_now();
                count(counted);
            });
            return 1;
        }
        let ran = Arc::new(Cell::new(0));
        let runs = Arc::clone(&ran);
        let future = Polled::new(theirs.data.run_async(move |counted| {
            // The posting thread drops its future meanwhile.
            yield_now();
            add_one(&runs);
            count(counted);
        }));
        let _ = future.poll(Waker::noop());
        yield_now();
        drop(future);
        read(&ran)
    });
    if let Some(ended) = ended {
        let ran: u64 = ended.iter().sum();
        let counted = tasks.data.locking(|counted| *counted);
        assert_eq!(counted, ran, "no section is run after its future is gone");
    }
}

/// The first thread delegates inside a section on other data, and must not run the other tasks'
/// sections there.
pub fn serves_no_task_inside<D: Delegate + 'static>(threads: usize) {
    let shared = Arc::new((Delegated::<(), D>::from(()), Tasks::<D>::new(threads)));
    let theirs = Arc::clone(&shared);
    let ran_by = together(threads, move |thread| {
        let (outer, tasks) = &*theirs;
        let section = |counted: &mut u64| {
            count(counted);
            thread_id()
        };
        let by = if thread > 0 {
            tasks.block_on(thread, section)
        } else {
            outer.locking(|()| tasks.data.run(section))
        };
        (by, thread_id())
    });
    if let Some(ran_by) = ran_by {
        let (_, inside) = ran_by[0];
        let served = ran_by[1..].iter().any(|(by, _)| *by == inside);
        assert!(!served, "served by a thread in another section");
    }
}

/// A section in memory that outlives a failure of its thread, so that the thread that runs it can
/// finish.
pub struct Brought<F: FnMut()>(Kept<UnsafeCell<F>>);

impl<F: FnMut()> Brought<F> {
    /// Wraps the section.
    pub fn new(section: F) -> Self {
        Self(Kept::new(UnsafeCell::new(section)))
    }

    /// The section, to be delegated once.
    pub fn section(&self) -> Section<'_> {
        // SAFETY: one section exists at a time; a client's panic ends the run.
        unsafe { Section::new(&mut *self.0.get()) }
    }
}

/// Each thread delegates `rounds(thread)` sections by `bring`; the threads in `own` must run theirs
/// themselves.
fn counts<D: Delegate + 'static>(
    threads: usize,
    rounds: impl Fn(usize) -> u64 + Send + Sync + 'static,
    own: Range<usize>,
    bring: impl Fn(usize, &D, &mut D::Context, Section<'_>) -> bool + Send + Sync + 'static,
) {
    let shared = Arc::new((D::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let brought = together(threads, move |thread| {
        let (delegate, count) = &*theirs;
        let mut ran = 0;
        for _ in 0..rounds(thread) {
            let mut context = Kept::new(D::Context::default());
            let mine = Kept::new((Cell::new(0_u64), Cell::new(0_u32)));
            let (times, by) = &*mine;
            let section = Brought::new(|| {
                add_one(count);
                add_one(times);
                write(by, thread_id());
            });
            let has_run = bring(thread, delegate, &mut context, section.section());
            assert_eq!(read(times), u64::from(has_run), "a section is run once");
            assert!(read(by) != 0 || !has_run, "what a section has done is seen");
            let elsewhere = has_run && own.contains(&thread) && read(by) != thread_id();
            assert!(!elsewhere, "a section ran in another thread than its own");
            ran += read(times);
        }
        ran
    });
    if let Some(brought) = brought {
        let brought: u64 = brought.iter().sum();
        assert_eq!(read(&shared.1), brought, "sections exclude each other");
    }
}

/// A server scans once; its clients never time out.
const PATIENT: Thresholds = Thresholds {
    serves: 1,
    waits: u64::MAX,
    brings: 1,
    strict: 1,
    boundary: 0,
    idle: Idle::constant(1),
};

/// Clients queue after one waiting step.
const HASTY: Thresholds = Thresholds {
    waits: 1,
    ..PATIENT
};

/// A `sanl` that votes after the first wait.
#[derive(Debug)]
pub enum Voting {}

impl Tuning for Voting {
    const POLICY: Policy = Policy::ServingFirst;
    const THRESHOLDS: Thresholds = PATIENT;
}

/// Like [`Voting`], with one chain for all threads.
#[derive(Debug)]
pub enum Chained {}

impl Tuning for Chained {
    const POLICY: Policy = Policy::Flat;
    const THRESHOLDS: Thresholds = PATIENT;
    const CHAINS: usize = 1;
}

/// A `sanl` with clients that wait for any server.
#[derive(Debug)]
pub enum Patiently {}

impl Tuning for Patiently {
    const POLICY: Policy = Policy::Flat;
    const THRESHOLDS: Thresholds = PATIENT;
}

/// A `sanl` with clients that queue soon.
#[derive(Debug)]
pub enum Hastily {}

impl Tuning for Hastily {
    const POLICY: Policy = Policy::Flat;
    const THRESHOLDS: Thresholds = HASTY;
}

/// A `sanl` with clients that wait for a server of their node, and queue to become one.
#[derive(Debug)]
pub enum Apart {}

impl Tuning for Apart {
    const POLICY: Policy = Policy::DistanceFirst;
    /// Long enough that a client that finds a queue parks, and does not spin for the whole run.
    const THRESHOLDS: Thresholds = Thresholds {
        waits: 100_000,
        ..PATIENT
    };
}

/// A `sanl` with delegation of every section, whatever the votes.
pub struct Bringing<T: Tuning>(Sanl<Mcs, T>);

impl<T: Tuning> Default for Bringing<T> {
    fn default() -> Self {
        Self(Sanl::default())
    }
}

// SAFETY: as `Sanl`.
unsafe impl<T: Tuning> Delegate for Bringing<T> {
    type Context = <Mcs as RawLock>::Context;

    fn run(&self, _: &mut Self::Context, section: Section<'_>) {
        self.0.run_by_server(section);
    }

    fn run_here(&self, cx: &mut Self::Context, section: Section<'_>) {
        self.0.run_here(cx, section);
    }
}

// SAFETY: as above.
unsafe impl<T: Tuning> AbortableDelegate for Bringing<T> {
    fn run_within(
        &self,
        cx: &mut Self::Context,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome {
        self.0.run_within(cx, section, patience)
    }
}
