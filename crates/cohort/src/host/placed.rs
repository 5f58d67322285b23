//! Nodes that belong to a part of the machine: those of two NUMA nodes never share a page,
//! which the kernel puts into the memory of the thread that touches it first (Dice et al. 2015
//! §7).

use super::{Arena, Pool};
use crate::door::{Level, cohort, constructor};

/// NUMA nodes that have pages of their own; more of them share.
const PLACES: usize = 8;

/// A store of nodes that are seldom taken, and stay where they were taken first.
#[derive(Debug)]
pub struct Placed<T> {
    places: [Arena<T>; PLACES],
}

impl<T: Default + 'static> Placed<T> {
    constructor! {
        /// Nothing yet.
        #[must_use]
        pub fn new() -> Self {
            Self {
                places: [
                    Arena::bare(),
                    Arena::bare(),
                    Arena::bare(),
                    Arena::bare(),
                    Arena::bare(),
                    Arena::bare(),
                    Arena::bare(),
                    Arena::bare(),
                ],
            }
        }
    }

    /// The place that has that node.  That there is one is not said by `expect`, which takes what
    /// formats a text along.
    fn place_of(&self, node: &'static T) -> usize {
        let place = self.places.iter().position(|place| place.has(node));
        place.unwrap_or_else(|| unreachable!("a node is of one place"))
    }
}

impl<T: Default + 'static> Default for Placed<T> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: each node is one of an arena's, which hands it out once.
unsafe impl<T: Default + Send + 'static> Pool<T> for Placed<T> {
    fn take(&self) -> &'static T {
        self.places[cohort(Level::Numa) % PLACES].take_uncached()
    }

    unsafe fn give(&self, node: &'static T) {
        let place = &self.places[self.place_of(node)];
        // SAFETY: the caller's; the node is that place's.
        unsafe { place.give_uncached(node) };
    }

    fn number(&self, node: &'static T) -> u32 {
        let place = self.place_of(node);
        self.places[place].number(node) * PLACES as u32 + place as u32
    }

    unsafe fn at(&self, number: u32) -> &'static T {
        let place = &self.places[number as usize % PLACES];
        // SAFETY: the caller's.
        unsafe { place.at(number / PLACES as u32) }
    }

    fn bytes(&self) -> usize {
        self.places.iter().map(Pool::bytes).sum()
    }
}
