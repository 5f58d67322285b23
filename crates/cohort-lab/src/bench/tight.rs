//! `loop`: acquire and, if successful, release, repeatedly (Chabbi et al. 2017 §6.1).

use super::central::Central;
use super::{Knobs, Player, Setting, Workload};
use crate::world::World;

/// The workload.
pub enum Loop {}

impl Workload for Loop {
    const NAME: &'static str = "loop";
    const ABOUT: &'static str = "a tight loop of acquire and release, with timeouts";
    const SOURCE: &'static str = "Chabbi et al. 2017 §6.1";
    const TAKES: &'static [&'static str] = &["critical", "outside", "lines", "timeout"];
    const DEFAULTS: Knobs = Knobs::NONE;

    type Shared<W: World> = Central<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Central<W> {
        Central::new(world, setting)
    }

    fn take_part<W: World>(shared: &Central<W>, player: &mut Player<'_, W::Actor>) {
        shared.take_part(player, 1, |player, cycles| player.work(cycles));
    }
}
