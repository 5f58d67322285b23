//! Useful work under a lock, in the critical section and after timeouts, relative to the best lock
//! in the report (Chabbi et al. 2017 §6.3).

use super::report::{Efficiency, Point, Report};
use super::splay::{ELSEWHERE, INSIDE, Splay};
use super::{Info, Workload};

/// Whether a workload counts both kinds of work.
#[must_use]
pub fn is_counted(info: &Info) -> bool {
    info.name == Splay::NAME
}

/// Computes each point's efficiency relative to the points with as many threads.
pub fn weigh(report: &mut Report) {
    let rate = |point: &Point, what| {
        let times = point.middle.counts.get(what).copied().unwrap_or(0);
        times as f64 / point.middle.seconds
    };
    let rates: Vec<(usize, [f64; 2])> = report
        .points
        .iter()
        .map(|point| {
            (
                point.threads,
                [INSIDE, ELSEWHERE].map(|what| rate(point, what)),
            )
        })
        .collect();
    for (point, (threads, own)) in report.points.iter_mut().zip(&rates) {
        let beside = rates.iter().filter(|(others, _)| others == threads);
        let most = beside.fold([0.0_f64; 2], |most, (_, rates)| {
            [most[0].max(rates[0]), most[1].max(rates[1])]
        });
        point.efficiency = efficiency(*own, most);
    }
}

/// The shares of the most work; none without any work.
fn efficiency(own: [f64; 2], most: [f64; 2]) -> Option<Efficiency> {
    let share = |sort: usize| (most[sort] > 0.0).then(|| own[sort] / most[sort]);
    let (critical, elsewhere) = (share(0), share(1));
    let shares: Vec<f64> = critical.into_iter().chain(elsewhere).collect();
    (!shares.is_empty()).then(|| Efficiency {
        critical,
        elsewhere,
        efficiency: shares.iter().sum::<f64>() / shares.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sort_of_work_is_weighed_against_the_most_of_it() {
        let of = |own| efficiency(own, [200.0, 50.0]).unwrap();
        assert_eq!(of([200.0, 0.0]).efficiency, 0.5);
        assert_eq!(of([100.0, 50.0]).efficiency, 0.75);
        assert_eq!(of([100.0, 50.0]).critical, Some(0.5));
        let alone = efficiency([30.0, 0.0], [60.0, 0.0]).unwrap();
        assert_eq!((alone.elsewhere, alone.efficiency), (None, 0.5));
        assert_eq!(efficiency([0.0; 2], [0.0; 2]), None);
    }
}
