//! How a run goes.

/// How a run goes; see each field's default.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which CPUs the threads have.  Default: compact.
    pub placement: Placement,
    /// Whether threads stay on their CPU.  Default: yes.
    pub pinned: bool,
    /// Threads that compute for ever beside the run's own, and are free to move.  Default: none.
    pub background: usize,
    /// Which CPUs those have: where some are named, they leave the others alone.  Default: scattered
    /// over all.
    pub background_at: Placement,
    /// What decides which thread runs next.  Default: virtual time.
    pub schedule: Schedule,
    /// How waiters wait.  Default: they park.
    pub waiting: Waiting,
    /// For how many nanoseconds a waiter spins before it yields or sleeps;
    /// `u64::MAX` for ever.  Default: 150, as natively where others
    /// want the waiter's CPU and its last spins were in vain.
    pub spin: u64,
    /// Threads begin at random within so many nanoseconds, so that the order in
    /// which they first come to a lock is not that of their CPUs.  Default: 10 000.
    pub stagger: u64,
    /// From it follow all random numbers.  Default: 1.
    pub seed: u64,
    /// How long the run goes on.
    pub length: Length,
    /// The run fails as a livelock after so many steps.  Default: 10¹⁰.
    pub steps: u64,
    /// What locks are told of a level instead of the machine's cohorts: the cohort of
    /// each CPU.  Default: nothing.
    pub cohorts: Vec<(String, Vec<usize>)>,
    /// The flaw that the locks shall have, by the name in their code.
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

/// Which CPUs the threads have; threads beyond the last CPU begin again at the
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The next thread has the CPU nearest to the last one's: a cohort is filled
    /// before the next one is begun.
    Compact,
    /// The next thread has a CPU as far away as can be: the cohorts of every
    /// level are filled evenly.
    Scattered,
    /// As compact, but one hardware thread of each core first.
    Cores,
    /// These, in this order; a thread that is not pinned may use all of them and no
    /// other.
    Cpus(Vec<usize>),
}

/// What decides which thread runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The machine: the thread whose next step comes first in virtual time.
    Time,
    /// Chance, before every step.  Caches and CPUs play no part.
    Random,
    /// Priorities that chance gave, lowered at `depth - 1` steps chosen among the
    /// first `steps` (Burckhardt et al. 2010): finds every bug of that depth with
    /// a known chance.  Caches and CPUs play no part.
    Pct {
        /// How many steps have to come in the right order.
        depth: u32,
        /// How many steps a run is expected to take.
        steps: u64,
    },
}

/// How waiters wait once the first look failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Spin for a bounded time, yield for a few turns, then sleep.
    Park,
    /// Spin for a bounded time, then yield at every look.
    Spin,
    /// Yield at every look.
    Yield,
}

/// How long a run goes on that does not end by itself: until its figures are
/// steady, within these bounds of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Nanoseconds before counting begins.
    pub warm_up: u64,
    /// Locks that all threads together acquire before counting begins, if that takes longer.
    /// Threads that all begin at once are a crowd as there is none later.
    pub settled: u64,
    /// Nanoseconds after which counting begins whatever was acquired.
    pub settled_by: u64,
    /// Nanoseconds counted at least.
    pub least: u64,
    /// Nanoseconds counted at most.
    pub most: u64,
    /// The same where threads have given up more often than they have acquired a lock.
    pub given_up: u64,
    /// The same, if it is longer, until each thread that waits has been served twice: where a lock gives
    /// its threads turns, a run that ends within one of them shows one thread's.
    pub unserved: u64,
}

impl Default for Length {
    /// As long as the threads run.
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
