//! `hmcs-t-1` to `hmcs-t-4`: `hmcs` with waiters that can give up at any level, in a bounded number
//! of steps and without allocation (Chabbi et al. 2017 §3, §4).
//!
//! **Not for** locks without timeouts: `hmcs` does the same with fewer checks.
//!
//! A waiter that gives up marks its node abandoned, leaves it in the queue and passes on the queues
//! that it holds below.  A releaser skips abandoned nodes, and recycles the skipped nodes once the
//! lock has its next holder.  Until then a returning waiter resumes its old place.
//!
//! | a node's `status` | written by | meaning |
//! |---|---|---|
//! | `RECYCLED` | the thread that skipped it, or released by it | in no queue; any thread may claim it |
//! | `WAITING` | its claimant, by compare-exchange | entering the queue, or in it |
//! | `ABANDONED` | its waiter, by compare-exchange | in the queue; a claimant resumes its place |
//! | `PREFIX` | a releaser, by exchange | holds its queue, and must go on above it |
//! | `FIRST` | its holder | as `PREFIX`, and has begun: may hold queues above |
//! | `FIRST` + n | a releaser, by exchange | holds its queue and all above, after n hand-offs in the cohort |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | a node's `next` | its successor; a releaser that skips it | successor; after a skip: the previous node |
//! | a queue's `tail` | arrivals; the last to leave | as in `mcs`; `OWN`: the queue's own place |
//! | the bit `PATIENT` in `tail` and `next` | as the field | the place is in a patient thread's context |
//! | a context's `mine` | as a node's | its place while its thread is patient |
//! | the system's `own` | as a node's | the place of a thread that finds that queue empty |
//! | a queue's `nodes` | the maker of a node for it | the oldest node, and the number of nodes |
//! | a cohort's `node` | the holder of the cohort's queue | its place in the queue above |
//!
//! A successor writes `next` by an exchange, or by a store if the node is a patient thread's.
//! `IMPATIENT` in `next` means: released before the successor had linked itself.  That successor
//! then holds the queue.  The oldest node also identifies the queue, and stays valid if the lock is
//! moved.
//!
//! **Ownership of nodes.**  A release may leave its node behind for a successor that links itself
//! late, and hosts return a context at once.  So a node belongs to the queue that it was made for,
//! and is claimed for one acquisition by an exchange of its status.  A context only remembers its
//! last node, and waits for it unless another context has claimed it.  Thus a context has at most
//! one place in a queue.  A dropped context, or a thread that ends or migrates, need not clean up:
//! other threads of the cohort claim the node that it left, with its place in the queue.
//!
//! **The queue's own place.**  A thread that finds the system's queue empty claims no node.  One
//! exchange from null to `OWN` acquires the lock and the place inside the lock, which is in use
//! while it heads the queue.  An uncontended lock and unlock thus cost the two exchanges of `mcs`,
//! and the context remembers nothing.  That place has no waiter, and so no status.  It has a name
//! instead of a pointer, since a mutex may be moved once its guard is forgotten.  A releaser
//! clears its link before the grant and does not touch it afterwards: from then on the next thread
//! that finds the queue empty may take it.
//!
//! **Patient threads.**  A thread without a deadline neither gives up its place nor leaves it to a
//! late successor: its release waits for the link, as in `mcs` and in the paper's lock without a
//! timeout.  Its first place therefore is in its context, as in `hmcs`.  Other threads never claim
//! that place; its successor links itself, and its predecessor grants it, by a plain store.  The
//! bit `PATIENT` of its name marks it for both.  Above that queue stand the nodes of cohorts, for
//! patient threads too, so a holder with a deadline never waits for a link.  A context that gave up
//! last may still have its old place, and resumes it even without a deadline.
//!
//! **Deviations from the paper.**  The paper's waiter times out by an exchange that could overwrite
//! a grant.  Here it is a compare-exchange; its failure is the grant.  Before `IMPATIENT` is left
//! at a node, its `FIRST` becomes `PREFIX`: otherwise the node's next user would take it for a held
//! queue.  A cohort's node is recycled before the cohort's queue is passed on, so that the next
//! holder finds it claimable.  A release that does not wait for its successor looks for it twice.
//!
//! **Variants** for comparison (a lock's [`Shape`] selects them):
//!
//! | variant | instead of the default | |
//! |---|---|---|
//! | `/naive` | a waiter that gives up passes all its queues to one waiter | it leaves them top down |
//! | `/pessimistic` | a late thread with its cohort's node tries to acquire at once | it gives up (§3) |
//! | `/peers-N` | a holder skips all abandoned nodes before it goes a level up | it skips `N` first (§5) |
//!
//! Under `/naive` each queue goes to its first waiter, which has to climb by itself (Chabbi et al.
//! 2017 §4, §5).  Under `/pessimistic` "late" means that the cohort's node returned after the
//! deadline; the node stays unclaimed.  Under `/peers-N` a holder skips the remaining nodes on its
//! way back down.  In the system's queue, which has no level above, it skips all at once.
//!
//! The variants lose no waiter: each held queue is left by the same `Walk`, to its end.  `ahmcs-t`
//! is this tree with the entries of `ahmcs`: a thread enters a queue above its leaf with a node of
//! that queue, as a cohort does with its own.
//!
//! **Bounds.**  After its deadline a waiter looks once at each level above.  It then skips at most
//! the nodes in the queues that it holds, one for each context.  None of them can return meanwhile,
//! since they are recycled last.  The simulated machine counts the steps (`bound::steps`): no more
//! than Chabbi et al. 2017 §5 allow.  The release after an acquisition without a deadline has no
//! such bound.

