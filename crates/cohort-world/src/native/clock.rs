//! The time-stamp counter as a clock.

/// Enough ticks to determine the rate.
const MANY: u64 = 1 << 40;

/// Clock that counts cycles of the processor's time-stamp counter; of the monotonic clock, one per
/// nanosecond, without a dependable counter.
#[derive(Clone, Debug)]
pub struct Clock {
    ticks: quanta::Clock,
    nanoseconds_each: f64,
}

impl Clock {
    /// Measures the rate; takes some milliseconds.
    pub fn measure() -> Self {
        let ticks = quanta::Clock::new();
        let nanoseconds_each = ticks.delta_as_nanos(0, MANY) as f64 / MANY as f64;
        Self {
            ticks,
            nanoseconds_each,
        }
    }

    /// The time, in cycles.
    #[inline]
    pub fn now(&self) -> u64 {
        self.ticks.raw()
    }

    /// The time, in cycles, after all earlier reads have completed. A processor that predicts the
    /// last poll of a lock correctly would otherwise read its counter before the poll's answer.
    #[inline]
    pub fn now_after_reads(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every processor of this kind has the barrier, which changes nothing.
        unsafe {
            std::arch::x86_64::_mm_lfence();
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the barrier changes nothing.
        unsafe {
            std::arch::asm!("isb", options(nostack, preserves_flags));
        }
        self.ticks.raw()
    }

    /// Cycles a second.
    pub fn hertz(&self) -> f64 {
        1e9 / self.nanoseconds_each
    }

    /// That many cycles in nanoseconds.
    #[inline]
    pub fn nanoseconds(&self, cycles: u64) -> u64 {
        (cycles as f64 * self.nanoseconds_each) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn cycles_keep_step_with_the_system_clock() {
        let clock = Clock::measure();
        let (began, begun) = (clock.now(), Instant::now());
        std::thread::sleep(Duration::from_millis(30));
        let (cycles, elapsed) = (clock.now() - began, begun.elapsed());
        let counted = cycles as f64 / clock.hertz();
        assert!(counted >= 0.03 * 0.98, "{counted}");
        assert!(counted <= elapsed.as_secs_f64() * 1.02, "{counted}");
    }
}
