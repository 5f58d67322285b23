//! This backend's state of the execution being explored, beside loom's.
//!
//! Loom cannot see that a polling thread waits: two such threads keep reactivating each other, and
//! the execution never ends. So each thread counts its failed polls. A thread beyond the model's
//! limit ends the execution:
//!
//! - If a living thread does not wait, this schedule is merely unkind to it. The execution is
//!   *abandoned*: every thread unwinds at its next poll or sleep.
//! - If every living thread waits, that is a deadlock, and the model fails.
//!
//! The counts start again whenever a thread leaves a wait or ends.

use super::super::WaitPolicy;
use super::interrupt::{stepped, waits};
use super::record::ThreadRecord;
use super::std;
use super::{atom, trace};
use core::cell::RefCell;
use core::fmt::Debug;
use core::panic::Location;
use core::sync::atomic::Ordering;
use loom::sync::atomic::AtomicU32;
use std::boxed::Box;
use std::format;
use std::rc::Rc;
use std::vec::Vec;

/// Further failed polls of a thread, after all have waited long enough, before a deadlock is
/// reported: loom may first show it each older value of a word, and remembers seven of them.
const GRACE: u32 = 8;

/// Failed polls of a thread while another waiter gets no poll: loom may keep two pollers going and
/// starve a third that both depend on. By default loom prefers threads with the fewest polls, so a
/// deadlock is found earlier.
const UNKIND: u32 = 3 * GRACE;

/// The payload with which an abandoned thread unwinds.
pub(super) struct Abandoned;

/// One of the model's threads.
pub(super) struct Thread {
    /// Whether its body is running or has yet to begin.
    pub(super) lives: bool,
    /// Its failed polls since the last event.
    polls: u32,
    /// Whether it has slept until a deadline.
    pub(super) overslept: bool,
    /// A lock's words for it.
    pub(super) record: Box<ThreadRecord>,
}

/// A thread asleep on a word.
pub(super) struct Sleeper {
    pub(super) thread: usize,
    pub(super) address: usize,
    pub(super) bits: u32,
    /// The thread, unless it has a deadline: then it is not blocked.
    pub(super) parked: Option<loom::thread::Thread>,
    pub(super) woken: bool,
}

impl Sleeper {
    /// Wakes it.
    pub(super) fn rouse(&self) {
        if let Some(thread) = &self.parked {
            thread.unpark();
        }
    }
}

/// The settings of the model that the execution belongs to.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) polls: u32,
    pub(super) policy: WaitPolicy,
    pub(super) nanoseconds_per_look: u64,
    pub(super) looks_in_time: u32,
    pub(super) quiet: bool,
    pub(super) tries: bool,
    pub(super) visits: bool,
    pub(super) starves: bool,
    pub(super) absent: bool,
    pub(super) one_group: bool,
    pub(super) two_cpus: bool,
    pub(super) counts_reads: bool,
    pub(super) biases: bool,
    pub(super) forks: bool,
    pub(super) ends: bool,
    pub(super) reuses_ids: bool,
}

/// The hour of each thread.
pub(super) type Hours = Rc<Vec<AtomicU32>>;

/// The execution being explored.
pub(super) struct Execution {
    pub(super) settings: Settings,
    /// Number of this execution, by which objects that outlive one detect the next.
    pub(super) serial: u64,
    /// The running thread.
    pub(super) current: usize,
    pub(super) threads: Vec<Thread>,
    /// Nanoseconds on every clock.
    pub(super) clock: u64,
    /// The last answer on whether CPUs are lacking.
    pub(super) lacking: bool,
    pub(super) sleepers: Vec<Sleeper>,
    pub(super) abandoned: bool,
    /// Whether loom has done what no machine can.
    pub(super) unreal: bool,
    /// The process's generation; raised by a fork.
    pub(super) generation: u32,
    /// After a fork: the child's only thread.
    pub(super) survivor: Option<usize>,
    /// Stands for whatever threads share outside the lock, such as the kernel's queue of sleepers,
    /// or a fork. An access tells loom that the order matters; it orders nothing itself.
    kernel: Rc<AtomicU32>,
    /// The process's count of revoked quick modes.
    revocations: Box<atom::AtomicU32>,
    /// The time of each thread, in a model with nondeterministic deadlines.
    pub(super) hours: Option<Hours>,
    /// Whether all hours have been written.
    pub(super) struck: bool,
}

