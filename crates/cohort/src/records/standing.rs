//! Whether an edge stands, and which threads do what it says, while others strike out edges that say
//! no more than another.
//!
//! Nobody waits here, and what a thread did is never lost.  Two pairs of steps are at stake, each with
//! a sequentially consistent fence between the two, so that of any two threads one sees the other:
//!
//! - A thread writes itself into an edge and then reads the edge's key ([`Standing::add`]); another,
//!   which strikes the edge out or takes its place, writes [`STRIKING`] there and then reads the
//!   threads.  Either the second sees a thread that the edge which is to stay lacks, and puts the key
//!   back, or the first sees that the key has gone, and looks for another place.
//! - Two edges may say the same, by the same threads.  Two threads that would strike out one of the two
//!   each have both written [`STRIKING`] before they read the key of the edge that stays: at least one
//!   of them finds it gone, and puts its own back.
//!
//! An edge that stays may be struck out later, by one that says all it does, and so all that those did
//! which it stood for.
//!
//! A thread that finds that an edge says all it does itself writes nothing down.  What it has read of the
//! edge it believes only if the key is the same afterwards ([`Standing::says`]).
//!
//! A thread that comes too late writes itself into the edge that has got the place, until it sees the
//! key.  Meanwhile it is marked as [`COMING`]: an edge for which it is about to stand is not struck
//! out, and none is struck out for what it has not done.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `key` | a thread that writes an edge down here, or strikes it out | what the edge says, as an odd number; [`NEW`], [`STRIKING`] or [`STRUCK`] |
//! | `makers` | each thread, in a place that is free; the one that has written [`STRIKING`] empties them | the threads that do what it says, or are [`COMING`]; 0: free |

use crate::door::{AtomicU32, AtomicU64, Order, fence, flaws, mutant, orders};

orders! {
    /// A thread that finds an edge's key finds its places for threads as they were made empty for
    /// it, before a fence.
    STANDING_SEEN = Acquire;
    /// Of two threads that each write here and read what the other wrote, one sees the other; and
    /// what comes before it is seen by a thread that sees the key that comes behind it.
    STANDING_AGREE = SeqCst;
    /// A thread that reads of another edge than it meant sees that the key has gone, which was
    /// before a fence.
    STANDING_READ = Acquire;
}

flaws! {
    BLIND = "standing.blind";
    CARELESS = "standing.careless";
    HASTY = "standing.hasty";
    RASH = "standing.rash";
    SURE = "standing.sure";
    TRUST = "standing.trust";
}

/// No edge was ever here.
pub const NEW: u64 = 0;
/// A key while an edge is struck out or makes room for another: no edge's.
pub const STRIKING: u64 = 2;
/// The edge is struck out.
pub const STRUCK: u64 = 4;

/// Beside a thread that has not seen yet whether the edge is still the one that it means.
pub const COMING: u32 = 1 << 31;

/// Whether a place is that of a thread which does what the edge says.
#[must_use]
pub const fn is_settled(maker: u32) -> bool {
    maker != 0 && maker & COMING == 0
}

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
    /// Another edge has got the place meanwhile, or may, or a thread has not seen yet whether it keeps
    /// the last one for threads.
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

    /// The threads that do what it says, or are [`COMING`]; 0 where there is none.
    #[inline]
    pub fn makers(&self) -> [u32; MAKERS] {
        self.makers
            .each_ref()
            .map(|maker| maker.load(Order::RELAXED))
    }

    /// Whether the edge, which has that key, `says` something by what is read of it here and of the
    /// threads that do it.  What is read of two edges, one of which has got the other's place meanwhile,
    /// says nothing.
    pub fn says(&self, key: u64, says: impl FnOnce(&[u32; MAKERS]) -> bool) -> bool {
        if !says(&self.makers()) {
            return false;
        }
        fence(STANDING_READ);
        self.key() == key || mutant(flaw::TRUST)
    }

    /// Takes the place, which had the key `known`, for an edge of that key, which `maker` does; what is
    /// there otherwise is emptied by `empty`.  False if another thread was first, or if the threads
    /// that do what the place's edge says are not such that it `may` go: all that do so are among them.
    pub fn take(
        &self,
        known: u64,
        key: u64,
        maker: u32,
        may: impl FnOnce(&[u32; MAKERS]) -> bool,
        empty: impl FnOnce(),
    ) -> bool {
        if known == NEW {
            let is_taken = self.goes_on(NEW, key);
            if is_taken {
                self.add(key, maker);
            }
            return is_taken;
        }
        // A thread that finds its key here writes itself in, so the place has to be empty first.
        let is_hasty = mutant(flaw::HASTY);
        if !self.goes_on(known, if is_hasty { key } else { STRIKING }) {
            return false;
        }
        fence(STANDING_AGREE);
        if !may(&self.makers()) && !mutant(flaw::RASH) {
            self.put_back(known);
            return false;
        }
        self.empty();
        empty();
        // Past one that comes too late, if need be: that leaves anyway.
        self.makers[0].swap(maker, Order::RELAXED);
        fence(STANDING_AGREE);
        self.key.store(key, Order::RELAXED);
        true
    }

    /// Notes that a thread does what the edge says, which has that key.
    pub fn add(&self, key: u64, thread: u32) -> Noted {
        let comes = if mutant(flaw::SURE) {
            thread
        } else {
            thread | COMING
        };
        let mut is_full = true;
        for place in &self.makers {
            let goes_on =
                |from, to| place.compare_exchange(from, to, Order::RELAXED, Order::RELAXED);
            let known = match place.load(Order::RELAXED) {
                0 => goes_on(0, comes).err(),
                known => Some(known),
            };
            let Some(known) = known else {
                fence(STANDING_AGREE);
                let stays = self.key() == key || mutant(flaw::BLIND);
                // The place may be emptied all the same, with an edge that is left out.
                let is_noted = goes_on(comes, if stays { thread } else { 0 }).is_ok();
                return if stays && is_noted {
                    Noted::Now
                } else {
                    Noted::Nowhere
                };
            };
            if known == thread {
                return Noted::Before;
            }
            is_full &= is_settled(known);
        }
        // The threads that fill it may be another edge's by now.
        fence(STANDING_AGREE);
        if is_full && self.key() == key {
            Noted::Before
        } else {
            Noted::Nowhere
        }
    }

    /// Strikes the edge out, which has the key `known`, if `by`, which has the key `key`, stands and says
    /// all that this does by threads of which `covers` says whether those of this one are among them; what
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
            self.put_back(known);
        }
        strikes
    }

    /// Ends the striking of an edge that stays: it goes on as it was written, with which nothing but
    /// exchanges came between.
    fn put_back(&self, known: u64) {
        self.key.swap(known, Order::RELAXED);
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
