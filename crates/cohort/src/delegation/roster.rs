//! Registry of the threads that use one lock: each has its own seat, which it need not return.
//! Combines the request array and the Id manager of Zhang et al. 2017 §3.2.
//!
//! A thread finds its seat by its number, in one of a few short chains. A new thread reuses the
//! seat of an ended thread in its chain. So a lock has about as many seats as it ever had
//! simultaneous users. The number is [the thread's own](thread_number), since the kernel's numbers
//! are reused: a new thread may have the number of an ended one, while a third thread reuses that
//! one's seat.
//!
//! A call marks its seat as *busy* from before its first access to the lock until after its last.
//! So the last user may drop the lock as soon as its section has run: the drop waits for other
//! calls, and their sections have also run.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `chains` | the last seat of each chain | the thread that adds one |
//! | `last` | the last seat of all, for scans | the same |
//! | a seat's `owner` | its thread's number | that thread; a later thread, after its end |
//! | a seat's `says` | its thread's announcement to the lock's servers, read in every scan | that thread, seldom |
//! | a seat's `chained`, `next` | the seat added before it | its first thread, before it publishes the seat |
//! | [`busy`](Seated::busy) | the process of its thread's current call, or 0 | that thread |

use crate::door::{
    AtomicPtr, AtomicU32, AtomicU64, Order, constructor, flaws, generation, has_ended, mutant,
    orders, outlast, repeated, thread_number,
};
use crate::host::Pool;
use core::ptr;

orders! {
    /// Publishes a fresh seat and its links.
    ROSTER_ADD = Release;
    /// Reads them.
    ROSTER_LOOK = Acquire;
    /// Orders a call's end after all its accesses to the lock.
    ROSTER_LEAVE = Release;
    /// Reads that end.
    ROSTER_LEFT = Acquire;
}

flaws! {
    /// Seats are named by the kernel's thread numbers.
    NAME_BY_ID = "roster.name-by-id";
    /// The lock is dropped while another thread's call is about to return.
    DROP_AT_ONCE = "roster.drop-at-once";
}

/// Chains of a lock; threads with consecutive numbers are in different ones.
pub const CHAINS: usize = 16;

/// A lock's data for one thread.
pub trait Seated: Default + Send + Sync + 'static {
    /// The pool of such seats.
    fn pool() -> &'static (impl Pool<Seat<Self>> + 'static);

    /// Initialises the data for the first thread of a new seat.
    fn begin(&self);

    /// Returns whether an ended thread's data is out of use.
    fn is_left(&self) -> bool {
        true
    }

    /// The process of its thread's current call, or 0; on a line that no other thread polls.
    fn busy(&self) -> &AtomicU32;

    /// Resets the data of an ended thread for a new one; acquires its last state.
    fn inherit(&self);
}

/// A thread's seat: first the data that others scan, then its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Seat<T: 'static> {
    owner: AtomicU64,
    chained: AtomicPtr<Seat<T>>,
    next: AtomicPtr<Seat<T>>,
    /// The thread's announcement, read in every scan. On the line of the links, which stays in the
    /// scanning CPUs' caches until the announcement changes.
    says: AtomicU32,
    /// The lock's data for the thread.
    pub own: T,
}

impl<T> Seat<T> {
    /// Returns its thread's announcement.
    #[inline]
    pub fn says(&self) -> u32 {
        self.says.load(Order::RELAXED)
    }

    /// Sets the calling thread's announcement.
    #[inline]
    pub fn say(&self, what: u32) {
        if self.says() != what {
            self.says.store(what, Order::RELAXED);
        }
    }
}

/// A call by a thread with a seat.
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
    /// The call's last access to the lock, which owns the seat.
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

impl<T: Seated> Roster<T> {
    constructor! {
        /// No seats.
        #[inline(always)]
        pub fn new() -> Self {
            Self {
                chains: repeated!(AtomicPtr::null(), CHAINS),
                last: AtomicPtr::null(),
            }
        }
    }
}

impl<T: Seated> Default for Roster<T> {
    #[inline(always)]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Seated> Roster<T> {
    /// Begins a call by the calling thread. Uses the first `chains` chains, the same number each
    /// time.
    #[inline]
    pub fn call(&self, chains: usize) -> Call<'_, T> {
        let seat = self.seat(chains);
        seat.own.busy().store(generation(), Order::RELAXED);
        Call { seat }
    }

    /// The calling thread's seat, as in [`call`](Self::call). Memory of seats stays.
    #[inline]
    pub fn seat(&self, chains: usize) -> &'static Seat<T> {
        let me = thread_number();
        let chain = &self.chains[me as usize % chains];
        let mut seats = from(chain.load(ROSTER_LOOK), |seat| &seat.chained);
        match seats.find(|seat| is_of(seat.owner.load(Order::RELAXED), me)) {
            Some(seat) => seat,
            None => self.join(chain, me),
        }
    }

    /// Finds a free seat for a thread, or adds one.
    #[cold]
    fn join(&self, chain: &AtomicPtr<Seat<T>>, me: u64) -> &'static Seat<T> {
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

    /// Blocks until every call by a thread of this process has ended. The caller drops the lock,
    /// whose users' sections have run.
    pub fn settle(&self) {
        if mutant(flaw::DROP_AT_ONCE) {
            return;
        }
        let here = generation();
        for seat in self.seats() {
            outlast(|| seat.own.busy().load(ROSTER_LEFT) != here);
        }
    }

    /// Iterates over all seats, the newest first.
    #[inline]
    pub fn seats(&self) -> impl Iterator<Item = &Seat<T>> {
        from(self.last.load(ROSTER_LOOK), |seat| &seat.next)
    }
}

/// Returns whether the owner is that thread.
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

/// Iterates over the seats of a list.
#[inline]
fn from<'a, T: 'static>(
    first: *mut Seat<T>,
    link: fn(&Seat<T>) -> &AtomicPtr<Seat<T>>,
) -> impl Iterator<Item = &'a Seat<T>> {
    let mut at = first;
    core::iter::from_fn(move || {
        // SAFETY: a seat stays until its lock, which the caller uses, is dropped.
        let seat = unsafe { at.as_ref() }?;
        at = link(seat).load(Order::RELAXED);
        Some(seat)
    })
}

impl<T: Seated> Drop for Roster<T> {
    fn drop(&mut self) {
        let mut at = self.last.load(ROSTER_LOOK);
        // SAFETY: the seats are of the pool, and the lock has no users left.
        while let Some(seat) = unsafe { at.cast_const().as_ref::<'static>() } {
            at = seat.next.load(Order::RELAXED);
            // SAFETY: as above.
            unsafe { T::pool().give(seat) };
        }
    }
}
