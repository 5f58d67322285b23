//! What a runner says at its end: which of its tests took longest, so that the quick tier can be
//! kept short, and how many it has left to the full tier.

use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many are named.
const NAMED: usize = 10;

/// What takes less is nobody's concern.
const SHORT: Duration = Duration::from_secs(1);

static TIMES: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// How many tests are for the full tier, and this is the quick one.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// A test whose time is noted.
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

/// The same; where it is `left` to the full tier, it is shown as ignored.
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

/// Notes that so many tests are left to the full tier.
pub fn leave(tests: usize) {
    LEFT.fetch_add(tests, Relaxed);
}

/// Names the slowest on standard output, and says what is left to the full tier, unless only a
/// list was wanted.
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
