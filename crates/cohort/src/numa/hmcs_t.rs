//! `hmcs-t-1` to `hmcs-t-4`: `hmcs` whose waiters can give up at any level, in a bounded
//! number of steps and without allocating (Chabbi et al. 2017 §3, §4).
//!
//! **Not for** locks of which no waiter ever gives up: `hmcs` does the same with less to look at.
//!
//! A waiter that gives up marks its node and leaves it in the queue, and passes on the queues that
//! it holds below.  A releaser that finds such a mark goes on to the next node, and gives the
//! nodes that it has passed over back once the lock is somebody's.  Until then a waiter that
//! comes back finds its old place again.
//!
//! | a node's `status` | written by | meaning |
//! |---|---|---|
//! | `RECYCLED` | the thread that passed over it, or released by it | in no queue; anybody may claim it |
//! | `WAITING` | its claimant, by compare-exchange | entering the queue, or in it |
//! | `ABANDONED` | its waiter, by compare-exchange | in the queue; its claimant has its place |
//! | `PREFIX` | a releaser, by exchange | holds its queue, and has to go on above it |
//! | `FIRST` | its holder | the same, and has begun to: the queues above may be held already |
//! | `FIRST` + n | a releaser, by exchange | holds its queue and all above; the cohort has had the lock n times more in a row |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | a node's `next` | its successor, by exchange, or by a store where the node is a patient thread's; a releaser that goes past it | the successor; then the node before it, for the way back; `IMPATIENT`: released before the successor had linked itself, which therefore holds the queue |
//! | a queue's `tail` | arrivals; the last to leave | as in `mcs`; `OWN`: the queue's own place |
//! | the bit `PATIENT` in `tail` and `next` | as the field | the place is a context's, of a patient thread |
//! | a context's `mine` | as a node's | its place while its thread is patient |
//! | its `own` | as a node's | the place of a thread that finds the system's queue empty |
//! | a queue's `nodes` | the maker of a node for it | the first of them, which is also the queue's name and survives moving the lock; and how many there are |
//! | a cohort's `node` | the holder of the cohort's queue | its place in the queue above |
//!
//! **The owner of a node.**  A release may leave its own node behind, for a successor that is slow
//! to link itself, and hosts return a context at once; so a node belongs to the queue it was
//! made for, and is claimed for one acquisition by an exchange of its status.  A context only
//! remembers which one it had, and waits for it as long as nobody else has it, so that it has one
//! place in a queue at most.  A context that is dropped, or a thread that ends or moves,
//! owes nothing: others of the cohort claim what it left, its place in the queue included.
//!
//! **The queue's own place.**  A thread that finds the system's queue empty needs no node that it
//! would have to claim: one exchange from nothing to `OWN` gives it the lock and the place in the lock
//! itself, which is in use as long as the queue begins with it.  So alone there are the two exchanges
//! of `mcs`, and the context has nothing to remember.  Nobody waits at that place, so that it has no
//! status.  It is named and not pointed at, since a mutex may be moved once its guard is forgotten.  A
//! releaser takes the link out of it before it grants the successor, and touches it no more: from then
//! on the next that finds the queue empty may have it.
//!
//! **Patient threads.**  A thread of endless patience neither gives its place up nor
//! leaves it to a successor that is slow to link itself: its release waits for that link, as the release of
//! `mcs` does, and the paper's without a timeout.  So the place by which it enters its first queue is in its
//! context, as in `hmcs`.  Nobody else claims that place, its successor links itself by a store, and it is
//! granted by one; the neighbours know it by the bit `PATIENT` of its name.  Above that queue stand
//! the nodes of cohorts, as for everybody, so that a holder in a hurry never waits for a link.  A context
//! that gave up last may have its place still, and comes back to that, however patient.
//!
//! **Where the paper is silent or errs.**  It lets a waiter time out by an exchange that could
//! overwrite a grant; here that is a compare-exchange, whose failure is the grant.  Before
//! `IMPATIENT` is left at a node, its `FIRST` becomes `PREFIX`: the next user of that node
//! would take it for a queue that it holds.  A cohort's node is recycled before the cohort's
//! queue is passed on, so that the thread that gets that finds the node in order.  A release that
//! does not wait for its successor looks for it twice.
//!
//! **Other manners** (a lock's [`Shape`] names them), to be compared with:
//!
//! | | instead of | |
//! |---|---|---|
//! | `/naive` | a waiter that gives up passes what it holds to the first waiter of its smallest cohort that has one | it leaves its queues from the top down, each to the first waiter there, which has to come up by itself (Chabbi et al. 2017 §4, §5) |
//! | `/pessimistic` | a thread that gets its cohort's node back after its deadline tries to have the lock at once | it gives up, with the node unclaimed (§3) |
//! | `/peers-N` | a holder passes over all that have gone before it looks a level higher | it looks there after `N` of them, and passes over the others on its way back (§5); at the system's queue, above which nothing is, over all |
//!
//! Nobody is forgotten by them: each queue that is held is left by the same `Walk`, to its end.
//! `ahmcs-t` is the tree with the entries of `ahmcs`: a thread enters a queue above its leaf with a
//! node of that queue's, as a cohort does with its own.
//!
//! **Bounds.**  After its deadline a waiter looks once at each level above, and then passes on
//! at most as many nodes as are in the queues that it holds, one of each context; none of them can
//! come back before it is done, since they are recycled last.  The simulated machine counts
//! (`bound::steps`): no more than Chabbi et al. 2017 §5 allow.  Only what a patient thread has acquired is
//! released without such a bound.

use super::ahmcs::WhereMet;
use super::hmcs::{AtLeaf, Entry, NOWHERE};
use super::linked;
use super::shape::{ChosenShape, Gives, Shape, Usual};
use crate::compose::{CacheGroup, Core, Numa, Tree};
use crate::door::{
    AtomicPtr, AtomicU32, Counter, Order, constructor, count, flaws, mutant, orders, pool,
    runs_out, tries_anything,
};
use crate::host::{Arena, Pool};
use crate::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, BoundedAbort, Fair, HandOver, Inherit, Outcome, Patience, RawLock, RawTry,
    ThreadOblivious, TwoForms, standalone,
};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Sees the links that its recycler has left in the node.
    HMCS_T_CLAIM = Acquire;
    /// As above, from the recycler's side.
    HMCS_T_RECYCLE = Release;
    /// A node that is found among its queue's has been made.
    HMCS_T_FIND = Acquire;
    /// As above, from the maker's side.  A thread that finds the newest node has seen those
    /// behind it made too: all are put there by exchanges of one word.
    HMCS_T_MAKE = Release;
    /// Acquires what the last holder did if the queue was empty; publishes the node's fresh
    /// fields to the successor that will write `next`.
    HMCS_T_ENQUEUE = AcqRel;
    /// Publishes the fresh node to the thread that will grant it; sees what a releaser did that
    /// has not waited for it.
    HMCS_T_LINK = AcqRel;
    /// Publishes the fresh node to the patient thread that will grant it.
    HMCS_T_FOLLOW = Release;
    /// Sees that fresh node before writing its status.
    HMCS_T_SUCCESSOR = Acquire;
    /// What the holder did is seen by its successor.
    HMCS_T_GRANT = Release;
    /// Sees it.
    HMCS_T_GRANTED = Acquire;
    /// What the holder did is seen by the thread that finds the queue empty.
    HMCS_T_LEAVE = Release;
    /// What the holder did is seen by the successor that finds the mark.
    HMCS_T_IMPATIENT = Release;
    /// Sees what the last holder did.  It publishes nothing: the queue's own place is as the last
    /// holder left it, whose exchange the successor acquires through this one.
    HMCS_T_TRY = Acquire;
}

