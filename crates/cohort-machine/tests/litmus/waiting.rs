//! Waiting by polling.

use crate::{INSTRUCTION, machine, program, try_run};
use cohort_machine::{
    Doing, Failure, Hardware, Memory, Options, Outcome, Placement, Run, Waiting, door,
};
use std::cell::Cell;

/// Waits until another thread's flag is visible; returns the time and the outcome.
fn wait(hardware: &Hardware, work: u64, look: fn(usize)) -> (u64, Outcome) {
    let memory = Memory::new();
    let line = memory.bytes(1);
    let (flag, seen) = (Cell::new(false), Cell::new(0));
    let options = Options {
        stagger: 0,
        waiting: Waiting::Spin,
        spin: u64::MAX,
        ..Options::default()
    };
    let mut run = Run::new(hardware, &memory, options);
    run.spawn(|thread| {
        let mut wait = door::Wait::new();
        loop {
            look(line);
            if flag.get() {
                break;
            }
            wait.step();
        }
        seen.set(thread.cycles());
    });
    run.spawn(|thread| {
        thread.work(work);
        thread.write(line);
        flag.set(true);
    });
    let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
    (seen.get(), outcome)
}

#[test]
fn a_waiter_sees_a_write_at_its_next_look() {
    let hardware = machine(&[]);
    let (seen, outcome) = wait(&hardware, 100_000, door::load);
    // The store invalidates from 100 002 on, and is visible half of 20 later. The next look begins
    // within 46 cycles: a pause, the instructions, a hit. It finds the line busy until the store is
    // complete, then fetches it.
    let complete = 100_000 + INSTRUCTION + 44;
    assert!(
        (complete + 40..complete + 46 + 40).contains(&seen),
        "{seen}"
    );
    // Polling costs no steps while nothing changes.
    assert!(outcome.steps < 10, "{} steps", outcome.steps);
    assert!(outcome.spinning > 99_000, "{} cycles", outcome.spinning);
}

#[test]
fn looks_by_read_modify_writes_that_change_nothing_cost_nothing_either() {
    let hardware = machine(&[]);
    let look = |line| door::exchange(line, || door::Change::Same);
    let (seen, outcome) = wait(&hardware, 100_000, look);
    assert!(seen > 100_000);
    assert!(outcome.steps < 20, "{} steps", outcome.steps);
}

#[test]
fn waiters_of_a_write_that_never_comes_are_a_deadlock() {
    for placement in [Placement::Compact, Placement::Cpus(vec![0])] {
        for waiting in [Waiting::Spin, Waiting::Yield, Waiting::Park] {
            let hardware = machine(&[]);
            let memory = Memory::new();
            let line = memory.bytes(1);
            let options = Options {
                placement: placement.clone(),
                waiting,
                stagger: 0,
                steps: 100_000,
                ..Options::default()
            };
            let mut run = Run::new(&hardware, &memory, options);
            for _ in 0..2 {
                run.spawn(move |_| {
                    let mut wait = door::Wait::new();
                    loop {
                        door::load(line);
                        if wait.step() {
                            let _ = door::sleep(line, || 0, 0, 1, None);
                        }
                    }
                });
            }
            let failure = run.go().expect_err("no thread writes");
            let Failure::Deadlock { waits, .. } = failure else {
                panic!("{waiting:?} on {placement:?}: {failure}");
            };
            assert!(waits.iter().all(|wait| wait.doing != Doing::Returned));
        }
    }
}

#[test]
fn threads_that_get_nowhere_are_a_livelock() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let options = Options {
        steps: 10_000,
        ..Options::default()
    };
    let mut run = Run::new(&hardware, &memory, options);
    for _ in 0..2 {
        run.spawn(move |thread| {
            loop {
                thread.write(line);
            }
        });
    }
    assert!(matches!(run.go(), Err(Failure::Livelock { .. })));
}

#[test]
fn a_deadline_ends_a_wait() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let end = Cell::new(0);
    let waiter = program(|thread| {
        let mut wait = door::Wait::new();
        loop {
            door::load(line);
            if door::expired(50_000) {
                break;
            }
            wait.step();
        }
        end.set(thread.cycles());
    });
    let outcome = try_run(&hardware, &memory, Placement::Compact, vec![waiter]);
    let outcome = outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!((50_000..50_200).contains(&end.get()), "{}", end.get());
    assert!(outcome.steps < 100, "{} steps", outcome.steps);
}

#[test]
fn a_panic_is_reported_with_its_thread() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let programs = vec![
        program(|thread| thread.work(10)),
        program(|_| panic!("out of paper")),
    ];
    let failure = try_run(&hardware, &memory, Placement::Compact, programs);
    assert_eq!(
        failure.err(),
        Some(Failure::Panicked {
            thread: 1,
            message: "out of paper".into()
        })
    );
}

/// Two waiters poll a line that CPU 0 writes at random times; the first to see each write counts.
#[test]
fn of_two_waiters_the_nearer_is_served_more_often() {
    const ROUNDS: u64 = 400;
    let hardware = machine(&[]);
    let memory = Memory::new();
    let line = memory.bytes(1);
    let round = Cell::new(0);
    let first = Cell::new(0);
    let served = [const { Cell::new(0) }; 3];
    let options = Options {
        waiting: Waiting::Spin,
        spin: u64::MAX,
        ..Options::default()
    };
    let mut run = Run::new(&hardware, &memory, options);
    run.spawn(|thread| {
        for next in 1..=ROUNDS {
            thread.work(5_000 + thread.random_below(1_000));
            thread.write(line);
            round.set(next);
        }
    });
    for cpu in [1, 2] {
        let (round, first, served) = (&round, &first, &served);
        run.spawn(move |thread| {
            for next in 1..=ROUNDS {
                // A phase of its own: a look takes 46 cycles.
                thread.work(thread.random_below(46));
                let mut wait = door::Wait::new();
                loop {
                    thread.read(line);
                    if round.get() == next {
                        break;
                    }
                    wait.step();
                }
                if first.get() < next {
                    first.set(next);
                    served[cpu].set(served[cpu].get() + 1);
                }
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    let [near, far] = [served[1].get(), served[2].get()];
    assert_eq!(near + far, ROUNDS);
    // The nearer learns of the write earlier, and the farther is not left out.
    assert!(near > 2 * far && far > ROUNDS / 50, "{near} and {far}");
}
