//! Checks of observers that start and stop while a thread records.

use crate::runner::prelude::*;

models![quick("watch::come_and_go", SPIN_5, || watch::come_and_go(
    2
)),];