flaws! {
    KEEP_FIRST = "hmcs-t.keep-first";
    FORGET_NODE = "hmcs-t.forget-node";
    /// The queue's own place keeps the link to a successor that was granted.
    KEEP_LINK = "hmcs-t.keep-link";
    /// The queue's own place keeps the link of a successor that has found the mark.
    KEEP_MARKED = "hmcs-t.keep-marked";
    IGNORE_MARK = "hmcs-t.ignore-mark";
    OVERWRITE_GRANT = "hmcs-t.overwrite-grant";
    /// A patient thread leaves its place to a successor that has not linked itself.
    LEAVE_PLACE = "hmcs-t.leave-place";
    /// The next waiter is granted as one that does not give up.
    TRUST_ALL = "hmcs-t.trust-all";
    KEEP_FOR_EVER = "hmcs-t.keep-for-ever";
    LOW_FIRST = "hmcs-t.low-first";
    /// Waiters beyond the bound on those passed over count as served.
    STOP_AT_PEERS = "hmcs-t.stop-at-peers";
    /// A context takes another place while its node is still to come back.
    TAKE_ANOTHER = "hmcs-t.take-another";
    /// A context waits for a node that somebody else has claimed.
    WAIT_FOR_ANOTHER = "hmcs-t.wait-for-another";
    /// A releaser goes back along its nodes twice.
    WALK_AGAIN = "hmcs-t.walk-again";
    /// A pessimist claims a node and then gives up.
    KEEP_LATE = "hmcs-t.keep-late";
}

const RECYCLED: u32 = 0;
const WAITING: u32 = 1;
const ABANDONED: u32 = 2;
const PREFIX: u32 = 3;
/// The first in a row.
const FIRST: u32 = 4;
const CLASS: u32 = 1;

/// Looks for a successor that has entered the queue and is not linked to it.
const LOOKS: u32 = 2;

/// Looks for a neighbour that comes back.
const NEIGHBOURLY: u32 = 32;

/// Nodes that are looked through, by a context that remembers none, for one that can be claimed, as long as their number has not
/// doubled since all were: as many of them are made at most as twice the most that were in
/// use at once, and these.
const FEW: u32 = 8;

/// Looks for the node that a context remembers, before others are looked through.
const NEARLY: u32 = 64;

/// In a node's `next`: its releaser has not waited for the successor.
const IMPATIENT: usize = 1;

/// In a queue's `tail`: the last place is the queue's own.
const OWN: usize = 1;

/// In a queue's `tail` and a node's `next`: the place is a context's, of a patient thread.  In a context:
/// so is that of its acquisition.
const PATIENT: usize = 2;

/// In a context: the place of its acquisition is a node of the queue's.
const POOLED: usize = 1;

/// In a context, of its last acquisition: its thread gave up, and may have its place still.
const GAVE_UP: u32 = u32::MAX;

/// A place in a queue: an acquisition's, or a cohort's in the one above.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Node<P: Parking> {
    next: AtomicPtr<Node<P>>,
    status: WaitCell<P>,
    /// The first node of its queue's; null while it is of none.
    eldest: AtomicPtr<Node<P>>,
    /// Another node of the queue's.
    beside: AtomicPtr<Node<P>>,
    /// Where the context that claimed it last remembers it; of a cohort's, nothing.
    user: AtomicPtr<AtomicPtr<Node<P>>>,
}

/// How a node was claimed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claimed {
    /// It is in no queue.
    Fresh,
    /// It is where it was abandoned.
    Resumed,
}

impl<P: Parking> Node<P> {
    constructor! {
        fn new() -> Self {
            Self {
                next: AtomicPtr::null(),
                status: WaitCell::new(),
                eldest: AtomicPtr::null(),
                beside: AtomicPtr::null(),
                user: AtomicPtr::null(),
            }
        }
    }

    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn mark() -> *mut Self {
        ptr::without_provenance_mut(IMPATIENT)
    }

    fn status(&self) -> u32 {
        self.status.value(Order::RELAXED)
    }

    /// Claims it if it may be claimed.
    #[inline]
    fn claim(&self) -> Option<Claimed> {
        match self.status() {
            RECYCLED if self.claim_fresh() => Some(Claimed::Fresh),
            // The place in the queue is all there is to it.
            ABANDONED
                if self
                    .status
                    .exchange(ABANDONED, WAITING, Order::RELAXED, Order::RELAXED) =>
            {
                Some(Claimed::Resumed)
            }
            _ => None,
        }
    }

    /// Claims it if it is in no queue.
    #[inline]
    fn claim_fresh(&self) -> bool {
        self.status
            .exchange(RECYCLED, WAITING, HMCS_T_CLAIM, Order::RELAXED)
    }

    /// Looks for a successor a few times: the cohort has just handed the lock over, and
    /// the thread that had it before is on its way back into the queue.  To leave all the levels
    /// above takes longer.  Whether it has come.
    fn await_neighbour(&self) -> bool {
        (0..NEIGHBOURLY).any(|_| !self.next.load(Order::RELAXED).is_null())
    }

    fn recycle(&self) {
        self.status.set(RECYCLED, HMCS_T_RECYCLE);
    }

    /// Blocks as long as its status is the one that was seen, by which a releaser is not done with
    /// it, or its successor not linked; false if patience runs out before.  Never where it may
    /// be claimed, or has been: its claimant would write over a sleeper's mark.
    fn comes_back(&self, seen: u32, patience: &Patience) -> bool {
        let ready = |status| {
            if mutant(flaw::WAIT_FOR_ANOTHER) {
                return status == RECYCLED;
            }
            status != seen || matches!(status, RECYCLED | ABANDONED)
        };
        self.status
            .wait_within(Order::RELAXED, CLASS, ready, patience)
    }
}

