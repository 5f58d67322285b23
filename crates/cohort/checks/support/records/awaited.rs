//! Checks of waits that are read while they change.

use crate::runner::prelude::*;

models![quick("awaited::waits_are_whole", SPIN, || {
    records::waits_are_whole(2)
}),];

on_machine! {
    _ => [|| records::waits_are_whole(4)];
}
