//! `oyama`: a thread that finds the lock held puts its section on a list in the lock's word, and the
//! holder takes the whole list and runs it before it leaves (Oyama et al. 1999; Dice et al. 2015 §1.1,
//! Zhang et al. 2017 §2.2).
//!
//! **Not for** sections that wait for other threads, which may be those that they wait for; nor
//! for many threads that come at once: each exchanges the one word until it succeeds; nor where callers
//! want to give up: the list leads through their frames, so none may go before the holder has gone past it.
//!
//! | `word` | state |
//! |---|---|
//! | null | free |
//! | `HELD` | held, with nothing on the list |
//! | a node | held; the last section that was put on the list |
//!
//! | field of a node | meaning | written by |
//! |---|---|---|
//! | `section`, `here` | the section; whether its thread is to run it: 1, or 0 if not | its thread |
//! | `next` | the node that was on the list before; `HELD` after the last | its thread; the holder, as it reverses what it has taken |
//! | `told` | see below | the holder |
//!
//! | `told` | meaning |
//! |---|---|
//! | `WAIT` | its section is to be run |
//! | `DONE` | it has been |
//! | `YOURS` | its thread has the lock, and with it the nodes from `next` on: it runs its section, and theirs |
//!
//! | the paper | here |
//! |---|---|
//! | the holder runs whatever comes, for ever | it runs `MOST` sections, and then leaves the lock and the rest of what it has taken to the thread of the next one |
//! | a thread may go on before its section has been run | it waits, since that may borrow from it; the node is in its own frame |
//! | what has come last is run first; it may be reversed | `IN_ORDER` reverses it; both serve all that were taken at once before any that came later |
//! | a thread exchanges the word until it succeeds | the same, with pauses in between as waiters of [`bo`](crate::basic::bo) have |
//! | every thread serves | not one that is in a section of another lock, which leaves the lock to the next; nor may others run a section that is to run `here`, which is left to its thread likewise |
//!
//! Leaving the lock is the last that a holder does to it, and the last user's drop waits for that.
//!
//! A child of a fork cannot go on with one that others had come to: their nodes are on its list.

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
    /// Sees what the last holder did.
    OYAMA_TAKE = Acquire;
    /// What holders did is seen by the next.
    OYAMA_LEAVE = Release;
    /// The section is seen with what its thread did before.
    OYAMA_PUT = Release;
    /// Sees that of all that is on the list.
    OYAMA_DETACH = Acquire;
    /// What the section did is seen by its thread, what all of them did by the thread that is left
    /// the lock.
    OYAMA_ANSWER = Release;
    /// Sees it.
    OYAMA_ANSWERED = Acquire;
}

flaws! {
    /// The lock is left without a look at what was put on the list meanwhile.
    FORGET_LATE = "oyama.forget-late";
    /// A thread that is left the lock forgets the nodes that come with it.
    FORGET_REST = "oyama.forget-rest";
    /// A holder runs whatever comes.
    FORGET_BOUND = "oyama.forget-bound";
    /// What has come last is run first where it should not be.
    FORGET_ORDER = "oyama.forget-order";
    /// A holder that is in a section of another lock runs those of others here.
    SERVE_INSIDE = "oyama.serve-inside";
    /// The lock is dropped while a holder is about to leave it.
    DROP_AT_ONCE = "oyama.drop-at-once";
}

const WAIT: u32 = 0;
const DONE: u32 = 1;
const YOURS: u32 = 2;

/// One waits for a node.
const CLASS: u32 = 1;

/// The lock is held, and nothing more is on the list: no address of a node.
const HELD: *mut Node = ptr::without_provenance_mut(1);

/// What a call carries: a place on the list.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Node {
    told: WaitCell<MayPark>,
    here: AtomicU32,
    next: AtomicPtr<Node>,
    section: Cell<Option<Section<'static>>>,
}

/// The lock.  A holder runs `MOST` sections, its own among them; what was put on the list while one ran
/// is run from the last to the first, or `IN_ORDER`.
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
    word: AtomicPtr<Node>,
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

