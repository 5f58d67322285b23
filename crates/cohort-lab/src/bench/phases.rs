//! `phases`: one lock with a different number of threads and length of critical sections in each
//! phase (Antić et al. 2016 §3.2, figure 10).

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Actor, World};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// The number of phases before they repeat.
const PHASES: usize = NAMES.len();

/// Counters of the phases' critical sections.
pub const NAMES: [&str; 16] = [
    "phase-00", "phase-01", "phase-02", "phase-03", "phase-04", "phase-05", "phase-06", "phase-07",
    "phase-08", "phase-09", "phase-10", "phase-11", "phase-12", "phase-13", "phase-14", "phase-15",
];

/// The longest critical section of a phase, in cycles: the paper's figure shows shorter ones.
const LONGEST: u64 = 2_048;

/// The workload.
pub enum Phases {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    phases: Vec<Phase>,
    length: u64,
    lines: usize,
    outside: u64,
}

/// One phase.
struct Phase {
    threads: usize,
    critical: u64,
}

impl Workload for Phases {
    const NAME: &'static str = "phases";
    const ABOUT: &'static str =
        "phases with different numbers of threads and lengths of critical sections";
    const SOURCE: &'static str = "Antić et al. 2016 §3.2";
    const TAKES: &'static [&'static str] = &["outside", "lines", "phase"];
    /// The paper's phases last half a second to a second; it says that ten milliseconds would
    /// suffice. A simulated machine needs short ones.
    const DEFAULTS: Knobs = Knobs {
        outside: Some(Span::Cycles(200)),
        lines: Some(1),
        phase: Some(Span::Nanoseconds(1_000_000)),
        ..Knobs::NONE
    };

    const PHASES: usize = PHASES;

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let lines = size(knobs.lines);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(setting.seed);
        let phases = (0..PHASES).map(|_| Phase {
            threads: random.random_range(1..=setting.threads as u64) as usize,
            critical: random.random_range(0..LONGEST),
        });
        Shared {
            phases: phases.collect(),
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, lines),
            length: cycles(knobs.phase, hertz).max(1),
            lines,
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        let begun = player.actor().now();
        while player.goes_on() {
            let number = (player.actor().now() - begun) / shared.length;
            let phase = &shared.phases[(number % PHASES as u64) as usize];
            if player.index() >= phase.threads {
                let next = begun + (number + 1) * shared.length;
                player.actor().sleep_until(next);
                continue;
            }
            player.section(&shared.guarded, |player| {
                for line in 0..shared.lines {
                    update(shared.guarded.data(), line, 1);
                }
                player.work(phase.critical);
            });
            player.done();
            player.count(NAMES[(number % PHASES as u64) as usize], 1);
            player.work_about(shared.outside);
        }
    }
}
