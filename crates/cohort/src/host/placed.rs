//! Nodes with a home NUMA node. Nodes of two NUMA nodes never share a page, which the kernel places
//! in the memory of the first thread to touch it (Dice et al. 2015 §7).

use super::{Arena, Pool};
use crate::door::{Level, cohort, constructor};

/// The number of NUMA nodes with pages of their own; further ones share pages.
const PLACES: usize = 8;

/// A store of rarely taken nodes, which stay on the NUMA node of their first use.
#[derive(Debug)]
pub struct Placed<T> {
    places: [Arena<T>; PLACES],
}

impl<T: Default + 'static> Placed<T> {
    constructor! {
        /// An empty store.
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

    /// The place of that node. Without `expect`, which would link the formatting code.
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

// SAFETY: each node belongs to an arena, which hands it out once.
unsafe impl<T: Default + Send + 'static> Pool<T> for Placed<T> {
    fn take(&self) -> &'static T {
        self.places[cohort(Level::Numa) % PLACES].take_uncached()
    }

    unsafe fn give(&self, node: &'static T) {
        let place = &self.places[self.place_of(node)];
        // SAFETY: the caller's; the node belongs to that place.
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
