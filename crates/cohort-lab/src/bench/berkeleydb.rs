//! `berkeleydb`: a model of Berkeley DB under TPC-C's read-only transactions (Zhang et al. 2017
//! §4.3.1).
//!
//! Per table 6 of Zhang et al. 2017, 11 locks guard the database structures. With 40 clients under
//! POSIX mutexes, Stock Level spends 76.2 % of the time at them, and Order Status 59.1 %. A
//! transaction of the model acquires one lock after another, most often the first, and works in
//! between. The work's length is set so that the simulated Xeon comes near the first share, and
//! with [`ORDER_STATUS`] near the second; a test checks both.

use super::zipf::Several;
use super::{Knobs, Player, Setting, Span, Workload};
use crate::world::World;

/// Critical sections of a transaction.
const SECTIONS: usize = 20;

/// Order Status; the defaults are Stock Level.
pub const ORDER_STATUS: Knobs = Knobs {
    outside: Some(Span::Cycles(13_800)),
    ..Knobs::NONE
};

/// The workload.
pub enum BerkeleyDb {}

impl Workload for BerkeleyDb {
    const NAME: &'static str = "berkeleydb";
    const ABOUT: &'static str = "a model of Berkeley DB under TPC-C's Stock Level: 11 locks";
    const SOURCE: &'static str =
        "Zhang et al. 2017 §4.3.1, Table 6; derived in bench/berkeleydb.rs";
    const OPERATION: &'static str = "transaction";
    const TAKES: &'static [&'static str] = &["critical", "outside", "lines", "instances", "skew"];
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(200)),
        outside: Some(Span::Cycles(8_000)),
        lines: Some(2),
        instances: Some(11),
        skew: Some(1.5),
        ..Knobs::NONE
    };

    type Shared<W: World> = Several<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Several<W> {
        Several::new(world, setting)
    }

    fn take_part<W: World>(shared: &Several<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            for _ in 0..SECTIONS {
                shared.section(player);
                shared.rest(player);
            }
            player.done();
        }
    }
}
