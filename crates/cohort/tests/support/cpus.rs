//! Where a test's threads may run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this process may use: one at least.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).expect("a thread may ask where it may run");
    let cpus = 0..CpuSet::MAX_CPU;
    cpus.filter(|cpu| set.is_set(*cpu)).collect()
}

/// Leaves the calling thread, and those it starts, one CPU.
pub fn stay_on(cpu: usize) {
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).expect("a thread may give up CPUs");
}
