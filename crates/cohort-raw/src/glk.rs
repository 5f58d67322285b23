//! Thresholds of `glk`, as data: when it looks at its queue, and the queue lengths at which it
//! changes its mode. `cohort tune glk` finds them for a machine (Antić et al. 2016 §3.1).

/// A mistake in the thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `up` is such that all queues, or none, are longer.
    Up,
    /// `down` is above `up`, or no queue is shorter: its holder counts.
    Down,
    /// `sample` is no power of two, or too long.
    Sample,
    /// `consider` is no power of two, or too long.
    Consider,
    /// The mode would be considered more often than the queue is looked at.
    Order,
}

/// The thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// A longer average queue, holder included, changes from `ticket`.
    pub up: u32,
    /// A shorter average queue changes from `mcs` back to `ticket`; at least 2.
    pub down: u32,
    /// Sections per look at the queue, a power of two.
    pub sample: u32,
    /// Sections per consideration of the mode, a power of two.
    pub consider: u32,
}

impl Tuning {
    /// The values for the paper's machines.
    pub const USUAL: Self = Self {
        up: 3,
        down: 2,
        sample: 128,
        consider: 4_096,
    };

    /// The least value of either threshold: the queue's length with one waiter.
    pub const LEAST: u32 = 2;

    /// The greatest value of either threshold.
    pub const LONGEST: u32 = 64;

    /// The longest period.
    pub const MOST: u32 = 1 << 20;

    /// The reason why no lock can use them, if any: a change of the mode must not cause the next
    /// one, and a mode is considered at a look at the queue.
    #[must_use]
    pub const fn fault(&self) -> Option<Fault> {
        const fn is_period(sections: u32) -> bool {
            sections.is_power_of_two() && sections <= Tuning::MOST
        }
        if self.up < Self::LEAST || self.up > Self::LONGEST {
            Some(Fault::Up)
        } else if self.down < Self::LEAST || self.down > self.up {
            Some(Fault::Down)
        } else if !is_period(self.sample) {
            Some(Fault::Sample)
        } else if !is_period(self.consider) {
            Some(Fault::Consider)
        } else if self.sample > self.consider {
            Some(Fault::Order)
        } else {
            None
        }
    }

    /// The four in that order, as in the environment: `3,2,128,4096`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(',').map(str::parse);
        let mut next = || parts.next()?.ok();
        let read = Self {
            up: next()?,
            down: next()?,
            sample: next()?,
            consider: next()?,
        };
        (parts.next().is_none() && read.fault().is_none()).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::Tuning;

    #[test]
    fn what_no_lock_can_follow_is_refused() {
        assert_eq!(Tuning::read("3,2,128,4096"), Some(Tuning::USUAL));
        for text in [
            "",
            "3,2,128",
            "3,2,128,4096,1",
            "3,2,128,many",
            // Thresholds that cross, or that no queue is below or above.
            "2,3,128,4096",
            "3,1,128,4096",
            "3,0,128,4096",
            "65,2,128,4096",
            "1,1,128,4096",
            // Periods that are none, no powers of two, or too long.
            "3,2,0,4096",
            "3,2,128,0",
            "3,2,100,4096",
            "3,2,128,4000",
            "3,2,8192,4096",
            "3,2,128,2097152",
        ] {
            assert_eq!(Tuning::read(text), None, "{text}");
        }
    }
}
