//! From a text to a name.
//!
//! What is here is in every program that the interposer serves, and runs once in each: it is short
//! rather than fast.

use super::words::{BEST, PREFIX, Refinement, SYSTEM, SYSTEM_LOCKS};
use super::{Catalogue, Lock, Mistake, Name};
use crate::list::cut;
use crate::recipe::{Basic, Bound, Level, Levels, Locks};

impl Catalogue {
    /// Reads a name.
    ///
    /// # Errors
    /// What is wrong with it.
    #[cold]
    pub fn read<'a>(&'static self, text: &'a str) -> Result<Name<'a>, Mistake<'a>> {
        let (base, mut refined) = cut(text, b'/');
        let mut name = self.base(base)?;
        while let Some(parts) = refined {
            let (part, others) = cut(parts, b'/');
            self.refine(&mut name, base, part)?;
            refined = others;
        }
        name.check()?;
        Ok(name)
    }

    fn base<'a>(&'static self, base: &'a str) -> Result<Name<'a>, Mistake<'a>> {
        if SYSTEM_LOCKS.contains(&base) {
            return Ok(Name::of(Lock::System));
        }
        if let Some(place) = self.place(base)
            && let Some(name) = self.name(place)
        {
            return Ok(Name::of(Lock::Listed { place, name }));
        }
        let composition = base.strip_prefix(PREFIX);
        let composition = composition.ok_or(Mistake::Unknown(base, self))?;
        let (locks, at) = cut(composition, b'@');
        if locks == BEST {
            return Ok(Name::of(Lock::Best { machine: at }));
        }
        let mut name = Name::of(Lock::Composed(read_locks(locks)?));
        if let Some(levels) = at {
            name.levels = Some(read_levels(levels)?);
        }
        Ok(name)
    }

    fn refine<'a>(
        &'static self,
        name: &mut Name<'a>,
        base: &'a str,
        part: &'a str,
    ) -> Result<(), Mistake<'a>> {
        let refinement = Refinement::named(part);
        let mut stays = None;
        let is_listed = match name.lock {
            Lock::Composed(_) | Lock::Best { .. } => false,
            Lock::Listed { name, .. } if self.is_cohort_lock(name) => true,
            Lock::Listed { name, .. } if self.is_abortable_cohort_lock(name) => {
                stays = Some(name);
                true
            }
            _ if refinement == Some(Refinement::Abortable) => {
                return Err(Mistake::OnlyCompositionsAbort);
            }
            _ => return Err(Mistake::NothingToRefine(base, self)),
        };
        match refinement {
            Some(Refinement::Assignment(assignment)) => name.assignment = Some(assignment),
            Some(Refinement::Bypass(policy)) if is_listed => match stays {
                Some(stays) => return Err(Mistake::NoBypass(stays, policy)),
                None => name.bypass = Some(policy),
            },
            Some(Refinement::Abortable) if is_listed => {
                return Err(Mistake::OnlyCompositionsAbort);
            }
            Some(Refinement::Abortable) => name.abortable = true,
            Some(Refinement::Build(build)) if !is_listed => name.build = Some(build),
            Some(_) => return Err(Mistake::NoRefinement(part)),
            None => {
                // A time alone bounds no count.
                let bound = name.bound.unwrap_or(Bound::hand_offs(u32::MAX));
                name.bound = Some(with_part(bound, part).ok_or(Mistake::NoRefinement(part))?);
            }
        }
        Ok(())
    }
}

/// A bound with one part more: a number of hand-offs, or a time.
fn with_part(mut bound: Bound, part: &str) -> Option<Bound> {
    let digits = part.bytes().take_while(u8::is_ascii_digit);
    let mut number: u64 = 0;
    let mut count = 0;
    for digit in digits {
        number = number
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
        count += 1;
    }
    if count == 0 {
        return None;
    }
    let each = match part.get(count..)? {
        "" => {
            bound.hand_offs = number.try_into().ok()?;
            return Some(bound);
        }
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    bound.nanoseconds = number.checked_mul(each)?;
    Some(bound)
}

fn read_locks(words: &str) -> Result<Locks, Mistake<'_>> {
    let mut locks = Locks::new(Basic::Ticket);
    let mut words = Some(words);
    while let Some(next) = words {
        let (word, others) = cut(next, b'-');
        let lock = Basic::named(word).ok_or(Mistake::NoBasic(word))?;
        locks.push(lock).ok_or(Mistake::TooDeep)?;
        words = others;
    }
    Ok(locks)
}

fn read_levels(mut words: &str) -> Result<Levels, Mistake<'_>> {
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
