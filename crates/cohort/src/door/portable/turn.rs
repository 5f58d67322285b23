//! Yielding the CPU.

/// Yields the CPU to another runnable thread, if there is one.
pub fn yield_now() {
    super::std::thread::yield_now();
}
