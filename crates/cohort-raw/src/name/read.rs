//! The parser of names.
//!
//! This code is part of every program under the interposer and runs once in each: it is short
//! rather than fast.

use super::levels::read_levels;
use super::words::{BEST, PREFIX, Refinement, SYSTEM_LOCKS};
use super::{Catalogue, Lock, Mistake, Name, trees};
use crate::list::cut;
use crate::recipe::{Basic, Bound, Locks};

impl Catalogue {
    /// Reads a name.
    ///
    /// # Errors
    /// What is wrong with it.
    #[cold]
    pub fn read<'a>(&'static self, text: &'a str) -> Result<Name<'a>, Mistake<'a>> {
        self.read_among::<true>(text)
    }

    /// Reads a name for a library without other trees of queues than the catalogue's.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[cold]
    pub fn read_served<'a>(&'static self, text: &'a str) -> Result<Name<'a>, Mistake<'a>> {
        self.read_among::<false>(text)
    }

    fn read_among<'a, const TREES: bool>(
        &'static self,
        text: &'a str,
    ) -> Result<Name<'a>, Mistake<'a>> {
        let (base, mut refined) = cut(text, b'/');
        let mut name = self.base::<TREES>(base)?;
        while let Some(parts) = refined {
            let (part, others) = cut(parts, b'/');
            self.refine::<TREES>(&mut name, base, part)?;
            refined = others;
        }
        name.check()?;
        if TREES {
            return self.as_listed(name);
        }
        Ok(name)
    }

    fn base<'a, const TREES: bool>(&'static self, base: &'a str) -> Result<Name<'a>, Mistake<'a>> {
        if SYSTEM_LOCKS.contains(&base) {
            return Ok(Name::of(Lock::System));
        }
        if let Some(place) = self.place(base)
            && let Some(name) = self.name(place)
        {
            return Ok(Name::of(Lock::Listed { place, name }));
        }
        if TREES && let Some(tree) = Self::tree(base) {
            return tree;
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

    fn refine<'a, const TREES: bool>(
        &'static self,
        name: &mut Name<'a>,
        base: &'a str,
        part: &'a str,
    ) -> Result<(), Mistake<'a>> {
        if TREES {
            if let Lock::Listed { place, .. } = name.lock
                && let Some(tree) = self.listed_tree(place)
            {
                *name = tree;
            }
            if let Lock::Tree(tree) = name.lock {
                return trees::refine(name, tree, part);
            }
        }
        let refinement = Refinement::named(part);
        let mut stays = None;
        let is_listed = match name.lock {
            Lock::Composed(_) | Lock::Best { .. } | Lock::Tree(_) => false,
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
            Some(Refinement::Endless) => {
                let nanoseconds = name.bound.map_or(0, |bound| bound.nanoseconds);
                name.bound = Some(Bound {
                    nanoseconds,
                    ..Bound::ENDLESS
                });
            }
            Some(_) => return Err(Mistake::NoRefinement(part)),
            None => {
                // A time alone leaves the count unbounded.
                let bound = name.bound.unwrap_or(Bound::ENDLESS);
                name.bound = Some(with_part(bound, part).ok_or(Mistake::NoRefinement(part))?);
            }
        }
        Ok(())
    }
}

impl Bound {
    /// A part of a name as a bound: a number of hand-offs, or a time without a number.
    #[must_use]
    pub fn part(part: &str) -> Option<Self> {
        with_part(Self::ENDLESS, part)
    }
}

/// A bound with a further part: a number of hand-offs, or a time.
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
        let (word, mut others) = cut(next, b'-');
        let mut lock = Basic::named(word).ok_or(Mistake::NoBasic(word))?;
        // The catalogue's spelling has the separator of compositions.
        if lock == Basic::Hemlock
            && let Some(("ctr", behind)) = others.map(|others| cut(others, b'-'))
        {
            (lock, others) = (Basic::HemlockCtr, behind);
        }
        locks.push(lock).ok_or(Mistake::TooDeep)?;
        words = others;
    }
    Ok(locks)
}
