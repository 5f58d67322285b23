//! `oyama`: a thread that finds the lock held prepends its critical section to a list in the lock's
//! word. Before its release, the holder takes the whole list and runs it (Oyama et al. 1999; Dice
//! et al. 2015 §1.1, Zhang et al. 2017 §2.2).
//!
//! **Not for** sections that wait for other threads: the holder may have such a thread's section
//! pending. Nor for many simultaneous arrivals: each retries an exchange on one word. Nor for
//! callers that give up: the list links nodes in their frames, so none can leave before the holder
//! has passed its node.
//!
//! | `word` | state |
//! |---|---|
//! | null | free |
//! | `HELD` | held, with an empty list |
//! | a node | held; the newest section of the list |
//!
//! | field of a node | meaning | written by |
//! |---|---|---|
//! | `section`, `here` | the section; 1 if its thread must run it, else 0 | its thread |
//! | `next` | the next older node of the list; `HELD` after the oldest | its thread; the holder, as it reverses the list it took |
//! | `told` | see below | the holder |
//!
//! | `told` | meaning |
//! |---|---|
//! | `WAIT` | its section is pending |
//! | `DONE` | its section has been run |
//! | `YOURS` | its thread holds the lock and owns the nodes from `next` on: it runs its section, and theirs |
//!
//! | the paper | here |
//! |---|---|
//! | the holder runs all arriving sections, without a bound | it runs at most `MOST`, then hands the lock and the rest of its list to the next section's thread |
//! | a thread may continue before its section has been run | it waits, since the section may borrow from it; the node is in its frame |
//! | the newest section runs first; the list may be reversed | `IN_ORDER` reverses it; either way a whole list runs before later arrivals |
//! | a thread retries the exchange at once | it pauses between tries as waiters of [`bo`](crate::basic::bo) do |
//! | every holder runs others' sections | a holder inside another lock's section hands the lock to the next thread; so does a holder that reaches a section to be run `here` |
//!
//! The release is a holder's last access to the lock, and the last user's drop waits for it.
//!
//! A child of a fork cannot use a lock with arrivals of its parent: their nodes are on its list.

use super::serving::Serving;
use super::{may_serve, run};
use crate::basic::bo::pauses;
use crate::door::{
    Advice, AtomicPtr, AtomicU32, Cell, Order, Spinner, Tallied, flaws, mutant, orders, tally,
    tally_moment,
};
use crate::wait::{Backoff, MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{Delegate, Section, TryDelegate};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Reads the last holder's writes.
    OYAMA_TAKE = Acquire;
    /// Publishes the holders' writes to the next one.
    OYAMA_LEAVE = Release;
    /// Publishes the section, and what its thread wrote before.
    OYAMA_PUT = Release;
    /// Reads all sections of the list.
    OYAMA_DETACH = Acquire;
    /// Publishes a section's writes to its thread, and all sections' writes to the thread that
    /// receives the lock.
    OYAMA_ANSWER = Release;
    /// Reads them.
    OYAMA_ANSWERED = Acquire;
}

flaws! {
    /// The lock is released without reading the latest list.
    FORGET_LATE = "oyama.forget-late";
    /// A thread that receives the lock drops the nodes that belong to it.
    FORGET_REST = "oyama.forget-rest";
    /// A holder runs sections without a bound.
    FORGET_BOUND = "oyama.forget-bound";
    /// The newest section runs first in spite of `IN_ORDER`.
    FORGET_ORDER = "oyama.forget-order";
    /// A holder inside another lock's section runs sections of other threads here.
    SERVE_INSIDE = "oyama.serve-inside";
    /// The lock is dropped while a holder is about to release it.
    DROP_AT_ONCE = "oyama.drop-at-once";
}

const WAIT: u32 = 0;
const DONE: u32 = 1;
const YOURS: u32 = 2;

/// A node has one waiter.
const CLASS: u32 = 1;

/// The lock is held with an empty list; no valid address.
const HELD: *mut OyamaNode = ptr::without_provenance_mut(1);

