//! Whether an edge stands, and which threads do what it says, while others strike out edges that say
//! no more than another.
//!
//! Nobody waits here, and what a thread did is never lost.  Two pairs of steps are at stake, each with
//! a sequentially consistent fence between the two, so that of any two threads one sees the other:
//!
//! - A thread writes itself into an edge and then reads the edge's key ([`Standing::add`]); another
//!   writes [`STRIKING`] there and then reads the threads.  Either the second sees a thread that the
//!   edge which is to stay lacks, and puts the key back, or the first sees that the key has gone, and
//!   looks for another place.
//! - Two edges may say the same, by the same threads.  Two threads that would strike out one of the two
//!   each have both written [`STRIKING`] before they read the key of the edge that stays: at least one
//!   of them finds it gone, and puts its own back.
//!
//! An edge that stays may be struck out later, by one that says all it does, and so all that those did
//! which it stood for.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `key` | a thread that writes an edge down here, or strikes it out | what the edge says, as an odd number; [`NEW`], [`STRIKING`] or [`STRUCK`] |
//! | `makers` | each thread, in a place that is free; the one that has written [`STRIKING`] empties them | the threads that do what it says; then zeroes |

use crate::door::{AtomicU32, AtomicU64, Order, fence, flaws, mutant, orders};

orders! {
    /// A thread that finds an edge's key finds its places for threads as they were made empty for
    /// it, before a fence.
    STANDING_SEEN = Acquire;
    /// Of two threads that each write here and read what the other wrote, one sees the other; and
    /// what comes before it is seen by a thread that sees the key that comes behind it.
    STANDING_AGREE = SeqCst;
}

flaws! {
    BLIND = "standing.blind";
    CARELESS = "standing.careless";
    HASTY = "standing.hasty";
}

/// No edge was ever here.
pub const NEW: u64 = 0;
/// A key while an edge is struck out or makes room for another: no edge's.
pub const STRIKING: u64 = 2;
/// The edge is struck out.
pub const STRUCK: u64 = 4;

/// Whether an edge stands, and so many threads that do what it says; all zero when new: none was here.
#[derive(Debug)]
#[repr(C)]
pub struct Standing<const MAKERS: usize> {
    key: AtomicU64,
    makers: [AtomicU32; MAKERS],
}

/// What has become of a thread that does what an edge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It was known, or all places are others'.
    Before,
    /// It is known from now on.
    Now,
    /// Another edge has got the place meanwhile.
    Nowhere,
}

impl<const MAKERS: usize> Default for Standing<MAKERS> {
    fn default() -> Self {
        Self {
            key: AtomicU64::default(),
            makers: core::array::from_fn(|_| AtomicU32::default()),
        }
    }
}

impl<const MAKERS: usize> Standing<MAKERS> {
    /// What the edge says; [`NEW`], [`STRIKING`] or [`STRUCK`].
    #[inline]
    pub fn key(&self) -> u64 {
        self.key.load(STANDING_SEEN)
    }

    /// The threads that do what it says; then zeroes.
    #[inline]
    pub fn makers(&self) -> [u32; MAKERS] {
        self.makers
            .each_ref()
            .map(|maker| maker.load(Order::RELAXED))
    }

    /// Takes the place, whose key was `known`, for an edge of that key, which `maker` does; what is
    /// there otherwise is emptied by `empty`.  False if another thread was first.
    pub fn take(&self, known: u64, key: u64, maker: u32, empty: impl FnOnce()) -> bool {
        let is_new = known == NEW;
        // A thread that finds its key here writes itself in, so the place has to be empty first.
        let first = if is_new || mutant(flaw::HASTY) {
            key
        } else {
            STRIKING
        };
        if !self.goes_on(known, first) {
            return false;
        }
        if !is_new {
            self.empty();
            empty();
        }
        // With a fence, since there is room.
        self.add(first, maker);
        if !is_new {
            self.key.store(key, Order::RELAXED);
        }
        true
    }

    /// Notes that a thread does what the edge says, which has that key.
    pub fn add(&self, key: u64, thread: u32) -> Noted {
        for place in &self.makers {
            let known = match place.load(Order::RELAXED) {
                0 => place
                    .compare_exchange(0, thread, Order::RELAXED, Order::RELAXED)
                    .err(),
                known => Some(known),
            };
            if known.is_none() {
                fence(STANDING_AGREE);
                if self.key() != key && !mutant(flaw::BLIND) {
                    let _ = place.compare_exchange(thread, 0, Order::RELAXED, Order::RELAXED);
                    return Noted::Nowhere;
                }
                return Noted::Now;
            }
            if known == Some(thread) {
                return Noted::Before;
            }
        }
        Noted::Before
    }

    /// Strikes the edge out, whose key is `known`, if `by`, which has the key `key`, stands and says all
    /// that this does by threads of which `covers` says whether those of this one are among them; what
    /// is there otherwise is emptied by `empty`.
    pub fn strike(
        &self,
        known: u64,
        by: (&Self, u64),
        covers: impl Fn(&[u32; MAKERS]) -> bool,
        empty: impl FnOnce(),
    ) -> bool {
        let (by, key) = by;
        if !self.goes_on(known, STRIKING) {
            return false;
        }
        fence(STANDING_AGREE);
        let strikes = covers(&by.makers()) && (by.key() == key || mutant(flaw::CARELESS));
        if strikes {
            self.empty();
            empty();
            fence(STANDING_AGREE);
            self.key.store(STRUCK, Order::RELAXED);
        } else {
            // It goes on as it was written, with which nothing but exchanges came between.
            self.key.swap(known, Order::RELAXED);
        }
        strikes
    }

    /// Goes on from one key to another; false if that one is not there any more.
    fn goes_on(&self, from: u64, to: u64) -> bool {
        self.key
            .compare_exchange(from, to, Order::RELAXED, Order::RELAXED)
            .is_ok()
    }

    fn empty(&self) {
        for maker in &self.makers {
            maker.store(0, Order::RELAXED);
        }
    }
}
