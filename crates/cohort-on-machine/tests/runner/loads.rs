//! `glk` and `glk-plus` under changing loads, and FIFO locks under oversubscription, in virtual
//! time: results hold on every host.

use super::trial::{HASWELL, KUNPENG, full};
use crate::clients::host::{self, Host};
use crate::locks::RawLock;
use crate::locks::adaptive::glk::{Glk, Judge, Mode, OfMachine, OfProcess};
use crate::locks::basic::mcs::McsNode;
use crate::locks::basic::{Anderson, Futex, Mcs, Ticket};
use crate::locks::door::{Mode as Told, Observer, is_counted, nap, set_observer};
use crate::locks::numa::Hmcs2;
use crate::slowest;
use cohort_machine::description::{Machine, synthetic};
use cohort_machine::{Hardware, Memory, Options, Placement, Run};
use libtest_mimic::{Failed, Trial};
use std::cell::{Cell, RefCell};

const MILLISECOND: u64 = 1_000_000;

/// Cycles between two critical sections of a thread.
const PAUSE: u64 = 200;

/// A thread's activity at a time.
pub enum Does {
    /// Acquires the lock in a loop.
    Locks,
    /// Only computes.
    Computes,
    /// Sleeps until that time.
    Rests(u64),
    /// Ends.
    Ends,
}

/// The modes of critical sections, each with the nanosecond from which it was seen.
pub type Seen = Vec<(u64, Mode)>;

