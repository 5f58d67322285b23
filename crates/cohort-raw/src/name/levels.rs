//! The levels after an `@`.

use super::mistake::Mistake;
use super::words::SYSTEM;
use crate::list::cut;
use crate::recipe::{Level, Levels};

/// Reads the levels, without the last, which is the system's.
pub(super) fn read_levels(mut words: &str) -> Result<Levels, Mistake<'_>> {
    let mut levels = Levels::new(Level::Package);
    loop {
        let (word, others) = cut(words, b',');
        let Some(others) = others else {
            return if word == SYSTEM {
                Ok(levels)
            } else {
                Err(Mistake::NoSystem)
            };
        };
        let level = Level::named(word).ok_or(Mistake::NoLevel(word))?;
        levels.push(level).ok_or(Mistake::TooDeep)?;
        words = others;
    }
}
