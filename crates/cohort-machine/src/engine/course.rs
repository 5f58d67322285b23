//! What a wait knows and decides; its rules are those of the door.

use super::clock::Ticks;

/// How a wait spends the time between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// With a spin hint.
    Spin,
    /// With a yield.
    Yield,
}

/// What a wait knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Course {
    /// When it began, in ticks and one more; 0 before the first look.
    pub(crate) since: Ticks,
    /// The same of the present spell of spinning.
    pub(crate) began: Ticks,
    /// When the turn was given away that the thread is coming back from; as above.
    pub(crate) given: Ticks,
    pub(crate) looks: u32,
    pub(crate) turns: u32,
    /// How many waits before this one did not end by spinning.
    pub(crate) vain: u8,
    pub(crate) passes: bool,
    pub(crate) in_line: bool,
    pub(crate) keeps_turns: bool,
}

impl Course {
    pub(crate) const fn new() -> Self {
        Self {
            since: 0,
            began: 0,
            given: 0,
            looks: 0,
            turns: 0,
            vain: 0,
            passes: false,
            in_line: false,
            keeps_turns: false,
        }
    }
}

/// What a wait does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decision {
    Sleep,
    Poll(Pause, u64),
}
