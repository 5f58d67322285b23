//! Checks of the rwlock in one word.

use crate::clients::rwlock::Hold::{
    Reads, ReadsOn, ReadsOnce, ReadsThenMayWrite, ReadsThenWrites, Writes, WritesAndReadsOn,
    WritesForAWhile, WritesThenReads, WritesTwice,
};
use crate::runner::prelude::*;

looked_for_in!["rwlock::", "fork::rwlock", "biased::", "fork::biased"];

models![
    quick("rwlock::park", PARK, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::spin", SPIN, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    lighter("rwlock::writers", PARK, || {
        rwlock::shares::<RawRwLock>(3, 2, 1, 0)
    }),
    quick("rwlock::again", PARK, || {
        rwlock::shares::<RawRwLock>(2, 1, 2, 0)
    }),
    lighter("rwlock::reserved", IMPATIENT_2, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::turns", TURNS_END_1, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick(
        "rwlock::rests_after_turns",
        TURNS_END,
        rwlock::comes_to_rest
    ),
    lighter("rwlock::timed_turns", TURNS_TICK, || {
        rwlock::lets_go::<RawRwLock>(3, 2, 1, 1)
    }),
    lighter("rwlock::timed", PARK, || {
        rwlock::lets_go::<RawRwLock>(3, 1, 1, 1)
    }),
    quick("rwlock::timed_writer", PARK, || {
        rwlock::lets_go::<RawRwLock>(2, 2, 1, 1)
    }),
    lighter("rwlock::timed_writer_of_three", PARK, || {
        rwlock::lets_go::<RawRwLock>(3, 3, 1, 1)
    }),
    quick("rwlock::try", PARK, || rwlock::is_tried::<RawRwLock>(3, 1)),
    quick("rwlock::read_again", PARK_COUNTED, || {
        rwlock::is_read_again::<RawRwLock>(1)
    }),
    quick("rwlock::read_again_first", IMPATIENT_2, || {
        rwlock::is_read_again::<RawRwLock>(1)
    }),
    quick("rwlock::read_again_by_tries", DEFERRED, || {
        rwlock::is_read_again_at_last::<RawRwLock>(false, || ())
    }),
    quick("rwlock::read_again_hurriedly", DEFERRED, || {
        rwlock::is_read_again_at_last::<RawRwLock>(true, || ())
    }),
    quick("rwlock::read_past_writers", PARK_COUNTED, || {
        rwlock::is_read_past_writers(1)
    }),
    quick("rwlock::read_past_writers_by_name", PARK, || {
        rwlock::is_read_past_writers(1)
    }),
    quick("rwlock::downgraded", PARK, || {
        rwlock::changes_its_hold(&[WritesThenReads, Reads])
    }),
    quick("rwlock::downgraded_beside_writer", PARK_1, || {
        rwlock::changes_its_hold(&[WritesThenReads, Reads, Writes])
    }),
    quick("rwlock::upgraded", PARK, || {
        rwlock::changes_its_hold(&[ReadsThenWrites, Reads])
    }),
    quick("rwlock::upgraded_by_two", PARK, || {
        rwlock::changes_its_hold(&[ReadsThenWrites, ReadsThenWrites])
    }),
    quick("rwlock::upgraded_beside_writer", PARK, || {
        rwlock::changes_its_hold(&[ReadsThenWrites, Writes])
    }),
    deep("rwlock::upgraded_among_others", PARK_1, || {
        rwlock::changes_its_hold(&[ReadsThenWrites, Reads, Writes])
    }),
    quick("rwlock::upgraded_in_time", PARK, || {
        rwlock::changes_its_hold(&[ReadsThenMayWrite, Reads])
    }),
    quick("rwlock::upgraded_for_a_while", PARK, || {
        rwlock::changes_its_hold(&[WritesForAWhile, WritesForAWhile])
    }),
    quick("rwlock::upgraded_for_a_while_beside_writer", PARK, || {
        rwlock::changes_its_hold(&[WritesForAWhile, Writes])
    }),
    quick("rwlock::upgradable_read_on", PARK, || {
        rwlock::changes_its_hold(&[ReadsOn, ReadsThenWrites])
    }),
    quick("rwlock::writes_twice", PARK, || {
        rwlock::changes_its_hold(&[WritesTwice, Reads])
    }),
    quick("rwlock::writes_twice_beside_writer", PARK, || {
        rwlock::changes_its_hold(&[WritesTwice, Writes])
    }),
    quick("rwlock::writes_twice_beside_upgrade", PARK, || {
        rwlock::changes_its_hold(&[WritesTwice, ReadsThenWrites])
    }),
    lighter("rwlock::writes_twice_among_readers", PARK_1, || {
        rwlock::changes_its_hold(&[WritesTwice, Reads, Reads])
    }),
    quick("rwlock::writes_and_reads_on", PARK, || {
        rwlock::changes_its_hold(&[WritesAndReadsOn, ReadsThenWrites])
    }),
    quick("rwlock::turned_back", PARK_3, || {
        rwlock::changes_its_hold(&[ReadsOnce, ReadsOnce, Writes])
    }),
    quick("rwlock::fair", PARK, || {
        rwlock::shares::<rwlock::Fairly>(3, 1, 1, 0)
    }),
    lighter("rwlock::fair_writers", PARK_1, || {
        rwlock::shares::<rwlock::Fairly>(3, 2, 1, 0)
    }),
    quick("rwlock::fair_timed", PARK_1, || {
        rwlock::lets_go::<rwlock::Fairly>(3, 1, 1, 1)
    }),
    quick("fork::rwlock", FORK, || fork::holds(fork::one_word(), 2)),
    quick("fork::rwlock_written", FORK_2, || {
        fork::writes(fork::one_word(), 2)
    }),
    quick("fork::rwlock_read", FORK, || fork::reads(
        fork::one_word(),
        2
    )),
    quick("fork::rwlock_tried", FORK_IMPATIENT, || {
        fork::tries(fork::one_word(), 2)
    }),
    quick("fork::rwlock_multiplies", FORK_0, || {
        fork::multiplies(fork::one_word(), 2)
    }),
    quick("fork::rwlock_upgraded", FORK, fork::upgrades),
    quick("fork::rwlock_upgraded_alone", FORK_2, fork::upgrades_alone),
    quick("fork::rwlock_new_written", FORK_2, || {
        fork::writes(fork::new_word(), 2)
    }),
    lighter("fork::rwlock_written_beside_another", FORK_2, || {
        fork::writes_beside_another(fork::one_word(), fork::attempts)
    }),
    quick("fork::rwlock_meets_a_reader", FORK_2, || {
        fork::meets_a_reader(fork::one_word())
    }),
];

on_machine! {
    "rwlock.upgrade-unreserved" => [few("rwlock_changes_its_hold")];
    "rwlock.share-upgrades" => [few("rwlock_is_written_twice")];
    "rwlock.drop-marks" => [few("rwlock_is_written_twice")];
    "rwlock.count-nothing" => [few("rwlock_is_read_past_writers")];
    _ => [few("readers_share"), few("readers_and_writers_let_go")];
}
