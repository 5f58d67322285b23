//! A cache as in many programs: a hash table under one rwlock, a mutex for each bucket's LRU order,
//! and eviction of unused entries.

use super::Outcome;
use super::crowd::{Crowd, Member};
use super::pthread::{Mutex, MutexKind, RwLock};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};
use std::cell::UnsafeCell;
use std::hint::black_box;

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Number of keys
    #[arg(long, value_name = "N", default_value_t = 100_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    keys: u32,
    /// Capacity of the cache in entries
    #[arg(long, value_name = "N", default_value_t = 20_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    room: u32,
    /// Exponent of the Zipf distribution over the keys: 0 for uniform
    #[arg(long, value_name = "S", default_value_t = 0.9, value_parser = skew)]
    skew: f64,
}

/// Entries that share a bucket when the cache is full.
const BUCKET: u32 = 8;

/// Bytes of a value.
const VALUE: usize = 64;

struct CacheEntry {
    key: u64,
    value: [u8; VALUE],
}

struct Bucket {
    mutex: Mutex,
    /// The most recently used first.
    entries: UnsafeCell<Vec<CacheEntry>>,
}

/// Lookups share the rwlock, and reorder one bucket under its mutex. Insertions and their evictions
/// have exclusive access to the table.
struct Cache {
    table: RwLock,
    buckets: Vec<Bucket>,
}

// SAFETY: entries are touched only under the write lock, or under a read lock and
// the bucket's mutex.
unsafe impl Sync for Cache {}

impl Cache {
    fn new(room: u32) -> Result<Self, String> {
        let bucket = || {
            let mutex = Mutex::new(MutexKind::Normal)?;
            let entries = UnsafeCell::new(Vec::with_capacity(BUCKET as usize));
            Ok(Bucket { mutex, entries })
        };
        let buckets: std::io::Result<Vec<Bucket>> =
            (0..room.div_ceil(BUCKET)).map(|_| bucket()).collect();
        Ok(Self {
            table: RwLock::new(),
            buckets: buckets.map_err(|error| format!("cannot create a mutex: {error}"))?,
        })
    }

    fn bucket(&self, key: u64) -> &Bucket {
        let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.buckets[mixed as usize % self.buckets.len()]
    }

    /// The value of `key`, moved to the front of its bucket.
    fn get(&self, key: u64) -> Option<[u8; VALUE]> {
        let bucket = self.bucket(key);
        self.table.reading(|| {
            bucket.mutex.with(|| {
                // SAFETY: a read lock and the bucket's mutex are held.
                let entries = unsafe { &mut *bucket.entries.get() };
                let place = entries.iter().position(|entry| entry.key == key)?;
                entries[..=place].rotate_right(1);
                Some(entries[0].value)
            })
        })
    }

    /// Inserts `key`; in a full bucket, evicts the least recently used entry.
    fn insert(&self, key: u64, value: [u8; VALUE]) {
        let bucket = self.bucket(key);
        self.table.writing(|| {
            // SAFETY: the write lock is held.
            let entries = unsafe { &mut *bucket.entries.get() };
            // Another thread may have inserted it since the lookup failed.
            entries.retain(|entry| entry.key != key);
            entries.truncate(BUCKET as usize - 1);
            entries.insert(0, CacheEntry { key, value });
        });
    }
}

/// Runs the load; an operation is a lookup, including the insertion after a miss.
///
/// # Errors
/// A mutex or a thread cannot be created.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let cache = Cache::new(options.room)?;
    let zipf = Zipf::new(f64::from(options.keys), options.skew)
        .map_err(|error| format!("--skew {}: {error}", options.skew))?;
    // Full from the start, so that short and long runs measure the same.
    for key in (1..=u64::from(options.keys.min(options.room))).rev() {
        cache.insert(key, value_of(key));
    }
    let cache = &cache;
    options.crowd.run(false, |index| {
        let random = SmallRng::seed_from_u64(index as u64);
        Ok(move |member: &mut Member| look_up(cache, zipf, random.clone(), member))
    })
}

fn look_up(cache: &Cache, zipf: Zipf<f64>, mut random: SmallRng, member: &mut Member) {
    loop {
        let key = zipf.sample(&mut random) as u64;
        match cache.get(key) {
            Some(value) => assert_eq!(value[0], value_of(key)[0], "another key's value"),
            None => cache.insert(key, value_of(key)),
        }
        if !member.goes_on() {
            break;
        }
        // The program's use of the value.
        for _ in 0..random.random_range(0..32) {
            black_box(key);
        }
    }
}

fn value_of(key: u64) -> [u8; VALUE] {
    [key as u8; VALUE]
}

fn skew(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(skew) if (0.0..=10.0).contains(&skew) => Ok(skew),
        _ => Err("expected a number from 0 to 10, as in 0.9".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_falls_out() {
        let cache = Cache::new(BUCKET).unwrap();
        for key in 0..u64::from(BUCKET) {
            cache.insert(key, value_of(key));
        }
        assert!(cache.get(0).is_some());
        cache.insert(100, value_of(100));
        assert_eq!(cache.get(0), Some(value_of(0)));
        assert_eq!(cache.get(1), None);
        assert_eq!(cache.get(100), Some(value_of(100)));
    }

    #[test]
    fn a_crowd_finds_its_own_values() {
        let options = Options {
            crowd: Crowd {
                threads: 4,
                seconds: 0.05,
            },
            keys: 200,
            room: 64,
            skew: 0.5,
        };
        assert!(run(&options).unwrap().operations > 0);
    }
}
