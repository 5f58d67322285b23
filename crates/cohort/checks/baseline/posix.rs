//! Checks of the C library's mutex.

use crate::runner::prelude::*;

models![
    quick("posix::park", PARK, || mutex::excludes::<Posix>(3, 1, 0)),
    quick("posix::try", PARK, || mutex::excludes::<Posix>(3, 1, 2)),
    quick("posix::again", PARK, || mutex::excludes::<Posix>(2, 2, 0)),
    quick("posix::timed", PARK, || mutex::lets_go::<Posix>(3, 1, 1)),
    quick("posix::adaptive", PARK, || {
        mutex::excludes::<Posix<1>>(3, 1, 0)
    }),
    quick("posix::destroyed", PARK, || {
        destroy::is_destroyed::<Posix>(2)
    }),
];

on_machine! {
    _ => [|| mutex::excludes::<Posix>(3, 2, 0)];
}