/// Whether the place of that name is a patient thread's.
fn is_patient<P: Parking>(name: *mut Node<P>) -> bool {
    name.addr() & PATIENT != 0
}

/// The node of that name, which is not the queue's own.
fn named<P: Parking>(name: *mut Node<P>) -> *mut Node<P> {
    name.map_addr(|at| at & !PATIENT)
}

/// A place in a queue.
struct Place<'a, P: Parking> {
    node: &'a Node<P>,
    /// What it is called in `tail`.
    name: *mut Node<P>,
}

impl<P: Parking> Clone for Place<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Parking> Copy for Place<'_, P> {}

impl<'a, P: Parking> Place<'a, P> {
    /// A node of the queue's, or a cohort's.
    fn of(node: &'a Node<P>) -> Self {
        Self {
            node,
            name: node.pointer(),
        }
    }

    /// A context's, of a patient thread.
    fn patient(node: &'a Node<P>) -> Self {
        Self {
            node,
            name: node.pointer().map_addr(|at| at | PATIENT),
        }
    }

    fn is_own(&self) -> bool {
        self.name.addr() == OWN
    }

    fn is_patient(&self) -> bool {
        is_patient(self.name)
    }

    /// Whether its node is not one of those that are claimed and given back.
    fn is_lent(&self) -> bool {
        self.name.addr() & (OWN | PATIENT) != 0
    }
}

/// How far the entry into a queue has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// The queue is held, and nobody was in it.
    Empty,
    /// The queue is held.
    Alone,
    /// The queue is held, and all above.
    WithAllAbove,
    /// Patience has run out; the node stays, if it is in the queue.
    GaveUp,
}

/// A releaser's way along a queue whose waiters may have gone.
struct Walk<'a, P: Parking> {
    /// Whose successor is to be looked at.
    at: Place<'a, P>,
    /// The node passed over before it, from which `next` leads back to the releaser's own.
    behind: *mut Node<P>,
}

impl<'a, P: Parking> Walk<'a, P> {
    /// Begins there.
    fn from(place: Place<'a, P>) -> Self {
        Self {
            at: place,
            behind: ptr::null_mut(),
        }
    }

    /// Passes over the node; the way back begins at it from here on.
    fn turn(&mut self) {
        if self.at.is_lent() {
            // It may be another thread's already.
            return;
        }
        self.at.node.next.store(self.behind, Order::RELAXED);
        self.behind = self.at.node.pointer();
    }

    /// Grants that status to the first waiter that is there; false, at the last node of the
    /// queue, if there is none, or behind as many that have gone as it may pass over.
    fn pass(&mut self, status: u32, gives: impl Gives) -> bool {
        let mut over = 0;
        loop {
            if gives.peers().is_some_and(|most| over >= most) {
                return mutant(flaw::STOP_AT_PEERS);
            }
            let name = self.at.node.next.load(HMCS_T_SUCCESSOR);
            if name.is_null() {
                return false;
            }
            debug_assert_ne!(name, Node::mark(), "released twice");
            // SAFETY: a linked successor is in the queue until it is granted or recycled, and
            // a node stays one; a context's place stays until it is granted.
            let successor = unsafe { &*named(name) };
            if self.at.is_own() && !mutant(flaw::KEEP_LINK) {
                // Once somebody is granted, the next that finds the queue empty takes it as it is.
                self.at.node.next.store(ptr::null_mut(), Order::RELAXED);
            }
            // First of all: the successor waits for this alone.
            let waits = if is_patient(name) || mutant(flaw::TRUST_ALL) {
                successor.status.set(status, HMCS_T_GRANT);
                true
            } else {
                successor.status.swap(status, HMCS_T_GRANT) == WAITING
            };
            count(Counter::Steps, 1);
            self.turn();
            if waits {
                return true;
            }
            count(Counter::Passed, 1);
            self.at = Place::of(successor);
            over += 1;
        }
    }

    /// Passes the queue on, or leaves it to nobody.
    fn finish(&mut self, queue: &Queue<P>, status: u32) {
        loop {
            if self.pass(status, Usual) {
                return;
            }
            if queue
                .tail
                .compare_exchange(self.at.name, ptr::null_mut(), HMCS_T_LEAVE, Order::RELAXED)
                .is_ok()
            {
                return self.turn();
            }
            let at = self.at.node;
            if self.at.is_patient() && !mutant(flaw::LEAVE_PLACE) {
                // The context goes with its release.
                linked(&at.next, Order::RELAXED);
                continue;
            }
            let is_linked = || !at.next.load(Order::RELAXED).is_null();
            if (0..LOOKS).any(|_| is_linked()) {
                continue;
            }
            // The releaser's own, for which the context may wait that used it before.
            if at.status() == FIRST && !mutant(flaw::KEEP_FIRST) {
                at.status.set(PREFIX, Order::RELAXED);
            }
            if at
                .next
                .compare_exchange(
                    ptr::null_mut(),
                    Node::mark(),
                    HMCS_T_IMPATIENT,
                    Order::RELAXED,
                )
                .is_ok()
            {
                return;
            }
        }
    }

    /// Gives back all nodes passed over, the last first: newcomers have the most time left.
    fn recycle(self) {
        let mut node = self.behind;
        // SAFETY: nodes stay, and these are the releaser's until they are recycled.
        while let Some(here) = unsafe { node.as_ref() } {
            node = here.next.load(Order::RELAXED);
            count(Counter::Steps, 1);
            if mutant(flaw::WALK_AGAIN) {
                count(Counter::Steps, 1);
            }
            if !mutant(flaw::FORGET_NODE) {
                here.recycle();
            }
        }
    }
}

/// How far the holder of a queue has gone along it that has met only waiters that leave, and has
/// it still.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Left<P: Parking> {
    /// Null: it has not begun.
    at: AtomicPtr<Node<P>>,
    behind: AtomicPtr<Node<P>>,
}

impl<P: Parking> Left<P> {
    fn keep(&self, walk: &Walk<'_, P>) {
        if walk.at.is_lent() {
            return self.forget();
        }
        self.at.store(walk.at.node.pointer(), Order::RELAXED);
        self.behind.store(walk.behind, Order::RELAXED);
    }

    /// The way on, or from the holder's place; the next holder's begins anew.
    fn take<'a>(&self, place: Place<'a, P>) -> Walk<'a, P> {
        // SAFETY: nodes of a pool stay, and null is none.
        let Some(at) = (unsafe { self.at.load(Order::RELAXED).as_ref() }) else {
            return Walk::from(place);
        };
        self.forget();
        Walk {
            at: Place::of(at),
            behind: self.behind.load(Order::RELAXED),
        }
    }

    pub(crate) fn forget(&self) {
        self.at.store(ptr::null_mut(), Order::RELAXED);
    }
}

