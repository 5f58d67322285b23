//! The cost of sharing a CPU or a core.

use crate::{machine, program, run, try_run};
use cohort_machine::{Failure, Hardware, Memory, Options, Placement, Run, door};
use std::cell::Cell;

/// The end times of programs that only compute, with that placement.
fn done(hardware: &Hardware, placement: Placement, work: &[u64]) -> Vec<u64> {
    let memory = Memory::new();
    let ends: Vec<Cell<u64>> = work.iter().map(|_| Cell::new(0)).collect();
    let programs = work.iter().zip(&ends).map(|(work, end)| {
        program(move |thread| {
            thread.work(*work);
            end.set(thread.cycles());
        })
    });
    let programs = programs.collect();
    try_run(hardware, &memory, placement, programs).unwrap_or_else(|failure| panic!("{failure}"));
    ends.iter().map(Cell::get).collect()
}

#[test]
fn threads_on_one_cpu_take_turns() {
    let one = Placement::Cpus(vec![0]);
    let hardware = machine(&[]);
    assert_eq!(done(&hardware, one.clone(), &[2500]), [2500]);
    // Slices of 1000 and switches of 100: the first runs 0–1000 and 2200–3200, the second 1100–2100
    // and 3300–3800, the first again 3900–4400.
    assert_eq!(done(&hardware, one, &[2500, 1500]), [4400, 3800]);
}

#[test]
fn a_longer_period_means_longer_slices() {
    let hardware = machine(&[("period = { ns = 0", "period = { ns = 4000")]);
    let one = Placement::Cpus(vec![0]);
    assert_eq!(done(&hardware, one, &[2500, 1500]), [4200, 3600]);
}

#[test]
fn hardware_threads_slow_each_other() {
    let smt = "[smt]\nslowdown = { ratios = [1.0, 1.5], source = \"estimate\", note = \"round\" }\n\
        spinning = { ratio = 1.0, source = \"estimate\", note = \"round\" }\n\n[memory]";
    let hardware = machine(&[
        ("core:2 pu:1", "core:1 pu:2"),
        ("private-to = \"pu\"", "private-to = \"core\""),
        (
            "[[transfer]]\nwithin = \"package\"\nload = { cycles = 40, source = \"estimate\", note = \"round\" }\nclean = { cycles = 30, source = \"estimate\", note = \"round\" }\nstore = { cycles = 44, source = \"estimate\", note = \"round\" }\nrmw = { cycles = 50, source = \"estimate\", note = \"round\" }\ninvalidate = { cycles = 20, source = \"estimate\", note = \"round\" }\noccupancy = { cycles = 5, source = \"estimate\", note = \"round\" }\n",
            "",
        ),
        ("[memory]", smt),
    ]);
    let siblings = Placement::Cpus(vec![0, 1]);
    let apart = Placement::Cpus(vec![0, 2]);
    assert_eq!(done(&hardware, apart, &[8000, 8000]), [8000, 8000]);
    assert_eq!(
        done(&hardware, siblings.clone(), &[8000, 8000]),
        [12000, 12000]
    );
    // The longer program is alone for its second half, except for the chunk of 2000 in progress at
    // the other's end.
    assert_eq!(done(&hardware, siblings, &[4000, 8000]), [6000, 10000]);
}

#[test]
fn a_slower_core_takes_longer() {
    let class = "[[class]]\nname = \"little\"\ncpus = [2, 3]\n\
        slowdown = { ratio = 2.0, source = \"estimate\", note = \"round\" }\n\n[memory]";
    let hardware = machine(&[("[memory]", class)]);
    assert_eq!(
        done(&hardware, Placement::Cpus(vec![0, 2]), &[1000, 1000]),
        [1000, 2000]
    );
}

