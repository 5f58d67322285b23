//! Far more threads than CPUs, without sleeping: 64 threads on one CPU, a hundred acquisitions
//! each. It must end under every lock.

use crate::check::{Check, Tier};
use crate::conformance::run_case;
use crate::program::cohort_run;
use crate::selection::Selection;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Each thread counts its turns; see `stress.c`.
pub const CASE: &str = "oversubscribed-64/normal";

/// Under each lock.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |lock: &'static str| Check {
        name: format!("crowd/{lock}"),
        tier: Tier::Quick,
        needs: &[("cc", "gcc")],
        run: Box::new(move || {
            // The program inherits the CPUs of the thread that starts it.
            let on_one_cpu = || stay_on_one_cpu().and_then(|()| run(lock));
            std::thread::scope(|scope| scope.spawn(on_one_cpu).join())
                .unwrap_or_else(|_| Err("the thread of this check panicked".to_owned()))
        }),
    };
    Ok(selection.locks().into_iter().map(check).collect())
}

fn run(lock: &str) -> Result<(), String> {
    run_case(cohort_run(lock, &["--wait", "spin"]), "stress", CASE)
}

fn stay_on_one_cpu() -> Result<(), String> {
    let failed = |error| format!("the CPUs cannot be chosen: {error}");
    let allowed = sched_getaffinity(None).map_err(failed)?;
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu));
    let mut one = CpuSet::new();
    one.set(first.ok_or("this thread may run nowhere")?);
    sched_setaffinity(None, &one).map_err(failed)
}
