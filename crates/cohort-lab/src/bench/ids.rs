//! `ids`: sections without anything in them, one right after another, so that what is left is what a
//! lock does for each: `sanl` finds its thread's place, which stands for an id, votes, and asks the
//! clock (Zhang et al. 2017 §4.2).

use super::{Guarded, Knobs, Player, Setting, Workload};
use crate::world::World;

/// The workload.
pub enum Ids {}

impl Workload for Ids {
    const NAME: &'static str = "ids";
    const ABOUT: &'static str =
        "empty sections: what locks do for each; `--detail` says what sanl does";
    const SOURCE: &'static str = "Zhang et al. 2017 §4.2";
    const TAKES: &'static [&'static str] = &[];
    const DEFAULTS: Knobs = Knobs::NONE;

    type Shared<W: World> = Guarded<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Guarded<W> {
        Guarded::new(world, &setting.lock, 0, setting.threads, 0)
    }

    fn take_part<W: World>(guarded: &Guarded<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            player.section(guarded, |_| ());
            player.done();
        }
    }
}
