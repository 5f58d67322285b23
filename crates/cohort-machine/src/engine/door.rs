//! What locks ask of the machine, through their door.
//!
//! Outside of a run these do nothing and take no time, so that objects can be made
//! before it and looked at after it.

use super::coherence::Access;
use super::current::{step, step_drained, suspend, with};
use super::memory::Owner;
use super::options::{Schedule, Waiting};
use super::polling::Pause;
use super::turns::Engine;
use std::alloc::Layout;
use std::ptr::NonNull;

/// The current thread loads from an address; its value is to be read next.
#[inline]
pub fn load(address: usize) {
    step(|engine| engine.access(address, Access::Load));
}

/// The current thread stores to an address; its value is to be written next.
#[inline]
pub fn store(address: usize) {
    step(|engine| engine.access(address, Access::Store));
}

/// What a read-modify-write would do to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Not write: a comparison failed.
    None,
    /// Write what is there already.
    Same,
    /// Write something else.
    Other,
}

/// The current thread reads, modifies and writes; `writes` says whether it would
/// write, now.  Its value is to be changed next, if `writes` said so last.
#[inline]
pub fn read_modify_write(address: usize, writes: impl Fn() -> bool) {
    exchange(address, || {
        if writes() {
            Change::Other
        } else {
            Change::None
        }
    });
}

/// [`read_modify_write`], told also whether the value would change: a thread that
/// only looks in this way, at a line that is its own, can wait as one that loads.
#[inline]
pub fn exchange(address: usize, change: impl Fn() -> Change) {
    let linked = with(|engine| engine.hardware.load_linked && engine.explorer.is_none());
    match linked {
        None => {}
        Some(true) => exchange_linked(address, change),
        Some(false) => {
            step_drained(|engine| engine.access(address, Access::ReadModifyWrite(change())));
        }
    }
}

/// By a load-linked and a store-conditional, which fails if anybody has written the
/// line in between.
fn exchange_linked(address: usize, change: impl Fn() -> Change) {
    loop {
        let mut turn = None;
        let mut waits = step(|engine| {
            let line = engine.line(address);
            engine.queue_linked(line, &mut turn)
        });
        while waits == Some(true) {
            if with(|engine| engine.is_early()) == Some(true) {
                suspend();
            }
            waits = with(|engine| {
                let line = engine.line(address);
                engine.queue_linked(line, &mut turn)
            });
        }
        let reserved = with(|engine| {
            let looked = engine.me().look;
            engine.access(address, Access::LoadLinked);
            engine.me().look = looked;
            let line = engine.line(address);
            (line, engine.caches.version(line))
        });
        let Some((line, version)) = reserved else {
            return;
        };
        if change() == Change::None {
            with(|engine| engine.looked(line));
            return;
        }
        let stored = step_drained(|engine| {
            let holds = engine.caches.version(line) == version;
            if holds {
                engine.access(address, Access::ReadModifyWrite(change()));
            } else {
                engine.compute(engine.hardware.costs.failed_conditional);
                engine.record.failed_conditional();
            }
            holds
        });
        if stored != Some(false) {
            return;
        }
    }
}

/// The cohort in which the current thread runs, at the first of these levels that the
/// run's options or the machine have; 0 if there is none.
#[must_use]
pub fn cohort(levels: &[&str]) -> usize {
    let cohort = with(|engine| {
        let cpu = engine.me().cpu;
        match Mapping::of(engine, levels)? {
            Mapping::Given(cohorts) => cohorts.get(cpu).copied(),
            Mapping::Level(level) => Some(engine.hardware.cohort(level, cpu)),
        }
    });
    cohort.flatten().unwrap_or(0)
}

/// What says in which cohort a CPU is.
enum Mapping<'a> {
    Given(&'a [usize]),
    Level(usize),
}

