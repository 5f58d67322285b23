//! The CPUs of threads.

use super::failure::Failure;
use super::hardware::Hardware;
use super::options::Placement;

/// The CPU of each of that many threads.
///
/// # Errors
/// If the placement names no CPUs, or CPUs that the machine does not have.
pub(crate) fn place(
    hardware: &Hardware,
    placement: &Placement,
    threads: usize,
) -> Result<Vec<usize>, Failure> {
    let mut order: Vec<usize> = (0..hardware.cpus).collect();
    let place = |cpu: &usize| hardware.places[*cpu] as usize;
    match placement {
        Placement::Compact => order.sort_by_key(place),
        Placement::Cores => {
            order.sort_by_key(|cpu| (rank(hardware, *cpu), place(cpu)));
        }
        Placement::Scattered => {
            order.sort_by_key(place);
            order = scattered(hardware, &order, hardware.levels.len());
        }
        Placement::Cpus(cpus) => {
            if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= hardware.cpus) {
                return Err(Failure::NoSuchCpu {
                    cpu: *cpu,
                    cpus: hardware.cpus,
                });
            }
            order.clone_from(cpus);
        }
    }
    if order.is_empty() && threads > 0 {
        return Err(Failure::NoCpus);
    }
    Ok(order.into_iter().cycle().take(threads).collect())
}

/// The permitted CPUs of threads with that placement, by number.
pub(crate) fn allowed(hardware: &Hardware, placement: &Placement) -> Vec<bool> {
    match placement {
        Placement::Cpus(cpus) => (0..hardware.cpus).map(|cpu| cpus.contains(&cpu)).collect(),
        _ => vec![true; hardware.cpus],
    }
}

/// The number of a core's CPUs before this one.
fn rank(hardware: &Hardware, cpu: usize) -> usize {
    let core = hardware.core_of[cpu];
    let place = hardware.places[cpu];
    (0..hardware.cpus)
        .filter(|other| hardware.core_of[*other] == core && hardware.places[*other] < place)
        .count()
}

/// Takes a CPU from each cohort of the level below in turn; each cohort is scattered likewise.
fn scattered(hardware: &Hardware, cpus: &[usize], level: usize) -> Vec<usize> {
    let Some(below) = level.checked_sub(1) else {
        return cpus.to_vec();
    };
    let mut cohorts: Vec<Vec<usize>> = cpus
        .chunk_by(|one, other| hardware.cohorts[below][*one] == hardware.cohorts[below][*other])
        .map(|cohort| scattered(hardware, cohort, below))
        .collect();
    for cohort in &mut cohorts {
        cohort.reverse();
    }
    let mut order = Vec::with_capacity(cpus.len());
    while order.len() < cpus.len() {
        order.extend(cohorts.iter_mut().filter_map(Vec::pop));
    }
    order
}
