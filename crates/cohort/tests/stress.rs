//! The clients that the model checker explores, on this machine: few threads, more
//! than it has CPUs, and many rounds, with exact counts at the end.
//!
//! A test that hangs has lost a wake-up; each says how long it may take.

#[path = "../../cohort-on-loom/clients/mod.rs"]
mod clients;
#[path = "../../cohort-on-loom/clients/delegate.rs"]
mod delegate;
#[path = "support/kept.rs"]
mod kept;

use clients::condvar::{Looking, Queued};
use clients::near_wrap::NearWrap;
use clients::object::{Beginning, CROWDED, NAMED, NAMELESS};
use clients::recipes::{ClhHemlock, HemlockTicket, McsClh, McsTicketClh, TicketMcs};
use clients::rwlock::Hold;
use clients::{
    arena, barrier, condvar, destroy, gate, glk, host, mutex, near, object, once, p_sim, rwlock,
    semaphore, service, waking, waking_shared,
};
/// The build of the locks that the clients use.
use cohort as locks;
use delegate::{
    Apart, Bringing, Chained, Combining, Growing, Hastily, Passing, Patiently, Places, Polling,
    Queueing, RidesFrom, Scarce, Settling, Soon, Staying, Voting, Waiting,
};
use locks::abortable::{AClh, AMcs, ClhTry, McsTry};
use locks::baseline::{Posix, PosixAdaptive, PosixRwLock, SpinPark, SpinPark4};
use locks::basic::{Anderson, Bo, Clh, Futex, Hemlock, Mcs, Ptl, Tas, Ticket, Ttas};
use locks::compose::{
    ACBoClh, AClof, Adaptive, Bypass, CMcsMcs, CTktMcs, CacheGroup, Clof, Core, Fast, Gated, Numa,
    Package, Stacked,
};
use locks::delegation::sanl_plus::{IN_PLACE, QUEUE, RIDES, Usual};
use locks::delegation::{Oyama, Qd, Sanl, SanlPlus};
use locks::door::{count_reads, set_cohorts};
use locks::numa::{Ahmcs4, Cna, FutexHmcs, Hclh, Hmcs3, HmcsT1, HmcsT2, HmcsT3, Near, Shfl};
use locks::rwlock::{Abandoning, CRwNp, CRwWp, CohortRw, RawRwLock};
use locks::wait::MayPark;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// What the clients need of their world.
mod world {
    pub use crate::kept::Kept;
    use crate::locks::host::{Arena, Census};
    use crate::locks::{Clock, Deadline};
    use std::cell::Cell;
    use std::sync::{Arc, Mutex};

    /// Runs `body` on that many threads, each with its number.
    pub fn together<R: Send + 'static>(
        threads: usize,
        body: impl Fn(usize) -> R + Send + Sync + 'static,
    ) -> Option<Vec<R>> {
        let results = Mutex::new(Vec::from_iter((0..threads).map(|_| None)));
        run_together(threads, &|number| {
            let result = body(number);
            results.lock().expect("no client's thread panics")[number] = Some(result);
        });
        let results = results.into_inner().expect("as above");
        results.into_iter().collect()
    }

    /// The same of what returns nothing; compiled once, and not by each client of each lock.
    fn run_together(threads: usize, body: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|number| scope.spawn(move || body(number)))
                .collect();
            for thread in running {
                thread.join().expect("a client's thread does not panic");
            }
        });
    }

    /// A pool of nodes; no other pool may use the threads' caches of that number,
    /// which holds because every client has threads of its own.
    pub fn nodes<T: Default + Send + Sync + 'static>(
        cache: usize,
    ) -> Arc<impl Census<T> + Send + 'static> {
        Arc::new(Arena::<T>::new(cache))
    }

    thread_local! {
        /// How often this thread has lingered.
        static LINGERED: Cell<u32> = const { Cell::new(0) };
    }

    /// Now and then gives the CPU away, so that a lock which does not exclude is found on a
    /// machine that is busy with something else too.
    pub fn linger() {
        let before = LINGERED.get();
        LINGERED.set(before.wrapping_add(1));
        if before.is_multiple_of(128) {
            std::thread::yield_now();
        }
    }

    /// A deadline that many acquisitions miss.
    pub fn soon() -> Deadline {
        let at = crate::locks::door::now() + 20_000;
        Deadline {
            clock: Clock::Monotonic,
            seconds: (at / 1_000_000_000) as i64,
            nanoseconds: (at % 1_000_000_000) as u32,
        }
    }
}

/// Many on this machine, few enough for a second.
const THREADS: usize = 6;

/// How long the last of the threads, which claim, have patience.
const CLAIMS: [Option<u64>; 4] = [None, Some(5_000_000), Some(300_000), Some(0)];

/// Four levels, with a different lock at each.
type Four = Clof<Ticket, Clof<Clh, Clof<Hemlock, Mcs, Package>, CacheGroup>, Core>;

/// The number after which a cell's 31 bits wrap.
const CELL: u32 = u32::MAX >> 1;

