//! Checks of the C library's rwlock.

use crate::runner::prelude::*;

looked_for_in!["posix_rwlock::", "posix_rwlock_w::"];

models![
    quick("posix_rwlock::reader", PARK, || {
        rwlock::shares::<PosixRwLock>(2, 1, 1, 0)
    }),
    quick("posix_rwlock::readers", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 1, 1, 0)
    }),
    lighter("posix_rwlock::writers", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 2, 1, 0)
    }),
    quick("posix_rwlock::again", PARK, || {
        rwlock::shares::<PosixRwLock>(2, 1, 2, 0)
    }),
    quick("posix_rwlock::try", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 1, 1, 2)
    }),
    quick("posix_rwlock::try_write", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 3, 1, 1)
    }),
    lighter("posix_rwlock_w::readers", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(3, 1, 1, 0)
    }),
    deep("posix_rwlock_w::writers", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(3, 2, 1, 0)
    }),
    lighter("posix_rwlock_w::three_writers", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(3, 3, 1, 0)
    }),
    quick("posix_rwlock_w::again", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(2, 1, 2, 0)
    }),
];

on_machine! {
    _ => [few("posix_readers_share"), few("posix_writers_come_first")];
}
