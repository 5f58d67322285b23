//! Traits of the crate `serde`: data is serialised and deserialised as without its lock (feature
//! `serde`).
//!
//! ```
//! use cohort::{Mutex, RwLock};
//!
//! let total = Mutex::new(vec![1, 2]);
//! let text = serde_json::to_string(&total).unwrap();
//! assert_eq!(text, "[1,2]");
//! let back: RwLock<Vec<u32>> = serde_json::from_str(&text).unwrap();
//! assert_eq!(*back.read(), [1, 2]);
//! ```

use crate::sync::fair::FairMutex;
use crate::sync::mutex::Mutex;
use crate::sync::reentrant::ReentrantMutex;
use crate::sync::rwlock::RwLock;
use cohort_raw::{RawLock, RawShared, ThreadOblivious};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Blocks until the mutex is locked.
impl<T: ?Sized + Serialize, L: RawLock> Serialize for Mutex<T, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.locking(|data| data.serialize(serializer))
    }
}

impl<'de, T: Deserialize<'de>, L: RawLock> Deserialize<'de> for Mutex<T, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

/// Blocks until the mutex is locked.
impl<T: ?Sized + Serialize> Serialize for FairMutex<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FairMutex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

/// Blocks until the mutex is locked.
impl<T: ?Sized + Serialize, L: RawLock + ThreadOblivious> Serialize for ReentrantMutex<T, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.lock().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>, L: RawLock> Deserialize<'de> for ReentrantMutex<T, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

/// Blocks until the data may be read.
impl<T: ?Sized + Serialize, L: RawShared> Serialize for RwLock<T, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.reading(|data| data.serialize(serializer))
    }
}

impl<'de, T: Deserialize<'de>, L: RawShared> Deserialize<'de> for RwLock<T, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}
