//! Checks of values that are written once.

use crate::runner::prelude::*;

models![
    quick("once_lock::value", PARK, || once::keeps_one_value(2)),
    quick("once_lock::three", PARK_1, || once::keeps_one_value(3)),
    quick("once_lock::again", PARK, || once::is_computed_again(2)),
    quick("once_lock::lazy", PARK, || once::is_computed_once(2)),
];
