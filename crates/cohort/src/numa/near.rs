//! `near`: the queue of `mcs` in one word; the holder hands over to the nearest of the first few
//! waiters, with a bound on how often a waiter is passed over.  Dice et al. 2015 §7 proposes such a
//! lock; this design is Cohort's own.
//!
//! **Not for** machines with equidistant nodes: above cohorts it has no preference there, and `mcs`
//! is as good.  Nor for more runnable threads than CPUs unless its waiters may sleep, as `mcs`.
//!
//! A shorter hand-over gains less than one extra cache miss in the holder's search would lose.  So
//! the *next* waiter searches, while it still waits.  Each holder notifies it right after its own
//! acquisition, and passes on the list of known waiters.  The next waiter reads on along the
//! queue from the last known one, and chooses its own successor.  The holder's release is one
//! store, as in `mcs`.
//!
//! | `tail` | `next` of the last known waiter, else of the holder | state |
//! |---|---|---|
//! | null | | free |
//! | the holder's node | null | held, no waiter |
//! | another node | null | held; an arrival is not linked yet, or all waiters are known |
//! | another node | a waiter | held; that waiter is the next to become known |
//!
//! | field of a node | written by | meaning |
//! |---|---|---|
//! | `next` | its successor by arrival | the successor's name: address and NUMA node |
//! | `granted` | the holder before it | `NO`: wait; `NEXT`: next, choose a successor; `YES`: lock held |
//! | `rests` | its owner | for how many further acquisitions it skips the search |
//! | `front.place` | its owner, before it enters | its NUMA node |
//! | `front.names`, `.known` | the previous holder; its owner once notified | known waiters, oldest first |
//! | `front.next` | its owner, once notified | the index of its chosen successor |
//! | `front.owed` | as `known` | how many known waiters, from the first on, have been passed over |
//! | `front.spent` | as `known` | how often any was passed over, since `owed` was 0 |
//!
//! The known waiters, and the linked ones behind them, always stand in order of arrival.  Removing
//! a known waiter breaks no link, since the known ones are in a list.  The last known waiter stays
//! in place unless it is the only one: the next arrival links itself to it.  A holder without known
//! waiters hands over to the waiter linked to it, as in `mcs`.  A thread with a search that found no
//! preferable waiter skips the search for `REST` acquisitions.
//!
//! A waiter that is passed over is owed the lock, and so are all before it: the owed waiters are a
//! front part of the queue.  All of them draw on one count.  Once it reaches the bound, the oldest
//! waiter is next, until none is owed.  So **no waiter is passed over more often than the bound**.
//! A waiter that finds q others before it acquires after at most q plus the bound hand-overs.
//! Their duration depends on the critical sections; above cohorts, on how long each may keep the
//! lock, by count or by duration (Dice et al. 2015 §2.2).

use super::linked;
use crate::door::{self, AtomicPtr, Cell, Level, Order, constructor, flaws, mutant, orders};
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::{cell, ptr};

orders! {
    /// Sees the last holder's work if the queue was empty; publishes the node's fresh fields to the
    /// successor that will write `next`.
    NEAR_ENQUEUE = AcqRel;
    /// Publishes the successor's fresh node to the holder that will grant it.
    NEAR_LINK = Release;
    /// Sees that fresh node before any write to it.  Later holders see it through the grants.
    NEAR_SUCCESSOR = Acquire;
    /// Publishes the known waiters, and what is owed, to the next waiter.
    NEAR_TELL = Release;
    /// Sees them; or the holder's work, if the next waiter reads only the grant.
    NEAR_TOLD = Acquire;
    /// Publishes the holder's work to the next holder.
    NEAR_GRANT = Release;
    /// As above, on the next holder's side.
    NEAR_GRANTED = Acquire;
    /// Publishes the holder's work to a thread that finds the queue empty.
    NEAR_LEAVE = Release;
    /// Sees the last holder's work; publishes the fresh node.
    NEAR_TRY = AcqRel;
}

