//! The CPUs of a test's threads.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs of this process, at least one.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).expect("a thread may ask where it may run");
    let cpus = 0..CpuSet::MAX_CPU;
    cpus.filter(|cpu| set.is_set(*cpu)).collect()
}

/// Binds the calling thread, and threads that it starts, to one CPU.
pub fn stay_on(cpu: usize) {
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).expect("a thread may give up CPUs");
}
