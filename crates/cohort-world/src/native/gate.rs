//! A counter that threads of this machine wait for.

use crate::gate::Gate;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The longest wait; a longer one is a deadlock.
const LONGEST: Duration = Duration::from_secs(600);

/// A counter with the standard library's lock, which no interposer serves.
#[derive(Debug, Default)]
pub struct Counter {
    number: Mutex<u32>,
    reached: Condvar,
}

impl Gate for Counter {
    fn open(&self, number: u32) {
        *self.number.lock().unwrap_or_else(PoisonError::into_inner) = number;
        self.reached.notify_all();
    }

    fn wait(&self, number: u32) {
        let known = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        let early = |known: &mut u32| *known < number;
        let reached = self.reached.wait_timeout_while(known, LONGEST, early);
        let (known, waited) = reached.unwrap_or_else(PoisonError::into_inner);
        drop(known);
        if waited.timed_out() {
            // Threads that wait for each other cannot be ended one by one.
            eprintln!(
                "cohort: a thread has waited for {LONGEST:?}: deadlock; try a simulated machine"
            );
            std::process::exit(125);
        }
    }
}
