//! Counters that threads wait for.

/// A counter that only grows. Threads sleep until it has reached a number.
pub trait Gate: Send + Sync {
    /// Raises the counter to that number, and wakes the threads that waited for it. One thread at a
    /// time calls this.
    fn open(&self, number: u32);

    /// Blocks until the counter has reached that number.
    fn wait(&self, number: u32);
}
