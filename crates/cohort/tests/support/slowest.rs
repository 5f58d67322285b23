//! A runner's closing report: its slowest tests, to keep the quick tier short, and the number of
//! tests left to the full tier.

use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of tests named.
const NAMED: usize = 10;

/// Faster tests are not reported.
const SHORT: Duration = Duration::from_secs(1);

static TIMES: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// Tests that the quick tier leaves to the full one.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// A test with its recorded time.
pub fn trial(
    name: impl Into<String>,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let name = name.into();
    let noted = name.clone();
    Trial::test(name, move || {
        let began = Instant::now();
        let result = run();
        let took = began.elapsed();
        if took > SHORT {
            let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
            times.push((took, noted));
        }
        result
    })
}

/// Like [`trial`]; a test `left` to the full tier is shown as ignored.
pub fn tiered(
    left: bool,
    name: impl Into<String>,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    if left {
        leave(1);
    }
    trial(name, run).with_ignored_flag(left)
}

/// Records that so many tests are left to the full tier.
pub fn leave(tests: usize) {
    LEFT.fetch_add(tests, Relaxed);
}

/// Prints the slowest tests and the number left to the full tier, unless only a list was requested.
pub fn tell(arguments: &Arguments) {
    if arguments.list {
        return;
    }
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    times.sort_unstable_by(|one, other| other.cmp(one));
    for (took, name) in times.iter().take(NAMED) {
        println!("{:7.1} s  {name}", took.as_secs_f64());
    }
    let left = LEFT.load(Relaxed);
    if left > 0 {
        println!("left to the full tier (COHORT_TIER=full): {left} tests");
    }
}