flaws! {
    FORGET_KNOWN = "near.forget-known";
    KEEP_FOR_EVER = "near.keep-for-ever";
    MOVE_THE_LAST = "near.move-the-last";
    FORGET_OWED = "near.forget-owed";
}

const NO: u32 = 0;
const NEXT: u32 = 1;
const YES: u32 = 2;
const CLASS: u32 = 1;

/// The largest number of known waiters; they fill the node's line.
const KNOWN: usize = 5;

/// Acquisitions without a search after a search that found no preferable waiter.
const REST: u8 = 16;

/// A waiter's node, with its NUMA node's number in the low bits of the address.
type Name<P> = *mut NearNode<P>;

/// The front of the queue, as the holder or the next waiter knows it.
#[derive(Debug)]
struct Front<P: Parking> {
    names: [Name<P>; KNOWN],
    known: u8,
    next: u8,
    owed: u8,
    spent: u8,
    place: u8,
}

// SAFETY: one thread at a time reads the names, and threads share their nodes.
unsafe impl<P: Parking> Send for Front<P> {}

impl<P: Parking> Clone for Front<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Parking> Copy for Front<P> {}

impl<P: Parking> Default for Front<P> {
    fn default() -> Self {
        Self {
            names: [ptr::null_mut(); KNOWN],
            known: 0,
            next: 0,
            owed: 0,
            spent: 0,
            place: 0,
        }
    }
}

/// A waiter's place in the queue.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct NearNode<P: Parking = MayPark> {
    next: AtomicPtr<NearNode<P>>,
    granted: WaitCell<P>,
    rests: Cell<u8>,
    front: Cell<Front<P>>,
}

const _: () = {
    // A name's low bits distinguish all NUMA nodes, and a place is a byte.
    assert!(align_of::<NearNode>() >= door::NODES && door::NODES <= 256);
};

/// The lock; all zero when new.  No waiter is passed over more than `BOUND` times.
///
/// ```
/// use cohort::{Mutex, numa::Near};
///
/// static TOTAL: Mutex<u64, Near> = Mutex::from_raw(Near::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Near<P: Parking = MayPark, const BOUND: u8 = 16> {
    tail: AtomicPtr<NearNode<P>>,
}

impl<P: Parking, const BOUND: u8> Near<P, BOUND> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
            }
        }
    }
}

fn place<P: Parking>(name: Name<P>) -> usize {
    name.addr() % door::NODES
}

fn address<P: Parking>(name: Name<P>) -> *mut NearNode<P> {
    name.map_addr(|address| address - address % door::NODES)
}

