//! Queries at a program's start, before it can have threads or bind them.
// Not on the portable backend: nothing is looked up before it is used.
#![cfg(not(feature = "portable"))]

#[path = "support/cpus.rs"]
mod cpus;

use cpus::{allowed, stay_on};

#[test]
fn a_bound_thread_that_asks_first_counts_all_cpus() {
    let all = allowed();
    let first = all[0];
    let counted = std::thread::spawn(move || {
        stay_on(first);
        cohort::door::cpus()
    });
    assert_eq!(counted.join().unwrap() as usize, all.len());
}

#[test]
fn the_kernel_s_barrier_is_there_from_the_start() {
    const QUERY: usize = 0;
    const PRIVATE_EXPEDITED: usize = 8;
    let membarrier = |command: usize| {
        // SAFETY: the call orders memory and accesses none.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    };
    if membarrier(QUERY) & PRIVATE_EXPEDITED as i64 <= 0 {
        eprintln!("skip: this kernel has no such barrier");
        return;
    }
    assert_eq!(membarrier(PRIVATE_EXPEDITED), 0, "it is not registered");
}