/// The nodes from one on, reversed.
///
/// # Safety
/// The caller has the lock, and has taken them from the list.
unsafe fn reversed(first: *mut Node) -> *mut Node {
    let (mut at, mut done) = (first, HELD);
    while at != HELD {
        // SAFETY: a node stays until its thread is told something.
        let node = unsafe { &*at };
        let next = node.next.load(Order::RELAXED);
        node.next.store(done, Order::RELAXED);
        (at, done) = (next, at);
    }
    done
}

impl<P: Parking, const MOST: u32, const IN_ORDER: bool> Oyama<P, MOST, IN_ORDER> {
    /// Takes the lock, if it is free; what the word says otherwise.
    #[inline]
    fn try_hold(&self) -> Result<(), *mut Node> {
        self.word
            .compare_exchange(ptr::null_mut(), HELD, OYAMA_TAKE, Order::RELAXED)
            .map(drop)
    }

    /// Blocks until the section has been run; `here`: by the calling thread.
    fn bring(&self, node: &Node, section: Section<'_>, here: bool) {
        let Err(seen) = self.try_hold() else {
            return self.hold(section, HELD);
        };
        // SAFETY: this call returns once it has been run.
        let section = unsafe { section.outliving() };
        // SAFETY: nobody looks there until the node is on the list.
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
        // SAFETY: nobody else has this node, or its thread was left the lock.
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

    /// Puts a node on the list, or takes the lock, if that has become free; whether that was held.  The
    /// word was last seen so.
    fn put(&self, node: &Node, mut seen: *mut Node) -> bool {
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

    /// Runs the section, and those of the nodes from `rest` on, which this thread has, and of such as
    /// are put on the list meanwhile.  The caller has the lock.
    fn hold(&self, section: Section<'_>, rest: *mut Node) {
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
            // SAFETY: a node stays until its thread is told something.
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

    /// Leaves the lock free, if nothing is on the list; whether it was.
    fn leave(&self) -> bool {
        if mutant(flaw::FORGET_LATE) {
            self.word.store(ptr::null_mut(), OYAMA_LEAVE);
            return true;
        }
        self.word
            .compare_exchange(HELD, ptr::null_mut(), OYAMA_LEAVE, Order::RELAXED)
            .is_ok()
    }

    /// Takes all that is on the list, of which there is something.  The caller has the lock.
    fn detach(&self) -> *mut Node {
        let all = self.word.swap(HELD, OYAMA_DETACH);
        if IN_ORDER && !mutant(flaw::FORGET_ORDER) {
            // SAFETY: the caller has the lock, and has taken them.
            return unsafe { reversed(all) };
        }
        all
    }

    /// Runs that node's section, and tells its thread.
    ///
    /// # Safety
    /// The caller has the lock, and has taken the node from the list.
    unsafe fn serve(node: &Node) {
        // SAFETY: what is on the list is the holder's.
        if let Some(section) = node.section.with_mut(|place| unsafe { (*place).take() }) {
            // SAFETY: the lock excludes.
            unsafe { run(section) };
        }
        tally(Tallied::Served, 1);
        node.told.in_form::<P>().set(DONE, OYAMA_ANSWER);
    }
}

// SAFETY: one thread at a time has taken the word from null, or was left it; each section is taken
// out of its node by that thread, before its own is told.
unsafe impl<P: Parking, const MOST: u32, const IN_ORDER: bool> Delegate
    for Oyama<P, MOST, IN_ORDER>
{
    type Context = Node;

    #[inline]
    fn run(&self, node: &mut Node, section: Section<'_>) {
        self.bring(node, section, false);
    }

    fn run_here(&self, node: &mut Node, section: Section<'_>) {
        self.bring(node, section, true);
    }
}

// SAFETY: as above.
unsafe impl<P: Parking, const MOST: u32, const IN_ORDER: bool> TryDelegate
    for Oyama<P, MOST, IN_ORDER>
{
    fn try_run(&self, _: &mut Node, section: Section<'_>) -> bool {
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