impl<P: Parking> NearNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    /// Prepares it for a new waiter on the calling thread's NUMA node; returns its name.
    fn renew(&self) -> Name<P> {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.granted.reset(NO);
        self.set_rests(self.rests().saturating_sub(1));
        let place = door::cohort(Level::Numa) % door::NODES;
        self.set_front(Front {
            place: place as u8,
            ..Front::default()
        });
        self.pointer().map_addr(|address| address + place)
    }

    fn rests(&self) -> u8 {
        // SAFETY: only its owner accesses it.
        self.rests.with(|rests| unsafe { *rests })
    }

    fn set_rests(&self, turns: u8) {
        // SAFETY: as above.
        self.rests.with_mut(|rests| unsafe { *rests = turns });
    }

    fn front(&self) -> Front<P> {
        // SAFETY: the caller holds the lock or was notified that it is next.
        self.front.with(|front| unsafe { *front })
    }

    /// Called by its owner, before it waits or once notified; or by the holder that notifies it.
    fn set_front(&self, front: Front<P>) {
        // SAFETY: no other thread accesses it meanwhile.
        self.front.with_mut(|own| unsafe { *own = front });
    }

    /// Blocks until its owner, a waiter in the queue, holds the lock.
    fn wait(&self, bound: u8) {
        let seen = cell::Cell::new(NO);
        self.granted.wait_for(NEAR_TOLD, CLASS, |granted| {
            seen.set(granted);
            granted != NO
        });
        let waits = seen.get() == NEXT;
        let front = self.plan(waits, bound);
        if waits {
            self.granted
                .wait_for(NEAR_GRANTED, CLASS, |granted| granted == YES);
        }
        self.tell(front);
    }

    /// Chooses the successor of its notified owner: among the known waiters, and among further ones
    /// if the owner still `waits`.
    fn plan(&self, waits: bool, bound: u8) -> Front<P> {
        let mut front = self.front();
        let looks = waits && self.rests() == 0;
        if looks {
            front.look(self);
        }
        let mut prefers = false;
        if front.known > 0 {
            prefers = front.choose(bound);
            self.set_front(front);
        }
        if looks && !prefers {
            self.set_rests(REST);
        }
        front
    }

    /// Notifies the holder's successor, and passes on the other known waiters.
    fn tell(&self, mut front: Front<P>) {
        // With no waiter to pass on, the notification only starts a search.
        if front.known < 2 && self.rests() > 0 {
            return;
        }
        let next = self.follower(&front);
        if next.is_null() {
            return;
        }
        // SAFETY: a node stays while its owner waits, and the caller holds the lock.
        let next_node = unsafe { &*address(next) };
        if front.known > 1 && !mutant(flaw::FORGET_KNOWN) {
            front.forget_next();
            front.place = place(next) as u8;
            next_node.set_front(front);
        }
        next_node.granted.set(NEXT, NEAR_TELL);
    }

    /// The holder's successor; null: none is linked yet.
    #[inline]
    fn follower(&self, front: &Front<P>) -> Name<P> {
        match front.known().get(usize::from(front.next)) {
            Some(next) => *next,
            None => self.next.load(NEAR_SUCCESSOR),
        }
    }

    /// Calls `each` with the nodes and NUMA nodes of the linked waiters, oldest first: for a test
    /// of the order of service.
    ///
    /// # Safety
    /// The caller holds the lock by this node.
    pub unsafe fn successors(&self, each: &mut dyn FnMut(*const Self, usize)) {
        let front = self.front();
        for name in front.known() {
            each(address(*name), place(*name));
        }
        let mut end = front.end(self);
        loop {
            let next = end.next.load(NEAR_SUCCESSOR);
            if next.is_null() {
                return;
            }
            each(address(next), place(next));
            // SAFETY: linked, and no waiter leaves while the caller holds the lock.
            end = unsafe { &*address(next) };
        }
    }
}

impl<P: Parking> Front<P> {
    fn known(&self) -> &[Name<P>] {
        &self.names[..usize::from(self.known)]
    }

    fn learn(&mut self, name: Name<P>) {
        self.names[usize::from(self.known)] = name;
        self.known += 1;
    }

    /// The node to which the next waiter to become known is linked.
    fn end<'a>(&self, holder: &'a NearNode<P>) -> &'a NearNode<P> {
        match self.known().last() {
            // SAFETY: a node stays while its owner waits, and the holder or the next waiter calls.
            Some(last) => unsafe { &*address(*last) },
            None => holder,
        }
    }

    /// Adds the linked waiters to the list, as far as it has room.
    fn look(&mut self, owner: &NearNode<P>) {
        while self.known().len() < KNOWN {
            let next = self.end(owner).next.load(NEAR_SUCCESSOR);
            if next.is_null() {
                return;
            }
            self.learn(next);
        }
    }

    /// Removes the next holder from the list.
    fn forget_next(&mut self) {
        let (next, known) = (usize::from(self.next), usize::from(self.known));
        self.names.copy_within(next + 1..known, next);
        self.known -= 1;
        self.next = 0;
    }

    /// Chooses the next waiter from a list that is not empty; whether it is not the oldest.
    fn choose(&mut self, bound: u8) -> bool {
        let mut at = 0;
        if self.spent < bound || mutant(flaw::KEEP_FOR_EVER) {
            let here = usize::from(self.place);
            let stays = usize::from(!mutant(flaw::MOVE_THE_LAST));
            let movable = &self.known()[..self.known().len() - stays];
            let nearest =
                (0..movable.len()).min_by_key(|at| door::distance(here, place(movable[*at])));
            at = nearest.unwrap_or(0);
        }
        let at = at as u8;
        self.next = at;
        self.owed = if at < self.owed { self.owed - 1 } else { at };
        let forgets = at == 0 && mutant(flaw::FORGET_OWED);
        self.spent = if self.owed == 0 || forgets {
            0
        } else {
            self.spent + u8::from(at > 0)
        };
        at > 0
    }
}

