//! Many points on this machine, by interleaved rounds.

use super::report::Point;
use super::{Info, Setting, run};
use crate::interrupt::{self, Interrupted};
use crate::rounds::Observer;
use crate::world::disturb::TOLERANCE;
use crate::world::native::{Host, Settings};

/// Repetitions of one run because of other processes.
const REPEATS: usize = 1;

/// Point to measure.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The lock, the threads, the workload's knobs.
    pub setting: Setting,
    /// The world's side of it.
    pub settings: Settings,
}

/// Failure of a measurement.
#[derive(Debug)]
pub enum Failure {
    /// A signal asked this process to end.
    Interrupted(Interrupted),
    /// The reason why a run failed.
    Run(String),
}

/// Measures every point in each of `rounds` rounds, in a rotating order. Repeats a run once if
/// other processes used more than a tenth of the CPUs' time. Blocks.
///
/// # Errors
/// A run failed, or a signal arrived.
/// A run could not be made, or a signal arrived.
pub fn measure(
    info: &Info,
    host: &Host,
    points: &[Wanted],
    rounds: usize,
    observer: &mut dyn Observer,
) -> Result<Vec<Point>, Failure> {
    match measure_until(info, host, points, rounds, observer) {
        Ok((points, None)) => Ok(points),
        Ok((_, Some(signal))) => Err(Failure::Interrupted(signal)),
        Err(why) => Err(Failure::Run(why)),
    }
}

/// [`measure`]; after a signal, returns the points known so far, and the signal. Blocks.
///
/// # Errors
/// The reason why a run failed.
pub fn measure_until(
    info: &Info,
    host: &Host,
    points: &[Wanted],
    rounds: usize,
    observer: &mut dyn Observer,
) -> Result<(Vec<Point>, Option<Interrupted>), String> {
    let mut outcomes = vec![Vec::new(); points.len()];
    let mut interrupted = None;
    'rounds: for round in 0..rounds {
        for place in 0..points.len() {
            let place = (place + round) % points.len();
            let wanted = &points[place];
            let name = format!("{} × {}", wanted.setting.lock, wanted.setting.threads);
            let mut best = None;
            for attempt in 0..=REPEATS {
                if let Err(signal) = interrupt::check() {
                    interrupted = Some(signal);
                    break 'rounds;
                }
                observer.starts(&name, attempt > 0);
                let outcome = run(info, host.world(wanted.settings), &wanted.setting)?;
                let foreign = outcome.foreign.unwrap_or(0.0);
                if best.as_ref().is_none_or(|(least, _)| foreign < *least) {
                    best = Some((foreign, outcome));
                }
                if foreign <= TOLERANCE {
                    break;
                }
            }
            outcomes[place].extend(best.map(|(_, outcome)| outcome));
        }
    }
    let points = points
        .iter()
        .zip(outcomes)
        .filter_map(|(wanted, outcomes)| {
            let setting = &wanted.setting;
            let wait = wanted.settings.wait;
            let point = Point::of(setting.lock.clone(), wait, setting.threads, outcomes)?;
            Some(point.apart(setting.knobs.outside))
        });
    Ok((points.collect(), interrupted))
}

#[cfg(test)]
mod tests {
    use super::super::{WORKLOADS, find};
    use super::*;
    use crate::bench::Knobs;
    use crate::rounds::Silent;
    use crate::world::NO_LOCK;
    use crate::world::{Placement, Tunings, Wait};

    /// A run long enough for some timings, on however small a machine.
    fn point(info: &Info, lock: &str, threads: usize) -> Point {
        let mut seconds = 0.03;
        loop {
            let point = point_within(seconds, info, lock, threads);
            if point.middle.operations > 200 || seconds > 10.0 {
                return point;
            }
            seconds *= 4.0;
        }
    }

    fn point_within(seconds: f64, info: &Info, lock: &str, threads: usize) -> Point {
        let host = Host::look().unwrap();
        let wanted = Wanted {
            setting: Setting {
                lock: lock.to_owned(),
                threads,
                knobs: Knobs::NONE.over(info).unwrap(),
                seed: 1,
            },
            settings: Settings {
                seconds,
                placement: Placement::Free,
                wait: Wait::Park,
                background: 0,
                served: false,
                tunings: Tunings::USUAL,
            },
        };
        let mut points = measure(info, &host, &[wanted], 1, &mut Silent).unwrap();
        points.remove(0)
    }

    #[test]
    fn every_workload_runs_here_and_everybody_takes_part() {
        for info in WORKLOADS {
            let point = point(info, "mcs", 3);
            let middle = &point.middle;
            assert!(middle.operations > 0, "{}", info.name);
            assert_eq!(middle.per_thread.len(), 3, "{}", info.name);
            assert!(middle.acquire.is_some(), "{}", info.name);
            assert_eq!(
                middle.per_thread.iter().sum::<u64>(),
                middle.operations,
                "{}",
                info.name
            );
        }
    }

    #[test]
    fn hand_overs_are_counted_where_there_is_data() {
        let lbench = point(find("lbench").unwrap(), "ticket", 2).middle;
        assert!(lbench.migrations.is_some());
        let tight = point(find("loop").unwrap(), "ticket", 2).middle;
        assert!(tight.migrations.is_none());
    }

    #[test]
    fn turns_need_no_lock_and_are_shared_out_evenly() {
        let turns = point(find("pingpong").unwrap(), NO_LOCK, 2).middle;
        assert!(turns.fairness.most - turns.fairness.least <= 1);
    }
}
