//! `raytrace`: a model of SPLASH-2's raytrace, in which each ray has a number from one counter
//! (Zhang et al. 2017 §4.3.4).
//!
//! Per table 6 of Zhang et al. 2017, one lock guards the counter. With 40 threads under a POSIX
//! mutex, 85.1 % of the time is spent at it with the scene `balls4`, and 91.3 % with `car`. The
//! critical section is that of `interval`, which changes one line. The time to follow a ray is set
//! so that the simulated Xeon comes near these shares; a test checks it.

use super::interval::{self, Interval};
use super::{Knobs, Player, Setting, Span, Workload};
use crate::world::World;

/// The scene `car`; the defaults are `balls4`.
pub const CAR: Knobs = Knobs {
    outside: Some(Span::Cycles(4_600)),
    ..Knobs::NONE
};

/// The workload.
pub enum Raytrace {}

impl Workload for Raytrace {
    const NAME: &'static str = "raytrace";
    const ABOUT: &'static str = "a model of SPLASH-2's raytrace: a counter that numbers rays";
    const SOURCE: &'static str = "Zhang et al. 2017 §4.3.4, Table 6; derived in bench/raytrace.rs";
    const OPERATION: &'static str = "ray";
    const TAKES: &'static [&'static str] = Interval::TAKES;
    const DEFAULTS: Knobs = Knobs {
        lines: Some(1),
        outside: Some(Span::Cycles(8_800)),
        ..Knobs::NONE
    };

    type Shared<W: World> = interval::Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> interval::Shared<W> {
        Interval::prepare(world, setting)
    }

    fn take_part<W: World>(shared: &interval::Shared<W>, player: &mut Player<'_, W::Actor>) {
        Interval::take_part::<W>(shared, player);
    }
}
