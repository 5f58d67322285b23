//! The options of a run.

/// The options of a run; each field states its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The CPUs of the threads. Default: compact.
    pub placement: Placement,
    /// Whether threads stay on their CPU. Default: yes.
    pub pinned: bool,
    /// Threads that compute forever beside the run's own, and may move. Default: none.
    pub background: usize,
    /// The CPUs of the background threads; named CPUs confine them. Default: scattered over all.
    pub background_at: Placement,
    /// The choice of the next thread. Default: virtual time.
    pub schedule: Schedule,
    /// How waiters wait. Default: they park.
    pub waiting: Waiting,
    /// Nanoseconds that a waiter spins before it yields or sleeps; `u64::MAX`: no limit. Default:
    /// 150, as natively when other threads need the waiter's CPU and its last spins failed.
    pub spin: u64,
    /// Threads start at random times within so many nanoseconds, so that they do not arrive in the
    /// order of their CPUs. Default: 10 000.
    pub stagger: u64,
    /// The seed of all random numbers. Default: 1.
    pub seed: u64,
    /// The length of the run.
    pub length: Length,
    /// The number of steps after which the run fails as a livelock. Default: 10¹⁰.
    pub steps: u64,
    /// Levels that replace the machine's in the locks' view, each with the cohort of every CPU.
    /// Default: none.
    pub cohorts: Vec<(String, Vec<usize>)>,
    /// The injected fault of the locks, by its name in their code.
    pub flaw: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            placement: Placement::Compact,
            pinned: true,
            background: 0,
            background_at: Placement::Scattered,
            schedule: Schedule::Time,
            waiting: Waiting::Park,
            spin: 150,
            stagger: 10_000,
            seed: 1,
            length: Length::default(),
            steps: 10_000_000_000,
            cohorts: Vec::new(),
            flaw: None,
        }
    }
}

/// The CPUs of the threads; after the last CPU, threads start again at the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each thread on the CPU nearest to the previous thread's: one cohort is filled after another.
    Compact,
    /// Each thread as far away as possible: the cohorts of every level are filled evenly.
    Scattered,
    /// Like `Compact`, but first one hardware thread of each core.
    Cores,
    /// These CPUs in this order; unpinned threads may use all of them and no others.
    Cpus(Vec<usize>),
}

/// The choice of the next thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The machine: the thread with the earliest next step in virtual time.
    Time,
    /// Random, before every step. Caches and CPUs play no part.
    Random,
    /// By random priorities, lowered at `depth - 1` of the first `steps` steps (Burckhardt et al.
    /// 2010). Finds every bug of that depth with a known probability. Caches and CPUs play no part.
    Pct {
        /// The number of ordered steps that the bug depends on.
        depth: u32,
        /// The expected number of steps of a run.
        steps: u64,
    },
}

/// How waiters wait after a failed first look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Spin for a bounded time, yield for a few turns, then sleep.
    Park,
    /// Spin for a bounded time, then yield at every look.
    Spin,
    /// Yield at every look.
    Yield,
}

/// The length of a run that does not end by itself: until its figures are steady, within these
/// bounds of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Nanoseconds before counting begins.
    pub warm_up: u64,
    /// Acquisitions of all threads together before counting begins, if they take longer than the
    /// warm-up. Threads that start together are unusually crowded.
    pub settled: u64,
    /// Nanoseconds after which counting begins regardless of acquisitions.
    pub settled_by: u64,
    /// Nanoseconds counted at least.
    pub least: u64,
    /// Nanoseconds counted at most.
    pub most: u64,
    /// The maximum if timeouts outnumber acquisitions.
    pub given_up: u64,
    /// The maximum, if larger, until each waiting thread has been served twice: under a lock with
    /// time slices, a run that ends within one shows a single thread's.
    pub unserved: u64,
}

impl Default for Length {
    /// No bound: the run lasts as long as its threads.
    fn default() -> Self {
        Self {
            warm_up: 0,
            settled: 0,
            settled_by: 0,
            least: u64::MAX,
            most: u64::MAX,
            given_up: u64::MAX,
            unserved: 0,
        }
    }
}
