//! Checks of the rwlock's bias towards readers.

use crate::clients::rwlock::Biased;
use crate::clients::rwlock::Hold::{
    Reads, ReadsOn, ReadsThenMayWrite, ReadsThenWrites, Writes, WritesForAWhile, WritesThenReads,
    WritesTwice,
};
use crate::runner::prelude::*;

looked_for_in!["biased::", "fork::biased"];

models![
    quick("biased::park", PARK_BIASED, || {
        rwlock::shares::<Biased>(2, 1, 1, 0)
    }),
    lighter("biased::park_among_three", PARK_BIASED, || {
        rwlock::shares::<Biased>(3, 1, 1, 0)
    }),
    quick("biased::spin", SPIN_BIASED, || {
        rwlock::shares::<Biased>(2, 1, 1, 0)
    }),
    quick("biased::again", PARK_BIASED, || {
        rwlock::shares::<Biased>(2, 1, 2, 0)
    }),
    lighter("biased::writers", PARK_BIASED_1, || {
        rwlock::shares::<Biased>(3, 2, 1, 0)
    }),
    quick("biased::begun", PARK_BIASED_1, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    lighter("biased::more_readers_than_slots", PARK_BIASED_1, || {
        rwlock::shares::<Biased>(4, 1, 1, 0)
    }),
    quick("biased::timed_writer", PARK_BIASED, || {
        rwlock::lets_writers_go::<Biased>(2, 1)
    }),
    quick("biased::timed", PARK_BIASED, || {
        rwlock::lets_go::<Biased>(2, 1, 1, 1)
    }),
    quick("biased::try", PARK_BIASED_1, || {
        rwlock::is_tried::<Biased>(3, 1)
    }),
    quick("biased::read_again", COUNTED_BIASED, || {
        rwlock::is_read_again::<Biased>(1)
    }),
    quick("biased::read_again_by_tries", DEFERRED_BIASED, || {
        rwlock::is_read_again_at_last::<Biased>(false, || ())
    }),
    quick("biased::read_beside_another", PARK_BIASED, || {
        rwlock::is_read_beside_another::<Biased>(2, 1)
    }),
    quick("biased::released_by_another", PARK_BIASED_1, || {
        rwlock::is_released_by_another(1, false)
    }),
    quick("biased::released_fairly_by_another", PARK_BIASED_1, || {
        rwlock::is_released_by_another(1, true)
    }),
    quick(
        "biased::released_by_another_meanwhile",
        PARK_BIASED_1,
        || { rwlock::is_released_by_another(2, false) }
    ),
    quick(
        "biased::left_unbiased",
        PARK_BIASED,
        rwlock::is_left_unbiased
    ),
    quick("biased::downgraded", PARK_BIASED, || {
        rwlock::changes_its_hold(&[WritesThenReads, Reads])
    }),
    quick("biased::upgraded", PARK_BIASED, || {
        rwlock::changes_its_hold(&[ReadsThenWrites, Reads])
    }),
    quick("biased::upgraded_in_time", PARK_BIASED, || {
        rwlock::changes_its_hold(&[ReadsThenMayWrite, Reads])
    }),
    quick("biased::upgraded_for_a_while", PARK_BIASED_1, || {
        rwlock::changes_its_hold(&[WritesForAWhile, Reads, Writes])
    }),
    quick("biased::upgradable_read_on", PARK_BIASED_1, || {
        rwlock::changes_its_hold(&[ReadsOn, Reads, Writes])
    }),
    quick("biased::writes_twice", PARK_BIASED_1, || {
        rwlock::changes_its_hold(&[WritesTwice, Reads, Reads])
    }),
    quick("biased::fair", PARK_BIASED_1, || {
        rwlock::shares::<rwlock::Fairly>(3, 1, 1, 0)
    }),
    quick("fork::biased_read", FORK_BIASED_0, || fork::reads(
        fork::biased_word(),
        2
    )),
    quick("fork::biased_written", FORK_BIASED_2, || {
        fork::writes(fork::biased_word(), 2)
    }),
    quick("fork::biased_tried", FORK_BIASED_0, || {
        fork::tries(fork::biased_word(), 2)
    }),
    quick("fork::biased_arrival", FORK_BIASED_2, || {
        fork::meets_an_arrival(fork::biased_word())
    }),
    lighter("fork::biased_written_beside_another", FORK_BIASED_2, || {
        fork::writes_beside_another(fork::biased_word(), fork::attempts)
    }),
    quick("fork::biased_meets_a_reader", FORK_BIASED_2, || {
        fork::meets_a_reader(fork::biased_word())
    }),
];

on_machine! {
    _ => [few("readers_share"), few("readers_and_writers_let_go"), few("rwlock_is_tried")];
}
