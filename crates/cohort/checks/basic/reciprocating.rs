//! Checks of `reciprocating`.

use crate::runner::prelude::*;

impl Checked for Reciprocating {
    type Smallest = Self;
}

models![
    quick("reciprocating::turns", SPIN, || {
        mutex::takes_turns::<Reciprocating<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("reciprocating::queues", SPIN_0, || {
        mutex::queues::<Reciprocating<SpinOnly>, _>([2, 1, 1, 1]);
    }),
];

on_machine! {
    _ => [|| mutex::excludes::<Reciprocating>(4, 4, 0)];
}
