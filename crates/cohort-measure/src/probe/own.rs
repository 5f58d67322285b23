//! Costs within one CPU.

use super::chain::{CAN_FLUSH, Chain};
use super::{Effort, Sample, Stop, Watch, on};
use rustix::thread::futex;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Repetitions of a cheap operation in a sample.
const MANY: usize = 2000;

/// Repetitions of a dearer one.
const FEW: usize = 200;

/// Yields in a sample.
const YIELDS: usize = 20;

/// Lines that every first-level cache holds.
const NEAR: usize = 32;

/// Lines of a chain in memory.
const FAR: usize = 256;

/// Costs within one CPU.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// A cycle: an addition that depends on the one before; none on an unknown architecture.
    pub cycle: Option<Sample>,
    /// A spin hint.
    pub pause: Sample,
    /// A full fence with an empty store buffer.
    pub fence: Sample,
    /// A load of an own line.
    pub load: Sample,
    /// A store to an own line.
    pub store: Sample,
    /// A read-modify-write of an own line.
    pub rmw: Sample,
    /// A load from memory; none where lines cannot be flushed.
    pub memory: Option<Sample>,
    /// A load from the last-level cache; none if its size or the private one's is unknown.
    pub refill: Option<Sample>,
    /// A system call without effect.
    pub system_call: Sample,
    /// A yield without another runnable thread; none if there always was one.
    pub yield_alone: Option<Sample>,
}

/// Measures a CPU. `refill` holds the numbers of lines in its private caches and in its last-level
/// cache, as far as they are known.
///
/// # Errors
/// The thread cannot be pinned, or a signal arrived.
pub fn own(cpu: usize, refill: &[usize], effort: Effort) -> Result<Own, Stop> {
    on(cpu, || measure(refill, effort))
}

#[derive(Default)]
struct Times {
    cycle: Vec<f64>,
    pause: Vec<f64>,
    fence: Vec<f64>,
    load: Vec<f64>,
    store: Vec<f64>,
    rmw: Vec<f64>,
    memory: Vec<f64>,
    refill: Vec<f64>,
    system_call: Vec<f64>,
    yield_alone: Vec<f64>,
}

fn measure(refill: &[usize], effort: Effort) -> Result<Own, Stop> {
    let watch = Watch::new();
    let near = Chain::new(NEAR);
    let far = Chain::new(FAR);
    let large = large(refill).map(Chain::new);
    let word = AtomicU64::new(0);
    let asleep = AtomicU32::new(0);
    let mut times = Times::default();
    effort.repeat(|| {
        if let Some(cycle) = cycle(watch) {
            times.cycle.push(cycle);
        }
        times
            .pause
            .push(watch.each(FEW, || (0..FEW).for_each(|_| spin_loop())));
        // The compiler merges adjacent fences.
        let fences = || {
            for count in 0..FEW {
                fence(Ordering::SeqCst);
                black_box(count);
            }
        };
        times.fence.push(watch.each(FEW, fences));
        near.load(NEAR);
        times.load.push(watch.each(MANY, || near.load(MANY)));
        let stores = || (0..MANY).for_each(|count| word.store(count as u64, Ordering::Relaxed));
        times.store.push(watch.each(MANY, stores));
        near.add(NEAR);
        times.rmw.push(watch.each(MANY, || near.add(MANY)));
        if CAN_FLUSH {
            far.flush();
            times.memory.push(watch.each(FAR, || far.load(FAR)));
        }
        let calls = || {
            for _ in 0..FEW {
                // No thread sleeps on this word: the call itself is timed. A failed call takes as long.
                let _ = futex::wake(&asleep, futex::Flags::PRIVATE, 1);
            }
        };
        times.system_call.push(watch.each(FEW, calls));
        Ok(())
    })?;
    effort.repeat(|| {
        let before = switches();
        let yields = || (0..YIELDS).for_each(|_| std::thread::yield_now());
        let took = watch.each(YIELDS, yields);
        // Another thread was runnable.
        if before.is_some() && before == switches() {
            times.yield_alone.push(took);
        }
        Ok(())
    })?;
    if let Some(large) = large {
        // The first pass brings it there.
        large.load(large.lines());
        let few = Effort {
            rounds: effort.rounds.min(15),
            ..effort
        };
        few.repeat(|| {
            times
                .refill
                .push(watch.each(large.lines(), || large.load(large.lines())));
            Ok(())
        })?;
    }
    let sample = |values: &[f64]| {
        Sample::of(values).ok_or_else(|| Stop::Failed("no sample was taken".to_owned()))
    };
    Ok(Own {
        cycle: Sample::of(&times.cycle),
        pause: sample(&times.pause)?,
        fence: sample(&times.fence)?,
        load: sample(&times.load)?,
        store: sample(&times.store)?,
        rmw: sample(&times.rmw)?,
        memory: Sample::of(&times.memory),
        refill: Sample::of(&times.refill),
        system_call: sample(&times.system_call)?,
        yield_alone: Sample::of(&times.yield_alone),
    })
}

/// How often the kernel has taken the CPU from the calling thread.
fn switches() -> Option<i64> {
    // SAFETY: all zeroes is a valid `rusage`, and the kernel writes only to it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let asked = libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        (asked == 0).then_some(usage.ru_nvcsw + usage.ru_nivcsw)
    }
}

/// Lines of a chain that the private caches cannot hold and the last-level cache can. A chain's
/// lines are pairs of lines in the caches.
fn large(refill: &[usize]) -> Option<usize> {
    let &[private, shared] = refill else {
        return None;
    };
    let lines = private.next_power_of_two();
    (private > 0 && 4 * lines <= shared).then_some(lines)
}

/// The nanoseconds of a cycle.
fn cycle(watch: Watch) -> Option<f64> {
    const ROUNDS: usize = 500;
    const EACH: usize = 8;
    let mut sum = black_box(1_u64);
    let step = black_box(3_u64);
    let took = watch.each(ROUNDS * EACH, || {
        for _ in 0..ROUNDS {
            adds(&mut sum, step);
        }
    });
    black_box(sum);
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    (is_known && took > 0.0).then_some(took)
}

/// Eight additions in a row, which a processor cannot fold: the summand is a register.
#[inline(always)]
#[allow(
    unused_variables,
    clippy::needless_pass_by_ref_mut,
    reason = "other processors add nothing"
)]
fn adds(sum: &mut u64, step: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: additions of registers.
    unsafe {
        std::arch::asm!(
            "add {0}, {1}", "add {0}, {1}", "add {0}, {1}", "add {0}, {1}",
            "add {0}, {1}", "add {0}, {1}", "add {0}, {1}", "add {0}, {1}",
            inout(reg) *sum, in(reg) step, options(nomem, nostack, pure));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: additions of registers.
    unsafe {
        std::arch::asm!(
            "add {0}, {0}, {1}", "add {0}, {0}, {1}", "add {0}, {0}, {1}", "add {0}, {0}, {1}",
            "add {0}, {0}, {1}", "add {0}, {0}, {1}", "add {0}, {0}, {1}", "add {0}, {0}, {1}",
            inout(reg) *sum, in(reg) step, options(nomem, nostack, pure));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refill_needs_a_cache_behind_a_smaller_one() {
        assert_eq!(large(&[16384, 524_288]), Some(16384));
        assert_eq!(large(&[16384, 20000]), None);
        assert_eq!(large(&[0, 20000]), None);
        assert_eq!(large(&[]), None);
    }
}
