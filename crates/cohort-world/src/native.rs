//! This machine as a world: its threads, its memory, its clock.

mod clock;
mod gate;
mod heard;
mod system;

use super::raw::{self, Polling, Pool};
use super::wait::Wait;
use super::{
    Actor, Block, Gate, LOOKS, Memory, Placement, Played, Room, Tested, Topology, Tunings, WORDS,
    World,
};
use crate::disturb::Watch;
use crate::work::Pace;
pub use clock::Clock;
use cohort as locks;
use cohort::adaptive::tune;
use cohort::door::{Spinner, set_policy};
use cohort::{Counter, Deadline};
use cohort_topology::here;
pub use heard::listen;
use makers::Wanted;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// One in this many acquisitions is timed: often enough for percentiles, rarely enough not to
/// affect the load. A prime, to avoid beating with another period.
const TIMED: u64 = 13;

/// The name of this machine.
pub const HERE: &str = "this machine";

/// Settings of a run on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Duration of the measurement, in seconds.
    pub seconds: f64,
    /// The placement of its threads.
    pub placement: Placement,
    /// How waiters wait.
    pub wait: Wait,
    /// Additional threads that compute and use no lock.
    pub background: usize,
    /// Whether locks are measured as [programs use them](super::served), not raw.
    pub served: bool,
    /// Parameters of tunable locks.
    pub tunings: Tunings,
}

/// Properties of this machine that all runs share; measured once.
#[derive(Clone, Debug)]
pub struct Host {
    clock: Clock,
    pace: Pace,
    topology: Arc<Topology>,
}

impl Host {
    /// Examines the machine, and measures its clock and its pace; takes a fraction of a second.
    ///
    /// # Errors
    /// The system reports no CPU that this process may use.
    pub fn look() -> Result<Self, String> {
        Ok(Self {
            topology: Arc::new(here()?),
            clock: Clock::measure(),
            pace: Pace::measure(),
        })
    }

    /// Its CPUs and their cohorts.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Cycles of its clock per second.
    #[must_use]
    pub fn hertz(&self) -> f64 {
        self.clock.hertz()
    }

    /// Creates a world for one run.
    #[must_use]
    pub fn world(&self, settings: Settings) -> Native {
        Native {
            host: self.clone(),
            settings,
            unattended: raw::Unattended::default(),
            adapting: 0,
            pool: None,
        }
    }
}

/// This machine, for one run.
#[derive(Debug)]
pub struct Native {
    host: Host,
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

/// The text of the running composition; runs on this machine are sequential.
mod text {
    use std::sync::Mutex;

    static WORDS: Mutex<[u64; 2]> = Mutex::new([0; 2]);

    pub fn set(words: [u64; 2]) {
        *WORDS
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = words;
    }

    pub fn get() -> [u64; 2] {
        *WORDS
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Room for Native {
    fn block(&mut self, layout: Layout) -> Block {
        Block::new(layout)
    }

    fn polling(&self) -> Polling {
        makers::poll
    }

    fn pool(&mut self) -> &mut Option<Pool> {
        &mut self.pool
    }
}

impl World for Native {
    type Memory = Lines;
    type Actor = Thread;

    fn hertz(&self) -> f64 {
        self.host.clock.hertz()
    }

    fn topology(&self) -> &Topology {
        &self.host.topology
    }

    fn memory(&mut self, lines: usize) -> Arc<Lines> {
        Arc::new(Lines::zeroed(lines))
    }

    fn gate(&mut self) -> Arc<dyn Gate> {
        Arc::new(gate::Counter::default())
    }

    fn margin(&mut self) -> Option<Arc<Lines>> {
        None
    }

    fn lock(&mut self, name: &str, threads: usize) -> Option<Arc<dyn Tested>> {
        self.adapting += usize::from(super::heard::adapts(name));
        if let Some(system) = system::lock(name) {
            return Some(system);
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
            let name = cohort::catalogue::read(name).ok()?;
            let levels = super::names::levels_on(&name, &world.host.topology);
            makers::trees::make(world, &name, threads, wanted.spins).or_else(|| {
                makers::compositions::make(world, &levels, &name, threads, wanted.spins, false)
            })
        })?;
        self.unattended.note(&lock);
        Some(lock)
    }

    fn play<R: Default + Send + 'static>(
        self,
        threads: usize,
        body: impl Fn(usize, Thread, &mut R) + Send + Sync + 'static,
    ) -> Result<Played<R>, String> {
        let Self {
            host,
            settings,
            unattended,
            adapting,
            pool: _pool,
        } = self;
        // Discards what earlier runs left.
        let _ = heard::taken(0);
        let servers = unattended.servers();
        set_policy(settings.wait.policy());
        tune(&settings.tunings.glk);
        let places = settings
            .placement
            .cpus(&host.topology, threads + servers.len());
        let over = Arc::new(AtomicBool::new(false));
        let crowd = threads + servers.len() + settings.background;
        let start = Barrier::new(crowd + 1);
        let watch = Watch::start(host.topology.cpus());
        let clock = host.clock.clone();
        let (cycles, parts) = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for index in 0..crowd {
                let cpu = places.as_ref().and_then(|cpus| cpus.get(index).copied());
                let actor = Thread {
                    clock: clock.clone(),
                    pace: host.pace,
                    over: Arc::clone(&over),
                    cpu,
                };
                let (start, body, servers) = (&start, &body, &servers);
                let builder = std::thread::Builder::new().name(format!("load-{index}"));
                let member = move || {
                    let pinned = cpu.map_or(Ok(()), pin);
                    start.wait();
                    pinned?;
                    if index < threads {
                        let mut part = R::default();
                        body(index, actor, &mut part);
                        return Ok(Some(part));
                    }
                    if let Some(locks) = servers.get(index - threads) {
                        let mut spinner = Spinner::new();
                        let idle = |found| match found {
                            true => spinner = Spinner::new(),
                            false => spinner.turn(),
                        };
                        raw::serve(locks, || !actor.goes_on(), idle);
                        return Ok(None);
                    }
                    actor.fill();
                    Ok(None)
                };
                match builder.spawn_scoped(scope, member) {
                    Ok(handle) => handles.push(handle),
                    Err(error) => {
                        // The other threads wait at the barrier for a thread that will never
                        // arrive.
                        eprintln!("cohort: cannot create thread {}: {error}", index + 1);
                        std::process::exit(1);
                    }
                }
            }
            start.wait();
            let begun = clock.now();
            // Some loads end by themselves.
            let end = begun + (settings.seconds * clock.hertz()) as u64;
            let mut now = begun;
            while now < end && !handles.iter().take(threads).all(|one| one.is_finished()) {
                let left = (end - now) as f64 / clock.hertz();
                std::thread::sleep(Duration::from_secs_f64(left.min(0.01)));
                now = clock.now();
            }
            over.store(true, Ordering::Relaxed);
            let parts: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
            (now - begun, parts)
        });
        let wall = Duration::from_secs_f64(cycles as f64 / clock.hertz());
        let foreign = watch.and_then(|watch| watch.foreign(wall, Duration::ZERO));
        let parts = parts
            .into_iter()
            .map(|part| part.map_err(|_| "a thread panicked".to_owned())?)
            .filter_map(Result::transpose)
            .collect::<Result<Vec<R>, String>>()?;
        Ok(Played {
            parts,
            unfinished: 0,
            unended: Vec::new(),
            cycles,
            foreign,
            simulated: None,
            tallies: BTreeMap::new(),
            heard: heard::taken(adapting),
        })
    }
}