/// One queue of the tree.
#[derive(Debug, Default)]
#[repr(C)]
struct Queue<P: Parking> {
    tail: AtomicPtr<Node<P>>,
    /// Beside the tail, of which its user has the line.  Only the system's queue is entered by it.
    own: Node<P>,
    /// Read before each arrival, and seldom written.
    nodes: CachePadded<Nodes<P>>,
}

impl<P: Parking> Queue<P> {
    constructor! {
        fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
                own: Node::new(),
                nodes: CachePadded(Nodes {
                    eldest: AtomicPtr::null(),
                    made: AtomicU32::new(0),
                    search_at: AtomicU32::new(0),
                }),
            }
        }
    }
}

impl<P: Parking> Queue<P> {
    fn own_place(&self) -> Place<'_, P> {
        Place {
            node: &self.own,
            name: ptr::without_provenance_mut(OWN),
        }
    }

    /// The node of the place of that name; none if it is that of no place.
    fn node_at(&self, name: *mut Node<P>) -> Option<&Node<P>> {
        if name.addr() == OWN {
            return Some(&self.own);
        }
        // SAFETY: nodes of a pool stay, a context's place until its release has seen the link that the
        // caller owes it, and null is none.
        unsafe { named(name).as_ref() }
    }
}

/// The nodes of a queue.
#[derive(Debug, Default)]
struct Nodes<P: Parking> {
    eldest: AtomicPtr<Node<P>>,
    made: AtomicU32,
    /// When so many are made, all are looked through before another is.
    search_at: AtomicU32,
}

impl<P: Form> Queue<P> {
    fn is_empty(&self) -> bool {
        self.tail.load(Order::RELAXED).is_null()
    }

    /// Takes it by its own place, if it is empty.
    #[inline(always)]
    fn take(&self) -> bool {
        let own = ptr::without_provenance_mut(OWN);
        self.tail
            .compare_exchange(ptr::null_mut(), own, HMCS_T_TRY, Order::RELAXED)
            .is_ok()
    }

    /// Leaves it empty, from its own place, if nobody has come meanwhile.
    #[inline(always)]
    fn leave(&self) -> bool {
        let own = ptr::without_provenance_mut(OWN);
        self.own.next.load(Order::RELAXED).is_null()
            && self
                .tail
                .compare_exchange(own, ptr::null_mut(), HMCS_T_LEAVE, Order::RELAXED)
                .is_ok()
    }

    /// All nodes made for it.
    fn all(&self) -> impl Iterator<Item = &'static Node<P>> {
        let eldest = self.nodes.0.eldest.load(HMCS_T_FIND);
        let mut node = eldest;
        core::iter::from_fn(move || {
            // SAFETY: nodes of a pool stay, and null is none.
            let here = unsafe { node.as_ref() }?;
            debug_assert_eq!(here.eldest.load(Order::RELAXED), eldest, "another queue's");
            node = here.beside.load(HMCS_T_FIND);
            Some(here)
        })
    }

    /// A node for one acquisition: the one that is remembered, or whichever can be had.  None, if
    /// nobody else has the one that is remembered, and it does not come back within `patience`:
    /// a context has one place in the queue at most, so that a thread that passes along it comes to an end.
    #[inline]
    fn node(
        &self,
        remembered: &AtomicPtr<Node<P>>,
        claim: impl Fn(&Node<P>) -> Option<Claimed>,
        patience: Option<&Patience>,
    ) -> Option<(&'static Node<P>, Claimed)> {
        let eldest = self.nodes.0.eldest.load(HMCS_T_FIND);
        let place = ptr::from_ref(remembered).cast_mut();
        // SAFETY: as above.
        if let Some(node) = unsafe { remembered.load(Order::RELAXED).as_ref() }
            && node.eldest.load(Order::RELAXED) == eldest
        {
            loop {
                // As a rule nobody else claims it; but a successor may be about to link itself,
                // or a releaser on its way back.
                let looks = if tries_anything() { NEARLY } else { 1 };
                if let Some(claimed) = (0..looks).find_map(|_| claim(node)) {
                    node.user.store(place, Order::RELAXED);
                    return Some((node, claimed));
                }
                let Some(patience) = patience else { break };
                if node.user.load(Order::RELAXED) != place || mutant(flaw::TAKE_ANOTHER) {
                    break;
                }
                // Somebody else has it, and may not have written that there yet.
                let seen = node.status();
                if seen == WAITING && !mutant(flaw::WAIT_FOR_ANOTHER) {
                    break;
                }
                if !node.comes_back(seen, patience) {
                    return None;
                }
            }
        }
        let (node, claimed) = self.another(claim);
        node.user.store(place, Order::RELAXED);
        remembered.store(node.pointer(), Order::RELAXED);
        Some((node, claimed))
    }

    #[cold]
    #[inline(never)]
    fn another(&self, claim: impl Fn(&Node<P>) -> Option<Claimed>) -> (&'static Node<P>, Claimed) {
        let Nodes {
            made, search_at, ..
        } = &self.nodes.0;
        let count = made.load(Order::RELAXED);
        let due = search_at.load(Order::RELAXED);
        // One thread does it.
        let all = count >= due.max(FEW)
            && search_at
                .compare_exchange(due, 2 * count, Order::RELAXED, Order::RELAXED)
                .is_ok();
        let looks = if all { usize::MAX } else { FEW as usize };
        let found = self
            .all()
            .take(looks)
            .find_map(|node| claim(node).map(|claimed| (node, claimed)));
        found.unwrap_or_else(|| {
            made.fetch_add(1, Order::RELAXED);
            (self.make(), Claimed::Fresh)
        })
    }

    /// Has no nodes any more.
    fn renounce(&self) {
        let Nodes {
            eldest,
            made,
            search_at,
        } = &self.nodes.0;
        eldest.store(ptr::null_mut(), Order::RELAXED);
        made.store(0, Order::RELAXED);
        search_at.store(0, Order::RELAXED);
    }

    fn make(&self) -> &'static Node<P> {
        let new = P::nodes().take();
        count(Counter::Bytes, Arena::<Node<P>>::NODE_BYTES as u64);
        new.status.reset(WAITING);
        new.beside.store(ptr::null_mut(), Order::RELAXED);
        new.eldest.store(new.pointer(), Order::RELAXED);
        let first = self.nodes.0.eldest.compare_exchange(
            ptr::null_mut(),
            new.pointer(),
            HMCS_T_MAKE,
            HMCS_T_FIND,
        );
        if let Err(eldest) = first {
            new.eldest.store(eldest, Order::RELAXED);
            // SAFETY: as in `all`.
            let list = unsafe { &(*eldest).beside };
            // Until the link is there a thread that looks through them sees fewer.
            let next = list.swap(new.pointer(), HMCS_T_MAKE);
            new.beside.store(next, Order::RELAXED);
        }
        new
    }

    /// Blocks until the queue is held or patience runs out.  The place is the caller's, or its node was
    /// claimed.
    #[inline]
    fn enter(&self, place: Place<'_, P>, claimed: Claimed, patience: &Patience) -> Entered {
        let node = place.node;
        if claimed == Claimed::Fresh {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            let before = self.tail.swap(place.name, HMCS_T_ENQUEUE);
            // Not recycled, or the queue's own taken again, or a context's gone, before this link is there.
            let Some(predecessor) = self.node_at(before) else {
                node.status.reset(FIRST);
                return Entered::Empty;
            };
            if is_patient(before) {
                predecessor.next.store(place.name, HMCS_T_FOLLOW);
            } else if predecessor.next.swap(place.name, HMCS_T_LINK) == Node::mark()
                && !mutant(flaw::IGNORE_MARK)
            {
                if before.addr() != OWN {
                    predecessor.recycle();
                } else if !mutant(flaw::KEEP_MARKED) {
                    predecessor.next.store(ptr::null_mut(), Order::RELAXED);
                }
                node.status.reset(FIRST);
                return Entered::Alone;
            }
        }
        let granted =
            node.status
                .wait_within(HMCS_T_GRANTED, CLASS, |status| status != WAITING, patience);
        if !granted {
            if mutant(flaw::OVERWRITE_GRANT) {
                node.status.reset(ABANDONED);
                return Entered::GaveUp;
            }
            if node
                .status
                .exchange(WAITING, ABANDONED, Order::RELAXED, HMCS_T_GRANTED)
            {
                return Entered::GaveUp;
            }
        }
        if node.status() != PREFIX {
            return Entered::WithAllAbove;
        }
        // The context that used the node before may wait for it.
        node.status.set(FIRST, Order::RELAXED);
        Entered::Alone
    }

    /// [`enter`](Self::enter) for the holder of a cohort's queue, with the cohort's node, in
    /// whatever state those have left it that held that queue before.
    #[inline]
    fn enter_above(&self, node: &Node<P>, patience: &Patience, gives: impl Gives) -> Entered {
        loop {
            if let Some(claimed) = node.claim() {
                return self.enter(Place::of(node), claimed, patience);
            }
            let seen = node.status();
            if seen == FIRST {
                // The thread that gave the caller the queue below held this one too.
                return Entered::Alone;
            }
            if !node.comes_back(seen, patience) {
                return Entered::GaveUp;
            }
            // Late: the optimist goes on, and may have the lock at once (Chabbi et al. 2017 §3).
            if gives.is_pessimistic() && runs_out(patience) {
                if mutant(flaw::KEEP_LATE) {
                    let _ = node.claim();
                }
                return Entered::GaveUp;
            }
        }
    }

    /// Forgets every acquisition.
    fn reset(&self) {
        for node in self.all() {
            node.status.reset(RECYCLED);
        }
        self.own.next.store(ptr::null_mut(), Order::RELAXED);
        self.tail.store(ptr::null_mut(), Order::RELAXED);
    }

    /// Its only acquisition is the one that has that place, and holds it.
    fn keep(&self, holder: Place<'_, P>) {
        holder.node.next.store(ptr::null_mut(), Order::RELAXED);
        holder.node.status.reset(FIRST);
        self.tail.store(holder.name, Order::RELAXED);
    }

    /// Returns its nodes, of a lock that is going.
    fn give_back(&self) {
        for node in self.all() {
            node.eldest.store(ptr::null_mut(), Order::RELAXED);
            // SAFETY: made for this queue alone, which nobody uses any more.
            unsafe { P::nodes().give(node) };
        }
        self.renounce();
    }
}

