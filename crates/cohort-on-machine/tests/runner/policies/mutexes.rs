//! Mutexes, their admission gates, and reader–writer locks.

use super::super::crowds::{Raw, Served};
use super::super::loads::small;
use super::super::trial::{AMPERE, EPYC, GENOA, HASWELL, KUNPENG};
use super::{
    Case, Check, MILLISECOND, PAUSE, SECTION, THREADS, crossing, handed_beyond, lasting,
    least_share, sections, used,
};
use crate::clients::host::{self, Host};
use crate::locks::baseline::Posix;
use crate::locks::basic::{Bo, Futex, Malthusian, Mcs};
use crate::locks::door::now;
use crate::locks::numa::{Ahmcs3, Cna, FutexHmcs, Hbo, Shfl};
use crate::locks::rwlock::{CRwNp, CRwWp, RawRwLock};
use crate::locks::wait::SpinOnly;
use crate::locks::{
    Abortable, Deadline, Outcome as Acquisition, Patience, RawLock, RawShared, Recursion,
};
use cohort_machine::{Hardware, Length, Memory, Options, Outcome, Placement, Run};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("shfl.leave-unsorted", queues_are_sorted),
    ("shfl.sort-on", queues_are_sorted),
    ("cna.set-nobody-aside", stays_near::<Cna<SpinOnly>>),
    ("ahmcs.learn-nothing", stays_near::<Ahmcs3<SpinOnly>>),
    ("hbo.stay-patient", remote_waiters_get_in),
    ("bo.look-often", looks_are_rare),
    ("malthusian.set-nobody-aside", few_circulate),
    ("malthusian.promote-nobody", the_eldest_comes_back),
    ("futex.stay-in-step", waiters_fall_out_of_step),
    ("futex.spin-on", few_spin_in_a_large_group),
    ("futex.take-no-turns", holders_keep_the_lock_for_a_turn),
    ("futex.keep-turns", absent_holders_end_turns),
    ("futex-hmcs.queue-nobody", default_stays_near),
    ("futex-hmcs.ignore-crowd", queues_are_short_in_a_crowd),
    ("futex-hmcs.halve-nothing", half_of_each_group_queues),
    ("futex-hmcs.circulate-on", sleepers_change_places),
    ("futex-hmcs.offer-nothing", sleepers_change_places),
    ("futex-hmcs.cut-in", woken_threads_let_waiters_finish),
    ("futex-hmcs.ignore-length", long_sections_let_waiters_sleep),
    ("futex-hmcs.owe-nobody", waiters_outside_the_queue_get_in),
    ("gate.admit-all", strict_locks_admit_few),
    ("gate.ignore-scarcity", few_spin_in_a_crowd),
    ("rw-phase.prefer-nobody", writers_come_first),
    ("rwlock.bias-nobody", readers_share_no_line),
];

/// The outcome of contention for the lock on both nodes.
fn wanted<L: RawLock<Context: Default> + Default>(case: Case, pause: u64) -> Outcome {
    let load = [SECTION, pause];
    used(Raw(L::default()), &HASWELL, case.options(), THREADS, load)
}

/// Transfers of the lock's lines per section.
fn moved(outcome: &Outcome) -> f64 {
    let moved: u64 = outcome.transfers.iter().map(|at| at.count.lock).sum();
    moved as f64 / sections(outcome)
}

/// The lock stays on a node while one of the node's threads waits.
fn stays_near<L: RawLock<Context: Default> + Default>(case: Case) -> bool {
    crossing(&wanted::<L>(case, PAUSE)) < 0.2
}

/// The crossing of `shfl` with rows of that length. Sections are long enough to sort many waiters;
/// random pauses mix the nodes in the order of arrival.
fn sorted<const BATCH: u32>(case: Case) -> f64 {
    let lock = Raw(Shfl::<SpinOnly, BATCH>::new());
    let load = [4 * SECTION, 16 * PAUSE];
    crossing(&used(lock, &HASWELL, case.options(), 2 * THREADS, load))
}

/// Waiters of the holder's node come first, up to the bound of a row: rows of one waiter are in order of
/// arrival.
fn queues_are_sorted(case: Case) -> bool {
    sorted::<128>(case) < 0.8 * sorted::<1>(case)
}

/// Remote waiters that have waited for long poll often, so that every thread acquires its share
/// (Dice et al. 2015 §1.1).
fn remote_waiters_get_in(case: Case) -> bool {
    // Of two simultaneous polls at a contended lock, the nearer one wins.
    least_share(&wanted::<Hbo<SpinOnly>>(case, 8 * PAUSE)) > 0.1
}

/// Pauses between looks grow, so that the lock's line seldom moves.
fn looks_are_rare(case: Case) -> bool {
    moved(&wanted::<Bo<SpinOnly>>(case, PAUSE)) < 8.0
}

