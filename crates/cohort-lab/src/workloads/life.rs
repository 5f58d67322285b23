//! The init–destroy cycle of a mutex and a condition.

use super::uncontended::{Company, per_turn};
use super::{Outcome, pthread};
use crate::options::seconds;
use std::mem::MaybeUninit;
use std::ptr;

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    company: Company,
    /// Duration in seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// Runs the load: a mutex is initialised, locked, unlocked and destroyed, and a condition
/// initialised, signalled and destroyed, always in the same memory. Blocks.
///
/// # Errors
/// The other threads cannot be created, or the C library refuses a call.
pub fn run(options: &Options) -> Result<Outcome, String> {
    options.company.gather()?;
    let mut place = PairMemory {
        mutex: MaybeUninit::uninit(),
        condition: MaybeUninit::uninit(),
    };
    let mut refusals = 0;
    let outcome = per_turn(options.seconds, |turns| {
        for _ in 0..turns {
            refusals |= place.live();
        }
    });
    pthread::accepted(refusals).map_err(|_| "a call was refused".to_owned())?;
    Ok(outcome)
}

/// Memory of both, on cache lines of their own.
#[repr(align(128))]
struct PairMemory {
    mutex: MaybeUninit<libc::pthread_mutex_t>,
    condition: MaybeUninit<libc::pthread_cond_t>,
}

impl PairMemory {
    /// One init–destroy cycle of both; 0 if all calls succeeded.
    #[inline]
    fn live(&mut self) -> i32 {
        let mutex = self.mutex.as_mut_ptr();
        let condition = self.condition.as_mut_ptr();
        // SAFETY: both places are writable, and only this thread uses them. Each object is
        // initialised before its use, held only between lock and unlock, and destroyed while free.
        unsafe {
            libc::pthread_mutex_init(mutex, ptr::null())
                | libc::pthread_mutex_lock(mutex)
                | libc::pthread_mutex_unlock(mutex)
                | libc::pthread_mutex_destroy(mutex)
                | libc::pthread_cond_init(condition, ptr::null())
                | libc::pthread_cond_signal(condition)
                | libc::pthread_cond_destroy(condition)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_takes_time() {
        let options = Options {
            company: Company::NONE,
            seconds: 0.02,
        };
        let pair = run(&options).unwrap().pair.unwrap();
        assert!(pair.least > 0.0 && pair.median >= pair.least);
    }
}