impl<'a> Mapping<'a> {
    fn of(engine: &'a Engine<'_>, levels: &[&str]) -> Option<Self> {
        let known = engine.hardware.levels();
        levels.iter().find_map(|name| {
            let mut given = engine.options.cohorts.iter();
            if let Some((_, cohorts)) = given.find(|(level, _)| level == name) {
                return Some(Self::Given(cohorts));
            }
            let level = known.iter().position(|level| level == name)?;
            Some(Self::Level(level))
        })
    }
}

/// How far two of the cohorts that [`cohort`] numbers are from each other, by their first
/// CPUs: 0 for one and itself, otherwise by the place of what lies between in the machine's
/// list of transfers, the nearest first.  To look it up costs an instruction.
#[must_use]
pub fn distance(levels: &[&str], one: usize, other: usize) -> u8 {
    if one == other {
        return 0;
    }
    let between = with(|engine| {
        engine.compute(engine.hardware.costs.instruction);
        let mapping = Mapping::of(engine, levels)?;
        let first = |cohort| match mapping {
            Mapping::Given(cohorts) => cohorts.iter().position(|given| *given == cohort),
            Mapping::Level(level) => engine.hardware.first_cpu(level, cohort),
        };
        let cache = |cohort| Some(engine.hardware.cache_of[first(cohort)?] as usize);
        Some(engine.hardware.distance(cache(one)?, cache(other)?))
    });
    between.flatten().map_or(1, |between| between as u8 + 1)
}

/// A full fence.
pub fn fence() {
    step(|engine| engine.fence());
}

/// A full fence right after a read-modify-write: nothing where that is one instruction,
/// which has drained the store buffer.
pub fn fence_after_update() {
    step(|engine| {
        if engine.hardware.load_linked {
            engine.fence();
        }
    });
}

/// Runs `touch`, which reads or writes plain memory at an address.  Where time does
/// not decide, others may come between its beginning and its end.
///
/// # Panics
/// If somebody else is in the same memory then, one of the two writing.
pub fn plain<R>(address: usize, writes: bool, touch: impl FnOnce() -> R) -> R {
    if writes {
        store(address);
    } else {
        load(address);
    }
    if with(|engine| engine.explorer.is_none()).unwrap_or(true) {
        return touch();
    }
    with(|engine| engine.enter_plain(address, writes));
    step(|_| ());
    let result = touch();
    with(|engine| engine.leave_plain(address));
    result
}

/// Virtual nanoseconds since the run began; 0 outside of one.
#[must_use]
pub fn now() -> u64 {
    with(|engine| {
        engine.compute(engine.hardware.costs.fence);
        engine.me().look.clock = true;
        engine.nanoseconds()
    })
    .unwrap_or(0)
}

/// Whether a deadline, in nanoseconds, has passed.
#[must_use]
pub fn expired(deadline: u64) -> bool {
    with(|engine| {
        engine.compute(engine.hardware.costs.fence);
        let ticks = engine.hardware.rate.ticks(deadline);
        let me = engine.me();
        if me.clock >= ticks {
            return true;
        }
        me.look.deadline = me.look.deadline.min(ticks);
        false
    })
    .unwrap_or(false)
}

/// One wait: made at its beginning, asked between looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    /// When it began, in ticks and one more; 0 before the first look.
    began: u64,
    looks: u32,
    yields: u32,
}

/// Turns given away before sleeping.
const YIELDS: u32 = 16;

