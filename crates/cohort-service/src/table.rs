//! The table of the locks of all addresses.

use crate::lock::Lock;
use cohort::host::Arena;
use cohort::service::{Bucket, KeyedLock, Table};

static ENTRIES: Arena<KeyedLock<Lock>> = Arena::new(11);
static BUCKETS: Arena<Bucket<Lock>> = Arena::new(12);

/// Each thread's last entry goes to the one cache without a pool.
pub static TABLE: Table<Lock, &Arena<KeyedLock<Lock>>, &Arena<Bucket<Lock>>> =
    Table::new(13, &ENTRIES, &BUCKETS);