use super::ahmcs::WhereMet;
use super::hmcs::{AtLeaf, Entry, NOWHERE};
use super::linked;
use super::shape::{ChosenShape, Gives, Shape, Usual};
use crate::compose::{CacheGroup, Core, INNER, INNER_NODES, LEAVES, NODE_LEAVES, Numa, Tree};
use crate::door::{
    AtomicPtr, AtomicU32, Counter, Order, constructor, count, flaws, mutant, orders, runs_out,
    tries_anything,
};
use crate::host::{Arena, Pool};
use crate::support::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, BoundedAbort, Fair, HandOver, Inherit, Outcome, Patience, RawLock, RawTry,
    ThreadOblivious, TwoForms, standalone,
};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Sees the links that the recycler left in the node.
    HMCS_T_CLAIM = Acquire;
    /// As above, on the recycler's side.
    HMCS_T_RECYCLE = Release;
    /// Sees a node of the queue as it was made.
    HMCS_T_FIND = Acquire;
    /// As above, on the maker's side.  A thread that sees the newest node sees the nodes behind it
    /// too: all are added by exchanges of one word.
    HMCS_T_MAKE = Release;
    /// Sees the last holder's work if the queue was empty; publishes the node's fresh fields to the
    /// successor that will write `next`.
    HMCS_T_ENQUEUE = AcqRel;
    /// Publishes the fresh node to the thread that will grant it; sees the work of a releaser that
    /// did not wait for the link.
    HMCS_T_LINK = AcqRel;
    /// Publishes the fresh node to the patient thread that will grant it.
    HMCS_T_FOLLOW = Release;
    /// Sees that fresh node before writing its status.
    HMCS_T_SUCCESSOR = Acquire;
    /// Publishes the holder's work to its successor.
    HMCS_T_GRANT = Release;
    /// As above, on the successor's side.
    HMCS_T_GRANTED = Acquire;
    /// Publishes the holder's work to a thread that finds the queue empty.
    HMCS_T_LEAVE = Release;
    /// Publishes the holder's work to the successor that finds the mark.
    HMCS_T_IMPATIENT = Release;
    /// Sees the last holder's work.  It publishes nothing: the last holder left the queue's own
    /// place as it is, and the successor acquires that holder's exchange through this one.
    HMCS_T_TRY = Acquire;
}

flaws! {
    KEEP_FIRST = "hmcs-t.keep-first";
    FORGET_NODE = "hmcs-t.forget-node";
    /// The queue's own place keeps the link to a granted successor.
    KEEP_LINK = "hmcs-t.keep-link";
    /// The queue's own place keeps the link of a successor that found the mark.
    KEEP_MARKED = "hmcs-t.keep-marked";
    IGNORE_MARK = "hmcs-t.ignore-mark";
    OVERWRITE_GRANT = "hmcs-t.overwrite-grant";
    /// A patient thread leaves its place to a successor that has not linked itself.
    LEAVE_PLACE = "hmcs-t.leave-place";
    /// Every next waiter is granted by a store, as if it could not give up.
    TRUST_ALL = "hmcs-t.trust-all";
    KEEP_FOR_EVER = "hmcs-t.keep-for-ever";
    LOW_FIRST = "hmcs-t.low-first";
    /// A bounded walk that ends at its bound counts as a grant.
    STOP_AT_PEERS = "hmcs-t.stop-at-peers";
    /// A context takes a second place while its node is still in the queue.
    TAKE_ANOTHER = "hmcs-t.take-another";
    /// A context waits for a node that another context has claimed.
    WAIT_FOR_ANOTHER = "hmcs-t.wait-for-another";
    /// A releaser walks back along its nodes twice.
    WALK_AGAIN = "hmcs-t.walk-again";
    /// A pessimistic waiter claims a node and then gives up.
    KEEP_LATE = "hmcs-t.keep-late";
}

