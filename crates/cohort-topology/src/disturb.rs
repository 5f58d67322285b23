//! Use of the CPUs by other processes during a measurement.

use rustix::thread::{CpuSet, sched_getaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The share of a run's CPU time that other processes may use before the run counts as disturbed.
pub const TOLERANCE: f64 = 0.1;

/// The CPUs that this process may use, in ascending order.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    sched_getaffinity(None).map_or_else(
        |_| Vec::new(),
        |set| {
            (0..CpuSet::MAX_CPU)
                .filter(|cpu| set.is_set(*cpu))
                .collect()
        },
    )
}

/// Measures the use of some CPUs by other processes.
pub struct Watch {
    cpus: Vec<usize>,
    busy: Duration,
    own: Duration,
}

impl Watch {
    /// Starts measuring; none if the kernel does not report the use of its CPUs.
    #[must_use]
    pub fn start(cpus: &[usize]) -> Option<Self> {
        Some(Self {
            cpus: cpus.to_vec(),
            busy: busy(cpus)?,
            own: own(),
        })
    }

    /// The share of the CPUs' time since the start that is neither this process's nor its ended
    /// child's, which used `child`.
    #[must_use]
    pub fn foreign(&self, wall: Duration, child: Duration) -> Option<f64> {
        let now = busy(&self.cpus)?;
        let accounted = child + own().saturating_sub(self.own) + self.resolution();
        let foreign = now.saturating_sub(self.busy).saturating_sub(accounted);
        let capacity = wall.as_secs_f64() * f64::from(u32::try_from(self.cpus.len()).ok()?);
        (capacity > 0.0).then(|| foreign.as_secs_f64() / capacity)
    }

    /// The kernel counts in ticks, so each CPU's count may be off by one.
    fn resolution(&self) -> Duration {
        tick() * u32::try_from(self.cpus.len()).unwrap_or(u32::MAX)
    }
}

fn busy(cpus: &[usize]) -> Option<Duration> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?, cpus)
        .map(|ticks| tick() * u32::try_from(ticks).unwrap_or(u32::MAX))
}

/// Parses the ticks that `cpus` have spent in programs and in other virtual machines.
///
/// Interrupts are left out: they are mostly the program's own, yet not accounted to a process.
fn parse(stat: &str, cpus: &[usize]) -> Option<u64> {
    const USER: usize = 0;
    const NICE: usize = 1;
    const SYSTEM: usize = 2;
    const STEAL: usize = 7;
    let mut total = 0;
    let mut found = 0;
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(Ok(cpu)) = words
            .next()
            .and_then(|word| word.strip_prefix("cpu"))
            .map(str::parse::<usize>)
        else {
            continue;
        };
        if cpus.contains(&cpu) {
            let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            for field in [USER, NICE, SYSTEM, STEAL] {
                total += ticks.get(field)?;
            }
            found += 1;
        }
    }
    (found == cpus.len() && found > 0).then_some(total)
}

fn tick() -> Duration {
    let rate = rustix::param::clock_ticks_per_second().clamp(1, 1_000_000);
    Duration::from_nanos(1_000_000_000 / rate)
}

fn own() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  9 9 9 9 9 9 9 9 9 9\n\
        cpu0 1 2 3 100 100 100 100 4 100 100\n\
        cpu1 10 20 30 100 100 100 100 40 100 100\n\
        intr 5\n";

    #[test]
    fn only_the_asked_cpus_count_and_idle_time_does_not() {
        assert_eq!(parse(STAT, &[0]), Some(10));
        assert_eq!(parse(STAT, &[0, 1]), Some(110));
    }

    #[test]
    fn a_cpu_that_is_not_told_of_makes_it_unknown() {
        assert_eq!(parse(STAT, &[0, 2]), None);
        assert_eq!(parse("", &[0]), None);
    }

    #[test]
    fn own_work_is_not_foreign() {
        let cpus = allowed_cpus();
        let watch = Watch::start(&cpus).unwrap();
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(100) {
            std::hint::black_box(own());
        }
        // A child that accounts for all the CPUs' time leaves none to others.
        let wall = start.elapsed();
        let claimed = wall * u32::try_from(cpus.len()).unwrap();
        assert_eq!(watch.foreign(wall, claimed), Some(0.0));
    }
}
