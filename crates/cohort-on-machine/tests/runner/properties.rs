//! Properties of every run: it is reproducible on any host, it loses nothing, and more expensive
//! links never speed it up.

use super::trial::{EPYC, KUNPENG};
use crate::locks::basic::futex::TURN_NANOSECONDS;
use crate::locks::basic::{Clh, Futex, Mcs, Ticket};
use crate::locks::door::{AtomicU32, Order, Spinner, key_of, now};
use crate::locks::{Abortable, Deadline, Outcome as Acquisition, Patience, RawLock};
use cohort_machine::description::{Machine, shipped};
use cohort_machine::{Hardware, Length, Memory, Options, Outcome, Placement, Rule, Run, Waiting};
use libtest_mimic::{Failed, Trial};
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// The environment variable that makes this program print one run's outcome and exit.
pub const PRINT: &str = "COHORT_PRINT_RUN";

/// A loop of critical sections that access two lines, with work in between.
pub fn sections<L: RawLock<Context: 'static>>(
    hardware: &Hardware,
    threads: usize,
    options: Options,
) -> Outcome {
    let memory = Memory::new();
    let lock = memory.lock(L::default());
    let lines = [memory.bytes(1), memory.bytes(1)];
    let mut run = Run::new(hardware, &memory, options);
    for _ in 0..threads {
        let memory = &memory;
        run.spawn(move |thread| {
            let context = memory.lock(L::Context::default());
            while !thread.is_over() {
                thread.begin();
                // SAFETY: only this thread uses the context. Like the lock, it lies in the
                // machine's memory until the run is over.
                unsafe { lock.acquire(context) };
                thread.acquired(0);
                lines.iter().for_each(|line| thread.read(*line));
                lines.iter().for_each(|line| thread.write(*line));
                thread.begin();
                // SAFETY: acquired above, with this context.
                unsafe { lock.release(context) };
                thread.released();
                thread.work(1000 + thread.random_below(1000));
                thread.round();
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"))
}

fn options(seed: u64) -> Options {
    Options {
        placement: Placement::Scattered,
        waiting: Waiting::Spin,
        spin: u64::MAX,
        seed,
        length: Length {
            warm_up: 20_000,
            least: 200_000,
            most: 400_000,
            ..Length::default()
        },
        ..Options::default()
    }
}

pub fn text(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("an outcome is text")
}

/// The outcomes of runs as text, with several locks, so that all of the machine is involved.
fn picture() -> String {
    let crowded = Options {
        placement: Placement::Cpus(vec![0, 5, 9]),
        waiting: Waiting::Park,
        pinned: false,
        background: 5,
        ..options(3)
    };
    [
        sections::<Mcs>(&KUNPENG, 40, options(1)),
        sections::<Clh>(&EPYC, 50, options(2)),
        sections::<Ticket>(&EPYC, 20, options(7)),
        sections::<Futex>(&EPYC, 12, crowded),
    ]
    .iter()
    .map(|outcome| text(outcome) + "\n")
    .collect()
}

/// Prints the picture if this process was started for that.
pub fn print_if_asked() {
    if std::env::var_os(PRINT).is_some() {
        print!("{}", picture());
        std::process::exit(0);
    }
}

fn repeats_itself() -> Result<(), Failed> {
    let here = picture();
    let others: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..3).map(|_| scope.spawn(picture)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
        running.into_iter().map(join).collect()
    });
    for other in others {
        if other.ok().as_ref() != Some(&here) {
            return Err(Failed::from("another host thread came to another outcome"));
        }
    }
    let program = std::env::current_exe()?;
    let output = Command::new(program).env(PRINT, "1").output()?;
    if String::from_utf8(output.stdout)? != here {
        return Err(Failed::from("another process came to another outcome"));
    }
    if text(&sections::<Mcs>(&KUNPENG, 40, options(2)))
        == text(&sections::<Mcs>(&KUNPENG, 40, options(1)))
    {
        return Err(Failed::from("the seed makes no difference"));
    }
    Ok(())
}

fn loses_nothing() -> Result<(), Failed> {
    for outcome in [
        sections::<Mcs>(&KUNPENG, 64, options(1)),
        sections::<Ticket>(&EPYC, 96, options(1)),
    ] {
        let acquired: u64 = outcome.threads.iter().map(|thread| thread.acquired).sum();
        let handed: u64 = outcome.handovers.iter().map(|level| level.count).sum();
        // Each acquisition but the first is a hand-over.
        assert!(
            acquired - handed <= 1,
            "{acquired} acquisitions, {handed} hand-overs"
        );
        assert_eq!(outcome.acquire.count, acquired);
        for level in &outcome.cohorts {
            assert_eq!(
                level.work.iter().sum::<u64>(),
                outcome.work(),
                "{}",
                level.level
            );
        }
        // The two lines of each critical section move whenever the lock's CPU changes.
        let moved: u64 = outcome.transfers.iter().map(|one| one.count.data).sum();
        let elsewhere = handed - outcome.handovers[0].count;
        assert!(
            moved + 4 >= 2 * elsewhere,
            "{moved} transfers, {elsewhere} hand-overs"
        );
        assert!(outcome.jain > 0.0 && outcome.jain <= 1.0);
        let cpus = outcome.running + outcome.spinning + outcome.idle;
        let all = outcome.cycles
            * if outcome.machine.starts_with("epyc") {
                96
            } else {
                128
            };
        assert!(cpus.abs_diff(all) < all / 100, "{cpus} cycles of {all}");
    }
    Ok(())
}

/// The machine with every cost beyond a package multiplied.
fn stretched(factor: u64) -> Hardware {
    let mut machine: Machine = shipped::find("kunpeng-920x2").expect("it is shipped");
    let last = machine
        .transfers
        .last_mut()
        .expect("it has several distances");
    for figure in [
        &mut last.load,
        &mut last.store,
        &mut last.rmw,
        &mut last.invalidate,
        &mut last.occupancy,
    ] {
        figure.value *= factor;
    }
    if let Some(clean) = &mut last.clean {
        clean.value *= factor;
    }
    Hardware::new(&machine)
}

/// The time of several rounds of a token through some threads, each waiting for its own flag. Costs
/// cannot change this order.
fn ring(hardware: &Hardware, threads: usize) -> u64 {
    let memory = Memory::new();
    let flags: Vec<&AtomicU32> = (0..threads)
        .map(|_| memory.lock(AtomicU32::new(0)))
        .collect();
    let mut run = Run::new(
        hardware,
        &memory,
        Options {
            stagger: 0,
            ..options(1)
        },
    );
    for number in 0..threads {
        let flags = &flags;
        run.spawn(move |_| {
            for round in 1..=5 {
                let mut spinner = Spinner::new();
                while number > 0 && flags[number].load(Order::RELAXED) < round {
                    spinner.turn();
                }
                flags[(number + 1) % threads].store(round, Order::RELAXED);
                while number == 0 && flags[0].load(Order::RELAXED) < round {
                    spinner.turn();
                }
            }
        });
    }
    run.go()
        .unwrap_or_else(|failure| panic!("{failure}"))
        .nanoseconds
}

fn dearer_links_never_help() -> Result<(), Failed> {
    let machines = [1, 2, 3, 4, 8].map(stretched);
    let rounds = machines.each_ref().map(|hardware| ring(hardware, 32));
    assert!(rounds.is_sorted_by(|one, other| one < other), "{rounds:?}");
    // Under a lock, costs change the order of threads, and so the number of distant hand-overs, but
    // too little to outweigh a multiple.
    let [first, .., last] = &machines;
    let throughput = |hardware| sections::<Mcs>(hardware, 32, options(1)).throughput();
    assert!(throughput(last) < throughput(first));
    Ok(())
}

fn ends_by_a_rule() -> Result<(), Failed> {
    let rule = |length, threads| {
        let options = Options {
            length,
            ..options(1)
        };
        sections::<Mcs>(&KUNPENG, threads, options)
    };
    let least = Length {
        warm_up: 0,
        least: 100_000,
        most: 10_000_000,
        ..Length::default()
    };
    let short = Length {
        least: 500_000,
        most: 500_000,
        ..least
    };
    assert_eq!(rule(least, 32).rule, Rule::Hands);
    assert_eq!(rule(least, 1).rule, Rule::Steady);
    let longest = rule(short, 32);
    assert_eq!(longest.rule, Rule::Longest);
    assert_eq!(longest.nanoseconds, 500_000);

    let gives_up = |times: u64| {
        let memory = Memory::new();
        let options = Options {
            length: Length {
                given_up: least.least,
                ..least
            },
            ..options(1)
        };
        let mut run = Run::new(&KUNPENG, &memory, options);
        run.spawn(move |thread| {
            while !thread.is_over() {
                thread.begin();
                thread.acquired(0);
                (0..times).for_each(|_| thread.gave_up());
                thread.work(1000);
                thread.round();
            }
        });
        run.go().unwrap_or_else(|failure| panic!("{failure}"))
    };
    assert_eq!(gives_up(1).rule, Rule::Steady);
    let hurried = gives_up(2);
    assert_eq!(hurried.rule, Rule::Longest);
    assert!(hurried.nanoseconds < 110_000, "{}", hurried.nanoseconds);
    Ok(())
}

/// Counting begins after the requested number of acquisitions, or after a time limit.
fn settles_before_it_counts() -> Result<(), Failed> {
    /// More cycles per nanosecond than the machine has.
    const GIGAHERTZ: u64 = 4;
    const FIRST: u64 = 1_000_000;
    let rounds = |settled, settled_by| {
        let memory = Memory::new();
        let lock = memory.lock(<Ticket>::default());
        let length = Length {
            warm_up: 20_000,
            settled,
            settled_by,
            least: 200_000,
            most: 200_000,
            ..Length::default()
        };
        let mut run = Run::new(
            &KUNPENG,
            &memory,
            Options {
                length,
                ..options(1)
            },
        );
        for _ in 0..4 {
            run.spawn(|thread| {
                // Longer than threads that start together go without the lock.
                thread.work(FIRST * GIGAHERTZ);
                while !thread.is_over() {
                    // SAFETY: the lock has no contexts, and stays until the run is over.
                    unsafe { lock.acquire(&()) };
                    thread.acquired(0);
                    // SAFETY: acquired above.
                    unsafe { lock.release(&()) };
                    thread.work(1000);
                    thread.round();
                }
            });
        }
        // The run's clock advances only with events.
        run.spawn(|thread| {
            while !thread.is_over() {
                thread.work(1000);
            }
        });
        let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(outcome.nanoseconds, 200_000);
        outcome.work()
    };
    assert_eq!(rounds(0, 0), 0, "they have not begun");
    assert_eq!(rounds(4, FIRST / 2), 0, "it has waited long enough");
    assert!(rounds(4, 10 * FIRST) > 0);
    Ok(())
}

/// A thread that reacquires at once yields a turn to a waiter with a deadline of two turns, in nearly
/// all attempts.
fn a_deadline_gets_its_turn() -> Result<(), Failed> {
    const PATIENCE: u64 = 2 * TURN_NANOSECONDS;
    let memory = Memory::new();
    let lock = memory.lock(Futex::default());
    let options = Options {
        waiting: Waiting::Park,
        spin: 150,
        length: Length {
            warm_up: 20_000,
            least: 60_000_000,
            most: 60_000_000,
            ..Length::default()
        },
        ..options(1)
    };
    let mut run = Run::new(&EPYC, &memory, options);
    run.spawn(|thread| {
        while !thread.is_over() {
            // SAFETY: the lock has no contexts, and stays until the run is over; so below.
            unsafe { lock.acquire(&()) };
            thread.work(100 + thread.random_below(100));
            // SAFETY: this thread waited without a deadline, and holds the lock.
            unsafe { lock.release(&()) };
        }
    });
    let outcomes = [AtomicU64::new(0), AtomicU64::new(0)];
    run.spawn(|thread| {
        while !thread.is_over() {
            let patience = Patience::until(Deadline::monotonic(now() + PATIENCE));
            // SAFETY: as above.
            let outcome = unsafe { lock.acquire_within(&(), &patience) };
            let acquired = outcome == Acquisition::Acquired;
            if acquired {
                thread.work(100);
                // SAFETY: the outcome says that this thread holds the lock.
                unsafe { lock.release(&()) };
            }
            outcomes[usize::from(acquired)].fetch_add(1, Relaxed);
            thread.work(100_000);
        }
    });
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    let [in_vain, acquired] = outcomes.map(AtomicU64::into_inner);
    assert!(
        acquired > 10 * in_vain.max(1),
        "acquired {acquired} times, gave up {in_vain} times"
    );
    Ok(())
}

/// Hashes of addresses are independent of where the host places a run's memory.
fn addresses_do_not_matter() -> Result<(), Failed> {
    let memories = [Memory::new(), Memory::new()];
    let keys = memories.each_ref().map(|memory| {
        let _ = memory.bytes(1);
        let lock = memory.lock(Futex::default());
        let address = std::ptr::from_ref(lock).addr();
        let key = AtomicUsize::new(0);
        let mut run = Run::new(&EPYC, memory, options(1));
        let seen = &key;
        run.spawn(move |_| seen.store(key_of(address), Relaxed));
        run.go().unwrap_or_else(|failure| panic!("{failure}"));
        (address, key.into_inner())
    });
    let [(here, one), (there, other)] = keys;
    assert_ne!(here, there, "two memories are at the same place");
    assert_eq!(one, other);
    Ok(())
}

/// All tests of this module.
pub fn tests() -> Vec<Trial> {
    vec![
        Trial::test("property::repeats_itself", repeats_itself),
        Trial::test("property::addresses_do_not_matter", addresses_do_not_matter),
        Trial::test("property::loses_nothing", loses_nothing),
        Trial::test("property::dearer_links_never_help", dearer_links_never_help),
        Trial::test("property::ends_by_a_rule", ends_by_a_rule),
        Trial::test(
            "property::settles_before_it_counts",
            settles_before_it_counts,
        ),
        Trial::test(
            "property::a_deadline_gets_its_turn",
            a_deadline_gets_its_turn,
        ),
    ]
}
