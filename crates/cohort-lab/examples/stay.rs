//! How long locks that are not fair stay with one chip of the simulated sparc-t5440, and
//! whether it is for the pauses of those far away: LBench under `hbo` with shorter and
//! longer ones and under `c-bo-mcs`, for longer and longer.  Row K6 of docs/claims.md
//! depends on it.
//!
//! ```sh
//! cargo run --release -p cohort-lab --example stay
//! ```

mod paused;
mod with;

use cohort_lab::world::simulated::Simulator;
use cohort_machine::description::shipped;
use cohort_on_machine::compose::cohorting::CBoMcs;
use cohort_on_machine::numa::Hbo;
use cohort_on_machine::wait::SpinOnly;
use paused::Paused;
use rayon::prelude::*;
use std::sync::Arc;
use with::{Make, lbench, make};

/// Virtual milliseconds.
const LENGTHS: [u32; 3] = [8, 40, 160];

/// As row K6 asks.
const THREADS: usize = 128;

/// `hbo`, tuned but for these bounds of the pauses far from the holder.
const fn far<const FIRST: u64, const MOST: u64>() -> Make {
    make::<Hbo<SpinOnly, Paused<25, 200, FIRST, MOST>>>
}

fn main() {
    let machine = shipped::find("sparc-t5440").expect("it is shipped");
    let simulator = Arc::new(Simulator::new(machine));
    let locks: [(&str, Make); 7] = [
        (
            "hbo, far 6,400 to 204,800 ns (tuned)",
            far::<6_400, 204_800>(),
        ),
        ("hbo, far 6,400 to 51,200", far::<6_400, 51_200>()),
        ("hbo, far 1,600 to 25,600", far::<1_600, 25_600>()),
        ("hbo, far 400 to 6,400", far::<400, 6_400>()),
        ("hbo, far 100 to 1,600", far::<100, 1_600>()),
        ("hbo, far as near", far::<25, 200>()),
        ("c-bo-mcs", make::<CBoMcs<SpinOnly>>),
    ];
    let runs: Vec<_> = locks
        .into_iter()
        .flat_map(|lock| LENGTHS.map(|length| (lock, length)))
        .collect();
    let lines: Vec<String> = runs
        .into_par_iter()
        .map(|((name, make), length)| {
            let seconds = f64::from(length) / 1e3;
            let outcome = lbench(&simulator, make, THREADS, Some(seconds));
            let hand_overs = |away: bool| -> u64 {
                let all = outcome.migrations.iter().flatten();
                let of = all.filter(|of| !away || of.within == "system");
                of.map(|of| of.count).sum()
            };
            let away = hand_overs(true) as f64 / hand_overs(false) as f64;
            format!(
                "{name:38} {length:4} ms: {:6.0} sections a ms, {:7.3} % of hand-overs to \
                 another chip, deviation {:.2}",
                outcome.per_second / 1e3,
                away * 100.0,
                outcome.fairness.relative_deviation,
            )
        })
        .collect();
    println!("LBench, scattered, {THREADS} threads");
    for line in lines {
        println!("{line}");
    }
}
