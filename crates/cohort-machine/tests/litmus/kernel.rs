//! Sleeps and wake-ups.

use crate::{INSTRUCTION, machine, program, run, try_run};
use cohort_machine::{Doing, Failure, Memory, Placement, door};
use std::cell::Cell;

const EVERYBODY: u32 = u32::MAX;

#[test]
fn a_sleeper_runs_again_once_it_was_woken() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let word = memory.bytes(4);
    let woken = Cell::new(0);
    let woke = Cell::new(0);
    let sleeper = program(|thread| {
        let slept = door::sleep(word, || 0, 0, 1, None);
        assert_eq!(slept, door::Slept::Woken);
        woken.set(thread.cycles());
    });
    let waker = program(|thread| {
        thread.work(5000);
        assert_eq!(door::wake(word, 1, EVERYBODY), 1);
        woke.set(thread.cycles());
    });
    run(&hardware, &memory, vec![sleeper, waker]);
    // A system call and the wake-up, then the latency.
    assert_eq!(woke.get(), 5000 + 50 + INSTRUCTION + 300);
    assert_eq!(woken.get(), woke.get() + 500);
}

#[test]
fn a_word_that_has_changed_is_not_slept_on() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let word = memory.bytes(4);
    let body = program(|thread| {
        let slept = door::sleep(word, || 1, 0, 1, None);
        assert_eq!(slept, door::Slept::Changed);
        // The system call, and the load of the word from memory.
        assert_eq!(thread.cycles(), 50 + INSTRUCTION + 150);
    });
    run(&hardware, &memory, vec![body]);
}

#[test]
fn a_deadline_ends_a_sleep() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let word = memory.bytes(4);
    let body = program(|thread| {
        let slept = door::sleep(word, || 0, 0, 1, Some(9000));
        assert_eq!(slept, door::Slept::TimedOut);
        assert_eq!(thread.cycles(), 9000);
        let slept = door::sleep(word, || 0, 0, 1, Some(9000));
        assert_eq!(slept, door::Slept::TimedOut);
    });
    run(&hardware, &memory, vec![body]);
}

#[test]
fn only_sleepers_of_that_word_and_those_bits_are_woken_the_first_first() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let words = [memory.bytes(4), memory.bytes(4)];
    let order = Cell::new(0);
    let sleeper = |word: usize, bits: u32, mark: u32| {
        let order = &order;
        program(move |thread| {
            thread.work(u64::from(mark) * 1000);
            assert_eq!(
                door::sleep(words[word], || 0, 0, bits, None),
                door::Slept::Woken
            );
            order.set(order.get() * 10 + mark);
        })
    };
    let waker = program(|thread| {
        thread.work(20_000);
        assert_eq!(door::wake(words[0], 9, 2), 0);
        assert_eq!(door::wake(words[0], 1, 1), 1);
        assert_eq!(door::wake(words[1], 9, EVERYBODY), 1);
        assert_eq!(door::wake(words[0], 9, EVERYBODY), 1);
    });
    let programs = vec![sleeper(0, 1, 1), sleeper(0, 1, 2), sleeper(1, 4, 3), waker];
    run(&hardware, &memory, programs);
    assert_eq!(order.get(), 132);
}

#[test]
fn a_lost_wake_up_is_a_deadlock_and_names_its_waiters() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let word = memory.bytes(64) + 8;
    let sleeper = program(|_| {
        let _ = door::sleep(word, || 7, 7, 1, None);
    });
    let other = program(|thread| thread.work(10));
    let failure = try_run(&hardware, &memory, Placement::Compact, vec![sleeper, other]);
    let Err(Failure::Deadlock { waits, .. }) = failure else {
        panic!("no deadlock: {failure:?}");
    };
    assert_eq!(
        waits[0].doing,
        Doing::Sleeping {
            line: 0,
            offset: 8,
            value: 7
        }
    );
    assert_eq!(waits[0].since, 50 + INSTRUCTION + 150);
    assert_eq!(waits[1].doing, Doing::Returned);
    let text = Failure::Deadlock { steps: 1, waits }.to_string();
    assert!(
        text.contains("thread 0 on CPU 0 sleeps on line 0, byte 8, which held 0x7"),
        "{text}"
    );
}

#[test]
fn a_sleeper_gives_its_cpu_away() {
    let hardware = machine(&[]);
    let memory = Memory::new();
    let word = memory.bytes(4);
    let end = Cell::new(0);
    let sleeper = program(|_| {
        assert_eq!(door::sleep(word, || 0, 0, 1, None), door::Slept::Woken);
    });
    let other = program(|thread| {
        thread.work(100);
        end.set(thread.cycles());
        door::wake(word, 1, 1);
    });
    let one = Placement::Cpus(vec![0]);
    try_run(&hardware, &memory, one, vec![sleeper, other])
        .unwrap_or_else(|failure| panic!("{failure}"));
    // The first sleeps from 202 on, which takes 200; then the switch.
    assert_eq!(end.get(), 50 + INSTRUCTION + 150 + 200 + 100 + 100);
}
