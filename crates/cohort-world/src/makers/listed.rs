//! The locks of the catalogue.

use super::locks::for_each_lock;
use crate::raw::lock_maker;

for_each_lock!(lock_maker);