#[test]
fn an_unpinned_thread_moves_to_a_cpu_that_becomes_free() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let options = Options {
        placement: Placement::Cpus(vec![0, 0, 1, 2, 3]),
        pinned: false,
        stagger: 0,
        ..Options::default()
    };
    let mut run = Run::new(&hardware, &memory, options);
    let ends = [Cell::new(0), Cell::new(0), Cell::new(0)];
    for end in &ends {
        run.spawn(move |thread| {
            thread.work(900);
            end.set(thread.cycles());
        });
    }
    let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
    // The second thread takes the nearest free CPU, which the third had left; that costs 70.
    assert_eq!(ends.map(|end| end.get()), [900, 970, 970]);
    assert_eq!(
        [1, 2].map(|thread: usize| outcome.threads[thread].cpu),
        [1, 2]
    );
}

#[test]
fn an_unpinned_thread_stays_on_the_cpus_it_was_given() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let options = Options {
        placement: Placement::Cpus(vec![1, 2]),
        pinned: false,
        stagger: 0,
        ..Options::default()
    };
    let mut run = Run::new(&hardware, &memory, options);
    for thread in 0..5 {
        run.spawn(move |it| it.work(3000 + 700 * thread));
    }
    let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
    let cpus: Vec<usize> = outcome.threads.iter().map(|thread| thread.cpu).collect();
    assert!(cpus.iter().all(|cpu| [1, 2].contains(cpu)), "{cpus:?}");
    assert!(outcome.events.moves > 0, "the queues were not balanced");
}

#[test]
fn background_threads_take_their_share_and_end_with_the_run() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let options = Options {
        background: 4,
        stagger: 0,
        ..Options::default()
    };
    let mut machine = Run::new(&hardware, &memory, options);
    for _ in 0..4 {
        machine.spawn(|thread| thread.work(10_000));
    }
    let outcome = machine.go().unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(outcome.threads.len(), 4);
    assert!(outcome.nanoseconds > 19_000, "{}", outcome.nanoseconds);
}

#[test]
fn background_threads_leave_cpus_alone_that_are_not_theirs() {
    let hardware = machine(&[]);
    let lasts = |background| {
        let memory = Memory::new();
        let word = memory.bytes(4);
        let options = Options {
            placement: Placement::Cpus(vec![0]),
            background,
            background_at: Placement::Cpus(vec![2, 3]),
            stagger: 0,
            ..Options::default()
        };
        let mut run = Run::new(&hardware, &memory, options);
        run.spawn(move |thread| {
            for _ in 0..3 {
                thread.work(2500);
                // Its CPU is free during the sleep.
                let _ = door::sleep(word, || 0, 0, 1, Some(thread.now() + 500));
            }
        });
        let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
        outcome.nanoseconds
    };
    assert_eq!(lasts(6), lasts(0));
}

#[test]
fn a_placement_must_name_cpus_of_the_machine() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let place = |cpus| {
        try_run(
            &hardware,
            &memory,
            Placement::Cpus(cpus),
            vec![program(|_| ())],
        )
    };
    assert_eq!(
        place(vec![4]).err(),
        Some(Failure::NoSuchCpu { cpu: 4, cpus: 4 })
    );
    assert_eq!(place(vec![]).err(), Some(Failure::NoCpus));
}

#[test]
fn scattered_threads_fill_the_cohorts_evenly() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let cpus = |placement| {
        let programs = (0..4).map(|_| program(|thread| thread.work(1))).collect();
        let outcome = try_run(&hardware, &memory, placement, programs);
        let outcome = outcome.unwrap_or_else(|failure| panic!("{failure}"));
        outcome
            .threads
            .iter()
            .map(|thread| thread.cpu)
            .collect::<Vec<_>>()
    };
    assert_eq!(cpus(Placement::Scattered), [0, 2, 1, 3]);
    assert_eq!(cpus(Placement::Compact), [0, 1, 2, 3]);
    let outcome = run(&hardware, &memory, vec![program(|_| ())]);
    assert_eq!(outcome.machine, "small");
}
