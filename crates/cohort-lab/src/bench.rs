//! The papers' workloads, written once for every world, and their measurement.
//!
//! [`WORKLOADS`] lists them. [`run`] runs a workload once, in a world, under a lock. [`native`]
//! measures many such points by interleaved rounds on this machine, [`simulated`] on a simulated
//! machine. [`curves`] draws them against the number of threads.

pub mod berkeleydb;
pub mod bfs;
pub mod cachelock;
mod central;
pub mod curves;
pub mod efficiency;
pub mod ids;
mod instructions;
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
pub mod splay;
pub mod tight;
mod tree;
pub mod zipf;

pub use cohort_measure::Span;
pub use knobs::{Knobs, Poll};
pub use outcome::Outcome;
pub use player::{Guarded, Part, Player};

use crate::world::{Played, World};
use std::sync::Arc;

/// Workload for any world.
pub trait Workload {
    /// Its name.
    const NAME: &'static str;
    /// One-line description.
    const ABOUT: &'static str;
    /// The describing paper and section.
    const SOURCE: &'static str;
    /// The name of one round.
    const OPERATION: &'static str = "section";
    /// Its knobs, by the names of [`Knobs`]' options.
    const TAKES: &'static [&'static str];
    /// Default values of its knobs.
    const DEFAULTS: Knobs;
    /// Number of phases of a run, each as long as that knob, before they repeat; zero for a uniform
    /// workload.
    const PHASES: usize = 0;

    /// State shared by its threads.
    type Shared<W: World>: Send + Sync + 'static;

    /// Creates the locks and the data.
    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Self::Shared<W>;

    /// One thread's part.
    fn take_part<W: World>(shared: &Self::Shared<W>, player: &mut Player<'_, W::Actor>);
}

/// Setting of a workload.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The lock under test.
    pub lock: String,
    /// The number of threads.
    pub threads: usize,
    /// The workload's knobs.
    pub knobs: Knobs,
    /// The seed of all choices of the run.
    pub seed: u64,
}

/// Description of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// The describing paper and section.
    pub source: &'static str,
    /// The name of one round.
    pub operation: &'static str,
    /// Its knobs.
    pub takes: &'static [&'static str],
    /// Their defaults.
    pub defaults: Knobs,
    /// The number of phases before they repeat; zero without phases.
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

        /// Runs a workload once. Blocks.
        ///
        /// # Errors
        /// The world's error, or what stopped it.
        ///
        /// # Panics
        /// If there is no lock of the setting's name.
        pub fn run<W: World>(info: &Info, world: W, setting: &Setting) -> Result<Outcome, String> {
            match info.name {
                $(<$workload>::NAME => play::<$workload, W>(world, setting),)+
                other => Err(format!("unknown workload `{other}`")),
            }
        }
    };
}

workloads! {
    lbench::LBench,
    lbench::LBenchPublished,
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
    world.has_room(&setting.lock)?;
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