/// The lock circulates among few threads (Dice 2017).
fn few_circulate(case: Case) -> bool {
    let outcome = wanted::<Malthusian<SpinOnly>>(case, PAUSE);
    let mut rounds: Vec<u64> = outcome.threads.iter().map(|thread| thread.rounds).collect();
    rounds.sort_unstable();
    let most: u64 = rounds.iter().rev().take(THREADS / 2).sum();
    most as f64 > 0.7 * sections(&outcome)
}

/// Waiters set aside come back, the eldest first.
fn the_eldest_comes_back(case: Case) -> bool {
    least_share(&wanted::<Malthusian<SpinOnly, 64>>(case, PAUSE)) > 0.1
}

/// A holder that reacquires at once keeps no waiter out: its changes of the word hit each look of a
/// waiter otherwise.
fn waiters_fall_out_of_step(case: Case) -> bool {
    let options = Options {
        length: lasting(20 * MILLISECOND),
        ..case.parking()
    };
    let outcome = used(Raw(FutexHmcs::new()), &KUNPENG, options, 8, [30, 0]);
    least_share(&outcome) > 0.0
}

/// Under oversubscription of a large cache group, waiters that lose the lock to others sleep, so that
/// its line moves less.
fn few_spin_in_a_large_group(case: Case) -> bool {
    let moves = |case| {
        let load = [SECTION, 24 * PAUSE];
        moved(&used(Raw(Futex::new()), &AMPERE, crowd(case), 256, load))
    };
    let unlimited = Case {
        flaw: Some("futex.spin-on"),
        ..case
    };
    moves(case) < 0.8 * moves(unlimited)
}

/// Under oversubscription, half of each cache group's CPUs wait in the queue: in a large group that
/// loses no throughput, and a lock with several groups stays in one for some time.
fn half_of_each_group_queues(case: Case) -> bool {
    let load = [SECTION, 24 * PAUSE];
    let gain = |machine, threads| {
        let outcome = used(Raw(FutexHmcs::new()), machine, crowd(case), threads, load);
        let posix = used(Raw(<Posix>::new()), machine, crowd(case), threads, load);
        sections(&outcome) / sections(&posix)
    };
    gain(&AMPERE, 256) > 0.9 && gain(&EPYC, 144) > 1.9
}

/// The outcome of so many pinned threads a CPU.
fn pinned<L: RawLock<Context: Default> + Default>(
    machine: &Hardware,
    each: usize,
    case: Case,
    load: [u64; 2],
) -> Outcome {
    let options = Options {
        // Until the queue is short.
        length: Length {
            warm_up: 10 * MILLISECOND,
            ..lasting(40 * MILLISECOND)
        },
        ..case.parking()
    };
    let threads = each * machine.cpus();
    used(Raw(L::default()), machine, options, threads, load)
}

/// With two pinned threads a CPU, each thread is soon served.
fn sleepers_change_places(case: Case) -> bool {
    least_share(&pinned::<FutexHmcs>(&HASWELL, 2, case, [SECTION, PAUSE])) > 0.3
}

/// With three pinned threads a CPU, a woken thread keeps no waiter in the queue from the lock.
fn woken_threads_let_waiters_finish(case: Case) -> bool {
    let load = [700, 1_500];
    let outcome = pinned::<FutexHmcs>(&GENOA, 3, case, load);
    sections(&outcome) > 0.85 * sections(&pinned::<Posix>(&GENOA, 3, case, load))
}

/// Threads that reacquire at once take turns of milliseconds.
fn holders_keep_the_lock_for_a_turn(case: Case) -> bool {
    let outcome = used(Raw(Futex::new()), &KUNPENG, case.parking(), 3, [30, 0]);
    handed_beyond(&outcome, 1) < 0.002
}

/// If holders stay away, waiters take no turns.
fn absent_holders_end_turns(case: Case) -> bool {
    let load = [SECTION, 16 * SECTION];
    let outcome = used(Raw(Futex::new()), &KUNPENG, case.parking(), THREADS, load);
    let posix = used(Raw(<Posix>::new()), &KUNPENG, case.parking(), THREADS, load);
    sections(&outcome) > 0.8 * sections(&posix)
}

/// The default lock's queue serves all waiters equally, and stays in a cache group for some time.
fn default_stays_near(case: Case) -> bool {
    let options = Options {
        placement: Placement::Scattered,
        ..case.parking()
    };
    let load = [SECTION, PAUSE];
    let outcome = used(Raw(FutexHmcs::new()), &HASWELL, options, THREADS, load);
    crossing(&outcome) < 0.2 && least_share(&outcome) > 0.9
}

/// Threads that may move, twice as many as CPUs.
fn crowd(case: Case) -> Options {
    Options {
        pinned: false,
        length: lasting(40 * MILLISECOND),
        ..case.parking()
    }
}

