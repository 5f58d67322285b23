//! A process forks while one of its threads is stopped after any instruction of a release or of an
//! acquisition. The child, which lacks that thread, continues with several threads and the locks it
//! inherited.
//!
//! Objects are hosted as in a program's mutexes. A child may not rely on the object in use by the
//! stopped thread. All other objects must work; inflated locks and queue nodes are shared by all.
// Not on the portable backend: a fork is not detected there.
#![cfg(all(target_arch = "x86_64", not(feature = "portable")))]

#[path = "support/alike.rs"]
mod alike;
#[path = "support/cpus.rs"]
mod cpus;
#[path = "support/step.rs"]
mod step;
mod support;

use alike::{full, is_like_another, tell_what_is_left};
use cohort::basic::{Clh, Hemlock, Mcs, Ticket};
use cohort::compose::{CacheGroup, Clof, Core, Package};
use cohort::door::set_cohorts;
use cohort::host::{Arena, Claim, Fat, FatPool, Gate, Holding, InPlace, Inflated, Pooled, Served};
use cohort::{QuickRelease, RawLock};
use cpus::{allowed, stay_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Barrier};
use std::thread::{scope, sleep, spawn, yield_now};
use std::time::{Duration, Instant};
use step::{can_step, stopped_after};
use support::within_limit;

/// Later instructions are not checked.
const MOST_STEPS: u32 = 1_500;

/// The limit for acquisitions in the quick tier; by then a thread has long been waiting. Each
/// instruction costs a trap, and each stop starts again at the first.
const MOST_STEPS_QUICK: u32 = 300;

/// How long the stepped thread stays stopped if no other thread can proceed without it.
const PATIENCE: Duration = Duration::from_millis(1);

/// Long enough for a thread to arrive and wait.
const SOON: Duration = Duration::from_micros(100);

/// How often each of a child's threads acquires each object.
const ROUNDS: u32 = 6;

/// How long it holds the object; the other thread arrives meanwhile and waits.
const LONG: Duration = Duration::from_micros(40);

/// Seconds after which the kernel ends a child that hangs.
const CHILD_LIMIT: u32 = 20;

/// The stepped thread is about to arrive.
static COMING: AtomicBool = AtomicBool::new(false);
/// The object is held, and the other thread may arrive.
static HELD: AtomicBool = AtomicBool::new(false);
/// The stepped thread holds the object.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The stepped thread has stopped.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// The worker has released the object.
static LEFT: AtomicBool = AtomicBool::new(false);
/// A thread has forked, or is about to.
static CLAIMED: AtomicBool = AtomicBool::new(false);
/// The stepped thread may proceed.
static DONE: AtomicBool = AtomicBool::new(false);
/// The stepped thread has finished, stopped or not.
static OVER: AtomicBool = AtomicBool::new(false);

/// Stops the stepped thread until `DONE`.
fn stop() {
    STOPPED.store(true, SeqCst);
    await_any(&[&DONE]);
}

fn await_any(flags: &[&AtomicBool]) {
    while !flags.iter().any(|flag| flag.load(SeqCst)) {
        yield_now();
    }
}

/// Two objects that host a lock.
trait Objects: Sync + 'static {
    fn new() -> Self
    where
        Self: Sized;
    fn lock(&self, object: usize);
    fn unlock(&self, object: usize);

    /// Takes everything from the pools, checks that it is usable, and puts it back.
    fn use_pools(&self);
}

type Records<L> = Arena<Holding<<L as RawLock>::Context>>;
type Store<L> = Pooled<L, Box<Records<L>>, Box<Arena<Fat<L>>>>;

/// Objects that contain their lock.
struct Here<L: Served> {
    objects: [(InPlace<L>, Gate); 2],
    records: Records<L>,
}

impl<L: Served + QuickRelease + Sync> Objects for Here<L> {
    fn new() -> Self {
        Self {
            objects: Default::default(),
            records: Arena::new(0),
        }
    }

    fn lock(&self, object: usize) {
        let (object, gate) = &self.objects[object];
        object.lock(gate, &self.records);
    }

    fn unlock(&self, object: usize) {
        let (object, gate) = &self.objects[object];
        // SAFETY: the caller has locked it.
        assert!(unsafe { object.unlock(gate, &self.records) });
    }

    fn use_pools(&self) {}
}

/// Objects with a lock in a pool while contended.
struct There<L: Served> {
    objects: [(Inflated, Claim); 2],
    fat_pool: Store<L>,
}

impl<L: Served + Send + Sync> Objects for There<L> {
    fn new() -> Self {
        Self {
            objects: Default::default(),
            fat_pool: Pooled::new(Box::new(Arena::new(0)), Box::new(Arena::new(3))),
        }
    }

    fn lock(&self, object: usize) {
        let (object, claim) = &self.objects[object];
        object.lock(claim, &self.fat_pool);
    }

