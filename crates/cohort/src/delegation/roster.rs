//! The threads that use one lock, each with a seat of its own there, which nobody has to give
//! back: Zhang et al. 2017 §3.2's request array and Id manager in one.
//!
//! A thread finds its seat again by its number, in one of a few short chains.  The seat of a
//! thread that is no more is taken by the next one of that chain that has none; so a lock has
//! about as many seats as threads ever used it at once, whatever came and went.  The number is
//! [the thread's own](thread_number): a new thread has the kernel's number of an ended one, whose
//! seat a third thread may be taking.
//!
//! A call marks its seat as *busy* from before it first touches the lock until after it last does.
//! So the last user may drop the lock as soon as its section has run: the drop waits for other calls,
//! whose sections have run too and which are about to return.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `chains` | the last seat of each chain | the thread that adds one |
//! | `last` | the last seat of all, for threads that look through them | the same |
//! | a seat's `owner` | its thread's number | that thread; a later one that finds it gone |
//! | a seat's `says` | what the lock's servers are to know of its thread at every look | that thread, seldom |
//! | a seat's `chained`, `next` | the seat that was there before it | the first of them, before others see it |
//! | [`busy`](Seated::busy) | the process in which its thread is in a call, or 0 if it is in none | that thread |

use crate::door::{
    AtomicPtr, AtomicU32, AtomicU64, Order, flaws, generation, has_ended, mutant, orders, outlast,
    repeated, thread_number,
};
use crate::host::Pool;
use core::ptr;

orders! {
    /// Publishes a fresh seat, with the links behind it.
    ROSTER_ADD = Release;
    /// Sees it.
    ROSTER_LOOK = Acquire;
    /// The end of a call comes after all that it did to the lock.
    ROSTER_LEAVE = Release;
    /// Sees all of that.
    ROSTER_LEFT = Acquire;
}

flaws! {
    /// A seat is named by the kernel's number of its thread.
    NAME_BY_ID = "roster.name-by-id";
    /// The lock is dropped while a call of another thread is about to return.
    DROP_AT_ONCE = "roster.drop-at-once";
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

    /// In which process its thread is in a call, or 0: on a line that no other thread looks at again and again.
    fn busy(&self) -> &AtomicU32;

    /// Makes it another thread's, since the one that had it last is no more; sees what was done
    /// to it.
    fn inherit(&self);
}

/// A thread's seat: what is read again and again, and then its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Seat<T: 'static> {
    owner: AtomicU64,
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

/// A call of a thread that has a seat.
pub struct Call<'a, T: Seated> {
    seat: &'a Seat<T>,
}

impl<T: Seated> core::ops::Deref for Call<'_, T> {
    type Target = Seat<T>;

    #[inline]
    fn deref(&self) -> &Seat<T> {
        self.seat
    }
}

impl<T: Seated> Drop for Call<'_, T> {
    /// The last that the call does to the lock, of which the seat is a part no longer than until here.
    #[inline]
    fn drop(&mut self) {
        self.seat.own.busy().store(0, ROSTER_LEAVE);
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
    /// Begins a call of the calling thread, in the first `chains` chains: the same number each time.
    #[inline]
    pub fn call(&self, chains: usize) -> Call<'_, T> {
        let seat = self.seat(chains);
        seat.own.busy().store(generation(), Order::RELAXED);
        Call { seat }
    }

    /// The calling thread's seat, as in [`call`](Self::call).
    #[inline]
    pub fn seat(&self, chains: usize) -> &Seat<T> {
        let me = thread_number();
        let chain = &self.chains[me as usize % chains];
        let mut seats = from(chain.load(ROSTER_LOOK), |seat| &seat.chained);
        match seats.find(|seat| is_of(seat.owner.load(Order::RELAXED), me)) {
            Some(seat) => seat,
            None => self.join(chain, me),
        }
    }

    /// A seat for a thread that has none.
    #[cold]
    fn join(&self, chain: &AtomicPtr<Seat<T>>, me: u64) -> &Seat<T> {
        for seat in from(chain.load(ROSTER_LOOK), |seat| &seat.chained) {
            let owner = seat.owner.load(Order::RELAXED);
            if has_ended(owner)
                && seat.own.is_left()
                && seat
                    .owner
                    .compare_exchange(owner, me, Order::RELAXED, Order::RELAXED)
                    .is_ok()
            {
                seat.own.busy().store(0, Order::RELAXED);
                seat.own.inherit();
                return seat;
            }
        }
        let seat = T::pool().take();
        seat.owner.store(me, Order::RELAXED);
        seat.own.busy().store(0, Order::RELAXED);
        seat.own.begin();
        add(chain, seat, &seat.chained);
        add(&self.last, seat, &seat.next);
        seat
    }

    /// Blocks until every call of a thread of this process has ended: the caller drops the lock, whose
    /// users' sections have run.
    pub fn settle(&self) {
        if mutant(flaw::DROP_AT_ONCE) {
            return;
        }
        let here = generation();
        for seat in self.seats() {
            outlast(|| seat.own.busy().load(ROSTER_LEFT) != here);
        }
    }

    /// Every seat there is, the newest first.
    #[inline]
    pub fn seats(&self) -> impl Iterator<Item = &Seat<T>> {
        from(self.last.load(ROSTER_LOOK), |seat| &seat.next)
    }
}

/// Whether that owner is that thread.
#[inline]
fn is_of(owner: u64, thread: u64) -> bool {
    if mutant(flaw::NAME_BY_ID) {
        let id = |number| number & ((1 << crate::door::ID_BITS) - 1);
        return id(owner) == id(thread);
    }
    owner == thread
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
