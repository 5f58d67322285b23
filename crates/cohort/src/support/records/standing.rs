//! Whether an edge stands, and its makers: the threads that do what it says. Meanwhile other
//! threads may strike out redundant edges.
//!
//! No thread waits here, and no maker is lost. Two agreements rely on a sequentially consistent
//! fence between a write and a read, so that of any two threads one sees the other:
//!
//! - A thread writes itself into an edge and then reads the edge's key ([`Standing::add`]).
//!   Another, which strikes the edge out or takes its place, writes [`STRIKING`] there and then
//!   reads the makers. Either the second sees a maker that the remaining edge lacks, and puts the
//!   key back; or the first sees that the key is gone, and looks for another place.
//! - Two edges may say the same, by the same makers. Two threads that each would strike out one of
//!   them have both written [`STRIKING`] before they read the key of the other edge: at least one
//!   finds it gone, and puts its own back.
//!
//! An edge that stays may be struck out later, by an edge that covers it, and so covers all edges
//! that it stood for.
//!
//! A thread that finds its acquisition covered by an edge writes nothing. It trusts what it has
//! read of the edge only if the key is the same afterwards ([`Standing::says`]).
//!
//! A thread that is too late writes itself into the place's next edge, until it sees the key.
//! Meanwhile it is marked as [`COMING`]: such an edge is not struck out, and a thread so marked is
//! no reason to strike out another edge.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `key` | the writer or striker of an edge | the edge, odd; [`NEW`], [`STRIKING`] or [`STRUCK`] |
//! | `makers` | each thread in a free place; the striker | the makers, some still [`COMING`]; 0: free |

use crate::door::{AtomicU32, AtomicU64, Order, fence, flaws, mutant, orders};

orders! {
    /// A thread that sees an edge's key sees the places for makers as they were emptied for the
    /// edge, before a fence.
    STANDING_SEEN = Acquire;
    /// Of two threads that each write here and read the other's write, one sees the other. Writes
    /// before the fence are visible to a thread that sees the key written after it.
    STANDING_AGREE = SeqCst;
    /// A thread that reads another edge than intended sees that the key is gone, which was before a
    /// fence.
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
/// The key while an edge is struck out or makes room for another.
pub const STRIKING: u64 = 2;
/// The edge is struck out.
pub const STRUCK: u64 = 4;

/// Mark of a thread that has not yet checked whether its edge is still there.
pub const COMING: u32 = 1 << 31;

/// Whether a place belongs to a settled maker.
#[must_use]
pub const fn is_settled(maker: u32) -> bool {
    maker != 0 && maker & COMING == 0
}

/// Whether an edge stands, and its makers; all zero when new: no edge yet.
#[derive(Debug)]
#[repr(C)]
pub struct Standing<const MAKERS: usize> {
    key: AtomicU64,
    makers: [AtomicU32; MAKERS],
}

/// The result of [`Standing::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// The maker was known, or all places are taken.
    Before,
    /// The maker is known from here on.
    Now,
    /// The place belongs, or may belong, to another edge; or a thread has not yet settled in the
    /// last free place.
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
    /// The edge's key; or [`NEW`], [`STRIKING`] or [`STRUCK`].
    #[inline]
    pub fn key(&self) -> u64 {
        self.key.load(STANDING_SEEN)
    }

    /// The makers, some still [`COMING`]; 0: free.
    #[inline]
    pub fn makers(&self) -> [u32; MAKERS] {
        self.makers
            .each_ref()
            .map(|maker| maker.load(Order::RELAXED))
    }

    /// Whether the edge with that key `says` something, by its fields and its makers. A mixture of
    /// two edges, when one has taken the other's place meanwhile, says nothing.
    pub fn says(&self, key: u64, says: impl FnOnce(&[u32; MAKERS]) -> bool) -> bool {
        if !says(&self.makers()) {
            return false;
        }
        fence(STANDING_READ);
        self.key() == key || mutant(flaw::TRUST)
    }

    /// Takes the place, which had the key `known`, for an edge with the key `key`, made by `maker`;
    /// `empty` clears the edge's other fields. False if another thread was first, or if the old
    /// edge's makers are not such that it `may` go.
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
        // A thread that finds its key here writes itself in, so the place must be empty first.
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
        // Overwrites a thread that is too late, which leaves anyway.
        self.makers[0].swap(maker, Order::RELAXED);
        fence(STANDING_AGREE);
        self.key.store(key, Order::RELAXED);
        true
    }

    /// Adds a maker to the edge with that key.
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
        // The makers may be another edge's by now.
        fence(STANDING_AGREE);
        if is_full && self.key() == key {
            Noted::Before
        } else {
            Noted::Nowhere
        }
    }

    /// Strikes out the edge with the key `known`, if the edge `by`, with the key `key`, stands and
    /// `covers` this edge's makers; `empty` clears the edge's other fields.
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

    /// Ends the striking of an edge that stays: exchanges alone have intervened, so it is as
    /// written.
    fn put_back(&self, known: u64) {
        self.key.swap(known, Order::RELAXED);
    }

    /// Replaces one key by another; false if the first is gone.
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