fn pin(cpu: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
        .map_err(|error| format!("cannot pin a thread to CPU {cpu}: {error}"))
}

/// Interface of a thread on this machine.
#[derive(Debug)]
pub struct Thread {
    clock: Clock,
    pace: Pace,
    over: Arc<AtomicBool>,
    cpu: Option<usize>,
}

impl Thread {
    /// Computes until the measurement is over.
    fn fill(mut self) {
        while self.goes_on() {
            self.work(10_000);
        }
    }
}

impl Actor for Thread {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    #[inline]
    fn work(&mut self, cycles: u64) {
        /// Nanoseconds that are worked at once: turns are counted in 32 bits.
        const LONGEST: u64 = 1_000_000_000;
        let mut left = self.clock.nanoseconds(cycles);
        while left > 0 {
            let part = left.min(LONGEST);
            self.pace.work(part as u32).perform();
            left -= part;
        }
    }

    fn executes(&mut self, _instructions: Option<f64>) {}

    fn idle(&mut self, cycles: u64) {
        let until = self.now() + cycles;
        while self.now() < until {
            std::hint::spin_loop();
        }
    }

    fn sleep_until(&mut self, at: u64) {
        let left = at.saturating_sub(self.now());
        std::thread::sleep(Duration::from_nanos(self.clock.nanoseconds(left)));
    }

    #[inline]
    fn poll(&mut self, mut ready: impl FnMut() -> bool) {
        if (0..LOOKS).any(|_| ready()) {
            return;
        }
        let mut spinner = Spinner::new();
        while !ready() {
            spinner.turn();
        }
    }

    #[inline]
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    #[inline]
    fn counts(&self) -> bool {
        self.goes_on()
    }

    #[inline]
    fn has_begun(&self) -> bool {
        true
    }

    #[inline]
    fn cpu(&self) -> usize {
        self.cpu.unwrap_or_else(sched_getcpu)
    }

    fn deadline(&self, cycles: u64) -> Deadline {
        Deadline::monotonic(cohort::door::now() + self.clock.nanoseconds(cycles))
    }

    #[inline]
    fn is_timed(&self, acquisition: u64) -> bool {
        acquisition.is_multiple_of(TIMED)
    }

    #[inline]
    fn waits(&mut self) {}

    #[inline]
    fn has_waited(&mut self) {}

    #[inline]
    fn entered(&mut self, _lock: usize) {}

    #[inline]
    fn shares(&mut self) {}

    #[inline]
    fn gave_up(&mut self) {}

    fn counted(&self, _what: Counter) -> u64 {
        0
    }
}

/// A pair of lines: processors prefetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CacheLine([AtomicU64; WORDS + 1]);

/// Memory of this machine.
#[derive(Debug)]
pub struct Lines(Box<[CacheLine]>);

impl Lines {
    /// That many lines of zeroes.
    #[must_use]
    pub fn zeroed(lines: usize) -> Self {
        Self((0..lines).map(|_| CacheLine::default()).collect())
    }
}

impl Memory for Lines {
    #[inline]
    fn read(&self, line: usize, word: usize) -> u64 {
        self.0[line].0[word].load(Ordering::Relaxed)
    }

    #[inline]
    fn write(&self, line: usize, word: usize, value: u64) {
        self.0[line].0[word].store(value, Ordering::Relaxed);
    }

    #[inline]
    fn add(&self, line: usize, word: usize, value: u64) -> u64 {
        self.0[line].0[word].fetch_add(value, Ordering::Relaxed)
    }

    fn ahead(&self, _lines: std::ops::Range<usize>) {}

    #[inline]
    fn note(&self, line: usize, value: u64) -> u64 {
        let beside = &self.0[line].0[WORDS];
        let before = beside.load(Ordering::Relaxed);
        beside.store(value, Ordering::Relaxed);
        before
    }
}