/// Far beyond what any client needs: the slowest takes a second alone, and forty on two CPUs that fifteen
/// other processes want.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs a client, and fails instead of hanging.
fn within_limit(client: fn()) {
    let (done, wait) = channel();
    let runner = std::thread::spawn(move || {
        client();
        let _ = done.send(());
    });
    match wait.recv_timeout(LIMIT) {
        Ok(()) => runner.join().expect("it is past the client"),
        Err(RecvTimeoutError::Timeout) => panic!("not done after {LIMIT:?}: a wake-up is lost"),
        Err(RecvTimeoutError::Disconnected) => {
            let reason = runner.join().expect_err("it ended without a word");
            std::panic::resume_unwind(reason);
        }
    }
}

macro_rules! stress {
    ($($name:ident: $client:expr;)+) => {
        $(#[test]
        fn $name() {
            within_limit(|| $client);
        })+
    };
}

/// Each CPU a cohort of its own at every level, whatever this machine is.
fn apart() {
    let levels = ["core", "cache", "numa", "package"];
    let cohorts = levels.map(|level| format!("{level} 0; {level} 1; {level} 2; {level} 3;"));
    set_cohorts(&cohorts.concat()).expect("the text is right");
}

/// Longer than a reader defers to writers.
fn a_while() {
    std::thread::sleep(Duration::from_millis(6));
}

/// What every lock of the catalogue owes, by what it says that it can do.
mod every {
    use super::*;

    macro_rules! owed {
        // A release of these touches the lock after another thread may have destroyed it, so no
        // host has them in an object.
        (@destroyed anderson, $lock:ty) => {};
        (@destroyed fc_mcs, $lock:ty) => {};
        (@destroyed fc_mcs_published, $lock:ty) => {};
        (@destroyed hmcs_2, $lock:ty) => {};
        (@destroyed hmcs_3, $lock:ty) => {};
        (@destroyed hmcs_4, $lock:ty) => {};
        (@destroyed hmcs_4_package, $lock:ty) => {};
        (@destroyed hmcs_5, $lock:ty) => {};
        (@destroyed hmcs_t_1, $lock:ty) => {};
        (@destroyed hmcs_t_2, $lock:ty) => {};
        (@destroyed hmcs_t_3, $lock:ty) => {};
        (@destroyed hmcs_t_4, $lock:ty) => {};
        (@destroyed ahmcs_3, $lock:ty) => {};
        (@destroyed ahmcs_4, $lock:ty) => {};
        (@destroyed c_bo_bo, $lock:ty) => {};
        (@destroyed c_tkt_tkt, $lock:ty) => {};
        (@destroyed c_ptl_tkt, $lock:ty) => {};
        (@destroyed c_bo_mcs, $lock:ty) => {};
        (@destroyed c_tkt_mcs, $lock:ty) => {};
        (@destroyed c_mcs_mcs, $lock:ty) => {};
        (@destroyed a_c_bo_bo, $lock:ty) => {};
        (@destroyed a_c_bo_clh, $lock:ty) => {};
        (@destroyed $name:ident, $lock:ty) => {
            #[test]
            fn is_destroyed() {
                within_limit(|| (0..2_000).for_each(|_| destroy::is_destroyed::<$lock>(3)));
            }
        };

        (@Abortable $lock:ty) => {
            #[test]
            fn lets_go() {
                within_limit(|| mutex::lets_go::<$lock>(THREADS, 30_000, 3));
            }

            #[test]
            fn is_cancelled() {
                within_limit(|| for round in 0..200 {
                    mutex::is_cancelled_or_late::<$lock>();
                    mutex::is_cancelled::<$lock>(THREADS);
                    mutex::is_cancelled_by_either::<$lock>((round % 2) as usize);
                    mutex::is_cancelled_or_granted::<$lock>(THREADS, round % 2 == 0);
                });
            }
        };
        (@RawTry $lock:ty) => {};
        (@BoundedAbort $lock:ty) => {};
        (@ThreadOblivious $lock:ty) => {};
        (@DetectsWaiters $lock:ty) => {
            #[test]
            fn waiters() {
                within_limit(|| for _ in 0..200 {
                    mutex::tells_no_lies_about_waiters::<$lock>(THREADS as u64);
                });
            }
        };
        (@Fair $lock:ty) => {};
        (@Inherit $lock:ty) => {};

        (@Word $lock:ty) => {};
        (@InPlace $lock:ty) => { owed!(@hosted in_place, $lock); };
        (@Nowhere $lock:ty) => { owed!(@hosted in_place, $lock); };
        (@Apart $lock:ty) => { owed!(@hosted inflated, $lock); };
        (@Inflated $lock:ty) => { owed!(@hosted inflated, $lock); };
        (@hosted $host:ident, $lock:ty) => {
            #[test]
            fn $host() {
                within_limit(|| { apart(); host::excludes(host::$host::<$lock>(), THREADS, 20_000, 1) });
            }
        };
    }

    macro_rules! each {
        ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
           $source:literal, [$($capability:ident),*];)+) => {
            $(mod $name {
                use super::*;

                #[test]
                fn excludes() {
                    within_limit(|| {
                        apart();
                        // A lock without order serves a thread many times in the time in which
                        // one in order changes CPUs once.
                        let fair = [$(stringify!($capability)),*].contains(&"Fair");
                        let rounds = if fair { 20_000 } else { 200_000 };
                        mutex::excludes::<$lock>(THREADS, rounds, 1);
                    });
                }

                owed!(@destroyed $name, $lock);
                owed!(@$storage $lock);
                $(owed!(@$capability $lock);)*
            })+
        };
    }
    cohort::for_each_lock!(each);
}

