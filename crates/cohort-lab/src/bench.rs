//! The papers' workloads, written once for every world, and how they are measured.
//!
//! [`WORKLOADS`] says what there is; [`run`] runs one of them once, in a world, under
//! a lock; [`native`] measures many such points by interleaved rounds on this
//! machine, [`simulated`] on another; [`curves`] draws them against the number of threads.

pub mod berkeleydb;
pub mod bfs;
pub mod cachelock;
mod central;
pub mod curves;
pub mod efficiency;
pub mod ids;
pub mod interval;
pub mod knobs;
pub mod kyoto;
pub mod lbench;
pub mod leveldb;
pub mod map64;
pub mod memcached_set;
pub mod mmicro;
pub mod native;
pub mod outcome;
pub mod phases;
pub mod phoenix;
pub mod pingpong;
pub mod player;
pub mod radiosity;
pub mod raytrace;
pub mod report;
pub mod rw;
pub mod simulated;
pub mod span;
pub mod splay;
pub mod tight;
mod tree;
pub mod zipf;

pub use knobs::{Knobs, Poll};
pub use outcome::Outcome;
pub use player::{Guarded, Part, Player};
pub use span::Span;

use crate::world::{Played, World};
use std::sync::Arc;

/// A workload, written once.
pub trait Workload {
    /// Its name.
    const NAME: &'static str;
    /// What it is, in a line.
    const ABOUT: &'static str;
    /// The paper and section it is described in.
    const SOURCE: &'static str;
    /// What a round of it is called.
    const OPERATION: &'static str = "section";
    /// The knobs it has, by the names of [`Knobs`]' options.
    const TAKES: &'static [&'static str];
    /// Where they stand unless somebody turns them.
    const DEFAULTS: Knobs;
    /// How many phases, of as long as that knob says, a run goes through until they begin again; none, if
    /// one stretch of it is like another.
    const PHASES: usize = 0;

    /// What its threads share.
    type Shared<W: World>: Send + Sync + 'static;

    /// Makes the locks and the data.
    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Self::Shared<W>;

    /// What each thread does.
    fn take_part<W: World>(shared: &Self::Shared<W>, player: &mut Player<'_, W::Actor>);
}

/// One setting of a workload.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The lock under test.
    pub lock: String,
    /// How many threads take part.
    pub threads: usize,
    /// The workload's knobs.
    pub knobs: Knobs,
    /// What all choices of the run depend on.
    pub seed: u64,
}

/// What there is to say of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The paper and section it is described in.
    pub source: &'static str,
    /// What a round of it is called.
    pub operation: &'static str,
    /// The knobs it has.
    pub takes: &'static [&'static str],
    /// Where they stand unless somebody turns them.
    pub defaults: Knobs,
    /// How many phases a run goes through until they begin again; none, if it has none.
    pub phases: usize,
}

macro_rules! workloads {
    ($($workload:ty),+ $(,)?) => {
        /// Every workload.
        pub const WORKLOADS: &[Info] = &[$(Info {
            name: <$workload>::NAME,
            about: <$workload>::ABOUT,
            source: <$workload>::SOURCE,
            operation: <$workload>::OPERATION,
            takes: <$workload>::TAKES,
            defaults: <$workload>::DEFAULTS,
            phases: <$workload>::PHASES,
        }),+];

        /// Runs a workload once.  Blocks.
        ///
        /// # Errors
        /// What the world could not do, or what stopped it.
        ///
        /// # Panics
        /// If there is no lock of the setting's name.
        pub fn run<W: World>(info: &Info, world: W, setting: &Setting) -> Result<Outcome, String> {
            match info.name {
                $(<$workload>::NAME => play::<$workload, W>(world, setting),)+
                other => Err(format!("no workload is called `{other}`")),
            }
        }
    };
}

workloads! {
    lbench::LBench,
    mmicro::Mmicro,
    interval::Interval,
    ids::Ids,
    pingpong::PingPong,
    leveldb::LevelDb,
    tight::Loop,
    splay::Splay,
    phases::Phases,
    zipf::Zipf,
    map64::Map64,
    rw::Rw,
    cachelock::CacheLock,
    kyoto::Kyoto,
    berkeleydb::BerkeleyDb,
    memcached_set::MemcachedSet,
    phoenix::LinearRegression,
    phoenix::StringMatch,
    phoenix::MatrixMultiply,
    radiosity::Radiosity,
    raytrace::Raytrace,
    bfs::Bfs,
}

/// The workload of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Info> {
    WORKLOADS.iter().find(|info| info.name == name)
}

fn play<L: Workload, W: World>(mut world: W, setting: &Setting) -> Result<Outcome, String> {
    let shared = L::prepare(&mut world, setting);
    let topology = Arc::new(world.topology().clone());
    let (hertz, seed) = (world.hertz(), setting.seed);
    let cast = Arc::clone(&topology);
    let body = move |index, actor, part: &mut Part| {
        let mut player = Player::new(actor, index, Arc::clone(&cast), hertz, seed, part);
        L::take_part::<W>(&shared, &mut player);
        player.end();
    };
    let played: Played<Part> = world.play(setting.threads, body)?;
    Ok(Outcome::new(played, &topology, hertz))
}