    fn unlock(&self, object: usize) {
        let (object, claim) = &self.objects[object];
        // SAFETY: the caller has locked it.
        assert!(unsafe { object.unlock(claim, &self.fat_pool) });
    }

    fn use_pools(&self) {
        let (_, fats) = self.fat_pool.pools();
        // `take` acquires each lock.
        let fat_pool: &dyn FatPool = &self.fat_pool;
        let taken: Vec<u32> = (0..fats.used())
            .map(|_| fat_pool.take(&self.objects[0].0))
            .collect();
        for fat in taken {
            // SAFETY: taken above, and not published.
            unsafe { fat_pool.put_back(fat) };
        }
    }
}

/// The child's work: two threads, on both CPUs, acquire `objects` alternately.
fn goes_on(all: &'static dyn Objects, objects: &'static [usize], cpus: (usize, usize)) {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    INSIDE.store(0, SeqCst);
    let start = Arc::new(Barrier::new(2));
    let work = move |cpu, start: &Barrier| {
        stay_on(cpu);
        all.use_pools();
        start.wait();
        for _ in 0..ROUNDS {
            for object in objects {
                all.lock(*object);
                assert_eq!(
                    INSIDE.fetch_add(1 << (8 * object), SeqCst) >> (8 * object) & 0xff,
                    0
                );
                let began = Instant::now();
                while began.elapsed() < LONG {
                    yield_now();
                }
                INSIDE.fetch_sub(1 << (8 * object), SeqCst);
                all.unlock(*object);
            }
        }
    };
    let there = Arc::clone(&start);
    let other = spawn(move || work(cpus.0, &there));
    work(cpus.1, &start);
    other.join().expect("the other thread does not panic");
}

/// The operation in which the stepped thread is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Release,
    Acquisition,
}

/// One stop.
struct Stop {
    all: &'static dyn Objects,
    moment: Moment,
    steps: u32,
    /// The CPUs of the stepped thread and of the other.
    cpus: (usize, usize),
}

impl Stop {
    /// Stops a thread after `steps` instructions, lets another thread run as far as it can, and
    /// forks; false if the operation has fewer instructions.
    fn forks(&self) -> bool {
        for flag in [
            &COMING, &HELD, &TAKEN, &STOPPED, &LEFT, &CLAIMED, &DONE, &OVER,
        ] {
            flag.store(false, SeqCst);
        }
        let (went_on, status) = scope(|scope| {
            if self.moment == Moment::Release {
                self.all.lock(0);
            }
            let stepped = scope.spawn(|| self.stepped());
            let worker = scope.spawn(|| self.worker());
            if self.moment == Moment::Release {
                await_any(&[&HELD]);
                sleep(SOON);
                self.all.unlock(0);
            }
            await_any(&[&STOPPED, &OVER]);
            let began = Instant::now();
            while !LEFT.load(SeqCst) && began.elapsed() < PATIENCE {
                yield_now();
            }
            // If the worker waits for the stopped thread, this thread forks instead.
            let status = (!LEFT.load(SeqCst)).then(|| self.fork(&[1])).flatten();
            let went_on = stepped.join().expect("the stepped thread does not panic");
            let theirs = worker.join().expect("the worker does not panic");
            (went_on, theirs.or(status))
        });
        if let Some(status) = status {
            let Self { moment, steps, .. } = self;
            assert_eq!(
                status, 0,
                "the child, {moment:?} stopped after {steps} instructions"
            );
        }
        went_on
    }

    /// Whether the operation had an instruction left to stop at.
    fn stepped(&self) -> bool {
        stay_on(self.cpus.0);
        let all = self.all;
        let went_on = match self.moment {
            // A thread that finds an object held acquires an inflated lock on the holder's behalf,
            // by its own cohort. So this thread arrives second, and holds by its own cohort.
            Moment::Release => {
                COMING.store(true, SeqCst);
                all.lock(0);
                TAKEN.store(true, SeqCst);
                stopped_after(self.steps, stop, || all.unlock(0))
            }
            Moment::Acquisition => {
                await_any(&[&HELD]);
                let went_on = stopped_after(self.steps, stop, || all.lock(0));
                all.unlock(0);
                went_on
            }
        };
        OVER.store(true, SeqCst);
        went_on
    }

    /// Releases last, which puts the inflated lock back, and forks afterwards.
    fn worker(&self) -> Option<i32> {
        stay_on(self.cpus.1);
        match self.moment {
            Moment::Release => {
                await_any(&[&COMING]);
                sleep(SOON);
                HELD.store(true, SeqCst);
                self.all.lock(0);
                // A lock without FIFO order may have admitted this thread first; a child cannot
                // rely on what the stopped thread holds then.
                while !TAKEN.load(SeqCst) {
                    self.all.unlock(0);
                    yield_now();
                    self.all.lock(0);
                }
            }
            Moment::Acquisition => {
                self.all.lock(0);
                HELD.store(true, SeqCst);
                let began = Instant::now();
                while !STOPPED.load(SeqCst) && began.elapsed() < 20 * PATIENCE {
                    yield_now();
                }
            }
        }
        self.all.unlock(0);
        LEFT.store(true, SeqCst);
        await_any(&[&STOPPED, &OVER]);
        match self.moment {
            Moment::Release => self.fork(&[1, 0]),
            Moment::Acquisition => self.fork(&[1]),
        }
    }

