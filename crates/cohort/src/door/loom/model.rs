//! Running a client under loom.

use super::super::WaitPolicy;
use super::execution::{Abandoned, Settings, Thread, begin, touch_kernel, unwind, with};
use super::{hours, std};
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::Vec;

/// How a client is explored.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// How often an execution may take the CPU from a thread that could go on.
    pub preemptions: usize,
    /// How often a thread may look in vain before its execution is abandoned.
    pub polls: u32,
    /// How waiters wait.
    pub policy: WaitPolicy,
    /// How far the clock moves at each look at it.
    pub nanoseconds_per_look: u64,
    /// How many failed looks of a thread its first deadline may outlast, six at most: at each of them
    /// it passes or does not, and at the next it passes.  With none it passes by the clock, which a
    /// failed poll moves.
    pub looks_in_time: u32,
    /// Whether every release finds that the lock has long been quiet.
    pub quiet: bool,
    /// Whether whatever is worth a try now and then is tried each time.
    pub tries: bool,
    /// Whether threads that wait are ones that seldom do.
    pub visits: bool,
    /// Whether the thread that others wait for may have no CPU: a sleep that allows for it may end at any
    /// moment, so this model shows no lost wake-up of such a sleeper.
    pub starves: bool,
    /// Whether waiters lose their CPUs, and show it.
    pub absent: bool,
    /// Whether all threads are in one cache group, of a machine with so many CPUs that waiters
    /// need an order; otherwise they are in two, of one with few.
    pub one_group: bool,
    /// Whether all threads are in one cache group, of a machine with two CPUs.
    pub two_cpus: bool,
    /// Whether threads count their read locks from the beginning.
    pub counts_reads: bool,
    /// Whether the client calls [`fork`], which doubles the steps.
    pub forks: bool,
    /// Whether it matters to the client when a thread ends.
    pub ends: bool,
    /// Whether a thread gets the identifier of one that has ended, as the kernel gives them again.
    pub reuses_ids: bool,
}

/// What was explored.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// Executions in all.
    pub executions: u64,
    /// Those that were abandoned for want of progress.
    pub abandoned: u64,
    /// Whether these are all within the bounds.
    pub whole: bool,
}

/// Executions from one look at the time to the next.
const INTERVAL: usize = 100;

impl Model {
    /// Explores every execution of `client` within the bounds, or as many as there is
    /// time for.
    ///
    /// # Panics
    /// If one of them fails; and if none of them ran to its end, because then
    /// nothing was checked.
    pub fn check(
        &self,
        client: impl Fn() + Send + Sync + 'static,
        time: Option<Duration>,
    ) -> Tally {
        let mut builder = loom::model::Builder::new();
        builder.max_duration = time;
        if time.is_some() {
            builder.checkpoint_interval = INTERVAL;
        }
        builder.max_branches = 20_000;
        builder.max_threads = 5;
        builder.preemption_bound = Some(self.preemptions);
        let settings = Settings {
            polls: self.polls,
            policy: self.policy,
            nanoseconds_per_look: self.nanoseconds_per_look,
            looks_in_time: self.looks_in_time,
            quiet: self.quiet,
            tries: self.tries,
            visits: self.visits,
            starves: self.starves,
            absent: self.absent,
            one_group: self.one_group,
            two_cpus: self.two_cpus,
            counts_reads: self.counts_reads,
            forks: self.forks,
            ends: self.ends,
            reuses_ids: self.reuses_ids,
        };
        let executions = Arc::new(AtomicU64::new(0));
        let abandoned = Arc::new(AtomicU64::new(0));
        let (ran, gave_up) = (Arc::clone(&executions), Arc::clone(&abandoned));
        let began = Instant::now();
        builder.check(move || {
            begin(ran.fetch_add(1, Ordering::Relaxed) + 1, settings);
            hours::begin(settings.looks_in_time);
            unless_abandoned(&client);
            if with(|execution| execution.abandoned) {
                gave_up.fetch_add(1, Ordering::Relaxed);
            }
        });
        let executions = executions.load(Ordering::Relaxed);
        // Loom looks at the time before every so manieth execution, and does not say that it
        // went no further.
        let stopped = (executions + 1).is_multiple_of(INTERVAL as u64);
        let tally = Tally {
            executions,
            abandoned: abandoned.load(Ordering::Relaxed),
            whole: !stopped || time.is_none_or(|time| began.elapsed() < time),
        };
        assert!(
            tally.abandoned < tally.executions,
            "every execution was abandoned: allow more polls"
        );
        tally
    }
}

