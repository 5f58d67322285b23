//! When `glk` looks at its queue, and from which length on it goes over to another way to wait, as
//! data: the numbers that `cohort tune glk` finds for a machine (Antić et al. 2016 §3.1).

/// What is wrong with such numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No queue is longer than `up`, or none is shorter.
    Up,
    /// `down` is above `up`, or no queue is shorter: its holder is in it.
    Down,
    /// `sample` is no power of two, or too long.
    Sample,
    /// `consider` is no power of two, or too long.
    Consider,
    /// The mode would be considered more often than the queue is looked at.
    Order,
}

/// Those numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// A longer queue on average, holder included, is none for `ticket`.
    pub up: u32,
    /// From a shorter one on average `mcs` goes back to `ticket`; 2 at least.
    pub down: u32,
    /// The queue is looked at once in so many sections, a power of two.
    pub sample: u32,
    /// The mode is considered once in so many sections, a power of two.
    pub consider: u32,
}

impl Tuning {
    /// Those of the paper's machines.
    pub const USUAL: Self = Self {
        up: 3,
        down: 2,
        sample: 128,
        consider: 4_096,
    };

    /// The least of either threshold: a queue is as long as that if one thread waits.
    pub const LEAST: u32 = 2;

    /// The greatest of either threshold.
    pub const LONGEST: u32 = 64;

    /// The longest period.
    pub const MOST: u32 = 1 << 20;

    /// Why no lock can follow them, if none can: a change of the mode must not ask for the next one,
    /// and a mode is considered where the queue is looked at.
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

    /// The four in that order, as the environment has them: `3,2,128,4096`.
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
