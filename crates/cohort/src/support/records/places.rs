//! Places of a lock and a site in the table of all threads' counts.
//!
//! Adjacent locks have adjacent counts, for each site separately. A program that cycles through an
//! array of thousands of locks so touches a few dozen pages of the table. A hash would touch
//! another page each time, and have each allocated first.

use super::COUNTS;

/// How many places are tried one after the other.
const NEAR: usize = 8;

/// How many more, if those are taken: far from each other, since that region is full.
const FAR: usize = 16;

/// Bytes of the program's memory per place, as a power of two: locks are a little longer.
const LENGTH: u32 = 5;

/// Bytes of memory with a place for each lock in it, as a power of two.
const REGION: u32 = COUNTS.ilog2() + LENGTH;

/// A number with lower bits that depend on all bits of another.
#[inline]
#[must_use]
pub const fn mixed(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^ value >> 32
}

/// The candidate places of a lock and a site in [`Records::counts`](super::Records::counts), in the
/// order in which they are tried.
#[inline]
pub fn places(lock: u64, site: u64) -> impl Iterator<Item = usize> {
    let of_site = site.rotate_left(24);
    let first = (lock >> LENGTH).wrapping_add(mixed(lock >> REGION ^ of_site));
    let far = mixed(lock ^ of_site);
    // Odd, so that no place recurs.
    let step = far >> COUNTS.ilog2() | 1;
    let near = (0..NEAR as u64).map(move |place| first.wrapping_add(place));
    let far = (0..FAR as u64).map(move |place| far.wrapping_add(place.wrapping_mul(step)));
    near.chain(far).map(|place| place as usize % COUNTS)
}

#[cfg(all(test, not(checker)))]
mod tests {
    extern crate std;

    use super::super::{Count, Hold, How};
    use super::*;
    use std::collections::HashSet;
    use std::{vec, vec::Vec};

    const PAGE: usize = 4096 / size_of::<Count>();

    /// A table, as threads fill it.
    struct Table {
        places: Vec<Option<(u64, u64)>>,
        /// How many counts found no place, and how many places were tried.
        lost: usize,
        looks: usize,
    }

    impl Table {
        fn new() -> Self {
            Self {
                places: vec![None; COUNTS],
                lost: 0,
                looks: 0,
            }
        }

        fn count(&mut self, lock: u64, site: u64) {
            for place in places(lock, site) {
                self.looks += 1;
                let there = *self.places[place].get_or_insert((lock, site));
                if there == (lock, site) {
                    return;
                }
            }
            self.lost += 1;
        }

        fn pages(&self) -> usize {
            let pages = self.places.chunks(PAGE);
            pages
                .filter(|page| page.iter().any(Option::is_some))
                .count()
        }
    }

    /// Counts of `locks` locks, `apart` bytes apart, at `sites` sites.
    fn filled(locks: u64, apart: u64, sites: u64) -> Table {
        let mut table = Table::new();
        for site in 0..sites {
            let site = Hold::pack(0x5555_5555_8000 + site * 0x123, How::Mutex);
            for lock in 0..locks {
                table.count(0x7fff_f7a0_1028 + lock * apart, site);
            }
        }
        table
    }

    #[test]
    fn locks_of_an_array_have_their_counts_side_by_side() {
        // Three sites that each acquire one of memcached's item locks.
        let table = filled(4096, 40, 3);
        // 160 KB of locks, and a partial page at each end.
        assert!(table.pages() <= 3 * 42, "{}", table.pages());
        assert_eq!(table.lost, 0);
        // Few find another site's count there.
        assert!(table.looks < 3 * 4096 * 11 / 10, "{}", table.looks);
    }

    #[test]
    fn locks_far_from_each_other_find_places_as_well() {
        for apart in [96, 208, 4096, 1 << 16, 1 << 25] {
            let table = filled(500_000, apart, 1);
            assert_eq!(table.lost, 0, "{apart}");
            assert!(table.looks < 2 * 500_000, "{apart}: {}", table.looks);
        }
        let table = filled(300_000, 40, 2);
        assert!(table.lost < 600_000 / 500, "{}", table.lost);
    }

    #[test]
    fn a_table_that_is_nearly_full_loses_little() {
        for (locks, apart, sites) in [(1_000_000, 40, 1), (1_000_000, 64, 1), (300_000, 40, 3)] {
            let table = filled(locks, apart, sites);
            let all = (locks * sites) as usize;
            assert!(table.lost < all / 40, "{locks}, {apart}: {}", table.lost);
        }
    }

    #[test]
    fn each_place_is_looked_at_once() {
        for (lock, site) in [
            (0, 1),
            (u64::MAX, u64::MAX),
            (0x7fff_f7a0_1028, 0x0155_5555_8123),
        ] {
            let all: HashSet<usize> = places(lock, site).collect();
            // The first places may recur once.
            assert!(all.len() >= FAR + NEAR - 1, "{lock:#x}");
            assert!(all.iter().all(|place| *place < COUNTS));
        }
    }
}
