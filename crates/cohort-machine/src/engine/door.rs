//! What locks ask of the machine, through their door.
//!
//! Outside of a run these do nothing and take no time, so that objects can be made
//! before it and looked at after it.

pub use super::access::Change;

use super::access::Access;
use super::clock::Ticks;
use super::course::{Course, Decision, Pause};
use super::current::{step, step_drained, suspend, with};
use super::memory::Owner;
use super::options::{Schedule, Waiting};
use super::state::Engine;
use super::suspended::{Foreseen, Suspended};
use std::alloc::Layout;
use std::collections::BTreeSet;
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

/// By a load-linked and a store-conditional; see `linked.rs`.
fn exchange_linked(address: usize, change: impl Fn() -> Change) {
    let begun = with(|engine| engine.me().linked.take());
    let mut linked = begun.flatten().unwrap_or_default();
    while with(|engine| engine.exchange_linked(&mut linked, address, || Some(change())))
        == Some(super::linked::Pause::Early)
    {
        suspend();
    }
}

/// The current thread loads from independent addresses.  Their misses overlap, up to the machine's
/// number at a time; without such a number nothing is loaded.
pub fn load_ahead(addresses: impl Iterator<Item = usize>) {
    let overlap = with(|engine| match engine.explorer {
        None => engine.hardware.costs.overlap,
        Some(_) => 1,
    });
    let Some(overlap) = overlap.filter(|overlap| *overlap > 1) else {
        return;
    };
    let addresses: Vec<usize> = addresses.collect();
    for together in addresses.chunks(overlap) {
        step(|engine| engine.load_together(together));
    }
}

