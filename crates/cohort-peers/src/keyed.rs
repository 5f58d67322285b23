//! Locks found by keys: Cohort's by GLS, others in a concurrent map.

use cohort_lab::workloads::Exclusion;
use cohort_lab::workloads::address::{ByAddress, GlkObject};
use cohort_service::gls;
use std::hash::{BuildHasherDefault, Hasher};

/// GLS, as in Rust programs.
pub struct Gls;

impl ByAddress for Gls {
    #[inline]
    fn with<R>(&self, place: &GlkObject, section: impl FnOnce() -> R) -> R {
        let _guard = gls::lock(place);
        section()
    }
}

/// Hashes an address as GLS does, by one multiplication. The maps' default hashers resist colliding
/// keys chosen by an attacker, and are slower.
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
        // Some maps use the low bits, which are zero in addresses.
        self.0 = product ^ (product >> 32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

type Mixed = BuildHasherDefault<Mixer>;

/// A map from addresses to locks. Locks do not move, so a held lock needs no access to the map.
pub trait Map<L: 'static>: Default + Sync {
    /// A key's lock.
    fn find(&self, key: usize) -> Option<&'static L>;

    /// Inserts a key's lock, if it has none yet.
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

/// The map of `scc` with read operations that write nothing.
pub type Scc<L> = scc::HashIndex<usize, &'static L, Mixed>;

impl<L: Sync + 'static> Map<L> for Scc<L> {
    #[inline]
    fn find(&self, key: usize) -> Option<&'static L> {
        self.peek_with(&key, |_, lock| *lock)
    }

    fn put(&self, key: usize, lock: &'static L) {
        // The key is present afterwards in either case.
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

/// Locks in a map, created at the first use of their keys, and kept.
pub struct Mapped<M, L> {
    map: M,
    make: fn() -> Result<L, String>,
}

impl<M: Map<L>, L: 'static> Mapped<M, L> {
    /// An empty map, with a constructor for its locks.
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
        self.map.find(key).expect("keys are never removed")
    }
}

impl<M: Map<L>, L: Exclusion<Token = ()> + 'static> ByAddress for Mapped<M, L> {
    #[inline]
    fn with<R: Send>(&self, place: &GlkObject, section: impl FnOnce() -> R + Send) -> R {
        let key = place.address();
        let lock = self.map.find(key).unwrap_or_else(|| self.put(key));
        lock.with(&mut (), section)
    }
}
