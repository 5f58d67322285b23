//! A counter that threads of this machine wait for.

use crate::gate::Gate;
use std::sync::{Condvar, Mutex, PoisonError};

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
        let reached = self.reached.wait_while(known, |known| *known < number);
        drop(reached.unwrap_or_else(PoisonError::into_inner));
    }
}
