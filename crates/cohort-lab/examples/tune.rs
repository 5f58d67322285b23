//! Tunes `hbo`, `fc-mcs` and `fc-mcs-published` for LBench on the simulated sparc-t5440, as Dice et al. 2015 §5.1.1
//! does on the real one.  The constants chosen by it are in `numa/hbo.rs`, `numa/fc_mcs.rs` and
//! `numa/fc_mcs_published.rs` of `cohort`.
//!
//! ```sh
//! cargo run --release -p cohort-lab --example tune
//! ```

mod paused;
mod with;

use cohort_lab::stats::geometric_mean;
use cohort_lab::world::simulated::Simulator;
use cohort_machine::description::shipped;
use cohort_on_machine::numa::{FcMcs, FcMcsPublished, Hbo};
use cohort_on_machine::wait::SpinOnly;
use paused::Paused;
use rayon::prelude::*;
use std::sync::Arc;
use with::{Make, lbench, make};

/// The numbers of threads of row K1.
const THREADS: [usize; 7] = [1, 8, 16, 32, 64, 128, 256];

/// `hbo` with each of the near pauses and each of the far ones: the first bound in
/// nanoseconds, and the largest.
macro_rules! pauses {
    (near [$($near:tt)*] far $far:tt) => {
        [$(pauses!($near $far)),*].concat()
    };
    (($near:literal $near_most:literal) [$(($far:literal $far_most:literal))*]) => {
        vec![$((
            format!("hbo near {} to {}, far {} to {}", $near, $near_most, $far, $far_most),
            make::<Hbo<SpinOnly, Paused<$near, $near_most, $far, $far_most>>> as Make,
        )),*]
    };
}

/// `fc-mcs` with each of these windows, in nanoseconds.
macro_rules! windows {
    ($($window:literal)*) => {
        vec![$((
            format!("fc-mcs window {}", $window),
            make::<FcMcs<SpinOnly, $window>> as Make,
        )),*]
    };
}

/// `fc-mcs-published` with each of these numbers of passes.
macro_rules! passes {
    ($($passes:literal)*) => {
        [$((
            format!("fc-mcs-published passes {}", $passes),
            make::<FcMcsPublished<$passes>> as Make,
        )),*]
    };
}

fn main() {
    let machine = shipped::find("sparc-t5440").expect("it is shipped");
    let simulator = Arc::new(Simulator::new(machine));
    let hbo = pauses!(
        near [(6 50) (12 100) (25 100) (25 200) (50 200) (50 400) (100 400) (100 800) (200 800)
            (200 1_600) (400 3_200)]
        far [(1_600 25_600) (3_200 51_200) (6_400 51_200) (3_200 102_400) (6_400 102_400)
            (12_800 102_400) (6_400 204_800) (12_800 204_800) (25_600 204_800) (12_800 409_600)
            (25_600 409_600)]
    );
    print(&simulator, &hbo);
    print(&simulator, &passes!(1 2 4 8 16 32 64));
    print(
        &simulator,
        &windows!(0 250 500 1_000 2_000 4_000 6_000 8_000 12_000 16_000 24_000 32_000 64_000),
    );
}

/// The best first, by the geometric mean of the throughputs.
fn print(simulator: &Arc<Simulator>, all: &[(String, Make)]) {
    let mut ranked: Vec<(f64, Vec<f64>, &str)> = all
        .par_iter()
        .map(|(name, make)| {
            let run = |threads| lbench(simulator, *make, threads, None).per_second / 1e3;
            let values: Vec<f64> = THREADS.into_iter().map(run).collect();
            let mean = geometric_mean(&values).expect("all get somewhere");
            (mean, values, name.as_str())
        })
        .collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("sections a millisecond, in the mean and with {THREADS:?} threads");
    for (mean, values, name) in ranked {
        let values: Vec<String> = values.iter().map(|value| format!("{value:.0}")).collect();
        println!("{mean:6.0}  {}  {name}", values.join(" "));
    }
}
