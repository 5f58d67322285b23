//! Calls of the pthread interface that do not wait.

use super::uncontended::{Company, per_turn};
use super::{Outcome, pthread};
use crate::options::seconds;
use std::mem::MaybeUninit;
use std::ptr;

/// Options of the load.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// The call
    #[arg(value_name = "CALL")]
    call: Call,
    #[command(flatten)]
    company: Company,
    /// Duration in seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// What a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Call {
    /// Signal a condition without waiters
    Signal,
    /// Broadcast to a condition without waiters
    Broadcast,
    /// Trylock a held mutex
    TryHeld,
    /// Tryrdlock and unlock an rwlock
    TryRead,
    /// Lock and unlock a recursive mutex
    Recursive,
    /// Lock and unlock an error-checking mutex
    ErrorCheck,
    /// Lock and unlock each of 4096 mutexes in turn
    Many,
    /// Initialise and destroy a mutex
    Init,
}

/// Number of mutexes in `many`, each on a line of its own.
const MANY: usize = 4096;

/// Rounds over all of them before the measurement: adaptive locks settle as uncontended.
const LEARNING: usize = 600;

/// Runs the load.  Blocks.
///
/// # Errors
/// The other threads cannot be created, or the C library refuses a call.
pub fn run(options: &Options) -> Result<Outcome, String> {
    options.company.gather()?;
    let mut objects = Objects::new(options.call)?;
    let mut refusals = 0;
    let outcome = per_turn(options.seconds, |turns| {
        for _ in 0..turns {
            // SAFETY: the objects are initialised, and only this thread uses them.
            refusals |= unsafe { objects.turn(options.call) };
        }
    });
    pthread::accepted(refusals).map_err(|_| "a call was refused".to_owned())?;
    Ok(outcome)
}

/// Mutex on a line of its own.
#[repr(align(64))]
struct AlignedMutex(libc::pthread_mutex_t);

/// Objects of the calls, on lines of their own.
#[repr(align(128))]
struct Objects {
    mutexes: Vec<AlignedMutex>,
    next: usize,
    condition: libc::pthread_cond_t,
    rwlock: libc::pthread_rwlock_t,
}

impl Objects {
    fn new(call: Call) -> Result<Self, String> {
        let count = if call == Call::Many { MANY } else { 1 };
        let line = |_| AlignedMutex(libc::PTHREAD_MUTEX_INITIALIZER);
        let mut objects = Self {
            mutexes: (0..count).map(line).collect(),
            next: 0,
            condition: libc::PTHREAD_COND_INITIALIZER,
            rwlock: libc::PTHREAD_RWLOCK_INITIALIZER,
        };
        let kind = match call {
            Call::Recursive => libc::PTHREAD_MUTEX_RECURSIVE,
            Call::ErrorCheck => libc::PTHREAD_MUTEX_ERRORCHECK,
            _ => libc::PTHREAD_MUTEX_NORMAL,
        };
        let mutex = &raw mut objects.mutexes[0].0;
        // SAFETY: the attributes are initialised before their use; only this thread uses the mutex.
        let refusals = unsafe {
            let mut attributes = MaybeUninit::uninit();
            let attributes = attributes.as_mut_ptr();
            libc::pthread_mutexattr_init(attributes)
                | libc::pthread_mutexattr_settype(attributes, kind)
                | libc::pthread_mutex_init(mutex, attributes)
                | libc::pthread_mutexattr_destroy(attributes)
                | if call == Call::TryHeld {
                    libc::pthread_mutex_lock(mutex)
                } else {
                    0
                }
        };
        pthread::accepted(refusals).map_err(|error| format!("cannot create a mutex: {error}"))?;
        if call == Call::Many {
            for _ in 0..LEARNING * MANY {
                // SAFETY: initialised above.
                unsafe { objects.turn(call) };
            }
        }
        Ok(objects)
    }

    /// Performs one turn; 0 if its calls succeeded as expected.
    ///
    /// # Safety
    /// The objects have not moved since their creation, and only this thread uses them.
    #[inline]
    unsafe fn turn(&mut self, call: Call) -> i32 {
        let mutex = &raw mut self.mutexes[self.next].0;
        // SAFETY: the caller's.
        unsafe {
            match call {
                Call::Signal => libc::pthread_cond_signal(&raw mut self.condition),
                Call::Broadcast => libc::pthread_cond_broadcast(&raw mut self.condition),
                Call::TryHeld => libc::pthread_mutex_trylock(mutex) ^ libc::EBUSY,
                Call::TryRead => {
                    libc::pthread_rwlock_tryrdlock(&raw mut self.rwlock)
                        | libc::pthread_rwlock_unlock(&raw mut self.rwlock)
                }
                Call::Init => {
                    libc::pthread_mutex_init(mutex, ptr::null())
                        | libc::pthread_mutex_destroy(mutex)
                }
                Call::Recursive | Call::ErrorCheck | Call::Many => {
                    self.next = (self.next + 1) % self.mutexes.len();
                    libc::pthread_mutex_lock(mutex) | libc::pthread_mutex_unlock(mutex)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_call_takes_time_and_is_accepted() {
        for call in Call::value_variants() {
            let options = Options {
                call: *call,
                company: Company::NONE,
                seconds: 0.01,
            };
            let pair = run(&options).unwrap().pair.unwrap();
            assert!(pair.least > 0.0 && pair.median >= pair.least, "{call:?}");
        }
    }
}
