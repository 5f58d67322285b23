//! Waiters that let the CPU watch a word, on CPUs without the instructions: a signal handler
//! emulates them and checks their operands.
//!
//! On a CPU with the instructions, these run natively and nothing is counted.
// Not on the portable backend: no CPU watches a word there.
#![cfg(not(feature = "portable"))]

#[path = "support/cpus.rs"]
mod cpus;
mod support;
#[path = "support/watch.rs"]
mod watch;

use cohort::RawLock;
use cohort::door::{
    Advice, AtomicU32, Cell, Monitor, Order, Spinner, WaitPolicy, cpus, monitor, offered_monitor,
    set_monitor, set_policy,
};
use cohort::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cpus::{allowed, stay_on};
use std::sync::Barrier;
use std::thread::{scope, yield_now};
use std::time::{Duration, Instant};
use support::within_limit;

/// The instruction with a deadline, and about ten microseconds in ticks: enough for the handler and
/// a hand-over.
#[cfg(target_arch = "x86_64")]
const WAY: (Monitor, u64) = (Monitor::Umwait, 1 << 17);
#[cfg(target_arch = "aarch64")]
const WAY: (Monitor, u64) = (Monitor::Wfet, 1 << 12);

/// The largest distance of a deadline in ticks: a waiter's bound of 32 µs. On x86-64 its
/// nanoseconds serve as ticks; other counters tick no faster.
const BOUND: u64 = 32_000;

/// A time in ticks that no test reaches.
const FOR_EVER: u64 = 1 << 40;

/// Whether a test can count: the CPU lacks the instructions, and waiters spin at all.
fn refused() -> bool {
    if cpus() == 1 {
        eprintln!("skip: waiters do not spin on one CPU");
        return false;
    }
    if offered_monitor() == WAY.0 {
        eprintln!("skip: this CPU has the instructions, so there is nothing to count");
        return false;
    }
    true
}

fn set(way: Monitor) {
    // SAFETY: the CPU has the instructions, or `watch::begin` has been called.
    unsafe { set_monitor(way) };
}

/// Makes waiters use the instructions, which the handler emulates.
fn watched(patience: u64) {
    set_policy(WaitPolicy::Park);
    watch::begin(patience, BOUND);
    set(WAY.0);
}

#[test]
fn what_is_used_is_what_the_cpu_has() {
    let info = std::fs::read_to_string("/proc/cpuinfo").expect("Linux shows its CPUs");
    let has = |name: &str| {
        let flags = info
            .lines()
            .find(|line| line.starts_with("flags") || line.starts_with("Features"));
        flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == name))
    };
    let there = if has("waitpkg") {
        Monitor::Umwait
    } else if has("wfxt") {
        Monitor::Wfet
    } else if has("evtstrm") {
        Monitor::Wfe
    } else {
        Monitor::Missing
    };
    assert_eq!(offered_monitor(), there);
}

fn is_woken<P: Parking>() {
    watched(FOR_EVER);
    let cell = &WaitCell::<P>::default();
    watch::expect(cell);
    scope(|scope| {
        scope.spawn(|| cell.wait_for(Order::RELAXED, 1, |value| value == 7));
        while !watch::stands() {
            yield_now();
        }
        cell.set(7, Order::RELAXED);
    });
    let counts = watch::counts();
    assert!(counts.woken == 1 && counts.stood == 1, "{counts:?}");
}

#[test]
fn a_change_wakes_the_waiter() {
    within_limit("the change was not noticed", || {
        if refused() {
            is_woken::<SpinOnly>();
            is_woken::<MayPark>();
        }
    });
}

#[test]
fn a_change_before_the_wait_is_not_slept_through() {
    within_limit("a waiter stands still for nothing", || {
        if refused() {
            watched(FOR_EVER);
            let word = AtomicU32::new(1);
            watch::expect(&word);
            assert_eq!(Spinner::new().step_at(&word, 0), Advice::Again);
            assert_eq!(watch::counts().stood, 0);
            #[cfg(target_arch = "x86_64")]
            assert_eq!(watch::counts().named, 1);
        }
    });
}