/// The current thread executes code with so many instructions before each access, on average, from
/// now on; uncounted for none.  It takes no time.
pub fn executes(instructions: Option<f64>) {
    with(|engine| {
        engine.me().instructions = engine.hardware.costs.before_access(instructions);
    });
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

/// How many cohorts there are of the CPUs that threads may use, by the first of these levels
/// that the run's options or the machine have; 1 if there is none.
#[must_use]
pub fn cohorts(levels: &[&str]) -> usize {
    let count = with(|engine| {
        let mapping = Mapping::of(engine, levels)?;
        let cpus = engine.allowed.iter().enumerate();
        let allowed = cpus.filter_map(|(cpu, allowed)| allowed.then_some(cpu));
        let cohorts: BTreeSet<usize> = match mapping {
            Mapping::Given(cohorts) => allowed
                .filter_map(|cpu| cohorts.get(cpu).copied())
                .collect(),
            Mapping::Level(level) => allowed
                .map(|cpu| engine.hardware.cohort(level, cpu))
                .collect(),
        };
        Some(cohorts.len())
    });
    count.flatten().unwrap_or(1)
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
/// If another thread is in the same memory then, one of the two writing.
pub fn plain<R>(address: usize, writes: bool, touch: impl FnOnce() -> R) -> R {
    if writes {
        store(address);
    } else {
        load(address);
    }
    if with(|engine| engine.explorer.is_none()).unwrap_or(true) {
        return touch();
    }
    with(|engine| engine.inside.enter(engine.current, address, writes));
    step(|_| ());
    let result = touch();
    with(|engine| engine.inside.leave(engine.current, address));
    result
}

/// Virtual nanoseconds since the run began; 0 outside of one.
#[must_use]
pub fn now() -> u64 {
    with(|engine| {
        engine.compute(engine.hardware.costs.clock);
        engine.me().look.clock = true;
        engine.nanoseconds()
    })
    .unwrap_or(0)
}

/// The same, asked in no time: for what is counted beside the machine.
#[must_use]
pub fn moment() -> u64 {
    with(|engine| engine.moment()).unwrap_or(0)
}

/// Counts something of a lock's own so many times, in no time, while figures are counted.
pub fn tally(what: &'static str, times: u64) {
    with(|engine| engine.record.tally(what, times));
}

/// Counts how often a state changes of what is at an address, in no time; it is false at first.
/// All changes of the run are counted, those of its warm-up too.
pub fn tally_state(what: &'static str, of: usize, state: bool) {
    with(|engine| engine.record.tally_state(what, of, state));
}

/// Whether a deadline, in nanoseconds, has passed.
#[must_use]
pub fn expired(deadline: u64) -> bool {
    with(|engine| {
        engine.compute(engine.hardware.costs.clock);
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
    course: Course,
    /// The look that follows each step.
    foreseen: Option<Foreseen>,
}

/// How a waiter looks at a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// By a load.
    Load,
    /// By a read-modify-write, which writes the value that it finds if in vain.
    Update,
    /// By a comparison, which writes nothing if in vain.
    Compare,
}

impl Attempt {
    const fn access(self) -> Access {
        match self {
            Self::Load => Access::Load,
            Self::Update => Access::ReadModifyWrite(Change::Same),
            Self::Compare => Access::ReadModifyWrite(Change::None),
        }
    }
}

impl Wait {
    /// At the beginning of a wait.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            course: Course::new(),
            foreseen: None,
        }
    }

    /// At the beginning of a wait for one's own place in a line.
    #[must_use]
    pub const fn in_line() -> Self {
        let mut wait = Self::new();
        wait.course.in_line = true;
        wait
    }

    /// At the beginning of a wait that is to sleep rather than give a turn away.
    #[must_use]
    pub const fn keeping_turns() -> Self {
        let mut wait = Self::new();
        wait.course.keeps_turns = true;
        wait
    }

    /// Says what follows each [`step`](Self::step): an attempt at the word at `address`, in vain unless
    /// `ready` is true of its value, and then the next step.  The engine looks in place of the
    /// thread until then.
    ///
    /// # Safety
    /// The word and `ready` stay until the last step of this wait, and `ready` depends on the value
    /// alone.  After a step that does not advise sleep, the thread's next call of this module is
    /// the attempt.
    pub unsafe fn foresee<F: Fn(u32) -> bool>(
        &mut self,
        address: usize,
        attempt: Attempt,
        ready: &F,
    ) {
        let word = address as *const u32;
        self.foreseen = Some(Foreseen::new(word, attempt.access(), ready));
    }

    /// One look in vain: passes a little time, and says whether it pays to sleep
    /// next.
    pub fn step(&mut self) -> bool {
        self.step_showing(|others| others())
    }

    /// [`step`](Self::step), in which a turn that others are likely to take passes in `away`.
    pub fn step_showing(&mut self, away: impl FnOnce(&mut dyn FnMut())) -> bool {
        let decide = |engine: &mut Engine<'_>| {
            let decision = self.course.decide(engine);
            (decision, engine.me().turns.taken > 0)
        };
        let mut decided = with(decide);
        while let Some((Decision::Poll(Pause::Spin, until), _)) = decided {
            decided = self.spin(until);
            if decided.is_none() {
                return false;
            }
        }
        match decided {
            Some((Decision::Sleep, _)) => return true,
            Some((Decision::Poll(Pause::Yield, until), true)) => {
                away(&mut || self.pass(Pause::Yield, until));
            }
            Some((Decision::Poll(pause, until), _)) => self.pass(pause, until),
            None => {}
        }
        false
    }

    /// Spins, and looks in vain as often as foreseen; returns the decision after the last of these
    /// looks, if another look in vain is not what follows.
    fn spin(&mut self, until: Ticks) -> Option<(Decision, bool)> {
        let (look, course) = (self.foreseen, self.course);
        let mut is_watched = false;
        let early = with(|engine| {
            let early = engine.poll(Pause::Spin, until);
            if let Some(look) = look.filter(|_| early && engine.foresees()) {
                let me = engine.me();
                (me.suspended, me.wait) = (Some(Suspended::new(look)), course);
                is_watched = true;
            }
            early
        });
        if early != Some(true) {
            return None;
        }
        suspend();
        with(|engine| {
            let me = engine.me();
            if is_watched {
                self.course = me.wait;
            }
            let decided = me.decided.take();
            decided.map(|decision| (decision, me.turns.taken > 0))
        })?
    }

    /// Passes a little time, and notes whether another thread used a yielded turn.
    fn pass(&mut self, pause: Pause, until: Ticks) {
        poll(pause, until);
        if self.course.given != 0 {
            with(|engine| self.course.come_back(engine));
        }
    }

    /// [`step`](Self::step), past others that sleep, or not.
    pub fn step_past(&mut self, sleepers: bool) -> bool {
        self.course.passes = sleepers;
        self.step()
    }

    /// [`step`](Self::step) until that many nanoseconds have passed or sleeping pays.
    pub fn pause(&mut self, nanoseconds: u64) -> bool {
        if nanoseconds == 0 {
            return self.step();
        }
        let until = with(|engine| engine.me().clock + engine.hardware.rate.ticks(nanoseconds));
        let Some(until) = until else { return false };
        loop {
            let advice = with(|engine| (self.course.decide(engine), engine.me().clock));
            match advice {
                None => return false,
                Some((Decision::Sleep, _)) => return true,
                Some((Decision::Poll(Pause::Spin, end), _)) => delay(until.min(end)),
                Some((Decision::Poll(pause, end), _)) => self.pass(pause, end),
            }
            if with(|engine| engine.me().clock >= until).unwrap_or(true) {
                return false;
            }
        }
    }
}

