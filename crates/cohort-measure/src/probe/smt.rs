//! Hardware threads of one core.

use super::{Effort, Sample, Stop, Watch, on, pin};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Slowdown of a hardware thread by its siblings.
#[derive(Clone, Debug)]
pub struct Siblings {
    /// By the number of running siblings, from one.
    pub running: Vec<Sample>,
    /// By one polling sibling.
    pub polling: Sample,
}

/// The work of a sample: microseconds, so that it begins and ends within the siblings' time.
const TURNS: usize = 2000;

/// Measures the CPUs of one core. None with fewer than two.
///
/// # Errors
/// A thread cannot be pinned, or a signal arrived.
pub fn siblings(cpus: &[usize], effort: Effort) -> Result<Option<Siblings>, Stop> {
    let Some((one, others)) = cpus.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Ok(None);
    };
    let slowdown = |others: &[usize], work: fn()| -> Result<Option<Sample>, Stop> {
        let alone = times(*one, &[], work, effort)?;
        let beside = times(*one, others, work, effort)?;
        let Some(alone) = Sample::of(&alone) else {
            return Ok(None);
        };
        let ratios: Vec<f64> = beside.iter().map(|time| time / alone.median).collect();
        Ok(Sample::of(&ratios))
    };
    let mut running = Vec::new();
    for count in 1..=others.len() {
        running.extend(slowdown(&others[..count], run)?);
    }
    let polling = slowdown(&others[..1], spin_loop)?;
    Ok(polling.map(|polling| Siblings { running, polling }))
}

/// Times of work on a CPU while others repeat `work`.
fn times(one: usize, others: &[usize], work: fn(), effort: Effort) -> Result<Vec<f64>, Stop> {
    let over = AtomicBool::new(false);
    let begun = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let siblings: Vec<_> = others
            .iter()
            .map(|cpu| {
                let (over, begun) = (&over, &begun);
                scope.spawn(move || {
                    let pinned = pin(*cpu);
                    begun.fetch_add(1, Ordering::Release);
                    while pinned.is_ok() && !over.load(Ordering::Relaxed) {
                        work();
                    }
                    pinned
                })
            })
            .collect();
        let timed = on(one, || {
            while begun.load(Ordering::Acquire) < others.len() {
                spin_loop();
            }
            let watch = Watch::new();
            let mut times = Vec::new();
            effort.repeat(|| {
                times.push(watch.each(1, run));
                Ok(())
            })?;
            Ok(times)
        });
        over.store(true, Ordering::Relaxed);
        for sibling in siblings {
            super::joined(sibling.join())?;
        }
        timed
    })
}

/// Computes with a few independent chains and a small table, as programs do.
fn run() {
    let table: [u64; 64] = black_box([3; 64]);
    let mut parts = black_box([1_u64, 2, 3, 4]);
    for _ in 0..TURNS {
        for part in &mut parts {
            let at = (*part >> 7) as usize % table.len();
            *part = part.wrapping_mul(6_364_136_223_846_793_005) ^ table[at];
        }
    }
    black_box(parts);
}
