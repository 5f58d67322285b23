//! `lbench`: a central lock, two lines changed under it, and an idle loop of about four
//! microseconds outside (Dice et al. 2015 §5.1.1, figure 14; with timeouts Dice et al. 2015
//! §5.1.6).

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
