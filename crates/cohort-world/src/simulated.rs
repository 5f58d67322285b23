//! A simulated machine as a world. Its threads are fibers, its clock is virtual, and its locks are
//! the same source compiled for it.

mod baseline;
mod facts;
mod gate;
mod heard;
mod lines;
mod room;

pub use baseline::is_baseline;
pub use facts::Facts;
pub use lines::Lines;
pub use room::Crowded;

use super::names::assigned;
use super::raw::{self, Polling, Pool};
use super::wait::Wait;
use super::{
    Actor, Block, Gate, LOOKS, Placement, Played, Room, Tested, Topology, Tunings, World, spare,
};
use crate::NO_LOCK;
use baseline::baseline;
use cohort::name::Assignment;
use cohort::recipe::Level;
use cohort::{Counter, Deadline};
use cohort_machine::description::Machine;
use cohort_machine::{Hardware, Length, Options, Run, Thread, Waiting, door};
use cohort_on_machine as locks;
use cohort_on_machine::door::Spinner;
use lines::Arena;
use makers::Wanted;
use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of each fiber's own line to sleep on.
const ASIDE: usize = 64;

/// Machine, ready for any number of runs on any number of host threads.
#[derive(Debug)]
pub struct Simulator {
    machine: Machine,
    hardware: Hardware,
    topology: Arc<Topology>,
}

impl Simulator {
    /// Prepares a machine.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        let hierarchy = &machine.hierarchy;
        let cpus: Vec<usize> = (0..hierarchy.cpus()).collect();
        let levels = hierarchy.levels().iter().enumerate();
        let levels = levels.map(|(number, level)| {
            let of = |cpu: &usize| hierarchy.cohort_of(*cpu, number);
            (level.name.clone(), cpus.iter().map(of).collect())
        });
        Self {
            topology: Arc::new(Topology::new(cpus.clone(), levels.collect())),
            hardware: Hardware::new(&machine),
            machine,
        }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its CPUs and their cohorts.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The cohorts that an assignment makes of this machine's nodes, for every level.
    fn assigned(&self, assignment: Assignment, seed: u64) -> Vec<(String, Vec<usize>)> {
        let levels = self.topology.levels();
        let numa = levels.iter().position(|level| level.name == "numa");
        let number = numa.or(levels.iter().position(|level| level.name == "package"));
        let cpus = self.topology.cpus().iter();
        let real: Vec<usize> = cpus
            .filter_map(|cpu| self.topology.cohort_of(*cpu, number.unwrap_or(0)))
            .collect();
        let cohorts = assigned(assignment, &real, seed);
        let told = |level: Level| (level.name().to_owned(), cohorts.clone());
        Level::ALL.map(told).to_vec()
    }

    /// Creates a world for one run.
    #[must_use]
    pub fn world(self: &Arc<Self>, settings: Settings) -> Simulated {
        Simulated {
            simulator: Arc::clone(self),
            arena: Arena::new(),
            settings,
            unattended: raw::Unattended::default(),
            adapting: 0,
            pool: None,
        }
    }
}

/// Settings of a run on a simulated machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its length.
    pub length: Length,
    /// The placement of its threads.
    pub placement: Placement,
    /// The CPU of each thread, if the placement does not determine it.
    pub cpus: Option<Vec<usize>>,
    /// How waiters wait.
    pub wait: Wait,
    /// Additional threads that compute and use no lock.
    pub background: usize,
    /// Whether locks are measured as [programs use them](super::served), not raw.
    pub served: bool,
    /// Parameters of tunable locks.
    pub tunings: Tunings,
    /// The seed of all random choices.
    pub seed: u64,
    /// Cohorts of a level that locks see instead of the machine's.
    pub cohorts: Vec<(String, Vec<usize>)>,
}

/// Simulated machine, for one run.
#[derive(Debug)]
pub struct Simulated {
    simulator: Arc<Simulator>,
    arena: Arc<Arena>,
    settings: Settings,
    /// Locks that need servers.
    unattended: raw::Unattended,
    /// The number of adaptive locks.
    adapting: usize,
    /// The pool of a composition's locks.
    pool: Option<Pool>,
}

#[path = "makers/mod.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "compiled once for each build of the locks"
)]
mod makers;

/// The locks of this build beside the catalogue.
mod baselines {
    use crate::raw::lock_maker;
    cohort_on_machine::for_each_baseline!(lock_maker);
}

/// The text of the running composition. A run stays on one host thread from its locks to its
/// end.
mod text {
    use std::cell::Cell;

    std::thread_local! {
        static WORDS: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
    }

    pub fn set(words: [u64; 2]) {
        WORDS.set(words);
    }

