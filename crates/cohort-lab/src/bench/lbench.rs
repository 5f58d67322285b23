//! `lbench`: a central lock, two lines changed under it, and an idle loop of about four
//! microseconds outside (Dice et al. 2015 §5.1.1, figure 14; with timeouts Dice et al. 2015
//! §5.1.6).
//!
//! `lbench-published` takes the figure's caption at its word: the loop is "up to 4 micro seconds", so
//! of random length. After loops of equal length a queue of threads keeps the order in which they
//! began; on the simulated T4-1 half of the hand-overs then stay within a core.

use super::central::Central;
use super::{Knobs, Player, Setting, Span, Workload};
use crate::world::World;

/// The words of each line that a critical section increments (Dice et al. 2015, figure 14).
const WORDS: usize = 4;

/// The workload.
pub enum LBench {}

impl Workload for LBench {
    const NAME: &'static str = "lbench";
    const ABOUT: &'static str =
        "one lock; critical sections write lines, with an idle loop between";
    const SOURCE: &'static str = "Dice et al. 2015 §5.1.1";
    const TAKES: &'static [&'static str] = &["critical", "outside", "lines", "timeout"];
    const DEFAULTS: Knobs = Knobs {
        lines: Some(2),
        outside: Some(Span::Nanoseconds(4_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Central<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Central<W> {
        Central::new(world, setting)
    }

    fn take_part<W: World>(shared: &Central<W>, player: &mut Player<'_, W::Actor>) {
        shared.take_part(player, WORDS, |player, cycles| player.idle_about(cycles));
    }
}

/// The workload with loops of random length.
pub enum LBenchPublished {}

impl Workload for LBenchPublished {
    const NAME: &'static str = "lbench-published";
    const ABOUT: &'static str = "as lbench, with idle loops of random length";
    const SOURCE: &'static str = "Dice et al. 2015, figure 14";
    const TAKES: &'static [&'static str] = LBench::TAKES;
    const DEFAULTS: Knobs = LBench::DEFAULTS;

    type Shared<W: World> = Central<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Central<W> {
        Central::new(world, setting)
    }

    fn take_part<W: World>(shared: &Central<W>, player: &mut Player<'_, W::Actor>) {
        shared.take_part(player, WORDS, |player, cycles| player.idle_up_to(cycles));
    }
}