/// A cohort of one lock.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Cohort<P: Parking> {
    queue: Queue<P>,
    above: AtomicPtr<Cohort<P>>,
    /// It is written by others than the threads that come to the cohort.
    node: CachePadded<Node<P>>,
}

impl<P: Parking> Cohort<P> {
    fn above(&self) -> Option<&Self> {
        // SAFETY: cohorts are nodes of a pool, which stay, and null is none.
        unsafe { self.above.load(Order::RELAXED).as_ref() }
    }
}

/// A form of the lock, and the pools of its nodes and cohorts.
pub trait Form: Parking {
    /// The pool of nodes.
    fn nodes() -> &'static (impl Pool<Node<Self>> + 'static);

    /// The pool of cohorts.
    fn cohorts() -> &'static (impl Pool<Cohort<Self>> + 'static);
}

macro_rules! forms {
    ($($form:ident $nodes:ident $cohorts:ident;)+) => {
        $(pool! {
            static $nodes: Node<$form>, placed
        }

        pool! {
            static $cohorts: Cohort<$form>, placed
        }

        impl Form for $form {
            fn nodes() -> &'static (impl Pool<Node<Self>> + 'static) {
                &$nodes
            }

            fn cohorts() -> &'static (impl Pool<Cohort<Self>> + 'static) {
                &$cohorts
            }
        })+

        /// Bytes of all nodes and cohorts made so far.
        pub(crate) fn pool_bytes() -> usize {
            0 $(+ $nodes.bytes() + $cohorts.bytes())+
        }
    };
}

forms! {
    MayPark PARKING_NODES PARKING_COHORTS;
    SpinOnly SPINNING_NODES SPINNING_COHORTS;
}

/// What one acquisition carries; it owns nothing, and may be dropped whenever nobody holds
/// the lock by it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct HmcsTContext<P: Parking = MayPark, E = AtLeaf> {
    way: Way<P>,
    entry: E,
}

/// What the tree notes of an acquisition in its context.
#[derive(Debug, Default)]
#[repr(C)]
struct Way<P: Parking> {
    /// The place of a patient thread in the first queue that it enters.
    mine: Node<P>,
    /// The cohort of the queue in which the acquisition is; null: the system's.  And what its place there is:
    /// `PATIENT`: `mine`; `POOLED`: `node`; else the queue's own.
    cohort: AtomicPtr<Cohort<P>>,
    node: AtomicPtr<Node<P>>,
    /// How many levels above the one that the last acquisition entered it first met somebody, and
    /// one more; 0: it met nobody; `GAVE_UP`.
    last: AtomicU32,
    /// The node used last in a queue of cohorts.
    leaf: AtomicPtr<Node<P>>,
    /// The same in the system's.
    root: AtomicPtr<Node<P>>,
}

impl<P: Parking> Way<P> {
    /// An acquisition enters the queue of that cohort; `what` says by which place.
    fn begin(&self, cohort: *mut Cohort<P>, what: usize) {
        let entered = cohort.map_addr(|at| at | what);
        self.cohort.store(entered, Order::RELAXED);
    }