std::thread_local! {
    static EXECUTION: RefCell<Option<Execution>> = const { RefCell::new(None) };
}

/// Accesses the execution; this backend works only during one.
pub(super) fn with<R>(look: impl FnOnce(&mut Execution) -> R) -> R {
    EXECUTION.with_borrow_mut(|execution| {
        look(
            execution
                .as_mut()
                .expect("locks of the loom world live inside `Model::check` only"),
        )
    })
}

/// Whether an execution is being explored, rather than torn down.
pub(super) fn is_going_on() -> bool {
    let look = |execution: &RefCell<Option<Execution>>| {
        execution
            .try_borrow()
            .is_ok_and(|execution| execution.is_some())
    };
    // The process may be exiting.
    EXECUTION.try_with(look).unwrap_or(false)
}

/// How often the quick mode was revoked in this process; it wraps.
#[must_use]
pub fn revocations() -> &'static atom::AtomicU32 {
    let count: *const _ = with(|execution| &raw const *execution.revocations);
    // SAFETY: boxed, and alive until the execution ends and with it all its threads.
    unsafe { &*count }
}

/// Begins a new execution, with its first thread running.
pub(super) fn begin(serial: u64, settings: Settings) {
    trace::begin();
    drop(EXECUTION.take());
    let kernel = Rc::new(AtomicU32::new(0));
    let revocations = Box::new(atom::AtomicU32::new(0));
    EXECUTION.set(Some(Execution {
        settings,
        serial,
        current: 0,
        threads: Vec::from([Thread::new(0)]),
        clock: 1,
        lacking: false,
        sleepers: Vec::new(),
        abandoned: false,
        unreal: false,
        generation: 1,
        survivor: None,
        kernel,
        revocations,
        hours: None,
        struck: false,
    }));
}

impl Thread {
    pub(super) fn new(index: usize) -> Self {
        Self {
            lives: true,
            polls: 0,
            overslept: false,
            record: Box::new(ThreadRecord::new(index)),
        }
    }
}

impl Execution {
    pub(super) fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// Notes progress of a thread: waiters may wait longer.
    pub(super) fn event(&mut self) {
        for thread in &mut self.threads {
            thread.polls = 0;
        }
    }

    fn sleeps(&self, thread: usize) -> bool {
        self.sleepers
            .iter()
            .any(|sleeper| sleeper.thread == thread && !sleeper.woken)
    }

    /// Whether every living thread sleeps or has made that many failed polls.
    pub(super) fn all_wait(&self, polls: u32) -> bool {
        (0..self.threads.len()).all(|index| {
            let thread = &self.threads[index];
            !thread.lives || self.sleeps(index) || thread.polls >= polls
        })
    }

    /// Abandons the execution: nothing counts from here on.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
        self.rouse_all();
    }

    /// Wakes every sleeper, which then finds out why.
    pub(super) fn rouse_all(&self) {
        for sleeper in &self.sleepers {
            sleeper.rouse();
        }
    }

    /// Whether the running thread was left behind by a fork.
    fn is_left_behind(&self) -> bool {
        self.survivor
            .is_some_and(|survivor| survivor != self.current)
    }
}

/// Whether the thread is unwinding, so that its operations do not count.
fn unwinding() -> bool {
    std::thread::panicking()
}

/// Unwinds the thread from an abandoned execution.
pub(super) fn unwind() -> ! {
    std::panic::resume_unwind(Box::new(Abandoned))
}

