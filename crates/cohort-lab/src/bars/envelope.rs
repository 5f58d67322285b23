//! What is asked of the default lock over the envelope's grid.

use super::Reading;
use super::figure::UNFELT;
use crate::envelope::{Envelope, Extent, Grid, JUDGED, Plan, Point, grid, mean};
use crate::stats::Estimate;
use cohort_machine::description::shipped::{self, MACHINES};

/// The lock that is asked.
const OURS: &str = "futex-hmcs";

/// Locks that programs may ask for by name, and that are fat or queue in place.
const NAMED: [&str; 3] = ["hmcs-4", "c-tkt-mcs", "cna"];

/// At how many points the system's lock may be faster by a little.
const EXCEPTIONS: usize = 3;

/// Of how many points up to as many threads as CPUs one may be below the bar.
const ONE_IN: usize = 10;

/// Throughputs that differ by less are level.
const LEVEL: f64 = 0.05;

/// One of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Throughput over the system's, but for the exceptions.
    OfSystem,
    /// The same without exceptions.
    OfSystemEverywhere,
    /// The geometric mean of the same, where there are more threads than CPUs.
    OfSystemCrowded,
    /// Throughput over the best raw lock's up to as many threads as CPUs, at nine points of ten.
    OfBest,
    /// The same everywhere.
    OfBestEverywhere,
    /// The geometric mean of the same.
    OfBestMean,
    /// The least-served thread's share over that under the system's lock.
    LeastServed,
    /// The 99.9th percentile of waiting over the system's.
    Waiting,
    /// The energy proxy over the system's, where throughput is level.
    Energy,
    /// Throughput of locks that programs name over their own raw, up to as many threads as CPUs.
    NamedOfRaw,
    /// The same over the system's, where there are more.
    NamedOfSystem,
}

/// What is measured for them.
pub fn plan(quick: bool) -> Plan {
    let machines = MACHINES.iter().filter_map(|file| shipped::find(file.name));
    let extent = if quick { Extent::Quick } else { Extent::Full };
    Plan {
        grid: Grid::of(machines.collect(), grid::WORKLOADS, extent),
        judged: JUDGED.iter().map(|lock| (*lock).to_owned()).collect(),
        served: true,
        seconds: None,
        seed: 1,
    }
}

/// A figure at each point that has it.
///
/// # Errors
/// No point has it.
pub fn read(reach: Reach, envelope: &Envelope) -> Result<Vec<Reading>, String> {
    let of_system = |point: &Point| point.against(OURS, |run| Some(run.per_second));
    let of_best = |point: &Point| point.share(OURS);
    let points = envelope.points.iter();
    let at = |of: &dyn Fn(&Point) -> Option<f64>| -> Vec<(String, f64)> {
        let figure = |point: &Point| Some((point.name(), of(point)?));
        points.clone().filter_map(figure).collect()
    };
    let where_it = |crowded: bool, of: &dyn Fn(&Point) -> Option<f64>| {
        at(&|point| (point.is_crowded() == crowded).then(|| of(point))?)
    };
    let figures = match reach {
        Reach::OfSystem => but_for(EXCEPTIONS, at(&of_system)),
        Reach::OfSystemEverywhere => at(&of_system),
        Reach::OfSystemCrowded => middle(&where_it(true, &of_system)),
        Reach::OfBest => {
            let figures = where_it(false, &of_best);
            but_for(figures.len() / ONE_IN, figures)
        }
        Reach::OfBestEverywhere => at(&of_best),
        Reach::OfBestMean => middle(&at(&of_best)),
        Reach::LeastServed => at(&|point| point.against(OURS, |run| Some(run.least))),
        Reach::Waiting => at(&|point| point.against(OURS, |run| Some(run.waits_p999?.max(UNFELT)))),
        Reach::Energy => at(&|point| {
            let is_level = (of_system(point)? - 1.0).abs() <= LEVEL;
            is_level.then(|| point.against(OURS, |run| run.energy))?
        }),
        Reach::NamedOfRaw => named(&|lock| {
            where_it(false, &|point| {
                let raw = point.runs.iter().find(|run| run.is_raw && run.lock == lock);
                Some(point.judged(lock)?.per_second / raw?.per_second)
            })
        }),
        Reach::NamedOfSystem => named(&|lock| {
            where_it(true, &|point| {
                point.against(lock, |run| Some(run.per_second))
            })
        }),
    };
    if figures.is_empty() {
        return Err("no point has that figure".to_owned());
    }
    let reading = |(at, figure): (String, f64)| {
        let figure = Estimate::of(&[figure]).ok_or("a figure is no number")?;
        Ok(Reading { at, figure })
    };
    figures.into_iter().map(reading).collect()
}