    /// In which cohort's queue the acquisition is, of the lock that has that queue, and at which place.
    fn stands<'a>(&'a self, system: &'a Queue<P>) -> (Option<&'static Cohort<P>>, Place<'a, P>) {
        self.stands_in(self.cohort.load(Order::RELAXED), system)
    }

    /// The same, by its `cohort`.
    #[inline]
    fn stands_in<'a>(
        &'a self,
        entered: *mut Cohort<P>,
        system: &'a Queue<P>,
    ) -> (Option<&'static Cohort<P>>, Place<'a, P>) {
        let place = match entered.addr() & (PATIENT | POOLED) {
            PATIENT => Place::patient(&self.mine),
            // SAFETY: noted when the acquisition began, and nodes stay.
            POOLED => Place::of(unsafe { &*self.node.load(Order::RELAXED) }),
            _ => system.own_place(),
        };
        let cohort = entered.map_addr(|at| at & !(PATIENT | POOLED));
        // SAFETY: as `Cohort::above`.
        (unsafe { cohort.as_ref() }, place)
    }
}

/// What depends on the levels no more: the tree below the system's queue.
impl<P: Form> Queue<P> {
    fn at<'a>(&'a self, cohort: Option<&'a Cohort<P>>) -> &'a Self {
        cohort.map_or(self, |here| &here.queue)
    }

    /// Enters the queue of that cohort, which is one of the caller's, and all above, as long as
    /// patience lasts.  Returns too where it first met somebody, as `Way::last` counts that; `last` is what
    /// that was before.
    #[inline(never)]
    fn climb(
        &self,
        from: *mut Cohort<P>,
        cx: &Way<P>,
        last: u32,
        patience: &Patience,
        gives: impl Gives,
    ) -> (Outcome, u32) {
        // SAFETY: as `Cohort::above`.
        let leaf = unsafe { from.as_ref() };
        let queue = self.at(leaf);
        let (place, claimed) = if patience.is_endless() && last != GAVE_UP {
            cx.begin(from, PATIENT);
            cx.mine.status.reset(WAITING);
            (Place::patient(&cx.mine), Claimed::Fresh)
        } else {
            let remembered = if leaf.is_some() { &cx.leaf } else { &cx.root };
            let Some((node, claimed)) = queue.node(remembered, Node::claim, Some(patience)) else {
                cx.last.store(GAVE_UP, Order::RELAXED);
                return (Outcome::GaveUp, 1);
            };
            cx.node.store(node.pointer(), Order::RELAXED);
            cx.begin(from, POOLED);
            (Place::of(node), claimed)
        };
        let mut cohort = leaf;
        let mut level = 0;
        count(
            match claimed {
                Claimed::Fresh => Counter::Begun,
                Claimed::Resumed => Counter::Resumed,
            },
            1,
        );
        let mut entered = queue.enter(place, claimed, patience);
        let mut met = 0;
        let outcome = loop {
            if entered != Entered::GaveUp {
                count(Counter::Steps, 1);
            }
            if entered != Entered::Empty && met == 0 {
                met = level as u32 + 1;
            }
            match entered {
                Entered::WithAllAbove => break Outcome::Acquired,
                Entered::GaveUp => {
                    if let Some(here) = leaf
                        && level > 0
                    {
                        Self::retreat(here, place, level - 1, gives);
                    }
                    break Outcome::GaveUp;
                }
                Entered::Alone | Entered::Empty => {}
            }
            let Some(here) = cohort else {
                break Outcome::Acquired;
            };
            cohort = here.above();
            level += 1;
            let queue = self.at(cohort);
            entered = queue.enter_above(&here.node.0, patience, gives);
        };
        let now = match outcome {
            Outcome::Acquired => met,
            Outcome::GaveUp => GAVE_UP,
        };
        if now != last {
            cx.last.store(now, Order::RELAXED);
        }
        (outcome, met)
    }

    /// Gives away the queue of `here`, held at `place`, and those of so many cohorts above: to
    /// a waiter of the smallest of them that has one, which goes on from there; those below
    /// it to others, which have to come up to it (Chabbi et al. 2017 §4).  The naive way is from
    /// the top down, to a waiter of each, of which none gets what is above it.
    fn retreat(here: &Cohort<P>, place: Place<'_, P>, above: usize, gives: impl Gives) {
        let mut walk = Walk::from(place);
        let passed = above > 0 && !gives.is_naive() && walk.pass(PREFIX, gives);
        if !passed {
            if above > 0
                && let Some(next) = here.above()
            {
                Self::retreat(next, Place::of(&here.node.0), above - 1, gives);
            }
            walk.finish(&here.queue, PREFIX);
        }
        walk.recycle();
    }

    /// Passes on all that is held from that cohort upwards; its queue is held at `place`.
    #[inline(never)]
    fn pass_on(
        &self,
        cohort: Option<&Cohort<P>>,
        place: Place<'_, P>,
        hand_offs: u32,
        gives: impl Gives,
    ) {
        let mut walk = Walk::from(place);
        let Some(here) = cohort else {
            walk.finish(self, FIRST + 1);
            return walk.recycle();
        };
        let consecutive = place.node.status();
        let may = consecutive + 1 < FIRST + hand_offs || mutant(flaw::KEEP_FOR_EVER);
        let next = (consecutive + 1).min(FIRST + hand_offs);
        let mut passed = may && walk.pass(next, gives);
        let is_alone = may && !passed && walk.at.name == place.name;
        if is_alone && consecutive > FIRST && tries_anything() && place.node.await_neighbour() {
            passed = walk.pass(next, gives);
        }
        if !passed {
            let above = Place::of(&here.node.0);
            if mutant(flaw::LOW_FIRST) {
                walk.finish(&here.queue, PREFIX);
                self.pass_on(here.above(), above, hand_offs, gives);
            } else {
                self.pass_on(here.above(), above, hand_offs, gives);
                walk.finish(&here.queue, PREFIX);
            }
        }
        walk.recycle();
    }
}

/// The system's queue alone, as a cohort's low lock ([`AMcs`](crate::abortable::AMcs)).
impl<P: Form> HmcsT1<P> {
    /// The status with which the lock is granted and nothing handed over.
    pub(crate) const ALONE: u32 = FIRST + 1;

    /// Gives the queue and that number to the first waiter that stays, or keeps the queue.
    #[inline]
    pub(crate) fn hand_over(&self, cx: &HmcsTContext<P>, way: &Left<P>, number: u32) -> HandOver {
        let mut walk = way.take(cx.way.stands(&self.root.0).1);
        if walk.pass(Self::ALONE + number, Usual) {
            walk.recycle();
            return HandOver::Done;
        }
        way.keep(&walk);
        HandOver::Kept
    }