/// What every delegate of the catalogue owes, by what it says that it can do.
mod every_delegate {
    use super::*;

    macro_rules! owed {
        (@AbortableDelegate $delegate:ty) => {
            #[test]
            fn lets_go() {
                within_limit(|| delegate::lets_go::<$delegate>(THREADS, 5_000, 3, 1));
            }

            #[test]
            fn goes_on_past_one_that_left() {
                within_limit(|| {
                    (0..300).for_each(|_| delegate::goes_on_past_one_that_left::<$delegate>());
                });
            }

            #[test]
            fn is_destroyed_within() {
                within_limit(|| {
                    (0..300).for_each(|_| delegate::is_destroyed_within::<$delegate>(THREADS, 2));
                });
            }

            #[test]
            fn waits_within() {
                within_limit(|| {
                    (0..300).for_each(|_| {
                        delegate::waits_within::<$delegate>(THREADS, THREADS / 2);
                        delegate::stops_waiting::<$delegate>(THREADS);
                    });
                });
            }
        };
        (@Attended $delegate:ty) => {
            #[test]
            fn is_attended() {
                within_limit(|| delegate::is_attended::<$delegate>(THREADS, 5_000, 1));
            }

            #[test]
            fn is_brought_by_its_server() {
                within_limit(|| {
                    (0..300).for_each(|_| delegate::is_brought_by_its_server::<$delegate>());
                });
            }
        };
        (@Tunable $delegate:ty) => {};
        (@TryDelegate $delegate:ty) => {
            #[test]
            fn is_tried() {
                within_limit(|| delegate::is_tried::<$delegate>(THREADS, 5_000, 2));
            }
        };
    }

    macro_rules! each {
        ($($name:ident, $delegate:ty, $about:literal, $source:literal, [$($can:ident),*];)+) => {
            $(mod $name {
                use super::*;

                #[test]
                fn runs() {
                    within_limit(|| {
                        apart();
                        delegate::runs::<$delegate>(THREADS, 20_000, 2);
                    });
                }

                #[test]
                fn waits_for_others() {
                    within_limit(|| {
                        (0..300).for_each(|_| {
                            delegate::waits_for_others::<$delegate>(THREADS, THREADS / 2);
                        });
                    });
                }

                #[test]
                fn is_destroyed() {
                    within_limit(|| {
                        (0..1_000).for_each(|_| delegate::is_destroyed::<$delegate>(THREADS, 1));
                    });
                }

                #[test]
                fn serves_nobody_inside() {
                    within_limit(|| {
                        (0..300).for_each(|_| {
                            delegate::serves_nobody_inside::<$delegate>(THREADS);
                        });
                    });
                }

                $(owed!(@$can $delegate);)*
            })+
        };
    }
    cohort::for_each_delegate!(each);
}