const RECYCLED: u32 = 0;
const WAITING: u32 = 1;
const ABANDONED: u32 = 2;
const PREFIX: u32 = 3;
/// The first acquisition in a row.
const FIRST: u32 = 4;
const CLASS: u32 = 1;

/// Looks for the link of a successor that has entered the queue.
const LOOKS: u32 = 2;

/// Looks for a returning neighbour.
const NEIGHBOURLY: u32 = 32;

/// How many nodes a context without a remembered node scans for a free one, until the number of
/// nodes has doubled since the last full scan.  Bounds the nodes at 2 × peak use + `FEW`.
const FEW: u32 = 8;

/// Looks at the context's remembered node before a scan of others.
const NEARLY: u32 = 64;

/// In a node's `next`: released without waiting for the successor's link.
const IMPATIENT: usize = 1;

/// In a queue's `tail`: the last place is the queue's own.
const OWN: usize = 1;

/// In a queue's `tail` and a node's `next`: the place is in a patient thread's context.  In a
/// context: its acquisition has such a place.
const PATIENT: usize = 2;

/// In a context: its acquisition has a node of the queue.
const POOLED: usize = 1;

/// In a context: its last acquisition gave up, and may still have its place.
const GAVE_UP: u32 = u32::MAX;

/// A place in a queue, for an acquisition, or for a cohort in the queue above.
#[derive(Debug, Default)]
#[repr(C)]
pub struct HmcsTNode<P: Parking> {
    next: AtomicPtr<HmcsTNode<P>>,
    status: WaitCell<P>,
    /// The oldest node of its queue; null while it belongs to none.
    eldest: AtomicPtr<HmcsTNode<P>>,
    /// Another node of its queue.
    beside: AtomicPtr<HmcsTNode<P>>,
    /// The field of the last claiming context that remembers it; unused in a cohort's node.
    user: AtomicPtr<AtomicPtr<HmcsTNode<P>>>,
}

/// How a node was claimed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claimed {
    /// In no queue.
    Fresh,
    /// In its queue, where it was abandoned.
    Resumed,
}

impl<P: Parking> HmcsTNode<P> {
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

    /// Claims it if it is recycled or abandoned.
    #[inline]
    fn claim(&self) -> Option<Claimed> {
        match self.status() {
            RECYCLED if self.claim_fresh() => Some(Claimed::Fresh),
            // The node has no other state than its place in the queue.
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

    /// Waits briefly for a successor; whether one has linked itself.  After a hand-off in the
    /// cohort, the previous holder is on its way back into the queue, and leaving all levels above
    /// takes longer.
    fn await_neighbour(&self) -> bool {
        (0..NEIGHBOURLY).any(|_| !self.next.load(Order::RELAXED).is_null())
    }

    fn recycle(&self) {
        self.status.set(RECYCLED, HMCS_T_RECYCLE);
    }

    /// Blocks while its status is `seen`: a releaser still walks over it, or its successor is not
    /// linked.  False if patience runs out first.  Does not wait on a claimable or claimed node:
    /// the claimant would overwrite a sleeper's mark.
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

/// Whether the name is that of a patient thread's place.
fn is_patient<P: Parking>(name: *mut HmcsTNode<P>) -> bool {
    name.addr() & PATIENT != 0
}

/// The node with that name; not for the queue's own place.
fn named<P: Parking>(name: *mut HmcsTNode<P>) -> *mut HmcsTNode<P> {
    name.map_addr(|at| at & !PATIENT)
}

/// A place in a queue, with its name.
struct NamedNode<'a, P: Parking> {
    node: &'a HmcsTNode<P>,
    /// Its name in `tail`.
    name: *mut HmcsTNode<P>,
}

impl<P: Parking> Clone for NamedNode<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Parking> Copy for NamedNode<'_, P> {}

impl<'a, P: Parking> NamedNode<'a, P> {
    /// The place at a queue's or cohort's node.
    fn of(node: &'a HmcsTNode<P>) -> Self {
        Self {
            node,
            name: node.pointer(),
        }
    }

    /// The place in a patient thread's context.
    fn patient(node: &'a HmcsTNode<P>) -> Self {
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

    /// Whether it is outside the queue's pool of nodes, and thus never recycled.
    fn is_lent(&self) -> bool {
        self.name.addr() & (OWN | PATIENT) != 0
    }
}

/// Outcome of entering a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// The queue is held, and was empty.
    Empty,
    /// The queue is held.
    Alone,
    /// The queue and all above are held.
    WithAllAbove,
    /// Patience ran out; the node stays in the queue if it was there.
    GaveUp,
}

/// A releaser's walk along a queue with abandoned nodes.
struct Walk<'a, P: Parking> {
    /// The place before the next candidate.
    at: NamedNode<'a, P>,
    /// The last skipped node; `next` leads from it back to the releaser's own.
    behind: *mut HmcsTNode<P>,
}

impl<'a, P: Parking> Walk<'a, P> {
    /// A walk that begins at `place`.
    fn from(place: NamedNode<'a, P>) -> Self {
        Self {
            at: place,
            behind: ptr::null_mut(),
        }
    }

