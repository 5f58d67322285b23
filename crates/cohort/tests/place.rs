//! In which cohort a thread is, on this machine: what the kernel says, and what it is told.

use cohort::door::cohorts::{Mistake, read};
use cohort::door::{Level, NODES, cohort, distance, lowest_of, set_cohorts};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::{Mutex, PoisonError};

/// The text is the process's: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The cohort of a thread on that CPU, by level.
fn on(cpu: usize) -> [usize; 4] {
    let there = move || {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set).expect("the CPU is allowed");
        Level::ALL.map(cohort)
    };
    std::thread::spawn(there).join().expect("it does not panic")
}

/// Two CPUs, if this process may use as many.
fn two() -> Option<(usize, usize)> {
    let set = sched_getaffinity(None).expect("threads can ask where they may run");
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Some((cpus.next()?, cpus.next()?))
}

#[test]
fn threads_are_where_the_text_puts_them() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((one, other)) = two() else {
        eprintln!("skipped: this process may use one CPU only");
        return;
    };
    let text = format!("numa {other} # the second first\nnuma {one}\ncore {one};");
    set_cohorts(&text).expect("the text is right");
    // Who is left out at a level is in one more cohort.
    let (first, second) = (on(one), on(other));
    assert_eq!((first[0], second[0]), (0, 1), "core");
    assert_eq!((first[2], second[2]), (1, 0), "numa");
    set_cohorts("").expect("nothing is right");
    let shares = |level: Level| lowest_of(level, one) == lowest_of(level, other);
    let (first, second) = (on(one), on(other));
    for level in Level::ALL {
        let number = level as usize;
        assert_eq!(first[number] == second[number], shares(level), "{level:?}");
    }
}

#[test]
fn a_mistake_changes_nothing_and_is_named() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cpu = two().map_or(0, |(_, other)| other);
    set_cohorts(&format!("numa 1020\nnuma {cpu}")).expect("the text is right");
    for (text, line) in [
        ("numa 0\nnode 1", 2),
        ("numa 0-x", 1),
        ("# nothing\n\nnuma 7-3", 3),
        ("numa", 1),
        ("core 0; cache 1,70000", 2),
    ] {
        let mistake: Mistake = set_cohorts(text).expect_err(text);
        assert_eq!(mistake.line, line, "{text}: {mistake}");
    }
    assert_eq!(on(cpu)[2], 1);
    set_cohorts("").expect("nothing is right");
}

/// Also where both are in one node of the kernel's, or are not there.
#[test]
fn a_cohort_is_nearest_to_itself() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let other = two().map_or(1, |(_, other)| other);
    for text in [format!("numa 0\nnuma {other}"), String::new()] {
        set_cohorts(&text).expect("the text is right");
        let here = distance(0, 0);
        for cohort in 1..NODES {
            assert_eq!(distance(cohort, cohort), here);
            assert!(here < distance(0, cohort) && here < distance(cohort, 0));
        }
    }
}

#[test]
fn cohorts_are_numbered_by_their_lines() {
    let mut seen = Vec::new();
    read("numa 4,0-1\n\ncore 2\nnuma 9", &mut |level, cohort, cpu| {
        seen.push((level, cohort, cpu));
    })
    .expect("the text is right");
    use Level::{Core, Numa};
    assert_eq!(
        seen,
        [
            (Numa, 0, 4),
            (Numa, 0, 0),
            (Numa, 0, 1),
            (Core, 0, 2),
            (Numa, 1, 9)
        ]
    );
}