/// The result of an operation in an unwinding thread, and an atom's initial value.
pub trait Nothing: Copy + PartialEq + Debug {
    /// A null value.
    fn nothing() -> Self;
}

macro_rules! nothing {
    ($([$($generic:tt)*] $of:ty = $value:expr;)+) => {
        $(impl $($generic)* Nothing for $of {
            fn nothing() -> Self {
                $value
            }
        })+
    };
}
nothing! {
    [] () = ();
    [] u32 = 0;
    [] u64 = 0;
    [] usize = 0;
    [<T>] *mut T = core::ptr::null_mut();
    [<T: Nothing>] Result<T, T> = Ok(T::nothing());
}

/// Runs one operation of loom's, after which other threads may have run; does nothing in an
/// unwinding thread.
///
/// Each operation of each lock in a client instantiates this, so it contains only the operation and
/// calls.
#[track_caller]
pub(super) fn step<R: Nothing>(name: &'static str, operation: impl FnOnce() -> R) -> R {
    if unwinding() {
        return R::nothing();
    }
    let me = before_step();
    let result = operation();
    after_step(me, Location::caller(), name, &result);
    result
}

/// The part before the operation; returns the running thread.
fn before_step() -> usize {
    let (me, forks) = with(|execution| (execution.current, execution.settings.forks));
    if forks {
        touch_kernel(false);
    }
    leave_if_ended();
    me
}

/// The part after the operation.
fn after_step(me: usize, place: &Location<'_>, name: &str, result: &dyn Debug) {
    with(|execution| execution.current = me);
    leave_if_ended();
    trace::note(me, place, || format!("{name} = {result:?}"));
    stepped();
}

/// Ends the thread: after a fork, every other thread before its next step; after an impossible
/// execution, every thread.
pub(super) fn leave_if_ended() {
    if with(|execution| execution.unreal || execution.is_left_behind()) {
        unwind();
    }
}

/// Ends an execution impossible on a machine.
pub(super) fn end_unreal() {
    with(|execution| {
        execution.unreal = true;
        execution.abandon();
    });
}

/// Lets loom try both orders of this and any other thread's kernel call.
pub(super) fn touch_kernel(changes: bool) {
    let (me, kernel) = with(|execution| (execution.current, Rc::clone(&execution.kernel)));
    if changes {
        kernel.fetch_add(1, Ordering::Relaxed);
    } else {
        kernel.load(Ordering::Relaxed);
    }
    with(|execution| execution.current = me);
}

/// Lets other threads run first.
pub(super) fn give_way() {
    let me = with(|execution| execution.current);
    loom::thread::yield_now();
    with(|execution| execution.current = me);
}

/// Counts one more failed look of the running thread.
#[track_caller]
pub(super) fn poll() {
    let place = Location::caller();
    if unwinding() {
        return;
    }
    waits();
    leave_if_ended();
    trace::note(with(|execution| execution.current), place, || "poll".into());
    let goes_on = with(|execution| {
        let allowed = execution.settings.polls;
        let me = execution.me();
        me.polls += 1;
        let failed = me.polls;
        execution.clock += 1;
        let unkind = failed > allowed + UNKIND && !execution.all_wait(allowed + GRACE);
        if unkind || (failed > allowed && !execution.all_wait(allowed)) {
            execution.abandon();
        }
        // A drop after an abandoned execution may wait for an unwound thread.
        assert!(
            execution.abandoned || !execution.all_wait(allowed + GRACE),
            "deadlock: every thread waits for ever"
        );
        !execution.abandoned
    });
    if !goes_on {
        unwind();
    }
    give_way();
}

/// Whether the model's client forks.
#[must_use]
pub fn may_fork() -> bool {
    !unwinding() && with(|execution| execution.settings.forks)
}

/// The generation of the running thread's process: raised by [`super::fork`].
#[must_use]
pub fn generation() -> u32 {
    if unwinding() {
        return 0;
    }
    with(|execution| execution.generation)
}
