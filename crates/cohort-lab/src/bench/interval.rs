//! `interval`: slaves started by a master contend for one critical section, at an interval that
//! sets the contention (Zhang et al. 2017 §4).

use super::knobs::{cycles, size};
use super::player::{ahead, update};
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::World;

/// The workload.
pub enum Interval {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    lines: usize,
    critical: u64,
    interval: u64,
}

impl Workload for Interval {
    const NAME: &'static str = "interval";
    const ABOUT: &'static str =
        "critical sections that write 1 to 5 lines, at intervals of 100 to 2,000,000 cycles";
    const SOURCE: &'static str = "Zhang et al. 2017 §4";
    const TAKES: &'static [&'static str] = &["critical", "outside", "lines"];
    const DEFAULTS: Knobs = Knobs {
        lines: Some(1),
        outside: Some(Span::Cycles(1_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let lines = size(setting.knobs.lines);
        Shared {
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, lines),
            lines,
            critical: cycles(setting.knobs.critical, world.hertz()),
            interval: cycles(setting.knobs.outside, world.hertz()),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            player.section(&shared.guarded, |player| {
                ahead(shared.guarded.data(), shared.lines);
                for line in 0..shared.lines {
                    update(shared.guarded.data(), line, 1);
                }
                if shared.critical > 0 {
                    player.work(shared.critical);
                }
            });
            player.done();
            player.work_about(shared.interval);
        }
    }
}
