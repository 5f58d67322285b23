//! `lbench`: a central lock, two lines changed under it, about four microseconds of
//! other work between (Dice et al. 2015 §5.1.1; with patience Dice et al. 2015 §5.1.6).

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::World;

/// The words of each line that a section counts up (Dice et al. 2015, figure 14).
const WORDS: usize = 4;

/// The workload.
pub enum LBench {}

/// What its threads share.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    lines: usize,
    critical: u64,
    outside: u64,
    timeout: Option<u64>,
}

impl Workload for LBench {
    const NAME: &'static str = "lbench";
    const ABOUT: &'static str = "a central lock; lines are changed under it, other work is between";
    const SOURCE: &'static str = "Dice et al. 2015 §5.1.1";
    const TAKES: &'static [&'static str] = &["critical", "outside", "lines", "timeout"];
    const DEFAULTS: Knobs = Knobs {
        lines: Some(2),
        outside: Some(Span::Nanoseconds(4_000)),
        ..Knobs::NONE
    };

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
                    update(shared.guarded.data(), line, WORDS);
                }
                player.work(shared.critical);
            });
            if done.is_some() {
                player.done();
            }
            player.work_about(shared.outside);
        }
    }
}
