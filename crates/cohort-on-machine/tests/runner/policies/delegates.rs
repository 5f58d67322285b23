//! Delegation locks.

use super::super::trial::HASWELL;
use super::{Case, Check, MILLISECOND, PAUSE, SECTION, THREADS, counted, lasting, sections};
use crate::locks::basic::Mcs;
use crate::locks::basic::mcs::McsNode;
use crate::locks::delegation::sanl::{DistanceFirst, Flat, ServingFirst, Tuning};
use crate::locks::delegation::sanl_plus::{IN_PLACE, QUEUE, Usual};
use crate::locks::delegation::{Fc, Sanl, SanlPlus};
use crate::locks::door::nap;
use crate::locks::wait::SpinOnly;
use crate::locks::{Delegate, Idle, Section, Thresholds, Tunable, WHOLE};
use cohort_machine::{Memory, Options, Outcome, Run};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("sanl.carry-nothing", sections_are_brought),
    ("sanl.vote-at-once", votes_wait_for_the_boundary),
    ("sanl.ignore-share", little_wanted_locks_serve_every_node),
    ("sanl.serve-every-node", servers_stay_with_their_node),
    ("sanl.serve-on", idle_servers_leave),
    ("sanl.stay-idle", idle_servers_serve_all),
    ("sanl.return-at-once", modes_last),
    ("sanl.wait-on", clients_queue_after_a_time),
    ("sanl.scan-on", servers_leave_after_some_rounds),
    ("sanl.serve-long", servers_leave_after_a_millisecond),
    ("sanl.hand-on", servers_let_the_queue_in),
    ("sanl.keep-users", absent_threads_have_no_vote),
    ("sanl-plus.stay-in-place", threads_that_meet_queue),
    ("sanl-plus.stay-in-queue", single_threads_leave_the_queue),
    ("sanl-plus.ride-alone", crowds_share_batches),
    ("fc.scan-old", old_records_are_passed_over),
];

/// What a thread does: how often it runs a section, whether in place if the lock has such a form,
/// and the cycles between.
#[derive(Clone, Copy)]
struct Part {
    rounds: u64,
    here: bool,
    pause: u64,
}

const USUAL: Part = Part {
    rounds: u64::MAX,
    here: false,
    pause: PAUSE,
};