stress! {
    sanl_votes: delegate::runs::<Sanl<Mcs, Voting>>(THREADS, 10_000, 1);
    sanl_brings: delegate::runs::<Bringing<Patiently>>(THREADS, 10_000, 1);
    sanl_brings_late: delegate::runs::<Bringing<Hastily>>(THREADS, 10_000, 1);
    sanl_brings_apart: { apart(); delegate::runs::<Bringing<Apart>>(THREADS, 10_000, 1) };
    sanl_panics: (0..300).for_each(|_| delegate::panics::<Bringing<Patiently>>(THREADS));
    sanl_plus_rides: { apart(); delegate::runs::<SanlPlus<MayPark, 4, 0, RIDES>>(THREADS, 20_000, 1) };
    sanl_plus_rides_wrap: {
        apart();
        delegate::runs::<RidesFrom<{ u32::MAX - 100 }>>(THREADS, 20_000, 1);
        delegate::runs::<RidesFrom<{ (1 << 31) - 100 }>>(THREADS, 20_000, 1);
    };
    sanl_plus_is_destroyed: (0..1_000).for_each(|_| {
        delegate::is_destroyed::<SanlPlus<MayPark, 4, 0, RIDES>>(THREADS, 0);
        delegate::is_destroyed::<Settling>(THREADS, 0);
        delegate::is_destroyed::<Queueing>(THREADS, 0);
    });
    sanl_plus_is_tried: {
        delegate::is_tried::<Queueing>(THREADS, 5_000, 2);
        delegate::is_tried::<Settling>(THREADS, 5_000, 2);
        delegate::is_tried::<Staying>(THREADS, 5_000, 2);
        (0..1_000).for_each(|_| delegate::turns_are_tried::<Queueing>(THREADS, THREADS / 2));
    };
    thin_excludes: (0..1_000).for_each(|_| {
        delegate::runs::<Growing<SanlPlus>>(THREADS, 20, 1);
        delegate::runs::<Growing<Queueing>>(THREADS, 20, 1);
        delegate::runs::<Growing<Bringing<Patiently>>>(THREADS, 20, 1);
        delegate::runs::<Scarce<Mcs>>(THREADS, 20, 1);
    });
    thin_is_destroyed: (0..1_000).for_each(|_| {
        delegate::is_destroyed::<Growing<SanlPlus>>(THREADS, 1);
        delegate::is_destroyed::<Growing<Queueing>>(THREADS, 1);
        delegate::is_destroyed::<Growing<Bringing<Patiently>>>(THREADS, 1);
        delegate::is_made_again::<Growing<locks::delegation::CcSynch>>(THREADS);
    });
    thin_is_tried: (0..300).for_each(|_| {
        delegate::is_tried::<Growing<SanlPlus>>(THREADS, 20, 2);
        delegate::turns_are_tried::<Growing<Queueing>>(THREADS, THREADS / 2);
    });
    thin_steps_down: (0..300).for_each(|_| {
        delegate::pauses::<Growing<SanlPlus>>(THREADS, THREADS / 2);
        delegate::unlocks_in_order_of_locking::<Growing<Queueing>>(THREADS);
        delegate::serves_nobody_inside::<Combining>(THREADS);
    });
    cc_synch_is_made_again: (0..1_000).for_each(|_| {
        delegate::is_made_again::<locks::delegation::CcSynch>(THREADS);
    });
    sanl_brings_is_destroyed: (0..1_000).for_each(|_| {
        delegate::is_destroyed::<Bringing<Patiently>>(THREADS, 1);
    });
    sanl_plus_mixes: (0..300).for_each(|_| {
        delegate::mixes::<SanlPlus<MayPark, 2, 0, RIDES, 1, 2>>(THREADS);
    });
    oyama_hands_on: delegate::runs::<Oyama<MayPark, 2, true>>(THREADS, 20_000, 2);
    oyama_runs_few: (0..300).for_each(|_| delegate::runs_few::<Oyama<MayPark, 2>>(THREADS, 2));
    qd_is_full: delegate::runs::<Qd<Mcs, MayPark, 2>>(THREADS, 20_000, 2);
    qd_opens_again: (0..300).for_each(|_| delegate::runs_again::<Qd<Mcs, MayPark, 1>>(THREADS));
    qd_lets_go: delegate::lets_go::<Qd<Mcs, MayPark, 2>>(THREADS, 5_000, 3, 1);
    p_sim_adds: p_sim::adds::<THREADS>(THREADS, 20_000, 0);
    p_sim_adds_by_two: p_sim::adds::<2>(2, 50_000, (1 << 56) - 50_000);
    p_sim_comes_and_goes: p_sim::comes_and_goes::<THREADS>(THREADS, 10_000);
    p_sim_panics: (0..300).for_each(|_| p_sim::panics::<THREADS>(THREADS));
    posting_posts: (0..300).for_each(|_| delegate::posts::<SanlPlus>(THREADS, THREADS / 2));
    pausing_pauses: (0..300).for_each(|_| {
        delegate::pauses::<Mcs>(THREADS, THREADS / 2);
        delegate::pauses::<Sanl>(THREADS, THREADS / 2);
        delegate::pauses::<Bringing<Patiently>>(THREADS, THREADS / 2);
        delegate::pauses::<SanlPlus>(THREADS, THREADS / 2);
        delegate::pauses::<Queueing>(THREADS, THREADS / 2);
        delegate::pauses::<locks::delegation::CcSynch>(THREADS, THREADS / 2);
    });
    pausing_in_turn: {
        delegate::pauses_in_turn::<Sanl>(1_000);
        delegate::pauses_in_turn::<SanlPlus>(1_000);
        delegate::pauses_in_turn::<locks::delegation::CcSynch>(1_000);
    };
    pausing_at: (0..300).for_each(|_| delegate::pauses_at::<SanlPlus>(THREADS));
    pausing_stops: (0..100).for_each(|_| delegate::stops_pausing::<Sanl>(THREADS));
    cc_synch_unlocks: (0..300).for_each(|_| {
        delegate::unlocks_in_order_of_locking::<locks::delegation::CcSynch>(THREADS);
    });
    rcl_is_attended_within: {
        delegate::is_attended_within::<crate::locks::delegation::Rcl>(THREADS, 5_000);
    };
    posting_hurried: (0..300).for_each(|_| {
        delegate::posts_beside_hurried::<Sanl>(THREADS, THREADS / 2);
    });
    waking_waits: (0..300).for_each(|_| waking::waits::<Mcs>(THREADS, THREADS / 2));
    waking_places: waking::keeps_places::<Mcs>();
    waking_call: waking::passes_a_call_on::<Mcs>();
    waking_passes_over: (0..300).for_each(|_| waking::passes_over_unpolled::<Tas>());
    waking_drops: (0..300).for_each(|_| waking::drops_what_waits::<Mcs>(THREADS, THREADS / 2));
    waking_hurried: (0..300).for_each(|_| {
        waking::waits_beside_hurried::<HmcsT1>(THREADS, THREADS / 2);
    });
    waking_shared_waits: (0..300).for_each(|_| {
        waking_shared::waits(THREADS, THREADS / 2, THREADS / 4);
        waking_shared::waits_beside_readers(THREADS);
    });
    waking_shared_drops: (0..300).for_each(|_| {
        waking_shared::drops_what_waits(THREADS, true);
        waking_shared::drops_what_waits(THREADS, false);
    });
    waking_shared_wakes: {
        waking_shared::wakes_readers_together();
        waking_shared::stands_behind_writers(false);
        waking_shared::stands_behind_writers(true);
        waking_shared::leaves_no_reader_behind();
        waking_shared::passes_over_unpolled();
    };
    waking_shared_dropped: (0..300).for_each(|_| waking_shared::reads_beside_dropped_writer());
    posting_drops: (0..300).for_each(|_| delegate::drops_what_it_posted::<Mcs>(THREADS));
    posting_is_inside: (0..300).for_each(|_| delegate::serves_no_task_inside::<SanlPlus>(THREADS));
    sanl_plus_unlocks: (0..300).for_each(|_| {
        delegate::unlocks_in_order_of_locking::<Places<QUEUE, Usual>>(THREADS);
        delegate::unlocks_in_order_of_locking::<Places<IN_PLACE, Soon>>(THREADS);
    });
    sanl_unlocks: (0..300).for_each(|_| {
        delegate::serves_nobody_locked::<Bringing<Patiently>>(THREADS);
        delegate::unlocks_in_order_of_locking::<Bringing<Patiently>>(THREADS);
    });
    sanl_plus_meets: { apart(); delegate::runs::<Settling>(THREADS, 20_000, 1) };
    sanl_plus_meets_hurried: delegate::lets_go::<Settling>(THREADS, 5_000, 3, 1);
    sanl_plus_passes: { apart(); delegate::lets_go::<Passing>(THREADS, 5_000, 3, 1) };
    sanl_plus_insists: { apart(); delegate::lets_go::<Waiting>(THREADS, 5_000, 3, 1) };
    sanl_plus_polls: { apart(); delegate::lets_go::<Polling>(THREADS, 500, 3, 1) };
    sanl_plus_queues: delegate::lets_go::<Queueing>(THREADS, 5_000, 3, 1);
    sanl_plus_stays: delegate::lets_go::<Staying>(THREADS, 5_000, 3, 1);
    sanl_threads_come_and_go: {
        (0..300).for_each(|_| delegate::runs::<Bringing<Chained>>(THREADS, 20, 1));
    };
    anderson_excludes: mutex::excludes::<Anderson<2>>(THREADS, 20_000, 1);
    futex_hmcs_excludes: { apart(); mutex::excludes::<FutexHmcs>(THREADS, 50_000, 1) };
    futex_hmcs_lets_go: { apart(); mutex::lets_go::<FutexHmcs>(THREADS, 30_000, 3) };
    futex_hmcs_keeps_apart: { apart(); (0..2_000).for_each(|_| mutex::keeps_apart::<FutexHmcs>()) };
    stacked_excludes: mutex::excludes::<Stacked<McsTicketClh>>(THREADS, 20_000, 1);
    stacked_takes_turns: {
        mutex::takes_turns::<Stacked<TicketMcs>, _>([20_000; 6]);
        mutex::takes_turns::<Stacked<McsClh>, _>([20_000; 6]);
        mutex::takes_turns::<Stacked<HemlockTicket>, _>([20_000; 6]);
    };
    stacked_inflated: host::excludes(host::inflated::<Stacked<ClhHemlock>>(), THREADS, 20_000, 1);
    hmcs_t_lets_go: {
        apart();
        mutex::lets_go::<HmcsT1>(THREADS, 20_000, 3);
        mutex::lets_go::<HmcsT3>(THREADS, 20_000, 3);
    };
    hmcs_t_passes_over: (0..300).for_each(|_| mutex::passes_over::<HmcsT1>());
    hmcs_t_comes_back_hurried: (0..300).for_each(|_| mutex::comes_back_hurried::<HmcsT3>());
    hmcs_t_persists: { apart(); mutex::persists::<HmcsT3>(20_000) };
    hmcs_t_comes_back: {
        apart();
        for round in 0..300 {
            mutex::comes_back::<HmcsT1>(THREADS, THREADS - 1, round % 2 == 0);
            mutex::comes_back::<HmcsT2>(THREADS, THREADS - 1, round % 2 == 0);
        }
    };
    clh_try_leaves_twice: (0..300).for_each(|_| mutex::leaves_twice::<ClhTry>());
    clh_try_comes_back_meanwhile: (0..300).for_each(|_| mutex::comes_back_meanwhile::<ClhTry>());
    mcs_try_leaves_twice: (0..300).for_each(|_| mutex::leaves_twice::<McsTry>());
    mcs_try_comes_back_meanwhile: (0..300).for_each(|_| mutex::comes_back_meanwhile::<McsTry>());
    a_mcs_comes_back: (0..300).for_each(|_| {
        mutex::comes_back_late::<AClof<AMcs, Bo, Numa, 2, 1>>();
        mutex::comes_back::<AClof<AMcs, Bo, Numa, 2, 4>>(THREADS, THREADS - 1, false);
    });
    a_mcs_begins_anew_after_a_fork: mutex::begins_anew_after_a_fork::<AMcs>();
    aclof_stays: (0..100).for_each(|_| {
        type Lock = AClof<AClh, AClof<AMcs, HmcsT1, Numa, 2, 4>, CacheGroup, 2, 4>;
        mutex::outlasts_a_neighbour::<Lock>();
        mutex::lets_go_beside_a_try::<Lock>(THREADS, 100, THREADS / 2);
        mutex::comes_back::<Lock>(THREADS, THREADS - 1, false);
    });
    swept_nodes_come_back: mutex::uses_its_node_again();
    hmcs_t_inflated_abandoned: {
        apart();
        let host = host::inflated_abandonable::<HmcsT2>();
        host::is_claimed(host, THREADS, 20_000, [Some(20_000); 3]);
    };
    a_c_bo_clh_inflated_abandoned: {
        apart();
        let host = host::inflated_abandonable::<ACBoClh>();
        host::is_claimed(host, THREADS, 20_000, [Some(20_000); 3]);
    };
    hmcs_t_all_let_go: mutex::all_let_go::<HmcsT1>(THREADS);
    hmcs_t_comes_past: {
        apart();
        // SAFETY: it is an acquisition.
        unsafe { mutex::comes_by::<HmcsT2>(THREADS, HmcsT2::acquire_among_others) };
    };
    ahmcs_takes_turns: { apart(); mutex::takes_turns::<Ahmcs4, _>([20_000, 10_000, 10_000]) };
    glk_changes: mutex::excludes::<glk::Forwards>(THREADS, 20_000, 1);
    glk_changes_back: mutex::excludes::<glk::Backwards>(THREADS, 20_000, 1);
    glk_to_and_fro: mutex::excludes::<glk::ToAndFro>(THREADS, 20_000, 1);
    glk_in_and_out: mutex::excludes::<glk::InAndOut>(THREADS, 20_000, 1);
    glk_inflated: host::excludes(host::inflated_adapting::<glk::Forwards>(), THREADS, 20_000, 1);
    glk_passes: host::excludes(host::inflated_adapting::<glk::InMutex>(), THREADS, 20_000, 1);
    glk_comes_round: (0..500).for_each(|_| glk::comes_round(THREADS));
    glk_is_free: (0..2_000).for_each(|_| glk::is_free_for_a_try::<glk::Forwards>());
    glk_is_destroyed: (0..500).for_each(|_| destroy::is_destroyed::<glk::Forwards>(THREADS));
    assigned: (0..40).for_each(|_| host::is_assigned::<Tas, Mcs>(THREADS, 3));
    gate: (0..1_000).for_each(|_| gate::lets_all_in_when_two_leave());
    wide_gate: (0..1_000).for_each(|_| {
        gate::lets_in_all_arrivals(THREADS);
        gate::wide_lets_all_in_when_two_leave();
    });
    gls_excludes: (0..2_000).for_each(|_| service::excludes::<Tas, _>([&[1, 2, 3, 4][..], &[4, 3, 2, 1], &[2, 4]]));
    gls_frees: service::frees::<Tas>(20_000);
    gls_frees_adapting: service::frees::<service::Noted<glk::Forwards>>(20_000);
    gls_is_found: (0..2_000).for_each(|_| service::is_found([2, 3, 4]));
    gls_keeps_order: (0..300).for_each(|_| service::keeps_order());
    gls_is_unlocked_elsewhere: (0..300).for_each(|_| service::is_unlocked_elsewhere());
    gls_clears: service::clears(20_000);
    gls_reserves: (0..2_000).for_each(|_| service::reserves(64));
    gls_is_of_one_kind: (0..2_000).for_each(|_| service::is_of_one_kind());
    hclh_queues: mutex::queues::<Hclh, _>([20_000; THREADS]);
    cna_queues: mutex::queues::<Cna, _>([20_000; THREADS]);
    near_queues: { apart(); mutex::queues::<Near, _>([20_000; THREADS]) };
    near_prefers: {
        apart();
        near::prefers_the_nearest::<MayPark, 2, THREADS>([20_000; THREADS], 5, false);
    };
    near_above_cohorts: { apart(); mutex::takes_turns::<Clof<Mcs, Near>, _>([20_000; THREADS]) };
    cna_lets_others_in: (0..200).for_each(|_| mutex::lets_others_in::<Cna<MayPark, 2>>(1, 100));
    shfl_takes_turns: mutex::takes_turns::<Shfl, _>([20_000; THREADS]);
    ptl_excludes: mutex::excludes::<Ptl<2>>(THREADS, 20_000, 1);
    ttas_remembers: (0..2_000).for_each(|_| mutex::remembers::<Ttas>([true, true, false]));
    ticket_numbers_wrap: mutex::excludes::<NearWrap<Ticket, { u32::MAX - 5_000 }>>(THREADS, 5_000, 1);
    ptl_numbers_wrap: mutex::excludes::<NearWrap<Ptl<2>, { u32::MAX - 5_000 }>>(THREADS, 5_000, 1);
    ptl_cells_wrap: mutex::excludes::<NearWrap<Ptl<2>, { CELL - 5_000 }>>(THREADS, 5_000, 1);
    anderson_positions_wrap: mutex::excludes::<NearWrap<Anderson<2>, { u32::MAX - 5_000 }>>(THREADS, 5_000, 1);
    clof_of_four_excludes: { apart(); mutex::excludes::<Four>(THREADS, 20_000, 1) };
    clof_takes_turns: {
        apart();
        mutex::takes_turns::<Four, _>([20_000, 10_000, 10_000])
    };
    adaptive_bypass_excludes: { apart(); mutex::excludes::<Adaptive<CMcsMcs>>(THREADS, 20_000, 1) };
    bypass_excludes: { apart(); mutex::excludes::<Bypass<CMcsMcs>>(THREADS, 20_000, 1) };
    gated_excludes: mutex::excludes::<Gated<Mcs>>(THREADS, 20_000, 1);
    gated_composition_excludes: { apart(); mutex::excludes::<Gated<CMcsMcs>>(THREADS, 20_000, 1) };
    fast_excludes: { apart(); mutex::excludes::<Fast<CTktMcs>>(THREADS, 20_000, 1) };
    posix_excludes: mutex::excludes::<Posix>(THREADS, 200_000, 1);
    posix_adaptive_excludes: mutex::excludes::<PosixAdaptive>(THREADS, 200_000, 1);
    posix_lets_go: mutex::lets_go::<PosixAdaptive>(THREADS, 30_000, 3);
    spin_park_excludes: mutex::excludes::<SpinPark>(THREADS, 200_000, 1);
    spin_park_4_lets_go: mutex::lets_go::<SpinPark4>(THREADS, 30_000, 3);
    posix_readers_share: rwlock::shares::<PosixRwLock>(THREADS, 2, 30_000, 1);
    posix_writers_come_first: rwlock::shares::<PosixRwLock<true>>(THREADS, 3, 30_000, 1);
    readers_share: rwlock::shares::<RawRwLock>(THREADS, 2, 60_000, 0);
    readers_and_writers_let_go: rwlock::lets_go::<RawRwLock>(THREADS, 3, 20_000, 2);
    rwlock_is_tried: rwlock::is_tried::<RawRwLock>(THREADS, 60_000);
    rwlock_changes_its_hold: (0..300).for_each(|_| {
        rwlock::changes_its_hold(&[
            Hold::ReadsThenWrites,
            Hold::Reads,
            Hold::WritesThenReads,
            Hold::ReadsThenMayWrite,
            Hold::Writes,
            Hold::WritesForAWhile,
            Hold::ReadsOn,
        ]);
    });
    rwlock_is_written_twice: (0..300).for_each(|_| {
        rwlock::changes_its_hold(&[
            Hold::WritesTwice,
            Hold::ReadsThenWrites,
            Hold::Writes,
            Hold::WritesAndReadsOn,
            Hold::ReadsOnce,
            Hold::WritesTwice,
            Hold::ReadsThenMayWrite,
        ]);
    });
    rwlock_is_fair: rwlock::lets_go::<rwlock::Fairly>(THREADS, 3, 2_000, 2);
    futex_is_fair: mutex::lets_go::<mutex::Fairly<Futex>>(THREADS, 2_000, 2);
    futex_hmcs_is_fair: mutex::lets_go::<mutex::Fairly<FutexHmcs>>(THREADS, 2_000, 2);
    futex_hmcs_begins_again: mutex::begins_where_another_was_held();
    gated_lets_go: mutex::lets_go::<Gated<Ticket>>(THREADS, 2_000, 3);
    rwlock_is_read_again_at_last: (0..20).for_each(|round| {
        rwlock::is_read_again_at_last::<RawRwLock>(round % 2 == 0, a_while);
        rwlock::is_read_again_at_last::<CRwNp>(round % 2 == 0, a_while);
        rwlock::is_read_again_at_last::<CRwWp>(round % 2 == 0, a_while);
        rwlock::is_read_again_at_last::<Beginning<Mcs, true, NAMELESS>>(round % 2 == 0, a_while);
    });
    rwlock_is_read_for_another: (0..10).for_each(|round| {
        rwlock::is_read_for_another::<RawRwLock>(round % 2 == 0);
        rwlock::is_read_for_another::<CRwNp>(round % 2 == 0);
        rwlock::is_read_for_another::<CRwWp>(round % 2 == 0);
        rwlock::is_read_for_another::<Beginning<Mcs, true, NAMELESS>>(round % 2 == 0);
    });
    rwlock_is_released_by_another: (0..2_000).for_each(|_| rwlock::is_released_by_another(20, false));
    rwlock_is_released_fairly_by_another: {
        (0..2_000).for_each(|_| rwlock::is_released_by_another(20, true));
    };
    rwlock_is_left_unbiased: (0..2_000).for_each(|_| rwlock::is_left_unbiased());
    rwlock_comes_to_rest: (0..2_000).for_each(|_| rwlock::comes_to_rest());
    rwlock_is_read_past_writers: {
        count_reads();
        rwlock::is_read_past_writers(30_000);
    };
    rwlock_is_read_again: rwlock::is_read_again::<RawRwLock>(60_000);
    cohorts_readers_share: { apart(); rwlock::shares::<CRwNp>(THREADS, 2, 30_000, 1) };
    cohorts_readers_give_way: { apart(); rwlock::shares_without_recursion::<CRwWp>(THREADS, 2, 30_000) };
    cohorts_of_four_levels: { apart(); rwlock::shares::<CohortRw<Four>>(THREADS, 3, 30_000, 1) };
    cohorts_let_go: { apart(); rwlock::lets_go::<CRwNp>(THREADS, 3, 20_000, 3) };
    cohorts_let_writers_go: { apart(); rwlock::lets_writers_go::<CRwWp>(THREADS, 20_000) };
    cohorts_abandon: { apart(); rwlock::lets_go::<CRwNp<Abandoning<HmcsT2>>>(THREADS, 3, 20_000, 3) };
    cohorts_are_tried: { apart(); rwlock::is_tried::<CRwWp>(THREADS, 30_000) };
    cohorts_are_read_again: { apart(); rwlock::is_read_again::<CRwNp>(30_000) };
    object_readers_share: { apart(); rwlock::shares::<Beginning<Mcs, true, NAMELESS>>(THREADS, 2, 30_000, 1) };
    object_readers_give_way: { apart(); rwlock::shares_without_recursion::<Beginning<Ticket, false, NAMED>>(THREADS, 2, 30_000) };
    object_of_four_levels: { apart(); rwlock::shares::<Beginning<Four, true, CROWDED>>(THREADS, 3, 30_000, 1) };
    object_lets_go: { apart(); rwlock::lets_go::<Beginning<Mcs, true, NAMED>>(THREADS, 3, 20_000, 3) };
    object_of_a_host: host::excludes(object::hosted(host::inflated::<Mcs>()), THREADS, 30_000, 1);
    object_of_a_host_that_is_left: host::is_claimed(
        object::hosted(host::inflated_abandonable::<HmcsT2>()), THREADS, 20_000, [Some(1_000), Some(20_000)]
    );
    object_is_read_again: { apart(); rwlock::is_read_on::<Beginning<Mcs, true, NAMELESS>>(30_000) };
    cohorts_are_read_beside: { apart(); rwlock::is_read_beside_another::<CRwWp>(THREADS, 30_000) };
    cohorts_let_readers_in: {
        apart();
        (0..500).for_each(|_| rwlock::lets_readers_in::<Mcs, true, 3, 16>(10));
    };
    condvar_signals: {
        condvar::tells::<Futex>(THREADS, 3_000, false, false);
        condvar::tells::<Futex>(THREADS, 3_000, false, true);
    };
    condvar_signals_looking: {
        condvar::tells::<Looking>(THREADS, 3_000, false, false);
        condvar::tells::<Looking>(THREADS, 3_000, true, true);
    };
    condvar_signals_queued: condvar::tells::<Queued>(THREADS, 3_000, false, true);
    condvar_broadcasts: {
        condvar::tells::<Futex>(THREADS, 3_000, true, false);
        condvar::tells::<Queued>(THREADS, 3_000, true, true);
    };
    condvar_spends_no_signal: (0..1_500).for_each(|round| {
        let cancelled = round % 2 == 0;
        condvar::spends_no_signal_on_a_waiter_that_gave_up::<Futex>(THREADS, round % 3 == 0, cancelled);
    });
    condvar_is_left: (0..2_000).for_each(|_| condvar::is_left::<Looking>());
    condvar_is_destroyed: (0..2_000).for_each(|round| {
        condvar::is_destroyed::<Futex>(round % 2 == 0);
        condvar::is_destroyed::<Queued>(round % 2 == 0);
    });
    once_is_run: (0..2_000).for_each(|_| once::is_run_once(THREADS));
    once_is_run_again: (0..2_000).for_each(|_| once::is_run_again(THREADS));
    once_is_awaited: (0..2_000).for_each(|_| once::is_awaited(THREADS));
    once_is_awaited_again: (0..300).for_each(|_| once::is_awaited_again(THREADS));
    once_is_awaited_in_vain: (0..300).for_each(|_| once::is_awaited_in_vain(THREADS));
    once_lock_keeps_one_value: (0..2_000).for_each(|_| once::keeps_one_value(THREADS));
    once_lock_is_computed_again: (0..300).for_each(|_| once::is_computed_again(THREADS));
    lazy_lock_stays_without_value: (0..300).for_each(|_| once::stays_without_value(THREADS));
    lazy_lock_is_computed_once: (0..2_000).for_each(|_| once::is_computed_once(THREADS));
    barrier_holds_back: barrier::holds_back(THREADS, 2_000);
    semaphore_excludes: semaphore::excludes(THREADS, 20_000);
    semaphore_admits: (0..300).for_each(|_| semaphore::admits(THREADS, THREADS / 2));
    semaphore_is_tried: (0..2_000).for_each(|_| semaphore::is_tried(THREADS));
    semaphore_adds_for_all: (0..2_000).for_each(|_| semaphore::adds_for_all(THREADS));
    semaphore_loses_no_permit: (0..300).for_each(|_| semaphore::loses_no_permit(THREADS));
    arena_hands_out_once: arena::hands_out_once(THREADS, 20_000, 20);
    arena_adopts_orphans: (0..200).for_each(|_| arena::adopts_orphans(THREADS));
    arena_returns_what_was_left: arena::returns_what_was_left(200_000);
    mcs_claimed: host::is_claimed(host::in_place::<Mcs>(), THREADS, 2_000, CLAIMS);
    ticket_claimed: host::is_claimed(host::in_place_fast::<Ticket>(), THREADS, 2_000, CLAIMS);
    hmcs_claimed: host::is_claimed(host::inflated::<Hmcs3>(), THREADS, 2_000, CLAIMS);
    claimed_by_many: host::is_claimed_by_many(host::inflated::<CTktMcs>(), [None; THREADS]);
    mcs_in_scarcity: host::excludes_in_scarcity(host::in_place::<Mcs>(), THREADS, 5_000);
    hmcs_in_scarcity: host::excludes_in_scarcity(host::inflated::<Hmcs3>(), THREADS, 5_000);
    ticket_shortly_in_place: host::excludes(host::in_place_fast::<Ticket>(), THREADS, 20_000, 1);
    tas_shortly_in_place: host::excludes(host::in_place_fast::<Tas>(), THREADS, 200_000, 1);
}
