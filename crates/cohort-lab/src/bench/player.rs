//! One thread of a workload, with its counters.

use super::instructions;
use crate::world::{Actor, Memory, Tested, Topology, WORDS, World};
use cohort::{Counter, Outcome, Patience};
use hdrhistogram::Histogram;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Significant digits of a time.
const DIGITS: u8 = 2;

/// Lock with the data that it guards.
pub struct Guarded<W: World> {
    lock: Arc<dyn Tested>,
    number: usize,
    note: Option<Arc<W::Memory>>,
    data: Arc<W::Memory>,
    threads: usize,
    /// The lock's instructions before each access.
    instructions: Option<f64>,
}

impl<W: World> Guarded<W> {
    /// A fresh lock of that name, the `number`-th of its workload, with that many lines of data.
    ///
    /// # Panics
    /// If there is no such lock: names are checked before a world is created.
    pub fn new(world: &mut W, name: &str, number: usize, threads: usize, lines: usize) -> Self {
        let lock = world.lock(name, threads);
        let lock = lock.unwrap_or_else(|| panic!("unknown lock `{name}`"));
        let data = world.memory(lines);
        let note = world
            .margin()
            .or_else(|| (lines > 0).then(|| Arc::clone(&data)));
        Self {
            lock,
            number,
            note,
            data,
            threads,
            instructions: instructions::before_access(name),
        }
    }

    /// The data.
    pub fn data(&self) -> &W::Memory {
        &self.data
    }

    /// Whether the lock is held: a hint.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// A shared reference to the data.
    pub fn shared(&self) -> &Arc<W::Memory> {
        &self.data
    }

    /// The number of threads that the lock was created for.
    pub fn threads(&self) -> usize {
        self.threads
    }
}

/// Durations, in cycles.
pub type Times = Histogram<u64>;

/// Counters of one thread.
#[derive(Clone, Debug)]
pub struct Part {
    /// Operations of the workload: in most, rounds of its loop.
    pub operations: u64,
    /// Critical sections that it executed.
    pub sections: u64,
    /// Acquisitions that timed out.
    pub abandoned: u64,
    /// Critical sections by their CPU.
    pub by_cpu: BTreeMap<usize, u64>,
    /// Critical sections after one on another CPU, by the smallest level with both; none if not
    /// recorded.
    pub migrations: Option<Vec<u64>>,
    /// From the request of the lock to its acquisition.
    pub acquire: Times,
    /// From the critical section's end to the release's.
    pub release: Times,
    /// From the request of the lock to its completed release.
    pub round_trip: Times,
    /// From the request of the lock to the timeout.
    pub give_up: Times,
    /// Other counters of the workload.
    pub counts: BTreeMap<&'static str, u64>,
    /// Maxima over single waits.
    pub most: BTreeMap<&'static str, u64>,
}

/// The most [steps](Counter::Steps) of a wait that timed out.
pub const TO_GIVE_UP: &str = "steps to give up";
/// The most [steps](Counter::Steps) of an acquisition after its deadline and its release.
pub const WHEN_LATE: &str = "steps to acquire late and release";

impl Default for Part {
    fn default() -> Self {
        let times = Self::times;
        Self {
            operations: 0,
            sections: 0,
            abandoned: 0,
            by_cpu: BTreeMap::new(),
            migrations: None,
            acquire: times(),
            release: times(),
            round_trip: times(),
            give_up: times(),
            counts: BTreeMap::new(),
            most: BTreeMap::new(),
        }
    }
}

impl Part {
    /// An empty histogram.
    pub(super) fn times() -> Times {
        Times::new(DIGITS).expect("the digits are few")
    }
}

/// Completed critical section.
struct Ran {
    /// Its beginning and end, if it is timed.
    acquired: Option<u64>,
    ended: Option<u64>,
    /// Its CPU.
    cpu: usize,
    /// The note of its predecessor.
    before: Option<u64>,
}