/// The outcome of threads with those parts. `run` runs a section with that context, in place or
/// not.
fn shared<D: Delegate>(
    delegate: D,
    options: Options,
    parts: &[Part],
    run_section: impl Fn(&D, &mut D::Context, Section<'_>, bool) + Copy,
) -> Outcome {
    let memory = Memory::new();
    let delegate = memory.lock(delegate);
    let mut run = Run::new(&HASWELL, &memory, options);
    for part in parts {
        run.spawn(move |thread| {
            let mut context = D::Context::default();
            let mut rounds = 0;
            while !thread.is_over() && rounds < part.rounds {
                let mut work = || {
                    thread.acquired(0);
                    thread.work(SECTION);
                };
                // SAFETY: it does not unwind, and any thread may run it.
                let section = unsafe { Section::new(&mut work) };
                run_section(delegate, &mut context, section, part.here);
                rounds += 1;
                thread.round();
                thread.work(part.pause / 2 + thread.random_below(part.pause));
            }
            while !thread.is_over() {
                nap(MILLISECOND);
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"))
}

/// Runs a section as the lock decides, or in place.
fn either<D: Delegate>(delegate: &D, context: &mut D::Context, section: Section<'_>, here: bool) {
    if here {
        delegate.run_here(context, section);
    } else {
        delegate.run(context, section);
    }
}

/// The outcome of threads that delegate under a lock with those thresholds: to servers at any
/// contention if `brings` is 0, otherwise as they vote.
fn brought<T: Tuning>(case: Case, thresholds: Thresholds, pause: u64) -> Outcome {
    let parts = [Part { pause, ..USUAL }; THREADS];
    brought_by::<T>(case.options(), thresholds, &parts)
}

fn brought_by<T: Tuning>(options: Options, thresholds: Thresholds, parts: &[Part]) -> Outcome {
    type Lock<T> = Sanl<Mcs, T>;
    let always = thresholds.brings == 0;
    shared(
        Lock::<T>::with(&thresholds),
        options,
        parts,
        |lock, context: &mut McsNode, section, here| {
            if always && !here {
                lock.run_by_server(section);
            } else {
                either(lock, context, section, here);
            }
        },
    )
}

/// Under contention, servers run most sections (Zhang et al. 2017 §3.1).
fn sections_are_brought(case: Case) -> bool {
    let outcome = brought::<Flat>(case, Thresholds::USUAL, PAUSE);
    counted(&outcome, "served") > sections(&outcome) / 2.0
}

/// A vote changes only after it was wrong `boundary` times.
fn votes_wait_for_the_boundary(case: Case) -> bool {
    let thresholds = Thresholds {
        boundary: Thresholds::MOST,
        ..Thresholds::USUAL
    };
    counted(&brought::<Flat>(case, thresholds, PAUSE), "served") == 0.0
}

/// Below `θ_f` servers serve every node, above it only their own (Zhang et al. 2017 §3.3.1).
fn little_wanted_locks_serve_every_node(case: Case) -> bool {
    let with = |strict| {
        let thresholds = Thresholds {
            strict,
            waits: u64::MAX,
            ..Thresholds::USUAL
        };
        counted(
            &brought::<ServingFirst>(case, thresholds, PAUSE),
            "hand-overs",
        )
    };
    // No thread waits all the time, so with the largest threshold no server is limited to its node.
    with(0) > 1.2 * with(WHOLE)
}

/// Servers of each node take turns (Zhang et al. 2017 §3.3).
fn servers_stay_with_their_node(case: Case) -> bool {
    let thresholds = Thresholds {
        waits: u64::MAX,
        ..Thresholds::USUAL
    };
    let far = brought::<DistanceFirst>(case, thresholds, PAUSE);
    let flat = brought::<Flat>(case, thresholds, PAUSE);
    counted(&far, "hand-overs") > 1.2 * counted(&flat, "hand-overs")
}

/// A server leaves after finding no request `L_s` times (Zhang et al. 2017 §3.4.3).
fn idle_servers_leave(case: Case) -> bool {
    let thresholds = Thresholds {
        serves: 1_000,
        brings: 0,
        idle: Idle::constant(1),
        ..Thresholds::USUAL
    };
    // Sections are so rare that a server soon finds no request.
    let outcome = brought::<Flat>(case, thresholds, 100_000);
    counted(&outcome, "passes") < 20.0 * counted(&outcome, "nominations")
}

/// A server of a node without requests serves the other nodes. Servers of single nodes would soon be
/// idle, and hand the lock over (Zhang et al. 2017 §3.3, on the distance-first policy).
fn idle_servers_serve_all(case: Case) -> bool {
    let thresholds = Thresholds {
        strict: 1,
        brings: 1,
        ..Thresholds::USUAL
    };
    let outcome = brought::<ServingFirst>(case, thresholds, 10 * SECTION);
    50.0 * counted(&outcome, "hand-overs") < sections(&outcome)
}

/// When in-place waits are long and served waits short, delegation lasts once it was left in vain.
fn modes_last(case: Case) -> bool {
    // The wait's share of time is above that threshold in place, and below it when served.
    let thresholds = Thresholds {
        brings: WHOLE / 4,
        ..Thresholds::USUAL
    };
    let outcome = brought::<Flat>(case, thresholds, 16 * SECTION);
    let changes = counted(&outcome, "mode-switches");
    changes > 1.0 && changes < 4.0
}

/// A client of a lock that is never free queues after `T_w` (Zhang et al. 2017, algorithm 3).
fn clients_queue_after_a_time(case: Case) -> bool {
    let here = Part {
        here: true,
        ..USUAL
    };
    let thresholds = Thresholds {
        brings: 0,
        waits: 50_000,
        ..Thresholds::USUAL
    };
    let parts = [USUAL, here, here, here, here, here];
    let outcome = brought_by::<Flat>(case.options(), thresholds, &parts);
    outcome.threads[0].rounds > 10
}

/// A server leaves after `T_s` rounds (Zhang et al. 2017, algorithm 2).
fn servers_leave_after_some_rounds(case: Case) -> bool {
    let thresholds = Thresholds {
        serves: 4,
        brings: 0,
        ..Thresholds::USUAL
    };
    let outcome = brought::<Flat>(case, thresholds, PAUSE);
    counted(&outcome, "passes") < 5.0 * counted(&outcome, "nominations")
}

/// A server leaves after a millisecond, however many requests it finds.
fn servers_leave_after_a_millisecond(case: Case) -> bool {
    let thresholds = Thresholds {
        serves: Thresholds::MOST,
        brings: 0,
        waits: u64::MAX,
        idle: Idle::constant(Thresholds::MOST),
        ..Thresholds::USUAL
    };
    counted(&brought::<Flat>(case, thresholds, PAUSE), "nominations") > 0.0
}

/// After some hand-overs the lock goes to queued threads.
fn servers_let_the_queue_in(case: Case) -> bool {
    let here = Part {
        here: true,
        ..USUAL
    };
    let thresholds = Thresholds {
        serves: 1,
        brings: 0,
        waits: u64::MAX,
        ..Thresholds::USUAL
    };
    let mut parts = [USUAL; THREADS];
    parts[0] = here;
    let outcome = brought_by::<Flat>(case.options(), thresholds, &parts);
    outcome.threads[0].rounds > 10
}

/// Threads that have long not used the lock do not count as users: three others outvote them.
fn absent_threads_have_no_vote(case: Case) -> bool {
    let mut parts = [Part { rounds: 1, ..USUAL }; THREADS];
    parts[..3].fill(USUAL);
    let options = Options {
        length: lasting(25 * MILLISECOND),
        ..case.options()
    };
    counted(
        &brought_by::<Flat>(options, Thresholds::USUAL, &parts),
        "served",
    ) > 0.0
}

type Plus<const MOST: u64, const CALM: u64, const AT_FIRST: u32> =
    SanlPlus<SpinOnly, MOST, CALM, AT_FIRST, 16, 14, Usual>;

/// The outcome of threads that share that lock.
fn plus<const MOST: u64, const CALM: u64, const AT_FIRST: u32>(
    case: Case,
    parts: &[Part],
) -> Outcome {
    let lock = Plus::<MOST, CALM, AT_FIRST>::default();
    shared(lock, case.options(), parts, either)
}

/// Threads that often meet stay in the queue, where they come to share batches.
fn threads_that_meet_queue(case: Case) -> bool {
    let outcome = plus::<256, 16, IN_PLACE>(case, &[USUAL; THREADS]);
    counted(&outcome, "mode-switches") > 0.0
}

/// A single thread runs its sections in place: it accesses the lock as often as if it had never
/// queued.
fn single_threads_leave_the_queue(case: Case) -> bool {
    let accesses = |outcome: &Outcome| (outcome.accesses.lock + outcome.accesses.other) as f64;
    let outcome = plus::<256, 16, QUEUE>(case, &[USUAL]);
    let fresh = plus::<256, 16, IN_PLACE>(case, &[USUAL]);
    accesses(&outcome) < 1.1 * accesses(&fresh)
}

/// Once holders run many sections, threads of a node share batches.
fn crowds_share_batches(case: Case) -> bool {
    let parts = [Part {
        pause: 100,
        ..USUAL
    }; THREADS];
    counted(&plus::<8, 2, QUEUE>(case, &parts), "mode-switches") > 0.0
}

/// A combiner scans the records of recent users.
fn old_records_are_passed_over(case: Case) -> bool {
    let mut parts = [Part { rounds: 1, ..USUAL }; THREADS];
    parts[..3].fill(USUAL);
    let lock = Fc::<Mcs, SpinOnly>::default();
    let outcome = shared(lock, case.options(), &parts, either);
    counted(&outcome, "looks") < 4.0 * counted(&outcome, "passes")
}
