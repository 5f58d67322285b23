//! `loop`: acquire and, if that succeeded, release, again and again (Chabbi et al. 2017 §6.1).

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Workload};
use crate::world::World;

/// The workload.
pub enum Loop {}

/// What its threads share.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    lines: usize,
    critical: u64,
    outside: u64,
    timeout: Option<u64>,
}

impl Workload for Loop {
    const NAME: &'static str = "loop";
    const ABOUT: &'static str = "a tight loop of acquire and, unless it gave up, release";
    const SOURCE: &'static str = "Chabbi et al. 2017 §6.1";
    const TAKES: &'static [&'static str] = &["critical", "outside", "lines", "timeout"];
    const DEFAULTS: Knobs = Knobs::NONE;

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let lines = size(knobs.lines);
        Shared {
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, lines),
            lines,
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
            timeout: knobs.timeout.map(|timeout| timeout.cycles(hertz)),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<W::Actor>) {
        while player.goes_on() {
            let done = player.section_within(&shared.guarded, shared.timeout, |player| {
                for line in 0..shared.lines {
                    update(shared.guarded.data(), line, 1);
                }
                player.work(shared.critical);
            });
            if done.is_some() {
                player.done();
            }
            player.work(shared.outside);
        }
    }
}
