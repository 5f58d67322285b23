//! `leveldb`: a model of LevelDB's `readrandom` (Chehab et al. 2021 §5.1.2).
//!
//! It follows LevelDB's public description and source of a read, which locks one mutex twice. The
//! first critical section reads the last sequence number and the pointers of the current tables,
//! and increments references to the memtable and to the current version. Then the tables are
//! searched without the mutex. The second critical section decrements both references, and checks
//! whether the read requires a compaction. So both critical sections change two lines and read a
//! third. The search time depends on the database; 2 µs, for a value found in memory, is an
//! estimate. Before the next read, the benchmark draws a key, prints it, passes the value on and
//! counts the operation: `BETWEEN`, also an estimate.

use super::knobs::cycles;
use super::player::ahead;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, World};

/// Lines under the mutex.
const STATE: usize = 0;
const MEMTABLE: usize = 1;
const VERSION: usize = 2;
const LINES: usize = 3;

/// Words of the state that a read examines: sequence number, memtable, immutable memtable, version.
const POINTERS: usize = 4;

/// Nanoseconds between two reads.
const BETWEEN: u64 = 1_000;

/// The workload.
pub enum LevelDb {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    critical: u64,
    outside: u64,
    between: u64,
}

impl Workload for LevelDb {
    const NAME: &'static str = "leveldb";
    const ABOUT: &'static str =
        "a model of LevelDB's readrandom: two short critical sections around a search";
    const SOURCE: &'static str = "Chehab et al. 2021 §5.1.2; derived in bench/leveldb.rs";
    const OPERATION: &'static str = "read";
    const TAKES: &'static [&'static str] = &["critical", "outside"];
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(40)),
        outside: Some(Span::Nanoseconds(2_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        Shared {
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, LINES),
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
            between: cycles(Some(Span::Nanoseconds(BETWEEN)), hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            section(shared, player, 1);
            player.work_about(shared.outside);
            section(shared, player, u64::MAX);
            player.done();
            player.work_about(shared.between);
        }
    }
}

/// Reads the state and adds `change` to both reference counts.
fn section<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>, change: u64) {
    player.section(&shared.guarded, |player| {
        let data = shared.guarded.data();
        ahead(data, LINES);
        for word in 0..POINTERS {
            data.read(STATE, word);
        }
        for line in [MEMTABLE, VERSION] {
            data.write(line, 0, data.read(line, 0).wrapping_add(change));
        }
        player.work(shared.critical);
    });
}
