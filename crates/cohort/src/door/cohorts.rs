//! Cohorts that replace the machine's, as text.
//!
//! A line for each cohort: its level, and its CPUs as the kernel writes lists of them.
//!
//! ```text
//! # two near nodes as one, and the two others by themselves
//! numa 0-15
//! numa 16-23
//! numa 24-31
//! ```
//!
//! Levels are `core`, `cache`, `numa` and `package`.  A semicolon ends a line too;
//! `#` begins a comment.

use super::Level;
use core::fmt;

/// CPUs have numbers below this.
const CPUS: usize = 1 << 14;

/// A mistake in a text, and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from 1.
    pub line: usize,
    /// The mistake.
    pub what: What,
}

/// The kinds of mistakes. Without text, so that a library that does not print them does not contain
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It begins with no level.
    NoLevel,
    /// A CPU or range of CPUs is malformed.
    NoCpu,
    /// The first CPU of a range is greater than the last.
    Backwards,
    /// It names no CPU.
    Empty,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLevel => "begin with a level: core, cache, numa or package",
            Self::NoCpu => "a CPU is a number, and CPUs in a row are two: 8-15",
            Self::Backwards => "CPUs in a row begin with the lower one",
            Self::Empty => "a cohort has at least one CPU",
        })
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl core::error::Error for Mistake {}

/// Calls `each` with the level, the number and a CPU of every cohort; the cohorts of a
/// level are numbered from 0 in the order of their lines.
///
/// # Errors
/// The first line that is malformed or names no CPU.
pub fn read(text: &str, each: &mut dyn FnMut(Level, usize, usize)) -> Result<(), Mistake> {
    let mut next = [0; Level::REPORTED.len()];
    // By bytes: to look for characters takes a hundredth of the interposer.
    let lines = text.as_bytes().split(|byte| matches!(byte, b'\n' | b';'));
    for (index, line) in lines.enumerate() {
        let mistake = |what| Mistake {
            line: index + 1,
            what,
        };
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let Some(level) = words.next() else {
            continue;
        };
        let level = str::from_utf8(level).ok().and_then(Level::named);
        let level = level.ok_or_else(|| mistake(What::NoLevel))?;
        let next = next.get_mut(level as usize);
        let next = next.ok_or_else(|| mistake(What::NoLevel))?;
        let cohort = *next;
        *next += 1;
        let mut any = false;
        for word in words {
            let ranges = word.split(|byte| *byte == b',');
            for range in ranges.filter(|range| !range.is_empty()) {
                let mut ends = range.splitn(2, |byte| *byte == b'-').map(cpu);
                let first = ends.next().flatten();
                let last = ends.next().unwrap_or(first);
                let (Some(first), Some(last)) = (first, last) else {
                    return Err(mistake(What::NoCpu));
                };
                if last < first {
                    return Err(mistake(What::Backwards));
                }
                any = true;
                (first..=last).for_each(|cpu| each(level, cohort, cpu));
            }
        }
        if !any {
            return Err(mistake(What::Empty));
        }
    }
    Ok(())
}

/// The CPU of that number; `None` if it is malformed or too large.
fn cpu(digits: &[u8]) -> Option<usize> {
    let cpu = digits.iter().try_fold(0, |cpu, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        Some(10 * cpu + usize::from(digit)).filter(|cpu| *cpu < CPUS)
    });
    cpu.filter(|_| !digits.is_empty())
}