/// Runs threads with activity by time and number, with one lock and critical sections of
/// `section` cycles; returns the modes that holders saw.
pub fn seen<J: Judge>(
    hardware: &Hardware,
    options: Options,
    threads: usize,
    section: u64,
    does: &dyn Fn(usize, u64) -> Does,
) -> Seen {
    let memory = Memory::new();
    let lock = memory.lock(Glk::<J>::default());
    let seen = RefCell::new(Seen::new());
    let mut run = Run::new(hardware, &memory, options);
    for number in 0..threads {
        let (memory, seen) = (&memory, &seen);
        run.spawn(move |thread| {
            let node = memory.lock(McsNode::default());
            loop {
                match does(number, thread.now()) {
                    Does::Locks => {
                        // SAFETY: only this thread uses the node. Like the lock, it lies in the
                        // machine's memory until the run is over.
                        unsafe { lock.acquire(node) };
                        let now = (thread.now(), lock.mode());
                        let mut seen = seen.borrow_mut();
                        if seen.last().is_none_or(|(_, last)| *last != now.1) {
                            seen.push(now);
                        }
                        drop(seen);
                        thread.work(section);
                        // SAFETY: acquired above, by this node.
                        unsafe { lock.release(node) };
                        thread.work(PAUSE);
                    }
                    Does::Computes => thread.work(100_000),
                    Does::Rests(until) => nap(until - thread.now()),
                    Does::Ends => break,
                }
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    seen.into_inner()
}

fn has(seen: &[(u64, Mode)], mode: Mode) -> bool {
    seen.iter().any(|(_, its)| *its == mode)
}

/// Six threads on six CPUs at one lock, and other threads on the named CPUs.
fn beside<J: Judge>(others: usize, cpus: &[usize]) -> Seen {
    const HERE: [usize; 6] = [0, 1, 2, 3, 4, 5];
    let options = Options {
        placement: Placement::Cpus(HERE.to_vec()),
        pinned: false,
        background: others,
        background_at: Placement::Cpus(cpus.to_vec()),
        ..Options::default()
    };
    seen::<J>(&KUNPENG, options, HERE.len(), 1_024, &|_, now| {
        if now < 40 * MILLISECOND {
            Does::Locks
        } else {
            Does::Ends
        }
    })
}

/// `glk-plus` ignores load on CPUs that this process may not use, to the nanosecond, and notices
/// load on its own. `glk` considers the whole machine, and decides the other way round.
fn load_elsewhere_changes_nothing() -> Result<(), Failed> {
    let elsewhere: Vec<usize> = (6..128).collect();
    let here: Vec<usize> = (0..6).collect();
    let many = 2 * elsewhere.len();
    let few = 2 * here.len();

    let alone = beside::<OfProcess>(0, &elsewhere);
    assert!(has(&alone, Mode::Mcs) && !has(&alone, Mode::Mutex));
    // Times depend on the address of the lock's memory; modes do not.
    let modes = |changes: &[(u64, Mode)]| changes.iter().map(|&(_, mode)| mode as u32).collect();
    let (apart, by_itself): (Vec<u32>, Vec<u32>) =
        (modes(&beside::<OfProcess>(many, &elsewhere)), modes(&alone));
    assert_eq!(apart, by_itself);
    assert!(has(&beside::<OfProcess>(few, &here), Mode::Mutex));

    assert!(!has(&beside::<OfMachine>(0, &elsewhere), Mode::Mutex));
    assert!(has(&beside::<OfMachine>(many, &elsewhere), Mode::Mutex));
    assert!(!has(&beside::<OfMachine>(few, &here), Mode::Mutex));
    Ok(())
}

/// A period with numbers of acquiring and of computing threads, and the right mode.
struct Load {
    want: usize,
    compute: usize,
    mode: Mode,
}

const fn load(want: usize, compute: usize, mode: Mode) -> Load {
    Load {
        want,
        compute,
        mode,
    }
}

/// More threads than the machine has CPUs, beside the acquiring ones.
const CROWD: usize = 60;

/// Acquiring threads when all acquire.
const ALL: usize = 8;

/// Transitions between all modes.
const LOADS: [Load; 7] = [
    load(2, 0, Mode::Ticket),
    load(ALL, 0, Mode::Mcs),
    load(ALL, CROWD, Mode::Mutex),
    load(ALL, 0, Mode::Mcs),
    load(1, 0, Mode::Ticket),
    load(ALL, CROWD, Mode::Mutex),
    load(1, 0, Mode::Ticket),
];

/// The length of each load, and the time within it from which the mode must be right.
const LASTS: u64 = 15 * MILLISECOND;
const IS_RIGHT_AFTER: u64 = 10 * MILLISECOND;

/// Checks the modes under an injected fault, or none.
pub fn is_soon_right<J: Judge>(section: u64, seed: u64, flaw: Option<&str>) -> Result<(), Failed> {
    let options = Options {
        flaw: flaw.map(str::to_owned),
        placement: Placement::Scattered,
        pinned: false,
        seed,
        ..Options::default()
    };
    let seen = seen::<J>(&HASWELL, options, ALL + CROWD, section, &|number, now| {
        let which = now / LASTS;
        let Some(load) = LOADS.get(which as usize) else {
            return Does::Ends;
        };
        if number < load.want {
            Does::Locks
        } else if (ALL..ALL + load.compute).contains(&number) {
            Does::Computes
        } else {
            Does::Rests((which + 1) * LASTS)
        }
    });
    for (load, which) in LOADS.iter().zip(0..) {
        let begins = which * LASTS + IS_RIGHT_AFTER;
        let ends = (which + 1) * LASTS;
        // The last mode seen before, and the modes seen meanwhile.
        let from = seen.partition_point(|(since, _)| *since <= begins);
        let until = seen.partition_point(|(since, _)| *since < ends);
        let wrong = seen[from.saturating_sub(1)..until]
            .iter()
            .find(|(_, mode)| *mode != load.mode);
        if let Some((since, mode)) = wrong {
            return Err(Failed::from(format!(
                "sections of {section} cycles: {mode:?} since {since} ns, not {:?} from {begins} \
                 ns on: {seen:?}",
                load.mode
            )));
        }
    }
    Ok(())
}

/// The mode is right ten milliseconds after a change of the load, for critical sections of up to
/// 4096 cycles.
fn modes_are_soon_right<J: Judge>() -> Result<(), Failed> {
    let seeds = if full() { 1..=20 } else { 1..=2 };
    for seed in seeds {
        for section in [256, 1_024, 4_096] {
            is_soon_right::<J>(section, seed, None)?;
        }
    }
    Ok(())
}

thread_local! {
    /// Mode changes of the locks in this host thread's runs, with the locks' addresses.
    static HEARD: RefCell<Vec<(usize, Told)>> = const { RefCell::new(Vec::new()) };
}

static OBSERVER: Observer = Observer {
    waited: |_| (),
    changed: |change| HEARD.with_borrow_mut(|heard| heard.push((change.lock, change.to))),
};

/// A machine of two CPUs.
const SMALL: &str = include_str!("../../../../docs/data/host-2cpu.toml");

pub fn small() -> Hardware {
    Hardware::new(&Machine::parse(SMALL).expect("a description of a machine"))
}

/// Cache-line aligned for a reproducible layout on any host: slightly longer accesses can change
/// whether two threads run in step.
#[repr(align(128))]
struct OnLines<L>(L);

/// Threads that acquire a lock there in a loop.
const MANY: usize = 32;

/// Acquisitions in so many virtual milliseconds, of 200 ns and 1 µs apart.
fn sections_on_two_cpus(lock: impl Host) -> u64 {
    const MILLISECONDS: u64 = 40;
    let hardware = small();
    let memory = Memory::new();
    let sections = Cell::new(0);
    let lock = OnLines(lock);
    let mut run = Run::new(&hardware, &memory, Options::default());
    for _ in 0..MANY {
        let (lock, sections) = (&lock.0, &sections);
        run.spawn(move |thread| {
            while thread.now() < MILLISECONDS * MILLISECOND {
                lock.lock();
                thread.work(520);
                assert!(lock.unlock());
                sections.set(sections.get() + 1);
                thread.work(2_600);
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    sections.get()
}

/// Hosted locks on two CPUs pass over preempted waiters, whichever lock it is: throughput is close
/// to that of a lock open to any running thread.
fn strict_locks_pass_over_those_that_do_not_run() -> Result<(), Failed> {
    let best = sections_on_two_cpus(host::in_place::<Futex>());
    for (name, sections) in [
        ("mcs", sections_on_two_cpus(host::in_place::<Mcs>())),
        ("ticket", sections_on_two_cpus(host::in_place::<Ticket>())),
        (
            "anderson",
            sections_on_two_cpus(host::inflated::<Anderson>()),
        ),
        ("hmcs-2", sections_on_two_cpus(host::inflated::<Hmcs2>())),
    ] {
        if 10 * sections < 8 * best {
            return Err(Failed::from(format!("{name}: {sections} of {best}")));
        }
    }
    Ok(())
}

/// A hosted adaptive lock switches to its mutex there, and threads barge past the mutex's waiters:
/// throughput is close to the mutex's.
fn glk_is_hardly_dearer_than_its_mutex() -> Result<(), Failed> {
    let best = sections_on_two_cpus(host::in_place::<Futex>());
    for (name, sections) in [
        (
            "glk",
            sections_on_two_cpus(host::inflated_adapting::<Glk<OfMachine>>()),
        ),
        (
            "glk-plus",
            sections_on_two_cpus(host::inflated_adapting::<Glk<OfProcess>>()),
        ),
    ] {
        if 100 * sections < 92 * best {
            return Err(Failed::from(format!("{name}: {sections} of {best}")));
        }
    }
    Ok(())
}

/// Hosted, a FIFO lock has an admission gate, and most of many threads park outside; an adaptive
/// lock notices them nevertheless.
fn is_seen_under_a_program<J: Judge>() -> Result<(), Failed> {
    let small = Machine::parse(SMALL)?;
    is_seen::<J>(&small, 16);
    // Each cache group has too few threads for oversubscription.
    let two_groups = synthetic("package:2 core:2 pu:1", &small, "two-groups")?;
    is_seen::<J>(&Machine::parse(&two_groups)?, 10);
    Ok(())
}

/// A hosted lock on that machine switches to its mutex under so many threads.
fn is_seen<J: Judge>(machine: &Machine, threads: usize) {
    let hardware = Hardware::new(machine);
    let lock = OnLines(host::inflated_adapting::<Glk<J>>());
    let memory = Memory::new();
    let mut run = Run::new(&hardware, &memory, Options::default());
    for _ in 0..threads {
        run.spawn(|thread| {
            while thread.now() < 20 * MILLISECOND {
                lock.0.lock();
                thread.work(520);
                assert!(lock.0.unlock());
                // Shorter than a critical section: the other CPU's thread already waits.
                thread.work(260);
            }
        });
    }
    set_observer(&OBSERVER);
    HEARD.take();
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    let heard = HEARD.take();
    // The mode may change again as threads end.
    let first = heard.first().map(|(_, mode)| *mode);
    assert_eq!(first, Some(Told::Mutex), "{heard:?}");
    // The object's address, not the inflated lock's.
    let begins = std::ptr::from_ref(&lock.0).addr();
    let object = begins..begins + size_of_val(&lock.0);
    let named = |(at, _): &(usize, Told)| object.contains(at);
    assert!(heard.iter().all(named), "{heard:?} at {object:?}");
}

/// Each thread draws independently whether it counts: at each time, some of many count.
fn threads_draw_lots_of_their_own() -> Result<(), Failed> {
    const THREADS: usize = 64;
    let memory = Memory::new();
    let counted = RefCell::new([0; 16]);
    let mut run = Run::new(&KUNPENG, &memory, Options::default());
    for _ in 0..THREADS {
        run.spawn(|_| {
            let mut counted = counted.borrow_mut();
            for times in counted.iter_mut() {
                *times += usize::from(is_counted(8));
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    let counted = counted.into_inner();
    let some = |times: &usize| (1..THREADS / 2).contains(times);
    if counted.iter().all(some) {
        return Ok(());
    }
    Err(Failed::from(format!("{counted:?} of {THREADS}")))
}

/// All tests of this module.
pub fn tests() -> Vec<Trial> {
    vec![
        slowest::trial(
            "load::threads_draw_lots_of_their_own",
            threads_draw_lots_of_their_own,
        ),
        slowest::trial(
            "load::elsewhere_changes_nothing",
            load_elsewhere_changes_nothing,
        ),
        slowest::trial(
            "load::glk_sees_a_crowd_under_a_program",
            is_seen_under_a_program::<OfMachine>,
        ),
        slowest::trial(
            "load::glk_plus_sees_a_crowd_under_a_program",
            is_seen_under_a_program::<OfProcess>,
        ),
        slowest::trial(
            "load::strict_locks_on_two_cpus",
            strict_locks_pass_over_those_that_do_not_run,
        ),
        slowest::trial("load::glk_on_two_cpus", glk_is_hardly_dearer_than_its_mutex),
        slowest::trial("load::glk_is_soon_right", modes_are_soon_right::<OfMachine>),
        slowest::trial(
            "load::glk_plus_is_soon_right",
            modes_are_soon_right::<OfProcess>,
        ),
    ]
}
