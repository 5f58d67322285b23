//! Checks of the low lock of `a-c-bo-bo`.

use crate::runner::prelude::*;

/// All threads in one cohort, below a lock with exchanges as releases: loom cannot distinguish a
/// plain store from other threads' exchanges that it does not order before it.
pub type OneCohort<Low> = AClof<Low, Bo<MayPark>, Whole, 1, 1>;

looked_for_in!["a_c_bo_bo::", "a_bo::"];

models![quick("a_bo::leaves_what_is_handed_over", SPIN_5, || {
    mutex::lets_go::<OneCohort<ABo<MayPark>>>(2, 1, 1);
})];

on_machine! {
    _ => [few("a_c_bo_bo_lets_go")];
}
