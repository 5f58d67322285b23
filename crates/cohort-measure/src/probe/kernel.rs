//! The kernel's scheduler.

use super::{Effort, Own, Sample, Stop, joined, on, pin};
use crate::interrupt::check;
use rustix::thread::futex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Costs of the scheduler. Missing figures could not be told apart from their parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel {
    /// A switch between two threads: yields of two threads on one CPU, less yields of one.
    pub switch: Option<Sample>,
    /// Falling asleep: a hand-over by futex on one CPU, less its wake-up, system call and switch.
    pub sleep: Option<Sample>,
    /// The waker's cost of a sleeper on another CPU, beyond a system call.
    pub wake: Option<Sample>,
    /// From the end of the wake-up until the sleeper runs.
    pub wake_latency: Option<Sample>,
    /// How long each of two threads runs on one CPU before the other does.
    pub slice_of_two: Option<Sample>,
    /// The same of eight threads.
    pub slice_of_eight: Option<Sample>,
}

/// Turns of a sample.
const TURNS: usize = 40;

/// A thread that gets no answer for so long gives up: the other has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// Measures the scheduler on a CPU, and wake-ups on another one.
///
/// # Errors
/// A thread cannot be pinned, or a signal arrived.
pub fn kernel(one: usize, other: Option<usize>, own: &Own, effort: Effort) -> Result<Kernel, Stop> {
    let switch = match own.yield_alone {
        Some(alone) => Sample::of_differences(&switches(one, alone.median, effort)?),
        None => None,
    };
    let (handed, woken) = match switch {
        Some(_) => hand_overs(one, effort)?,
        None => (Vec::new(), Vec::new()),
    };
    let parts = own.system_call.median + switch.map_or(0.0, |switch| switch.median);
    let woken = Sample::of(&woken).map_or(0.0, |woken| woken.median);
    let slept: Vec<f64> = handed.iter().map(|all| all - woken - parts).collect();
    let (wake, latency) = match other {
        Some(other) => wakes(one, other, own.system_call.median, effort)?,
        None => (Vec::new(), Vec::new()),
    };
    Ok(Kernel {
        switch,
        sleep: Sample::of_differences(&slept),
        wake: Sample::of(&wake),
        wake_latency: Sample::of(&latency),
        slice_of_two: Sample::of(&slices(one, 2, effort)?),
        slice_of_eight: Sample::of(&slices(one, 8, effort)?),
    })
}

/// Nanoseconds of a switch.
fn switches(cpu: usize, alone: f64, effort: Effort) -> Result<Vec<f64>, Stop> {
    let over = AtomicBool::new(false);
    let last = AtomicU32::new(0);
    beside(
        cpu,
        &over,
        || {
            while !over.load(Ordering::Relaxed) {
                last.store(1, Ordering::Relaxed);
                std::thread::yield_now();
            }
        },
        || {
            let mut times = Vec::new();
            effort.repeat(|| {
                let from = Instant::now();
                let mut away = 0;
                for _ in 0..TURNS {
                    last.store(0, Ordering::Relaxed);
                    std::thread::yield_now();
                    away += usize::from(last.load(Ordering::Relaxed) == 1);
                }
                let took = from.elapsed().as_nanos() as f64;
                // The other thread yields once each time, and there are two switches.
                let yields = (TURNS + away) as f64 * alone;
                if away > 0 {
                    times.push((took - yields) / (2 * away) as f64);
                }
                Ok(())
            })?;
            Ok(times)
        },
    )
}

/// Nanoseconds of a hand-over by futex between two threads of one CPU, and of its wake-up.
fn hand_overs(cpu: usize, effort: Effort) -> Result<(Vec<f64>, Vec<f64>), Stop> {
    let over = AtomicBool::new(false);
    let turn = AtomicU32::new(0);
    let pass = |to: u32| {
        turn.store(to, Ordering::Release);
        wake(&turn);
    };
    beside(
        cpu,
        &over,
        || {
            while await_word(&turn, 1, &over) {
                pass(0);
            }
        },
        || {
            let (mut handed, mut woken) = (Vec::new(), Vec::new());
            effort.repeat(|| {
                let from = Instant::now();
                let mut waking = 0.0;
                for _ in 0..TURNS {
                    turn.store(1, Ordering::Release);
                    let before = Instant::now();
                    wake(&turn);
                    waking += before.elapsed().as_nanos() as f64;
                    if !await_word(&turn, 0, &over) {
                        return Ok(());
                    }
                }
                let took = from.elapsed().as_nanos() as f64;
                handed.push(took / (2 * TURNS) as f64);
                woken.push(waking / TURNS as f64);
                Ok(())
            })?;
            // The other thread sees the end.
            over.store(true, Ordering::Release);
            pass(1);
            Ok((handed, woken))
        },
    )
}