impl Course {
    fn come_back(&mut self, engine: &mut Engine<'_>) {
        let rate = &engine.hardware.rate;
        let soon = rate.ticks(1_000);
        let slice = rate.ticks(SLICE_NANOSECONDS);
        let long = rate.ticks(1_000_000.max(16_000 * engine.hardware.cpus as u64));
        let now = engine.me().clock;
        // The look that follows is no part of the turn, however long its line is on its way.
        let turn = if std::mem::take(&mut engine.me().turns.is_taken) {
            now - (self.given - 1)
        } else {
            engine.hardware.scheduler.yield_alone
        };
        let shortest = engine.shortest_turn.unwrap_or(0);
        let taken = turn >= (2 * shortest).clamp(soon, 2 * soon);
        if engine.shortest_turn.is_none_or(|shortest| turn < shortest) {
            engine.shortest_turn = Some(turn);
        }
        self.given = 0;
        self.began = now + 1;
        let known = &mut engine.me().turns;
        known.taken = if taken {
            known.taken.saturating_add(1)
        } else {
            0
        };
        known.lost |= turn >= slice && known.keeps_cpu;
        known.untaken = if taken {
            0
        } else {
            UNTAKEN.min(known.untaken + 1)
        };
        let kept = known.keeps_cpu && !taken && now - (self.since - 1) < long;
        self.turns += match known.untaken {
            _ if kept => 0,
            UNTAKEN => WEIGHT,
            _ => 1,
        };
    }

    pub(crate) fn decide(&mut self, engine: &mut Engine<'_>) -> Decision {
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
        if self.since == 0 {
            (self.since, self.began) = (now + 1, now + 1);
            self.vain = std::mem::take(&mut engine.me().turns.vain);
        }
        if waiting == Waiting::Park {
            return self.decide_to_park(engine);
        }
        let end = (self.began - 1).saturating_add(engine.spin);
        if self.turns == 0 && waiting != Waiting::Yield && now < end {
            return Decision::Poll(Pause::Spin, end);
        }
        self.turns = self.turns.saturating_add(1);
        Decision::Poll(Pause::Yield, u64::MAX)
    }

