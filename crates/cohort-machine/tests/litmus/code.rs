//! The time of instructions, of the clock, and of independent misses.

use crate::{INSTRUCTION, machine, program, run, time};
use cohort_machine::description::Machine;
use cohort_machine::{Memory, door};
use std::cell::Cell;

const HIT: u64 = 4;

/// `small.toml` with more figures of `[costs]`.
fn with(figures: &str) -> String {
    let figures = figures
        .lines()
        .map(|figure| format!("{figure}, source = \"estimate\", note = \"round\" }}\n"));
    format!("[costs]\n{}", figures.collect::<String>())
}

#[test]
fn counted_instructions_replace_the_machines_figure_where_it_has_their_cost() {
    let half = with("per-instruction = { ratio = 0.5");
    for (costs, counted) in [("[costs]\n", INSTRUCTION), (half.as_str(), 3)] {
        let hardware = machine(&[("[costs]\n", costs)]);
        let memory = Memory::new();
        let line = memory.bytes(1);
        let codes = program(|thread| {
            thread.read(line);
            let load = || time(thread, || thread.read(line));
            assert_eq!(load(), INSTRUCTION + HIT);
            door::executes(Some(6.0));
            assert_eq!(load(), counted + HIT);
            // Computation is none of an access.
            assert_eq!(time(thread, || thread.work(7)), 7);
            door::executes(None);
            assert_eq!(load(), INSTRUCTION + HIT);
        });
        // Each thread executes its own code.
        let other = program(|thread| {
            thread.work(10_000);
            thread.read(line);
            assert_eq!(time(thread, || thread.read(line)), INSTRUCTION + HIT);
        });
        run(&hardware, &memory, vec![codes, other]);
    }
}

#[test]
fn the_clock_costs_its_figure_or_a_fence() {
    let clock = with("clock = { cycles = 50");
    for (costs, cost) in [("[costs]\n", 20), (clock.as_str(), 50)] {
        let hardware = machine(&[("[costs]\n", costs)]);
        let memory = Memory::new();
        let looks = program(|thread| {
            let took = time(thread, || {
                let _ = door::now();
            });
            assert_eq!(took, cost);
        });
        run(&hardware, &memory, vec![looks]);
    }
}

/// The cycles of loads ahead of so many lines, modified in the other package, and of one load of
/// each line after them.
fn ahead(costs: &str, lines: usize) -> [u64; 2] {
    let hardware = machine(&[("[costs]\n", costs)]);
    let memory = Memory::new();
    let lines: Vec<usize> = (0..lines).map(|_| memory.bytes(1)).collect();
    let took = Cell::new([0; 2]);
    let idle = || program(|_| {});
    let loads = program(|thread| {
        thread.work(10_000);
        let ahead = time(thread, || door::load_ahead(lines.iter().copied()));
        let after = time(thread, || lines.iter().for_each(|line| thread.read(*line)));
        took.set([ahead, after]);
    });
    let stores = program(|thread| lines.iter().for_each(|line| thread.write(*line)));
    run(&hardware, &memory, vec![loads, idle(), stores]);
    took.get()
}

#[test]
fn independent_misses_overlap_up_to_the_machines_number() {
    const MISS: u64 = 100;
    let two = with("overlap = { count = 2");
    let one = with("overlap = { count = 1");
    for costs in ["[costs]\n", &one] {
        assert_eq!(ahead(costs, 4), [0, 4 * (INSTRUCTION + MISS)]);
    }
    // The second begins one instruction after the first; the third waits for both.
    assert_eq!(
        ahead(&two, 2),
        [2 * INSTRUCTION + MISS, 2 * (INSTRUCTION + HIT)]
    );
    assert_eq!(
        ahead(&two, 4),
        [2 * (2 * INSTRUCTION + MISS), 4 * (INSTRUCTION + HIT)]
    );
}

#[test]
fn overlap_and_cost_of_none_are_refused() {
    for (figure, expected) in [
        ("overlap = { count = 0", "found an `overlap` of 0 misses"),
        (
            "per-instruction = { ratio = 0.0",
            "found a `per-instruction` of 0",
        ),
    ] {
        let text = crate::SMALL.replacen("[costs]\n", &with(figure), 1);
        let complaint = Machine::parse(&text).unwrap_err();
        assert!(complaint.message.contains(expected), "{complaint}");
    }
}
