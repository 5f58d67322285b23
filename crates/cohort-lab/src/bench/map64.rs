//! `map64`: threads of a pool look up and update an entry of a small hash table, without a pause
//! (ordo-one's synchronization-benchmarks, 2026).
//!
//! A key and a value are two words, so 64 entries fill 16 lines; a line before them has the table's
//! size, which each lookup reads. A critical section hashes its key twice, for the lookup and for
//! the update. With one thread, the published 24 ns leave about 12 for that, beside the mutex's two
//! atomics.

use super::knobs::cycles;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, WORDS, World};

/// Entries of the table.
const ENTRIES: usize = 64;

/// Words of an entry: its key and its value.
const ENTRY: usize = 2;

/// The word of the first line with the table's size.
const SIZE: usize = 1;

/// The workload.
pub enum Map64 {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    critical: u64,
    outside: u64,
}

/// The line of an entry, and its first word there.
const fn place(entry: usize) -> (usize, usize) {
    let a_line = WORDS / ENTRY;
    (1 + entry / a_line, entry % a_line * ENTRY)
}

impl Workload for Map64 {
    const NAME: &'static str = "map64";
    const ABOUT: &'static str = "lookups and updates of a small hash table without pause";
    const SOURCE: &'static str = "ordo-one, synchronization-benchmarks, 2026";
    const TAKES: &'static [&'static str] = &["critical", "outside"];
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Nanoseconds(12)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let (last, _) = place(ENTRIES - 1);
        Shared {
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, last + 1),
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            let entry = player.random_below(ENTRIES as u64) as usize;
            player.section(&shared.guarded, |player| {
                let table = shared.guarded.data();
                let (line, word) = place(entry);
                let mut value = 0_u64;
                for is_update in [false, true] {
                    player.work(shared.critical / 2);
                    table.read(0, SIZE);
                    table.read(line, word);
                    if is_update {
                        table.write(line, word + 1, value.wrapping_add(1));
                    } else {
                        value = table.read(line, word + 1);
                    }
                }
            });
            player.done();
            player.work(shared.outside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_lie_side_by_side_in_lines_of_their_own() {
        assert_eq!(place(0), (1, 0));
        assert_eq!(place(3), (1, 6));
        assert_eq!(place(4), (2, 0));
        assert_eq!(place(63), (16, 6));
    }
}
