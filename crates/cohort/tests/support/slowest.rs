//! Which tests of a runner took longest: it names them at its end, so that the quick tier can be
//! kept short.

use libtest_mimic::{Failed, Trial};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many are named.
const NAMED: usize = 10;

/// What takes less is nobody's concern.
const SHORT: Duration = Duration::from_secs(1);

static TIMES: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

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

/// Names the slowest on standard output.
pub fn tell() {
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    times.sort_unstable_by(|one, other| other.cmp(one));
    for (took, name) in times.iter().take(NAMED) {
        println!("{:7.1} s  {name}", took.as_secs_f64());
    }
}