// SAFETY: the holder's node was granted last or found the queue empty; every waiter is known or
// linked behind the known ones, and a holder grants it once, after its own work.
unsafe impl<P: Parking, const BOUND: u8> RawLock for Near<P, BOUND> {
    type Context = NearNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &NearNode<P>) {
        let name = node.renew();
        let predecessor = self.tail.swap(node.pointer(), NEAR_ENQUEUE);
        if predecessor.is_null() {
            return;
        }
        // SAFETY: the last waiter is not moved, and leaves only after it has read this link.
        unsafe { &*predecessor }.next.store(name, NEAR_LINK);
        node.wait(BOUND);
    }

    #[inline]
    unsafe fn release(&self, node: &NearNode<P>) {
        let mut next = node.follower(&node.front());
        if next.is_null() {
            let left = self.tail.compare_exchange(
                node.pointer(),
                ptr::null_mut(),
                NEAR_LEAVE,
                Order::RELAXED,
            );
            if left.is_ok() {
                return;
            }
            next = linked(&node.next, NEAR_SUCCESSOR);
        }
        // SAFETY: a node stays until it is granted.
        unsafe { &*address(next) }.granted.set(YES, NEAR_GRANT);
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone!([P: Parking, const BOUND: u8] Near<P, BOUND>: Hosted, QuickRelease, LowLock, HighLock);

// SAFETY: an empty queue is a free lock, and one exchange acquires it.
unsafe impl<P: Parking, const BOUND: u8> RawTry for Near<P, BOUND> {
    #[inline]
    unsafe fn try_acquire(&self, node: &NearNode<P>) -> bool {
        if self.is_locked() {
            return false;
        }
        node.renew();
        self.tail
            .compare_exchange(ptr::null_mut(), node.pointer(), NEAR_TRY, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and its nodes alone.
unsafe impl<P: Parking, const BOUND: u8> ThreadOblivious for Near<P, BOUND> {}

impl<P: Parking, const BOUND: u8> Fair for Near<P, BOUND> {}

// SAFETY: the holder's known waiters, a waiter linked to its node, and the thread that has replaced
// it in the tail all wait until they are granted.
unsafe impl<P: Parking, const BOUND: u8> DetectsWaiters for Near<P, BOUND> {
    /// Looks at the holder's node first, as `mcs`.
    #[inline]
    unsafe fn has_waiters(&self, node: &NearNode<P>) -> bool {
        node.front().known > 0
            || !node.next.load(Order::RELAXED).is_null()
            || self.tail.load(Order::RELAXED) != node.pointer()
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and no waiter is known.
unsafe impl<P: Parking, const BOUND: u8> Inherit for Near<P, BOUND> {
    unsafe fn inherit(&self, holder: Option<&NearNode<P>>) {
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            node.set_front(Front {
                place: node.front().place,
                ..Front::default()
            });
            node.pointer()
        });
        self.tail.store(tail, Order::RELAXED);
    }
}

impl<P: Parking, const BOUND: u8> TwoForms for Near<P, BOUND> {
    type Spinning = Near<SpinOnly, BOUND>;
}