/// All but so many of the lowest.
fn but_for(exceptions: usize, mut figures: Vec<(String, f64)>) -> Vec<(String, f64)> {
    figures.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    figures.split_off(exceptions.min(figures.len()))
}

/// Their geometric mean.
fn middle(figures: &[(String, f64)]) -> Vec<(String, f64)> {
    let values: Vec<f64> = figures.iter().map(|(_, figure)| *figure).collect();
    let mean = mean(&values).map(|mean| (format!("mean of {}", values.len()), mean));
    mean.into_iter().collect()
}

/// The figures of each named lock, under its name.
fn named(of: &dyn Fn(&str) -> Vec<(String, f64)>) -> Vec<(String, f64)> {
    let all = NAMED.iter().flat_map(|lock| {
        let under = move |(at, figure)| (format!("{lock}: {at}"), figure);
        of(lock).into_iter().map(under)
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Run;
    use crate::world::Placement;

    /// A point at which the default makes `ours` sections for one of the system's and two of the
    /// best.
    fn point(threads: usize, ours: f64) -> Point {
        let run = |lock: &str, per_second, is_judged| Run {
            lock: lock.to_owned(),
            is_raw: true,
            is_judged,
            per_second,
            least: 0.5,
            waits_p999: Some(1e6 / per_second),
            energy: Some(10.0),
        };
        Point {
            machine: "m".to_owned(),
            hash: String::new(),
            cpus: 8,
            workload: "lbench",
            threads,
            placement: Placement::Compact,
            critical_ns: None,
            runs: vec![
                run(OURS, ours, true),
                run("posix", 1.0, true),
                run("mcs", 2.0, false),
            ],
        }
    }

    fn lowest(reach: Reach, points: &[Point]) -> Option<f64> {
        let envelope = Envelope {
            served: true,
            quick: false,
            seed: 1,
            wanted: points.len(),
            judged: vec![OURS.to_owned()],
            points: points.to_vec(),
        };
        let readings = read(reach, &envelope).ok()?;
        let figures = readings.iter().map(|reading| reading.figure.median);
        figures.reduce(f64::min)
    }

    #[test]
    fn exceptions_are_left_out_and_no_more() {
        let points: Vec<Point> = [0.5, 0.6, 0.7, 0.8, 2.0]
            .map(|ours| point(8, ours))
            .to_vec();
        assert_eq!(lowest(Reach::OfSystem, &points), Some(0.8));
        assert_eq!(lowest(Reach::OfSystemEverywhere, &points), Some(0.5));
        assert_eq!(lowest(Reach::OfBest, &points), Some(0.25));
        let mut many: Vec<Point> = (0..19).map(|_| point(4, 2.0)).collect();
        many.push(point(4, 0.2));
        assert_eq!(lowest(Reach::OfBest, &many), Some(1.0));
        assert_eq!(lowest(Reach::OfBestEverywhere, &many), Some(0.1));
    }

    #[test]
    fn each_figure_is_of_the_points_that_it_is_asked_of() {
        let points = [point(8, 0.5), point(16, 2.0)];
        assert_eq!(lowest(Reach::OfSystemCrowded, &points), Some(2.0));
        assert_eq!(lowest(Reach::Waiting, &points), Some(0.5));
        assert_eq!(lowest(Reach::LeastServed, &points), Some(1.0));
        assert_eq!(lowest(Reach::Energy, &points), None, "nowhere level");
        assert_eq!(lowest(Reach::Energy, &[point(8, 1.0)]), Some(1.0));
    }
}