impl Wait {
    /// At the beginning of a wait.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            began: 0,
            looks: 0,
            yields: 0,
        }
    }

    /// One look in vain: passes a little time, and says whether it pays to sleep
    /// next.
    pub fn step(&mut self) -> bool {
        let Some(advice) = with(|engine| self.decide(engine)) else {
            return false;
        };
        match advice {
            Decision::Sleep => return true,
            Decision::Poll(pause, until) => poll(pause, until),
        }
        false
    }

    fn decide(&mut self, engine: &mut Engine<'_>) -> Decision {
        let waiting = engine.options.waiting;
        self.looks += 1;
        if engine.options.schedule != Schedule::Time {
            let sleeps = waiting == Waiting::Park && self.looks > 1;
            return if sleeps {
                Decision::Sleep
            } else {
                Decision::Poll(Pause::Spin, u64::MAX)
            };
        }
        let now = engine.me().clock;
        if self.began == 0 {
            self.began = now + 1;
        }
        let spin = engine.hardware.rate.ticks(engine.options.spin);
        let end = (self.began - 1).saturating_add(spin);
        if self.yields == 0 && waiting != Waiting::Yield && now < end {
            return Decision::Poll(Pause::Spin, end);
        }
        if waiting == Waiting::Park {
            if self.yields >= YIELDS {
                return Decision::Sleep;
            }
            self.yields += 1;
            // Each turn is an event of its own: they are few.
            return Decision::Poll(Pause::Yield, 0);
        }
        self.yields = self.yields.saturating_add(1);
        Decision::Poll(Pause::Yield, u64::MAX)
    }

    /// [`step`](Self::step) until that many nanoseconds have passed or sleeping pays.
    pub fn pause(&mut self, nanoseconds: u64) -> bool {
        if nanoseconds == 0 {
            return self.step();
        }
        let until = with(|engine| engine.me().clock + engine.hardware.rate.ticks(nanoseconds));
        let Some(until) = until else { return false };
        loop {
            let advice = with(|engine| (self.decide(engine), engine.me().clock));
            match advice {
                None => return false,
                Some((Decision::Sleep, _)) => return true,
                Some((Decision::Poll(Pause::Spin, end), _)) => delay(until.min(end)),
                Some((Decision::Poll(pause, end), _)) => poll(pause, end),
            }
            if with(|engine| engine.me().clock >= until).unwrap_or(true) {
                return false;
            }
        }
    }
}

enum Decision {
    Sleep,
    Poll(Pause, u64),
}

fn poll(pause: Pause, until: u64) {
    if with(|engine| engine.poll(pause, until)) == Some(true) {
        suspend();
    }
}

/// The current thread spins until then without looking at anything.
fn delay(until: u64) {
    let early = with(|engine| engine.delay(until));
    if early == Some(true) {
        suspend();
    }
}

/// One look in vain that passes as little time as can be.
pub fn spin_once() {
    poll(Pause::Spin, u64::MAX);
}

/// Offers the CPU to others.
pub fn yield_now() {
    let early = with(|engine| {
        engine.me().look.act();
        engine.poll(Pause::Yield, 0)
    });
    if early == Some(true) {
        suspend();
    }
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// A waker ended it.
    Woken,
    /// The word had changed already.
    Changed,
    /// The deadline came first.
    TimedOut,
}

/// Sleeps while the word at `address`, which `read` reads, holds `expected`, until
/// woken through one of `bits` or the deadline, in nanoseconds, has passed.
pub fn sleep(
    address: usize,
    read: impl FnOnce() -> u32,
    expected: u32,
    bits: u32,
    deadline: Option<u64>,
) -> Slept {
    with(|engine| engine.enter_kernel());
    let until = step(|engine| {
        engine.compare(address);
        deadline.map_or(u64::MAX, |deadline| engine.hardware.rate.ticks(deadline))
    });
    let Some(until) = until else {
        return Slept::Changed;
    };
    if read() != expected {
        return Slept::Changed;
    }
    let passed = with(|engine| {
        let passed = engine.me().clock >= until;
        if !passed {
            engine.fall_asleep(address, expected, bits, until);
        }
        passed
    });
    if passed == Some(true) {
        return Slept::TimedOut;
    }
    suspend();
    match with(|engine| engine.me().woken) {
        Some(true) => Slept::Woken,
        _ => Slept::TimedOut,
    }
}

/// Wakes up to `count` sleepers on `address` that share one of `bits`; how many.
pub fn wake(address: usize, count: u32, bits: u32) -> usize {
    with(|engine| engine.enter_kernel());
    step(|engine| engine.wake(address, count, bits)).unwrap_or(0)
}

