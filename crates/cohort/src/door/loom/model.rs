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

/// The bounds and options of a client's exploration.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// How many preemptions an execution may have.
    pub preemptions: usize,
    /// How many failed looks a thread may make before its execution is abandoned.
    pub polls: u32,
    /// How waiters wait.
    pub policy: WaitPolicy,
    /// How far the clock advances at each look at it.
    pub nanoseconds_per_look: u64,
    /// How many failed looks a thread's first deadline may survive, six at most: it passes
    /// nondeterministically at each of them, and at the next for certain. With 0 it passes by the
    /// clock, which a failed poll advances.
    pub looks_in_time: u32,
    /// Whether every release finds that the lock has long been quiet.
    pub quiet: bool,
    /// Whether occasional attempts are made each time.
    pub tries: bool,
    /// Whether waiting threads are ones that seldom wait.
    pub visits: bool,
    /// Whether the awaited thread may have no CPU. A sleep that allows for it may then end at any
    /// moment, so this model shows no lost wake-up of such a sleeper.
    pub starves: bool,
    /// Whether waiters lose their CPUs, and show it.
    pub absent: bool,
    /// Whether all threads are in one cache group of a machine with many CPUs, whose waiters need
    /// an order; otherwise they are in two groups of a small one.
    pub one_group: bool,
    /// Whether all threads are in one cache group of a machine with two CPUs.
    pub two_cpus: bool,
    /// Whether threads count their read locks from the beginning.
    pub counts_reads: bool,
    /// Whether each reader biases its lock.
    pub biases: bool,
    /// Whether the client calls [`fork`], which doubles the steps.
    pub forks: bool,
    /// Whether a thread's end matters to the client.
    pub ends: bool,
    /// Whether a thread may get the identifier of an ended thread, as from the kernel.
    pub reuses_ids: bool,
}

/// The extent of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// Executions in all.
    pub executions: u64,
    /// Executions abandoned for lack of progress.
    pub abandoned: u64,
    /// Whether these are all executions within the bounds.
    pub whole: bool,
}

/// Executions between two checks of the time limit.
const INTERVAL: usize = 100;

impl Model {
    /// Two preemptions and two failed looks; waiters spin, and all else is as usual.
    pub const SPINNING: Self = Self {
        preemptions: 2,
        polls: 2,
        policy: WaitPolicy::Spin,
        nanoseconds_per_look: 0,
        looks_in_time: 0,
        quiet: false,
        tries: false,
        visits: false,
        starves: false,
        absent: false,
        one_group: false,
        two_cpus: false,
        counts_reads: false,
        biases: false,
        forks: false,
        ends: false,
        reuses_ids: false,
    };

    /// Explores every execution of `client` within the bounds, or as many as the time permits.
    ///
    /// # Panics
    /// If one of them fails; and if none ran to its end, since then nothing was checked.
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
            biases: self.biases,
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
        // Loom checks the time before every few executions, and does not report that it stopped
        // early.
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
    /// The threads beside the first one.
    static OTHERS: RefCell<Handles> = RefCell::default();
}

/// Runs `body` on that many threads, including the caller's, each with its number. Returns their
/// results, or `None` if the execution was abandoned or a fork left some behind. May be called
/// again when all have ended.
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

/// Threads' results by number; shared by all clients with the same type of result.
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

/// The same without results; compiled once for all clients of all locks.
fn run_together(threads: usize, body: Rc<dyn Fn(usize)>) {
    // The threads of an earlier call keep their places.
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
        // A failing thread ends the whole model.
        let _ = handle.join();
        with(|execution| execution.current = me);
    }
}

/// Runs `body` to its end, or until the execution is abandoned.
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

/// Forks, and goes on as the child: every other thread ends before its next step, with whatever it
/// held, and the generation is new. As after a real fork, the child sees all their writes.
///
/// # Panics
/// If called by another thread than the first, or in a model without the option for it.
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
