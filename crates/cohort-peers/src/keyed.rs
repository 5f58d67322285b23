//! Locks that are found by keys: ours by GLS, others in a concurrent map.

use cohort_lab::workloads::Exclusion;
use cohort_lab::workloads::address::{ByAddress, Place};
use cohort_service::gls;
use std::hash::{BuildHasherDefault, Hasher};

/// GLS, as programs in Rust have it.
pub struct Gls;

impl ByAddress for Gls {
    #[inline]
    fn with<R>(&self, place: &Place, section: impl FnOnce() -> R) -> R {
        let _guard = gls::lock(place);
        section()
    }
}

/// Hashes an address as GLS does, by one multiplication: what the maps have otherwise withstands
/// keys that somebody has chosen to collide, and takes longer.
#[derive(Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    #[inline]
    fn write_usize(&mut self, key: usize) {
        let product = (self.0 ^ key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Some maps go by the low bits, which addresses leave zero.
        self.0 = product ^ (product >> 32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

type Mixed = BuildHasherDefault<Mixer>;

/// A map from addresses to locks, which stay where they are, so that nobody needs the map while
/// it has a lock.
pub trait Map<L: 'static>: Default + Sync {
    /// A key's lock.
    fn find(&self, key: usize) -> Option<&'static L>;

    /// Puts in a key's lock, if it has none yet.
    fn put(&self, key: usize, lock: &'static L);
}

/// A `papaya` map.
pub type Papaya<L> = papaya::HashMap<usize, &'static L, Mixed>;

impl<L: Sync + 'static> Map<L> for Papaya<L> {
    #[inline]
    fn find(&self, key: usize) -> Option<&'static L> {
        self.pin().get(&key).copied()
    }

    fn put(&self, key: usize, lock: &'static L) {
        self.pin().get_or_insert(key, lock);
    }
}

/// The map of `scc` in which readers write nothing.
pub type Scc<L> = scc::HashIndex<usize, &'static L, Mixed>;

impl<L: Sync + 'static> Map<L> for Scc<L> {
    #[inline]
    fn find(&self, key: usize) -> Option<&'static L> {
        self.peek_with(&key, |_, lock| *lock)
    }

    fn put(&self, key: usize, lock: &'static L) {
        // It is there already, or it is now.
        let _ = self.insert_sync(key, lock);
    }
}

/// A `dashmap` map.
pub type Dashmap<L> = dashmap::DashMap<usize, &'static L, Mixed>;

impl<L: Sync + 'static> Map<L> for Dashmap<L> {
    #[inline]
    fn find(&self, key: usize) -> Option<&'static L> {
        self.get(&key).map(|found| *found)
    }

    fn put(&self, key: usize, lock: &'static L) {
        self.entry(key).or_insert(lock);
    }
}

/// Locks in a map, made when their keys are first used, and kept.
pub struct Mapped<M, L> {
    map: M,
    make: fn() -> Result<L, String>,
}

impl<M: Map<L>, L: 'static> Mapped<M, L> {
    /// An empty map, for which such locks are made.
    pub fn new(make: fn() -> Result<L, String>) -> Self {
        Self {
            map: M::default(),
            make,
        }
    }

    #[cold]
    fn put(&self, key: usize) -> &'static L {
        let lock = (self.make)().unwrap_or_else(|why| panic!("{why}"));
        self.map.put(key, Box::leak(Box::new(lock)));
        self.map.find(key).expect("nobody removes a key")
    }
}

impl<M: Map<L>, L: Exclusion<Token = ()> + 'static> ByAddress for Mapped<M, L> {
    #[inline]
    fn with<R: Send>(&self, place: &Place, section: impl FnOnce() -> R + Send) -> R {
        let key = place.address();
        let lock = self.map.find(key).unwrap_or_else(|| self.put(key));
        lock.with(&mut (), section)
    }
}