    /// The number that came with the queue.
    #[inline]
    pub(crate) fn handed(&self, cx: &HmcsTContext<P>) -> u32 {
        let (_, place) = cx.way.stands(&self.root.0);
        place.node.status().saturating_sub(Self::ALONE)
    }

    /// Releases it, from as far as the holder has gone.
    #[inline]
    pub(crate) fn release_behind(&self, cx: &HmcsTContext<P>, way: &Left<P>) {
        let queue = &self.root.0;
        let mut walk = way.take(cx.way.stands(queue).1);
        walk.finish(queue, Self::ALONE);
        walk.recycle();
    }
}

/// The lock of the levels `L` and the whole system, with places for `LEAVES` cohorts of
/// the smallest level and `INNER` of all others together.  A cohort has it up to
/// `HAND_OFFS` times in a row, unless the shape `L` says otherwise.
///
/// ```
/// use cohort::{Mutex, compose::{CacheGroup, Numa}, numa::HmcsT};
///
/// // A tree that has no name: cache groups below NUMA nodes below the system.
/// let total: Mutex<u64, HmcsT<(CacheGroup, Numa), 64, 16>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
#[repr(C)]
pub struct HmcsT<
    L,
    const LEAVES: usize,
    const INNER: usize,
    P: Form = MayPark,
    const HAND_OFFS: u32 = 64,
    E = AtLeaf,
> {
    root: CachePadded<Queue<P>>,
    cohorts: Tree<Cohort<P>, LEAVES, INNER>,
    shape: L,
    entry: PhantomData<fn() -> E>,
}

/// `hmcs-t-1@system`.
///
/// ```
/// use cohort::{Mutex, numa::HmcsT1};
/// use std::time::Duration;
///
/// let total: Mutex<u64, HmcsT1> = Mutex::from(1);
/// let guard = total.lock();
/// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
/// # drop(guard);
/// ```
pub type HmcsT1<P = MayPark> = HmcsT<(), 0, 0, P>;
/// `hmcs-t-2@numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::HmcsT2};
/// use std::time::Duration;
///
/// let total: Mutex<u64, HmcsT2> = Mutex::from(1);
/// let guard = total.lock();
/// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
/// # drop(guard);
/// ```
pub type HmcsT2<P = MayPark> = HmcsT<(Numa,), 16, 0, P>;
/// `hmcs-t-3@core,numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::HmcsT3};
/// use std::time::Duration;
///
/// let total: Mutex<u64, HmcsT3> = Mutex::from(1);
/// let guard = total.lock();
/// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
/// # drop(guard);
/// ```
pub type HmcsT3<P = MayPark> = HmcsT<(Core, Numa), 512, 16, P>;
/// `hmcs-t-4@core,cache,numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::HmcsT4};
/// use std::time::Duration;
///
/// let total: Mutex<u64, HmcsT4> = Mutex::from(1);
/// let guard = total.lock();
/// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
/// # drop(guard);
/// ```
pub type HmcsT4<P = MayPark> = HmcsT<(Core, CacheGroup, Numa), 512, 128, P>;
/// One that is told when it is made at which levels it is, and how its waiters give up.
///
/// ```
/// use cohort::{Mutex, numa::AnyHmcsT};
///
/// let total: Mutex<u64, AnyHmcsT> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type AnyHmcsT<P = MayPark> = HmcsT<ChosenShape, 512, 128, P>;
/// The same, which a thread enters at the level where it has found others of late, as `ahmcs`.
///
/// ```
/// use cohort::{Mutex, numa::AnyAhmcsT};
///
/// let total: Mutex<u64, AnyAhmcsT> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type AnyAhmcsT<P = MayPark> = HmcsT<ChosenShape, 512, 128, P, 64, WhereMet>;

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E> fmt::Debug
    for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HmcsT").finish_non_exhaustive()
    }
}

impl<L: Default, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E> Default
    for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    fn default() -> Self {
        Self::shaped(L::default())
    }
}

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E>
    HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    constructor! {
        /// The lock of that shape, free.
        ///
        /// ```
        /// use cohort::{Mutex, compose::Numa, numa::HmcsT2};
        ///
        /// static TOTAL: Mutex<u64, HmcsT2> = Mutex::from_raw(HmcsT2::shaped((Numa,)), 1);
        /// *TOTAL.lock() += 1;
        /// assert_eq!(*TOTAL.lock(), 2);
        /// ```
        #[must_use]
        pub fn shaped(shape: L) -> Self {
            Self {
                root: CachePadded(Queue::new()),
                cohorts: Tree::new(),
                shape,
                entry: PhantomData,
            }
        }
    }
}

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E> Drop
    for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    fn drop(&mut self) {
        for cohort in self.cohorts.all() {
            cohort.queue.give_back();
        }
        self.root.0.give_back();
        self.cohorts.give_back(P::cohorts());
    }
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry>
    HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    /// The caller's cohort at that level; null above the last.
    #[inline]
    fn find(&self, level: usize) -> *mut Cohort<P> {
        const {
            let enough = Tree::<Cohort<P>, LEAVES, INNER>::has_room_for(L::MOST);
            assert!(enough, "each level has a place at least");
            assert!(
                HAND_OFFS < WaitCell::<P>::MAX - FIRST,
                "a run of hand-offs has an end"
            );
            assert!(
                align_of::<Node<P>>() > OWN | PATIENT,
                "names have bits to spare"
            );
        }
        let count = self.shape.count();
        if level == count {
            return ptr::null_mut();
        }
        let cohort = self.shape.cohort(level);
        let known = self.cohorts.find(level, count, cohort);
        if known.is_null() {
            self.make(level, cohort)
        } else {
            known
        }
    }

    #[cold]
    fn make(&self, level: usize, cohort: usize) -> *mut Cohort<P> {
        let new = P::cohorts().take();
        new.queue.renounce();
        new.queue.reset();
        new.node.0.status.reset(RECYCLED);
        new.above.store(self.find(level + 1), Order::RELAXED);
        let place = (level, self.shape.count(), cohort);
        let put = self.cohorts.put(place, new, P::cohorts());
        // Another thread's goes back where two make it at once.
        if ptr::eq(put, new) {
            count(Counter::Bytes, Arena::<Cohort<P>>::NODE_BYTES as u64);
        }
        put
    }

    /// Enters at that level, with all above.
    #[inline]
    fn climb(
        &self,
        level: usize,
        cx: &HmcsTContext<P, E>,
        last: u32,
        patience: &Patience,
    ) -> (Outcome, u32) {
        let gives = self.shape.gives();
        let from = self.find(level);
        self.root.0.climb(from, &cx.way, last, patience, gives)
    }

    /// Takes the system's queue if it is empty, and with it all that there is to hold.
    #[inline]
    fn take_empty(&self, cx: &HmcsTContext<P, E>) -> bool {
        let taken = self.root.0.take();
        if taken {
            count(Counter::Begun, 1);
            count(Counter::Steps, 1);
            cx.way.begin(ptr::null_mut(), 0);
        }
        taken
    }

    /// Acquires without the fast path: for a thread that knows that others come.  Blocks.
    ///
    /// # Safety
    /// As [`RawLock::acquire`].
    pub unsafe fn acquire_among_others(&self, cx: &HmcsTContext<P, E>) {
        let last = cx.way.last.load(Order::RELAXED);
        let _ = self.climb(0, cx, last, &Patience::ENDLESS);
    }

    /// Whether somebody has entered a queue that the holder has, and waits or has given up: a hint.
    ///
    /// # Safety
    /// The caller holds the lock, by that context.
    pub unsafe fn is_followed(&self, cx: &HmcsTContext<P, E>) -> bool {
        let (mut cohort, mut place) = cx.way.stands(&self.root.0);
        loop {
            let queue = self.root.0.at(cohort);
            if queue.tail.load(Order::RELAXED) != place.name {
                return true;
            }
            let Some(here) = cohort else { return false };
            (cohort, place) = (here.above(), Place::of(&here.node.0));
        }
    }
}

