//! Counts kept beside the machine.

use crate::{machine, program, run, time};
use cohort_machine::{Memory, door};
use std::collections::BTreeMap;

#[test]
fn counting_takes_no_time_and_changes_are_counted_for_each_object() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let counts = program(|thread| {
        thread.work(10);
        let took = time(thread, || {
            for state in [false, true, true, false] {
                door::tally_state("mode", 1, state);
            }
            door::tally_state("mode", 2, true);
            door::tally("passes", 2);
            door::tally("passes", 3);
            assert_eq!(door::moment(), 10);
        });
        assert_eq!(took, 0);
    });
    let outcome = run(&hardware, &memory, vec![counts]);
    let counted = BTreeMap::from([("mode", 3), ("passes", 5)]);
    assert_eq!(outcome.tallies, counted);
}