/// Makes one sleeper on `address`, if the word there, which `read` reads, holds
/// `expected`, one on `to`, behind all others; whether there was one.
pub fn move_sleeper(address: usize, read: impl FnOnce() -> u32, expected: u32, to: usize) -> bool {
    with(|engine| engine.enter_kernel());
    if step(|engine| engine.compare(address)).is_none() || read() != expected {
        return false;
    }
    with(|engine| engine.sleepers.move_one(address, to)).unwrap_or(false)
}

/// A barrier in every running thread: here it costs a system call and the time
/// that reaching the farthest CPU takes, and orders nothing that is not ordered.
pub fn barrier_everywhere() {
    step(|engine| {
        engine.fence();
        let scheduler = &engine.hardware.scheduler;
        let cost = scheduler.system_call + scheduler.wake;
        engine.compute(cost);
    });
}

/// Random bits of the current thread's own stream.
#[must_use]
pub fn random() -> u64 {
    with(|engine| engine.me().random.next()).unwrap_or(0)
}

/// Whether chance, one time in so many, says yes; never where time decides.
#[must_use]
pub fn chance(of: u64) -> bool {
    with(|engine| engine.options.schedule != Schedule::Time && engine.me().random.below(of) == 0)
        .unwrap_or(false)
}

/// How many CPUs the threads may use.  Where time does not decide they are said to be
/// two, so that a few threads are more than that.
#[must_use]
pub fn cpus() -> usize {
    with(|engine| match engine.options.schedule {
        Schedule::Time => engine.allowed.iter().filter(|allowed| **allowed).count(),
        _ => 2,
    })
    .unwrap_or(1)
}

/// How the run's waiters wait.
#[must_use]
pub fn waiting() -> Waiting {
    with(|engine| engine.options.waiting).unwrap_or(Waiting::Park)
}

/// The number of the current thread; `None` outside of a run.
#[must_use]
pub fn thread() -> Option<usize> {
    with(|engine| engine.current)
}

/// Whether that thread of the run has returned.
#[must_use]
pub fn has_returned(thread: usize) -> bool {
    with(|engine| {
        let thread = engine.threads.get(thread);
        thread.is_none_or(|thread| thread.state == super::thread::State::Done)
    })
    .unwrap_or(true)
}

/// Whether the run's locks shall have the flaw of that name.
#[must_use]
pub fn has_flaw(name: &str) -> bool {
    with(|engine| engine.options.flaw.as_deref() == Some(name)).unwrap_or(false)
}

/// Zeroed memory of the run's arena for a lock's nodes; `None` outside of a run.
#[must_use]
pub fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    with(|engine| engine.memory.allocate(layout, Owner::Lock))
}

/// What the door keeps for the current thread, made at the first question; it
/// lives as long as the run.  `None` outside of one.
#[must_use]
pub fn local<T: Default + 'static>() -> Option<NonNull<T>> {
    with(|engine| {
        let local = engine
            .me()
            .local
            .get_or_insert_with(|| Box::new(T::default()));
        let local = local.downcast_ref::<T>();
        NonNull::from(local.expect("a run has one kind of locals"))
    })
}

/// What is static natively and one a run here, made at the first question in the
/// run's arena; `place` stands for it.  It lives as long as that arena, and is
/// never dropped.  `None` outside of a run.
#[must_use]
pub fn once<T: 'static>(place: usize, make: impl FnOnce() -> T) -> Option<NonNull<T>> {
    let find = |engine: &mut Engine<'_>| {
        let known = engine.statics.iter().find(|(known, _)| *known == place);
        known.and_then(|(_, at)| NonNull::new(at.cast_mut().cast()))
    };
    if let Some(known) = with(find)? {
        return Some(known);
    }
    let made = make();
    with(|engine| {
        let at = engine.memory.lock(made);
        engine.statics.push((place, std::ptr::from_ref(at).cast()));
        NonNull::from(at)
    })
}