    /// Skips the current node, which becomes the start of the way back.
    fn turn(&mut self) {
        if self.at.is_lent() {
            // It may already belong to another thread.
            return;
        }
        self.at.node.next.store(self.behind, Order::RELAXED);
        self.behind = self.at.node.pointer();
    }

    /// Grants that status to the first waiter; false, at the last node, if the queue has none, or
    /// after as many abandoned nodes as `gives` lets it skip.
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
            debug_assert_ne!(name, HmcsTNode::mark(), "released twice");
            // SAFETY: a linked successor is in the queue until it is granted or recycled, and nodes
            // are never freed; a context's place stays until it is granted.
            let successor = unsafe { &*named(name) };
            if self.at.is_own() && !mutant(flaw::KEEP_LINK) {
                // After the grant, the next thread that finds the queue empty takes this place as
                // it is.
                self.at.node.next.store(ptr::null_mut(), Order::RELAXED);
            }
            // The grant precedes everything else: the successor waits for it alone.
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
            self.at = NamedNode::of(successor);
            over += 1;
        }
    }

    /// Passes the queue on, or leaves it empty.
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
                // The context ends with its release.
                linked(&at.next, Order::RELAXED);
                continue;
            }
            let is_linked = || !at.next.load(Order::RELAXED).is_null();
            if (0..LOOKS).any(|_| is_linked()) {
                continue;
            }
            // The releaser's own node, for which its previous context may wait.
            if at.status() == FIRST && !mutant(flaw::KEEP_FIRST) {
                at.status.set(PREFIX, Order::RELAXED);
            }
            if at
                .next
                .compare_exchange(
                    ptr::null_mut(),
                    HmcsTNode::mark(),
                    HMCS_T_IMPATIENT,
                    Order::RELAXED,
                )
                .is_ok()
            {
                return;
            }
        }
    }

    /// Recycles all skipped nodes, the last first: the most recent waiters have the most time left.
    fn recycle(self) {
        let mut node = self.behind;
        // SAFETY: nodes are never freed, and these are the releaser's until it recycles them.
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

/// The progress of a holder that has skipped only abandoned nodes and still holds the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Left<P: Parking> {
    /// Null: not begun.
    at: AtomicPtr<HmcsTNode<P>>,
    behind: AtomicPtr<HmcsTNode<P>>,
}

impl<P: Parking> Left<P> {
    fn keep(&self, walk: &Walk<'_, P>) {
        if walk.at.is_lent() {
            return self.forget();
        }
        self.at.store(walk.at.node.pointer(), Order::RELAXED);
        self.behind.store(walk.behind, Order::RELAXED);
    }

    /// Continues the walk, or begins at the holder's place; the next holder begins anew.
    fn take<'a>(&self, place: NamedNode<'a, P>) -> Walk<'a, P> {
        // SAFETY: pool nodes are never freed, and null is none.
        let Some(at) = (unsafe { self.at.load(Order::RELAXED).as_ref() }) else {
            return Walk::from(place);
        };
        self.forget();
        Walk {
            at: NamedNode::of(at),
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
    tail: AtomicPtr<HmcsTNode<P>>,
    /// On the line of the tail, which its user owns anyway.  Used in the system's queue only.
    own: HmcsTNode<P>,
    /// Read before each arrival and rarely written.
    nodes: CachePadded<Nodes<P>>,
}