#[test]
fn the_bound_for_spinning_holds() {
    within_limit("a waiter spins for ever", || {
        if refused() {
            watched(0);
            let word = AtomicU32::new(0);
            watch::expect(&word);
            let mut spinner = Spinner::new();
            while spinner.step_at(&word, 0) == Advice::Again {}
            let spun = watch::counts().stood;
            assert!(spun > 0, "it never waited");
            // After its deadline, and under a policy that yields, a waiter does not use the
            // instructions.
            assert_eq!(spinner.step_at(&word, 0), Advice::Sleep);
            set_policy(WaitPolicy::Yield);
            let _ = Spinner::new().step_at(&word, 0);
            assert_eq!(watch::counts().stood, spun);
        }
    });
}

/// Acquisitions of each thread.
const ROUNDS: u64 = 250;

/// How long a holder waits for another thread to stand still.
const LINGER: Duration = Duration::from_micros(200);

fn hand_over<L: RawLock>(threads: usize) {
    let (lock, count) = (&L::default(), &Cell::new(0));
    let start = &Barrier::new(threads);
    let places = allowed();
    scope(|scope| {
        for place in places.iter().cycle().take(threads) {
            scope.spawn(move || {
                stay_on(*place);
                start.wait();
                for round in 0..ROUNDS {
                    let context = L::Context::default();
                    // SAFETY: the context serves this acquisition only; it and the lock stay until
                    // the release, and the lock guards the count.
                    unsafe {
                        lock.acquire(&context);
                        let began = Instant::now();
                        while round % 16 == 0 && !watch::stands() && began.elapsed() < LINGER {
                            yield_now();
                        }
                        count.with_mut(|count| *count += 1);
                        lock.release(&context);
                    }
                }
            });
        }
    });
    // SAFETY: all threads have ended.
    let entered = count.with(|count| unsafe { *count });
    assert_eq!(entered, threads as u64 * ROUNDS, "two were in at once");
}

/// Locks where many threads wait for one word; they never use the instructions.
const SHARED: [&str; 11] = [
    "futex",
    "tas",
    "ttas",
    "bo",
    "ticket",
    "ticket_delay",
    "hemlock_ctr",
    "hbo",
    "c_bo_bo",
    "a_c_bo_bo",
    "c_tkt_tkt",
];

/// Locks where few threads wait for a word only on several NUMA nodes or cache groups, or after the
/// lock has seen contention.
const SOMETIMES: [&str; 5] = ["c_ptl_tkt", "fissile", "futex_hmcs", "glk", "glk_plus"];

fn hands_over<L: RawLock>(name: &str) {
    if !refused() {
        // With the CPU's own instructions.
        return hand_over::<L>(4);
    }
    // First one CPU for each thread, then more threads than a small machine has CPUs.
    watched(WAY.1);
    hand_over::<L>(2);
    hand_over::<L>(4);
    let counts = watch::counts();
    println!("{name}: {counts:?}");
    if !SOMETIMES.contains(&name) {
        assert_eq!(counts.woken == 0, SHARED.contains(&name), "{counts:?}");
    }
    // Some signal was handled at once, and its deadline was near.
    assert!(counts.stood == 0 || counts.nearest < WAY.1, "{counts:?}");
    // Every CPU has WFE; an emulator may implement it as a no-op.
    #[cfg(target_arch = "aarch64")]
    {
        set_policy(WaitPolicy::Spin);
        set(Monitor::Wfe);
        hand_over::<L>(4);
    }
    // Turned off, the instructions are unused.
    set(Monitor::Missing);
    assert_eq!(monitor(), Monitor::Missing);
    hand_over::<L>(4);
    assert_eq!(watch::counts().named, counts.named);
}

macro_rules! hand_overs {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        $(#[test]
        fn $name() {
            within_limit("a thread waits for ever", || hands_over::<$lock>(stringify!($name)));
        })+
    };
}
cohort::for_each_lock!(hand_overs);