/// The default lock keeps its throughput under oversubscription.
fn queues_are_short_in_a_crowd(case: Case) -> bool {
    let load = [SECTION, 4 * PAUSE];
    let outcome = used(Raw(FutexHmcs::new()), &HASWELL, crowd(case), 96, load);
    let posix = used(Raw(<Posix>::new()), &HASWELL, crowd(case), 96, load);
    sections(&outcome) > 0.8 * sections(&posix)
}

/// While sections are long, most waiters sleep.
fn long_sections_let_waiters_sleep(case: Case) -> bool {
    let load = [100_000, 100_000];
    let outcome = used(
        Raw(FutexHmcs::new()),
        &HASWELL,
        case.parking(),
        THREADS,
        load,
    );
    outcome.spinning < 2 * outcome.cycles
}

/// A waiter with a deadline is outside the queue of the default lock, and acquires it nevertheless.
fn waiters_outside_the_queue_get_in(case: Case) -> bool {
    let memory = Memory::new();
    let lock = memory.lock(FutexHmcs::new());
    let mut run = Run::new(&HASWELL, &memory, case.parking());
    let acquired = std::cell::Cell::new(0);
    for number in 0..THREADS {
        let acquired = &acquired;
        run.spawn(move |thread| {
            while !thread.is_over() {
                let patience = match number {
                    0 => Patience::until(Deadline::monotonic(now() + 2 * MILLISECOND)),
                    _ => Patience::ENDLESS,
                };
                // SAFETY: the lock has no contexts, and stays until the run is over.
                if unsafe { lock.acquire_within(&(), &patience) } == Acquisition::GaveUp {
                    continue;
                }
                if number == 0 {
                    acquired.set(acquired.get() + 1);
                }
                thread.work(SECTION);
                // SAFETY: acquired above.
                unsafe { lock.release(&()) };
                thread.round();
                thread.work(PAUSE);
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    acquired.get() > 2
}

/// The outcome of many threads on a machine of two CPUs.
fn hosted_on_two<H: Host>(lock: impl Fn() -> H, case: Case) -> Outcome {
    let options = Options {
        length: lasting(40 * MILLISECOND),
        ..case.parking()
    };
    used(Served(lock()), &small(), options, 32, [520, 1_300])
}

/// On two CPUs, a strict lock nearly reaches the throughput of a barging lock.
fn strict_locks_admit_few(case: Case) -> bool {
    let strict = hosted_on_two(host::in_place::<Mcs>, case);
    let open = hosted_on_two(host::in_place::<Futex>, case);
    sections(&strict) > 0.4 * sections(&open)
}

/// Under oversubscription few threads are admitted and spin.
fn few_spin_in_a_crowd(case: Case) -> bool {
    let load = [SECTION, 4 * PAUSE];
    let lock = Served(host::in_place::<Mcs>());
    let outcome = used(lock, &HASWELL, crowd(case), 96, load);
    outcome.spinning < 16 * outcome.cycles
}

/// The writers' sections beside readers of that lock.
fn written<L: RawShared<Context: Default> + Default>(case: Case) -> f64 {
    let memory = Memory::new();
    let lock = memory.lock(L::default());
    let mut run = Run::new(&HASWELL, &memory, case.options());
    for number in 0..THREADS {
        let memory = &memory;
        run.spawn(move |thread| {
            let context = memory.lock(L::Context::default());
            while !thread.is_over() {
                // SAFETY: the thread's own context. Like the lock, it lies in the machine's memory
                // until the run is over.
                unsafe {
                    if number < 2 {
                        lock.write(context);
                        thread.work(SECTION);
                        lock.release_write(context);
                        thread.round();
                    } else {
                        lock.read(context, Recursion::Excluded);
                        thread.work(SECTION);
                        lock.release_read(context);
                    }
                }
                thread.work(PAUSE / 2 + thread.random_below(PAUSE));
            }
        });
    }
    sections(&run.go().unwrap_or_else(|failure| panic!("{failure}")))
}

/// Writers of the writer-preferring form acquire more often than those of the neutral form.
fn writers_come_first(case: Case) -> bool {
    written::<CRwWp>(case) > 1.2 * written::<CRwNp>(case)
}

/// The sections of so many threads that read the default rwlock.
fn read(case: Case, threads: usize) -> f64 {
    let memory = Memory::new();
    let lock = memory.lock(RawRwLock::new());
    let mut run = Run::new(&HASWELL, &memory, case.options());
    for _ in 0..threads {
        run.spawn(move |thread| {
            while !thread.is_over() {
                let _ = lock.read(Recursion::Allowed, &Patience::ENDLESS);
                thread.work(READ);
                // SAFETY: read above.
                unsafe { lock.release_read() };
                thread.round();
                thread.work(READ);
            }
        });
    }
    sections(&run.go().unwrap_or_else(|failure| panic!("{failure}")))
}

/// Cycles of a short section, and between two of them.
const READ: u64 = 100;

/// Readers of a lock without writers hardly slow each other.
fn readers_share_no_line(case: Case) -> bool {
    read(case, THREADS) > 0.5 * THREADS as f64 * read(case, 1)
}