    /// As the locks' native world decides for a waiter that may sleep; its spinner, whose
    /// constants these are, says why.
    fn decide_to_park(&mut self, engine: &mut Engine<'_>) -> Decision {
        let ticks = |nanoseconds| engine.hardware.rate.ticks(nanoseconds);
        let (spin, short, alone) = (ticks(600), ticks(150), ticks(4_000));
        let undisturbed = ticks(32_000);
        let has_one_cpu = engine
            .allowed
            .iter()
            .filter(|allowed| **allowed)
            .nth(1)
            .is_none();
        let me = engine.me();
        let now = me.clock;
        let is_alone = me.turns.untaken == UNTAKEN && !self.passes;
        let bound = if has_one_cpu {
            0
        } else if is_alone && me.turns.keeps_cpu {
            undisturbed
        } else if is_alone || me.turns.keeps_cpu || self.keeps_turns {
            alone
        } else if self.turns > 0 && self.in_line {
            0
        } else if self.turns == 0 && self.vain >= VAIN {
            short
        } else {
            spin
        };
        let end = self.began - 1 + bound;
        if now < end {
            return Decision::Poll(Pause::Spin, end);
        }
        if self.turns == 0 {
            let vain = self.vain + 1;
            me.turns.vain = if vain < VAIN + SHORTS { vain } else { VAIN - 1 };
        }
        if self.turns >= TURNS || self.keeps_turns {
            return Decision::Sleep;
        }
        // Each turn is an event of its own: they are few.
        self.given = now + 1;
        Decision::Poll(Pause::Yield, 0)
    }
}

/// A turn that took as long went to a thread that used its time slice, or much of it.
const SLICE_NANOSECONDS: u64 = 10_000;

/// Turns given away before sleeping.
const TURNS: u32 = 16;

/// So many consecutive unused yields show that no other thread needs the CPU.
const UNTAKEN: u8 = 4;

/// How many turns one counts for that is given away then.
const WEIGHT: u32 = 4;

/// So many waits in a row that did not end by spinning show that sections are long.
const VAIN: u8 = 2;

/// After so many short spells of spinning the next is a long one.
const SHORTS: u8 = 8;

/// From here on the current thread's waits may keep its CPU for long, or no longer.
pub fn keep_cpu(keeps: bool) {
    with(|engine| engine.me().turns.keeps_cpu = keeps);
}

/// Whether a wait of the current thread that might [keep its CPU](keep_cpu) has lost it since
/// this was last asked, two turns in a row.
#[must_use]
pub fn has_lost_cpu() -> bool {
    with(|engine| std::mem::take(&mut engine.me().turns.lost)).unwrap_or(false)
}

/// Threads that run or could, those of the background too, and CPUs; nothing outside of a run
/// or where chance decides which thread runs.  To find out costs as much as a read of a
/// kernel's file.
#[must_use]
pub fn workload() -> Option<(usize, usize)> {
    with(|engine| {
        if engine.options.schedule != Schedule::Time {
            return None;
        }
        let ticks = engine.hardware.rate.ticks(FILE_NANOSECONDS);
        engine.compute(ticks);
        Some(engine.cpus.workload())
    })
    .flatten()
}

/// What opening, reading and closing a kernel's file takes.
const FILE_NANOSECONDS: u64 = 2_000;

/// Whether threads of the run that are not of the background stand in line for a CPU; nothing
/// outside of a run or where chance decides which thread runs.
#[must_use]
pub fn lacks_cpus() -> Option<bool> {
    with(|engine| (engine.options.schedule == Schedule::Time).then(|| engine.lacks_cpus()))
        .flatten()
}

/// Yields the CPU once; whether another thread took it.
#[must_use]
pub fn offer_cpu() -> bool {
    with(|engine| engine.me().turns.is_taken = false);
    yield_now();
    with(|engine| std::mem::take(&mut engine.me().turns.is_taken)).unwrap_or(false)
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

/// Where in the run's memory an address is, in bytes from its beginning; `None` elsewhere, and
/// outside of a run.
#[must_use]
pub fn offset(address: usize) -> Option<usize> {
    with(|engine| engine.memory.offset(address))?
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
