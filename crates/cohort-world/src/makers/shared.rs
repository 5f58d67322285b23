//! The reader–writer locks of the catalogue.

use super::locks::for_each_shared;
use crate::raw::shared;
use crate::{Room, Tested};
use cohort::catalogue::find_shared;
use std::sync::Arc;

macro_rules! shared_maker {
    ($($name:ident, $lock:ty, $about:literal, $source:literal;)+) => {
        /// Creates the lock of that name; `None` if the catalogue has none.
        pub fn make(room: &mut dyn Room, name: &str, threads: usize) -> Option<Arc<dyn Tested>> {
            match find_shared(name)?.identifier {
                $(stringify!($name) => Some(shared::<$lock>(room, threads)),)+
                _ => None,
            }
        }
    };
}
for_each_shared!(shared_maker);