/// The beginning of a timed acquisition.
type Begun = Option<u64>;

/// Running thread.
pub struct Player<'p, A: Actor> {
    actor: A,
    index: usize,
    topology: Arc<Topology>,
    hertz: f64,
    random: Xoshiro256PlusPlus,
    acquisitions: u64,
    part: &'p mut Part,
}

impl<'p, A: Actor> Player<'p, A> {
    /// Thread `index`: its choices depend on `seed` and on its number; it counts in `part`.
    pub fn new(
        actor: A,
        index: usize,
        topology: Arc<Topology>,
        hertz: f64,
        seed: u64,
        part: &'p mut Part,
    ) -> Self {
        let seed = seed.wrapping_add((index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self {
            actor,
            index,
            topology,
            hertz,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            acquisitions: 0,
            part,
        }
    }

    /// This thread's number.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Cycles a second.
    pub fn hertz(&self) -> f64 {
        self.hertz
    }

    /// The world, directly.
    pub fn actor(&mut self) -> &mut A {
        &mut self.actor
    }

    /// A uniformly distributed number below `end`.
    ///
    /// # Panics
    /// If `end` is zero.
    pub fn random_below(&mut self, end: u64) -> u64 {
        self.random.random_range(0..end)
    }

    /// Whether the measurement is running.
    pub fn goes_on(&self) -> bool {
        self.actor.goes_on()
    }

    /// Computes for that many cycles.
    pub fn work(&mut self, cycles: u64) {
        self.actor.work(cycles);
    }

    /// Computes for about that many cycles: a tenth more or less, to keep threads out of step.
    pub fn work_about(&mut self, cycles: u64) {
        let cycles = self.about(cycles);
        self.actor.work(cycles);
    }

    /// Loops idly for about that many cycles by the clock, whatever the load of the core's
    /// siblings.
    pub fn idle_about(&mut self, cycles: u64) {
        let cycles = self.about(cycles);
        self.actor.idle(cycles);
    }

    /// As [`idle_about`](Self::idle_about), for a random time up to that.
    pub fn idle_up_to(&mut self, cycles: u64) {
        let cycles = self.random_below(cycles + 1);
        self.actor.idle(cycles);
    }

    fn about(&mut self, cycles: u64) -> u64 {
        let tenth = cycles / 10;
        cycles - tenth + self.random_below(2 * tenth + 1)
    }

    /// Counts a completed operation during the measurement.
    pub fn done(&mut self) {
        self.done_many(1);
    }

    /// Counts several completed operations.
    pub fn done_many(&mut self, operations: u64) {
        if self.actor.counts() {
            self.part.operations += operations;
        }
    }

    /// Adds to another counter during the measurement.
    pub fn count(&mut self, what: &'static str, times: u64) {
        if self.actor.counts() {
            *self.part.counts.entry(what).or_default() += times;
        }
    }

    /// Records an amount, at any time.
    pub fn note(&mut self, what: &'static str, amount: u64) {
        self.part.counts.insert(what, amount);
    }

    /// Records a single wait's amount, where locks count it. The whole run counts, since a bound
    /// holds during a warm-up too.
    fn most(&mut self, what: &'static str, steps: u64) {
        if steps > 0 {
            let most = self.part.most.entry(what).or_default();
            *most = steps.max(*most);
        }
    }

    /// Executes `body` in a critical section, possibly in another thread under a delegation lock.
    /// Blocks.
    pub fn section<W, T>(&mut self, guarded: &Guarded<W>, body: impl FnOnce(&mut Self) -> T) -> T
    where
        W: World<Actor = A>,
    {
        let begun = self.begins();
        let index = self.index;
        let (result, ()) = self.brings(guarded, begun, body, |section| {
            guarded.lock.run(index, section)
        });
        result.unwrap_or_else(|| unreachable!("a lock has run what was brought to it"))
    }

    /// [`section`](Self::section) with a timeout in cycles; none after a timeout. A lock without
    /// timeouts is tried repeatedly; a delegation lock that supports neither is waited for.
    pub fn section_within<W, T>(
        &mut self,
        guarded: &Guarded<W>,
        patience: Option<u64>,
        body: impl FnOnce(&mut Self) -> T,
    ) -> Option<T>
    where
        W: World<Actor = A>,
    {
        let Some(cycles) = patience else {
            return Some(self.section(guarded, body));
        };
        let begun = self.begins();
        let steps = self.actor.counted(Counter::Steps);
        let patience = Patience::until(self.actor.deadline(cycles));
        let index = self.index;
        let mut is_late = false;
        let timed = |player: &mut Self| {
            is_late = begun.is_some_and(|begun| player.actor.now() >= begun + cycles);
            body(player)
        };
        let (result, outcome) = self.brings(guarded, begun, timed, |section| {
            let outcome = guarded.lock.run_within(index, &patience, section);
            outcome.unwrap_or_else(|| {
                guarded.lock.run(index, section);
                Outcome::Acquired
            })
        });
        let steps = self.actor.counted(Counter::Steps) - steps;
        match outcome {
            Outcome::GaveUp => self.most(TO_GIVE_UP, steps),
            Outcome::Acquired if is_late => self.most(WHEN_LATE, steps),
            Outcome::Acquired => {}
        }
        if outcome == Outcome::GaveUp {
            self.actor.gave_up();
            if self.actor.counts() {
                self.part.abandoned += 1;
            }
            self.keep(|part| &mut part.give_up, begun, None);
        }
        result
    }

    /// [`section`](Self::section) if the lock can be acquired by one try; otherwise none. A lock
    /// without tries is waited for.
    pub fn section_if_free<W, T>(
        &mut self,
        guarded: &Guarded<W>,
        body: impl FnOnce(&mut Self) -> T,
    ) -> Option<T>
    where
        W: World<Actor = A>,
    {
        let begun = self.begins();
        let index = self.index;
        let Some(taken) = guarded.lock.try_acquire(index) else {
            return self.section_within(guarded, Some(0), body);
        };
        if !taken {
            self.actor.has_waited();
            return None;
        }
        let (result, ()) = self.brings(guarded, begun, body, |section| {
            section();
            // SAFETY: acquired above.
            unsafe { guarded.lock.release(index) };
        });
        result
    }

    /// Executes `body` with a read lock. Blocks.
    pub fn reading<W, T>(&mut self, guarded: &Guarded<W>, body: impl FnOnce(&mut Self) -> T) -> T
    where
        W: World<Actor = A>,
    {
        let begun = self.begins();
        self.actor.executes(guarded.instructions);
        guarded.lock.read(self.index);
        self.actor.executes(None);
        self.actor.has_waited();
        self.actor.shares();
        self.keep(|part| &mut part.acquire, begun, None);
        let result = body(self);
        let ended = begun.map(|_| self.actor.now());
        self.actor.executes(guarded.instructions);
        // SAFETY: this thread acquired the lock to read and has not released it.
        unsafe { guarded.lock.release_read(self.index) };
        self.actor.executes(None);
        self.keep(|part| &mut part.release, ended, None);
        self.keep(|part| &mut part.round_trip, begun, None);
        result
    }

    /// The beginning of this acquisition, if it is timed.
    fn begins(&mut self) -> Begun {
        self.acquisitions += 1;
        self.actor.waits();
        let timed = self.actor.is_timed(self.acquisitions) && self.actor.goes_on();
        timed.then(|| self.actor.now())
    }

    /// Records the time from `begun`, if any, to `ended` or the present, also for waits that began
    /// during a simulated machine's warm-up.
    fn keep(&mut self, times: fn(&mut Part) -> &mut Times, begun: Begun, ended: Option<u64>) {
        let Some(begun) = begun else { return };
        if self.actor.has_begun() {
            let ended = ended.unwrap_or_else(|| self.actor.now());
            let took = ended.saturating_sub(begun);
            times(self.part).record(took).expect("it grows");
        }
    }

    /// Passes `body` to `bring`, which runs it under the lock. Returns the result of `body`, if it
    /// ran, and that of `bring`.
    fn brings<W, T, B>(
        &mut self,
        guarded: &Guarded<W>,
        begun: Begun,
        body: impl FnOnce(&mut Self) -> T,
        bring: impl FnOnce(&mut dyn FnMut()) -> B,
    ) -> (Option<T>, B)
    where
        W: World<Actor = A>,
    {
        let mut body = Some(body);
        let mut ran = None;
        self.actor.executes(guarded.instructions);
        let brought = bring(&mut || {
            if let Some(body) = body.take() {
                ran = Some(self.inside(guarded, begun, body));
            }
        });
        self.actor.executes(None);
        self.actor.has_waited();
        let Some((result, times)) = ran else {
            return (None, brought);
        };
        self.has_run(begun, &times);
        (Some(result), brought)
    }

    /// Executes `body`, in any thread; returns what to count of it.
    fn inside<W, T>(
        &mut self,
        guarded: &Guarded<W>,
        begun: Begun,
        body: impl FnOnce(&mut Self) -> T,
    ) -> (T, Ran)
    where
        W: World<Actor = A>,
    {
        let acquired = begun.map(|_| self.actor.now());
        self.actor.executes(None);
        self.actor.entered(guarded.number);
        let cpu = self.actor.cpu();
        let note = guarded.note.as_ref();
        let before = note.map(|note| note.note(0, cpu as u64 + 1));
        let result = body(self);
        let ended = begun.map(|_| self.actor.now());
        self.actor.executes(guarded.instructions);
        let ran = Ran {
            acquired,
            ended,
            cpu,
            before,
        };
        (result, ran)
    }

    /// Counts a completed critical section.
    fn has_run(&mut self, begun: Begun, ran: &Ran) {
        self.keep(|part| &mut part.acquire, begun, ran.acquired);
        self.keep(|part| &mut part.release, ran.ended, None);
        self.keep(|part| &mut part.round_trip, begun, None);
        if let Some(before) = ran.before {
            self.migrated(before, ran.cpu);
        }
        if self.actor.counts() {
            self.part.sections += 1;
            *self.part.by_cpu.entry(ran.cpu).or_default() += 1;
        }
    }

    /// Counts a hand-over from the holder recorded in `before`: its CPU plus one, zero for none.
    fn migrated(&mut self, before: u64, cpu: usize) {
        let levels = self.topology.levels().len();
        let migrations = self.part.migrations.get_or_insert_with(|| vec![0; levels]);
        if !self.actor.counts() || before == 0 {
            return;
        }
        if let Some(level) = self.topology.nearest_common(before as usize - 1, cpu) {
            migrations[level] += 1;
        }
    }

    /// Adds the locks' counts for this thread from the beginning.
    pub fn end(self) {
        for what in Counter::ALL {
            let times = self.actor.counted(what);
            if times > 0 {
                self.part.counts.insert(what.name(), times);
            }
        }
    }
}

/// Reads and rewrites the first `words` words of a line: the first access is a transfer, the others
/// are hits.
///
/// # Panics
/// If there is no such line, or there are fewer words.
pub fn update<M: Memory>(memory: &M, line: usize, words: usize) {
    assert!(words <= WORDS, "a line has {WORDS} words");
    for word in 0..words {
        memory.write(line, word, memory.read(line, word).wrapping_add(1));
    }
}

/// Names the first lines as independent of each other: the address of none depends on another.
pub fn ahead<M: Memory>(memory: &M, lines: usize) {
    if lines > 1 {
        memory.ahead(0..lines);
    }
}
