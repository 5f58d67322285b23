//! `ids`: empty critical sections in immediate succession, which measures a lock's own work for
//! each. `sanl` finds its thread's place, which represents an id, votes, and reads the clock (Zhang
//! et al. 2017 §4.2).

use super::{Guarded, Knobs, Player, Setting, Workload};
use crate::world::World;

/// The workload.
pub enum Ids {}

impl Workload for Ids {
    const NAME: &'static str = "ids";
    const ABOUT: &'static str =
        "empty critical sections: overhead of each lock; `--detail` shows sanl's counters";
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
