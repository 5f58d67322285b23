//! Checks of sections that run once.

use crate::runner::prelude::*;

models![
    quick("once::park", PARK, || once::is_run_once(2)),
    quick("once::three", PARK_1, || once::is_run_once(3)),
    quick("once::spin", SPIN, || once::is_run_once(2)),
    quick("once::awaited", PARK, || once::is_awaited(2)),
    quick("once::awaited_by_two", PARK_1, || once::is_awaited(3)),
    quick("once::awaited_again", PARK_1, || once::is_awaited_again(2)),
    quick("once::poisoned", PARK, || once::is_run_again(2)),
    quick("once::poisoned_three", PARK_1, || once::is_run_again(3)),
];

on_machine! {
    _ => [|| once::is_run_once(4), || once::is_run_again(4), || once::is_awaited(4)];
}