    pub fn get() -> [u64; 2] {
        WORDS.get()
    }
}

impl Room for Simulated {
    fn block(&mut self, layout: Layout) -> Block {
        self.arena.block(layout)
    }

    fn polling(&self) -> Polling {
        makers::poll
    }

    fn pool(&mut self) -> &mut Option<Pool> {
        &mut self.pool
    }
}

impl World for Simulated {
    type Memory = Lines;
    type Actor = Fiber;

    fn hertz(&self) -> f64 {
        self.simulator.machine.clock.value as f64 * 1e6
    }

    fn topology(&self) -> &Topology {
        &self.simulator.topology
    }

    fn memory(&mut self, lines: usize) -> Arc<Lines> {
        let bytes = self.simulator.machine.line.bytes.value as usize;
        Arc::new(Lines::new(&self.arena, lines, bytes))
    }

    fn gate(&mut self) -> Arc<dyn Gate> {
        let bytes = self.simulator.machine.line.bytes.value as usize;
        Arc::new(gate::Counter::new(&self.arena, bytes))
    }

    fn margin(&mut self) -> Option<Arc<Lines>> {
        Some(self.memory(1))
    }

    fn has_room(&self, name: &str) -> Result<(), String> {
        let crowded = self.simulator.crowded(name, &self.settings.cohorts);
        crowded.map_or(Ok(()), |crowded| Err(crowded.to_string()))
    }

    fn lock(&mut self, name: &str, threads: usize) -> Option<Arc<dyn Tested>> {
        self.adapting += usize::from(super::heard::adapts(name));
        if name == NO_LOCK {
            return Some(raw::open());
        }
        let thresholds = self.settings.tunings.sanl;
        let wanted = Wanted {
            name,
            threads,
            spins: self.settings.wait.never_sleeps(),
            served: self.settings.served,
            thresholds: &thresholds,
        };
        let lock = makers::lock(self, &wanted, |world| {
            baselines::make(world, &baseline(name), threads, wanted.spins)
                .or_else(|| world.composition(name, threads, wanted.spins))
        })?;
        self.unattended.note(&lock);
        Some(lock)
    }

    fn play<R: Default + Send + 'static>(
        self,
        threads: usize,
        body: impl Fn(usize, Fiber, &mut R) + Send + Sync + 'static,
    ) -> Result<Played<R>, String> {
        let Self {
            simulator,
            arena,
            settings,
            unattended,
            adapting,
            pool: _pool,
        } = self;
        let servers = unattended.servers();
        let all = threads + servers.len();
        spare(simulator.topology(), threads, servers.len())?;
        let memory = arena.memory();
        // Abandoned fibers keep their reference to it.
        let parts: Rc<[Slot<R>]> = (0..threads).map(|_| Slot::default()).collect();
        let mut run = Run::new(
            &simulator.hardware,
            memory,
            options(&settings, &simulator, all),
        );
        let body = &body;
        for index in 0..threads {
            let parts = Rc::clone(&parts);
            let aside = memory.bytes(ASIDE);
            let clock = simulator.machine.clock.value;
            run.spawn(move |thread| {
                let fiber = Fiber {
                    thread: *thread,
                    aside,
                    clock,
                };
                // Default parameters need no call.
                if settings.tunings.glk != Tunings::USUAL.glk {
                    cohort_on_machine::adaptive::tune(&settings.tunings.glk);
                }
                let slot = &parts[index];
                // SAFETY: each fiber has a slot of its own. It is read only after the run has
                // ended, when no fiber runs.
                body(index, fiber, unsafe { &mut *slot.part.get() });
                slot.has_returned.set(true);
            });
        }
        for locks in servers {
            run.spawn(move |thread| {
                let mut spinner = Spinner::new();
                let idle = |found| match found {
                    true => spinner = Spinner::new(),
                    false => spinner.turn(),
                };
                raw::serve(&locks, || thread.is_over(), idle);
            });
        }
        heard::begin();
        let mut outcome = run.go().map_err(|failure| failure.to_string())?;
        let unfinished = || parts.iter().filter(|slot| !slot.has_returned.get());
        let works = parts.iter().zip(&outcome.threads);
        let unended = works.filter(|(slot, _)| !slot.has_returned.get());
        Ok(Played {
            unfinished: unfinished().count(),
            unended: unended.filter_map(|(_, work)| work.unended).collect(),
            // SAFETY: as above; the run has ended.
            parts: parts
                .iter()
                .map(|slot| unsafe { std::mem::take(&mut *slot.part.get()) })
                .collect(),
            cycles: outcome.cycles,
            foreign: None,
            tallies: std::mem::take(&mut outcome.tallies),
            simulated: Some(Facts::new(&simulator.machine, outcome)),
            heard: heard::taken(adapting),
        })
    }
}

