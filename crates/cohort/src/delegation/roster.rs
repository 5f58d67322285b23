//! The threads that use one lock, each with a seat of its own there, which nobody has to give
//! back: Zhang et al. 2017 §3.2's request array and Id manager in one.
//!
//! A thread finds its seat again by its number, in one of a few short chains.  The seat of a
//! thread that is no more is taken by the next one of that chain that has none; so a lock has
//! about as many seats as threads ever used it at once, whatever came and went.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `chains` | the last seat of each chain | the thread that adds one |
//! | `last` | the last seat of all, for threads that look through them | the same |
//! | a seat's `owner` | its thread | that thread; a later one that finds it gone |
//! | a seat's `says` | what the lock's servers are to know of its thread at every look | that thread, seldom |
//! | a seat's `chained`, `next` | the seat that was there before it | the first of them, before others see it |

use crate::door::{AtomicPtr, AtomicU32, Order, is_gone, orders, repeated, thread_id};
use crate::host::Pool;
use core::ptr;

orders! {
    /// Publishes a fresh seat, with the links behind it.
    ROSTER_ADD = Release;
    /// Sees it.
    ROSTER_LOOK = Acquire;
}

/// Chains of a lock: threads whose numbers follow each other are in different ones.
pub const CHAINS: usize = 16;

/// What one lock keeps for one thread.
pub trait Seated: Default + Send + Sync + 'static {
    /// Where such seats come from.
    fn pool() -> &'static (impl Pool<Seat<Self>> + 'static);

    /// Makes it one of a lock that has had no such thread yet.
    fn begin(&self);

    /// Whether a thread that is gone has left nothing here that is still in use.
    fn is_left(&self) -> bool {
        true
    }

    /// Makes it another thread's, since the one that had it last is no more; sees what was done
    /// to it.
    fn inherit(&self);
}

/// A thread's seat: what is read again and again, and then its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Seat<T: 'static> {
    owner: AtomicU32,
    chained: AtomicPtr<Seat<T>>,
    next: AtomicPtr<Seat<T>>,
    /// What those that look through the seats are to know of the thread at every look: on the line
    /// of the links, which stays in their caches as long as the thread says the same.
    says: AtomicU32,
    /// What the lock keeps for the thread.
    pub own: T,
}

impl<T> Seat<T> {
    /// What its thread says.
    #[inline]
    pub fn says(&self) -> u32 {
        self.says.load(Order::RELAXED)
    }

    /// From here on the seat says that it is the calling thread's.
    #[inline]
    pub fn say(&self, what: u32) {
        if self.says() != what {
            self.says.store(what, Order::RELAXED);
        }
    }
}

/// The seats of a lock.
#[derive(Debug)]
pub struct Roster<T: Seated> {
    chains: [AtomicPtr<Seat<T>>; CHAINS],
    last: AtomicPtr<Seat<T>>,
}

impl<T: Seated> Default for Roster<T> {
    fn default() -> Self {
        Self {
            chains: repeated!(AtomicPtr::null(), CHAINS),
            last: AtomicPtr::null(),
        }
    }
}

impl<T: Seated> Roster<T> {
    /// The calling thread's seat, in the first `chains` chains: the same number at each call.
    #[inline]
    pub fn seat(&self, chains: usize) -> &Seat<T> {
        let me = thread_id();
        let chain = &self.chains[me as usize % chains];
        let mut seats = from(chain.load(ROSTER_LOOK), |seat| &seat.chained);
        match seats.find(|seat| seat.owner.load(Order::RELAXED) == me) {
            Some(seat) => seat,
            None => self.join(chain, me),
        }
    }

    /// A seat for a thread that has none.
    #[cold]
    fn join(&self, chain: &AtomicPtr<Seat<T>>, me: u32) -> &Seat<T> {
        for seat in from(chain.load(ROSTER_LOOK), |seat| &seat.chained) {
            let owner = seat.owner.load(Order::RELAXED);
            if is_gone(owner)
                && seat.own.is_left()
                && seat
                    .owner
                    .compare_exchange(owner, me, Order::RELAXED, Order::RELAXED)
                    .is_ok()
            {
                seat.own.inherit();
                return seat;
            }
        }
        let seat = T::pool().take();
        seat.owner.store(me, Order::RELAXED);
        seat.own.begin();
        add(chain, seat, &seat.chained);
        add(&self.last, seat, &seat.next);
        seat
    }

    /// Every seat there is, the newest first.
    #[inline]
    pub fn seats(&self) -> impl Iterator<Item = &Seat<T>> {
        from(self.last.load(ROSTER_LOOK), |seat| &seat.next)
    }
}

fn add<T>(list: &AtomicPtr<Seat<T>>, seat: &Seat<T>, link: &AtomicPtr<Seat<T>>) {
    let mut last = list.load(Order::RELAXED);
    loop {
        link.store(last, Order::RELAXED);
        let pointer = ptr::from_ref(seat).cast_mut();
        match list.compare_exchange(last, pointer, ROSTER_ADD, Order::RELAXED) {
            Ok(_) => return,
            Err(now) => last = now,
        }
    }
}

/// The seats of a list, from one on.
#[inline]
fn from<'a, T: 'static>(
    first: *mut Seat<T>,
    link: fn(&Seat<T>) -> &AtomicPtr<Seat<T>>,
) -> impl Iterator<Item = &'a Seat<T>> {
    let mut at = first;
    core::iter::from_fn(move || {
        // SAFETY: a seat stays until its lock, which the caller has, is dropped.
        let seat = unsafe { at.as_ref() }?;
        at = link(seat).load(Order::RELAXED);
        Some(seat)
    })
}

impl<T: Seated> Drop for Roster<T> {
    fn drop(&mut self) {
        let mut at = self.last.load(ROSTER_LOOK);
        // SAFETY: the seats are of the pool, and nobody uses this lock any more.
        while let Some(seat) = unsafe { at.cast_const().as_ref::<'static>() } {
            at = seat.next.load(Order::RELAXED);
            // SAFETY: as above.
            unsafe { T::pool().give(seat) };
        }
    }
}