    /// Forks if the thread has stopped and no other thread has forked; the child continues with
    /// `objects`.
    fn fork(&self, objects: &'static [usize]) -> Option<i32> {
        if !STOPPED.load(SeqCst) || CLAIMED.swap(true, SeqCst) {
            return None;
        }
        // SAFETY: the child calls only functions that are valid after a fork of a multithreaded
        // process with this C library: its `fork` keeps the allocator usable.
        let status = unsafe {
            let child = libc::fork();
            assert!(child >= 0, "fork fails");
            if child == 0 {
                libc::alarm(CHILD_LIMIT);
                let fine = catch_unwind(AssertUnwindSafe(|| goes_on(self.all, objects, self.cpus)))
                    .is_ok();
                libc::_exit(i32::from(!fine));
            }
            let mut status = -1;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        };
        DONE.store(true, SeqCst);
        Some(status)
    }
}

/// The quick tier stops at one of so many instructions of a release; the full tier stops at all.
const STRIDE: u32 = 32;

fn all_moments<O: Objects>(name: &str) {
    // Leaked, since a child's threads may use them at any later time.
    look_at_all(name, || Box::leak(Box::new(O::new())));
}

/// Like [`all_moments`]; compiled once for all locks.
fn look_at_all(name: &str, objects: fn() -> &'static dyn Objects) {
    if !can_step() {
        eprintln!("skip: {name}: another process traces this one");
        return;
    }
    let cpus = allowed();
    let (one, other) = (cpus[0], cpus.get(1).copied());
    if let Some(other) = other {
        let text = ["core", "cache", "numa"].map(|level| format!("{level} {one}\n{level} {other}"));
        set_cohorts(&text.join("\n")).expect("the text is right");
    }
    let stride = if full() { 1 } else { STRIDE };
    for moment in [Moment::Release, Moment::Acquisition] {
        let most = match moment {
            Moment::Acquisition if !full() => MOST_STEPS_QUICK,
            _ => MOST_STEPS,
        };
        let mut stop = Stop {
            all: objects(),
            moment,
            steps: 1,
            cpus: (one, other.unwrap_or(one)),
        };
        while stop.steps < most && stop.forks() {
            stop.steps += match moment {
                Moment::Release if full() => 1,
                // Each instruction costs a trap for each stop at a later one.
                Moment::Release => stride + stop.steps / 8,
                // Most of a wait is a loop.
                Moment::Acquisition => stride + stop.steps / 16,
            };
        }
        println!("{name}: {moment:?} has {} instructions", stop.steps);
        assert!(stop.steps > 5, "nothing was stopped");
    }
}

/// Four levels with four different locks.
type Four = Clof<Mcs, Clof<Hemlock, Clof<Clh, Ticket>, CacheGroup>, Core>;
/// A lock that leaves its nodes to others, below other locks.
type Three = Clof<Clh, Clof<Mcs, Clh, Package>, Core>;

macro_rules! moments {
    (@InPlace $lock:ty) => { Here<$lock> };
    (@Word $lock:ty) => { Here<$lock> };
    (@Inflated $lock:ty) => { There<$lock> };
    (@Apart $lock:ty) => { There<$lock> };
    (@Nowhere $lock:ty) => { There<$lock> };
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        $(#[test]
        fn $name() {
            let name = stringify!($name);
            if full() || !is_like_another(name) {
                within_limit("a thread sleeps for ever", || {
                    all_moments::<moments!(@$storage $lock)>(stringify!($name));
                });
            }
        })+
    };
}
cohort::for_each_lock!(moments);

#[test]
fn what_is_left_to_the_full_tier() {
    tell_what_is_left(&format!(
        "thirty-one of thirty-two instructions and more, and acquisitions after the {MOST_STEPS_QUICK}th"
    ));
}

#[test]
fn four_levels() {
    within_limit("a thread sleeps for ever", || {
        all_moments::<There<Four>>("four levels");
    });
}

#[test]
fn three_levels() {
    within_limit("a thread sleeps for ever", || {
        all_moments::<There<Three>>("three levels");
    });
}

/// A lock that programs host in place, inflated here.
#[test]
fn mcs_inflated() {
    within_limit("a thread sleeps for ever", || {
        all_moments::<There<Mcs>>("mcs, inflated");
    });
}