impl<P: Parking> Queue<P> {
    constructor! {
        fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
                own: HmcsTNode::new(),
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
    fn own_place(&self) -> NamedNode<'_, P> {
        NamedNode {
            node: &self.own,
            name: ptr::without_provenance_mut(OWN),
        }
    }

    /// The node with that name; `None` for null.
    fn node_at(&self, name: *mut HmcsTNode<P>) -> Option<&HmcsTNode<P>> {
        if name.addr() == OWN {
            return Some(&self.own);
        }
        // SAFETY: pool nodes are never freed; a context's place stays until its release has seen
        // the link that the caller owes it; null is none.
        unsafe { named(name).as_ref() }
    }
}

/// The nodes of a queue.
#[derive(Debug, Default)]
struct Nodes<P: Parking> {
    eldest: AtomicPtr<HmcsTNode<P>>,
    made: AtomicU32,
    /// At this number of nodes, all are scanned before a further one is made.
    search_at: AtomicU32,
}

impl<P: Form> Queue<P> {
    fn is_empty(&self) -> bool {
        self.tail.load(Order::RELAXED).is_null()
    }

    /// Takes an empty queue by its own place.
    #[inline(always)]
    fn take(&self) -> bool {
        let own = ptr::without_provenance_mut(OWN);
        self.tail
            .compare_exchange(ptr::null_mut(), own, HMCS_T_TRY, Order::RELAXED)
            .is_ok()
    }