type Handles = Rc<RefCell<Vec<loom::thread::JoinHandle<()>>>>;

std::thread_local! {
    /// The threads that run beside the first one.
    static OTHERS: RefCell<Handles> = RefCell::default();
}

/// Runs `body` on that many threads, the caller's among them, each with its
/// number.  Returns what they returned, or nothing if the execution was
/// abandoned or some were left behind by a fork.  May be called again when all
/// have ended.
///
/// # Panics
/// If called by another thread than the first.
pub fn together<R: 'static>(threads: usize, body: impl Fn(usize) -> R + 'static) -> Option<Vec<R>> {
    let results = Results::new(threads);
    let returned = results.clone();
    let body = move |number| returned.put(number, body(number));
    run_together(threads, Rc::new(body));
    results.take()
}

/// What threads have returned, by number: its code is the same for all clients that return the like.
struct Results<R>(Rc<RefCell<Vec<Option<R>>>>);

impl<R> Clone for Results<R> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<R> Results<R> {
    fn new(threads: usize) -> Self {
        Self(Rc::new(RefCell::new((0..threads).map(|_| None).collect())))
    }

    fn put(&self, number: usize, result: R) {
        self.0.borrow_mut()[number] = Some(result);
    }

    fn take(&self) -> Option<Vec<R>> {
        self.0.take().into_iter().collect()
    }
}

/// The same of what returns nothing; compiled once, and not by each client of each lock.
fn run_together(threads: usize, body: Rc<dyn Fn(usize)>) {
    // Those of an earlier call keep their places.
    let others = with(|execution| {
        assert!(
            execution.current == 0,
            "only the first thread starts others"
        );
        execution.threads[0].lives = true;
        let others = execution.threads.len();
        let new = (others..).take(threads - 1).map(Thread::new);
        execution.threads.extend(new);
        others
    });
    let handles = Handles::default();
    OTHERS.set(Rc::clone(&handles));
    for number in 1..threads {
        let body = Rc::clone(&body);
        let handle = loom::thread::spawn(move || {
            let index = others + number - 1;
            with(|execution| execution.current = index);
            run(index, || body(number));
        });
        with(|execution| execution.current = 0);
        handles.borrow_mut().push(handle);
    }
    run(0, || body(0));
    join_others();
    with(|execution| execution.unreal = false);
}

fn join_others() {
    let handles = OTHERS.with_borrow(Rc::clone);
    let handles = handles.take();
    let me = with(|execution| execution.current);
    for handle in handles {
        // A thread that fails ends the whole model.
        let _ = handle.join();
        with(|execution| execution.current = me);
    }
}

/// Runs it to its end, or until the execution is abandoned.
fn unless_abandoned(body: impl FnOnce()) {
    match catch_unwind(AssertUnwindSafe(body)) {
        Err(reason) if !reason.is::<Abandoned>() => resume_unwind(reason),
        _ => {}
    }
}

fn run(index: usize, body: impl FnOnce()) {
    unless_abandoned(body);
    if with(|execution| execution.settings.ends) {
        touch_kernel(true);
    }
    with(|execution| {
        execution.threads[index].lives = false;
        execution.sleepers.retain(|sleeper| sleeper.thread != index);
        execution.event();
    });
}

/// Forks, and goes on as the child: every other thread ends before its next
/// step, with whatever it held, and the generation is a new one.  As in a real
/// fork, the child sees all that they did.
///
/// # Panics
/// If called by another thread than the first, or in a model that does not say
/// that it forks.
pub fn fork() {
    with(|execution| assert!(execution.current == 0 && execution.settings.forks));
    touch_kernel(true);
    with(|execution| {
        execution.survivor = Some(0);
        execution.rouse_all();
    });
    join_others();
    if with(|execution| execution.abandoned) {
        unwind();
    }
    with(|execution| {
        execution.generation += 1;
        execution.survivor = None;
    });
}