/// Nanoseconds of a wake-up of a thread on another CPU, less a system call, and from its end until
/// that thread runs.
fn wakes(
    one: usize,
    other: usize,
    call: f64,
    effort: Effort,
) -> Result<(Vec<f64>, Vec<f64>), Stop> {
    /// Time to fall asleep, and for the CPU to become idle.
    const ASLEEP: Duration = Duration::from_micros(100);
    let over = AtomicBool::new(false);
    let word = AtomicU32::new(0);
    let (ready, risen) = (AtomicU32::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let pinned = pin(other);
            for round in 1.. {
                ready.store(round, Ordering::Release);
                if pinned.is_err() || !await_word(&word, round, &over) {
                    break;
                }
                let now = begun.elapsed().as_nanos();
                risen.store(u64::try_from(now).unwrap_or(u64::MAX), Ordering::Release);
            }
            over.store(true, Ordering::Release);
            pinned
        });
        let timed = on(one, || {
            let (mut wakes, mut delays) = (Vec::new(), Vec::new());
            let mut round = 0;
            effort.repeat(|| {
                round += 1;
                let is_ready = || ready.load(Ordering::Acquire) == round;
                if !until(is_ready, &over) {
                    return Ok(());
                }
                let asleep = Instant::now();
                while asleep.elapsed() < ASLEEP {
                    std::hint::spin_loop();
                }
                risen.store(0, Ordering::Relaxed);
                word.store(round, Ordering::Release);
                let from = begun.elapsed().as_nanos() as f64;
                wake(&word);
                let to = begun.elapsed().as_nanos() as f64;
                if until(|| risen.load(Ordering::Acquire) > 0, &over) {
                    wakes.push((to - from - call).max(0.0));
                    delays.push((risen.load(Ordering::Acquire) as f64 - to).max(0.0));
                }
                Ok(())
            })?;
            Ok((wakes, delays))
        });
        over.store(true, Ordering::Release);
        word.store(u32::MAX, Ordering::Release);
        wake(&word);
        joined(sleeper.join())?;
        timed
    })
}

/// How long each of so many computing threads runs on a CPU until it is preempted.
fn slices(cpu: usize, threads: usize, effort: Effort) -> Result<Vec<f64>, Stop> {
    /// A shorter pause is an interrupt, or another virtual machine.
    const AWAY: Duration = Duration::from_micros(300);
    let each = || {
        pin(cpu)?;
        let begun = Instant::now();
        let (mut since, mut last) = (begun, begun);
        let mut runs = Vec::new();
        while last - begun < effort.crowd {
            let now = Instant::now();
            if now - last > AWAY {
                // The first run began at no one's turn.
                if since > begun {
                    runs.push((last - since).as_nanos() as f64);
                }
                since = now;
            }
            last = now;
        }
        check().map_err(Stop::Interrupted)?;
        Ok(runs)
    };
    std::thread::scope(|scope| {
        let crowd: Vec<_> = (0..threads).map(|_| scope.spawn(each)).collect();
        let mut all = Vec::new();
        for thread in crowd {
            all.extend(joined(thread.join())?);
        }
        Ok(all)
    })
}

/// Runs two threads on one CPU until the second has ended.
fn beside<T: Send>(
    cpu: usize,
    over: &AtomicBool,
    first: impl FnOnce() + Send,
    second: impl FnOnce() -> Result<T, Stop> + Send,
) -> Result<T, Stop> {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            pin(cpu)?;
            first();
            Ok(())
        });
        let timed = on(cpu, second);
        over.store(true, Ordering::Release);
        joined(other.join())?;
        timed
    })
}

fn wake(word: &AtomicU32) {
    // The other thread may be awake: it checks the word itself.
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// Sleeps until the word has that value; false once `over`.
fn await_word(word: &AtomicU32, value: u32, over: &AtomicBool) -> bool {
    let begun = Instant::now();
    loop {
        let found = word.load(Ordering::Acquire);
        if over.load(Ordering::Acquire) {
            return false;
        }
        if found == value {
            return true;
        }
        if begun.elapsed() > PATIENCE {
            return false;
        }
        let limit = futex::Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        // A changed word, a signal and a timeout are all looked at again.
        let _ = futex::wait(word, futex::Flags::PRIVATE, found, Some(&limit));
    }
}

/// Waits without sleep; false once `over` or too late.
fn until(ready: impl Fn() -> bool, over: &AtomicBool) -> bool {
    let begun = Instant::now();
    while !ready() {
        if over.load(Ordering::Acquire) || begun.elapsed() > PATIENCE {
            return false;
        }
        std::hint::spin_loop();
    }
    true
}