    /// Empties the queue, held by its own place, if it has no successor.
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
    fn all(&self) -> impl Iterator<Item = &'static HmcsTNode<P>> {
        let eldest = self.nodes.0.eldest.load(HMCS_T_FIND);
        let mut node = eldest;
        core::iter::from_fn(move || {
            // SAFETY: pool nodes are never freed, and null is none.
            let here = unsafe { node.as_ref() }?;
            debug_assert_eq!(here.eldest.load(Order::RELAXED), eldest, "another queue's");
            node = here.beside.load(HMCS_T_FIND);
            Some(here)
        })
    }

    /// A node for one acquisition: the remembered one, or another that can be claimed.  `None` if
    /// the remembered node is this context's and does not return within `patience`: a context has
    /// at most one place in the queue, so that a walk along it ends.
    #[inline]
    fn node(
        &self,
        remembered: &AtomicPtr<HmcsTNode<P>>,
        claim: impl Fn(&HmcsTNode<P>) -> Option<Claimed>,
        patience: Option<&Patience>,
    ) -> Option<(&'static HmcsTNode<P>, Claimed)> {
        let eldest = self.nodes.0.eldest.load(HMCS_T_FIND);
        let place = ptr::from_ref(remembered).cast_mut();
        // SAFETY: as above.
        if let Some(node) = unsafe { remembered.load(Order::RELAXED).as_ref() }
            && node.eldest.load(Order::RELAXED) == eldest
        {
            loop {
                // Other contexts rarely claim it.  But a successor may be about to link itself, or
                // a releaser may be on its way back.
                let looks = if tries_anything() { NEARLY } else { 1 };
                if let Some(claimed) = (0..looks).find_map(|_| claim(node)) {
                    node.user.store(place, Order::RELAXED);
                    return Some((node, claimed));
                }
                let Some(patience) = patience else { break };
                if node.user.load(Order::RELAXED) != place || mutant(flaw::TAKE_ANOTHER) {
                    break;
                }
                // Another context has claimed it, and may not have stored `user` yet.
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
    fn another(
        &self,
        claim: impl Fn(&HmcsTNode<P>) -> Option<Claimed>,
    ) -> (&'static HmcsTNode<P>, Claimed) {
        let Nodes {
            made, search_at, ..
        } = &self.nodes.0;
        let count = made.load(Order::RELAXED);
        let due = search_at.load(Order::RELAXED);
        // One thread scans them all.
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

    /// Drops all its nodes.
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

    fn make(&self) -> &'static HmcsTNode<P> {
        let new = P::nodes().take();
        count(Counter::Bytes, Arena::<HmcsTNode<P>>::NODE_BYTES as u64);
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
            // Until this link is stored, a scan sees fewer nodes.
            let next = list.swap(new.pointer(), HMCS_T_MAKE);
            new.beside.store(next, Order::RELAXED);
        }
        new
    }

    /// Blocks until the queue is held or patience runs out.  The caller owns the place or has
    /// claimed its node.
    #[inline]
    fn enter(&self, place: NamedNode<'_, P>, claimed: Claimed, patience: &Patience) -> Entered {
        let node = place.node;
        count(
            match claimed {
                Claimed::Fresh => Counter::Begun,
                Claimed::Resumed => Counter::Resumed,
            },
            1,
        );
        if claimed == Claimed::Fresh {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            let before = self.tail.swap(place.name, HMCS_T_ENQUEUE);
            // Until this link is stored, the predecessor's node is not recycled, the queue's own
            // place not retaken, and a context's place not gone.
            let Some(predecessor) = self.node_at(before) else {
                node.status.reset(FIRST);
                return Entered::Empty;
            };
            if is_patient(before) {
                predecessor.next.store(place.name, HMCS_T_FOLLOW);
            } else if predecessor.next.swap(place.name, HMCS_T_LINK) == HmcsTNode::mark()
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
        // The node's previous context may wait for it.
        node.status.set(FIRST, Order::RELAXED);
        Entered::Alone
    }

    /// [`enter`](Self::enter) for the holder of a cohort's queue, with the cohort's node in the
    /// state that the previous holders of that queue left.
    #[inline]
    fn enter_above(&self, node: &HmcsTNode<P>, patience: &Patience, gives: impl Gives) -> Entered {
        loop {
            if let Some(claimed) = node.claim() {
                return self.enter(NamedNode::of(node), claimed, patience);
            }
            let seen = node.status();
            if seen == FIRST {
                // The thread that passed on the queue below held this one too.
                return Entered::Alone;
            }
            if !node.comes_back(seen, patience) {
                return Entered::GaveUp;
            }
            // Late: the default goes on, and may acquire at once (Chabbi et al. 2017 §3).
            if gives.is_pessimistic() && runs_out(patience) {
                if mutant(flaw::KEEP_LATE) {
                    let _ = node.claim();
                }
                return Entered::GaveUp;
            }
        }
    }

    /// Drops every acquisition.
    fn reset(&self) {
        for node in self.all() {
            node.status.reset(RECYCLED);
        }
        self.own.next.store(ptr::null_mut(), Order::RELAXED);
        self.tail.store(ptr::null_mut(), Order::RELAXED);
    }

    /// Makes that holder's place the queue's only one.
    fn keep(&self, holder: NamedNode<'_, P>) {
        holder.node.next.store(ptr::null_mut(), Order::RELAXED);
        holder.node.status.reset(FIRST);
        self.tail.store(holder.name, Order::RELAXED);
    }

    /// Returns its nodes as the lock ends.
    fn give_back(&self) {
        for node in self.all() {
            node.eldest.store(ptr::null_mut(), Order::RELAXED);
            // SAFETY: made for this queue alone, which has ended.
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
    /// On a line of its own: its writers are not the cohort's arrivals.
    node: CachePadded<HmcsTNode<P>>,
}

impl<P: Parking> Cohort<P> {
    fn above(&self) -> Option<&Self> {
        // SAFETY: cohorts are pool nodes, which are never freed, and null is none.
        unsafe { self.above.load(Order::RELAXED).as_ref() }
    }
}

tree_forms! { HmcsTNode }

/// Per-acquisition state.  It owns nothing, and may be dropped whenever it holds no lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct HmcsTContext<P: Parking = MayPark, E = AtLeaf> {
    way: PathUp<P>,
    entry: E,
}

/// The tree's record of an acquisition.
#[derive(Debug, Default)]
#[repr(C)]
struct PathUp<P: Parking> {
    /// A patient thread's place in the first queue that it enters.
    mine: HmcsTNode<P>,
    /// The cohort of the acquisition's first queue; null: the system.  Low bits: the place there;
    /// `PATIENT`: `mine`; `POOLED`: `node`; else the queue's own.
    cohort: AtomicPtr<Cohort<P>>,
    node: AtomicPtr<HmcsTNode<P>>,
    /// The first level with other threads, counted from the level of the last entry, plus one; 0:
    /// uncontended; or `GAVE_UP`.
    last: AtomicU32,
    /// The last used node of a cohort's queue.
    leaf: AtomicPtr<HmcsTNode<P>>,
    /// The last used node of the system's queue.
    root: AtomicPtr<HmcsTNode<P>>,
}

impl<P: Parking> PathUp<P> {
    /// Records the entry into that cohort's queue, by the place that `what` says.
    fn begin(&self, cohort: *mut Cohort<P>, what: usize) {
        let entered = cohort.map_addr(|at| at | what);
        self.cohort.store(entered, Order::RELAXED);
    }

    /// The acquisition's first cohort and its place there; `system` is its lock's top queue.
    fn stands<'a>(
        &'a self,
        system: &'a Queue<P>,
    ) -> (Option<&'static Cohort<P>>, NamedNode<'a, P>) {
        self.stands_in(self.cohort.load(Order::RELAXED), system)
    }

    /// As [`stands`](Self::stands), for a loaded `cohort`.
    #[inline]
    fn stands_in<'a>(
        &'a self,
        entered: *mut Cohort<P>,
        system: &'a Queue<P>,
    ) -> (Option<&'static Cohort<P>>, NamedNode<'a, P>) {
        let place = match entered.addr() & (PATIENT | POOLED) {
            PATIENT => NamedNode::patient(&self.mine),
            // SAFETY: stored when the acquisition began, and nodes are never freed.
            POOLED => NamedNode::of(unsafe { &*self.node.load(Order::RELAXED) }),
            _ => system.own_place(),
        };
        let cohort = entered.map_addr(|at| at & !(PATIENT | POOLED));
        // SAFETY: as `Cohort::above`.
        (unsafe { cohort.as_ref() }, place)
    }
}

/// The tree below the system's queue: compiled once for all levels.
impl<P: Form> Queue<P> {
    fn at<'a>(&'a self, cohort: Option<&'a Cohort<P>>) -> &'a Self {
        cohort.map_or(self, |here| &here.queue)
    }

    /// Enters the queue of that cohort, one of the caller's, and all above, while patience lasts.
    /// Also returns the first level with other threads, counted as in `PathUp::last`; `last` is the
    /// previous such value.
    #[inline(never)]
    fn climb(
        &self,
        from: *mut Cohort<P>,
        cx: &PathUp<P>,
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
            (NamedNode::patient(&cx.mine), Claimed::Fresh)
        } else {
            let remembered = if leaf.is_some() { &cx.leaf } else { &cx.root };
            let Some((node, claimed)) = queue.node(remembered, HmcsTNode::claim, Some(patience))
            else {
                cx.last.store(GAVE_UP, Order::RELAXED);
                return (Outcome::GaveUp, 1);
            };
            cx.node.store(node.pointer(), Order::RELAXED);
            cx.begin(from, POOLED);
            (NamedNode::of(node), claimed)
        };
        let mut cohort = leaf;
        let mut level = 0;
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

    /// Gives up the queue of `here`, held at `place`, and those of `above` more cohorts.  All go to
    /// a waiter of the smallest cohort that has one, which continues from there.  The queues below
    /// it go to other waiters, which have to climb to it (Chabbi et al. 2017 §4).  The naive
    /// variant leaves them top down, each to a waiter that gets nothing above its own queue.
    fn retreat(here: &Cohort<P>, place: NamedNode<'_, P>, above: usize, gives: impl Gives) {
        let mut walk = Walk::from(place);
        let passed = above > 0 && !gives.is_naive() && walk.pass(PREFIX, gives);
        if !passed {
            if above > 0
                && let Some(next) = here.above()
            {
                Self::retreat(next, NamedNode::of(&here.node.0), above - 1, gives);
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
        place: NamedNode<'_, P>,
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
            let above = NamedNode::of(&here.node.0);
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
    /// The status of a grant without a hand-over.
    pub(crate) const ALONE: u32 = FIRST + 1;

    /// Hands the queue and that number to the first waiter that has not given up, or keeps the
    /// queue.
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

    /// The number that came with the hand-over.
    #[inline]
    pub(crate) fn handed(&self, cx: &HmcsTContext<P>) -> u32 {
        let (_, place) = cx.way.stands(&self.root.0);
        place.node.status().saturating_sub(Self::ALONE)
    }

    /// Releases it, from where the holder's walk stopped.
    #[inline]
    pub(crate) fn release_behind(&self, cx: &HmcsTContext<P>, way: &Left<P>) {
        let queue = &self.root.0;
        let mut walk = way.take(cx.way.stands(queue).1);
        walk.finish(queue, Self::ALONE);
        walk.recycle();
    }
}

/// The lock of the levels `L` and the whole system, with space for `LEAVES` cohorts of the smallest
/// level and `INNER` of all others together.  A cohort has it up to `HAND_OFFS` times in a row,
/// unless the shape `L` says otherwise.
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
pub type HmcsT2<P = MayPark> = HmcsT<(Numa,), NODE_LEAVES, 0, P>;
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
pub type HmcsT3<P = MayPark> = HmcsT<(Core, Numa), LEAVES, INNER_NODES, P>;
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
pub type HmcsT4<P = MayPark> = HmcsT<(Core, CacheGroup, Numa), LEAVES, INNER, P>;
/// The lock with levels and give-up variant chosen at construction.
///
/// ```
/// use cohort::{Mutex, numa::AnyHmcsT};
///
/// let total: Mutex<u64, AnyHmcsT> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type AnyHmcsT<P = MayPark, S = ChosenShape> = HmcsT<S, LEAVES, INNER, P>;
/// [`AnyHmcsT`] with the entries of `ahmcs`: a thread enters where it last found contention.
///
/// ```
/// use cohort::{Mutex, numa::AnyAhmcsT};
///
/// let total: Mutex<u64, AnyAhmcsT> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type AnyAhmcsT<P = MayPark, S = ChosenShape> = HmcsT<S, LEAVES, INNER, P, 64, WhereMet>;

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
        /// A free lock of that shape.
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
                align_of::<HmcsTNode<P>>() > OWN | PATIENT,
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
        // If two threads make it at once, one goes back to the pool.
        if ptr::eq(put, new) {
            count(Counter::Bytes, Arena::<Cohort<P>>::NODE_BYTES as u64);
        }
        put
    }

    /// Enters at that level, and all above.
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

    /// Takes an empty system's queue, and thereby the lock.
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

    /// Acquires without the fast path, for a contended lock.  Blocks.
    ///
    /// # Safety
    /// As [`RawLock::acquire`].
    pub unsafe fn acquire_among_others(&self, cx: &HmcsTContext<P, E>) {
        let last = cx.way.last.load(Order::RELAXED);
        let _ = self.climb(0, cx, last, &Patience::ENDLESS);
    }

    /// Whether a queue of the holder's path has a waiter or an abandoned node: a hint.
    ///
    /// # Safety
    /// The caller holds the lock by that context.
    pub unsafe fn is_followed(&self, cx: &HmcsTContext<P, E>) -> bool {
        let (mut cohort, mut place) = cx.way.stands(&self.root.0);
        loop {
            let queue = self.root.0.at(cohort);
            if queue.tail.load(Order::RELAXED) != place.name {
                return true;
            }
            let Some(here) = cohort else { return false };
            (cohort, place) = (here.above(), NamedNode::of(&here.node.0));
        }
    }
}

// SAFETY: a thread that returns from an acquisition heads its cohort's queue and, with the cohorts'
// nodes, each queue above: by its own climb, by a predecessor's hand-off, or by queues that a
// waiter which gave up left held.  Each queue has one head, and a grant publishes the work before
// it.
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
    Hosted { node_bytes: Arena::<HmcsTNode<P>>::NODE_BYTES, cohort_bytes: L::MOST * Arena::<Cohort<P>>::NODE_BYTES },
    HighLock,
    Resumable
}

// SAFETY: a thread that finds the system's queue empty holds the lock with it alone.
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

// SAFETY: a waiter that gives up holds no queue afterwards; its node is in none, or is marked as
// abandoned.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> Abortable for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    /// After an uncontended acquisition, tries the system's queue first, by the queue's own place
    /// (Chabbi et al. 2017 §5, the fast path).
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

// SAFETY: release reads the node and the cohort from the context, and no state of the thread.
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

// SAFETY: afterwards every queue is empty except on the holder's path, and every other node can be
// claimed.
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
            (cohort, place) = (here.above(), NamedNode::of(&here.node.0));
        }
    }
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry>
    TwoForms for HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    type Spinning = HmcsT<L, LEAVES, INNER, SpinOnly, HAND_OFFS, E>;
}

#[cfg(all(test, not(checker)))]
mod tests {
    extern crate std;

    use super::*;
    use std::thread;

    type Lock = HmcsT1<SpinOnly>;

    /// The node of the last place in the queue.
    fn last(lock: &Lock) -> &HmcsTNode<SpinOnly> {
        let tail = lock.root.0.tail.load(Order::RELAXED);
        lock.root.0.node_at(tail).expect("the lock is held")
    }

    #[test]
    fn a_context_that_gave_up_comes_back_to_its_place() {
        let lock = Lock::default();
        let [first, second] = [HmcsTContext::default(), HmcsTContext::default()];
        // SAFETY: each context serves one acquisition at a time; context and lock outlive its
        // release.
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