impl Simulated {
    fn composition(&mut self, name: &str, threads: usize, spins: bool) -> Option<Arc<dyn Tested>> {
        let name = cohort::catalogue::read(name).ok()?;
        if let Some(assignment) = name.assignment {
            self.settings.cohorts = self.simulator.assigned(assignment, self.settings.seed);
        }
        let simulator = Arc::clone(&self.simulator);
        makers::trees::make(self, &name, threads, spins).or_else(|| {
            let levels = super::names::levels_on(&name, &simulator.topology);
            let cohorts = self.settings.cohorts.clone();
            let is_large = simulator.exceeds_compiled(&levels, &cohorts);
            makers::compositions::make(self, &levels, &name, threads, spins, is_large)
        })
    }
}

fn options(settings: &Settings, simulator: &Simulator, threads: usize) -> Options {
    let free = settings.placement == Placement::Free && settings.cpus.is_none();
    let placement = if free {
        Placement::Scattered
    } else {
        settings.placement
    };
    let cpus = settings.cpus.clone();
    let cpus = cpus.or_else(|| placement.cpus(&simulator.topology, threads));
    let (waiting, spin) = match settings.wait {
        Wait::Busy => (Waiting::Spin, u64::MAX),
        Wait::Spin => (Waiting::Spin, Options::default().spin),
        Wait::Yield => (Waiting::Yield, Options::default().spin),
        Wait::Park => (Waiting::Park, Options::default().spin),
    };
    Options {
        placement: cohort_machine::Placement::Cpus(cpus.unwrap_or_default()),
        pinned: !free,
        background: settings.background,
        waiting,
        spin,
        seed: settings.seed,
        length: settings.length,
        cohorts: settings.cohorts.clone(),
        ..Options::default()
    }
}

/// Approximate largest slowdown of a computation when all threads of a core run.
const SLOWEST: u64 = 8;

/// Interface of a simulated thread.
#[derive(Debug)]
pub struct Fiber {
    thread: Thread,
    /// A line of its own to sleep on.
    aside: usize,
    /// Megahertz.
    clock: u64,
}

/// One fiber's part of the result, and whether it has returned.
#[derive(Default)]
struct Slot<R> {
    part: UnsafeCell<R>,
    has_returned: Cell<bool>,
}

impl Actor for Fiber {
    fn now(&self) -> u64 {
        self.thread.cycles()
    }

    fn work(&mut self, cycles: u64) {
        self.thread.work(cycles);
    }

    fn executes(&mut self, instructions: Option<f64>) {
        door::executes(instructions);
    }

    /// The loop occupies the pipeline as any computation does, and ends by the clock: each step
    /// requests the remaining time at the speed of the last step.
    fn idle(&mut self, cycles: u64) {
        let until = self.now() + cycles;
        let mut step = cycles / SLOWEST;
        loop {
            let began = self.now();
            let left = until.saturating_sub(began);
            if left == 0 {
                return;
            }
            let asked = step.clamp(1, left);
            self.work(asked);
            let took = (self.now() - began).max(1);
            step = until.saturating_sub(self.now()) * asked / took;
        }
    }

    fn sleep_until(&mut self, at: u64) {
        let nanoseconds = (at * 1000).div_ceil(self.clock);
        door::sleep(self.aside, || 0, 0, 1, Some(nanoseconds));
    }

    fn poll(&mut self, mut ready: impl FnMut() -> bool) {
        if (0..LOOKS).any(|_| ready()) {
            return;
        }
        let mut spinner = Spinner::new();
        while !ready() {
            spinner.turn();
        }
    }

    fn goes_on(&self) -> bool {
        !self.thread.is_over()
    }

    fn counts(&self) -> bool {
        self.thread.counts()
    }

    fn has_begun(&self) -> bool {
        self.thread.has_begun()
    }

    fn cpu(&self) -> usize {
        self.thread.cpu()
    }

    fn deadline(&self, cycles: u64) -> Deadline {
        Deadline::monotonic((self.thread.cycles() + cycles) * 1000 / self.clock)
    }

    fn is_timed(&self, _acquisition: u64) -> bool {
        true
    }

    fn waits(&mut self) {
        self.thread.waits();
    }

    fn has_waited(&mut self) {
        self.thread.has_waited();
    }

    fn entered(&mut self, lock: usize) {
        self.thread.acquired(lock);
    }

    fn shares(&mut self) {
        self.thread.shares();
    }

    fn gave_up(&mut self) {
        self.thread.gave_up();
    }

    fn counted(&self, what: Counter) -> u64 {
        cohort_on_machine::door::counted(what)
    }
}
