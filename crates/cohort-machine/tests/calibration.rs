//! The shipped files against the papers' measurements of their machines: Table 4 of Zhang et al.
//! 2017 within 5 %, Table 2 of Chehab et al. 2021 within 10 %, the factor of Dice et al. 2015
//! §5.1.2; and the servers' files against published latencies between cores, within 5 %.
//!
//! `docs/machine-files.md` describes the procedure. A changed file must pass here before its
//! fingerprint is entered in `src/machines/FROZEN`.

use cohort_machine::description::{Machine, shipped};
use cohort_machine::{Hardware, Memory, Options, Placement, Run, Thread, door};
use std::cell::Cell;

/// Runs two threads on two CPUs of an idle machine.
fn pair(
    machine: &Machine,
    cpus: [usize; 2],
    one: impl FnOnce(&Thread),
    other: impl FnOnce(&Thread),
) {
    let hardware = Hardware::new(machine);
    let memory = Memory::new();
    let options = Options {
        placement: Placement::Cpus(cpus.to_vec()),
        stagger: 0,
        ..Options::default()
    };
    let mut run = Run::new(&hardware, &memory, options);
    run.spawn(one);
    run.spawn(other);
    run.go()
        .unwrap_or_else(|failure| panic!("{}: {failure}", machine.name));
}

fn machine(name: &str) -> Machine {
    shipped::find(name).unwrap_or_else(|| panic!("{name} is not shipped"))
}

/// Whether `found` differs from `expected` by at most that fraction.
fn near(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() <= share
}

const HAND_OVERS: u64 = 2000;

/// Cycles of one hand-over in Chehab et al. 2021 §3.1: two threads increment a counter alternately,
/// each with a compare-and-set once the counter shows its turn.
fn ping_pong(machine: &Machine, cpus: [usize; 2]) -> f64 {
    let memory = Memory::new();
    let line = memory.bytes(1);
    let counter = Cell::new(0);
    let cycles = Cell::new(0);
    let turns = |parity: u64| {
        let (counter, cycles) = (&counter, &cycles);
        move |thread: &Thread| {
            while counter.get() < HAND_OVERS {
                door::load(line);
                if counter.get() % 2 == parity {
                    door::read_modify_write(line, || true);
                    counter.set(counter.get() + 1);
                }
            }
            cycles.set(cycles.get().max(thread.cycles()));
        }
    };
    pair(machine, cpus, turns(0), turns(1));
    cycles.get() as f64 / HAND_OVERS as f64
}

#[test]
fn ping_pong_reproduces_table_2_of_002() {
    let mut wrong = Vec::new();
    for (name, far, cohorts) in [
        (
            "epyc-7352x2",
            [0, 24],
            &[([0, 3], 1.54), ([0, 1], 9.07), ([0, 48], 12.18)][..],
        ),
        (
            "kunpeng-920x2",
            [0, 64],
            &[([0, 32], 1.76), ([0, 4], 2.98), ([0, 1], 7.04)],
        ),
    ] {
        let machine = machine(name);
        let system = ping_pong(&machine, far);
        println!("{name}: system {system:.1} cycles");
        for (cpus, expected) in cohorts {
            let found = system / ping_pong(&machine, *cpus);
            println!("{name}: {cpus:?} {found:.2}, expected {expected}");
            if !near(found, *expected, 0.1) {
                wrong.push(format!(
                    "{name}, CPUs {cpus:?}: {found:.2}, expected {expected}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Cycles of a load and of a store to a line that another CPU has modified.
fn fetch(machine: &Machine, cpus: [usize; 2]) -> [f64; 2] {
    let memory = Memory::new();
    let lines = [memory.bytes(1), memory.bytes(1)];
    let cycles = [Cell::new(0), Cell::new(0)];
    // Late enough that the second thread finds all lines modified.
    let later = 100_000;
    pair(
        machine,
        cpus,
        |thread| {
            lines.iter().for_each(|line| thread.write(*line));
            door::fence();
        },
        |thread| {
            thread.work(later);
            let time = |act: &dyn Fn()| {
                let before = thread.cycles();
                act();
                door::fence();
                thread.cycles() - before
            };
            let fence = time(&|| ());
            cycles[0].set(time(&|| thread.read(lines[0])) - fence);
            cycles[1].set(time(&|| thread.write(lines[1])) - fence);
        },
    );
    cycles.map(|cycles| cycles.get() as f64)
}

#[test]
fn fetching_a_modified_line_reproduces_table_4_of_001() {
    let mut wrong = Vec::new();
    for (name, cpus, expected) in [
        ("xeon-e7-4850x4", [0, 1], [100.0, 105.0]),
        ("xeon-e7-4850x4", [0, 10], [281.0, 302.0]),
        ("opteron-6274x8", [0, 1], [228.0, 256.0]),
        ("opteron-6274x8", [0, 8], [419.0, 463.0]),
        ("opteron-6274x8", [0, 24], [498.0, 544.0]),
    ] {
        let found = fetch(&machine(name), cpus);
        println!("{name}, CPUs {cpus:?}: {found:?}, expected {expected:?}");
        if !(near(found[0], expected[0], 0.05) && near(found[1], expected[1], 0.05)) {
            wrong.push(format!(
                "{name}, CPUs {cpus:?}: {found:?}, expected {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Dice et al. 2015 §5.1.2: a remote L2 access takes approximately 4 times as long as a local one.
#[test]
fn a_remote_chip_of_the_t5440_is_about_four_times_as_far() {
    let machine = machine("sparc-t5440");
    let [near_load, _] = fetch(&machine, [0, 8]);
    let [far_load, _] = fetch(&machine, [0, 64]);
    let found = far_load / near_load;
    assert!(near(found, 4.0, 0.15), "{found:.2}");
}

/// Published core-to-core latencies, or the file's estimate for a pair without one. The notes in the
/// files give publications and ranges.
#[test]
fn servers_hand_over_in_the_published_nanoseconds() {
    let mut wrong = Vec::new();
    for (name, pairs) in [
        (
            "epyc-9965x2",
            &[
                ([0, 384], 9.0),
                ([0, 1], 45.0),
                ([0, 16], 150.0),
                ([0, 192], 260.0),
            ][..],
        ),
        (
            "xeon-6980px2",
            &[
                ([0, 252], 8.0),
                ([0, 1], 65.0),
                ([0, 42], 90.0),
                ([0, 126], 200.0),
            ],
        ),
        ("graviton4x2", &[([0, 1], 45.0), ([0, 96], 138.6)]),
        ("ampereone-192", &[([0, 1], 65.0)]),
        ("grace-2s", &[([0, 1], 50.0), ([0, 72], 144.0)]),
    ] {
        let machine = machine(name);
        for (cpus, expected) in pairs {
            let cycles = ping_pong(&machine, *cpus);
            let found = cycles * 1000.0 / machine.clock.value as f64;
            println!("{name}, CPUs {cpus:?}: {found:.1} ns, expected {expected}");
            if !near(found, *expected, 0.05) {
                wrong.push(format!(
                    "{name}, CPUs {cpus:?}: {found:.1} ns, expected {expected}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The file of a real machine, with a hand-over measured independently of its figures.
#[test]
fn a_real_machine_hands_over_as_fast_as_its_file_says() {
    let text = include_str!("../../../docs/data/host-2cpu.toml");
    let machine = Machine::parse(text).unwrap_or_else(|complaint| panic!("{complaint}"));
    let found = ping_pong(&machine, [0, 1]);
    assert!(near(found, 160.0, 0.1), "{found:.1} cycles");
}