/// The context of a call: its node of the list.
#[derive(Debug, Default)]
#[repr(C)]
pub struct OyamaNode {
    told: WaitCell<MayPark>,
    here: AtomicU32,
    next: AtomicPtr<OyamaNode>,
    section: Cell<Option<Section<'static>>>,
}

/// The lock. A holder runs at most `MOST` sections, its own among them. A list runs from the newest
/// section to the oldest, or in order of arrival if `IN_ORDER`.
///
/// ```
/// use cohort::{Delegated, delegation::Oyama};
///
/// let total: Delegated<u64, Oyama> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Oyama<P: Parking = MayPark, const MOST: u32 = 256, const IN_ORDER: bool = false> {
    word: AtomicPtr<OyamaNode>,
    serving: Serving,
    parking: PhantomData<P>,
}

impl<P: Parking, const MOST: u32, const IN_ORDER: bool> Default for Oyama<P, MOST, IN_ORDER> {
    fn default() -> Self {
        Self {
            word: AtomicPtr::null(),
            serving: Serving::default(),
            parking: PhantomData,
        }
    }
}

/// Reverses a list.
///
/// # Safety
/// The caller holds the lock, and has taken the list.
unsafe fn reversed(first: *mut OyamaNode) -> *mut OyamaNode {
    let (mut at, mut done) = (first, HELD);
    while at != HELD {
        // SAFETY: a node stays until its thread is notified.
        let node = unsafe { &*at };
        let next = node.next.load(Order::RELAXED);
        node.next.store(done, Order::RELAXED);
        (at, done) = (next, at);
    }
    done
}

impl<P: Parking, const MOST: u32, const IN_ORDER: bool> Oyama<P, MOST, IN_ORDER> {
    /// Acquires the lock, if it is free; otherwise returns its word.
    #[inline]
    fn try_hold(&self) -> Result<(), *mut OyamaNode> {
        self.word
            .compare_exchange(ptr::null_mut(), HELD, OYAMA_TAKE, Order::RELAXED)
            .map(drop)
    }

    /// Blocks until the section has been run; if `here`, by the calling thread.
    fn bring(&self, node: &OyamaNode, section: Section<'_>, here: bool) {
        let Err(seen) = self.try_hold() else {
            return self.hold(section, HELD);
        };
        // SAFETY: this call returns once the section has been run.
        let section = unsafe { section.outliving() };
        // SAFETY: unpublished until the node is on the list.
        node.section
            .with_mut(|place| unsafe { *place = Some(section) });
        node.here.store(here.into(), Order::RELAXED);
        node.told.reset(WAIT);
        if self.put(node, seen) {
            let told = node.told.in_form::<P>();
            told.wait_for(OYAMA_ANSWERED, CLASS, |told| told != WAIT);
            if told.value(OYAMA_ANSWERED) == DONE {
                return;
            }
        }
        // SAFETY: the node is unpublished, or its thread received the lock.
        let section = node.section.with_mut(|place| unsafe { (*place).take() });
        let rest = if mutant(flaw::FORGET_REST) {
            HELD
        } else {
            node.next.load(Order::RELAXED)
        };
        if let Some(section) = section {
            self.hold(section, rest);
        }
    }

    /// Prepends a node to the list, and returns true; or acquires the lock, if it has become free.
    /// `seen` is the word's last value.
    fn put(&self, node: &OyamaNode, mut seen: *mut OyamaNode) -> bool {
        let (mut spinner, mut pauses) = (Spinner::new(), pauses());
        loop {
            if seen.is_null() {
                node.next.store(HELD, Order::RELAXED);
                if self.try_hold().is_ok() {
                    return false;
                }
            } else {
                node.next.store(seen, Order::RELAXED);
                let at = ptr::from_ref(node).cast_mut();
                let put = self
                    .word
                    .compare_exchange(seen, at, OYAMA_PUT, Order::RELAXED);
                if put.is_ok() {
                    return true;
                }
            }
            if spinner.pause(pauses.pause()) == Advice::Sleep {
                spinner.insist();
            }
            seen = self.word.load(Order::RELAXED);
        }
    }