// SAFETY: a thread that returns from an acquisition is at the head of its cohort's queue, and
// the cohort's node of the queue above, up to the system's: by its own way up, by what a
// predecessor passed on, or by queues that a waiter which gave up left held.  Each queue has one
// head, and a grant publishes what was done before it.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> RawLock for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    type Context = HmcsTContext<P, E>;

    #[inline]
    unsafe fn acquire(&self, cx: &HmcsTContext<P, E>) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, cx: &HmcsTContext<P, E>) {
        let (way, queue) = (&cx.way, &self.root.0);
        let entered = way.cohort.load(Order::RELAXED);
        if entered.is_null() && queue.leave() {
            return;
        }
        let (cohort, place) = way.stands_in(entered, queue);
        let most = self.shape.in_a_row(HAND_OFFS);
        queue.pass_on(cohort, place, most, self.shape.gives());
    }

    fn is_locked(&self) -> bool {
        !self.root.0.is_empty()
    }
}

standalone! {
    [L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry] HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>:
    Hosted { node_bytes: Arena::<Node<P>>::NODE_BYTES, cohort_bytes: L::MOST * Arena::<Cohort<P>>::NODE_BYTES },
    HighLock,
    Resumable
}

// SAFETY: a thread that finds the system's queue empty holds all that there is to hold.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> RawTry for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    #[inline]
    unsafe fn try_acquire(&self, cx: &HmcsTContext<P, E>) -> bool {
        self.root.0.is_empty() && self.take_empty(cx)
    }
}

// SAFETY: a waiter that gives up holds no queue afterwards, and its node is in none, or marked as
// somebody's to come back to.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> Abortable for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    /// A thread that met nobody last time enters the system's queue alone, if it is empty, by the
    /// place that is the queue's own (Chabbi et al. 2017 §5, the fast path).
    #[inline]
    unsafe fn acquire_within(&self, cx: &HmcsTContext<P, E>, patience: &Patience) -> Outcome {
        let last = cx.way.last.load(Order::RELAXED);
        if E::LEARNS {
            let top = self.shape.count();
            let level = cx.entry.level(top);
            let (outcome, met) = self.climb(level, cx, last, patience);
            let above = (met as usize).checked_sub(1);
            cx.entry
                .learn(top, above.map_or(NOWHERE, |above| level + above));
            return outcome;
        }
        if last == 0 && self.take_empty(cx) {
            return Outcome::Acquired;
        }
        self.climb(0, cx, last, patience).0
    }
}

// SAFETY: see "Bounds" above.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> BoundedAbort for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
}

// SAFETY: release reads the node and the cohort from the context, and nothing of the thread.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> ThreadOblivious for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry>
    Fair for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
}

// SAFETY: afterwards every queue is empty, but for the holder's way up, and every other node
// can be claimed.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> Inherit for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    unsafe fn inherit(&self, holder: Option<&HmcsTContext<P, E>>) {
        for cohort in self.cohorts.all() {
            cohort.queue.reset();
            cohort.node.0.status.reset(RECYCLED);
        }
        self.root.0.reset();
        let Some(HmcsTContext { way, .. }) = holder else {
            return;
        };
        let (mut cohort, mut place) = way.stands(&self.root.0);
        loop {
            self.root.0.at(cohort).keep(place);
            let Some(here) = cohort else { return };
            (cohort, place) = (here.above(), Place::of(&here.node.0));
        }
    }
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry>
    TwoForms for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    type Spinning = HmcsT<L, LEAVES, INNER, SpinOnly, HAND_OFFS, E>;
}

#[cfg(all(test, world = "native"))]
mod tests {
    extern crate std;

    use super::*;
    use std::thread;

    type Lock = HmcsT1<SpinOnly>;

    /// The node of the last place in the queue.
    fn last(lock: &Lock) -> &Node<SpinOnly> {
        let tail = lock.root.0.tail.load(Order::RELAXED);
        lock.root.0.node_at(tail).expect("the lock is held")
    }

    #[test]
    fn a_context_that_gave_up_comes_back_to_its_place() {
        let lock = Lock::default();
        let [first, second] = [HmcsTContext::default(), HmcsTContext::default()];
        // SAFETY: each context is used for one acquisition at a time, and stays until its release has
        // returned, as the lock does.
        unsafe {
            lock.acquire(&first);
            let outcome = lock.acquire_within(&second, &Patience::NONE);
            assert_eq!(outcome, Outcome::GaveUp);
        }
        let left = last(&lock);
        thread::scope(|scope| {
            // SAFETY: as above.
            scope.spawn(|| unsafe {
                lock.acquire(&second);
                lock.release(&second);
            });
            while ptr::eq(last(&lock), left) && left.status() == ABANDONED {
                thread::yield_now();
            }
            let came_to = (ptr::eq(last(&lock), left), left.status());
            // SAFETY: as above.
            unsafe { lock.release(&first) };
            assert_eq!(came_to, (true, WAITING));
        });
    }

    #[test]
    fn patient_threads_need_no_nodes() {
        let lock = Lock::default();
        let [first, second] = [HmcsTContext::default(), HmcsTContext::default()];
        // SAFETY: as above.
        unsafe { lock.acquire(&first) };
        let held = last(&lock);
        thread::scope(|scope| {
            // SAFETY: as above.
            scope.spawn(|| unsafe {
                lock.acquire(&second);
                lock.release(&second);
            });
            while ptr::eq(last(&lock), held) {
                thread::yield_now();
            }
            // SAFETY: as above.
            unsafe { lock.release(&first) };
        });
        assert!(!lock.is_locked());
        assert_eq!(lock.root.0.all().count(), 0);
    }
}