    /// Runs the section, then those of the nodes from `rest` on, which this thread owns, and those
    /// that arrive meanwhile; releases the lock or hands it over. The caller holds the lock.
    fn hold(&self, section: Section<'_>, rest: *mut OyamaNode) {
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        let mut left = if may_serve(flaw::SERVE_INSIDE) {
            MOST - 1
        } else {
            0
        };
        let moment = tally_moment();
        tally(Tallied::Nominations, 1);
        let (mut at, mut answers) = (rest, false);
        loop {
            if at == HELD {
                if self.leave() {
                    break;
                }
                at = self.detach();
            }
            // SAFETY: a node stays until its thread is notified.
            let node = unsafe { &*at };
            if left == 0 && !mutant(flaw::FORGET_BOUND) || node.here.load(Order::RELAXED) != 0 {
                node.told.in_form::<P>().set(YOURS, OYAMA_ANSWER);
                tally(Tallied::HandOvers, 1);
                break;
            }
            if !answers {
                answers = true;
                self.serving.begin();
            }
            left = left.saturating_sub(1);
            at = node.next.load(Order::RELAXED);
            // SAFETY: the caller has the lock, and that node.
            unsafe { Self::serve(node) };
        }
        tally(Tallied::Serving, tally_moment() - moment);
    }

    /// Releases the lock, if the list is empty; returns whether it did.
    fn leave(&self) -> bool {
        if mutant(flaw::FORGET_LATE) {
            self.word.store(ptr::null_mut(), OYAMA_LEAVE);
            return true;
        }
        self.word
            .compare_exchange(HELD, ptr::null_mut(), OYAMA_LEAVE, Order::RELAXED)
            .is_ok()
    }

    /// Takes the whole list, which is not empty. The caller holds the lock.
    fn detach(&self) -> *mut OyamaNode {
        let all = self.word.swap(HELD, OYAMA_DETACH);
        if IN_ORDER && !mutant(flaw::FORGET_ORDER) {
            // SAFETY: the caller holds the lock, and has taken the list.
            return unsafe { reversed(all) };
        }
        all
    }

    /// Runs the node's section, and notifies its thread.
    ///
    /// # Safety
    /// The caller holds the lock, and has taken the node from the list.
    unsafe fn serve(node: &OyamaNode) {
        // SAFETY: a taken node's section is the holder's.
        if let Some(section) = node.section.with_mut(|place| unsafe { (*place).take() }) {
            // SAFETY: the lock excludes.
            unsafe { run(section) };
        }
        tally(Tallied::Served, 1);
        node.told.in_form::<P>().set(DONE, OYAMA_ANSWER);
    }
}

// SAFETY: one thread at a time has changed the word from null or received the lock. It takes each
// section out of its node before it notifies the node's thread.
unsafe impl<P: Parking, const MOST: u32, const IN_ORDER: bool> Delegate
    for Oyama<P, MOST, IN_ORDER>
{
    type Context = OyamaNode;

    #[inline]
    fn run(&self, node: &mut OyamaNode, section: Section<'_>) {
        self.bring(node, section, false);
    }

    fn run_here(&self, node: &mut OyamaNode, section: Section<'_>) {
        self.bring(node, section, true);
    }
}

// SAFETY: as above.
unsafe impl<P: Parking, const MOST: u32, const IN_ORDER: bool> TryDelegate
    for Oyama<P, MOST, IN_ORDER>
{
    fn try_run(&self, _: &mut OyamaNode, section: Section<'_>) -> bool {
        let free = self.try_hold().is_ok();
        if free {
            self.hold(section, HELD);
        }
        free
    }
}

impl<P: Parking, const MOST: u32, const IN_ORDER: bool> Drop for Oyama<P, MOST, IN_ORDER> {
    fn drop(&mut self) {
        let is_left = || self.word.load(OYAMA_TAKE).is_null() || mutant(flaw::DROP_AT_ONCE);
        self.serving.settle(is_left);
    }
}

impl<const MOST: u32, const IN_ORDER: bool> super::InTwoForms for Oyama<MayPark, MOST, IN_ORDER> {
    type Spinning = Oyama<SpinOnly, MOST, IN_ORDER>;
}
